"""Instruction sets: one line of text per instruction in sets/, parsed once per target.

gfx90a is the base. Every other set names its parent in `SETS` and says what differs from it, by encoding:
  [VOP1]                    the encoding of the lines that follow
  opcode name dst src flags an instruction that is new, or other than its parent's
  = name=opcode ...         the parent's, at another opcode
  - name ...                the parent's that are gone
gfx11 includes what only gfx1150 and later have.
Operands are separated by commas, in the order of the encoding's fields; `-` stands for none:
  n       n dwords
  h, i    16-bit float, 16-bit integer; a vector register half on gfx11 and later
  m       lane mask: VCC in the short encodings, a scalar operand in VOP3
  sn, an  n dwords in scalar or accumulation registers alone, though the field is a vector register's
  vn, cn  n dwords in vector registers (or accumulation ones) alone; or an inline constant
  un      n dwords in scalar registers or constants
  K       32-bit literal that the encoding always has
  k b w q n f   simm16 as number, branch, hardware register, message, bits; four bits; printed in a way of its own
  a       LDS address; every other LDS source is data
Memory rows list data only; addresses follow from the encoding. An opcode above 127 in VOP3P is that of a matrix
instruction with scales before it, plus 128.
Flags: x no VOP3 form; o op_sel in VOP3 (for short instructions from gfx11 on);
k packed halves though not VOP3P; w writes its source too, as a second `dst`; r returns the old value when
the cache bits say so; 2 two offsets; n no vector address; z no operand at all; p prefetch with an immediate length.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from attrs import frozen

from rocmkern.emulator.isa.sets import (
    gfx10,
    gfx11_memory,
    gfx11_scalar,
    gfx11_vector,
    gfx12,
    gfx90a_memory,
    gfx90a_scalar,
    gfx90a_vector,
    gfx940,
    gfx950,
)

ENCODINGS: Final = (
    "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM", "VOP1", "VOP2", "VOPD", "VOPC", "VOP3", "VOP3P", "DS", "FLAT",
    "GLOBAL", "SCRATCH", "MUBUF", "MTBUF",
)  # fmt: skip


@frozen
class InstructionSet:
    """What differs from another set. `halves`: an operand of 16 bits may be either half of a vector register."""

    parent: str | None
    texts: tuple[str, ...]
    halves: bool = False


SETS: Final = {
    "gfx90a": InstructionSet(None, (gfx90a_scalar.ROWS, gfx90a_vector.ROWS, gfx90a_memory.ROWS)),
    "gfx940": InstructionSet("gfx90a", (gfx940.ROWS,)),
    "gfx950": InstructionSet("gfx940", (gfx950.ROWS,)),
    "gfx10": InstructionSet("gfx90a", (gfx10.ROWS,)),
    "gfx11": InstructionSet("gfx10", (gfx11_scalar.ROWS, gfx11_vector.ROWS, gfx11_memory.ROWS), halves=True),
    "gfx12": InstructionSet("gfx11", (gfx12.ROWS,), halves=True),
}
ISAS: Final = tuple(SETS)
CDNA: Final = frozenset(("gfx90a", "gfx940", "gfx950"))


@frozen
class Slot:
    """One operand of a row: the letter of its kind ("" plain) and its size in dwords."""

    kind: str
    count: int


@frozen
class Row:
    """One instruction in one encoding of one target."""

    name: str
    dst: tuple[Slot, ...]
    src: tuple[Slot, ...]
    flags: str
    short: bool = False  # VOP3 form of an instruction that also has a short encoding
    op_sel: int = 0  # op_sel bits that VOP3 has

    @property
    def has_carry(self) -> bool:
        """Whether a VOP3 encoding of it has a second, scalar destination."""
        return len(self.dst) == 2


Rows = tuple[Row | None, ...]


@cache
def _slots(text: str, mask_dwords: int) -> tuple[Slot, ...]:
    return () if text == "-" else tuple(_slot(part, mask_dwords) for part in text.split(","))


@cache
def _slot(text: str, mask_dwords: int) -> Slot:
    if text.isdigit():
        return Slot("", int(text))
    if text == "m":
        return Slot("m", mask_dwords)
    return Slot(text[0], int(text[1:])) if len(text) > 1 else Slot(text, 1)


_Line = tuple[str, str, str, str]  # opcode, destinations, sources, flags


@cache
def _lines(isa: str) -> dict[str, dict[str, _Line]]:
    """All instructions of a set, by encoding and name: its parent's, changed as its texts say."""
    parent = SETS[isa].parent
    inherited = {} if parent is None else _lines(parent)
    found = {encoding: dict(inherited.get(encoding, {})) for encoding in ENCODINGS}
    rows: dict[str, _Line] = {}
    for line in (line for text in SETS[isa].texts for line in text.splitlines()):
        first, *fields = line.split()
        if first == "=":
            for name, opcode in (field.split("=") for field in fields):
                rows[name] = (opcode, *rows[name][1:])
        elif first == "-":
            for name in fields:
                del rows[name]
        elif fields:
            name, dst, src, flags = fields
            rows[name] = (first, dst, src, flags)
        else:
            rows = found[first.strip("[]")]
    return found


def _rows(isa: str, lines: dict[str, _Line]) -> dict[int, Row]:
    mask_dwords = 2 if isa in CDNA else 1
    found = {}
    for name, (opcode, dst, src, flags) in lines.items():
        if isa not in CDNA and name.startswith("v_cmpx"):
            dst = "-"  # the mask goes to EXEC alone
        found[int(opcode)] = Row(name, _slots(dst, mask_dwords), _slots(src, mask_dwords), flags.removeprefix("-"))
    return found


def _op_sel(row: Row) -> int:
    if "o" not in row.flags:
        return 0
    if row.name.startswith(("v_cmp", "v_permlane")):
        return 0b0011
    return 0b1100 if row.name in ("v_dot2_f16_f16", "v_dot2_bf16_bf16") else 0b1111


def _vop3_forms(isa: str, rows: dict[str, dict[int, Row]]) -> dict[int, Row]:
    bases = {"VOPC": 0, "VOP2": 0x100, "VOP1": 0x140 if isa in CDNA else 0x180}
    halves = SETS[isa].halves
    forms = {
        base + op: Row(row.name, row.dst, row.src, row.flags, True, _op_sel(row) if halves else 0)
        for encoding, base in bases.items()
        for op, row in rows[encoding].items()
        if "x" not in row.flags
    }
    names = {row.name for encoding in bases for row in rows[encoding].values()}
    for op, row in rows["VOP3"].items():
        short = row.name in names
        op_sel = 0 if short and not halves else _op_sel(row)
        forms[op] = Row(row.name, row.dst, row.src, row.flags, short, op_sel)
    return forms


@cache
def tables(isa: str) -> dict[str, Rows]:
    """Rows by encoding and opcode; None where the target has no such instruction."""
    parsed = {encoding: _rows(isa, lines) for encoding, lines in _lines(isa).items()}
    parsed["VOP3"] = _vop3_forms(isa, parsed)
    return {
        encoding: tuple(rows.get(op) for op in range(1024 if encoding == "VOP3" else 256))
        for encoding, rows in parsed.items()
    }
