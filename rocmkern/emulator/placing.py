"""A code object's bytes in device memory: its segments, relocated."""

from __future__ import annotations

import contextlib
import ctypes
import struct
from typing import Final

from attrs import define, field

from rocmkern.codeobject import CodeObject, Segment
from rocmkern.codeobject.model import EXECUTABLE, WRITABLE
from rocmkern.emulator.arena import Arena
from rocmkern.errors import CodeObjectError

RELATIVE64, ABSOLUTE64 = 13, 3
PAGE: Final = 0x1000
_INSTRUCTION_BYTES: Final = 4
_WORD: Final = struct.Struct("<Q")


@define(eq=False)
class Image:
    """Where a code object lies. Making it takes the memory, or raises CodeObjectError and leaves none taken."""

    code: CodeObject
    arena: Arena
    base: int = field(init=False)  # what is added to the file's addresses
    text: bytes = field(init=False)  # from the first instruction to the last
    text_address: int = field(init=False)
    _allocations: list[int] = field(init=False)  # the only one, until it is freed
    _low: int = field(init=False)
    _segments: list[Segment] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._segments = [s for s in self.code.segments if s.memory_size]
        executable = [s for s in self._segments if s.flags & EXECUTABLE and s.data]
        if not executable:
            raise CodeObjectError("load: the code object holds no instructions; give one with a kernel")
        start, end = min(s.address for s in executable), max(s.address + len(s.data) for s in executable)
        if start % _INSTRUCTION_BYTES:
            raise CodeObjectError(f"load: instructions begin at {start:#x}, between two words; build the file anew")
        self._low = min(s.address for s in self._segments) & -PAGE
        nbytes = max(s.address + s.memory_size for s in self._segments) - self._low
        allocation = self.arena.alloc(nbytes + PAGE)
        self._allocations = [allocation]
        try:
            placed = -(-allocation // PAGE) * PAGE
            self.base = placed - self._low
            self._fill(self.arena.view(placed, nbytes))
            self._relocate()
            size = (end - start) // _INSTRUCTION_BYTES * _INSTRUCTION_BYTES
            self.text = bytes(self.arena.view(self.base + start, size, writes=False))
            self.text_address = self.base + start
            for segment in self._segments:
                if not segment.flags & WRITABLE:
                    self.arena.seal(self.base + segment.address, segment.memory_size)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the memory. Again does nothing, whichever thread asks."""
        with contextlib.suppress(IndexError):
            self.arena.free(self._allocations.pop())

    def _fill(self, view: memoryview) -> None:
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(view)), 0, view.nbytes)
        for segment in self._segments:
            start = segment.address - self._low
            view[start : start + len(segment.data)] = segment.data

    def _relocate(self) -> None:
        for address, kind, symbol, addend in self.code.relocations:
            if kind not in (RELATIVE64, ABSOLUTE64):
                raise CodeObjectError(
                    f"load: relocation of type {kind} at {address:#x}; {RELATIVE64} and {ABSOLUTE64} are known"
                )
            value = addend + (0 if kind == RELATIVE64 else self._symbol(symbol, address))
            if not self._holds(address, _WORD.size):
                raise CodeObjectError(f"load: a relocation writes to {address:#x}, outside the module; build it anew")
            if not self._holds(value, 0):
                raise CodeObjectError(
                    f"load: the relocation at {address:#x} leads to {value:#x}, outside the module; build it anew"
                )
            self.arena.view(self.base + address, _WORD.size)[:] = _WORD.pack(self.base + value)

    def _symbol(self, name: str, address: int) -> int:
        found = self.code.symbols.get(name)
        if found is None:
            raise CodeObjectError(f"load: the relocation at {address:#x} needs {name[:60]!r}, which nothing defines")
        return found[0]

    def _holds(self, address: int, nbytes: int) -> bool:
        """Whether a segment has these bytes; of none, they may be one past its end."""
        return any(s.address <= address and address + nbytes <= s.address + s.memory_size for s in self._segments)
