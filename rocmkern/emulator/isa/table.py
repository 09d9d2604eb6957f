"""Opcode tables: one line of text per instruction in rows_*.py, parsed once per target.

Columns: mnemonic, destinations, sources, flags, then the opcode on gfx90a, gfx940, gfx950, gfx10, gfx11, gfx12 or `-`.
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

from rocmkern.emulator.isa import (
    rows_buffer,
    rows_compare,
    rows_lds,
    rows_memory,
    rows_packed,
    rows_scalar,
    rows_vector,
    rows_vop3,
)

ISAS: Final = ("gfx90a", "gfx940", "gfx950", "gfx10", "gfx11", "gfx12")
CDNA: Final = frozenset(ISAS[:3])

TEXT: Final = {
    "SOP1": rows_scalar.SOP1,
    "SOP2": rows_scalar.SOP2,
    "SOPC": rows_scalar.SOPC,
    "SOPK": rows_scalar.SOPK,
    "SOPP": rows_scalar.SOPP,
    "SMEM": rows_scalar.SMEM,
    "VOP1": rows_vector.VOP1,
    "VOP2": rows_vector.VOP2,
    "VOPD": rows_vector.VOPD,
    "VOPC": rows_compare.VOPC,
    "VOP3": rows_vop3.VOP3,
    "VOP3P": rows_packed.VOP3P,
    "DS": rows_lds.DS,
    "FLAT": rows_memory.FLAT,
    "GLOBAL": rows_memory.GLOBAL,
    "SCRATCH": rows_memory.SCRATCH,
    "MUBUF": rows_buffer.MUBUF,
    "MTBUF": rows_buffer.MTBUF,
}


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


def _slots(text: str, mask_dwords: int) -> tuple[Slot, ...]:
    return () if text == "-" else tuple(_slot(part, mask_dwords) for part in text.split(","))


@cache
def _slot(text: str, mask_dwords: int) -> Slot:
    if text.isdigit():
        return Slot("", int(text))
    if text == "m":
        return Slot("m", mask_dwords)
    return Slot(text[0], int(text[1:])) if len(text) > 1 else Slot(text, 1)


def _parse(isa: str, text: str) -> dict[int, Row]:
    column = 4 + ISAS.index(isa)
    mask_dwords = 2 if isa in CDNA else 1
    rows = {}
    for line in text.splitlines():
        fields = line.split()
        if fields[column] != "-":
            name, dst, src, flags = fields[:4]
            if name.startswith("v_cmpx") and isa not in CDNA:
                dst = "-"  # the mask goes to EXEC alone
            rows[int(fields[column])] = Row(
                name, _slots(dst, mask_dwords), _slots(src, mask_dwords), flags.removeprefix("-")
            )
    return rows


def _op_sel(row: Row) -> int:
    if "o" not in row.flags:
        return 0
    if row.name.startswith(("v_cmp", "v_permlane")):
        return 0b0011
    return 0b1100 if row.name in ("v_dot2_f16_f16", "v_dot2_bf16_bf16") else 0b1111


def _vop3_forms(isa: str, rows: dict[str, dict[int, Row]]) -> dict[int, Row]:
    bases = {"VOPC": 0, "VOP2": 0x100, "VOP1": 0x140 if isa in CDNA else 0x180}
    halves = isa in ("gfx11", "gfx12")
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
    parsed = {encoding: _parse(isa, text) for encoding, text in TEXT.items()}
    parsed["VOP3"] = _vop3_forms(isa, parsed)
    return {
        encoding: tuple(rows.get(op) for op in range(1024 if encoding == "VOP3" else 256))
        for encoding, rows in parsed.items()
    }
