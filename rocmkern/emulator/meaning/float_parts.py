"""Vector ALU: rounding to integers, mantissa and exponent, the steps of a division, the bits of 2/π."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from typing import Final

from attrs import frozen

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, rounded, support, valu
from rocmkern.emulator.meaning.transcendental import keep_nan
from rocmkern.emulator.meaning.vector_float import INFINITY, SMALLEST_NORMAL, magnitude, quiet, two_sum

_MANTISSA_BITS: Final[dict[str, int]] = {"half": 10, "float": 23, "double": 52}
_BELOW_ONE: Final[dict[str, int]] = {"half": 0x3BFF, "float": 0x3F7FFFFF, "double": 0x3FEFFFFFFFFFFFFF}


def _rounded(c: Context, name: str, a: Value) -> Value:
    if a.element == "half":
        return keep_nan(a, c.intrinsic(name, a.cast("fpext", "float")).cast("fptrunc", "half"))
    return keep_nan(a, c.intrinsic(name, a))


for _type in ("f16", "f32", "f64"):
    for _mnemonic, _name in (("trunc", "trunc"), ("ceil", "ceil"), ("rndne", "roundeven"), ("floor", "floor")):

        @valu(f"v_{_mnemonic}_{_type}", f"{_type} = {_type}")
        def _round(c: Context, a: Value, name: str = _name) -> Result:
            """Rounded to an integral value; a zero keeps its sign."""
            return _rounded(c, name, a)


@valu("v_fract_f16", "f16 = f16")
@valu("v_fract_f32", "f32 = f32")
@valu("v_fract_f64", "f64 = f64")
@rounded
def fraction(c: Context, a: Value) -> Result:
    """a − ⌊a⌋, below 1."""
    result = a - _rounded(c, "floor", a)
    most = c.constant(result.as_int().element, _BELOW_ONE[a.element]).bits(a.element)
    return result.compare("ogt", most).select(most, result)


def _split(c: Context, a: Value) -> tuple[Value, Value, Value]:
    """Mantissa in [½, 1) with the sign, exponent as an integer of the same width, and where a is finite and not 0."""
    mantissa_bits, size = _MANTISSA_BITS[a.element], magnitude(a)
    small = size.compare("ult", SMALLEST_NORMAL[a.element])
    # leading zeros above the mantissa tell how far a subnormal has to move
    shift = c.intrinsic("ctlz", size, extra="i1 false") - (a.width - 1 - mantissa_bits)
    normal = small.select(size.shl(shift), size)
    exponent = small.select(size.like(1) - shift, size.lshr(mantissa_bits))
    bias = INFINITY[a.element] >> (mantissa_bits + 1)
    fraction_bits = normal & ((1 << mantissa_bits) - 1)
    sign = a.as_int() & (1 << (a.width - 1))
    mantissa = (sign | fraction_bits | ((bias - 1) << mantissa_bits)).bits(a.element)
    return mantissa, exponent - (bias - 1), size.compare("ult", INFINITY[a.element]) & size.ne(0)


@valu("v_frexp_mant_f16", "f16 = f16")
@valu("v_frexp_mant_f32", "f32 = f32")
@valu("v_frexp_mant_f64", "f64 = f64")
def mantissa_of(c: Context, a: Value) -> Result:
    """In [½, 1) with the sign of a; zero, infinity and NaN are kept."""
    mantissa, _, ordinary = _split(c, a)
    return ordinary.select(mantissa, keep_nan(a, a))


@valu("v_frexp_exp_i16_f16", "i16 = f16")
@valu("v_frexp_exp_i32_f32", "i32 = f32")
def exponent_of(c: Context, a: Value) -> Result:
    """Of the mantissa in [½, 1); 0 for zero, infinity and NaN."""
    _, exponent, ordinary = _split(c, a)
    return ordinary.select(exponent, 0)


@valu("v_frexp_exp_i32_f64", "i32 = f64")
def exponent_of_double(c: Context, a: Value) -> Result:
    """Of the mantissa in [½, 1); 0 for zero, infinity and NaN."""
    _, exponent, ordinary = _split(c, a)
    return ordinary.select(exponent, 0).trunc("i32")


@frozen
class _Division:
    """The constants of a division's steps: exponents are biased, `step` is what scaling moves them by."""

    step: int
    far: int  # exponent of the quotient from which its estimate may overflow
    tiny: int  # exponent of a numerator whose rounding errors may be subnormal
    lowest: int  # −exponent of a quotient that is half the smallest number or more


