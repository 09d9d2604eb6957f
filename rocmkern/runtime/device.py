"""A device: memory, streams, events and modules come from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from attrs import define, field

from rocmkern import drivers
from rocmkern.drivers.protocol import DeviceInfo, Driver
from rocmkern.errors import ClosedError, DeviceNotFound
from rocmkern.runtime.closing import Closing
from rocmkern.runtime.deferred import DeferredChecks
from rocmkern.runtime.memory import DeviceMemory, PinnedMemory
from rocmkern.runtime.pool import MemoryPool, MemoryStatistics
from rocmkern.runtime.stream import Event, Stream

_POOLS: dict[Driver, MemoryPool] = {}
_CHECKS: Final[WeakKeyDictionary[Driver, DeferredChecks]] = WeakKeyDictionary()


def _pool_of(driver: Driver) -> MemoryPool:
    pool = _POOLS.get(driver)
    if pool is None:
        pool = _POOLS.setdefault(driver, MemoryPool(driver, driver.alloc, driver.free, not driver.info.checked))
    return pool


@define(eq=False, repr=False)
class Device(Closing):
    """An open device by name: `hip:0`, `emulator:gfx942`; by default what ROCMKERN_DEVICE says, else the first real
    device, else the emulator. Two devices of one name share memory and are equal. `checked` opens an emulator that
    knows every allocation, also written `emulator:gfx942:checked`.

    Raises DeviceNotFound if there is none of that name, DriverUnavailable if its driver can't be loaded.
    """

    name: str | None = None
    checked: bool = field(default=False, kw_only=True)
    _driver: Driver = field(init=False)
    _pool: MemoryPool = field(init=False)
    _checks: DeferredChecks = field(init=False)
    is_closed: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        self._driver = drivers.open(self._full_name())
        self._pool = _pool_of(self._driver)
        self._checks = _CHECKS.setdefault(self._driver, DeferredChecks())
        self.name, self.checked = self._driver.info.name, self._driver.info.checked

    def _full_name(self) -> str | None:
        if not self.checked:
            return self.name
        name = drivers.default_name() if self.name is None else self.name
        if not name.startswith("emulator"):
            raise DeviceNotFound(f"open: {name} can't check accesses; use an emulator device with checked=True")
        return name if name.endswith(":checked") else f"{name}:checked"

    @property
    def info(self) -> DeviceInfo:
        return self._driver.info

    @property
    def driver(self) -> Driver:
        """The driver, for what the object model does not cover."""
        if self.is_closed:
            raise ClosedError(f"device {self.name}: it is closed; open it again with Device({self.name!r})")
        return self._driver

    def alloc(self, nbytes: int) -> DeviceMemory:
        """Uninitialised memory of `nbytes`. Raises DeviceOutOfMemory."""
        return DeviceMemory(self, nbytes)

    def alloc_pinned(self, nbytes: int) -> PinnedMemory:
        """Host memory that asynchronous copies can read and write directly."""
        return PinnedMemory(self, nbytes)

    def create_stream(self) -> Stream:
        return Stream(self)

    def create_event(self) -> Event:
        return Event(self)

    def synchronize(self) -> None:
        """Waits for all work on the device, and raises what went wrong in it."""
        self.driver.synchronize()
        self._pool.take_back()
        self._checks.settle()

    def defer(self, check: Callable[[], None]) -> None:
        """Has `check` run by every call from now on that waits for the device, whose error is then that of `check`."""
        self._checks.add(check)

    def undefer(self, check: Callable[[], None]) -> None:
        """Has `check` run no more."""
        self._checks.remove(check)

    def leave(self, work: Callable[[], None]) -> None:
        """Has a finaliser's work done by the next call that waits for the device: a finaliser waits for nothing."""
        self._checks.leave(work)

    def settle(self) -> None:
        """Runs the deferred checks, as every call does that hands results to the host. Raises the first error, which
        tells the others.
        """
        self._checks.settle()

    def memory_info(self) -> tuple[int, int]:
        """Free and total bytes; memory that the pool keeps counts as free."""
        free, total = self.driver.memory_info()
        return free + self._pool.cached_bytes, total

    def memory_statistics(self) -> MemoryStatistics:
        """What the pool has handed out and kept. Devices of one name share it."""
        return self._pool.statistics()

    def limit_memory(self, nbytes: int | None) -> None:
        """Has allocations beyond so many bytes on this device raise DeviceOutOfMemory; None ends that."""
        self._pool.limit = nbytes

    def pool_within(self) -> MemoryPool:
        """A pool whose blocks come from the device's own, and go back there."""
        shelves, sizes = self._pool.shelves, dict[int, int]()

        def alloc(nbytes: int) -> int:
            address = shelves[nbytes].take()
            sizes[address] = nbytes
            return address

        def free(address: int) -> None:
            shelves[sizes.pop(address)].put(address)

        return MemoryPool(self.driver, alloc, free, True, self._pool._left)

    def trim(self) -> int:
        """Returns the memory that the pool keeps to the driver; how many bytes that were."""
        self.driver.synchronize()
        return self._pool.trim()

    def close(self) -> None:
        """Ends the use of this object. What came from it stays valid until it is closed itself."""
        self.is_closed = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._driver is other._driver

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Device({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Device, (self.name,))


def devices() -> tuple[DeviceInfo, ...]:
    """What can be opened here, real devices first; the `name` of each is what Device() takes."""
    return drivers.present()


def default_device() -> Device:
    """The device that is used where none is named."""
    global _default
    name = drivers.default_name()
    if _default is None or _default.name != name or _default.is_closed:
        _default = Device(name)
    return _default


_default: Device | None = None
DeviceLike = Device | str | None


def open_device(device: DeviceLike) -> Device:
    """The device of that name; the default one for None."""
    if device is None:
        return default_device()
    return device if isinstance(device, Device) else Device(device)
