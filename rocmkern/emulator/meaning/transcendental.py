"""Vector ALU: exponentials, logarithms, roots, reciprocals, sine, scaling, division steps.

Results are within 1 ULP of the exact value, as the ISA manuals state for the hardware; the last bits may differ from
it. The f32 forms of exp, log, rcp, rsq, sqrt, sin and cos take subnormal operands as zero and give zero for
subnormal results, as the hardware does: code that relies on anything else shows here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, rounded, support, valu
from rocmkern.emulator.meaning.vector_float import INFINITY, SMALLEST_NORMAL, magnitude, quiet

# Chebyshev fits: 2^x on ±1/2 (relative error 2e-9), log2(1+t)/t on √½ … √2 (2e-10), sin 2πg / g in g² on ±1/4 (1e-10).
_EXP2: Final = (1.0, 0.6931472067028326, 0.24022650922288757, 0.05550327226670302, 0.009618056678524637,
                0.0013400428177615838, 0.0001546144469856913)  # fmt: skip
_LOG2: Final = (1.4426950409582302, -0.7213475248945522, 0.4808983110824002, -0.360672845348936, 0.28854145553597715,
                -0.24050279825001172, 0.20607165109914127, -0.17905123203322462, 0.15931300522348446,
                -0.15722652971153048, 0.1534528693745451, -0.08433521045800585)  # fmt: skip
_SIN: Final = (6.283185307072264, -41.341702116744, 81.60522617402967, -76.70427987604262, 42.009779303153906,
               -14.393966295455941)  # fmt: skip


def _polynomial(c: Context, x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's rule; the coefficients are rounded to the type of `x`."""
    if x.element == "float":
        coefficients = struct.unpack(f"{len(coefficients)}f", struct.pack(f"{len(coefficients)}f", *coefficients))
    result = c.constant(x.element, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = c.fma(result, x, c.constant(x.element, coefficient))
    return result


def _flush(a: Value) -> Value:
    """Subnormal becomes zero of the same sign."""
    bits = a.as_int()
    small = magnitude(a).compare("ult", SMALLEST_NORMAL[a.element])
    return small.select(bits & (1 << (a.width - 1)), bits).bits(a.element)


def keep_nan(a: Value, result: Value) -> Value:
    return a.is_nan().select(quiet(a), result)


def _power_of_two(c: Context, exponent: Value) -> Value:
    """2^exponent as f64 from an i32 within ±1022."""
    return (exponent.sext("i64") + 1023).shl(52).bits("double")


def _clamp(c: Context, a: Value, low: int, high: int) -> Value:
    return c.smin(c.smax(a, a.like(low)), a.like(high))


@support("ldexp_f32", "f32 = f32 i32")
def scale_single(c: Context, a: Value, exponent: Value) -> Value:
    """One rounding: the product is exact in f64."""
    factor = _power_of_two(c, _clamp(c, exponent, -400, 400))
    return keep_nan(a, (a.cast("fpext", "double") * factor).cast("fptrunc", "float"))


@support("ldexp_f64", "f64 = f64 i32")
def scale_double(c: Context, a: Value, exponent: Value) -> Value:
    """One rounding: the operand is brought to [1, 2) and scaled in two steps of which only the last can round."""
    small = magnitude(a).compare("ult", SMALLEST_NORMAL["double"])
    normal = small.select(a * 2.0**64, a)
    bits = normal.as_int()
    own = (bits.lshr(52) & 0x7FF).trunc("i32") - 1023
    own = small.select(own - 64, own)
    unit = ((bits & ~(0x7FF << 52)) | (1023 << 52)).bits("double")
    total = _clamp(c, _clamp(c, exponent, -5000, 5000) + own, -1100, 1100)
    last = total.compare("sgt", 0).select(total.like(100), total.like(-1000))
    scaled = unit * _power_of_two(c, total - last) * _power_of_two(c, last)
    special = magnitude(a).compare("uge", INFINITY["double"]) | a.eq(0.0)
    return special.select(keep_nan(a, a), scaled)


@valu("v_ldexp_f32", "f32 = f32 i32")
@rounded
def ldexp_single(c: Context, a: Value, exponent: Value) -> Result:
    return c.support("ldexp_f32", "float", a, exponent)


@valu("v_ldexp_f64", "f64 = f64 i32")
@rounded
def ldexp_double(c: Context, a: Value, exponent: Value) -> Result:
    return c.support("ldexp_f64", "double", a, exponent)


@valu("v_ldexp_f16", "f16 = f16 i16")
@rounded
def ldexp_half(c: Context, a: Value, exponent: Value) -> Result:
    wide = c.support("ldexp_f32", "float", a.cast("fpext", "float"), _clamp(c, exponent, -60, 60).sext("i32"))
    return wide.cast("fptrunc", "half")


@support("exp2_f32", "f32 = f32")
def exp2(c: Context, a: Value) -> Value:
    """2^a of any f32, subnormal results included."""
    low = a.compare("ogt", -160.0).select(a, -160.0)
    x = low.compare("olt", 160.0).select(low, 160.0)
    whole = c.intrinsic("rint", x)
    fraction = _polynomial(c, x - whole, _EXP2)
    return keep_nan(a, c.support("ldexp_f32", "float", fraction, whole.cast("fptosi", "i32")))


@support("log2_f32", "f32 = f32")
def log2(c: Context, a: Value) -> Value:
    """log2 of any f32, by f64 arithmetic."""
    wide = a.cast("fpext", "double")
    bits = wide.as_int() + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    exponent = bits.ashr(52).trunc("i32") - 1023
    mantissa = wide * _power_of_two(c, -exponent)
    t = mantissa - 1.0
    result = (exponent.cast("sitofp", "double") + t * _polynomial(c, t, _LOG2)).cast("fptrunc", "float")
    infinity = c.constant("i32", INFINITY["float"]).bits("float")
    result = a.eq(0.0).select(-infinity, result)
    result = a.eq(infinity).select(infinity, result)
    result = a.compare("olt", 0.0).select(quiet(infinity), result)
    return keep_nan(a, result)


@valu("v_exp_f32 v_exp_legacy_f32", "f32 = f32")
def exponential(c: Context, a: Value) -> Result:
    """2^a."""
    return _flush(c.support("exp2_f32", "float", _flush(a)))


@valu("v_log_f32 v_log_legacy_f32", "f32 = f32")
def logarithm(c: Context, a: Value) -> Result:
    """log2 a."""
    return c.support("log2_f32", "float", _flush(a))


@valu("v_exp_f16", "f16 = f16")
def exponential_half(c: Context, a: Value) -> Result:
    """2^a."""
    return c.support("exp2_f32", "float", a.cast("fpext", "float")).cast("fptrunc", "half")


@valu("v_log_f16", "f16 = f16")
def logarithm_half(c: Context, a: Value) -> Result:
    """log2 a."""
    return c.support("log2_f32", "float", a.cast("fpext", "float")).cast("fptrunc", "half")


@valu("v_rcp_f32 v_rcp_iflag_f32", "f32 = f32")
def reciprocal(c: Context, a: Value) -> Result:
    return _flush(c.constant("float", 1.0) / _flush(a))


@valu("v_rcp_f64", "f64 = f64")
def reciprocal_double(c: Context, a: Value) -> Result:
    return c.constant("double", 1.0) / a


@valu("v_rcp_f16", "f16 = f16")
def reciprocal_half(c: Context, a: Value) -> Result:
    return (c.constant("float", 1.0) / a.cast("fpext", "float")).cast("fptrunc", "half")


@valu("v_sqrt_f32", "f32 = f32")
def square_root(c: Context, a: Value) -> Result:
    return c.intrinsic("sqrt", _flush(a))


@valu("v_sqrt_f64", "f64 = f64")
def square_root_double(c: Context, a: Value) -> Result:
    return c.intrinsic("sqrt", a)


@valu("v_sqrt_f16", "f16 = f16")
def square_root_half(c: Context, a: Value) -> Result:
    return c.intrinsic("sqrt", a.cast("fpext", "float")).cast("fptrunc", "half")


@valu("v_rsq_f32", "f32 = f32")
def reciprocal_root(c: Context, a: Value) -> Result:
    """One residual step after two roundings; where that is no number (0, ∞) the first value stands."""
    x = _flush(a)
    first = c.constant("float", 1.0) / c.intrinsic("sqrt", x)
    residual = c.fma(-(x * first), first, c.constant("float", 1.0))
    better = c.fma(first * 0.5, residual, first)
    return better.is_nan().select(first, better)


@valu("v_rsq_f64", "f64 = f64")
def reciprocal_root_double(c: Context, a: Value) -> Result:
    return c.constant("double", 1.0) / c.intrinsic("sqrt", a)


@valu("v_rsq_f16", "f16 = f16")
def reciprocal_root_half(c: Context, a: Value) -> Result:
    return (c.constant("float", 1.0) / c.intrinsic("sqrt", a.cast("fpext", "float"))).cast("fptrunc", "half")


@support("sin_turns_f32", "f32 = f32")
def sine_of_turns(c: Context, turns: Value) -> Value:
    """sin 2πx for |x| ≤ 257: x less the nearest half turn, exactly; then a polynomial in f64."""
    x = turns.cast("fpext", "double")
    halves = c.intrinsic("rint", x * 2.0)
    rest = c.fma(halves, x.like(-0.5), x)
    value = rest * _polynomial(c, rest * rest, _SIN)
    odd = (halves.cast("fptosi", "i32") & 1).ne(0)
    return odd.select(-value, value).cast("fptrunc", "float")


def _turns(c: Context, a: Value, shift: float, outside: float) -> Value:
    """sin 2π(a + shift); outside of ±256 turns the hardware gives a constant, of infinity and NaN it gives NaN."""
    inside = magnitude(a).compare("ule", 0x43800000)
    safe = inside.select(a, 0.0)
    if shift:
        # a quarter turn ahead, taken of the fraction so that nothing is lost for large angles
        fraction = safe - c.intrinsic("rint", safe)
        safe = (magnitude(fraction).bits("float") - 0.25) * -1.0
    result = inside.select(c.support("sin_turns_f32", "float", safe), outside)
    finite = magnitude(a).compare("ult", INFINITY["float"])
    return finite.select(result, c.constant("i32", 0x7FC00000).bits("float"))


@valu("v_sin_f32", "f32 = f32")
def sine(c: Context, a: Value) -> Result:
    """sin 2πa."""
    return _turns(c, _flush(a), 0.0, 0.0)


@valu("v_cos_f32", "f32 = f32")
def cosine(c: Context, a: Value) -> Result:
    """cos 2πa."""
    return _turns(c, _flush(a), 0.25, 1.0)


@valu("v_sin_f16", "f16 = f16")
def sine_half(c: Context, a: Value) -> Result:
    return _turns(c, a.cast("fpext", "float"), 0.0, 0.0).cast("fptrunc", "half")


@valu("v_cos_f16", "f16 = f16")
def cosine_half(c: Context, a: Value) -> Result:
    return _turns(c, a.cast("fpext", "float"), 0.25, 1.0).cast("fptrunc", "half")
