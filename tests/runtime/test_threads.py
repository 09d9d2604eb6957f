"""Threads, forks and the garbage collector: no call waits for ever, and no finaliser waits at all."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

import rocmkern as rk
from rocmkern.drivers.work_queue import Mark, WorkQueue
from rocmkern.emulator.arena import Arena
from rocmkern.errors import ClosedError, KernelIndexError

PATIENCE_S = 60.0  # that a thread hangs is all it tells


def ends(work: Callable[[], object]) -> bool:
    """Whether a thread gets to the end of the work."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=2 * PATIENCE_S)


def test_a_stream_is_closed_while_another_thread_launches() -> None:
    """The default stream's work goes on, in every thread, whenever a stream ends."""
    device, before = rk.Device("emulator:gfx942"), sys.getswitchinterval()

    def close_streams() -> None:
        memory = device.alloc(64)
        for _ in range(300):
            with device.create_stream() as stream:
                memory.fill(1, stream)

    def fill() -> None:
        memory = device.alloc(64)
        for _ in range(2000):
            memory.fill(2)

    threads = [threading.Thread(target=work, daemon=True) for work in (close_streams, close_streams, fill, fill)]
    try:
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    finally:
        sys.setswitchinterval(before)
    assert not any(thread.is_alive() for thread in threads)


def test_a_mark_wakes_who_waits_when_the_queue_is_idle() -> None:
    """Whoever waited for the end of the work finds none left."""
    for _ in range(300):
        queue = WorkQueue()
        queue.submit(lambda: None)
        queue.drain()
        assert queue.is_idle
        assert queue.close_if_idle()


def test_a_queue_that_is_closed_takes_no_more_work() -> None:
    """Marks of it are set as its work is done; closing again does nothing."""
    queue, gate = WorkQueue(), Mark()
    queue.submit(gate.wait)
    assert not queue.close_if_idle()
    mark = queue.record()
    assert queue.record() is mark
    gate.set()
    queue.close()
    queue.close()
    assert mark.is_reached
    assert queue.record().is_reached
    with pytest.raises(ClosedError, match="stream: it is closed; create another"):
        queue.submit(gate.wait)


@pytest.mark.parametrize("checked", [False, True])
def test_memory_is_freed_while_the_arena_is_locked(checked: bool) -> None:
    """By a finaliser that the garbage collector runs there: the next one that has the lock frees it."""
    arena = Arena(checked=checked)
    first, second = arena.alloc(8), arena.alloc(8)

    def free() -> None:
        with arena._lock:
            arena.free(first)

    assert ends(free)
    arena.free(second)
    assert arena.used == 0


def test_finalisers_run_while_a_queue_is_locked() -> None:
    """A stream that is given up there ends later, and memory that it used goes to nobody before."""
    device = rk.Device("emulator:gfx942")
    stream, memory = device.create_stream(), device.alloc(64)
    memory.fill(1, stream)
    held = [stream, memory]
    queue = device.driver._streams[stream.handle]  # type: ignore[attr-defined]  # of the emulator's driver
    del stream, memory

    def drop() -> None:
        with queue._lock:
            held.clear()

    assert ends(drop)
    device.synchronize()
    assert queue.close_if_idle()
    assert not device.driver._dropped  # type: ignore[attr-defined]


@pytest.mark.parametrize("is_closed", [False, True])
def test_what_went_wrong_outlasts_freeing_memory(is_closed: bool) -> None:
    """Neither a finaliser nor close() takes a check's error from the call that waits for the device."""
    device, stream = rk.Device("emulator:gfx942"), rk.Stream(rk.Device("emulator:gfx942"))
    memory = device.alloc(64)
    memory.fill(1, stream)

    def check() -> None:
        raise KernelIndexError("take: index 9")

    device.defer(check)
    if is_closed:
        memory.close()
    del memory
    device.alloc(64)
    with pytest.raises(IndexError, match="take: index 9"):
        device.synchronize()


def test_a_forked_child_uses_the_device_after_its_parent_used_streams() -> None:
    """Streams too; that one of the parent's had work left is an error of the child's first synchronize."""
    code = """
import os, rocmkern as rk
from rocmkern.drivers.work_queue import Mark
from rocmkern.errors import DriverError
device = rk.Device("emulator:gfx942")
x, stream, memory = rk.asarray([1.0, 2.0], device=device), device.create_stream(), device.alloc(64)
memory.fill(1, stream)
stream.synchronize()
busy, gate = device.create_stream(), Mark()
device.driver._queue(busy.handle).submit(gate.wait)
child = os.fork()
if not child:
    try:
        try:
            device.synchronize()
        except DriverError as error:
            assert "forked before it was done" in str(error)
        else:
            raise AssertionError
        assert (x + 1).tolist() == [2.0, 3.0]
        for used in (stream, busy):
            memory.fill(2, used)
            used.synchronize()
        assert set(memory.copy_to_host().tolist()) == {2}
        os._exit(0)
    finally:
        os._exit(1)
status = os.waitpid(child, 0)[1]
gate.set()
busy.synchronize()
assert status == 0
assert (x + 1).tolist() == [2.0, 3.0]
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
