"""Vector ALU on integers: moves, arithmetic, shifts, bit fields, selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu


@valu("v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "b32 = b32")
@valu("v_movrels_b32 v_movreld_b32 v_movrelsd_b32 v_movrelsd_2_b32", "b32 = b32")
@valu("v_mov_b64", "b64 = b64")
@valu("v_mov_b16", "b16 = b16")
def move(c: Context, a: Value) -> Result:
    return a


@valu("v_pk_mov_b32", "b64 = b64 b64")
def packed_move(c: Context, a: Value, b: Value) -> Result:
    """op_sel says which half of each source."""
    low = a.lshr(32) if c.mods.op_sel & 1 else a & 0xFFFFFFFF
    return low | (b & -0x100000000 if c.mods.op_sel & 2 else b.shl(32))


def saturating(name: str) -> Callable[[Context, Value, Value], Result]:
    return lambda c, a, b: c.intrinsic(name, a, b)


def _add(c: Context, a: Value, b: Value) -> Result:
    return a + b


def _sub(c: Context, a: Value, b: Value) -> Result:
    return a - b


def _sum(c: Context, a: Value, b: Value) -> Value:
    """Of unsigned numbers; saturated with clamp."""
    return c.intrinsic("uadd.sat", a, b) if c.mods.clamp else a + b


def _held(c: Context, overflow: Value, limit: Value | int, total: Value) -> Value:
    """`total`, or with clamp the limit where it overflows."""
    return overflow.select(limit, total) if c.mods.clamp else total


def _reversed(emit: Callable[[Context, Value, Value], Result]) -> Callable[[Context, Value, Value], Result]:
    return lambda c, a, b: emit(c, b, a)


for _sign, _letter in (("u", "u"), ("s", "i")):
    for _bits in (16, 32):
        _type = f"{_letter}{_bits}"
        _signature = f"{_type} = {_type} {_type}"
        _plus, _minus = saturating(f"{_sign}add.sat"), saturating(f"{_sign}sub.sat")
        valu(f"v_add_{_type} v_add_nc_{_type}", _signature, integer_clamp=_plus)(_add)
        valu(f"v_sub_{_type} v_sub_nc_{_type}", _signature, integer_clamp=_minus)(_sub)
        if _letter == "u":
            names = f"v_subrev_{_type} v_subrev_nc_{_type}"
            valu(names, _signature, integer_clamp=_reversed(_minus))(_reversed(_sub))
        if _bits == 16:
            valu(f"v_pk_add_{_type}", _signature, packed=True, integer_clamp=_plus)(_add)
            valu(f"v_pk_sub_{_type}", _signature, packed=True, integer_clamp=_minus)(_sub)


@valu("v_bitop3_b32", "b32 = b32 b32 b32")
@valu("v_bitop3_b16", "b16 = b16 b16 b16")
def truth_table(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Bit 4a + 2b + d of the 8-bit table in the immediate."""
    result = c.constant(a.element, 0)
    for i in range(8):
        if c.immediate >> i & 1:
            terms = (v if i & bit else ~v for v, bit in ((a, 4), (b, 2), (d, 1)))
            x, y, z = terms
            result = result | (x & y & z)
    return result


@valu("v_add_co_u32", "u32 m = u32 u32")
def add_carry_out(c: Context, a: Value, b: Value) -> Result:
    """Clamp holds the sum at its largest; the carry stays."""
    carry = (a + b).compare("ult", a)
    return _held(c, carry, -1, a + b), carry


@valu("v_sub_co_u32", "u32 m = u32 u32")
def subtract_borrow_out(c: Context, a: Value, b: Value) -> Result:
    """Clamp holds the difference at 0; the borrow stays."""
    borrow = a.compare("ult", b)
    return _held(c, borrow, 0, a - b), borrow


@valu("v_subrev_co_u32", "u32 m = u32 u32")
def subtract_reversed(c: Context, a: Value, b: Value) -> Result:
    return subtract_borrow_out(c, b, a)


