"""HIP's calls for memory pools. A pool keeps nothing: what is freed is the device's again, and nothing is trimmed."""

from __future__ import annotations

import ctypes
from typing import Final

from attrs import define, field

from rocmkern.hip_on_cpu.arguments import put
from rocmkern.hip_on_cpu.binding import INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, Status
from rocmkern.hip_on_cpu.memory_calls import MemoryCalls
from rocmkern.hip_on_cpu.state import DEVICE

_RELEASE_THRESHOLD: Final = 4  # of `hipMemPoolAttr`, before which are flags of 32 bits
_NOW: Final = (5, 7)  # bytes that are reserved, and used
_HIGHEST: Final = (6, 8)  # of those, until a program sets 0
_PINNED: Final = 1  # of `hipMemAllocationType`
_ON_DEVICE: Final = 1  # of `hipMemLocationType`


class _Properties(ctypes.Structure):
    """`hipMemPoolProps`, as far as it is read."""

    _fields_ = [
        ("kind", ctypes.c_int), ("handles", ctypes.c_int), ("location", ctypes.c_int), ("device", ctypes.c_int),
    ]  # fmt: skip


@define(eq=False)
class Pool:
    """What is allocated from a pool of a device, and how its program set it."""

    device: int
    used: int = 0
    settings: dict[int, int] = field(factory=lambda: {1: 1, 2: 1, 3: 1, _RELEASE_THRESHOLD: 0})
    highest: dict[int, int] = field(factory=lambda: dict.fromkeys(_HIGHEST, 0))

    def take(self, nbytes: int) -> None:
        self.used += nbytes
        self.highest = {attribute: max(most, self.used) for attribute, most in self.highest.items()}


class PoolCalls(MemoryCalls):
    """The part of `Calls` that is about pools: allocations that come in a stream's order."""

    _default_pools: dict[int, int]
    _current_pools: dict[int, int]
    _pooled: dict[int, tuple[Pool, int]]

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._default_pools = {device: self._keep(Pool(device)) for device in range(len(self.drivers))}
        self._current_pools = dict(self._default_pools)
        self._pooled = {}  # by address

    def hipDeviceGetDefaultMemPool(self, pool: int, device: int) -> None:
        self._checked(device)
        put(pool, self._default_pools[device])

    def hipDeviceGetMemPool(self, pool: int, device: int) -> None:
        self._checked(device)
        put(pool, self._current_pools[device])

    def hipDeviceSetMemPool(self, device: int, pool: int) -> None:
        self._checked(device)
        if self._pool(pool).device != device:
            raise Status(INVALID_DEVICE)
        self._current_pools[device] = pool

    def hipMemPoolCreate(self, pool: int, properties: int) -> None:
        if not (pool and properties):
            raise Status(INVALID_VALUE)
        asked = _Properties.from_address(properties)
        if asked.kind != _PINNED or asked.location != _ON_DEVICE:
            raise Status(INVALID_VALUE)
        if asked.handles:
            raise Status(NOT_SUPPORTED)
        self._checked(asked.device)
        put(pool, self._keep(Pool(asked.device)))

    def hipMemPoolDestroy(self, pool: int) -> None:
        device = self._pool(pool).device
        if pool == self._default_pools[device]:
            raise Status(INVALID_VALUE)
        if self._current_pools[device] == pool:
            self._current_pools[device] = self._default_pools[device]
        self._drop(pool)

    def hipMemPoolTrimTo(self, pool: int, kept: int) -> None:
        self._pool(pool)

    def hipMemPoolSetAttribute(self, pool: int, attribute: int, value: int) -> None:
        found, kind = self._pool(pool), _kind(attribute)
        given = kind.from_address(value).value
        if attribute in found.settings:
            found.settings[attribute] = given
        elif attribute in found.highest and not given:
            found.highest[attribute] = found.used
        else:
            raise Status(INVALID_VALUE)

    def hipMemPoolGetAttribute(self, pool: int, attribute: int, value: int) -> None:
        found = self._pool(pool)
        values = {**found.settings, **found.highest, **dict.fromkeys(_NOW, found.used)}
        if attribute not in values:
            raise Status(INVALID_VALUE)
        put(value, values[attribute], _kind(attribute))

    def hipMallocAsync(self, address: int, nbytes: int, stream: int) -> None:
        self.hipMallocFromPoolAsync(address, nbytes, self._current_pools[self._device], stream)

    def hipMallocFromPoolAsync(self, address: int, nbytes: int, pool: int, stream: int) -> None:
        found = self._pool(pool)
        allocated = self._allocated(nbytes, DEVICE, found.device)
        if allocated:
            found.take(nbytes)
            self._pooled[allocated] = found, nbytes
        put(address, allocated)

    def hipFree(self, address: int) -> None:
        super().hipFree(address)
        pool, nbytes = self._pooled.pop(address, (None, 0))
        if pool is not None:
            pool.used -= nbytes

    def _pool(self, pool: int) -> Pool:
        found = self._owned.get(pool)
        if not isinstance(found, Pool):
            raise Status(INVALID_VALUE)
        return found


def _kind(attribute: int) -> type[ctypes.c_int | ctypes.c_uint64]:
    return ctypes.c_int if attribute < _RELEASE_THRESHOLD else ctypes.c_uint64
