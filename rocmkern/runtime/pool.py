"""A cache of freed device memory, so that allocating costs no driver call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define, field, frozen

from rocmkern.errors import DeviceOutOfMemory

_SMALL_BYTES: Final = 512
_LARGE_BYTES: Final = 1 << 20
_LARGE_STEP_BYTES: Final = 1 << 21


def rounded(nbytes: int) -> int:
    """The size that is allocated for `nbytes`: powers of two with three steps between, then multiples of 2 MiB."""
    if nbytes <= _SMALL_BYTES:
        return _SMALL_BYTES
    if nbytes > _LARGE_BYTES:
        return -(-nbytes // _LARGE_STEP_BYTES) * _LARGE_STEP_BYTES
    step = max(_SMALL_BYTES, 1 << ((nbytes - 1).bit_length() - 3))
    return -(-nbytes // step) * step


@frozen
class MemoryStatistics:
    """What a device's pool has handed out and kept, in bytes, and how often it asked the driver.

    Threads that allocate at the same moment may be counted as one.
    """

    used_bytes: int
    peak_bytes: int
    cached_bytes: int
    allocations: int
    driver_allocations: int


@define(eq=False)
class MemoryPool:
    """Free blocks by size. List and dictionary operations are atomic in CPython, so no lock is needed."""

    _alloc: Callable[[int], int]
    _free: Callable[[int], None]
    keeps: bool  # False: every release goes to the driver at once, so that a checked emulator sees it
    _blocks: dict[int, list[int]] = field(init=False, factory=dict)
    _used: int = field(init=False, default=0)
    _peak: int = field(init=False, default=0)
    _allocations: int = field(init=False, default=0)
    _driver_allocations: int = field(init=False, default=0)

    def acquire(self, nbytes: int) -> tuple[int, int]:
        """Address and allocated size of a block of at least `nbytes`."""
        size = _SMALL_BYTES if nbytes <= _SMALL_BYTES else rounded(nbytes)
        try:
            address = self._blocks[size].pop()
        except (KeyError, IndexError):  # there were none, or another thread took the last one
            address, size = self._allocated(nbytes, size)
        self._allocations += 1
        used = self._used = self._used + size
        if used > self._peak:
            self._peak = used
        return address, size

    def _allocated(self, nbytes: int, size: int) -> tuple[int, int]:
        self._driver_allocations += 1
        if not self.keeps:
            return self._alloc(max(nbytes, 1)), nbytes
        try:
            return self._alloc(size), size
        except DeviceOutOfMemory:
            if not self.trim():
                raise
            return self._alloc(size), size

    def release(self, address: int, size: int) -> None:
        self._used -= size
        if not self.keeps:
            self._free(address)
            return
        blocks = self._blocks.get(size)
        if blocks is None:
            blocks = self._blocks.setdefault(size, [])
        blocks.append(address)

    def trim(self) -> int:
        """Gives all free blocks back to the driver; returns their bytes."""
        total = 0
        for size, blocks in list(self._blocks.items()):
            while blocks:
                try:
                    address = blocks.pop()
                except IndexError:  # another thread took the last one
                    break
                self._free(address)
                total += size
        return total

    @property
    def cached_bytes(self) -> int:
        return sum(size * len(blocks) for size, blocks in list(self._blocks.items()))

    def statistics(self) -> MemoryStatistics:
        """Bytes in use now and at most, bytes kept, and calls since the pool was made."""
        return MemoryStatistics(self._used, self._peak, self.cached_bytes, self._allocations, self._driver_allocations)
