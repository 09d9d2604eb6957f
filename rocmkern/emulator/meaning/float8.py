"""Floats of eight bits and fewer: fp8 is 4 exponent and 3 mantissa bits, bf8 5 and 2, fp6 2 and 3, bf6 3 and 2, fp4 2
and 1.

gfx950 and gfx12 follow the OCP formats; gfx940 has one more exponent step of bias, no infinities, no negative zero
(0x80 is the only NaN). Those of six and four bits have numbers only.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu


@frozen
class Format:
    mantissa: int
    bias: int
    exponent: int
    has_infinity: bool = False
    has_nan: bool = False


EIGHT: Final[dict[str, Format]] = {
    "fp8": Format(3, 7, 4, has_nan=True), "bf8": Format(2, 15, 5, has_infinity=True, has_nan=True)
}  # fmt: skip
FORMATS: Final[dict[str, Format]] = EIGHT | {"fp6": Format(3, 1, 2), "bf6": Format(2, 3, 3), "fp4": Format(1, 1, 2)}


def is_fnuz(c: Context) -> bool:
    """Whether the target has the formats without infinities and negative zero."""
    return c.isa == "gfx940"


def to_single(c: Context, code: Value, name: str) -> Value:
    """The f32 of the number in the low bits of an i32; exact."""
    shape = FORMATS[name]
    fnuz = shape.has_nan and is_fnuz(c)
    digit_bits = shape.mantissa + shape.exponent
    sign = code.lshr(digit_bits).shl(31)
    digits = code & ((1 << digit_bits) - 1)
    bias = shape.bias + fnuz
    # by integers, since a kernel may have denormals flushed
    normal = digits.shl(23 - shape.mantissa) + ((127 - bias) << 23)
    small = (digits.cast("uitofp", "float") * 2.0 ** (1 - bias - shape.mantissa)).as_int()
    scaled = digits.compare("ult", 1 << shape.mantissa).select(small, normal)
    if fnuz:
        return (code & 0xFF).eq(0x80).select(scaled.like(0x7FC00000), scaled | sign).bits("float")
    if shape.has_infinity:
        top = ((1 << shape.exponent) - 1) << shape.mantissa
        special = digits.shl(23 - shape.mantissa) & 0x007FFFFF | 0x7F800000
        scaled = digits.compare("uge", top).select(special, scaled)
    elif shape.has_nan:
        scaled = digits.eq(0x7F).select(scaled.like(0x7FC00000), scaled)
    return (scaled | sign).bits("float")


def _byte(c: Context, word: Value) -> Value:
    """The byte that op_sel selects (bit 0 is the high bit of the number, bit 1 the low one)."""
    which = (c.mods.op_sel & 1) << 1 | c.mods.op_sel >> 1 & 1
    return word.lshr(8 * which) & 0xFF


for _name in EIGHT:

    @valu(f"v_cvt_f32_{_name}", "f32 = u32")
    def _widen(c: Context, word: Value, name: str = _name) -> Result:
        """One byte of the source, exact."""
        return to_single(c, _byte(c, word), name)

    @valu(f"v_cvt_pk_f32_{_name}", "r2 = u16")
    def _widen_pair(c: Context, half: Value, name: str = _name) -> Result:
        """Two bytes of the source, exact."""
        codes = half.zext("i32")
        return to_single(c, codes, name), to_single(c, codes.lshr(8), name)


def _largest(c: Context, shape: Format) -> int:
    """The code of the largest number."""
    return 0x7F if is_fnuz(c) else 0x7B if shape.has_infinity else 0x7E


def from_single(c: Context, a: Value, name: str, random: Value | None = None) -> Value:
    """The 8 bits, in an i32, of an f32 rounded to nearest even, or up as often as `random` (32 bits) asks for.

    What is too large becomes infinity, or NaN where the format has none.
    """
    shape, size = EIGHT[name], a.as_int() & 0x7FFFFFFF
    fnuz = is_fnuz(c)
    exponent = size.lshr(23) - (127 - shape.bias - fnuz + 1)  # 0: that of the smallest normal number
    lost = c.smin(c.smax(exponent.like(0) - exponent, exponent.like(0)), exponent.like(7)) + (23 - shape.mantissa)
    mantissa = size & 0x7FFFFF | 0x800000
    if random is None:
        up = mantissa.like(1).shl(lost - 1) - 1 + (mantissa.lshr(lost) & 1)
    else:
        up = random.lshr(lost.like(32) - lost)
    code = c.smax(exponent, exponent.like(0)).shl(shape.mantissa) + (mantissa + up).lshr(lost)
    is_nan = size.compare("ugt", 0x7F800000)
    over = 0x80 if fnuz else 0x7C if shape.has_infinity else 0x7F
    kept = code.compare("ule", _largest(c, shape)) & size.compare("ult", 0x7F800000)
    code = is_nan.select(code.like(0x80 if fnuz else 0x7F), kept.select(code, over))
    sign = a.as_int().lshr(24) & 0x80
    return code.eq(0).select(code, code | sign) if fnuz else code | sign


for _name in EIGHT:

    @valu(f"v_cvt_pk_{_name}_f32", "u16 = f32 f32")
    def _narrow_pair(c: Context, a: Value, b: Value, name: str = _name) -> Result:
        """Two bytes, rounded to nearest even, into one half of the destination."""
        return (from_single(c, a, name) | from_single(c, b, name).shl(8)).trunc("i16")

    @valu(f"v_cvt_sr_{_name}_f32", "b32 = f32 u32 ^b32")
    def _narrow_stochastically(c: Context, a: Value, random: Value, old: Value, name: str = _name) -> Result:
        """One byte, rounded up as often as the second source asks for, into the byte that op_sel selects."""
        shift = 8 * (c.mods.op_sel >> 2 & 3)
        return old & ~(0xFF << shift) | from_single(c, a, name, random).shl(shift)
