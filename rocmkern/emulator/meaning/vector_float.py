"""Vector ALU: floating-point arithmetic, minimum and maximum, rounding, comparison."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, rounded, support, valu

QUIET: Final[dict[str, int]] = {"half": 0x0200, "float": 0x00400000, "double": 1 << 51}
INFINITY: Final[dict[str, int]] = {"half": 0x7C00, "float": 0x7F800000, "double": 0x7FF << 52}
SMALLEST_NORMAL: Final[dict[str, int]] = {"half": 0x0400, "float": 0x00800000, "double": 1 << 52}


def magnitude(a: Value) -> Value:
    """The bits without the sign."""
    return a.as_int() & ((1 << (a.width - 1)) - 1)


def is_signalling(a: Value) -> Value:
    return a.is_nan() & (a.as_int() & QUIET[a.element]).eq(0)


def quiet(a: Value) -> Value:
    return (a.as_int() | QUIET[a.element]).bits(a.element)


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """The rounded sum and its exact error (Knuth, The Art of Computer Programming 2, 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@support("fma_f16", "f16 = f16 f16 f16")
def fma_half(c: Context, a: Value, b: Value, d: Value) -> Value:
    """One rounding: the product is exact in f32, the sum is rounded to odd there (Boldo, Melquiond 2008)."""
    wide = [v.cast("fpext", "float") for v in (a, b, d)]
    total, error = two_sum(wide[0] * wide[1], wide[2])
    bits = total.as_int()
    even = (bits & 1).eq(0)
    outward = ((error.as_int() ^ bits).compare("sge", 0)).select(bits + 1, bits - 1)
    odd = (even & error.compare("one", 0.0)).select(outward, bits)
    return odd.bits("float").cast("fptrunc", "half")


def fused(c: Context, a: Value, b: Value, d: Value) -> Value:
    if a.element == "half" and c.writer.rounding is None:
        return c.support("fma_f16", "half", a, b, d)
    return c.fma(a, b, d)


@valu("v_sub_f32", "f32 = f32 f32")
@valu("v_sub_f16", "f16 = f16 f16")
@rounded
def subtract(c: Context, a: Value, b: Value) -> Result:
    return a - b


@valu("v_subrev_f32", "f32 = f32 f32")
@valu("v_subrev_f16", "f16 = f16 f16")
@rounded
def subtract_reversed(c: Context, a: Value, b: Value) -> Result:
    return b - a


@valu("v_add_f16", "f16 = f16 f16")
@rounded
def add_half(c: Context, a: Value, b: Value) -> Result:
    return a + b


@valu("v_mul_f32", "f32 = f32 f32")
@valu("v_mul_f16", "f16 = f16 f16")
@valu("v_mul_f64", "f64 = f64 f64")
@valu("v_pk_mul_f16", "f16 = f16 f16", packed=True)
@valu("v_pk_mul_f32", "f32 = f32 f32", packed=True)
@rounded
def multiply(c: Context, a: Value, b: Value) -> Result:
    return a * b


def _zero_wins(a: Value, b: Value, product: Value) -> Value:
    return (a.eq(0.0) | b.eq(0.0)).select(0.0, product)


@valu("v_mul_legacy_f32 v_mul_dx9_zero_f32", "f32 = f32 f32")
@rounded
def multiply_legacy(c: Context, a: Value, b: Value) -> Result:
    """Zero times anything is +0."""
    return _zero_wins(a, b, a * b)


@valu("v_fma_f32", "f32 = f32 f32 f32")
@valu("v_fma_f16", "f16 = f16 f16 f16")
@valu("v_fma_f64", "f64 = f64 f64 f64")
@valu("v_fmac_f32", "f32 = f32 f32 ^f32")
@valu("v_fmac_f16", "f16 = f16 f16 ^f16")
@valu("v_fmac_f64", "f64 = f64 f64 ^f64")
@valu("v_fmamk_f32", "f32 = f32 f32 f32")
@valu("v_fmamk_f16", "f16 = f16 f16 f16")
@valu("v_fmaak_f32", "f32 = f32 f32 f32")
@valu("v_fmaak_f16", "f16 = f16 f16 f16")
@valu("v_pk_fma_f16", "f16 = f16 f16 f16", packed=True)
@valu("v_pk_fma_f32", "f32 = f32 f32 f32", packed=True)
@valu("v_pk_fmac_f16", "f16 = f16 f16 ^f16", packed=True)
@rounded
def multiply_add(c: Context, a: Value, b: Value, d: Value) -> Result:
    """One rounding."""
    return fused(c, a, b, d)


@valu("v_fma_legacy_f32 v_fma_dx9_zero_f32", "f32 = f32 f32 f32")
@valu("v_fmac_legacy_f32 v_fmac_dx9_zero_f32", "f32 = f32 f32 ^f32")
@rounded
def multiply_add_legacy(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Zero times anything is +0."""
    zero = a.eq(0.0) | b.eq(0.0)
    return c.fma(zero.select(0.0, a), zero.select(0.0, b), d)


@valu("v_mad_f32 v_madmk_f32 v_madak_f32", "f32 = f32 f32 f32")
@valu("v_mad_f16 v_madmk_f16 v_madak_f16", "f16 = f16 f16 f16")
@valu("v_mac_f32", "f32 = f32 f32 ^f32")
@valu("v_mac_f16", "f16 = f16 f16 ^f16")
@rounded
def multiply_then_add(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Two roundings."""
    return a * b + d


@valu("v_fma_mix_f32", "f32 = mix mix mix")
@rounded
def mixed_fused(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Each source is f32 or a half, by op_sel_hi and op_sel."""
    return c.fma(a, b, d)


@valu("v_fma_mixlo_f16 v_fma_mixhi_f16", "f16 = mix mix mix")
@rounded
def mixed_fused_half(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Rounded once more, to f16; written to the low or the high half."""
    return c.fma(a, b, d).cast("fptrunc", "half")


@valu("v_add_f32", "f32 = f32 f32")
@valu("v_add_f64", "f64 = f64 f64")
@valu("v_pk_add_f16", "f16 = f16 f16", packed=True)
@valu("v_pk_add_f32", "f32 = f32 f32", packed=True)
@rounded
def plus(c: Context, a: Value, b: Value) -> Result:
    return a + b
