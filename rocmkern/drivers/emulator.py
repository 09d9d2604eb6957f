"""The CPU emulator as a driver. Work on the default stream runs in the calling thread before the call returns; every
other stream is a thread of its own.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import platform
import re
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import define, field

from rocmkern.drivers.launch_buffer import with_addresses
from rocmkern.drivers.pinned import PinnedRanges
from rocmkern.drivers.protocol import Again, CallStep, CopyStep, DeviceInfo, Dims, Driver, FillStep, GraphStep, Work
from rocmkern.drivers.work_queue import Mark, WorkQueue
from rocmkern.emulator.callers import caller
from rocmkern.errors import ClosedError, DeviceNotFound, DeviceOutOfMemory, DriverError, DriverUnavailable, together
from rocmkern.locks import renew_in_children
from rocmkern.near import near
from rocmkern.targets import TARGETS, Target

if TYPE_CHECKING:
    from rocmkern.emulator.machine import Entry, Loaded, Machine
    from rocmkern.emulator.observers.seam import Observer, Records
    from rocmkern.emulator.space import Start

_DEFAULT_TARGET: Final = "gfx942"
_CHECKED: Final = "checked"
_NAME: Final = re.compile(
    rf"emulator(:(?P<target>(?!{_CHECKED}$)[a-z]\w*))?(:(?P<ordinal>\d{{1,4}}))?(:(?P<checked>{_CHECKED}))?"
)
_HOSTS: Final = ("Linux on x86_64", "Linux on AMD64")
_MAX_GRID: Final[Dims] = (2**31 - 1, 65536, 65536)  # what HIP reports


def open_device(name: str) -> EmulatorDriver:
    """`emulator`, `emulator:gfx90a`, `emulator:gfx90a:checked`; `emulator:gfx90a:1` is a second device of that kind."""
    found = _NAME.fullmatch(name)
    target = TARGETS.get(found["target"] or _DEFAULT_TARGET) if found else None
    if found is None or target is None:
        raise DeviceNotFound(
            f"open: no device {name!r}; the emulator has {near(name.split(':')[1], TARGETS)}, each also with "
            f"`:{_CHECKED}`, and with `:1` and so on for more than one"
        )
    _demand_host(name)
    return EmulatorDriver(_info(target, int(found["ordinal"] or 0), checked=bool(found["checked"])))


def _demand_host(name: str) -> None:
    """Raises DriverUnavailable on a machine whose code the emulator can't make, or that lacks llvmlite."""
    system = f"{platform.system()} on {platform.machine()}"
    if system not in _HOSTS:
        raise DriverUnavailable(f"open {name}: the emulator runs on x86-64 Linux, this is {system}; use WSL 2 or a GPU")
    if importlib.util.find_spec("llvmlite") is None:
        raise DriverUnavailable(f"open {name}: the emulator needs llvmlite; run `pip install llvmlite`, or use a GPU")


def present() -> tuple[DeviceInfo, ...]:
    return tuple(_info(target, 0, checked=False) for target in TARGETS.values())


def _info(target: Target, ordinal: int, *, checked: bool) -> DeviceInfo:
    most = target.max_threads_per_block
    return DeviceInfo(
        name=f"emulator:{target.name}" + (f":{ordinal}" if ordinal else "") + (f":{_CHECKED}" if checked else ""),
        marketing=f"{target.marketing} on the CPU",
        arch=target.name,
        wave_size=target.wave_size,
        compute_units=target.compute_units,
        max_threads_per_block=most,
        max_block=(most, most, most),
        max_grid=_MAX_GRID,
        lds_bytes=target.lds_bytes,
        total_memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        unified=True,
        checked=checked,
    )