_DIVISIONS: Final = {"float": _Division(64, 96, 23, 150), "double": _Division(128, 768, 53, 1075)}


def _outside(a: Value) -> Value:
    """Negative where a number is too close to either end for a division to be sure to need no scaling."""
    size, power = magnitude(a), _DIVISIONS[a.element].far // 2 - 1
    lowest, highest = (a.like(2.0**p).as_int() for p in (-power, power))
    return (size - lowest) | (highest - size)


def _is_unusual(c: Context, denominator: Value, numerator: Value, quotient: Value | None = None) -> Value:
    """Whether a division of some active lane needs more than the plain steps. 0 as the numerator does not, whatever
    becomes of the quotient, which else must be a number."""
    outside = _outside(numerator)
    if quotient is not None:
        outside = outside | (magnitude(quotient).like(INFINITY[quotient.element]) - magnitude(quotient))
    negative = -magnitude(numerator)
    return c.anywhere((_outside(denominator) | (outside & negative)).compare("slt", 0))


def _exponent(a: Value) -> Value:
    return magnitude(a).lshr(_MANTISSA_BITS[a.element])


def _quotient_is_subnormal(denominator: Value, numerator: Value, step: int) -> Value:
    """|numerator| < |denominator| · the smallest normal number, of which neither is 0 and the denominator is normal."""
    mantissa_bits = _MANTISSA_BITS[numerator.element]
    bias = INFINITY[numerator.element] >> (mantissa_bits + 1)
    raised = magnitude(numerator * 2.0**step) + ((bias - 1 - step) << mantissa_bits)
    return raised.compare("ult", magnitude(denominator))


@valu("v_div_scale_f32", "f32 m = f32 f32 f32")
@valu("v_div_scale_f64", "f64 m = f64 f64 f64")
def division_scale(c: Context, a: Value, denominator: Value, numerator: Value) -> Result:
    """a, which is the denominator or the numerator, times a power of two where a step between would leave the range of
    normal numbers; VCC where the quotient is so scaled. A NaN where one of them is 0."""
    w, is_zero = c.writer, numerator.eq(0.0)
    result, scaled = w.variable(is_zero.select(math.nan, a)), w.variable(w.constant(f"i{c.lanes}", 0))
    with w.when(_is_unusual(c, denominator, numerator)):
        value, is_scaled = _scaled(c, a, denominator, numerator)
        result.set(value)
        scaled.set(is_scaled.lane_mask())
    return result.get(), scaled.get().bits("i1")


def _scaled(c: Context, a: Value, denominator: Value, numerator: Value) -> tuple[Value, Value]:
    division = _DIVISIONS[a.element]
    up, down = (a * 2.0**power for power in (division.step, -division.step))
    below, above = _exponent(denominator), _exponent(numerator)
    far = (above - below).compare("sge", division.far)
    small = ~far & below.eq(0)
    finite = magnitude(denominator).compare("ult", INFINITY[a.element])
    inverse = finite & magnitude(denominator).compare("ugt", INFINITY[a.element] - 2 * SMALLEST_NORMAL[a.element])
    little = finite & _quotient_is_subnormal(denominator, numerator, division.step)
    between = ~far & ~small
    scales_denominator = a.eq(denominator)
    raised = small | (far & scales_denominator)
    raised = raised | (between & ~inverse & little.select(a.eq(numerator), above.compare("ule", division.tiny)))
    # the manuals raise a denominator whose inverse and quotient are both subnormal, which would make it infinite
    lowered = between & inverse & (~little | scales_denominator)
    zero = denominator.eq(0.0) | numerator.eq(0.0)
    result = zero.select(math.nan, raised.select(up, lowered.select(down, a)))
    return result, ~zero & (far | (between & little))


