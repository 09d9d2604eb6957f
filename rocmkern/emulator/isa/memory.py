"""Decoding of LDS, flat, global, scratch and buffer memory instructions."""

from __future__ import annotations

from functools import cache

from rocmkern.emulator.isa.fields import LITERAL_CODE, PAIR, RESOURCE, SCALAR
from rocmkern.emulator.isa.model import OFF, PLAIN, Inst, Mods, Operand
from rocmkern.emulator.isa.table import Row
from rocmkern.emulator.isa.target import Target, Words, signed

SEGMENTS = ("FLAT", "SCRATCH", "GLOBAL")
OFF_CODES = {9: (127,), 10: (125, 127), 11: (124,), 12: (124,)}  # scalar address codes that mean none
MAINTENANCE_BITS = {"gfx940": 5, "gfx950": 5, "gfx12": 31}  # cache bits that write-back and invalidate know


@cache
def _cache_mods(cache_bits: int) -> Mods:
    return Mods(cache=cache_bits) if cache_bits else PLAIN


def _maintenance(t: Target, pc: int, size: int, row: Row, encoding: str, cache_bits: int) -> Inst:
    """What writes caches back or empties them has no operands."""
    return Inst(pc, size, row.name, encoding, mods=_cache_mods(cache_bits & MAINTENANCE_BITS.get(t.isa, 0)))


