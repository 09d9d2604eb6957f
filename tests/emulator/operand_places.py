"""Every operand of every instruction, at the last registers that it can name and at the first that it can't."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from attrs import frozen

from rocmkern.emulator.isa import Inst, Operand, decode
from rocmkern.emulator.isa.model import OFF
from rocmkern.emulator.isa.table import CDNA, Row
from rocmkern.errors import UnsupportedInstruction
from tests.emulator.encodings import Encoding, encoding, rows

LOW: Final = 16  # a register that any operand may begin with
STEP: Final = 4
VECTOR_CODE: Final = 256
# What an operand of several registers lies in whole: registers for all uses, VCC, those of the trap handler, EXEC.
FILES: Final = {
    "s": (range(106), range(106, 108), range(108, 124), range(126, 128)),
    **dict.fromkeys(("v", "vl", "vh", "a"), (range(256),)),
}
M0, NULL = 124, 125


@frozen
class Site:
    """An operand field of an instruction whose others name low registers."""

    isa: str
    row: Row
    code: Encoding
    opcode: int
    field: str
    low: dict[str, int]
    kind: str
    count: int
    base: int  # what the field is for register 0
    bits: int  # of the field, that name a register
    scale: int  # registers per unit of the field

    def at(self, first: int) -> bytes | None:
        """The instruction with the operand at that register; None where the field can't say so."""
        value, rest = divmod(self._named(first), self.scale)
        if rest or value >= 1 << self.bits:
            return None
        return self.code.code(self.opcode, {**self.low, self.field: self.base + value})

    def _named(self, first: int) -> int:
        """The code of a register: M0 and null changed places in gfx11."""
        swaps = self.kind == "s" and first in (M0, NULL) and self.isa in ("gfx11", "gfx12")
        return M0 + NULL - first if swaps else first

    def operand(self, first: int) -> Operand:
        return Operand(self.kind, first, self.count)  # type: ignore[arg-type]  # a kind of register

    def is_legal(self, first: int) -> bool:
        if self.kind == "s" and first == M0:
            return self.count == 1
        if self.kind == "s" and first == NULL:
            return self.isa not in CDNA
        return any(first in part and first + self.count - 1 in part for part in FILES[self.kind])

    def borders(self) -> list[int]:
        """Around the end of each part of the file: the last registers that there are, and the first beyond."""
        align = 1 if self.kind != "s" else self.count if self.count < 3 else 4
        found = set[int]()
        for part in FILES[self.kind]:
            last = (part.stop - self.count) // align * align
            found |= {last, last + align}
        if self.kind == "s":
            found |= {M0, NULL}
        end = FILES[self.kind][-1].stop
        return sorted(first for first in found if 0 <= first < end)

    def __str__(self) -> str:
        return f"{self.row.name}, {self.field} as {self.count} of {self.kind}"


def operands(inst: Inst) -> list[Operand]:
    parts = inst.parts or (inst,)
    return [operand for part in parts for operand in (*part.dst, *part.src)]


def is_known(isa: str, code: bytes) -> bool:
    """Whether it is an instruction."""
    try:
        return bool(decode(isa, code, 0))
    except UnsupportedInstruction:
        return False


def sites(isa: str) -> Iterator[Site]:
    """Every operand field, for registers of each file that it can name."""
    for name, opcode, row in rows(isa):
        whole = encoding(isa, name)
        yield from _sites_of(isa, name, row, whole, opcode)
        accumulating = whole.accumulating(name) if isa in CDNA else None
        if accumulating is not None:
            yield from _sites_of(isa, name, row, accumulating, opcode)


def low_places(isa: str, code: Encoding, opcode: int) -> list[dict[str, int]]:
    """Fields that name low registers: vector registers where they can, and scalar ones."""
    choices = [
        [VECTOR_CODE + LOW, LOW] if bits == 9 else [LOW // 4] if bits == 5 else [LOW]
        for _, _, bits in code.operands.values()
    ]
    every = [dict(zip(code.operands, values, strict=True)) for values in product(*choices)]
    return [fields for fields in every if is_known(isa, code.code(opcode, fields))]


def _sites_of(isa: str, name: str, row: Row, code: Encoding, opcode: int) -> Iterator[Site]:
    seen = set[tuple[str, str, int]]()
    for low in low_places(isa, code, opcode):
        base = decode(isa, code.code(opcode, low), 0)
        for field, (_, _, bits) in code.operands.items():
            other = decode(isa, code.code(opcode, {**low, field: low[field] + STEP}), 0)
            changed = [pair for pair in zip(operands(base), operands(other), strict=True) if pair[0] != pair[1]]
            before, after = changed[0] if changed else (OFF, OFF)
            kind, count = before.kind, before.count
            if kind not in FILES or (field, kind, count) in seen:
                continue
            seen.add((field, kind, count))
            has_half = kind in ("vl", "vh") and name != "VOP3"
            yield Site(
                isa, row, code, opcode, field, low, kind, count,
                base=VECTOR_CODE if bits == 9 and kind != "s" else 0,
                bits=min(bits, 7 if kind == "s" or has_half else 8),
                scale=(after.value - before.value) // STEP,
            )  # fmt: skip