@define(eq=False)
class EmulatorDriver:
    """One emulated device."""

    info: DeviceInfo
    _machine: Machine = field(init=False)
    _launching: Machine = field(init=False)  # the same, or that with more observers
    _pinned: PinnedRanges = field(init=False, factory=PinnedRanges)
    _handles: itertools.count[int] = field(init=False, factory=lambda: itertools.count(1))
    _streams: dict[int, WorkQueue] = field(init=False, factory=dict)
    _dropped: deque[tuple[int, WorkQueue]] = field(init=False, factory=deque)  # streams that finalisers gave up
    _errors: deque[BaseException] = field(init=False, factory=deque)  # of streams that are gone
    _events: dict[int, Mark | None] = field(init=False, factory=dict)
    _modules: dict[int, Loaded] = field(init=False, factory=dict)
    _functions: dict[int, list[int]] = field(init=False, factory=dict)  # of each module
    _entries: dict[int, Entry] = field(init=False, factory=dict)
    _graphs: dict[int, list[Callable[[], None]]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        from rocmkern.emulator.machine import Machine  # loads LLVM: listing devices must not
        from rocmkern.emulator.observers.races import observers
        from rocmkern.emulator.observers.seam import NOBODY

        self._machine = self._launching = Machine(
            self.info.arch, observers(self.info.arch) if self.info.checked else NOBODY
        )
        renew_in_children(self)

    @contextmanager
    def watched(self, *observers: Observer) -> Iterator[tuple[Records, ...]]:
        """What these observers keep of all launches meanwhile, on any stream."""
        self.synchronize()
        before = self._launching
        with before.watched(*observers) as self._launching:
            try:
                yield self._launching.records[len(before.records) :]
            finally:
                try:
                    self.synchronize()
                finally:
                    self._launching = before

    def close(self) -> None:
        for stream in list(self._streams):
            self.destroy_stream(stream)
        self._modules.clear()
        self._entries.clear()
        self._graphs.clear()

    def retire(self, destroy: str, handle: int) -> None:
        if destroy != "destroy_stream":
            getattr(self, {"unload_module": "_forget_module"}.get(destroy, destroy))(handle)  # takes no lock
            return
        queue = self._streams.get(handle)
        if queue is not None:
            if queue.close_if_idle():
                self._streams.pop(handle, None)
            self._dropped.append((handle, queue))

    def renew(self) -> None:
        for module in self._modules.values():
            module.renew()
        for queue in self._streams.values():
            queue.renew()
        for mark in self._events.values():
            if mark is not None:
                mark.renew()

    def alloc(self, nbytes: int) -> int:
        free, total = self.memory_info()
        if nbytes > free:  # the arena reserves addresses beyond what the computer could ever back
            raise DeviceOutOfMemory(f"alloc: {nbytes} bytes wanted, {free} of {total} free; free some memory first")
        return self._machine.alloc(nbytes)

    def free(self, address: int) -> None:
        self._machine.free(address)

    def alloc_pinned(self, nbytes: int) -> memoryview:
        try:
            block = (ctypes.c_ubyte * nbytes)()
        except (MemoryError, OverflowError):
            raise DeviceOutOfMemory(f"alloc_pinned: {nbytes} bytes; the host has not so much memory") from None
        address = ctypes.addressof(block)
        self._pinned.add(address, nbytes)
        weakref.finalize(block, self._pinned.remove, address)  # every view and array on the block keeps it alive
        return memoryview(block).cast("B")

    def is_pinned(self, view: memoryview) -> bool:
        return self._pinned.contain(view)

    def memory_info(self) -> tuple[int, int]:
        arena = self._machine.arena
        total = min(self.info.total_memory, arena.capacity)
        return total - arena.used, total

    def view(self, address: int, nbytes: int) -> memoryview | None:
        return self._machine.view(address, nbytes)

    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None:
        target = self._machine.view(address, source.nbytes)
        self._do(stream, _copy, target, source)

    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None:
        source = self._machine.view(address, target.nbytes, writes=False)
        if self.info.checked:
            self._do(stream, self._copy_checked, target, source, address, caller())
        else:
            self._do(stream, _copy, target, source)

    def _copy_checked(self, target: memoryview, source: memoryview, address: int, where: str) -> None:
        target[:] = source
        self._machine.tell_of_copy(address, target.nbytes, where)

    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        views = self._machine.view(target, nbytes), self._machine.view(source, nbytes, writes=False)
        self._do(stream, _copy, *views)

    def copy_from_peer(self, target: int, peer: Driver, source: int, nbytes: int, stream: int, owner: object) -> bool:
        if not isinstance(peer, EmulatorDriver):
            return False
        if not stream:
            peer._join()
        views = self._machine.view(target, nbytes), peer._machine.view(source, nbytes, writes=False)
        self._do(stream, _copy, *views, owner)
        return True

    def fill(self, address: int, byte: int, nbytes: int, stream: int) -> None:
        target = self._machine.view(address, nbytes)
        self._do(stream, _set, target, byte)

    def call_host(self, stream: int, task: Callable[[], None]) -> None:
        """Have the stream call a function of the host behind the work before it."""
        self._do(stream, task)

    def create_stream(self) -> int:
        self._sweep()
        handle = next(self._handles)
        self._streams[handle] = WorkQueue()
        return handle

    def destroy_stream(self, stream: int) -> None:
        queue = self._streams.get(stream)
        if queue is not None:
            self._end(stream, queue)

    def _end(self, stream: int, queue: WorkQueue) -> None:
        queue.close()  # others wait for its work until that is done
        self._streams.pop(stream, None)
        self._errors.extend(queue.take_errors())

    def _sweep(self) -> None:
        """End streams that finalisers gave up, once their work is done."""
        for _ in range(len(self._dropped)):
            try:
                stream, queue = self._dropped.popleft()
            except IndexError:  # another thread took the last one
                return
            if queue.is_idle:
                self._end(stream, queue)
            else:
                self._dropped.append((stream, queue))

    def _queue(self, stream: int) -> WorkQueue:
        queue = self._streams.get(stream)
        if queue is None:
            raise ClosedError(f"stream of {self.info.name}: it is closed; create another")
        return queue

    def synchronize_stream(self, stream: int) -> None:
        if stream:
            self._queue(stream).synchronize()

    def query_stream(self, stream: int) -> bool:
        queue = self._streams.get(stream)
        return queue is None or queue.is_idle

    def stream_wait_event(self, stream: int, event: int) -> None:
        mark = self._events[event]
        if mark is not None:
            self._do(stream, mark.wait)

    def adopt_stream(self, stream: int) -> int:
        if stream:
            self._queue(stream)
        return stream

    def wait_for_peer(self, stream: int, peer: Driver, event: int) -> None:
        if not isinstance(peer, EmulatorDriver):
            peer.synchronize_event(event)
        elif (mark := peer._events[event]) is not None:
            self._do(stream, mark.wait)

    def create_event(self) -> int:
        handle = next(self._handles)
        self._events[handle] = None
        return handle

    def destroy_event(self, event: int) -> None:
        self._events.pop(event, None)

    def record_event(self, event: int, stream: int) -> None:
        if stream:
            self._events[event] = self._queue(stream).record()
            return
        self._join()
        mark = self._events[event] = Mark()
        mark.set()

    def query_event(self, event: int) -> bool:
        mark = self._events[event]
        return mark is None or mark.is_reached

    def synchronize_event(self, event: int) -> None:
        mark = self._events[event]
        if mark is not None:
            mark.wait()

    def elapsed_ms(self, start: int, end: int) -> float:
        first, last = self._events[start], self._events[end]
        if first is None or last is None:
            raise DriverError("elapsed: an event was never recorded; record both")
        if not (first.is_reached and last.is_reached):
            raise DriverError("elapsed: an event is not finished; synchronize it first")
        return (last.seconds - first.seconds) * 1e3

    def synchronize(self) -> None:
        queues = list(self._streams.values())
        self._join()
        found = [error for queue in queues for error in queue.take_errors()]
        while self._errors:
            with suppress(IndexError):  # another thread took the last one
                found.append(self._errors.popleft())
        if found:
            raise together(found)

    def keep_error(self, error: BaseException) -> None:
        """Have the next synchronize() raise it."""
        self._errors.append(error)

    def load_module(self, image: bytes) -> int:
        handle = next(self._handles)
        self._functions[handle], self._modules[handle] = [], self._machine.load(image)
        return handle

    def unload_module(self, module: int) -> None:
        if module in self._modules:
            self._join()
            self._forget_module(module)

    def _forget_module(self, module: int) -> None:
        """What is under way keeps the memory until it is done."""
        for function in self._functions.pop(module, ()):
            self._entries.pop(function, None)
        loaded = self._modules.pop(module, None)
        if loaded is not None:
            loaded.close()

    def function(self, module: int, name: str) -> int:
        handle = next(self._handles)
        self._entries[handle] = self._modules[module].kernel(name)
        self._functions[module].append(handle)
        return handle

    def launch(
        self,
        function: int,
        grid: Dims,
        block: Dims,
        shared_bytes: int,
        stream: int,
        arguments: bytes,
        early: bool = False,
    ) -> None:
        entry = self._entry(function)
        if stream:
            self._launch_on(self._queue(stream), entry, grid, block, shared_bytes, arguments)
            return
        if self._streams:
            self._join()
        self._launching.launch(entry, grid, block, shared_bytes, arguments)

    def _launch_on(
        self, queue: WorkQueue, entry: Entry, grid: Dims, block: Dims, shared_bytes: int, arguments: bytes
    ) -> None:
        module, machine = entry.module, self._launching

        def work() -> None:
            try:
                machine.launch_held(entry, grid, block, shared_bytes, arguments)
            finally:
                module.let_go()

        module.hold()
        try:
            queue.submit(work)
        except BaseException:
            module.let_go()
            raise

    def enqueue(self, work: Work, stream: int) -> None:
        self._do(stream, work, stream)

    def prepare(self, function: int, grid: Dims, block: Dims, arguments: bytes, places: Sequence[int]) -> Again:
        entry = self._entry(function)
        start = entry.start(self._machine, grid, block, 0)
        if start is None:
            return lambda _: None
        lay = with_addresses(start.plan.argument_block(arguments), places)

        def again(addresses: Sequence[int]) -> None:
            if function not in self._entries:
                raise self._ended()
            if self._streams:
                self._join()
            self._begin(entry, start, lay(addresses))

        return again

    def build_graph(self, steps: Sequence[GraphStep]) -> int:
        handle = next(self._handles)
        self._graphs[handle] = [self._task(step) for step in steps]
        return handle

    def change_graph(self, graph: int, number: int, step: GraphStep) -> None:
        self._graphs[graph][number] = self._task(step)

    def launch_graph(self, graph: int, stream: int) -> None:
        self._do(stream, _run_all, tuple(self._graphs[graph]))

    def destroy_graph(self, graph: int) -> None:
        self._graphs.pop(graph, None)

    def _task(self, step: GraphStep) -> Callable[[], None]:
        """What does a step, with all that can be found out before."""
        machine = self._machine
        if isinstance(step, CallStep):
            return partial(step.run, 0)
        if isinstance(step, CopyStep):
            target = machine.view(step.target, step.nbytes)
            return partial(_copy, target, machine.view(step.source, step.nbytes, writes=False))
        if isinstance(step, FillStep):
            return partial(_set, machine.view(step.address, step.nbytes), step.byte)
        entry = self._entry(step.function)
        start = entry.start(machine, step.grid, step.block, step.shared_bytes)
        if start is None:
            return lambda: None
        return partial(self._begin, entry, start, start.plan.argument_block(step.arguments))

    def _begin(self, entry: Entry, start: Start, block: bytes) -> None:
        """Run what was laid before, told to whoever watches by now."""
        self._launching.begin(entry, start, block)

    def _entry(self, function: int) -> Entry:
        entry = self._entries.get(function)
        if entry is None:
            raise self._ended()
        return entry

    def _ended(self) -> ClosedError:
        return ClosedError(f"launch: {self.info.name} is closed, as the process ends; compute before that")

    def _do(self, stream: int, task: Callable[..., None], *arguments: object) -> None:
        if stream:
            self._queue(stream).submit(partial(task, *arguments))
            return
        if self._streams:
            self._join()
        task(*arguments)

    def _join(self) -> None:
        """The default stream waits for all others."""
        for queue in list(self._streams.values()):
            queue.drain()
        if self._dropped:
            self._sweep()


def _copy(target: memoryview, source: memoryview, owner: object = None) -> None:
    target[:] = source


def _run_all(tasks: Sequence[Callable[[], None]]) -> None:
    for task in tasks:
        task()


def _set(target: memoryview, byte: int) -> None:
    target[:] = bytes((byte,)) * target.nbytes
