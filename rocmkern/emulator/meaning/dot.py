"""Dot products of four bytes with a 32-bit sum."""

from __future__ import annotations

from typing import Final, Literal

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Emit, Result, valu

Extend = Literal["sext", "zext"]
_MIX: Final = "i32 = r1 r1 i32"  # the neg bits say that a source is signed, and must not touch it


def _bytes(value: Value, extend: Extend) -> list[Value]:
    shifted = (value.shl(24 - 8 * i) for i in range(4))
    return [v.ashr(24) if extend == "sext" else v.lshr(24) for v in shifted]


def _products(a: Value, b: Value, extend: tuple[Extend, Extend]) -> list[Value]:
    return [x * y for x, y in zip(_bytes(a, extend[0]), _bytes(b, extend[1]), strict=True)]


def _wrapping(a: Value, b: Value, total: Value, extend: tuple[Extend, Extend]) -> Value:
    for product in _products(a, b, extend):
        total = total + product
    return total


def _saturating(c: Context, a: Value, b: Value, total: Value, extend: tuple[Extend, Extend]) -> Value:
    """The exact sum, brought to the nearest value of 32 bits."""
    unsigned = extend == ("zext", "zext")
    wide = total.zext("i64") if unsigned else total.sext("i64")
    for product in _products(a, b, extend):
        wide = wide + (product.zext("i64") if unsigned else product.sext("i64"))
    low, high = (0, (1 << 32) - 1) if unsigned else (-(1 << 31), (1 << 31) - 1)
    return c.smax(c.smin(wide, c.constant("i64", high)), c.constant("i64", low)).trunc("i32")


def _forms(extend: Extend) -> tuple[Emit, Emit]:
    def wrapping(c: Context, a: Value, b: Value, total: Value) -> Result:
        return _wrapping(a, b, total, (extend, extend))

    def saturating(c: Context, a: Value, b: Value, total: Value) -> Result:
        return _saturating(c, a, b, total, (extend, extend))

    return wrapping, saturating


for _names, _signature, _extend in (
    ("v_dot4_i32_i8", "i32 = b32 b32 i32", "sext"),
    ("v_dot4c_i32_i8", "i32 = b32 b32 ^i32", "sext"),
    ("v_dot4_u32_u8", "u32 = b32 b32 u32", "zext"),
):
    _plain, _clamped = _forms(_extend)  # type: ignore[arg-type]
    valu(_names, _signature, integer_clamp=_clamped)(_plain)


def _signs(c: Context) -> tuple[Extend, Extend]:
    return "sext" if c.mods.neg & 1 else "zext", "sext" if c.mods.neg & 2 else "zext"


def _mixed_clamped(c: Context, a: tuple[Value], b: tuple[Value], total: Value) -> Result:
    return _saturating(c, a[0], b[0], total, _signs(c))


@valu("v_dot4_i32_iu8", _MIX, integer_clamp=_mixed_clamped)
def dot4_mixed(c: Context, a: tuple[Value], b: tuple[Value], total: Value) -> Result:
    """A source is signed where its neg bit is set."""
    return _wrapping(a[0], b[0], total, _signs(c))
