"""What the decoding functions know about the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from attrs import define

from rocmkern.emulator.isa.fields import Fields
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.table import CDNA, Row, Rows, tables

Words = Sequence[int]


@define(eq=False)
class Target:
    """One target's rows and operand fields. `generation` is 9 for gfx90a, gfx940 and gfx950."""

    isa: str
    generation: int
    rows: dict[str, Rows]
    fields: Fields

    def row(self, encoding: str, opcode: int) -> Row | None:
        return self.rows[encoding][opcode]


Decode = Callable[[Target, int, Words, int], "Inst | None"]
"""Decodes at word index `i`, for byte offset `pc`; None where the target has no such instruction."""


@cache
def target(isa: str, *, lenient: bool = False) -> Target:
    """The decoding context of gfx90a, gfx940, gfx950, gfx10, gfx11 or gfx12. `lenient`: whatever the operands are."""
    generation = 9 if isa in CDNA else int(isa[3:])
    fields = Fields(
        swap_null=generation >= 11,
        halves=generation >= 11,
        mask_dwords=2 if generation == 9 else 1,
        has_null=generation > 9,
        lenient=lenient,
    )
    return Target(isa, generation, tables(isa), fields)


def signed(value: int, bits: int) -> int:
    """The `bits` low bits of value as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
