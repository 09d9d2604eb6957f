"""Decoding of vector ALU instructions."""

from __future__ import annotations

from functools import cache

from attrs import evolve

from rocmkern.emulator.isa.fields import DPP8_CODES, DPP_CODE, LITERAL_CODE, SDWA_CODE
from rocmkern.emulator.isa.model import PLAIN, Dpp, Inst, Mods, Operand, Sdwa
from rocmkern.emulator.isa.table import Row, Slot
from rocmkern.emulator.isa.target import Target, Words

Codes = tuple[int, ...]
SDWA_SGPR_DST = 1 << 15
# What M0 is added to, as gpr_index says it.
RELATIVE = {"v_movrels_b32": 1, "v_movreld_b32": 8, "v_movrelsd_b32": 9, "v_movrelsd_2_b32": 9, "v_swaprel_b32": 9}
LOAD_SCALE = "v_mfma_ld_scale_b32"
SCALED = 128  # added to an opcode: the matrix instruction that the scales before it belong to
FORMAT_DWORDS = (8, 8, 6, 6, 4, 8, 8, 8)  # of an operand of v_mfma_*_f8f6f4 in format fp8 bf8 fp6 bf6 fp4
VECTOR_CODE = 256  # of v0
FORMATS = 5  # of them that there are
VECTOR = ("v", "vl", "vh")
_WITHIN_ROWS = (*range(0x100), *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130), 0x140, 0x141)
# Of GFX9, and since: whole waves and broadcasts, or shares and exclusive or.
DPP_CONTROLS = (
    frozenset({*_WITHIN_ROWS, 0x130, 0x134, 0x138, 0x13C, 0x142, 0x143, *range(0x150, 0x160)}),
    frozenset({*_WITHIN_ROWS, *range(0x150, 0x170)}),
)
SDWA_WHOLE = 6  # the last of the selectors
WORD_FOLLOWS = (SDWA_CODE, DPP_CODE, *DPP8_CODES)