def ds(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w, v = words[i], words[i + 1]
    if t.generation == 9:
        op, gds, kind = w >> 17 & 255, w >> 16 & 1, "a" if w >> 25 & 1 else "v"
    else:
        op, gds, kind = w >> 18 & 255, w >> 17 & 1, "v"
    row = t.row("DS", op)
    if row is None:
        return None
    f = t.fields
    data = iter((v >> 8 & 255, v >> 16 & 255))
    src = [f.vector(v & 255, 1) if slot.kind == "a" else f.vector(next(data), slot.count, kind) for slot in row.src]
    if row.src and row.src[0].kind != "a":
        src.insert(0, OFF)
    dst = tuple(f.vector(v >> 24, slot.count, kind) for slot in row.dst)
    mods = Mods(gds=True) if gds else PLAIN
    if row.flags == "2":
        return Inst(pc, 8, row.name, "DS", dst, tuple(src), mods, w & 255, w >> 8 & 255)
    return Inst(pc, 8, row.name, "DS", dst, tuple(src), mods, w & 0xFFFF)


def flat(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """FLAT, SCRATCH and GLOBAL up to gfx11."""
    w, v = words[i], words[i + 1]
    segment = SEGMENTS[(w >> (16 if t.generation == 11 else 14) & 3) % 3]
    row = t.row(segment, w >> 18 & 127)
    if row is None:
        return None
    bits = 12 if t.generation == 10 else 13
    imm = w & ((1 << bits) - 1) if segment == "FLAT" else signed(w, bits)
    if t.generation == 11:
        cache_bits = (w >> 14 & 1) | (w >> 15 & 1) << 1 | (w >> 13 & 1) << 2
    elif t.generation == 10:
        cache_bits = (w >> 16 & 3) | (w >> 12 & 1) << 2
    else:
        cache_bits = (w >> 16 & 3) | (w >> 25 & 1) << 2
    if "z" in row.flags:
        return _maintenance(t, pc, 8, row, segment, cache_bits)
    kind = "a" if t.generation == 9 and v >> 23 & 1 else "v"
    saddr = OFF if segment == "FLAT" else _saddr(t, segment, v >> 16 & 127)
    uses_vector = _scratch_uses_vector(t, w, v, saddr) if segment == "SCRATCH" else "n" not in row.flags
    vaddr = _vaddr(t, segment, v & 255, saddr, uses_vector)
    to_lds = t.isa in ("gfx90a", "gfx10") and w >> 13 & 1 and row.dst and not row.src
    mods = _buffer_mods(cache_bits, 0, 0, 1, 0, 0) if to_lds else _cache_mods(cache_bits)
    return _access(t, pc, 8, row, segment, (vaddr, saddr), (v >> 24, v >> 8 & 255), kind, mods, imm)


def _saddr(t: Target, segment: str, code: int) -> Operand:
    if code in OFF_CODES[t.generation]:
        return OFF
    return t.fields.source(code, SCALAR if segment == "SCRATCH" else PAIR)


def _scratch_uses_vector(t: Target, w: int, v: int, saddr: Operand) -> bool:
    if t.generation == 11:
        return bool(v >> 23 & 1)
    if t.isa in ("gfx940", "gfx950"):
        return bool(w >> 13 & 1)
    return saddr is OFF and not (t.generation == 10 and v >> 16 & 127 == 127)


def _vaddr(t: Target, segment: str, index: int, saddr: Operand, used: bool) -> Operand:
    if not used:
        return OFF
    return t.fields.vector(index, 2 if segment != "SCRATCH" and saddr is OFF else 1)


def _access(
    t: Target,
    pc: int,
    size: int,
    row: Row,
    encoding: str,
    address: tuple[Operand, ...],
    registers: tuple[int, int],
    kind: str,
    mods: Mods,
    imm: int,
) -> Inst:
    """A memory access; `registers` are the destination's and the data's."""
    if mods.lds:
        if not _may_go_to_lds(t, row):
            t.fields.refuse("its data can't go to LDS")
        return Inst(pc, size, row.name, encoding, (), address, mods, imm)
    returns = "r" not in row.flags or mods.cache & 1
    status = int(mods.tfe)  # one more register that says whether the page was there
    dst = tuple(t.fields.vector(registers[0], slot.count + status, kind) for slot in row.dst) if returns else ()
    data = tuple(t.fields.vector(registers[1], slot.count + status, kind) for slot in row.src)
    return Inst(pc, size, row.name, encoding, dst, address + data, mods, imm)


def _may_go_to_lds(t: Target, row: Row) -> bool:
    """Whether the bit that puts LDS in the place of registers means something."""
    if row.src or not row.dst:
        return row.name == "buffer_store_lds_dword"
    wide = row.dst[0].count > 2 and t.isa == "gfx950" and "format" not in row.name
    return "d16" not in row.name and (row.dst[0].count == 1 or wide)


def mubuf(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """MUBUF up to gfx11."""
    w, v = words[i], words[i + 1]
    if t.generation == 11:
        op, offen, idxen, tfe = w >> 18 & 255, v >> 22 & 1, v >> 23 & 1, v >> 21 & 1
        cache_bits = (w >> 14 & 1) | (w >> 12 & 1) << 1 | (w >> 13 & 1) << 2
        return _buffer(t, pc, words, i, "MUBUF", op, _buffer_mods(cache_bits, offen, idxen, 0, tfe, 0), "v")
    offen, idxen, lds = w >> 12 & 1, w >> 13 & 1, w >> 16 & 1
    if t.generation == 10:
        op = (w >> 18 & 127) | (w >> 25 & 1) << 7
        cache_bits = (w >> 14 & 1) | (v >> 22 & 1) << 1 | (w >> 15 & 1) << 2
        return _buffer(t, pc, words, i, "MUBUF", op, _buffer_mods(cache_bits, offen, idxen, lds, v >> 23 & 1, 0), "v")
    cache_bits = (w >> 14 & 1) | (w >> 17 & 1) << 1 | (w >> 15 & 1) << 2
    kind = "a" if v >> 23 & 1 else "v"
    return _buffer(t, pc, words, i, "MUBUF", w >> 18 & 127, _buffer_mods(cache_bits, offen, idxen, lds, 0, 0), kind)


def mtbuf(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """MTBUF up to gfx11."""
    w, v = words[i], words[i + 1]
    fmt = w >> 19 & 127
    if t.generation == 11:
        cache_bits = (w >> 14 & 1) | (w >> 12 & 1) << 1 | (w >> 13 & 1) << 2
        mods = _buffer_mods(cache_bits, v >> 22 & 1, v >> 23 & 1, 0, v >> 21 & 1, fmt)
        return _buffer(t, pc, words, i, "MTBUF", w >> 15 & 15, mods, "v")
    offen, idxen = w >> 12 & 1, w >> 13 & 1
    if t.generation == 10:
        cache_bits = (w >> 14 & 1) | (v >> 22 & 1) << 1 | (w >> 15 & 1) << 2
        mods = _buffer_mods(cache_bits, offen, idxen, 0, v >> 23 & 1, fmt)
        return _buffer(t, pc, words, i, "MTBUF", (w >> 16 & 7) | (v >> 21 & 1) << 3, mods, "v")
    cache_bits = (w >> 14 & 1) | (v >> 22 & 1) << 1 | (v >> 21 & 1) << 2
    kind = "a" if v >> 23 & 1 else "v"
    return _buffer(t, pc, words, i, "MTBUF", w >> 15 & 15, _buffer_mods(cache_bits, offen, idxen, 0, 0, fmt), kind)


@cache
def _buffer_mods(cache_bits: int, offen: int, idxen: int, lds: int, tfe: int, fmt: int) -> Mods:
    return Mods(
        cache=cache_bits, offen=bool(offen), idxen=bool(idxen), lds=bool(lds), tfe=bool(tfe), format=fmt
    )  # fmt: skip


def _buffer(t: Target, pc: int, words: Words, i: int, encoding: str, op: int, mods: Mods, kind: str) -> Inst | None:
    w, v = words[i], words[i + 1]
    row = t.row(encoding, op)
    if row is None:
        return None
    if "z" in row.flags:
        return _maintenance(t, pc, 8, row, encoding, mods.cache)
    size = 12 if v >> 24 == LITERAL_CODE else 8
    address = (
        _buffer_vaddr(t, v & 255, mods),
        t.fields.source((v >> 16 & 31) << 2, RESOURCE),
        t.fields.literal(words[i + 2], SCALAR) if size == 12 else t.fields.source(v >> 24, SCALAR),
    )
    register = v >> 8 & 255
    return _access(t, pc, size, row, encoding, address, (register, register), kind, mods, w & 0xFFF)


def _buffer_vaddr(t: Target, index: int, mods: Mods) -> Operand:
    count = mods.offen + mods.idxen
    return t.fields.vector(index, count) if count else OFF


def vbuffer(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """Typed and untyped buffer access of gfx12."""
    w, v, u = words[i], words[i + 1], words[i + 2]
    op = w >> 14 & 255
    encoding = "MTBUF" if op & 128 else "MUBUF"
    row = t.row(encoding, op & 127)
    if row is None:
        return None
    cache_bits = (v >> 20 & 7) | (v >> 18 & 3) << 3
    if "z" in row.flags:
        return _maintenance(t, pc, 12, row, encoding, cache_bits)
    mods = _buffer_mods(cache_bits, v >> 30 & 1, v >> 31, 0, w >> 22 & 1, v >> 23 & 127 if op & 128 else 0)
    address = (
        _buffer_vaddr(t, u & 255, mods),
        t.fields.source(v >> 9 & 511, RESOURCE),
        t.fields.source(w & 127, SCALAR),
    )
    registers = (v & 255, v & 255)
    return _access(t, pc, 12, row, encoding, address, registers, "v", mods, signed(u >> 8, 24))


def vflat(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """FLAT, SCRATCH and GLOBAL of gfx12."""
    w, v, u = words[i], words[i + 1], words[i + 2]
    segment = SEGMENTS[w >> 24 & 3]
    row = t.row(segment, w >> 14 & 127)
    if row is None:
        return None
    cache_bits = (v >> 20 & 7) | (v >> 18 & 3) << 3
    if "z" in row.flags:
        return _maintenance(t, pc, 12, row, segment, cache_bits)
    saddr = OFF if segment == "FLAT" else _saddr(t, segment, w & 127)
    used = bool(v >> 17 & 1) if segment == "SCRATCH" else "n" not in row.flags
    vaddr = _vaddr(t, segment, u & 255, saddr, used)
    mods = _cache_mods(cache_bits)
    registers = (v & 255, v >> 23 & 255)
    return _access(t, pc, 12, row, segment, (vaddr, saddr), registers, "v", mods, signed(u >> 8, 24))