@valu("v_addc_co_u32 v_add_co_ci_u32", "u32 m = u32 u32 m")
def add_with_carry(c: Context, a: Value, b: Value, carry: Value) -> Result:
    first = a + b
    total = first + carry.zext("i32")
    carry_out = first.compare("ult", a) | total.compare("ult", first)
    return _held(c, carry_out, -1, total), carry_out


@valu("v_subb_co_u32 v_sub_co_ci_u32", "u32 m = u32 u32 m")
def subtract_with_borrow(c: Context, a: Value, b: Value, borrow: Value) -> Result:
    borrow_out = a.compare("ult", b) | (a.eq(b) & borrow)
    return _held(c, borrow_out, 0, a - b - borrow.zext("i32")), borrow_out


@valu("v_subbrev_co_u32 v_subrev_co_ci_u32", "u32 m = u32 u32 m")
def subtract_reversed_with_borrow(c: Context, a: Value, b: Value, borrow: Value) -> Result:
    return subtract_with_borrow(c, b, a, borrow)


@valu("v_cndmask_b32", "b32 = b32 b32 m")
@valu("v_cndmask_b16", "b16 = b16 b16 m")
def conditional(c: Context, if_false: Value, if_true: Value, mask: Value) -> Result:
    return mask.select(if_true, if_false)


@valu("v_and_b32", "b32 = b32 b32")
@valu("v_and_b16", "b16 = b16 b16")
def bit_and(c: Context, a: Value, b: Value) -> Result:
    return a & b


@valu("v_or_b32", "b32 = b32 b32")
@valu("v_or_b16", "b16 = b16 b16")
def bit_or(c: Context, a: Value, b: Value) -> Result:
    return a | b


@valu("v_xor_b32", "b32 = b32 b32")
@valu("v_xor_b16", "b16 = b16 b16")
def bit_xor(c: Context, a: Value, b: Value) -> Result:
    return a ^ b


@valu("v_xnor_b32", "b32 = b32 b32")
def bit_xnor(c: Context, a: Value, b: Value) -> Result:
    return ~(a ^ b)


@valu("v_not_b32", "b32 = b32")
@valu("v_not_b16", "b16 = b16")
def bit_not(c: Context, a: Value) -> Result:
    return ~a


@valu("v_and_or_b32", "b32 = b32 b32 b32")
def and_or(c: Context, a: Value, b: Value, d: Value) -> Result:
    return (a & b) | d


@valu("v_or3_b32", "b32 = b32 b32 b32")
def or3(c: Context, a: Value, b: Value, d: Value) -> Result:
    return a | b | d


@valu("v_xor3_b32", "b32 = b32 b32 b32")
def xor3(c: Context, a: Value, b: Value, d: Value) -> Result:
    return a ^ b ^ d


@valu("v_xad_u32", "u32 = u32 u32 u32")
def xor_add(c: Context, a: Value, b: Value, d: Value) -> Result:
    return (a ^ b) + d


@valu("v_bfi_b32", "b32 = b32 b32 b32")
def insert(c: Context, mask: Value, a: Value, b: Value) -> Result:
    return (mask & a) | (~mask & b)


@valu("v_bfe_u32", "u32 = u32 u32 u32")
def extract(c: Context, a: Value, offset: Value, size: Value) -> Result:
    """Size 0 gives 0; both counts are taken modulo 32."""
    return a.lshr(offset) & (a.like(1).shl(size) - 1)


@valu("v_bfe_i32", "i32 = i32 u32 u32")
def extract_signed(c: Context, a: Value, offset: Value, size: Value) -> Result:
    size = size & 31
    room = a.like(32) - size
    return size.eq(0).select(a.like(0), a.lshr(offset).shl(room).ashr(room))


@valu("v_bfm_b32", "b32 = u32 u32")
def field_mask(c: Context, size: Value, offset: Value) -> Result:
    return (size.like(1).shl(size) - 1).shl(offset)


