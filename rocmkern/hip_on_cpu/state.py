"""What the calls know of a program: its devices, what it allocated, and what its handles stand for."""

from __future__ import annotations

import ctypes
import threading
from bisect import bisect_right, insort
from typing import Any, Final

from attrs import define, field, frozen

from rocmkern.codeobject import Kernel
from rocmkern.drivers import emulator, in_full
from rocmkern.drivers.emulator import EmulatorDriver
from rocmkern.drivers.protocol import Dims
from rocmkern.hip_on_cpu.binding import INVALID_DEVICE, INVALID_VALUE, Status
from rocmkern.locks import Lock

INVALID_HANDLE: Final = 400
HOST, DEVICE, MANAGED, MODULE = 1, 2, 3, 4  # kinds of memory
CDNA_FEATURES: Final = ":sramecc+:xnack-"  # as HIP states them of these devices
_FIRST_HANDLE: Final = 0x1000  # above those that mean something by themselves


@frozen(eq=False)
class Allocation:
    device: int
    address: int
    nbytes: int
    kind: int


@frozen(eq=False)
class Owned:
    """A stream or an event: the device it belongs to and the driver's handle."""

    device: int
    handle: int


@frozen(eq=False)
class Launchable:
    """A kernel, and the geometries that it was found to run with."""

    device: int
    handle: int
    kernel: Kernel
    fitting: set[tuple[Dims, Dims, int]] = field(factory=set)


@define(eq=False, slots=False)
class State:
    """The base of the calls, over one driver for each target."""

    targets: tuple[str, ...]
    library: ctypes.CDLL
    drivers: list[EmulatorDriver] = field(init=False)
    _current: threading.local = field(init=False, factory=threading.local)
    _lock: Lock = field(init=False, factory=lambda: Lock("calls"))
    _allocations: dict[int, Allocation] = field(init=False, factory=dict)
    _starts: list[int] = field(init=False, factory=list)  # of the allocations, in order
    _limits: dict[int, int] = field(init=False, factory=lambda: {0: 1024, 1: 1 << 20, 2: 8 << 20})  # by hipLimit_t
    _registered: set[int] = field(init=False, factory=set)  # host memory, by its address
    _owned: dict[int, Any] = field(init=False, factory=dict)
    _programs: dict[tuple[int, int], Any] = field(init=False, factory=dict)  # modules by device and image
    _functions: dict[tuple[int, int], int] = field(init=False, factory=dict)  # handles by device and host address
    _next: int = field(init=False, default=_FIRST_HANDLE)

    def __attrs_post_init__(self) -> None:
        self.drivers = [emulator.open_device(in_full(f"emulator:{target}")) for target in self.targets]

    @property
    def _device(self) -> int:
        return getattr(self._current, "device", 0)

    @property
    def _driver(self) -> EmulatorDriver:
        return self.drivers[self._device]

    def _architecture(self, device: int) -> str:
        """As HIP names it, with features."""
        info = self.drivers[device].info
        return info.arch + (CDNA_FEATURES if info.wave_size == 64 else "")

    def _keep(self, thing: Any) -> int:
        with self._lock:
            self._next += 16
            self._owned[self._next] = thing
            return self._next

    def _held(self, handle: int, kind: type) -> Any:
        found = self._owned.get(handle)
        if not isinstance(found, kind):
            raise Status(INVALID_HANDLE)
        return found

    def _stream(self, stream: int | None) -> tuple[EmulatorDriver, int]:
        """The driver and its handle; null and the streams that mean a default are the driver's default stream."""
        if (stream or 0) <= 2:
            return self._driver, 0
        owned = self._held(stream or 0, Owned)
        return self.drivers[owned.device], owned.handle

    def _checked(self, device: int) -> EmulatorDriver:
        if not 0 <= device < len(self.drivers):
            raise Status(INVALID_DEVICE)
        return self.drivers[device]

    def _allocated(self, nbytes: int, kind: int, device: int | None = None) -> int:
        at = self._device if device is None else device
        address = self.drivers[at].alloc(nbytes) if nbytes else 0
        if nbytes:
            self._know(Allocation(at, address, nbytes, kind))
        return address

    def _know(self, allocation: Allocation) -> None:
        with self._lock:
            self._allocations[allocation.address] = allocation
            insort(self._starts, allocation.address)

    def _forget(self, address: int) -> None:
        with self._lock:
            del self._allocations[address]
            self._starts.remove(address)

    def _find(self, address: int | None) -> Allocation | None:
        """The allocation that holds the address."""
        with self._lock:
            place = bisect_right(self._starts, address or 0)
            found = self._allocations[self._starts[place - 1]] if place else None
        return found if found is not None and (address or 0) < found.address + found.nbytes else None

    def _room(self, address: int | None, nbytes: int) -> Allocation | None:
        """The same; INVALID_VALUE where so many bytes reach beyond it."""
        found = self._find(address)
        if found is not None and (address or 0) + nbytes > found.address + found.nbytes:
            raise Status(INVALID_VALUE)
        return found

    def _drop(self, handle: int) -> None:
        self._owned.pop(handle, None)

    def _copy(self, to: int, source: int, nbytes: int, stream: int | None) -> None:
        """Where the addresses lie says the direction."""
        if not nbytes:
            return
        if not (to and source):
            raise Status(INVALID_VALUE)
        target, origin = self._room(to, nbytes), self._room(source, nbytes)
        driver, handle = self._stream(stream)
        for place in (target, origin):
            if place is not None and not stream:
                self.drivers[place.device].synchronize()
        if target is not None and origin is None:
            # The caller may change pageable memory as soon as the call returns.
            driver.copy_to_device(to, memoryview(ctypes.string_at(source, nbytes)), handle)
        elif target is None and origin is not None:
            view = memoryview((ctypes.c_ubyte * nbytes).from_address(to)).cast("B")
            driver.copy_to_host(view, source, handle)
        elif target is not None and origin is not None and target.device == origin.device:
            self.drivers[target.device].copy_on_device(to, source, nbytes, handle if stream else 0)
        else:
            ctypes.memmove(to, source, nbytes)
