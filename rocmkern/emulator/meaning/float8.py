"""Floats of eight bits and fewer: fp8 is 4 exponent and 3 mantissa bits, bf8 5 and 2, fp6 2 and 3, bf6 3 and 2, fp4 2
and 1.

gfx950 and gfx12 follow the OCP formats; gfx940 has one more exponent step of bias, no infinities, no negative zero
(0x80 is the only NaN). Those of six and four bits have numbers only: what is larger, and NaN, become the largest.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu
from rocmkern.emulator.mode import HALF_OVERFLOW


@frozen
class Format:
    """Bits, and the codes, less the sign, of the largest number, of what is larger, and of what is no number."""

    mantissa: int
    bias: int
    exponent: int
    largest: int
    over: int
    nan: int


EIGHT: Final[dict[str, Format]] = {
    "fp8": Format(3, 7, 4, 0x7E, 0x7F, 0x7F), "bf8": Format(2, 15, 5, 0x7B, 0x7C, 0x7F)
}  # fmt: skip
FORMATS: Final[dict[str, Format]] = EIGHT | {
    "fp6": Format(3, 1, 2, 31, 31, 31), "bf6": Format(2, 3, 3, 31, 31, 31), "fp4": Format(1, 1, 2, 7, 7, 7)
}  # fmt: skip
FNUZ: Final[dict[str, Format]] = {
    n: evolve(f, bias=f.bias + 1, largest=0x7F, over=0x80, nan=0x80) for n, f in EIGHT.items()
}


def is_fnuz(c: Context) -> bool:
    """Whether the target has the formats without infinities and negative zero."""
    return c.isa == "gfx940"


def to_single(c: Context, code: Value, name: str) -> Value:
    """The f32 of the number in the low bits of an i32; exact."""
    shape = (FNUZ if is_fnuz(c) else FORMATS).get(name, FORMATS[name])
    digit_bits = shape.mantissa + shape.exponent
    sign = code.lshr(digit_bits).shl(31)
    digits = code & ((1 << digit_bits) - 1)
    # by integers, since a kernel may have denormals flushed
    normal = digits.shl(23 - shape.mantissa) + ((127 - shape.bias) << 23)
    small = (digits.cast("uitofp", "float") * 2.0 ** (1 - shape.bias - shape.mantissa)).as_int()
    scaled = digits.compare("ult", 1 << shape.mantissa).select(small, normal)
    if shape.nan == 0x80:
        return (code & 0xFF).eq(0x80).select(scaled.like(0x7FC00000), scaled | sign).bits("float")
    if shape.over > shape.largest:
        special = digits.shl(23 - shape.mantissa) & 0x007FFFFF | 0x7F800000
        scaled = digits.compare("ugt", shape.largest).select(special, scaled)
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


def from_double(a: Value, shape: Format, random: Value | None = None, holds: Value | None = None) -> Value:
    """The code, in an i32, of an f64 rounded to nearest even, or up as often as `random` (32 bits) asks for.

    `holds` (i1): a number that is too large becomes the largest, though infinity does not.
    """
    w, size = a.writer, a.as_int() & 0x7FFFFFFFFFFFFFFF
    zero = size.like(0)
    exponent = size.lshr(52) - (1023 - shape.bias + 1)  # 0: that of the smallest normal number
    below = w.intrinsic("smax", zero - exponent, zero)
    near = w.intrinsic("smin", below, zero.like(10))
    lost = near + (52 - shape.mantissa)
    mantissa = (size & 0xFFFFFFFFFFFFF | 1 << 52).lshr(w.intrinsic("smin", below - near, zero.like(63)))
    if random is None:
        up = zero.like(1).shl(lost - 1) - 1 + (mantissa.lshr(lost) & 1)
    else:
        up = random.zext("i64").shl(lost - 32)
    code = w.intrinsic("smax", exponent, zero).shl(shape.mantissa) + (mantissa + up).lshr(lost)
    kept = code.compare("ule", shape.largest) & size.compare("ult", 0x7FF0000000000000)
    is_nan = size.compare("ugt", 0x7FF0000000000000)
    over: Value | int = shape.over
    if holds is not None:
        over = (size.compare("ult", 0x7FF0000000000000) & holds).select(zero.like(shape.largest), over)
    code = is_nan.select(zero.like(shape.nan), kept.select(code, over)).trunc("i32")
    digits = shape.mantissa + shape.exponent
    sign = a.as_int().lshr(63 - digits).trunc("i32") & (1 << digits)
    return code.eq(0).select(code, code | sign) if shape.nan == 0x80 else code | sign


def from_single(c: Context, a: Value, name: str, random: Value | None = None) -> Value:
    """The same of an f32, in the target's 8 bits."""
    holds = c.mode.bit(HALF_OVERFLOW) if c.mode else None
    return from_double(a.cast("fpext", "double"), (FNUZ if is_fnuz(c) else EIGHT)[name], random, holds)


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
