"""A cache of freed device memory, so that allocating costs no driver call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from attrs import define, field, frozen

from rocmkern.drivers.protocol import Driver
from rocmkern.errors import DeviceOutOfMemory

_SMALL_BYTES: Final = 512
_LARGE_BYTES: Final = 1 << 20
_LARGE_STEP_BYTES: Final = 1 << 21
_KEPT_SIZES: Final = 4096


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


@define(eq=False, repr=False)
class Shelf:
    """Blocks of one size of a pool. List operations are atomic in CPython, so no lock is needed."""

    pool: MemoryPool
    size: int
    blocks: list[int] = field(init=False, factory=list)  # that are free

    def take(self) -> int:
        """The address of a block."""
        pool = self.pool
        try:
            address = self.blocks.pop()
        except IndexError:  # there was none, or another thread took the last one
            address = pool.block(self)
        pool.allocations += 1
        used = pool.used = pool.used + self.size
        if used > pool.peak:
            pool.peak = used
        return address

    def put(self, address: int) -> None:
        """Take a block back."""
        pool = self.pool
        pool.used -= self.size
        if pool.keeps:
            self.blocks.append(address)
        else:
            pool.free(address)


@define(eq=False, repr=False)
class MemoryPool:
    """Free blocks by size."""

    driver: Driver
    alloc: Callable[[int], int]
    free: Callable[[int], None]
    keeps: bool  # False: every release goes to the driver at once, so that a checked emulator sees it
    shelves: Shelves = field(init=False)
    used: int = field(init=False, default=0)
    peak: int = field(init=False, default=0)
    limit: int | None = field(init=False, default=None)  # of the bytes that are asked of the driver
    allocations: int = field(init=False, default=0)
    _driver_allocations: int = field(init=False, default=0)
    _left: deque[tuple[Shelf, int, set[int]]] = field(factory=deque)  # blocks that streams may still use

    def __attrs_post_init__(self) -> None:
        self.shelves = Shelves(self)

    def block(self, shelf: Shelf) -> int:
        """A block for a shelf that has none."""
        if self._left:
            self.take_back()
            with suppress(IndexError):
                return shelf.blocks.pop()
        self._driver_allocations += 1
        size = max(shelf.size, 1)
        self._keep_limit(size)
        try:
            return self.alloc(size)
        except DeviceOutOfMemory:
            if not self.trim():
                raise
            return self.alloc(size)

    def _keep_limit(self, size: int) -> None:
        """Raises DeviceOutOfMemory where the device was given less than what is used and so much more."""
        if self.limit is None or self.used + self.cached_bytes + size <= self.limit:
            return
        self.trim()
        if self.used + size > self.limit:
            raise DeviceOutOfMemory(
                f"alloc: {size} bytes wanted, {self.used} in use of the {self.limit} that {self.driver.info.name} is "
                "limited to; free memory, or raise the limit"
            )

    def leave(self, shelf: Shelf, address: int, streams: Iterable[int]) -> None:
        """Take a block back once these streams have done their work. Waits for nothing, as a finaliser must not."""
        self._left.append((shelf, address, set(streams)))

    def take_back(self) -> None:
        """Take back the blocks that were left and that no stream uses any longer."""
        for _ in range(len(self._left)):
            try:
                left = shelf, address, streams = self._left.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                is_done = all(map(self.driver.query_stream, streams))
            except BaseException:
                self._left.append(left)
                raise
            if is_done:
                shelf.put(address)
            else:
                self._left.append(left)

    def trim(self) -> int:
        """Gives all free blocks back to the driver, those that were left too; returns their bytes."""
        if self._left:
            self.driver.synchronize()
            self.take_back()
        return self.give_back()

    def give_back(self) -> int:
        """The same for the free blocks alone. Waits for nothing."""
        total = 0
        for shelf in self.shelves.all():
            while shelf.blocks:
                try:
                    address = shelf.blocks.pop()
                except IndexError:  # another thread took the last one
                    break
                self.free(address)
                total += shelf.size
        return total

    @property
    def cached_bytes(self) -> int:
        return sum(shelf.size * len(shelf.blocks) for shelf in self.shelves.all())

    def statistics(self) -> MemoryStatistics:
        """Bytes in use now and at most, bytes kept, and calls since the pool was made."""
        return MemoryStatistics(self.used, self.peak, self.cached_bytes, self.allocations, self._driver_allocations)


class Shelves(dict[int, Shelf]):
    """The shelf for so many bytes: looked up once, a size costs no rounding."""

    def __init__(self, pool: MemoryPool) -> None:
        self._pool, self._by_size = pool, dict[int, Shelf]()

    def __missing__(self, nbytes: int) -> Shelf:
        size = rounded(nbytes) if self._pool.keeps else nbytes
        shelf = self._by_size.get(size)
        if shelf is None:
            shelf = self._by_size.setdefault(size, Shelf(self._pool, size))
        if len(self) >= _KEPT_SIZES:
            self.clear()
        self[nbytes] = shelf
        return shelf

    def all(self) -> list[Shelf]:
        return list(self._by_size.values())
