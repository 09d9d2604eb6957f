"""Vector ALU: rounding to integers, mantissa and exponent, the steps of a division, the bits of 2/π."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, support, valu
from rocmkern.emulator.meaning.transcendental import keep_nan
from rocmkern.emulator.meaning.vector_float import INFINITY, SMALLEST_NORMAL, magnitude

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


# A division is scale, reciprocal, refinement and fix-up. The fix-up divides correctly rounded, which is what the
# whole sequence yields on hardware; so the earlier steps need no scaling.
@valu("v_div_scale_f32", "f32 m = f32 f32 f32")
@valu("v_div_scale_f64", "f64 m = f64 f64 f64")
def division_scale(c: Context, a: Value, denominator: Value, numerator: Value) -> Result:
    """The operand as it is; VCC, which asks for the scale to be undone, is 0."""
    return a, c.constant("i1", 0)


@valu("v_div_fmas_f32", "f32 = f32 f32 f32")
@valu("v_div_fmas_f64", "f64 = f64 f64 f64")
def division_step(c: Context, a: Value, b: Value, d: Value) -> Result:
    return c.fma(a, b, d)


@valu("v_div_fixup_f32", "f32 = f32 f32 f32")
@valu("v_div_fixup_f64", "f64 = f64 f64 f64")
def division(c: Context, quotient: Value, denominator: Value, numerator: Value) -> Result:
    """numerator / denominator, correctly rounded."""
    return numerator / denominator


@valu("v_div_fixup_f16 v_div_fixup_legacy_f16", "f16 = f16 f16 f16")
def division_half(c: Context, quotient: Value, denominator: Value, numerator: Value) -> Result:
    """numerator / denominator, correctly rounded."""
    return (numerator.cast("fpext", "float") / denominator.cast("fpext", "float")).cast("fptrunc", "half")


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
