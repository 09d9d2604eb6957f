"""Damaged files and kernels: nothing dies, hangs, writes outside its memory or raises another's exception."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from rocmkern.emulator.machine import Machine
from tests.fuzz import faulty
from tests.fuzz.canaries import GUARD_BYTES, Canaries
from tests.fuzz.clock import WorkClock
from tests.fuzz.kinds import KINDS
from tests.fuzz.sources import FUZZED, kernels

SEEDS: Final[dict[str, list[list[Any]]]] = json.loads(Path(__file__).with_name("seeds.json").read_text("utf-8"))


def campaign(kind: str, target: str, *options: object) -> None:
    """A process of its own: workers are forked, which the threads of a test run would not survive."""
    asked = [sys.executable, "-m", "tests.fuzz", kind, "--target", target, *map(str, options)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("kind", "target", "first", "cases"), SEEDS["short"])
def test_damaged_input_stays_inside(kind: str, target: str, first: int, cases: int) -> None:
    """A few cases of each kind end well, or with an error of the library, within time and memory."""
    campaign(kind, target, "--start", first, "--cases", cases)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "target", "first", "cases"), SEEDS["long"])
def test_much_damaged_input_stays_inside(kind: str, target: str, first: int, cases: int) -> None:
    """So do many."""
    campaign(kind, target, "--start", first, "--cases", cases)


@pytest.mark.parametrize(("kind", "target", "seeds"), SEEDS["found"])
def test_what_once_got_out_stays_inside(kind: str, target: str, seeds: list[int]) -> None:
    """Seeds that ended a process or in an exception from the insides once are errors of the library."""
    campaign(kind, target, *(word for seed in seeds for word in ("--seed", seed)))


def test_a_campaign_finds_every_fault() -> None:
    """Of cases that die, hang, raise, write, keep memory or files, each is named, and the others are counted."""
    done = subprocess.run([sys.executable, "-m", faulty.__name__], capture_output=True, text=True, check=True)
    cases, outcomes, findings = json.loads(done.stdout)
    assert cases == faulty.CASES
    assert outcomes["GgufError"] == 1
    assert sorted(findings) == sorted(
        [
            ["death", faulty.DIES],
            ["hang", faulty.HANGS],
            ["hang", faulty.SPINS],
            ["exception", faulty.RAISES],
            ["damage", faulty.WRITES],
            ["growth", faulty.KEEPS],
            ["peak", faulty.PEAKS],
            ["files", faulty.CASES - 1],  # looked for after each batch
        ]
    )


@contextmanager
def running(program: str) -> Iterator[int]:
    """A process that runs a program, on the first CPU alone."""
    with subprocess.Popen([sys.executable, "-c", f"print(flush=True)\n{program}"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        yield process.pid
        process.kill()


@pytest.mark.parametrize("program", ["while True: sum(range(1000))", "import time; time.sleep(600)"])
def test_work_is_computing_and_sleeping(program: str) -> None:
    """The clock of a case reaches any number of seconds either way."""
    with running(program) as process:
        clock = WorkClock(process)
        assert any(time.sleep(0.1) or clock.look() > 0.5 for _ in range(600))


def test_waiting_for_a_cpu_is_no_work() -> None:
    """A process that is ready to run while another one has the CPU does not get older."""
    with running("while True: sum(range(1000))") as starved:
        os.sched_setscheduler(starved, os.SCHED_IDLE, os.sched_param(0))
        with running("while True: sum(range(1000))"):
            clock, began = WorkClock(starved), time.monotonic()
            while time.monotonic() < began + 1:
                time.sleep(0.1)
                worked = clock.look()
            assert worked < (time.monotonic() - began) / 2


@pytest.mark.parametrize("kind", ["loader", "kernel"])
def test_workers_run_whatever_their_parent_did(kind: str) -> None:
    """They are forked from a process that has used the device, and streams of it."""
    code = f"""
import rocmkern as rk
from tests.fuzz.campaign import Campaign
from tests.fuzz.kinds import KINDS
device = rk.Device("emulator:gfx942")
stream, memory = device.create_stream(), device.alloc(64)
memory.fill(1, stream)
assert (rk.ones((3,), device=device) + 1).tolist() == [2.0] * 3
stream.synchronize()
result = Campaign(KINDS[{kind!r}]("gfx942"), 0, 48).run()
assert (result.cases, result.findings) == (48, []), result.summary()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_means_the_same_bytes_everywhere(kind: str) -> None:
    """The input of a seed does not depend on what was made before it."""
    chosen = KINDS[kind]()
    made = [chosen.make(seed) for seed in range(20)]
    assert [KINDS[kind]().make(seed) for seed in reversed(range(20))] == made[::-1]
    assert len(set(made)) > 10


@pytest.mark.parametrize("offset", [0, GUARD_BYTES - 1])
def test_canaries_notice_one_byte(offset: int) -> None:
    """A byte that is written on either side of a device's memory, or in a page of the host, is told by its place."""
    machine = Machine("gfx942")
    canaries = Canaries()
    canaries.watch(machine)
    assert canaries.changed() is None
    beside = {"below the arena", "above the arena"} & canaries.places.keys()  # where nothing lay yet
    for place in ("host page 3", "heap", *beside):
        byte = ctypes.c_uint8.from_address(canaries.places[place] + offset)
        byte.value ^= 1
        assert (canaries.changed() or "").startswith(f"{place}, from byte {offset} on")
        byte.value ^= 1


@pytest.mark.parametrize("target", FUZZED)
def test_every_instruction_set_has_its_kernels(target: str) -> None:
    """Kernels of ours and of the shipped files are kept for each instruction set."""
    assert len(kernels(target)) >= 20
