"""Device memory: one reserved range of addresses, allocations inside it."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import sys
from bisect import bisect_left, bisect_right, insort
from collections import deque
from typing import Final, Protocol

from attrs import define, field

from rocmkern.emulator.callers import caller
from rocmkern.errors import DeviceOutOfMemory, DriverError
from rocmkern.locks import Lock, renew_in_children

ALIGNMENT: Final = 256
RESERVED_BYTES: Final = 64 << 30
LEAST_RESERVED_BYTES: Final = 1 << 30
GIVE_BACK_BYTES: Final = 1 << 20  # freed blocks from this size on go back to the operating system
PAGE: Final = mmap.PAGESIZE
NULL_BYTES: Final = 1 << 32  # from 0 on, where nothing ever lies: a null pointer and an offset lead there
MAPPED_BYTES: Final = 2 << 20  # GPUs map memory by as much: a kernel that reads on behind the last row gets something
# Python knows it from 3.13 on. Without it, Linux refuses a fork where arenas lie side by side and outgrow the memory.
NO_RESERVE: Final = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def reserve(size: int) -> mmap.mmap:
    """Anonymous zero pages that cost nothing until touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    memory = mmap.mmap(-1, size, flags=flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # kernels without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def address_of(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _reserve_most() -> mmap.mmap:
    """As much as a power of two that the machine's memory holds."""
    size, has = RESERVED_BYTES, os.sysconf("SC_PHYS_PAGES") * PAGE
    while size > max(has, LEAST_RESERVED_BYTES):
        size //= 2
    return _reserve_or_less(size)


def _reserve_or_less(size: int) -> mmap.mmap:
    try:
        return reserve(size)
    except OSError:
        if size <= LEAST_RESERVED_BYTES:
            raise
    return _reserve_or_less(size // 2)


class Watcher(Protocol):
    """Who hears of device memory."""

    def allocated(self, address: int, nbytes: int) -> None: ...

    def freed(self, address: int, nbytes: int) -> None: ...

    def written(self, address: int, nbytes: int) -> None:
        """The host may write there from now on."""
        ...

    def sealed(self, address: int, nbytes: int) -> None:
        """Nobody may write there from now on."""
        ...


@define(eq=False)
class Arena:
    """Allocations are aligned to 256 bytes; addresses are the process's own.

    Finalisers free, and the garbage collector runs them in the middle of anything, also where their thread holds the
    lock. So free() waits for none: what it can't do at once, whoever has the lock does.
    """

    apart: bool = False  # leave gaps between allocations, and use no address twice
    memory: mmap.mmap = field(factory=_reserve_most)
    watchers: tuple[Watcher, ...] = ()
    _freed: list[tuple[int, int]] = field(factory=list)  # (start, size), sorted; only where they lie apart
    _bytes: memoryview = field(init=False)
    base: int = field(init=False)
    end: int = field(init=False)  # one past the highest byte ever allocated
    _makers: dict[int, str] = field(factory=dict)  # of allocations that lie apart: where the program asked for them
    _starts: list[int] = field(factory=list)  # of live allocations, sorted
    _sizes: dict[int, int] = field(factory=dict)
    _holes: list[tuple[int, int]] = field(factory=list)  # (start, size), sorted
    _released: deque[int] = field(factory=deque)  # addresses that are still to be freed
    _lock: Lock = field(factory=lambda: Lock("arena"))

    def __attrs_post_init__(self) -> None:
        self.base = self.end = address_of(self.memory)
        self._bytes = memoryview(self.memory)
        renew_in_children(self)

    @property
    def capacity(self) -> int:
        return len(self.memory)

    @property
    def reach(self) -> int:
        """One past what a kernel can address."""
        if self.apart:
            return self.end
        return self.base + min(-(-(self.end - self.base) // MAPPED_BYTES) * MAPPED_BYTES, self.capacity)

    @property
    def used(self) -> int:
        return sum(self._sizes.values())

    def alloc(self, nbytes: int) -> int:
        """Address of `nbytes` bytes of memory (of one byte where 0)."""
        try:
            with self._lock:
                self._free_released()
                return self._alloc(nbytes)
        finally:
            self._sweep()

    def _alloc(self, nbytes: int) -> int:
        size = self._room(nbytes)
        address = self._take_hole(size)
        if address is None:
            address = self.end
            if address + size > self.base + self.capacity:
                raise DeviceOutOfMemory(
                    f"alloc: {nbytes} bytes wanted, {self.base + self.capacity - self.end} of {self.capacity} free;"
                    " free some memory first"
                )
            self.end += size
        insort(self._starts, address)
        self._sizes[address] = nbytes
        if self.apart:
            self._makers[address] = caller()
        for watcher in self.watchers:
            watcher.allocated(address, nbytes)
        return address

    def _room(self, nbytes: int) -> int:
        """What an allocation takes, with the gap behind it."""
        return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT + (ALIGNMENT if self.apart else 0)

    def _take_hole(self, size: int) -> int | None:
        fitting = [(room, start) for start, room in self._holes if room >= size]
        if not fitting:
            return None
        room, start = min(fitting)
        self._holes.remove((start, room))
        if room > size:
            insort(self._holes, (start + size, room - size))
        return start

    def free(self, address: int) -> None:
        """Give an allocation back. Waits for no lock."""
        if address not in self._sizes:
            raise DriverError(f"free: no allocation starts at {address:#x}; {self.describe(address)}")
        self._released.append(address)
        self._sweep()

    def _sweep(self) -> None:
        """Free what was released, unless some thread has the lock, which does so when it is done."""
        while self._released:
            with self._lock.if_free() as has:
                if not has:
                    return
                self._free_released()

    def _free_released(self) -> None:
        while self._released:
            address = self._released.popleft()
            nbytes = self._sizes.pop(address, None)
            if nbytes is None:  # released twice
                continue
            self._starts.remove(address)
            size = self._room(nbytes)
            self._give_back(address, size)
            for watcher in self.watchers:
                watcher.freed(address, nbytes)
            if self.apart:
                insort(self._freed, (address, nbytes))
            else:
                self._add_hole(address, size)

    def renew(self) -> None:
        """In a forked child: what a thread may have left half done follows from the sizes, which it changed in one
        step.
        """
        end, holes = self.base, list[tuple[int, int]]()
        self._starts = sorted(self._sizes)
        for start in self._starts:
            if start > end:
                holes.append((end, start - end))
            end = start + self._room(self._sizes[start])
        if self.apart:
            self.end = max(self.end, end)
        else:
            self.end, self._holes = end, holes
        self._sweep()

    def _give_back(self, address: int, size: int) -> None:
        if size < GIVE_BACK_BYTES:
            return
        first = -(-(address - self.base) // PAGE) * PAGE
        last = (address - self.base + size) // PAGE * PAGE
        self.memory.madvise(mmap.MADV_DONTNEED, first, last - first)

    def _add_hole(self, start: int, size: int) -> None:
        i = bisect_left(self._holes, (start, 0))
        if i < len(self._holes) and self._holes[i][0] == start + size:
            size += self._holes.pop(i)[1]
        if i and sum(self._holes[i - 1]) == start:
            start, before = self._holes[i - 1][0], self._holes.pop(i - 1)[1]
            size += before
        if start + size == self.end:
            self.end = start
        else:
            insort(self._holes, (start, size))

    def contains(self, address: int, nbytes: int) -> bool:
        return self.base <= address and address + nbytes <= self.end

    def view(self, address: int, nbytes: int, *, writes: bool = True) -> memoryview:
        """The bytes of allocated memory, writable. `writes`: they count as written from now on."""
        if nbytes and not self.contains(address, nbytes):
            raise DriverError(f"view: {nbytes} bytes at {address:#x} are not device memory; {self.describe(address)}")
        if writes:
            for watcher in self.watchers:
                watcher.written(address, nbytes)
        start = address - self.base
        return self._bytes[start : start + nbytes]

    def seal(self, address: int, nbytes: int) -> None:
        """Let nobody write there any more, as far as watchers can tell."""
        for watcher in self.watchers:
            watcher.sealed(address, nbytes)

    def owner(self, address: int) -> tuple[int, int, bool] | None:
        """The allocation that an address lies in or in the gap behind: its start, its bytes, whether it was freed."""
        sizes, freed = self._sizes.copy(), list(self._freed)
        starts = sorted(sizes)
        live, gone = bisect_right(starts, address), bisect_right(freed, (address, self.capacity))
        found = [(start, sizes[start], False) for start in starts[max(live - 1, 0) : live]]
        found += [(start, nbytes, True) for start, nbytes in freed[max(gone - 1, 0) : gone]]
        start, nbytes, is_freed = max(found, default=(0, 0, False))
        return (start, nbytes, is_freed) if start and address < start + self._room(nbytes) else None

    def _named(self, start: int, size: int) -> str:
        """An allocation, and where it was made if that is known."""
        maker = self._makers.get(start)
        return f"{size} bytes at {start:#x}" + f" made by {maker}" * bool(maker)

    def describe(self, address: int) -> str:
        """Where an address lies, for messages."""
        if address < NULL_BYTES:
            return f"it is {address} bytes past a null pointer" if address else "it is a null pointer"
        if not self.base <= address < self.base + self.capacity:
            return "it is no address of the device's memory"
        for start, size in list(self._freed):
            if start <= address < start + size:
                return f"it is {address - start} bytes into the {self._named(start, size)} that were freed"
        sizes = self._sizes.copy()  # other threads go on
        starts = sorted(sizes)
        if not starts:
            return "nothing is allocated"
        i = bisect_right(starts, address)
        before = starts[i - 1] if i else None
        after = starts[i] if i < len(starts) else None
        if before is not None and address < before + sizes[before]:
            return f"it is {address - before} bytes into the allocation of {self._named(before, sizes[before])}"
        near = []
        if before is not None:
            end = before + sizes[before]
            near.append(
                (address - end, f"{address - end} bytes past the end of the {self._named(before, end - before)}")
            )
        if after is not None:
            near.append((after - address, f"{after - address} bytes before the {self._named(after, sizes[after])}"))
        return f"nearest allocation: it is {min(near)[1]}"
