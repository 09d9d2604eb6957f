"""Eight-bit floats: fp8 is 4 exponent and 3 mantissa bits, bf8 is 5 and 2.

gfx950 and gfx12 follow the OCP formats; gfx940 has one more exponent step of bias, no infinities, no negative zero
(0x80 is the only NaN).
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
    has_infinity: bool


FORMATS: Final[dict[str, Format]] = {"fp8": Format(3, 7, False), "bf8": Format(2, 15, True)}


def is_fnuz(c: Context) -> bool:
    """Whether the target has the formats without infinities and negative zero."""
    return c.isa == "gfx940"


def to_single(c: Context, code: Value, name: str) -> Value:
    """The f32 of the low 8 bits of an i32; exact."""
    shape = FORMATS[name]
    bias = shape.bias + is_fnuz(c)
    sign = (code & 0x80).shl(24)
    digits = code & 0x7F
    # the code's bits in the place of f32's, its exponent off by the difference of the biases
    placed = digits.shl(23 - shape.mantissa).bits("float")
    scaled = (placed * placed.like(2.0 ** (127 - bias))).as_int()
    if is_fnuz(c):
        return (code & 0xFF).eq(0x80).select(scaled.like(0x7FC00000), scaled | sign).bits("float")
    if shape.has_infinity:
        top = ((1 << (7 - shape.mantissa)) - 1) << shape.mantissa
        special = digits.shl(23 - shape.mantissa) & 0x007FFFFF | 0x7F800000
        scaled = digits.compare("uge", top).select(special, scaled)
    else:
        scaled = digits.eq(0x7F).select(scaled.like(0x7FC00000), scaled)
    return (scaled | sign).bits("float")


def _byte(c: Context, word: Value) -> Value:
    """The byte that op_sel selects (bit 0 is the high bit of the number, bit 1 the low one)."""
    which = (c.mods.op_sel & 1) << 1 | c.mods.op_sel >> 1 & 1
    return word.lshr(8 * which) & 0xFF


for _name in FORMATS:

    @valu(f"v_cvt_f32_{_name}", "f32 = u32")
    def _widen(c: Context, word: Value, name: str = _name) -> Result:
        """One byte of the source, exact."""
        return to_single(c, _byte(c, word), name)

    @valu(f"v_cvt_pk_f32_{_name}", "r2 = u16")
    def _widen_pair(c: Context, half: Value, name: str = _name) -> Result:
        """Two bytes of the source, exact."""
        codes = half.zext("i32")
        return to_single(c, codes, name), to_single(c, codes.lshr(8), name)
