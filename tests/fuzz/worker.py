"""A process that runs cases, one after another, and says what became of them."""

from __future__ import annotations

import faulthandler
import gc
import mmap
import os
import resource
import signal
import struct
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Final

from attrs import define, frozen

from rocmkern.errors import RocmkernError
from tests.fuzz.kind import MB, Damage, Kind

ADDRESSES: Final = 16 << 30  # that a worker may map beyond what it has at first
CASE: Final = struct.Struct("qd")  # in shared memory: the seed that runs, and when it began; -1 for none
BEGAN: Final = struct.Struct("d")
BEGAN_AT: Final = 8

PAGE: Final = resource.getpagesize()
OURS: Final = "rocmkern"
ENDING: Final = ("peak", "growth", "files")  # after which nothing more of the kind could be told in a process


@frozen
class Finding:
    """Something that must not happen. `what`: death, hang, exception, damage, slow, peak, growth or files."""

    what: str
    seed: int
    where: str
    message: str = ""


@frozen
class Report:
    """What became of the cases from `first` up to `next`. `repeat`: they are to be run again, one by one."""

    first: int
    next: int
    outcomes: Counter[str]
    findings: list[Finding]
    repeat: bool = False
    ends: bool = False  # the worker's last one


@define(eq=False)
class Worker:
    """The life of a worker process."""

    kind: Kind
    connection: Connection
    shared: mmap.mmap
    log: Path
    _ran: int = 0
    _peak: int = 0
    _first_size: int = 0
    _first_files: int = 0

    def live(self) -> None:
        """Run the ranges of seeds that come, until None comes."""
        with self.log.open("w") as log:
            self._prepare(log)
            self.connection.send(None)
            while (asked := self.connection.recv()) is not None:
                first, last, single = asked
                for report in self._range(first, last, single):
                    self.connection.send(report)
                    if report.ends:
                        return

    def _prepare(self, log: IO[str]) -> None:
        faulthandler.enable(log)
        faulthandler.register(signal.SIGUSR1, log, all_threads=True)
        warnings.simplefilter("ignore")
        self.kind.prepare()
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
        resource.setrlimit(resource.RLIMIT_AS, (mapped + ADDRESSES,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._forget_peak()
        self._first_size, self._first_files = resident(), open_files()

    def _range(self, first: int, last: int, single: bool) -> Iterator[Report]:
        """Reports, one for each batch of the seeds; `single`: one for each seed."""
        size = 1 if single else self.kind.batch
        for start in range(first, last, size):
            outcomes, findings = Counter[str](), list[Finding]()
            stop = min(start + size, last)
            for seed in range(start, stop):
                findings += self._case(seed, outcomes)
                if any(f.what == "peak" for f in findings):
                    stop = seed + 1
                    break
            note_case(self.shared, -1)
            self._ran += stop - start
            damage = self.kind.damage()
            if damage is not None:
                if single or size == 1:
                    findings.append(Finding("damage", start, "guards", damage))
                yield Report(start, stop, outcomes, findings, repeat=not single and size > 1, ends=True)
                return
            findings += self._growth(stop - 1)
            ends = self._ran >= self.kind.lifetime or any(f.what in ENDING for f in findings)
            yield Report(start, stop, outcomes, findings, ends=ends)
            if ends:
                return

    def _case(self, seed: int, outcomes: Counter[str]) -> Iterator[Finding]:
        BEGAN.pack_into(
            self.shared, BEGAN_AT, time.monotonic()
        )  # first, or a new case would seem as old as the last one
        CASE.pack_into(self.shared, 0, seed, time.monotonic())
        began = time.process_time()
        try:
            outcome = self.kind.run(self.kind.make(seed), seed)
        except RocmkernError as error:
            outcome = type(error).__name__
        except Damage as damage:
            outcome = "damage"
            yield Finding("damage", seed, "case", str(damage))
        except Exception as error:
            outcome = f"{type(error).__name__}, not ours"
            yield Finding("exception", seed, place(error), str(error)[:300])
        took = time.process_time() - began
        outcomes[outcome] += 1
        if took > self.kind.slow_s:
            yield Finding("slow", seed, outcome, f"{took:.1f} s of CPU time")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if peak > self._peak + self.kind.peak_bytes:
            yield Finding("peak", seed, outcome, f"{(peak - self._peak) / MB:.0f} MB more than before")
        self._peak = max(self._peak, peak)

    def _growth(self, seed: int) -> Iterator[Finding]:
        """What a worker's cases left behind, once that is more than they may leave."""
        grown = resident() - self._first_size
        if grown > self.kind.allowance() + self.kind.growth_bytes * self._ran:
            gc.collect()
            grown = resident() - self._first_size
            if grown > self.kind.allowance() + self.kind.growth_bytes * self._ran:
                yield Finding("growth", seed, "process", f"{grown / MB:.0f} MB more after {self._ran} cases")
        files = open_files()
        if files > self._first_files:
            gc.collect()
            files = open_files()
            if files > self._first_files:
                yield Finding("files", seed, "process", f"{files} files are open, {self._first_files} were at first")

    def _forget_peak(self) -> None:
        """Let the highest size so far be the present one."""
        Path("/proc/self/clear_refs").write_text("5")
        self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def note_case(shared: mmap.mmap, seed: int) -> None:
    """Say which case begins. The time comes first, so that whoever reads a new seed finds its time beside it."""
    now = time.monotonic()
    BEGAN.pack_into(shared, BEGAN_AT, now)
    CASE.pack_into(shared, 0, seed, now)


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def place(error: Exception) -> str:
    """Where in the library an exception arose, or else where."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if f"/{OURS}/" in f.filename] or frames
    path = inside[-1].filename
    return f"{type(error).__name__} at {path.rpartition(f'/{OURS}/')[2]}:{inside[-1].lineno}"