def _shifts(bits: int) -> None:
    b, u = f"b{bits}", "u32" if bits == 64 else f"u{bits}"
    names = {"lshlrev": "shl", "lshrrev": "lshr"}

    def reverse(method: str) -> Callable[[Context, Value, Value], Result]:
        return lambda c, count, a: getattr(a, method)(count)

    for name, method in names.items():
        valu(f"v_{name}_b{bits}", f"{b} = {u} {b}")(reverse(method))
        if bits == 16:
            valu(f"v_pk_{name}_b16", f"{b} = {u} {b}", packed=True)(reverse(method))
    valu(f"v_ashrrev_i{bits}", f"i{bits} = {u} i{bits}")(reverse("ashr"))
    if bits == 16:
        valu("v_pk_ashrrev_i16", "i16 = u16 i16", packed=True)(reverse("ashr"))


for _bits in (16, 32, 64):
    _shifts(_bits)


@valu("v_lshl_add_u32", "u32 = u32 u32 u32")
def shift_left_add(c: Context, a: Value, count: Value, b: Value) -> Result:
    return a.shl(count) + b


@valu("v_lshl_add_u64", "u64 = u64 u32 u64")
def shift_left_add64(c: Context, a: Value, count: Value, b: Value) -> Result:
    """The count is taken modulo 8."""
    return a.shl(count & 7) + b


@valu("v_add_lshl_u32", "u32 = u32 u32 u32")
def add_shift_left(c: Context, a: Value, b: Value, count: Value) -> Result:
    return (a + b).shl(count)


@valu("v_add3_u32", "u32 = u32 u32 u32")
def add3(c: Context, a: Value, b: Value, d: Value) -> Result:
    return a + b + d


@valu("v_lshl_or_b32", "b32 = b32 u32 b32")
def shift_left_or(c: Context, a: Value, count: Value, b: Value) -> Result:
    return a.shl(count) | b


@valu("v_alignbit_b32", "b32 = b32 b32 u32")
def align_bits(c: Context, high: Value, low: Value, count: Value) -> Result:
    return c.intrinsic("fshr", high, low, count)


@valu("v_alignbyte_b32", "b32 = b32 b32 u32")
def align_bytes(c: Context, high: Value, low: Value, count: Value) -> Result:
    return c.intrinsic("fshr", high, low, (count & 3).shl(3))


@valu("v_perm_b32", "b32 = b32 b32 b32")
def permute_bytes(c: Context, high: Value, low: Value, selector: Value) -> Result:
    """Each selector byte: 0..7 a byte of the 64 bits, 8..11 the sign of bytes 1, 3, 5, 7, 12 zero, above 12 ones."""
    both = c.writer.combine(low, high)
    result = c.constant("i32", 0)
    for i in range(4):
        which = selector.lshr(8 * i) & 0xFF
        byte = both.lshr((which & 7).zext("i64").shl(3)).trunc("i32") & 0xFF
        sign_place = (which.shl(4) + 15) & 63
        sign = both.lshr(sign_place.zext("i64")).trunc("i32") & 1
        chosen = which.compare("ugt", 11).select(which.ne(12).select(c.constant("i32", 0xFF), 0), sign * 0xFF)
        result = result | which.compare("ult", 8).select(byte, chosen).shl(8 * i)
    return result


@valu("v_mul_lo_u32", "u32 = u32 u32")
@valu("v_mul_lo_u16", "u16 = u16 u16")
@valu("v_pk_mul_lo_u16", "u16 = u16 u16", packed=True)
def multiply(c: Context, a: Value, b: Value) -> Result:
    return a * b


@valu("v_mul_hi_u32", "u32 = u32 u32")
def multiply_high(c: Context, a: Value, b: Value) -> Result:
    return (a.zext("i64") * b.zext("i64")).lshr(32).trunc("i32")


@valu("v_mul_hi_i32", "i32 = i32 i32")
def multiply_high_signed(c: Context, a: Value, b: Value) -> Result:
    return (a.sext("i64") * b.sext("i64")).lshr(32).trunc("i32")


