"""Conversions to and from floats of eight bits and fewer with the scale of their block: gfx950.

The scale is the power of two that an f32's exponent field names, down to 2⁻¹²⁷; all ones there make NaN. What is
narrowed is divided by it, what is widened multiplied.
"""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, support, valu
from rocmkern.emulator.meaning.convert import bfloat_bits, pair
from rocmkern.emulator.meaning.float8 import EIGHT, FORMATS, Format, from_double, to_single

WIDE: Final = ("f32", "f16", "bf16")
SIX: Final = ("fp6", "bf6")
SIXTEEN: Final = {"f16": Format(10, 15, 5, 0x7BFF, 0x7C00, 0x7E00), "bf16": Format(7, 127, 8, 0x7F7F, 0x7F80, 0x7FC0)}


def _power(scale: Value, sign: int) -> Value:
    """The scale, or its reciprocal, as f64."""
    exponent = (scale.as_int().lshr(23) & 0xFF).zext("i64")
    power = (exponent - 127 if sign > 0 else exponent.like(127) - exponent) + 1023
    return exponent.eq(0xFF).select(exponent.like(0x7FF8 << 48), power.shl(52)).bits("double")


for _name, _format in FORMATS.items():

    @support(f"narrow_{_name}", "u32 = f64")
    def _nearest(c: Context, a: Value, format: Format = _format) -> Value:
        return from_double(a, format)

    @support(f"narrow_{_name}_randomly", "u32 = f64 u32")
    def _random(c: Context, a: Value, random: Value, format: Format = _format) -> Value:
        return from_double(a, format, random)


def _narrowed(c: Context, a: Value, scale: Value, name: str, random: Value | None = None) -> Value:
    """The code of a number that is f32, f16, or bf16 in an i16; it keeps the sign also where it is none."""
    if a.element == "i16":
        a = a.zext("i32").shl(16).bits("float")
    a = a.cast("fpext", "float").cast("fpext", "double")
    scaled = a.writer.intrinsic("copysign", a * _power(scale, -1), a)
    if random is None:
        return c.support(f"narrow_{name}", "i32", scaled)
    return c.support(f"narrow_{name}_randomly", "i32", scaled, random)


def _widened(c: Context, code: Value, scale: Value, name: str, to: str) -> Value:
    number = (to_single(c, code, name).cast("fpext", "double") * _power(scale, 1)).cast("fptrunc", "float")
    return {"f32": lambda: number, "f16": lambda: number.cast("fptrunc", "half"), "bf16": lambda: bfloat_bits(number)}[
        to
    ]()


def next_random(a: Value) -> Value:
    """One step of a linear feedback shift register."""
    return a.shl(1) ^ (a.ashr(31) & 197)


@valu("v_prng_b32", "u32 = u32")
def step(c: Context, a: Value) -> Result:
    return next_random(a)


def _insert(old: Value, part: Value, bits: int, place: int) -> Value:
    shift = bits * place
    return old & ~(((1 << bits) - 1) << shift) | part.shl(shift)


def _halves(word: Value, kind: str) -> tuple[Value, Value]:
    element = "half" if kind == "f16" else "i16"
    return word.trunc("i16").bits(element), word.lshr(16).trunc("i16").bits(element)


def _bits(name: str) -> int:
    return FORMATS[name].mantissa + FORMATS[name].exponent + 1


def _pair_into(c: Context, codes: tuple[Value, Value], name: str, old: Value) -> Value:
    """Two codes into the half of the destination (fp4: the byte) that op_sel names."""
    bits = _bits(name)
    place = c.mods.op_sel >> 3 & 1 if bits == 8 else c.mods.op_sel >> 2 & 3
    return _insert(old, codes[0] | codes[1].shl(bits), 2 * bits, place)


