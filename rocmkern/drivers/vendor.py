"""What the drivers of the vendors' bindings have in common: HIP and CUDA have the same calls under other names."""

from __future__ import annotations

import ctypes
import re
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, NoReturn

from attrs import define, field

from rocmkern.drivers.c_functions import CFunction
from rocmkern.drivers.launch_buffer import ArgumentBlock, Geometry, Launch
from rocmkern.drivers.pinned import PinnedRanges
from rocmkern.drivers.protocol import Again, DeviceInfo, Dims, Driver, GraphStep, Work
from rocmkern.drivers.vendor_graphs import StepByStep, VendorGraphs
from rocmkern.errors import (
    ClosedError,
    CodeObjectError,
    DeviceNotFound,
    DeviceOutOfMemory,
    DriverError,
    DriverUnavailable,
    KernelNotFound,
    MemoryFault,
    RocmkernError,
)
from rocmkern.locks import renew_in_children

_KEPT_LAUNCHES: Final = 1024
_LEGACY: Final = 1  # the default stream, as DLPack and the libraries have it too
Meaning = tuple[type[RocmkernError], str]  # the error's class, and the remedy

OUT_OF_MEMORY: Final[Meaning] = (DeviceOutOfMemory, "free memory, or use a smaller batch")
NO_DEVICE: Final[Meaning] = (DeviceNotFound, "use an emulator device")
BAD_IMAGE: Final[Meaning] = (CodeObjectError, "check the file with `rocmkern inspect`")
NO_KERNEL: Final[Meaning] = (KernelNotFound, "list the kernels with `rocmkern inspect`")
LAUNCH_FAILED: Final[Meaning] = (
    MemoryFault,
    "use a block within the kernel's launch bounds, and run it on `emulator:…:checked` to find a faulty access",
)
FAULT: Final[Meaning] = (MemoryFault, "run it on `emulator:…:checked` to find the access")


@define(eq=False)
class Vendor:
    """A vendor's bindings and what their statuses mean.

    `calls` has for each action the bindings' function, and what it takes behind the action's own arguments.
    """

    name: str
    library: str
    remedy: str  # where the library can't be used
    load: Callable[[], Any]  # imports the bindings
    calls: dict[str, tuple[Any, ...]]
    errors: dict[str, Meaning]
    not_ready: str
    status: str  # the type of one
    c_modules: dict[str, str]  # where which bindings hold the library's own functions
    launch: CFunction
    select: CFunction
    _bindings: Any = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        renew_in_children(self)

    def bindings(self) -> Any:
        """The bindings. Raises DriverUnavailable where they can't be used."""
        if self._bindings is None:
            self._bindings = self.load()
        return self._bindings

    def renew(self) -> None:
        """In a forked child: a library that was used before the fork waits for ever there, or answers nonsense."""
        if self._bindings is not None:
            self.load, self._bindings = self.refuse, None

    def refuse(self, *_: Any) -> NoReturn:
        raise DriverUnavailable(
            f"{self.name}: this process was forked from one that uses the {self.library}, which does not work in such "
            'a child; start it by spawn: multiprocessing.get_context("spawn")'
        )

    def c_function(self, function: CFunction) -> Any:
        """What calls a function with C values; None where these bindings do not show it."""
        return function.found(self.c_modules.get(self.bindings().__name__))

    def check(self, call: str, *args: Any) -> Any:
        """Calls `call` of the bindings; its values without the status: None, one value, or a tuple.

        Raises the error class that fits the status. The only place where one is looked at, save for launches and event
        queries.
        """
        try:
            status, *values = getattr(self.bindings(), call)(*args)
        except DriverUnavailable:
            raise
        except RuntimeError as error:
            why = re.sub(r"b'([^']*)'", r"\1", str(error))  # hip-python shows bytes as they are
            raise DriverUnavailable(
                f"{call}: the {self.library} can't be used ({why}); {self.remedy}, or use an emulator device"
            ) from None
        if status:
            raise self.error(call, status)
        return values[0] if len(values) == 1 else tuple(values) or None

    def error(self, call: str, status: Any) -> RocmkernError:
        kind, remedy = self.errors.get(status.name) or (DriverError, f"see the {self.name} documentation of the call")
        return kind(f"{call}: {status.name} ({int(status)}); {remedy}")

    def ordinal(self, name: str, count: int) -> int:
        """The number in `hip:N`, 0 if there is none. Raises DeviceNotFound beyond `count`."""
        number = name.partition(":")[2] or "0"
        if not number.isdigit() or int(number) >= count:
            raise DeviceNotFound(f"open: no device {name!r}; {self.name} sees {count}, numbered from 0")
        return int(number)