def unsigned24(a: Value) -> Value:
    return a & 0xFFFFFF


def signed24(a: Value) -> Value:
    return a.shl(8).ashr(8)


@valu("v_mul_u32_u24", "u32 = u32 u32")
def multiply24(c: Context, a: Value, b: Value) -> Result:
    return unsigned24(a) * unsigned24(b)


@valu("v_mul_i32_i24", "i32 = i32 i32")
def multiply24_signed(c: Context, a: Value, b: Value) -> Result:
    return signed24(a) * signed24(b)


@valu("v_mul_hi_u32_u24", "u32 = u32 u32")
def multiply24_high(c: Context, a: Value, b: Value) -> Result:
    return multiply_high(c, unsigned24(a), unsigned24(b))


@valu("v_mul_hi_i32_i24", "i32 = i32 i32")
def multiply24_high_signed(c: Context, a: Value, b: Value) -> Result:
    return multiply_high_signed(c, signed24(a), signed24(b))


def _saturated_multiply_add(c: Context, a: Value, b: Value, d: Value, signed: bool, bits: int) -> Value:
    """a × b + d of 64-bit values, clamped to the range of `bits` bits."""
    total = a * b + d
    if signed:
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        return c.smin(c.smax(total, total.like(low)), total.like(high)).trunc(f"i{bits}")
    return c.umin(total, total.like((1 << bits) - 1)).trunc(f"i{bits}")


def _wide(c: Context, a: Value, signed: bool) -> Value:
    return a.sext("i64") if signed else a.zext("i64")


def _multiply_adds(name: str, signature: str, signed: bool, bits: int, narrow: Callable[[Value], Value]) -> None:
    packed = name.startswith("v_pk")

    def exact(c: Context, a: Value, b: Value, d: Value) -> Result:
        a, b = narrow(a), narrow(b)
        element = f"i{bits}"
        if a.element != element:
            a, b = (v.sext(element) if signed else v.zext(element) for v in (a, b))
        return a * b + d

    def clamped(c: Context, a: Value, b: Value, d: Value) -> Result:
        x, y, z = (_wide(c, v, signed) for v in (narrow(a), narrow(b), d))
        return _saturated_multiply_add(c, x, y, z, signed, bits)

    valu(name, signature, packed=packed, integer_clamp=clamped)(exact)


def _same(a: Value) -> Value:
    return a


_multiply_adds("v_mad_u32_u24", "u32 = u32 u32 u32", False, 32, unsigned24)
_multiply_adds("v_mad_i32_i24", "i32 = i32 i32 i32", True, 32, signed24)
_multiply_adds("v_mad_u16 v_mad_legacy_u16", "u16 = u16 u16 u16", False, 16, _same)
_multiply_adds("v_mad_i16 v_mad_legacy_i16", "i16 = i16 i16 i16", True, 16, _same)
_multiply_adds("v_pk_mad_u16", "u16 = u16 u16 u16", False, 16, _same)
_multiply_adds("v_pk_mad_i16", "i16 = i16 i16 i16", True, 16, _same)
_multiply_adds("v_mad_u32_u16", "u32 = u16 u16 u32", False, 32, _same)
_multiply_adds("v_mad_i32_i16", "i32 = i16 i16 i32", True, 32, _same)


