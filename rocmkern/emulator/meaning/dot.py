"""Dot products of packed 4-, 8- and 16-bit values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu
from rocmkern.emulator.meaning.convert import bfloat_bits
from rocmkern.emulator.meaning.float8 import EIGHT, to_single
from rocmkern.emulator.meaning.vector_float import fused

Pair = tuple[Value, Value]
Signs = tuple[bool, bool]


def _parts(word: Value, bits: int, signed: bool) -> list[Value]:
    """The values packed into 32 bits, lowest first, as i32."""
    moved = [word.shl(32 - bits - at) for at in range(0, 32, bits)]
    return [m.ashr(32 - bits) if signed else m.lshr(32 - bits) for m in moved]


def _products(a: list[Value], b: list[Value]) -> list[Value]:
    return [x * y for x, y in zip(a, b, strict=True)]


def _saturated(c: Context, products: list[Value], start: Value, signed: bool) -> Value:
    """The sum, which fits 64 bits, held within 32."""
    extend = Value.sext if signed else Value.zext
    total = extend(start, "i64")
    for product in products:
        total = total + extend(product, "i64")
    if signed:
        return c.smax(c.smin(total, total.like((1 << 31) - 1)), total.like(-(1 << 31))).trunc("i32")
    return c.umin(total, total.like((1 << 32) - 1)).trunc("i32")


def _sum(products: list[Value], start: Value) -> Value:
    for product in products:
        start = start + product
    return start


def _integer(
    names: str, sources: str, split: Callable[[Context, Value | Pair, Value | Pair], list[Value]], signed: bool
) -> None:
    """A row whose result wraps, or saturates with clamp."""

    def wrapping(c: Context, a: Value | Pair, b: Value | Pair, start: Value) -> Result:
        """The sum of the products and the third source; saturated with clamp."""
        return _sum(split(c, a, b), start)

    def saturating(c: Context, a: Value | Pair, b: Value | Pair, start: Value) -> Result:
        return _saturated(c, split(c, a, b), start, signed)

    valu(names, f"{sources[-3:]} = {sources}", integer_clamp=saturating)(wrapping)


def _splitter(
    bits: int, signs: Callable[[Context], Signs]
) -> Callable[[Context, Value | Pair, Value | Pair], list[Value]]:
    def split(c: Context, a: Value | Pair, b: Value | Pair) -> list[Value]:
        assert isinstance(a, Value) and isinstance(b, Value)
        first, second = signs(c)
        return _products(_parts(a, bits, first), _parts(b, bits, second))

    return split


def _halves(signed: bool) -> Callable[[Context, Value | Pair, Value | Pair], list[Value]]:
    def split(c: Context, a: Value | Pair, b: Value | Pair) -> list[Value]:
        assert isinstance(a, tuple) and isinstance(b, tuple)
        extend = Value.sext if signed else Value.zext
        return _products([extend(x, "i32") for x in a], [extend(x, "i32") for x in b])

    return split


def _modifier_signs(c: Context) -> Signs:
    """The neg bits say which source is signed."""
    return bool(c.mods.neg & 1), bool(c.mods.neg & 2)


SIGNED: Final = _splitter(8, lambda c: (True, True))
NIBBLES: Final = _splitter(4, lambda c: (True, True))

_integer("v_dot4_i32_i8", "u32 u32 i32", SIGNED, True)
_integer("v_dot4c_i32_i8", "u32 u32 ^i32", SIGNED, True)
_integer("v_dot4_u32_u8", "u32 u32 u32", _splitter(8, lambda c: (False, False)), False)
_integer("v_dot4_i32_iu8", "u32 u32 i32", _splitter(8, _modifier_signs), True)
_integer("v_dot8_i32_i4", "u32 u32 i32", NIBBLES, True)
_integer("v_dot8c_i32_i4", "u32 u32 ^i32", NIBBLES, True)
_integer("v_dot8_u32_u4", "u32 u32 u32", _splitter(4, lambda c: (False, False)), False)
_integer("v_dot8_i32_iu4", "u32 u32 i32", _splitter(4, _modifier_signs), True)
_integer("v_dot2_i32_i16", "2xi16 2xi16 i32", _halves(True), True)
_integer("v_dot2c_i32_i16", "2xi16 2xi16 ^i32", _halves(True), True)
_integer("v_dot2_u32_u16", "2xu16 2xu16 u32", _halves(False), False)


@valu("v_dot2_f32_f16", "f32 = 2xf16 2xf16 f32")
@valu("v_dot2c_f32_f16 v_dot2acc_f32_f16", "f32 = 2xf16 2xf16 ^f32")
def dot_half(c: Context, a: Pair, b: Pair, start: Value) -> Result:
    """Low product first; the products are exact, each sum rounds once."""
    for x, y in zip(a, b, strict=True):
        start = c.fma(x.cast("fpext", "float"), y.cast("fpext", "float"), start)
    return start


def _single(bits: Value) -> Value:
    return bits.zext("i32").shl(16).bits("float")


@valu("v_dot2_f32_bf16", "f32 = 2xbf16 2xbf16 f32")
@valu("v_dot2c_f32_bf16 v_dot2acc_f32_bf16", "f32 = 2xbf16 2xbf16 ^f32")
def dot_bfloat(c: Context, a: Pair, b: Pair, start: Value) -> Result:
    """Low product first; the products are exact, each sum rounds once."""
    for x, y in zip(a, b, strict=True):
        start = c.fma(_single(x), _single(y), start)
    return start


@valu("v_dot2_f16_f16", "f16 = 2xf16 2xf16 f16")
def dot_half_in_half(c: Context, a: Pair, b: Pair, start: Value) -> Result:
    """Low product first, one rounding to f16 per product and sum."""
    for x, y in zip(a, b, strict=True):
        start = fused(c, x, y, start)
    return start


@valu("v_dot2_bf16_bf16", "bf16 = 2xbf16 2xbf16 bf16")
def dot_bfloat_in_bfloat(c: Context, a: Pair, b: Pair, start: Value) -> Result:
    """Low product first, summed in f32 and rounded once."""
    total = _single(start)
    for x, y in zip(a, b, strict=True):
        total = c.fma(_single(x), _single(y), total)
    return bfloat_bits(total).trunc("i16")


for _first in EIGHT:
    for _second in EIGHT:

        @valu(f"v_dot4_f32_{_first}_{_second}", "f32 = u32 u32 f32", isas=("gfx12",))
        def _dot_float8(
            c: Context, a: Value, b: Value, start: Value, first: str = _first, second: str = _second
        ) -> Result:
            """Lowest product first, each sum rounds once."""
            for x, y in zip(_parts(a, 8, False), _parts(b, 8, False), strict=True):
                start = c.fma(to_single(c, x, first), to_single(c, y, second), start)
            return start