@define(eq=False)
class VendorDriver(ABC):
    """One device. Objects of the bindings are kept by the integer that the protocol hands out; what is destroyed after
    close() is gone already.
    """

    vendor: ClassVar[Vendor]
    null: ClassVar[Any]  # the bindings' null pointer, and the default stream
    argument_codes: ClassVar[tuple[int, int, int]]  # of `extra`: the pointer, the size, the end

    ordinal: int
    info: DeviceInfo = field(init=False)
    _objects: dict[int, Any] = field(init=False, factory=dict)
    _functions: dict[int, list[int]] = field(init=False, factory=dict)
    _pinned: PinnedRanges = field(init=False, factory=PinnedRanges)
    _several: bool = field(init=False)  # devices
    _launches: dict[tuple[Geometry, int], list[Launch]] = field(init=False, factory=dict)  # by geometry and bytes
    _reached: set[int] = field(init=False, factory=set)  # ordinals of devices whose memory this one may use
    _graphs: VendorGraphs | StepByStep = field(init=False)
    _raw_launch: Any = field(init=False)
    _call: Callable[..., int] = field(init=False)
    _raw_select: Any = field(init=False)
    _retired: deque[tuple[str, int]] = field(init=False, factory=deque)  # what finalisers left to do, and with what

    def __attrs_post_init__(self) -> None:
        self._raw_launch = self.vendor.c_function(self.vendor.launch)
        self._raw_select = self.vendor.c_function(self.vendor.select)
        self._call = self._raw_launch or self._through_bindings
        self._graphs = self._graph_calls()
        renew_in_children(self)

    @abstractmethod
    def _select(self) -> None:
        """Makes this device the calling thread's current one; other libraries may have changed it."""

    def _do(self, action: str, *args: Any) -> Any:
        call, *more = self.vendor.calls[action]
        return self.vendor.check(call, *args, *more)

    def close(self) -> None:
        self._call = self._ended
        self._objects.clear()
        self._functions.clear()
        self._pinned.clear()
        self._launches.clear()
        self._graphs.clear()
        self._retired.clear()

    def retire(self, destroy: str, handle: int) -> None:
        self._retired.append((destroy, handle))

    def _sweep(self) -> None:
        """Do what finalisers left to do."""
        while self._retired:
            try:
                destroy, handle = self._retired.popleft()
            except IndexError:  # another thread took the last one
                return
            getattr(self, destroy)(handle)

    def renew(self) -> None:
        """Nothing of the parent's reaches the library: not what is destroyed, and not what is launched again."""
        VendorDriver.close(self)
        self._call = self._raw_select = self.vendor.refuse

    def alloc(self, nbytes: int) -> int:
        self._select()
        self._sweep()
        return int(self._do("alloc", _size(nbytes, "alloc")))

    def free(self, address: int) -> None:
        self._select()
        self._do("free", address)

    def alloc_pinned(self, nbytes: int) -> memoryview:
        self._select()
        self._sweep()
        address = int(self._do("alloc_pinned", _size(nbytes, "alloc_pinned")))
        block = (ctypes.c_ubyte * nbytes).from_address(address)
        self._pinned.add(address, nbytes)
        # Every view and array on the block keeps it alive.
        weakref.finalize(block, self.retire, "free_pinned", address)
        return memoryview(block).cast("B")

    def free_pinned(self, address: int) -> None:
        if self._pinned.remove(address):
            self._select()
            self._do("free_pinned", address)

    def is_pinned(self, view: memoryview) -> bool:
        return self._pinned.contain(view)

    def memory_info(self) -> tuple[int, int]:
        self._select()
        self._sweep()
        free, total = self._do("memory_info")
        return int(free), int(total)

    @abstractmethod
    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None: ...

    @abstractmethod
    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None: ...

    @abstractmethod
    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None: ...

    @property
    @abstractmethod
    def _as_peer(self) -> Any:
        """What the library's calls between devices take for this one."""

    def copy_from_peer(self, target: int, peer: Driver, source: int, nbytes: int, stream: int, owner: object) -> bool:
        if not isinstance(peer, type(self)):
            return False
        self._reach(peer)
        begin, end = peer.create_event(), self.create_event()
        try:
            peer.record_event(begin, 0)
            self.wait_for_peer(stream, peer, begin)
            self._do("copy_from_peer", target, self._as_peer, source, peer._as_peer, nbytes, self._stream(stream))
            self.record_event(end, stream)
            peer.wait_for_peer(0, self, end)
        finally:
            peer.destroy_event(begin)
            self.destroy_event(end)
        return True

    def _reach(self, peer: VendorDriver) -> None:
        """Lets both devices use each other's memory, so that copies take the link between them. Where there is none, or
        another library has done it, the call is refused, and copies go as they can.
        """
        if peer.ordinal in self._reached:
            return
        for one, other in ((self, peer), (peer, self)):
            one._select()
            with suppress(DriverError):
                one._do("enable_peer", other._as_peer)
            one._reached.add(other.ordinal)
        self._select()

    def view(self, address: int, nbytes: int) -> memoryview | None:
        return None

    def fill(self, address: int, byte: int, nbytes: int, stream: int) -> None:
        if nbytes:
            self._select()
            self._do("fill", address, byte, nbytes, self._stream(stream))

    def create_stream(self) -> int:
        self._select()
        self._sweep()
        return self._keep(self._do("create_stream"))

    def destroy_stream(self, stream: int) -> None:
        self._launches.clear()
        held = self._objects.pop(stream, None)
        if held is not None:
            self._select()
            self._do("synchronize_stream", held)
            self._do("destroy_stream", held)

    def synchronize_stream(self, stream: int) -> None:
        self._select()
        self._do("synchronize_stream", self._stream(stream))

    def stream_wait_event(self, stream: int, event: int) -> None:
        self._select()
        self._do("stream_wait_event", self._stream(stream), self._objects[event])

    def adopt_stream(self, stream: int) -> int:
        if stream in (0, _LEGACY):
            return 0
        self._objects.setdefault(stream, self._foreign_stream(stream))
        return stream

    def _foreign_stream(self, stream: int) -> Any:
        """What the bindings take for a stream that they did not make."""
        return stream

    def wait_for_peer(self, stream: int, peer: Driver, event: int) -> None:
        if isinstance(peer, type(self)):
            self._select()
            self._do("stream_wait_event", self._stream(stream), peer._objects[event])
        else:
            peer.synchronize_event(event)

    def create_event(self) -> int:
        self._select()
        self._sweep()
        return self._keep(self._do("create_event"))

    def destroy_event(self, event: int) -> None:
        held = self._objects.pop(event, None)
        if held is not None:
            self._do("destroy_event", held)

    def record_event(self, event: int, stream: int) -> None:
        self._select()
        self._do("record_event", self._objects[event], self._stream(stream))

    def query_stream(self, stream: int) -> bool:
        held = self._objects.get(stream)
        return held is None or self._query("query_stream", held)

    def query_event(self, event: int) -> bool:
        return self._query("query_event", self._objects[event])

    def _query(self, action: str, held: Any) -> bool:
        self._select()
        (call,) = self.vendor.calls[action]
        (status,) = getattr(self.vendor.bindings(), call)(held)
        if status.name == self.vendor.not_ready:
            return False
        if status:
            raise self.vendor.error(call, status)
        return True

    def synchronize_event(self, event: int) -> None:
        self._select()
        self._do("synchronize_event", self._objects[event])

    def elapsed_ms(self, start: int, end: int) -> float:
        return float(self._do("elapsed_ms", self._objects[start], self._objects[end]))

    def synchronize(self) -> None:
        self._select()
        self._do("synchronize")
        self._sweep()

    def load_module(self, image: bytes) -> int:
        self._select()
        self._sweep()
        handle = self._keep(self._do("load_module", image))
        self._functions[handle] = []
        return handle

    def unload_module(self, module: int) -> None:
        self._launches.clear()
        held = self._objects.pop(module, None)
        if held is None:
            return
        self._select()
        self._do("synchronize")
        for function in self._functions.pop(module):
            self._objects.pop(function, None)
        self._do("unload_module", held)

    def function(self, module: int, name: str) -> int:
        handle = self._keep(self._do("function", self._objects[module], name.encode()))
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
        if self._several:
            self._select()
        key = (function, grid, block, shared_bytes, stream, early), len(arguments)
        spare = self._launches.get(key)
        if spare is None:
            spare = self._kept(key)
        try:
            launch = spare.pop()
        except IndexError:
            launch = self._launch(*key)
        launch.view[:] = arguments
        if status := self._call(*launch.passed):
            self._refused(launch, status)
        spare.append(launch)

    def enqueue(self, work: Work, stream: int) -> None:
        self._select()
        self._stream(stream)  # refuses a closed one
        work(stream)

    def prepare(self, function: int, grid: Dims, block: Dims, arguments: bytes, places: Sequence[int]) -> Again:
        geometry, several = (function, grid, block, 0, 0, False), self._several
        spare = list[tuple[Launch, Callable[..., None], tuple[Any, ...]]]()

        def made() -> tuple[Launch, Callable[..., None], tuple[Any, ...]]:
            launch = self._launch(geometry, len(arguments))
            launch.view[:] = arguments
            return launch, launch.addresses(places), launch.passed

        def again(addresses: Sequence[int]) -> None:
            if several:
                self._select()
            try:
                found = spare.pop()
            except IndexError:
                found = made()
            launch, lay, passed = found
            lay(*addresses)
            if status := self._call(*passed):
                self._refused(launch, status)
            spare.append(found)

        return again

    @abstractmethod
    def _graph_calls(self) -> VendorGraphs | StepByStep:
        """The calls for graphs of this device."""

    def build_graph(self, steps: Sequence[GraphStep]) -> int:
        self._select()
        return self._graphs.build(steps)

    def change_graph(self, graph: int, number: int, step: GraphStep) -> None:
        self._select()
        self._graphs.change_step(graph, number, step)

    def launch_graph(self, graph: int, stream: int) -> None:
        if self._several:
            self._select()
        self._graphs.launch(graph, stream)

    def destroy_graph(self, graph: int) -> None:
        self._graphs.destroy(graph)

    def _kernel(self, function: int) -> Any:
        """The library's own kernel of that handle."""
        kernel = self._objects.get(function)
        if kernel is None:
            self._ended()
        return kernel

    def _refused(self, launch: Launch, status: int) -> None:
        raise self.vendor.error(self.vendor.launch.name, getattr(self.vendor.bindings(), self.vendor.status)(status))

    def _kept(self, key: tuple[Geometry, int]) -> list[Launch]:
        """Where launches wait that no thread makes."""
        if len(self._launches) >= _KEPT_LAUNCHES:
            self._launches.clear()
        return self._launches.setdefault(key, [])

    def _launch(self, geometry: Geometry, nbytes: int) -> Launch:
        """A launch with so many bytes of arguments."""
        function, grid, block, shared_bytes, stream, early = geometry
        kernel, sizes = self._kernel(function), (*grid, *block, shared_bytes)
        return self._laid(kernel, sizes, self._stream(stream), early, ArgumentBlock.of(nbytes, *self.argument_codes))

    @abstractmethod
    def _laid(self, kernel: Any, sizes: tuple[int, ...], queue: Any, early: bool, arguments: ArgumentBlock) -> Launch:
        """The launch as the library's call takes it, or else the bindings' own function. What is passed is converted
        here: for each call that costs as much as the call.
        """

    def _through_bindings(self, *passed: Any) -> int:
        """A launch by the bindings' own function, for those without the C one."""
        (status,) = getattr(self.vendor.bindings(), self.vendor.launch.name)(*passed)
        return int(status)

    def _ended(self, *_: Any) -> NoReturn:
        if self._call == self.vendor.refuse:
            self.vendor.refuse()
        raise ClosedError(f"launch: {self.info.name} is closed, as the process ends; compute before that")

    def _stream(self, stream: int) -> Any:
        if not stream:
            return self.null
        found = self._objects.get(stream)
        if found is None:
            raise ClosedError(f"stream of {self.info.name}: it is closed; create another")
        return found

    def _keep(self, thing: Any) -> int:
        """`thing` under its own address."""
        handle = int(thing)
        self._objects[handle] = thing
        return handle


def _size(nbytes: int, operation: str) -> int:
    """What the library's size_t takes. Raises DeviceOutOfMemory for more."""
    if nbytes >> 63:
        raise DeviceOutOfMemory(f"{operation}: {nbytes} bytes are more than any device has; ask for fewer")
    return nbytes
