"""Device memory and pinned host memory."""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, field

from rocmkern.drivers.protocol import Driver
from rocmkern.errors import ArgumentError, ClosedError, ShapeError
from rocmkern.runtime import capturing
from rocmkern.runtime.closing import Closing
from rocmkern.runtime.peers import copy_between
from rocmkern.runtime.pool import MemoryPool, Shelf
from rocmkern.runtime.stream import Stream, stream_handle

if TYPE_CHECKING:
    from rocmkern.runtime.device import Device

Array = npt.NDArray[Any]


@define(eq=False, repr=False, init=False)
class DeviceMemory(Closing):
    """`nbytes` of memory on `device`, freed by close() or with the last reference.

    Memory used on a stream other than the default one is waited for before anybody else gets it.
    """

    device: Device
    nbytes: int
    driver: Driver
    live_address: int  # 0 once freed: no block is at 0
    _shelf: Shelf
    _streams: set[int] | None

    # Not made by attrs: every operation passes here, and a second call costs.
    def __init__(self, device: Device, nbytes: int) -> None:
        if nbytes.__class__ is not int or nbytes < 0:
            nbytes = byte_count(nbytes, "alloc")
        self.device, self.nbytes, self._streams = device, nbytes, None
        self.driver = device._driver if not device.is_closed else device.driver
        shelf = self._shelf = device._pool.shelves[nbytes]
        self.live_address = shelf.take()

    @staticmethod
    def of(pool: MemoryPool, device: Device, nbytes: int) -> DeviceMemory:
        """Memory from another pool than the device's own."""
        memory = DeviceMemory.__new__(DeviceMemory)
        memory.device, memory.nbytes, memory._streams = device, nbytes, None
        memory.driver, memory._shelf = device.driver, pool.shelves[nbytes]
        memory.live_address = memory._shelf.take()
        return memory

    @property
    def pool(self) -> MemoryPool:
        """Where it goes when it is freed."""
        return self._shelf.pool

    @property
    def address(self) -> int:
        if not self.live_address:
            raise ClosedError(f"memory of {self.nbytes} bytes on {self.device.name}: it is freed; allocate it again")
        return self.live_address

    @property
    def is_closed(self) -> bool:
        return not self.live_address

    def at(self, offset_bytes: int) -> Pointer:
        """A kernel argument that points `offset_bytes` into this memory."""
        return Pointer(self, offset_bytes)

    def copy_from_host(self, array: object, stream: Stream | None = None, *, offset_bytes: int = 0) -> None:
        """Copies a contiguous host array here.

        Without `stream` the copy is done on return. With one it is asynchronous if `array` is pinned memory; from other
        memory the call waits for the stream, since the array could die before the copy.
        """
        source = _host_view(array, "copy_from_host", writable=False)
        address = self._range(offset_bytes, source.nbytes, "copy_from_host")
        self.driver.copy_to_device(address, source, self._on(stream))
        if stream is not None and not self.driver.is_pinned(source):
            stream.synchronize()

    def copy_to_host(self, out: object = None, stream: Stream | None = None, *, offset_bytes: int = 0) -> Array:
        """Copies this memory to `out`, a writable contiguous host array, by default to a new one of bytes.

        Asynchronous under the same conditions as copy_from_host.
        """
        capturing.require_done("copy_to_host")
        if out is None:
            self._range(offset_bytes, 0, "copy_to_host")
        array = np.empty(self.nbytes - offset_bytes, np.uint8) if out is None else out
        target = _host_view(array, "copy_to_host", writable=True)
        address = self._range(offset_bytes, target.nbytes, "copy_to_host")
        self.driver.copy_to_host(target, address, self._on(stream))
        if stream is None:
            self.device.settle()
        if stream is not None and not self.driver.is_pinned(target):
            stream.synchronize()
        return array if isinstance(array, np.ndarray) else np.frombuffer(target, np.uint8)

    def copy_from(self, source: DeviceMemory, nbytes: int | None = None, stream: Stream | None = None) -> None:
        """Copies the first `nbytes` (all by default) of `source`, memory of any device."""
        if not isinstance(source, DeviceMemory):
            raise ArgumentError(f"copy_from: a {type(source).__name__} is no device memory; use copy_from_host")
        size = source.nbytes if nbytes is None else byte_count(nbytes, "copy_from")
        target_address, source_address = self._range(0, size, "copy_from"), source._range(0, size, "copy_from")
        if source.driver is not self.driver:
            self._on(stream)
            copy_between(self.device, target_address, source.device, source_address, size, source, stream)
            return
        recorder = capturing.current()
        if recorder is not None:
            recorder.hold((self, source))
            recorder.copy(self.device, target_address, source_address, size)
            return
        source._on(stream)
        self.driver.copy_on_device(target_address, source_address, size, self._on(stream))

    def fill(self, byte: int, stream: Stream | None = None) -> None:
        """Sets every byte."""
        if not 0 <= byte <= 255:
            raise ArgumentError(f"fill: {byte} is no byte; give 0 to 255")
        recorder = capturing.current()
        if recorder is not None:
            recorder.hold((self,))
            recorder.fill(self.device, self.address, byte, self.nbytes)
            return
        self.driver.fill(self.address, byte, self.nbytes, self._on(stream))

    def view(self) -> memoryview:
        """The memory itself as host bytes, where the host can address it (`device.info.unified`)."""
        view = self.driver.view(self.address, self.nbytes)
        if view is None:
            raise ArgumentError(f"view: the host can't address memory of {self.device.name}; use copy_to_host")
        return view

    def used_on(self, stream: Stream) -> None:
        """Notes work on `stream` that this memory must outlive."""
        if self._streams is None:
            self._streams = set()
        self._streams.add(stream._handle)  # closing one ends its work

    def close(self) -> None:
        """Frees the memory, for others once the work on its streams is done; again does nothing."""
        address, self.live_address = self.live_address, 0
        if address:
            self._give_back(address)

    def _give_back(self, address: int) -> None:
        shelf = self._shelf
        if self._streams is None:
            shelf.put(address)
        else:
            shelf.pool.leave(shelf, address, self._streams)

    def _on(self, stream: Stream | None) -> int:
        if stream is None:
            return 0
        handle = stream_handle(stream, self.driver)
        self.used_on(stream)
        return handle

    def _range(self, offset: int, nbytes: int, operation: str) -> int:
        first = byte_count(offset, operation)
        if first + nbytes > self.nbytes:
            raise ShapeError(
                f"{operation}: bytes {first} to {first + nbytes} of memory that has {self.nbytes}; "
                f"pass an array of at most {max(0, self.nbytes - first)} bytes"
            )
        return self.address + first

    # Not weakref.finalize: that costs 1.1 us for each allocation, as much as the allocation itself.
    def __del__(self) -> None:
        try:
            address = self.live_address
        except AttributeError:  # it was never allocated
            return
        if address and self._streams is None:
            self._shelf.put(address)
        elif address:
            self._give_back(address)

    def __repr__(self) -> str:
        state = f"at {self.live_address:#x}" if self.live_address else "freed"
        return f"DeviceMemory({self.device.name}, {self.nbytes} bytes, {state})"