@valu("v_mad_u64_u32 v_mad_co_u64_u32", "u64 m = u32 u32 u64")
def multiply_add_wide(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Clamp holds the sum at its largest; the carry stays."""
    total = a.zext("i64") * b.zext("i64") + d
    carry = total.compare("ult", d)
    return _held(c, carry, -1, total), carry


@valu("v_mad_i64_i32 v_mad_co_i64_i32", "i64 m = i32 i32 i64")
def multiply_add_wide_signed(c: Context, a: Value, b: Value, d: Value) -> Result:
    """The mask is signed overflow; clamp holds the sum at its limits."""
    product = a.sext("i64") * b.sext("i64")
    total = product + d
    overflow = ((total ^ product) & (total ^ d)).compare("slt", 0)
    return _held(c, overflow, d.ashr(63) ^ ((1 << 63) - 1), total), overflow


EXTREMES: Final = {"min_i": "smin", "max_i": "smax", "min_u": "umin", "max_u": "umax"}


def _extremes(name: str, intrinsic: str) -> None:
    kind, letter = name.split("_")
    low, high = (f"{intrinsic[0]}min", f"{intrinsic[0]}max")

    def two(c: Context, a: Value, b: Value) -> Result:
        return c.intrinsic(intrinsic, a, b)

    def three(c: Context, a: Value, b: Value, d: Value) -> Result:
        return c.intrinsic(intrinsic, c.intrinsic(intrinsic, a, b), d)

    def median(c: Context, a: Value, b: Value, d: Value) -> Result:
        return c.intrinsic(high, c.intrinsic(low, a, b), c.intrinsic(low, c.intrinsic(high, a, b), d))

    def then_other(c: Context, a: Value, b: Value, d: Value) -> Result:
        other = high if kind == "min" else low
        return c.intrinsic(other, c.intrinsic(intrinsic, a, b), d)

    for bits in (16, 32):
        t = f"{letter}{bits}"
        valu(f"v_{kind}_{t}", f"{t} = {t} {t}")(two)
        valu(f"v_{kind}3_{t}", f"{t} = {t} {t} {t}")(three)
        if kind == "min":
            valu(f"v_med3_{t}", f"{t} = {t} {t} {t}")(median)
    valu(f"v_pk_{kind}_{letter}16", f"{letter}16 = {letter}16 {letter}16", packed=True)(two)
    name32 = "minmax" if kind == "min" else "maxmin"
    valu(f"v_{name32}_{letter}32", f"{letter}32 = {letter}32 {letter}32 {letter}32")(then_other)


for _name, _intrinsic in EXTREMES.items():
    _extremes(_name, _intrinsic)


@valu("v_bfrev_b32", "b32 = b32")
def reverse(c: Context, a: Value) -> Result:
    return c.intrinsic("bitreverse", a)


@valu("v_bcnt_u32_b32", "u32 = b32 u32")
def count_bits(c: Context, a: Value, start: Value) -> Result:
    return c.intrinsic("ctpop", a) + start


@valu("v_ffbl_b32 v_ctz_i32_b32", "u32 = b32")
def first_set(c: Context, a: Value) -> Result:
    return a.eq(0).select(-1, c.intrinsic("cttz", a, extra="i1 false"))


@valu("v_ffbh_u32 v_clz_i32_u32", "u32 = b32")
def leading_zeros(c: Context, a: Value) -> Result:
    return a.eq(0).select(-1, c.intrinsic("ctlz", a, extra="i1 false"))


@valu("v_ffbh_i32 v_cls_i32", "i32 = i32")
def leading_signs(c: Context, a: Value) -> Result:
    return leading_zeros(c, a ^ a.ashr(31))


@valu("v_mbcnt_lo_u32_b32", "u32 = b32 u32")
def lanes_below_low(c: Context, mask: Value, start: Value) -> Result:
    """Counts the mask's bits of the lanes below this one, among lanes 0..31."""
    shift = c.umin(c.lane_index, c.constant("i32", 32)).zext("i64")
    below = (c.constant("i64", 1).shl(shift) - 1).trunc("i32")
    return c.intrinsic("ctpop", mask.splat(c.lanes) & below) + start


@valu("v_mbcnt_hi_u32_b32", "u32 = b32 u32")
def lanes_below_high(c: Context, mask: Value, start: Value) -> Result:
    """Counts the mask's bits of the lanes below this one, among lanes 32..63."""
    above = c.smax(c.lane_index - 32, c.constant("i32", 0)).zext("i64")
    below = (c.constant("i64", 1).shl(above) - 1).trunc("i32")
    return c.intrinsic("ctpop", mask.splat(c.lanes) & below) + start


def _bytes(c: Context, a: Value) -> list[Value]:
    return [a.lshr(8 * i) & 0xFF for i in range(4)]


def _distance(c: Context, a: Value, b: Value) -> Value:
    return c.umax(a, b) - c.umin(a, b)


def _byte_differences(c: Context, a: Value, b: Value) -> Value:
    x, y, z, w = (_distance(c, *pair) for pair in zip(_bytes(c, a), _bytes(c, b), strict=True))
    return x + y + z + w


@valu("v_sad_u8", "u32 = b32 b32 u32")
def sum_of_differences(c: Context, a: Value, b: Value, start: Value) -> Result:
    return _sum(c, _byte_differences(c, a, b), start)


@valu("v_sad_hi_u8", "u32 = b32 b32 u32")
def sum_of_differences_high(c: Context, a: Value, b: Value, start: Value) -> Result:
    return _sum(c, _byte_differences(c, a, b).shl(16), start)


@valu("v_msad_u8", "u32 = b32 b32 u32")
def masked_sum_of_differences(c: Context, a: Value, b: Value, start: Value) -> Result:
    """Bytes of the second source that are 0 do not count."""
    total = c.constant("i32", 0)
    for x, y in zip(_bytes(c, a), _bytes(c, b), strict=True):
        total = total + y.eq(0).select(total.like(0), _distance(c, x, y))
    return _sum(c, total, start)


@valu("v_sad_u16", "u32 = b32 b32 u32")
def sum_of_differences16(c: Context, a: Value, b: Value, start: Value) -> Result:
    low = _distance(c, a & 0xFFFF, b & 0xFFFF)
    return _sum(c, low + _distance(c, a.lshr(16), b.lshr(16)), start)


@valu("v_sad_u32", "u32 = u32 u32 u32")
def sum_of_differences32(c: Context, a: Value, b: Value, start: Value) -> Result:
    return _sum(c, _distance(c, a, b), start)


@valu("v_lerp_u8", "b32 = b32 b32 b32")
def average(c: Context, a: Value, b: Value, rounding: Value) -> Result:
    result = c.constant("i32", 0)
    for i, (x, y, r) in enumerate(zip(_bytes(c, a), _bytes(c, b), _bytes(c, rounding), strict=True)):
        result = result | (x + y + (r & 1)).lshr(1).shl(8 * i)
    return result


def _compare(kind: str, predicate: str, bits: int, letter: str) -> None:
    t = f"{letter}{bits}"

    def compare(c: Context, a: Value, b: Value) -> Result:
        return a.compare(predicate, b)

    valu(f"v_cmp_{kind}_{t}", f"m = {t} {t}")(compare)
    valu(f"v_cmpx_{kind}_{t}", f"mx = {t} {t}")(compare)


def _constant_compare(kind: str, t: str, holds: bool) -> None:
    def compare(c: Context, a: Value, b: Value) -> Result:
        return c.constant("i1", int(holds))

    valu(f"v_cmp_{kind}_{t}", f"m = {t} {t}")(compare)
    valu(f"v_cmpx_{kind}_{t}", f"mx = {t} {t}")(compare)


for _bits in (16, 32, 64):
    for _letter, _sign in (("i", "s"), ("u", "u")):
        for _kind, _stem in (("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge")):
            _compare(_kind, _sign + _stem, _bits, _letter)
        _compare("eq", "eq", _bits, _letter)
        _compare("ne", "ne", _bits, _letter)
        _constant_compare("f", f"{_letter}{_bits}", False)
        _constant_compare("t", f"{_letter}{_bits}", True)


@valu("v_swap_b32 v_swaprel_b32", "b32 b32 = ^b32 b32")
@valu("v_swap_b16", "b16 b16 = ^b16 b16")
def swap(c: Context, a: Value, b: Value) -> Result:
    return b, a
