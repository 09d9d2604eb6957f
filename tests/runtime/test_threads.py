"""Threads, forks and the garbage collector: no call waits for ever, and no finaliser waits at all."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import cast

import pytest

import rocmkern as rk
from rocmkern.drivers.emulator import EmulatorDriver
from rocmkern.drivers.work_queue import Mark, WorkQueue
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.machine import Machine
from rocmkern.errors import ClosedError, DriverError
from tests import samples
from tests.runtime.test_emulator import ADD

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


@pytest.mark.parametrize("apart", [False, True])
def test_memory_is_freed_while_the_arena_is_locked(apart: bool) -> None:
    """By a finaliser that the garbage collector runs there: the next one that has the lock frees it."""
    arena = Arena(apart=apart)
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


def test_a_modules_memory_goes_with_its_last_launch() -> None:
    """A module that is collected keeps it for what was given to a stream before, which computes the right values."""
    device = rk.Device("emulator:gfx942")
    stream, gate, driver = device.create_stream(), Mark(), cast(EmulatorDriver, device.driver)
    module = rk.Module.load_data(samples.compile_hip(samples.ADD, "gfx942"), device)
    x, out, used = rk.ones((64,), device=device), rk.zeros((64,), device=device), driver._machine.arena.used
    driver._queue(stream.handle).submit(gate.wait)
    add = module.get_function("add_f32", ADD)
    add(64, x.memory, out.memory, 2.0, 1, grid=1, block=64, stream=stream)
    del module, add
    assert driver._machine.arena.used == used
    gate.set()
    stream.synchronize()
    assert driver._machine.arena.used < used
    assert out.tolist() == [4.0] * 64


def test_a_closed_module_begins_no_launch() -> None:
    """Whoever holds one of its kernels is told; its memory is free, once."""
    machine = Machine("gfx942")
    loaded = machine.load(samples.compile_hip(samples.ADD, "gfx942"))
    entry = loaded.kernel("add_f32")
    loaded.close()
    loaded.close()
    other = machine.arena.alloc(1 << 12)
    loaded.close()
    assert machine.arena.used == 1 << 12
    with pytest.raises(ClosedError, match="launch: the module is closed; load it again"):
        machine.launch(entry, (1, 1, 1), (64, 1, 1), 0, bytes(64))
    machine.free(other)


def test_one_error_tells_all_of_a_devices_streams() -> None:
    """The first is raised by what waits for the device, once, and tells the next ones; a stream keeps 16."""
    device = rk.Device("emulator:gfx942")
    streams = [device.create_stream() for _ in range(2)]

    def fails(number: int) -> None:
        raise DriverError(f"task {number}")

    for stream in streams:
        for number in range(20):
            cast(EmulatorDriver, device.driver)._queue(stream.handle).submit(partial(fails, number))
    streams.pop().close()
    with pytest.raises(DriverError, match="task 0") as caught:
        device.synchronize()
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert all(told.count(f"task {number}\n") == 2 for number in range(1, 15))
    assert "task 16" not in told
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


@pytest.mark.parametrize("name", ["emulator:gfx942", "emulator:gfx942:checked"])
@pytest.mark.parametrize(
    "ending", ["", "raise SystemExit(0)", "import gc; gc.disable(); circle = [kept]; circle += [circle]"]
)
def test_nothing_is_said_as_the_process_ends(name: str, ending: str) -> None:
    """Whatever is alive then, and after errors: finalisers run without a word."""
    done = run(f"""
import rocmkern as rk
device = rk.Device({name!r})
kept = [rk.ones((4, 4), device=device), device.create_stream(), device.create_event(), device.alloc_pinned(64)]
memory = device.alloc(64)
memory.fill(1, kept[1])
kept += [memory, rk.linalg.inv(rk.eye(4, device=device)), rk.random.default_rng(1, device=device), kept[3].array()]
singular = kept[0]
for wrong in (lambda: rk.linalg.inv(singular), lambda: device.alloc(1 << 60), lambda: device.alloc(-1)):
    try:
        wrong()
    except rk.errors.RocmkernError:
        pass
{ending}
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