@support("lowered_sum_f32", "f32 = f32 f32 f32")
def lowered_sum(c: Context, a: Value, b: Value, d: Value) -> Value:
    """a · b + d times 2⁻⁶⁴ (f64: 2⁻¹²⁸), rounded once.

    The sum rounded, then lowered, may lie half way between two subnormal numbers where the exact one does not; what
    the first rounding lost (exact by Knuth's and Dekker's sums) then says which way to go."""
    step = _DIVISIONS[d.element].step
    total = c.fma(a, b, d)
    product = a * b
    high, low = two_sum(product, d)
    lost = (high - total) + (low + c.fma(a, b, -product))
    result = total * 2.0**-step
    left = total - result * 2.0**step
    tie = (left.like(2.0**step) * _smallest_subnormal(c, d)).compare("oeq", c.intrinsic("fabs", left) * 2.0)
    outward = tie & (left.as_int() ^ lost.as_int()).compare("sge", 0) & lost.compare("one", 0.0)
    moved = (left.as_int() ^ total.as_int()).compare("sge", 0).select(result.as_int() + 1, result.as_int() - 1)
    return outward.select(moved.bits(d.element), result)


@support("lowered_sum_f64", "f64 = f64 f64 f64")
def lowered_sum_of_doubles(c: Context, a: Value, b: Value, d: Value) -> Value:
    return lowered_sum(c, a, b, d)


def _smallest_subnormal(c: Context, like: Value) -> Value:
    return c.constant(like.as_int().element, 1).bits(like.element)


@valu("v_div_fmas_f32", "f32 = f32 f32 f32 vcc")
@valu("v_div_fmas_f64", "f64 = f64 f64 f64 vcc")
@rounded
def division_step(c: Context, a: Value, b: Value, d: Value, scaled: Value) -> Result:
    """a · b + d, in lanes of VCC times 2⁶⁴ (f64: 2¹²⁸) where d is 2 or more, else divided by it; one rounding.
    A sum that overflows stays infinite."""
    w, step = c.writer, _DIVISIONS[d.element].step
    result = w.variable(c.fma(a, b, d))
    with w.when(scaled.lane_mask().ne(0)):
        plain = result.get()
        low = c.support(f"lowered_sum_f{d.width}", d.element, a, b, d)
        if w.rounding is not None:  # twice in one direction is once
            low = w.rounding.is_nearest.select(low, plain * 2.0**-step)
        large = _exponent(d).compare("ugt", INFINITY[d.element] >> (_MANTISSA_BITS[d.element] + 1))
        result.set(scaled.select(large.select(plain * 2.0**step, low), plain))
    return result.get()


@valu("v_div_fixup_f16 v_div_fixup_legacy_f16", "f16 = f16 f16 f16")
@valu("v_div_fixup_f32", "f32 = f32 f32 f32")
@valu("v_div_fixup_f64", "f64 = f64 f64 f64")
def division(c: Context, quotient: Value, denominator: Value, numerator: Value) -> Result:
    """The quotient with the sign that it has to have; what it has to be where an operand is 0, infinite or NaN, and
    0 where the exponents say that it is below every number."""
    w, sign_bit = c.writer, 1 << (quotient.width - 1)
    sign = (denominator.as_int() ^ numerator.as_int()) & sign_bit
    if quotient.element not in _DIVISIONS:
        return _fixed(quotient, denominator, numerator, sign)
    size = numerator.eq(0.0).select(0, magnitude(quotient))
    result = w.variable((sign | size).bits(quotient.element))
    with w.when(_is_unusual(c, denominator, numerator, quotient)):
        result.set(_fixed(quotient, denominator, numerator, sign))
    return result.get()