def vop1(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("VOP1", w >> 9 & 255)
    return None if row is None else _short(t, pc, words, i, row, "VOP1", (w & 511,))


def vop2(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("VOP2", w >> 25 & 63)
    return None if row is None else _short(t, pc, words, i, row, "VOP2", (w & 511, 256 | w >> 9 & 255))


def vopc(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    w = words[i]
    row = t.row("VOPC", w >> 17 & 255)
    return None if row is None else _short(t, pc, words, i, row, "VOPC", (w & 511, 256 | w >> 9 & 255))


def _short(t: Target, pc: int, words: Words, i: int, row: Row, encoding: str, codes: Codes) -> Inst | None:
    """VOP1, VOP2, VOPC with what may follow them: a literal, an SDWA or a DPP word."""
    size = 4
    mods = PLAIN
    first = codes[0]
    if first in WORD_FOLLOWS and any(slot.kind == "K" for slot in row.src):
        return None
    if first == SDWA_CODE and t.generation < 11:
        return _sdwa(t, pc, words, i, row, encoding, codes)
    if first == DPP_CODE or (first in DPP8_CODES and t.generation > 9):
        size = 8
        _check_dpp(t, first, words[i + 1])
        mods = _short_dpp_mods(first, words[i + 1], t.generation)
        codes = (256 | words[i + 1] & 255, *codes[1:])
    src = []
    fields = iter(codes)
    for slot in row.src:
        if slot.kind == "m":
            src.append(t.fields.vcc)
            continue
        code = LITERAL_CODE if slot.kind == "K" else next(fields)
        if code == LITERAL_CODE:
            size = 8
            src.append(t.fields.literal(words[i + 1], slot))
        else:
            src.append(_short_source(t, slot, code))
    if "k" in row.flags:
        mods = _both_halves(mods)
    if row.name in RELATIVE:
        mods = evolve(mods, gpr_index=RELATIVE[row.name])
    dst = _short_dst(t, row, words[i] >> 17 & 255)
    if "w" in row.flags:
        if src[0].kind not in VECTOR:
            t.fields.refuse("what is written too is no vector register")
        dst = (*dst, *src)
    return Inst(pc, size, row.name, encoding, dst, tuple(src), mods)


@cache
def _both_halves(mods: Mods) -> Mods:
    """With op_sel_hi as packed instructions have it where their encoding has no such field."""
    return evolve(mods, op_sel_hi=0b111)


def vopd(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """Two instructions at once; both read before either writes."""
    w, v = words[i], words[i + 1]
    first, second = t.row("VOPD", w >> 22 & 15), t.row("VOPD", w >> 17 & 31)
    if first is None or second is None:
        return None
    vdst = v >> 24
    halves = (
        (first, (w & 511, 256 | w >> 9 & 255), vdst),
        (second, (v & 511, 256 | v >> 9 & 255), (v >> 17 & 127) << 1 | (~vdst & 1)),
    )
    size = 8
    parts = []
    for row, codes, register in halves:
        src = []
        fields = iter(codes)
        for slot in row.src:
            code = LITERAL_CODE if slot.kind == "K" else t.fields.vcc.value if slot.kind == "m" else next(fields)
            if code == LITERAL_CODE:
                size = 12
                src.append(t.fields.literal(words[i + 2], slot))
            else:
                src.append(t.fields.source(code, slot))
        mods = _both_halves(PLAIN) if "k" in row.flags else PLAIN
        parts.append(Inst(pc, 8, row.name, "VOPD", (t.fields.vector(register, 1),), tuple(src), mods))
    return Inst(pc, size, "v_dual", "VOPD", parts=tuple(parts))


def _short_source(t: Target, slot: Slot, code: int) -> Operand:
    if code >= 256:
        if slot.kind in ("h", "i") and t.fields.halves:
            return t.fields.short_half(code - 256)
        if slot.kind == "a":
            return t.fields.vector(code - 256, slot.count, "a")
    return t.fields.source(code, slot)


def _short_dst(t: Target, row: Row, code: int) -> tuple[Operand, ...]:
    dst = []
    for slot in row.dst:
        if slot.kind == "m":
            dst.append(t.fields.vcc)
        elif slot.kind in ("h", "i") and t.fields.halves:
            dst.append(t.fields.short_half(code))
        else:
            dst.append(t.fields.destination(slot, code))
    return tuple(dst)


def _sdwa(t: Target, pc: int, words: Words, i: int, row: Row, encoding: str, codes: Codes) -> Inst:
    """Source and destination selection of GFX9 and GFX10."""
    v = words[i + 1]
    src0 = (0 if v >> 23 & 1 else 256) | v & 255
    fields = iter((src0, *((codes[1] & 255) | (0 if v >> 31 else 256) for _ in codes[1:])))
    src = tuple(t.fields.vcc if slot.kind == "m" else t.fields.source(next(fields), slot) for slot in row.src)
    dst = _short_dst(t, row, words[i] >> 17 & 255)
    if encoding == "VOPC" and dst and v & SDWA_SGPR_DST:
        dst = (t.fields.source(v >> 8 & 127, row.dst[0]),)
    mods = _sdwa_mods(v, encoding == "VOPC", len(codes))
    assert mods.sdwa is not None
    if max(mods.sdwa.dst_sel, *mods.sdwa.src_sel) > SDWA_WHOLE or mods.sdwa.dst_unused > 2:
        t.fields.refuse("the selection of bytes is reserved")
    return Inst(pc, 8, row.name, encoding, dst, src, mods)


@cache
def _sdwa_mods(v: int, is_compare: bool, sources: int) -> Mods:
    two = sources == 2
    sdwa = Sdwa(
        6 if is_compare else v >> 8 & 7,
        0 if is_compare else v >> 11 & 3,
        (v >> 16 & 7, v >> 24 & 7 if two else 6),
        (v >> 19 & 1) | (v >> 27 & two) << 1,
    )
    return Mods(
        neg=(v >> 20 & 1) | (v >> 28 & two) << 1,
        abs=(v >> 21 & 1) | (v >> 29 & two) << 1,
        clamp=not is_compare and bool(v >> 13 & 1),
        omod=0 if is_compare else v >> 14 & 3,
        sdwa=sdwa,
    )


def _check_dpp(t: Target, code: int, v: int) -> None:
    """Refuse a control of DPP16 that is reserved."""
    control = v >> 8 & 511
    if code not in DPP8_CODES and control not in DPP_CONTROLS[t.generation > 9]:
        t.fields.refuse(f"DPP control {control:#x} is reserved")


def _dpp(code: int, v: int, generation: int) -> Dpp:
    """The DPP word; `code` is what stands in the source 0 field."""
    if code in DPP8_CODES:
        return Dpp(lanes=tuple(v >> shift & 7 for shift in range(8, 32, 3)), fi=code == DPP8_CODES[1])
    fetch_inactive = generation > 9 and bool(v >> 18 & 1)
    return Dpp(v >> 8 & 511, v >> 28, v >> 24 & 15, bool(v >> 19 & 1), fetch_inactive)


@cache
def _short_dpp_mods(code: int, v: int, generation: int) -> Mods:
    dpp = _dpp(code, v, generation)
    if dpp.lanes:
        return Mods(dpp=dpp)
    return Mods(
        neg=(v >> 20 & 1) | (v >> 22 & 1) << 1,
        abs=(v >> 21 & 1) | (v >> 23 & 1) << 1,
        dpp=dpp,
    )


def vop3(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """VOP3A and VOP3B: three sources, modifiers, possibly a scalar destination."""
    w, v = words[i], words[i + 1]
    row = t.row("VOP3", w >> 16 & 1023)
    if row is None:
        return None
    op_sel = w >> 11 & row.op_sel
    codes = (v & 511, v >> 9 & 511, v >> 18 & 511)
    src, size, dpp_word = _long_sources(t, row, codes, words, i, op_sel)
    dst = tuple(
        t.fields.source(w >> 8 & 127, slot) if place == 1 else t.fields.destination(slot, w & 255, bool(op_sel & 8))
        for place, slot in enumerate(row.dst)
    )
    if t.fields.halves:
        op_sel = _left_op_sel(op_sel, src, dst)
    abs_bits = 0 if row.has_carry else w >> 8 & 7
    if row.name.startswith("v_bitop3"):
        return Inst(pc, size, row.name, "VOP3", dst, src, _vop3_mods(0, 0, 0, 0, op_sel), _truth_table(w, v))
    mods = _vop3_mods(v >> 29, abs_bits, w >> 15 & 1, v >> 27 & 3, op_sel)
    if dpp_word:
        _check_dpp(t, codes[0], words[i + size // 4 - 1])
        mods = _with_dpp(mods, codes[0], words[i + size // 4 - 1], t.generation)
    if "k" in row.flags:
        mods = _both_halves(mods)
    if row.name in RELATIVE:
        mods = evolve(mods, gpr_index=RELATIVE[row.name])
    return Inst(pc, size, row.name, "VOP3", dst, src, mods)


def _truth_table(w: int, v: int) -> int:
    """The 8-bit table of v_bitop3, in the place of neg, abs and omod."""
    return (v >> 29) | (w >> 8 & 7) << 3 | (v >> 27 & 3) << 6


def _long_sources(
    t: Target, row: Row, codes: Codes, words: Words, i: int, op_sel: int
) -> tuple[tuple[Operand, ...], int, bool]:
    """Sources of a VOP3 encoding, the size, and whether a DPP word follows."""
    size = 8
    has_dpp = False
    src = []
    for place, slot in enumerate(row.src):
        code = codes[place]
        if code >= VECTOR_CODE and row.name.startswith("v_s_"):
            t.fields.refuse("a vector register stands where a scalar register or a constant is wanted")
        if place == 0 and t.generation >= 11 and (code == DPP_CODE or code in DPP8_CODES):
            has_dpp = True
            size += 4
            code = 256 | words[i + 2] & 255
        if code == LITERAL_CODE and t.generation > 9:
            size = 12
            src.append(t.fields.literal(words[i + 2], slot))
        elif code >= 256 and slot.kind in ("h", "i") and t.fields.halves:
            src.append(t.fields.vector(code - 256, 1, "vh" if op_sel >> place & 1 else "vl"))
        else:
            src.append(t.fields.source(code, slot))
    return tuple(src), size, has_dpp


def _left_op_sel(op_sel: int, src: tuple[Operand, ...], dst: tuple[Operand, ...]) -> int:
    """op_sel without the bits that half registers already say."""
    for place, operand in enumerate(src):
        if operand.kind == "vh":
            op_sel &= ~(1 << place)
    return op_sel & 7 if dst and dst[0].kind == "vh" else op_sel


@cache
def _vop3_mods(neg: int, abs_bits: int, clamp: int, omod: int, op_sel: int) -> Mods:
    if not (neg or abs_bits or clamp or omod or op_sel):
        return PLAIN
    return Mods(neg, abs_bits, bool(clamp), omod, op_sel)


@cache
def _with_dpp(mods: Mods, code: int, v: int, generation: int) -> Mods:
    return evolve(mods, dpp=_dpp(code, v, generation))


def vop3p(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """Packed arithmetic, dot products; matrix instructions share the opcode space."""
    w, v = words[i], words[i + 1]
    row = t.row("VOP3P", w >> 16 & 127)
    if row is None:
        return None
    if row.name.startswith(("v_mfma_f", "v_mfma_i", "v_smfmac", "v_accvgpr")):
        return _matrix(t, pc, w, v, row)
    if row.name == LOAD_SCALE and i + 3 < len(words):
        scaled = _scaled_matrix(t, pc, words, i)
        if scaled is not None:
            return scaled
    codes = (v & 511, v >> 9 & 511, v >> 18 & 511)
    src, size, dpp_word = _packed_sources(t, row, codes, words, i)
    dst = tuple(t.fields.vector(w & 255, slot.count) for slot in row.dst)
    op_sel_hi = (v >> 27 & 3) | (w >> 14 & 1) << 2
    mods = _packed_mods(v >> 29, w >> 8 & 7, w >> 15 & 1, w >> 11 & 7, op_sel_hi, is_mix(row.name))
    if dpp_word:
        _check_dpp(t, codes[0], words[i + 2])
        mods = _with_dpp(mods, codes[0], words[i + 2], t.generation)
    return Inst(pc, size, row.name, "VOP3P", dst, src, mods)


def _packed_sources(t: Target, row: Row, codes: Codes, words: Words, i: int) -> tuple[tuple[Operand, ...], int, bool]:
    size = 8
    has_dpp = t.generation >= 11 and (codes[0] == DPP_CODE or codes[0] in DPP8_CODES)
    if has_dpp:
        size = 12
        codes = (256 | words[i + 2] & 255, *codes[1:])
    src = []
    for code, slot in zip(codes, row.src, strict=False):
        if code == LITERAL_CODE and t.generation > 9:
            size = 12
            src.append(t.fields.literal(words[i + 2], slot))
        else:
            src.append(t.fields.source(code, slot))
    return tuple(src), size, has_dpp


def is_mix(name: str) -> bool:
    """Whether op_sel_hi says f16 or f32 for each source, and the neg_hi bits mean abs."""
    return name.startswith("v_fma_mix")


@cache
def _packed_mods(neg: int, neg_hi: int, clamp: int, op_sel: int, op_sel_hi: int, mix: bool) -> Mods:
    if mix:
        return Mods(neg, neg_hi, bool(clamp), 0, op_sel, op_sel_hi)
    return Mods(neg, 0, bool(clamp), 0, op_sel, op_sel_hi, neg_hi)


def _matrix(t: Target, pc: int, w: int, v: int, row: Row) -> Inst:
    """MFMA and moves between vector and accumulation registers."""
    codes = (v & 511, v >> 9 & 511, v >> 18 & 511)
    accumulators = (v >> 27 & 1, v >> 28 & 1, w >> 15 & 1)
    is_move = row.name.startswith("v_accvgpr")
    is_sparse = row.name.startswith("v_smfmac")  # its third source are indices, always in vector registers
    slots = row.src
    if "f8f6f4" in row.name:
        formats = (w >> 8 & 7, v >> 29)
        if max(formats) >= FORMATS:
            t.fields.refuse(f"number format {max(formats)} is reserved")
        slots = (*(Slot("v", FORMAT_DWORDS[code]) for code in formats), slots[2])
    src = tuple(
        t.fields.vector(code - 256, slot.count, "a")
        if code >= 256 and (slot.kind == "a" or (is_acc and not is_move and (place < 2 or not is_sparse)))
        else t.fields.source(code, slot)
        for place, (code, slot, is_acc) in enumerate(zip(codes, slots, accumulators, strict=False))
    )
    slot = row.dst[0]
    in_accumulators = slot.kind == "a" or (w >> 15 & 1 and not is_move)
    dst = (t.fields.vector(w & 255, slot.count, "a" if in_accumulators else "v"),)
    return Inst(
        pc, 8, row.name, "VOP3P", dst, src, PLAIN if is_move else _matrix_mods(w >> 8 & 7, w >> 11 & 15, v >> 29)
    )


def _scaled_matrix(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    """A load of scales and the matrix instruction that takes them, as the one instruction that they are."""
    w, v, after, last = words[i : i + 4]
    row = t.row("VOP3P", SCALED | after >> 16 & 127)
    if row is None or after >> 23 != w >> 23 or not after >> 11 & 1:
        return None
    base = t.row("VOP3P", after >> 16 & 127)
    assert base is not None
    matrix = _matrix(t, pc, after, last, base)
    scales = tuple(t.fields.source(v >> low & 511, slot) for low, slot in zip((0, 9), row.src[3:], strict=True))
    mods = evolve(matrix.mods, abid=0, op_sel=w >> 11 & 3, op_sel_hi=v >> 27 & 3)
    return Inst(pc, 16, row.name, "VOP3P", matrix.dst, (*matrix.src, *scales), mods)


@cache
def _matrix_mods(cbsz: int, abid: int, blgp: int) -> Mods:
    return Mods(cbsz=cbsz, abid=abid, blgp=blgp) if cbsz or abid or blgp else PLAIN
