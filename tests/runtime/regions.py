"""Work that goes through every locked region, run as a program: `python -m tests.runtime.regions WHAT …`.

`collect`: the garbage collector finds one of all things that have finalisers in each region. `fork NAME…`: the process
forks while another thread is in the region of that name, and the child does the same work. Both print the names of the
locks that they went through. `file PATH`: it forks while another thread holds the lock of a file.
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import gc
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import drivers, locks
from rocmkern.distributed.places import Place
from rocmkern.distributed.rendezvous import meet
from rocmkern.engine import checks
from rocmkern.errors import DriverError
from rocmkern.hip_on_cpu.calls import Calls
from tests.fuzz.elf import code_object
from tests.fuzz.notes import KERNEL, started
from tests.models import small_files

HANG_S: Final = 240
TARGET: Final = "gfx942"
COUNT: Final = 70
EACH: Final = 3  # collections in the regions of one lock, in one round
ROUNDS: Final = 3
IMAGE: Final = code_object([started(TARGET)], TARGET).data


class Work:
    """What threads and processes share, and do with it."""

    def __init__(self, device: rk.Device) -> None:
        self.device, self.stream, self.generator = (
            device,
            device.create_stream(),
            rk.random.default_rng(1, device=device),
        )
        self.memory, self.watched = device.alloc(1 << 14), rk.Device(f"emulator:{TARGET}:checked").alloc(1 << 14)
        self.watched.fill(0)
        self.watched_function = rk.Module.load_data(IMAGE, self.watched.device).get_function(KERNEL)
        self.calls = Calls((TARGET,), ctypes.CDLL(None))
        with tempfile.TemporaryDirectory() as folder:
            self.model = rk.models.load(small_files.small(Path(folder, "model.gguf")), device)
        self.load()

    def load(self) -> None:
        """Code that nobody has translated."""
        self.module = rk.Module.load_data(IMAGE, self.device)
        self.function = self.module.get_function(KERNEL)

    @staticmethod
    def launch(function: rk.Function, memory: rk.DeviceMemory, stream: rk.Stream | None = None) -> None:
        block = bytearray(function.kernel.explicit_bytes)
        for argument in function.kernel.explicit_arguments:
            value = memory.address if argument.is_pointer else COUNT
            block[argument.offset : argument.end] = value.to_bytes(8, "little")[: argument.size]
        function.launch_packed(bytes(block), grid=1, block=64, stream=stream)

    def __call__(self) -> None:
        """Go through every region at least once."""
        self.memory.fill(1, self.stream)
        self.launch(self.function, self.memory, self.stream)
        self.stream.synchronize()
        self.launch(self.function, self.memory)
        self.launch(self.watched_function, self.watched)
        with rk.check():
            self.launch(self.watched_function, self.watched)
        self.device.alloc(1 << 24).close()
        self.device.trim()
        with suppress(LookupError):
            drivers.open("emulator:none")
        assert self.generator.random(8).shape == (8,)
        checks._answers.pop(self.device.driver, None)
        x = rk.asarray([1.0, 2.0], device=self.device)
        assert rk.take(x, rk.asarray([1, 0], device=self.device)).tolist() == [2.0, 1.0]
        address = ctypes.c_void_p()
        self.calls.hipMalloc(ctypes.addressof(address), 64)
        self.calls.hipFree(address.value or 0)
        with self.device.create_stream() as stream:
            self.memory.fill(2, stream)
        with self.model._session() as session:
            assert not session.tokens
        self.collective(x)

    def collective(self, x: rk.Tensor) -> None:
        """What a job of one process does with a tensor, which it sends to itself."""
        rendezvous = meet(Place(0, 1, 0, "127.0.0.1", 0), None, HANG_S)
        with rk.distributed.Group(self.device, (0,), 0, rendezvous) as group:
            assert rk.distributed.all_reduce(x, group=group).tolist() == [1.0, 2.0]
            rk.distributed.send(x, 0, group=group)
            assert rk.distributed.recv(rk.zeros(2, device=self.device), 0, group=group).tolist() == [1.0, 2.0]
        rendezvous.close()


class Hook:
    """Has something done inside of every locked region."""

    def __init__(self, done: Callable[[str], None]) -> None:
        self.is_on, self.done = False, done
        enter, if_free = locks.Lock.__enter__, locks.Lock.if_free

        def entered(lock: locks.Lock) -> None:
            enter(lock)
            self.tell(lock.name)

        @contextmanager
        def entered_if_free(lock: locks.Lock) -> Iterator[bool]:
            with if_free(lock) as has:
                if has:
                    self.tell(lock.name)
                yield has

        locks.Lock.__enter__ = entered  # type: ignore[method-assign]
        locks.Lock.if_free = entered_if_free  # type: ignore[method-assign, assignment]

    def tell(self, name: str) -> None:
        if self.is_on:
            self.done(name)


def garbage(device: rk.Device) -> list[Any]:
    """One of everything that has a finaliser, in a circle."""
    idle, busy = device.create_stream(), device.create_stream()
    used, under_way = device.alloc(64), device.alloc(64)
    used.fill(1, idle)
    idle.synchronize()
    for _ in range(20):
        under_way.fill(1, busy)
    pinned, tensor = device.alloc_pinned(64), rk.ones((3,), device=device)
    module, graphs = rk.Module.load_data(IMAGE, device), [rk.Graph(), rk.Graph()]
    for graph in graphs:
        with graph.capture():
            tensor + 1
    graphs[0].launch()
    graphs[1].launch(busy)
    found: list[Any] = [
        idle, busy, used, under_way, device.alloc(64), idle.record(), busy.record(), device.create_event(), pinned,
        pinned.array(), tensor, np.from_dlpack(tensor), rk.from_dlpack(np.ones(3, np.float32)), module,
        module.get_function(KERNEL), rk.random.default_rng(1, device=device), rk.Module.load_data(IMAGE, device),
        graphs,
    ]  # fmt: skip
    found.append(found)
    return found


def collect(device: rk.Device) -> set[str]:
    batches, collected, regions = deque[list[Any]](), Counter[str](), set[str]()
    one_by_one, inside = threading.Lock(), threading.local()

    def done(name: str) -> None:
        if getattr(inside, "collector", False):
            return  # it does not run within itself
        with one_by_one:
            if collected[name] >= EACH:
                return
            inside.collector = True
            batches.popleft()
            gc.collect()
            inside.collector = False
            collected[name] += 1
            regions.add(name)

    work, hook = Work(device), Hook(done)
    work()
    garbage(device)  # loads what it needs
    gc.collect()
    device.synchronize()
    gc.disable()
    driver: Any = device.driver
    streams, events, modules = len(driver._streams), len(driver._events), len(driver._modules)
    for _ in range(ROUNDS):
        work.load()
        batches.extend(garbage(device) for _ in range(EACH * 10))
        collected.clear()
        hook.is_on = True
        work()
        hook.is_on = False
        batches.clear()
        gc.collect()
    gc.enable()
    device.synchronize()
    device.synchronize()
    left = len(driver._streams), len(driver._events), len(driver._modules)
    assert left == (streams, events, modules)
    assert not (driver._dropped or driver._machine.arena._released or device._pool._left)
    return regions


def fork(device: rk.Device, names: Sequence[str]) -> set[str]:
    held, go_on = threading.Event(), threading.Event()

    def done(name: str) -> None:
        if name == wanted and threading.current_thread() is not threading.main_thread() and not held.is_set():
            held.set()
            go_on.wait(HANG_S)

    work, hook, wanted = Work(device), Hook(done), ""
    work()
    forked = set[str]()
    for wanted in names:
        work.load()
        held.clear()
        go_on.clear()
        hook.is_on = True
        thread = threading.Thread(target=work)
        thread.start()
        if held.wait(HANG_S / 4):
            child = os.fork()
            if not child:
                _work_in_child(work, hook)
            if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
                forked.add(wanted)
        hook.is_on = False
        go_on.set()
        thread.join()
    work()
    return forked


def _work_in_child(work: Work, hook: Hook) -> None:
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(HANG_S // 4)
    hook.is_on = False
    status = 1
    try:
        with suppress(DriverError):  # where its work was not done
            work.stream.synchronize()
        for _ in range(2):
            work()
        status = 0
    except BaseException:
        traceback.print_exc()
    os._exit(status)


def file(path: Path) -> None:
    """Fork while another thread holds a file's lock."""
    held, let_go = threading.Event(), threading.Event()
    path.touch()

    def hold() -> None:
        descriptor = os.open(path, os.O_RDONLY)
        with locks.file_locked(descriptor):
            held.set()
            let_go.wait(HANG_S)
        os.close(descriptor)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(HANG_S)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(theirs)
        os.read(ours, 1)  # until the parent has looked
        with locks.file_locked(os.open(path, os.O_RDONLY)):
            os._exit(0)
    other = os.open(path, os.O_RDONLY)
    assert not _is_free(other)
    let_go.set()
    thread.join()
    assert _is_free(other)
    os.close(other)
    os.close(theirs)
    assert os.waitpid(child, 0)[1] == 0


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main(what: str, *arguments: str) -> None:
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    if what == "file":
        file(Path(arguments[0]))
        return
    device = rk.Device(f"emulator:{TARGET}")
    seen = collect(device) if what == "collect" else fork(device, arguments)
    for name in sorted(seen):
        print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
