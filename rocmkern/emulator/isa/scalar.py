"""Decoding of scalar ALU, control flow and scalar memory."""

from __future__ import annotations

from rocmkern.emulator.isa.fields import LITERAL_CODE, SCALAR
from rocmkern.emulator.isa.model import NULL, OFF, PLAIN, Inst, Mods, Operand
from rocmkern.emulator.isa.table import Row
from rocmkern.emulator.isa.target import Target, Words, signed

# What M0 is added to, as gpr_index says it.
RELATIVE = {"s_movrels": Mods(gpr_index=1), "s_movreld": Mods(gpr_index=8)}


def _sources(t: Target, row: Row, codes: tuple[int, ...], words: Words, i: int) -> tuple[tuple[Operand, ...], int]:
    """Operands of the source fields and how many bytes the instruction has."""
    size = 4
    sources = []
    fields = iter(codes)
    for slot in row.src:
        code = LITERAL_CODE if slot.kind == "K" else next(fields)
        if code == LITERAL_CODE:
            size = 8
            sources.append(t.fields.literal(words[i + 1], slot))
        else:
            sources.append(t.fields.source(code, slot))
    return tuple(sources), size


def sop2(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("SOP2", w >> 23 & 127)
    if row is None:
        return None
    src, size = _sources(t, row, (w & 255, w >> 8 & 255), words, i)
    dst = (t.fields.source(w >> 16 & 127, row.dst[0]),) if row.dst else ()
    return Inst(pc, size, row.name, "SOP2", dst, src)


def sop1(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("SOP1", w >> 8 & 255)
    if row is None:
        return None
    dst = (t.fields.source(w >> 16 & 127, row.dst[0]),) if row.dst else ()
    if row.src and row.src[0].kind == "q":
        return Inst(pc, 4, row.name, "SOP1", dst, imm=w & 255)
    src, size = _sources(t, row, (w & 255,), words, i)
    return Inst(pc, size, row.name, "SOP1", dst, src, RELATIVE.get(row.name[:9], PLAIN))


def sopc(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("SOPC", w >> 16 & 127)
    if row is None:
        return None
    if row.src[1].kind == "n":
        return Inst(pc, 4, row.name, "SOPC", (), (t.fields.source(w & 255, row.src[0]),), imm=w >> 8 & 255)
    src, size = _sources(t, row, (w & 255, w >> 8 & 255), words, i)
    return Inst(pc, size, row.name, "SOPC", (), src)


def sopk(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("SOPK", w >> 23 & 31)
    if row is None:
        return None
    register = w >> 16 & 127
    imm = signed(w, 16)
    size = 4
    dst = (t.fields.source(register, row.dst[0]),) if row.dst else ()
    src: list[Operand] = []
    for slot in row.src:
        if slot.kind == "":
            src.append(t.fields.source(register, slot))
        elif slot.kind in ("k", "b"):
            src.append(Operand("int", w & 0xFFFF if row.name.endswith("u32") else imm))
        elif slot.kind == "K":
            size = 8
            src.append(t.fields.literal(words[i + 1], slot))
    return Inst(pc, size, row.name, "SOPK", dst, tuple(src), imm=imm)


def sopp(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("SOPP", w >> 16 & 127)
    return None if row is None else Inst(pc, 4, row.name, "SOPP", imm=signed(w, 16))


def _smem_fields(t: Target, w: int, v: int) -> tuple[int, int, Operand, int]:
    """Opcode, byte offset, scalar offset and cache bits."""
    if t.generation == 12:
        return w >> 13 & 63, signed(v, 24), _scalar_offset(t, v >> 25), (w >> 23 & 3) | (w >> 21 & 3) << 3
    if t.generation == 11:
        return w >> 18 & 255, signed(v, 21), _scalar_offset(t, v >> 25), (w >> 14 & 1) | (w >> 13 & 1) << 2
    if t.generation == 10:
        return w >> 18 & 255, signed(v, 21), _scalar_offset(t, v >> 25), (w >> 16 & 1) | (w >> 14 & 1) << 2
    op, cache = w >> 18 & 255, w >> 16 & 1
    has_imm, has_register = w >> 17 & 1, w >> 14 & 1
    if has_register:
        return op, signed(v, 21) if has_imm else 0, t.fields.source(v >> 25, SCALAR), cache
    if has_imm:
        return op, signed(v, 21), OFF, cache
    return op, 0, t.fields.source(v & 127, SCALAR), cache


def _scalar_offset(t: Target, code: int) -> Operand:
    offset = t.fields.source(code, SCALAR)
    return OFF if offset.value == NULL else offset


def smem(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    op, imm, offset, cache = _smem_fields(t, w, words[i + 1])
    row = t.row("SMEM", op)
    if row is None:
        return None
    register = w >> 6 & 127
    mods = Mods(cache=cache) if cache else PLAIN
    if not row.src and row.flags != "p":
        return Inst(pc, 8, row.name, "SMEM", tuple(t.fields.source(register, slot) for slot in row.dst))
    base = t.fields.source((w & 63) << 1, row.src[0]) if row.src else OFF
    if row.flags == "p":
        return Inst(pc, 8, row.name, "SMEM", (), (base, offset), PLAIN, imm, register)
    if row.dst:
        result = t.fields.source(register, row.dst[0])
        return Inst(pc, 8, row.name, "SMEM", (result,), (base, offset), mods, imm)
    if len(row.src) == 1:
        return Inst(pc, 8, row.name, "SMEM", (), (base, offset), PLAIN, imm)
    data = t.fields.source(register, row.src[1])
    dst = (data,) if row.flags == "r" and cache & 1 else ()
    return Inst(pc, 8, row.name, "SMEM", dst, (base, offset, data), mods, imm)
