"""Ctrl-C, a fork and the end of the process leave the emulator as it should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import ffi

from rocmkern.emulator import machine as machines
from rocmkern.emulator import program
from rocmkern.emulator.compiler import QUICK, compile_ir
from rocmkern.emulator.machine import Launch
from rocmkern.emulator.native import Code, native
from rocmkern.emulator.snapshot import Snapshot
from rocmkern.emulator.threads import Threads, whole
from rocmkern.emulator.translation import WRITTEN, Translation
from tests.emulator.device import Bench, bench, unknown

# Odd numbers of a sequence, by a branch and a loop: translated in several pieces.
STEPS = """
KERNEL void steps(unsigned *out) {
    unsigned i = __builtin_amdgcn_workgroup_id_x() * 64u + __builtin_amdgcn_workitem_id_x(), n = 0;
    for (unsigned left = i; left > 1; left = left & 1 ? 3 * left + 1 : left / 2) n++;
    out[i] = n;
}
"""


def steps(i: int) -> int:
    count = 0
    while i > 1:
        i, count = (3 * i + 1 if i & 1 else i // 2), count + 1
    return count


def check(device: Bench) -> None:
    out = np.zeros(64 * 12, np.uint32)
    device.run("steps", out, grid=12)
    assert out.tolist() == [steps(i) for i in range(out.size)]


def test_a_translation_that_breaks_off_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next launch translates the code anew, where it would have run into operations without handlers."""
    device, write, marks = unknown(STEPS), Translation._write, list[bytes]()

    def breaks_off(self: Translation, *arguments: Any) -> Any:
        written = write(self, *arguments)
        marks.append(bytes(m & WRITTEN for m in self._marks))
        if len(marks) == 2:
            raise KeyboardInterrupt
        return written

    monkeypatch.setattr(Translation, "_write", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        check(device)
    assert any(marks[1])
    assert bytes(m & WRITTEN for m in device.module.program.translation._marks) == marks[1]
    check(device)


def test_a_kept_kernel_whose_loading_breaks_off_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its operations lie there, but nothing leads to them."""
    first = unknown(STEPS)
    check(first)
    first.module.program._keep(first.module.kernel("steps").kernel)
    later, lay = bench.__wrapped__(STEPS), Snapshot.lay

    def breaks_off(*arguments: Any) -> None:
        lay(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(Snapshot, "lay", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            check(later)
    assert not any(m & WRITTEN for m in later.module.program.translation._marks)
    check(later)


def test_what_waits_for_code_finds_it_where_its_translation_broke_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sent there when the code is reached again, not by way of Python each time."""
    device, broken, calls = unknown(STEPS), set[int](), list[int]()
    connect, operation = Translation._connect, Translation.operation

    def breaks_off(self: Translation, pc: int) -> None:
        if pc in self._awaited and pc not in broken:
            broken.add(pc)
            raise KeyboardInterrupt
        connect(self, pc)

    def counted(self: Translation, pc: int, *arguments: Any) -> int:
        calls.append(pc)
        return operation(self, pc, *arguments)

    monkeypatch.setattr(Translation, "_connect", breaks_off)
    monkeypatch.setattr(Translation, "operation", counted)
    for _ in range(100):
        try:
            check(device)
            break
        except KeyboardInterrupt:
            continue
    calls.clear()
    check(device)
    assert broken and calls == []


def test_an_interrupted_launch_waits_for_its_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They use memory that the launch gives back."""
    device, running = bench(STEPS), list[Future[None]]()
    monkeypatch.setattr(machines, "HELPERS_FROM_S", 0.0)
    monkeypatch.setattr(device.machine, "threads", 2)

    def interrupted(helpers: Iterable[Future[None]]) -> None:
        running.extend(helpers)
        monkeypatch.setattr(machines, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(machines, "wait", interrupted)
    monkeypatch.setattr(Launch, "_help", lambda self: wait([Future[None]()], 0.2))
    with pytest.raises(KeyboardInterrupt):
        check(device)
    assert [helper.done() for helper in running] == [True]
    monkeypatch.undo()
    check(device)


@pytest.mark.usefixtures("interruptible")
def test_work_goes_on_where_the_waiting_is_interrupted() -> None:
    """Its caller is told at once."""
    begun, go, done = (threading.Event() for _ in range(3))

    @whole
    def work() -> None:
        begun.set()
        go.wait(10)
        done.set()

    def interrupt() -> None:
        begun.wait(10)
        time.sleep(0.2)  # by then the main thread waits
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        work()
    assert not done.is_set()
    go.set()
    assert done.wait(10)


def fork_beside_a_thread() -> None:
    threads = Threads(1, "test")
    before = threads.submit(os.getpid)
    assert before is not None
    assert before.result() == os.getpid()
    child = os.fork()
    if not child:
        found = threads.submit(os.getpid)
        os._exit(0 if found is not None and found.result(10) == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def quick(symbol: str) -> Code:
    return Code(symbol, f"define void @{symbol}() {{ ret void }}\n", {})


def fork_beside_a_compiling_thread() -> None:
    here, begun, go_on, symbol = native(), threading.Event(), threading.Event(), f"fork_{os.getpid()}"
    code = quick(symbol)

    def compile_late(text: str, level: int) -> bytes:
        begun.set()
        assert go_on.wait(60)
        return compile_ir(text, level)

    patch = pytest.MonkeyPatch()
    patch.setattr("rocmkern.emulator.native.compile_ir", compile_late)
    first = threading.Thread(target=here.ensure, args=({symbol: lambda: code},))
    first.start()
    try:
        assert begun.wait(60)
        child = os.fork()
        if not child:
            signal.alarm(30)
            patch.undo()
            try:
                here.ensure({symbol: lambda: code})
            finally:
                os._exit(0 if here.address(symbol) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        go_on.set()
        first.join()
    assert here.address(symbol)


def fork_beside_a_kernel_that_waits() -> None:
    program._waiting.add((1, "kernel"))
    child = os.fork()
    if not child:
        os._exit(len(program._waiting))  # else nobody ever compiled it
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fork_beside_a_thread_in_llvm() -> None:
    native()
    begun, text = threading.Event(), quick("f").text
    before = compile_ir(text, QUICK)

    def work() -> None:
        with ffi.lib._lock:  # as in a call by way of llvmlite
            begun.set()
            time.sleep(0.3)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(10)
        os._exit(compile_ir(text, QUICK) != before)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert compile_ir(text, QUICK) == before


FORKS = (
    fork_beside_a_thread, fork_beside_a_compiling_thread, fork_beside_a_kernel_that_waits, fork_beside_a_thread_in_llvm,
)  # fmt: skip


def test_a_forked_child_works_without_its_parents_threads() -> None:
    """In a process of its own, since a large one may not be allowed to fork."""
    code = f"from {__name__} import FORKS\nfor forks in FORKS: forks()"
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    subprocess.run(run, check=True, timeout=120, cwd=Path(__file__).parents[2])


def test_no_thread_starts_where_the_process_ends() -> None:
    """Who wanted one is told, and does the work or leaves it."""
    threads = Threads(1, "test")
    first = threads.submit(int)
    assert first is not None and threads._executor is not None
    threads._executor[1].shutdown()
    assert threads.submit(int) is None
