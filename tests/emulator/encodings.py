"""Writes instructions of every encoding, word by word: where the opcode and each operand's field lie."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from attrs import evolve, frozen

from rocmkern.emulator.isa.table import Row
from rocmkern.emulator.isa.target import target

Place = tuple[int, int, int]  # word, lowest bit, how many


@frozen
class Encoding:
    """One encoding of one target. Operand fields by name: d… are results, s… sources, v a vector address."""

    words: tuple[int, ...]  # all but opcode and operands
    opcode: tuple[Place, ...]  # low bits first
    operands: dict[str, Place]

    def accumulating(self, name: str) -> Encoding | None:
        """The same on gfx90a, gfx940 and gfx950 with accumulation registers; None where it has none."""
        if name not in ACCUMULATING:
            return None
        bits = ACCUMULATING[name]
        return evolve(self, words=tuple(word | more for word, more in zip(self.words, bits, strict=True)))

    def code(self, opcode: int, fields: dict[str, int]) -> bytes:
        """An instruction and a literal of zeros behind it."""
        words = [*self.words]
        for word, low, bits in self.opcode:
            words[word] |= (opcode & (1 << bits) - 1) << low
            opcode >>= bits
        for name, value in fields.items():
            word, low, _ = self.operands[name]
            words[word] |= value << low
        return b"".join(word.to_bytes(4, "little") for word in (*words, 0, 0))


def _top(prefix: str) -> int:
    return int(prefix, 2) << 32 - len(prefix)


SOURCES: Final[dict[str, Place]] = {"s0": (1, 0, 9), "s1": (1, 9, 9), "s2": (1, 18, 9)}
FLAT: Final[dict[str, Place]] = {"v": (1, 0, 8), "s1": (1, 8, 8), "s0": (1, 16, 7), "d0": (1, 24, 8)}
BUFFER: Final[dict[str, Place]] = {"v": (1, 0, 8), "d0": (1, 8, 8), "s0": (1, 16, 5), "s1": (1, 24, 8)}
COMMON: Final = {
    "SOP1": Encoding((_top("101111101"),), ((0, 8, 8),), {"d0": (0, 16, 7), "s0": (0, 0, 8)}),
    "SOP2": Encoding((_top("10"),), ((0, 23, 7),), {"d0": (0, 16, 7), "s0": (0, 0, 8), "s1": (0, 8, 8)}),
    "SOPC": Encoding((_top("101111110"),), ((0, 16, 7),), {"s0": (0, 0, 8), "s1": (0, 8, 8)}),
    "SOPK": Encoding((_top("1011"),), ((0, 23, 5),), {"d0": (0, 16, 7)}),
    "SOPP": Encoding((_top("101111111"),), ((0, 16, 7),), {}),
    "VOP1": Encoding((_top("0111111"),), ((0, 9, 8),), {"d0": (0, 17, 8), "s0": (0, 0, 9)}),
    "VOP2": Encoding((0,), ((0, 25, 6),), {"d0": (0, 17, 8), "s0": (0, 0, 9), "s1": (0, 9, 8)}),
    "VOPC": Encoding((_top("0111110"),), ((0, 17, 8),), {"s0": (0, 0, 9), "s1": (0, 9, 8)}),
}
DUAL: Final = Encoding(
    (_top("110010"), 0),
    ((0, 17, 5), (0, 22, 4)),
    {
        "d0": (1, 24, 8), "d1": (1, 17, 7), "s0": (0, 0, 9), "s1": (0, 9, 8), "s2": (1, 0, 9), "s3": (1, 9, 8),
    },
)  # fmt: skip
DS: Final[dict[str, Place]] = {"v": (1, 0, 8), "s0": (1, 8, 8), "s1": (1, 16, 8), "d0": (1, 24, 8)}
# The bits that say so, of both words.
ACCUMULATING: Final = {
    "VOP3P": (1 << 15, 3 << 27),
    "DS": (1 << 25, 0),
    **dict.fromkeys(("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF"), (0, 1 << 23)),
}
SEGMENTS: Final = {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}


@cache
def encoding(isa: str, name: str) -> Encoding:
    """An encoding of gfx90a, gfx940, gfx950, gfx10, gfx11 or gfx12."""
    generation = target(isa).generation
    if name in COMMON:
        return COMMON[name]
    if name == "VOPD":
        return DUAL
    if name == "VOP3":
        head = _top("110100" if generation == 9 else "110101")
        return Encoding((head, 0), ((0, 16, 10),), {"d0": (0, 0, 8), "d1": (0, 8, 7), **SOURCES})
    if name == "VOP3P":
        head = _top("110100111" if generation == 9 else "110011000")
        return Encoding((head, 0), ((0, 16, 7),), {"d0": (0, 0, 8), **SOURCES})
    if name == "DS":
        return Encoding((_top("110110"), 0), ((0, 17 if generation == 9 else 18, 8),), DS)
    if name == "SMEM":
        if generation == 9:  # with a register offset
            fields: dict[str, Place] = {"s0": (0, 0, 6), "s1": (1, 25, 7), "d0": (0, 6, 7)}
            return Encoding((_top("110000") | 1 << 14, 0), ((0, 18, 8),), fields)
        fields = {"s0": (0, 0, 6), "s1": (1, 25, 7), "d0": (0, 6, 7)}
        opcode = (0, 13, 6) if generation == 12 else (0, 18, 8)
        return Encoding((_top("111101"), 0), (opcode,), fields)
    if name in SEGMENTS:
        segment = SEGMENTS[name]
        if generation == 12:
            fields = {"v": (2, 0, 8), "s1": (1, 23, 8), "s0": (0, 0, 7), "d0": (1, 0, 8)}
            uses = 1 << 17 if name == "SCRATCH" else 0
            return Encoding((_top("111011") | segment << 24, uses, 0), ((0, 14, 7),), fields)
        shift = 16 if generation == 11 else 14
        uses = 1 << 23 if generation == 11 and name == "SCRATCH" else 0
        head = _top("110111") | segment << shift | (1 << 13 if isa in ("gfx940", "gfx950") and name == "SCRATCH" else 0)
        return Encoding((head, uses), ((0, 18, 7),), FLAT)
    return _buffer(generation, name == "MTBUF")


def _buffer(generation: int, typed: bool) -> Encoding:
    if generation == 12:
        fields: dict[str, Place] = {"v": (2, 0, 8), "d0": (1, 0, 8), "s0": (1, 9, 9), "s1": (0, 0, 7)}
        words = (_top("110001") | typed << 21, 3 << 30 | typed << 23, 0)
        return Encoding(words, ((0, 14, 7),), fields)
    both = 3 << 22 if generation == 11 else 0  # index and offset
    low = 3 << 12 if generation < 11 else 0
    if not typed:
        opcode: tuple[Place, ...] = ((0, 18, 7), (0, 25, 1)) if generation == 10 else ((0, 18, 7 + (generation == 11)),)
        return Encoding((_top("111000") | low, both), opcode, BUFFER)
    opcode = ((0, 16, 3), (1, 21, 1)) if generation == 10 else ((0, 15, 4),)
    return Encoding((_top("111010") | low | 1 << 19, both), opcode, BUFFER)


def rows(isa: str) -> Iterator[tuple[str, int, Row]]:
    """Every row of a target, by encoding and opcode."""
    for name, found in target(isa).rows.items():
        for opcode, row in enumerate(found):
            if row is not None:
                yield name, opcode, row
