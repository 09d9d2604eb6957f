"""What the words of code tell without decoding it all: where branches go, and what else a launch has to know first."""

from __future__ import annotations

import struct
from functools import cache
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.target import target
from rocmkern.emulator.meaning import row_of
from rocmkern.errors import UnsupportedInstruction

FLOAT_ADDS: Final = ("global_atomic_add_f", "global_atomic_pk_add", "buffer_atomic_add_f", "buffer_atomic_pk_add")
SOPP: Final = 0b101111111  # leading bits of the instructions that steer the wave
SOP1: Final = 0b101111101
SOPK: Final = 0b1011
OPERANDS: Final = 14  # low bits of a memory instruction's first word, which say nothing of its opcode
# Leading bits of flat and buffer access on any target.
MEMORY: Final = (0b110111, 0b111000, 0b111011, 0b110001)


@frozen
class Words:
    """Part of a code object's text. Literals may look like instructions, so each answer may be too much."""

    isa: str
    text: bytes
    start: int
    end: int

    @property
    def words(self) -> NDArray[np.uint32]:
        return np.frombuffer(self.text, "<u4", (self.end - self.start) // 4, self.start)

    def branch_targets(self) -> list[int]:
        """The places that branches go to."""
        words, found = self.words, list[int]()
        places = np.flatnonzero(words >> 23 == SOPP)
        control = words[places]
        for key in set((control >> 16).tolist()):
            if _unit(self.isa, key) == "branch":
                chosen = places[control >> 16 == key]
                offsets = (words[chosen] & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.int64)
                found += (self.start + 4 * (chosen + 1 + offsets)).tolist()
        return found

    def has_barrier(self) -> bool:
        words = self.words
        keys = set((words[words >> 23 == SOPP] >> 16).tolist())
        return any(_unit(self.isa, key) == "barrier" for key in keys)

    def adds_floats(self) -> bool:
        """Whether it adds floats to memory."""
        words = self.words
        major = words >> 26
        opcodes = set((words[np.logical_or.reduce([major == m for m in MEMORY])] >> OPERANDS).tolist())
        return any(_name(self.isa, opcode).startswith(FLOAT_ADDS) for opcode in opcodes)

    def calls(self) -> bool:
        """Whether it goes on in another part of the text and comes back."""
        words, rows = self.words, target(self.isa).rows
        indirect = next(op for op, row in enumerate(rows["SOP1"]) if row and row.name == "s_swappc_b64")
        direct = next((op for op, row in enumerate(rows["SOPK"]) if row and row.name == "s_call_b64"), None)
        found = (words & 0xFF80FF00) == (SOP1 << 23 | indirect << 8)
        if direct is not None:
            found |= words >> 23 == SOPK << 5 | direct
        return bool(found.any())


@cache
def _unit(isa: str, high: int) -> str:
    """What kind of control an instruction is, by the high half of its word."""
    name = _name(isa, high << 16 - OPERANDS)
    row = row_of(isa, name)
    return row.unit if row else ""


@cache
def _name(isa: str, high: int) -> str:
    """The instruction whose first word has these high bits; "" where there is none."""
    try:
        return decode(isa, struct.pack("<4I", high << OPERANDS, 0, 0, 0), 0).name
    except UnsupportedInstruction:
        return ""
