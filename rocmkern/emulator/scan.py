"""What the words of code tell without decoding it all: where branches go, and what else a launch has to know first."""

from __future__ import annotations

import struct
from functools import cache, partial
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.target import target
from rocmkern.emulator.lds_loads import is_to_lds
from rocmkern.emulator.meaning import row_of
from rocmkern.emulator.meaning.hardware import MODE, hardware_field
from rocmkern.emulator.mode import FLOAT_BITS
from rocmkern.errors import UnsupportedInstruction
from rocmkern.locks import lazy

FLOAT_ADDS: Final = ("global_atomic_add_f", "global_atomic_pk_add", "buffer_atomic_add_f", "buffer_atomic_pk_add")
SOPP: Final = 0b101111111  # leading bits of the instructions that steer the wave
SOP1: Final = 0b101111101
SOPK: Final = 0b1011
OPERANDS: Final = 14  # low bits of a memory instruction's first word, which say nothing of its opcode
# What sets MODE; the lowest bit of those that it sets.
SETTERS: Final = {
    "SOPP": {"s_round_mode": 0, "s_denorm_mode": 4}, "SOPK": {"s_setreg_b32": 0, "s_setreg_imm32_b32": 0}
}  # fmt: skip
# Leading bits of flat and buffer access on any target.
MEMORY: Final = (0b110111, 0b111000, 0b111011, 0b110001)


@frozen(slots=False)
class Words:
    """Part of a code object's text. Literals may look like instructions, so each answer may be too much."""

    isa: str
    text: bytes
    start: int
    end: int

    @lazy
    def words(self) -> NDArray[np.uint32]:
        return np.frombuffer(self.text, "<u4", (self.end - self.start) // 4, self.start)

    @lazy
    def scalars(self) -> NDArray[np.intp]:
        """Where scalar instructions of one or no source may begin."""
        return np.flatnonzero(self.words >> 28 == SOPK)

    def branch_targets(self) -> list[int]:
        """The places that branches go to."""
        words, found = self.words, list[int]()
        places = self.scalars[words[self.scalars] >> 23 == SOPP]
        control = words[places]
        for key in set((control >> 16).tolist()):
            if _unit(self.isa, key) == "branch":
                chosen = places[control >> 16 == key]
                offsets = (words[chosen] & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.int64)
                found += (self.start + 4 * (chosen + 1 + offsets)).tolist()
        return found

    def has_barrier(self) -> bool:
        scalars = self.words[self.scalars]
        keys = set((scalars[scalars >> 23 == SOPP] >> 16).tolist())
        return any(_unit(self.isa, key) == "barrier" for key in keys)

    def adds_floats(self) -> bool:
        """Whether it adds floats to memory."""
        return any(_name(self.isa, opcode).startswith(FLOAT_ADDS) for opcode in self._memory())

    def loads_to_lds(self) -> bool:
        """Whether it loads from memory straight to LDS."""
        return any(is_to_lds(inst) for inst in map(partial(_instruction, self.isa), self._memory()) if inst)

    def _memory(self) -> set[int]:
        """The high bits of what may be memory instructions' first words."""
        words = self.words
        major = words >> 26
        return set((words[np.logical_or.reduce([major == m for m in MEMORY])] >> OPERANDS).tolist())

    def calls(self) -> bool:
        """Whether it goes on in another part of the text and comes back."""
        return bool(len(self._places("SOP1", "s_swappc_b64")) or len(self._places("SOPK", "s_call_b64")))

    def jumps(self) -> bool:
        """Whether it goes on at an address in registers."""
        return bool(len(self._places("SOP1", "s_setpc_b64")))

    def _places(self, encoding: str, name: str) -> NDArray[np.intp]:
        """The words that begin a scalar instruction of that name."""
        mask, word = _first_word(self.isa, encoding, name)
        found: NDArray[np.intp] = self.scalars[self.words[self.scalars] & mask == word]
        return found

    def may_change_mode(self, initial: int) -> bool:
        """Whether it sets floating-point bits of MODE, which begins so, otherwise."""
        words = self.words
        return any(
            _may_set_mode(self.isa, words[place : place + 4].tobytes().ljust(16, b"\0"), initial)
            for encoding, names in SETTERS.items()
            for name in names
            for place in self._places(encoding, name).tolist()
        )

    def may_use_doubles(self) -> bool:
        """Whether a word looks like arithmetic on f64."""
        words = self.words
        return any(
            np.isin((words >> shift) & mask, codes)[words >> first == lead].any()
            for first, lead, shift, mask, codes in _doubles(self.isa)
        )


def _may_set_mode(isa: str, code: bytes, initial: int) -> bool:
    """Whether code begins with what sets MODE; what has no such operand can't run."""
    try:
        return sets_mode(decode(isa, code, 0), initial)
    except UnsupportedInstruction:
        return False


def sets_mode(inst: Inst, initial: int) -> bool:
    """Whether an instruction sets floating-point bits of MODE, which begins so, otherwise."""
    if inst.name in SETTERS["SOPP"]:
        low = SETTERS["SOPP"][inst.name]
        return 0 <= inst.imm < 16 and inst.imm != initial >> low & 0xF
    if inst.name not in SETTERS["SOPK"]:
        return False
    register, mask, shift = hardware_field(inst.imm)
    literals = [o.value for o in inst.src if o.kind == "literal"]
    changed = literals[0] << shift ^ initial if literals else mask
    return register == MODE and bool(mask & changed & FLOAT_BITS)


@cache
def _first_word(isa: str, encoding: str, name: str) -> tuple[int, int]:
    """Which bits of an instruction's first word say that it is this one, and what they are."""
    opcode = next((op for op, row in enumerate(target(isa).rows[encoding]) if row and row.name == name), None)
    if opcode is None:
        return 0, 1  # no word
    return {
        "SOP1": (0xFF80FF00, SOP1 << 23 | opcode << 8),
        "SOPK": (0xFF800000, (SOPK << 5 | opcode) << 23),
        "SOPP": (0xFFFF0000, SOPP << 23 | opcode << 16),
    }[encoding]


@cache
def _doubles(isa: str) -> list[tuple[int, int, int, int, list[int]]]:
    """Of encodings with f64 arithmetic: where the leading bits begin, these, place and mask of the opcode, opcodes."""
    generation = target(isa).generation
    places = {
        "VOP1": (25, 0b0111111, 9, 0xFF), "VOP2": (31, 0, 25, 0x3F), "VOPC": (25, 0b0111110, 17, 0xFF),
        "VOP3": (26, 0b110100 if generation == 9 else 0b110101, 16, 0x3FF),
        "VOP3P": (23, 0b110100111 if generation == 9 else 0b110011000, 16, 0x7F),
    }  # fmt: skip
    found = []
    for encoding, place in places.items():
        rows = target(isa).rows[encoding]
        found.append((*place, [op for op, row in enumerate(rows) if row and "f64" in row.name]))
    return found


@cache
def _unit(isa: str, high: int) -> str:
    """What kind of control an instruction is, by the high half of its word."""
    name = _name(isa, high << 16 - OPERANDS)
    row = row_of(isa, name)
    return row.unit if row else ""


def _name(isa: str, high: int) -> str:
    """The name of the instruction whose first word has these high bits; "" where there is none."""
    inst = _instruction(isa, high)
    return "" if inst is None else inst.name


@cache
def _instruction(isa: str, high: int) -> Inst | None:
    """The instruction whose first word has these high bits."""
    try:
        return decode(isa, struct.pack("<4I", high << OPERANDS, 0, 0, 0), 0)
    except UnsupportedInstruction:
        return None