for _name in (*EIGHT, "fp4"):

    @valu(f"v_cvt_scalef32_pk_{_name}_f32", "b32 = f32 f32 f32 ^b32")
    def _narrow_two(c: Context, a: Value, b: Value, scale: Value, old: Value, name: str = _name) -> Result:
        """Two numbers, divided by the scale and rounded to nearest even, into a part of the destination."""
        return _pair_into(c, (_narrowed(c, a, scale, name), _narrowed(c, b, scale, name)), name, old)

    for _from in ("f16", "bf16"):

        @valu(f"v_cvt_scalef32_pk_{_name}_{_from}", "b32 = u32 f32 ^b32")
        def _narrow_halves(
            c: Context, word: Value, scale: Value, old: Value, name: str = _name, kind: str = _from
        ) -> Result:
            """Two numbers of a register, divided by the scale and rounded to nearest even, into a part of another."""
            low, high = (_narrowed(c, v, scale, name) for v in _halves(word, kind))
            return _pair_into(c, (low, high), name, old)

    for _to in WIDE:
        _signature = "r2 = u32 f32" if _to == "f32" else "b32 = u32 f32"

        @valu(f"v_cvt_scalef32_pk_{_to}_{_name}", _signature)
        def _widen_two(c: Context, word: Value, scale: Value, name: str = _name, to: str = _to) -> Result:
            """Two numbers of the half (fp4: the byte) that op_sel names, times the scale."""
            bits = _bits(name)
            codes = word.lshr(16 * (c.mods.op_sel & 1) if bits == 8 else 8 * (c.mods.op_sel & 3))
            mask = (1 << bits) - 1
            low, high = (_widened(c, v & mask, scale, name, to) for v in (codes, codes.lshr(bits)))
            return (low, high) if to == "f32" else pair(low, high)


for _name in EIGHT:
    for _from in WIDE:

        @valu(f"v_cvt_scalef32_sr_{_name}_{_from}", f"b32 = {_from} u32 f32 ^b32")
        def _narrow_randomly(
            c: Context, a: Value, random: Value, scale: Value, old: Value, name: str = _name
        ) -> Result:
            """Divided by the scale and rounded up as often as the second source asks for, into the byte of op_sel."""
            return _insert(old, _narrowed(c, a, scale, name, random), 8, c.mods.op_sel >> 2 & 3)

    @valu(f"v_cvt_scalef32_f32_{_name}", "f32 = u32 f32")
    def _widen(c: Context, word: Value, scale: Value, name: str = _name) -> Result:
        """The byte that op_sel names, times the scale."""
        return _widened(c, word.lshr(8 * (c.mods.op_sel & 3)) & 0xFF, scale, name, "f32")

    @valu(f"v_cvt_scalef32_f16_{_name}", "b32 = u32 f32 ^b32")
    def _widen_into_half(c: Context, word: Value, scale: Value, old: Value, name: str = _name) -> Result:
        """The byte that op_sel names, times the scale, into the half of the destination that its last bit names."""
        number = _widened(c, word.lshr(8 * (c.mods.op_sel & 3)) & 0xFF, scale, name, "f16")
        return _insert(old, number.as_int().zext("i32"), 16, c.mods.op_sel >> 3 & 1)


for _from in WIDE:

    @valu(f"v_cvt_scalef32_sr_pk_fp4_{_from}", f"b32 = {'r2' if _from == 'f32' else 'u32'} u32 f32 ^b32")
    def _narrow_two_randomly(
        c: Context, numbers: Value | tuple[Value, Value], random: Value, scale: Value, old: Value, kind: str = _from
    ) -> Result:
        """Two numbers, rounded up as often as the second source and the number after it ask for."""
        a, b = _halves(numbers, kind) if isinstance(numbers, Value) else (v.bits("float") for v in numbers)
        low, high = _narrowed(c, a, scale, "fp4", random), _narrowed(c, b, scale, "fp4", next_random(random))
        return _pair_into(c, (low, high), "fp4", old)


