"""Memory that nobody may write: a pattern beside the memory of an emulated device, and in pages of the host."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Iterable
from typing import Any, Final

from attrs import define, field

from rocmkern.emulator import layout as at
from rocmkern.emulator import space
from rocmkern.emulator.arena import NO_RESERVE
from rocmkern.emulator.machine import ARGUMENT_BYTES, Machine

GUARD_BYTES: Final = 1 << 16
PATTERN: Final = bytes((37 * i + 11) & 0xFF for i in range(4096)) * (GUARD_BYTES // 4096)
HOST_PAGES: Final = 16
ANONYMOUS: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
AT_THAT_PLACE: Final = 0x100000  # MAP_FIXED_NOREPLACE: fails where something is mapped already
FAILED: Final = ctypes.c_void_p(-1).value


@define(eq=False)
class Canaries:
    """Guards by name. Make them before a machine, whose waves, LDS and scratch then lie between guards."""

    places: dict[str, int] = field(factory=dict)  # name → address of a guard
    _gone: list[str] = field(factory=list)  # what was found at guards whose memory was given back
    _laid: int = 0
    _kept: list[Any] = field(factory=list)

    def watch_workers(self) -> None:
        """Put guards around what workers reserve from now on."""
        reserve = space.reserve

        def guarded(size: int) -> Any:
            memory = reserve(size + 2 * GUARD_BYTES)
            start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            self._laid += 1
            names = f"below worker memory {self._laid}", f"above worker memory {self._laid}"
            for name, address in zip(names, (start, start + GUARD_BYTES + size), strict=True):
                self._lay(name, address)
            inner = (ctypes.c_char * size).from_buffer(memory, GUARD_BYTES)
            weakref.finalize(inner, self._drop, names).atexit = False
            return inner

        space.reserve = guarded

    def watch(self, machine: Machine) -> None:
        """Put guards on both sides of a device's memory, where nothing lies yet, and into pages of the host."""
        arena = machine.arena
        for name, address in (
            ("below the arena", arena.base - GUARD_BYTES),
            ("above the arena", arena.base + arena.capacity),
        ):
            if self._map(address):
                self._lay(name, address)
        for number in range(HOST_PAGES):
            page = mmap.mmap(-1, GUARD_BYTES, flags=ANONYMOUS | NO_RESERVE)
            self._kept.append(page)
            self._lay(f"host page {number}", ctypes.addressof(ctypes.c_char.from_buffer(page)))
        heap = ctypes.create_string_buffer(GUARD_BYTES)
        self._kept.append(heap)
        self._lay("heap", ctypes.addressof(heap))

    def changed(self) -> str | None:
        """The first place that somebody wrote, None where none is."""
        return next(filter(None, (*self._gone, *map(self._difference, list(self.places)))), None)

    def _difference(self, name: str) -> str | None:
        found = ctypes.string_at(self.places[name], GUARD_BYTES)
        if found == PATTERN:
            return None
        first = next(i for i in range(GUARD_BYTES) if found[i] != PATTERN[i])
        return f"{name}, from byte {first} on: {found[first : first + 16].hex(' ')}"

    def _drop(self, names: Iterable[str]) -> None:
        """Look at guards for the last time."""
        for name in names:
            self._gone += filter(None, [self._difference(name)])
            del self.places[name]

    def _lay(self, name: str, address: int) -> None:
        ctypes.memmove(address, PATTERN, GUARD_BYTES)
        self.places[name] = address

    def _map(self, address: int) -> bool:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        found = libc.mmap(address, GUARD_BYTES, protection, ANONYMOUS | AT_THAT_PLACE, -1, 0)
        return bool(found == address and found != FAILED)


def damaged_wave(machine: Machine, waves: int, stride: int, argument_bytes: int) -> str | None:
    """The first wave of the last launch, one that ended well, that points to another launch than its worker does."""
    has_kept_space = not machine.observers and argument_bytes <= ARGUMENT_BYTES
    worker = machine._spaces[-1].worker if has_kept_space else machine._idle[-1]
    launch = ctypes.c_uint64.from_address(worker.address + at.WORKER_LAUNCH).value
    for number in range(waves):
        found = ctypes.c_uint64.from_address(worker.wave(number, stride) + at.WAVE_LAUNCH).value
        if found != launch:
            return f"the launch of wave {number} is at {found:#x}, that of its worker at {launch:#x}"
    return None