class Block(Protocol):
    """Memory that a kernel can be given: a DeviceMemory, or another library's."""

    @property
    def nbytes(self) -> int: ...
    @property
    def address(self) -> int: ...


@define(eq=False)
class Pointer:
    """A place inside a block of device memory, which has neither shape nor dtype."""

    memory: Block
    byte_offset: int
    device: Device | None = None  # of another library's memory, which does not know it

    def __attrs_post_init__(self) -> None:
        if not 0 <= as_index(self.byte_offset) <= self.memory.nbytes:
            raise ShapeError(f"at: byte {self.byte_offset} of memory that has {self.memory.nbytes}; stay inside")

    @property
    def address(self) -> int:
        return self.memory.address + self.byte_offset

    @property
    def nbytes(self) -> int:
        """The bytes from here to the end of the memory."""
        return self.memory.nbytes - self.byte_offset


@define(eq=False, repr=False)
class PinnedMemory(Closing):
    """Host memory that the device reads and writes directly; arrays made from it keep it alive."""

    device: Device
    nbytes: int
    _view: memoryview | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.nbytes = byte_count(self.nbytes, "alloc_pinned")
        self._view = self.device.driver.alloc_pinned(max(self.nbytes, 1))

    def array(self, dtype: npt.DTypeLike = np.uint8, shape: int | tuple[int, ...] | None = None) -> Array:
        """A NumPy array on this memory."""
        if self._view is None:
            raise ClosedError(f"pinned memory of {self.nbytes} bytes: it is closed; allocate it again")
        flat: Array = np.frombuffer(self._view[: self.nbytes], dtype)
        return flat if shape is None else flat[: int(np.prod(shape))].reshape(shape)

    @property
    def is_closed(self) -> bool:
        return self._view is None

    def close(self) -> None:
        """Ends the use of this object; the memory itself goes with the last array on it."""
        self._view = None

    def __repr__(self) -> str:
        return f"PinnedMemory({self.device.name}, {self.nbytes} bytes)"


def byte_count(nbytes: object, operation: str) -> int:
    """A number of bytes as an int. Raises ShapeError for a negative one, ArgumentError for what is no integer."""
    try:
        count = int(as_index(nbytes))  # type: ignore[arg-type]  # raises for what does not count
    except TypeError:
        raise ArgumentError(f"{operation}: {nbytes!r} bytes; give an integer") from None
    if count < 0:
        raise ShapeError(f"{operation}: {count} bytes; a size can't be negative")
    return count


def _host_view(array: object, operation: str, *, writable: bool) -> memoryview:
    """The bytes of a contiguous host array: NumPy's, or anything with a buffer."""
    if isinstance(array, PinnedMemory):
        array = array.array()
    if isinstance(array, np.ndarray):
        if not array.flags.c_contiguous:
            raise ShapeError(
                f"{operation}: array of shape {array.shape} has strides {array.strides}; "
                "pass a C-contiguous one (numpy.ascontiguousarray)"
            )
        if array.dtype.hasobject:
            raise ArgumentError(f"{operation}: an array of {array.dtype} holds no numbers; give it a number dtype")
        if writable and not array.flags.writeable:
            raise ArgumentError(f"{operation}: the array is read-only; pass a writable one")
        return array.reshape(-1).view(np.uint8).data if array.size else memoryview(bytearray())
    try:
        view = memoryview(array)  # type: ignore[arg-type]  # raises for what has no bytes
    except TypeError:
        raise ArgumentError(f"{operation}: a {type(array).__name__} has no bytes; pass a NumPy array") from None
    if writable and view.readonly:
        raise ArgumentError(f"{operation}: {type(array).__name__} is read-only; pass a writable array")
    if not view.c_contiguous:
        raise ShapeError(f"{operation}: the buffer is not contiguous; pass a contiguous one")
    return view.cast("B")