def _packed_six(codes: list[Value]) -> tuple[Value, ...]:
    """32 codes of six bits in six registers, one after the other."""
    words = [codes[0].like(0)] * 6
    for i, code in enumerate(codes):
        word, shift = divmod(6 * i, 32)
        words[word] = words[word] | code.shl(shift)
        if shift > 26:
            words[word + 1] = words[word + 1] | code.lshr(32 - shift)
    return tuple(words)


def _unpacked_six(words: tuple[Value, ...]) -> list[Value]:
    codes = []
    for i in range(32):
        word, shift = divmod(6 * i, 32)
        code = words[word].lshr(shift)
        if shift > 26:
            code = code | words[word + 1].shl(32 - shift)
        codes.append(code & 0x3F)
    return codes


def _numbers(words: tuple[Value, ...], kind: str) -> list[Value]:
    """The f32 of each register, or the two halves of each."""
    if kind == "f32":
        return [w.bits("float") for w in words]
    return [half for w in words for half in _halves(w, kind)]


for _name in SIX:

    @valu(f"v_cvt_scalef32_2xpk16_{_name}_f32", "r6 = r16 r16 f32")
    def _narrow_interleaved(
        c: Context, a: tuple[Value, ...], b: tuple[Value, ...], scale: Value, name: str = _name
    ) -> Result:
        """32 numbers, by turns from either source."""
        turns = [v for both in zip(_numbers(a, "f32"), _numbers(b, "f32"), strict=True) for v in both]
        return _packed_six([_narrowed(c, v, scale, name) for v in turns])

    for _kind in WIDE:
        _registers = "r32" if _kind == "f32" else "r16"

        @valu(f"v_cvt_scalef32_sr_pk32_{_name}_{_kind}", f"r6 = {_registers} u32 f32")
        def _narrow_all_randomly(
            c: Context, a: tuple[Value, ...], random: Value, scale: Value, name: str = _name, kind: str = _kind
        ) -> Result:
            """32 numbers, rounded up as often as a sequence that starts with the second source asks for."""
            codes = []
            for number in _numbers(a, kind):
                codes.append(_narrowed(c, number, scale, name, random))
                random = next_random(random)
            return _packed_six(codes)

        @valu(f"v_cvt_scalef32_pk32_{_kind}_{_name}", f"{_registers} = r6 f32")
        def _widen_all(
            c: Context, words: tuple[Value, ...], scale: Value, name: str = _name, kind: str = _kind
        ) -> Result:
            """32 numbers, times the scale."""
            wide = [_widened(c, code, scale, name, kind) for code in _unpacked_six(words)]
            return tuple(wide) if kind == "f32" else tuple(map(pair, wide[::2], wide[1::2]))

        if _kind != "f32":

            @valu(f"v_cvt_scalef32_pk32_{_name}_{_kind}", "r6 = r16 f32")
            def _narrow_all(
                c: Context, a: tuple[Value, ...], scale: Value, name: str = _name, kind: str = _kind
            ) -> Result:
                """32 numbers."""
                return _packed_six([_narrowed(c, number, scale, name) for number in _numbers(a, kind)])


for _to, _shape in SIXTEEN.items():

    @valu(f"v_cvt_sr_{_to}_f32", "b32 = f32 u32 ^b32")
    def _narrow_to_half(c: Context, a: Value, random: Value, old: Value, shape: Format = _shape) -> Result:
        """Rounded up as often as the second source asks for, into the half that op_sel names."""
        return _insert(old, from_double(a.cast("fpext", "double"), shape, random), 16, c.mods.op_sel >> 3 & 1)


for _name, _low, _high in (("i8", -128, 127), ("u8", 0, 255)):

    @valu(f"v_ashr_pk_{_name}_i32", "u16 = i32 i32 u32")
    def _shift_and_pack(c: Context, a: Value, b: Value, count: Value, low: int = _low, high: int = _high) -> Result:
        """Both shifted right, saturated to bytes."""
        first, second = (c.smin(c.smax(v.ashr(count), v.like(low)), v.like(high)) & 0xFF for v in (a, b))
        return (first | second.shl(8)).trunc("i16")