def _fixed(quotient: Value, denominator: Value, numerator: Value, sign: Value) -> Value:
    infinity, over, under = INFINITY[quotient.element], magnitude(numerator), magnitude(denominator)
    # infinite estimates become NaN in the steps of the refinement
    size = quotient.is_nan().select(infinity, magnitude(quotient))
    if quotient.element in _DIVISIONS:
        lowest = -_DIVISIONS[quotient.element].lowest
        size = (_exponent(numerator) - _exponent(denominator)).compare("slt", lowest).select(0, size)
    size = (under.eq(0) | over.eq(infinity)).select(infinity, size)
    size = (under.eq(infinity) | over.eq(0)).select(0, size)
    undefined = (over.eq(0) & under.eq(0)) | (over.eq(infinity) & under.eq(infinity))
    result = undefined.select(math.nan, (sign | size).bits(quotient.element))
    return numerator.is_nan().select(quiet(numerator), denominator.is_nan().select(quiet(denominator), result))


_TWO_OVER_PI_BITS: Final = 1201


@cache
def two_over_pi_words() -> tuple[int, ...]:
    """The first 1201 bits of 2/π after the point, in words of 64, the highest first, zeros behind."""
    with localcontext() as context:
        context.prec = 400
        # Machin: π = 16 atan(1/5) − 4 atan(1/239)
        pi = 16 * _arc_tangent(5) - 4 * _arc_tangent(239)
        scaled = int(Decimal(2) ** (_TWO_OVER_PI_BITS + 1) / pi)
    text = bin(scaled)[2:].zfill(_TWO_OVER_PI_BITS).ljust(64 * 44, "0")
    return tuple(int(text[i : i + 64], 2) for i in range(0, len(text), 64))


def _arc_tangent(inverse: int) -> Decimal:
    term, total, n = Decimal(1) / inverse, Decimal(0), 1
    while abs(term) > Decimal(10) ** -395:
        total += term / n
        term, n = -term / (inverse * inverse), n + 2
    return total


@support("two_over_pi", "u64 = u32")
def bits_of_two_over_pi(c: Context, shift: Value) -> Value:
    """The 53 bits of 2/π that begin `shift` bits after the point, shift < 2688."""
    w = c.writer
    words = two_over_pi_words()
    w.globals["two_over_pi_words"] = (
        f"@two_over_pi_words = internal constant [{len(words)} x i64] [{', '.join(f'i64 {word}' for word in words)}]"
    )
    table = Value(w, "ptr", 0, "@two_over_pi_words")
    result = c.constant("i64", 0)
    for i in range(max(shift.lanes, 1)):
        start = shift.lane(i) if shift.lanes else shift
        place = w.at(table, start.lshr(6).zext("i64").shl(3))
        high, low = w.load(place, "i64"), w.load(w.at(place, 8), "i64")
        bits = c.intrinsic("fshl", high, low, (start & 63).zext("i64")).lshr(11)
        if not shift.lanes:
            return bits
        result = w.emit(f"insertelement {result.type} {result.text}, i64 {bits.text}, i32 {i}", "i64", shift.lanes)
    return result


@valu("v_trig_preop_f64", "f64 = f64 u32")
def two_over_pi_segment(c: Context, a: Value, segment: Value) -> Result:
    """53 bits of 2/π at their place, for the reduction of large angles (Payne, Hanek 1983)."""
    exponent = (a.as_int().lshr(52) & 0x7FF).trunc("i32")
    beyond = exponent.compare("ugt", 1077).select(exponent - 1077, 0)
    shift = (segment & 31) * 53 + beyond
    mantissa = c.support("two_over_pi", "i64", shift).cast("uitofp", "double")
    scale = exponent.compare("uge", 1968).select(shift.like(128 - 53), shift.like(-53)) - shift
    return c.support("ldexp_f64", "double", mantissa, scale)
