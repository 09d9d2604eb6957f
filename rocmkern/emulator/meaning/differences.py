"""Sums of absolute differences of four bytes at four sliding places."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu


def _sums(c: Context, a: Value, b: Value, masked: bool) -> list[Value]:
    """For bytes 0…3, 1…4, 2…5 and 3…6 of the 64-bit a: |a − b| summed, as i32; `masked`: only where b is not 0."""
    first = [(a.lshr(8 * i) & 0xFF).trunc("i32") for i in range(7)]
    second = [b.lshr(8 * i) & 0xFF for i in range(4)]
    found = []
    for place in range(4):
        total = b.like(0)
        for i, byte in enumerate(second):
            other = first[place + i]
            difference = c.umax(other, byte) - c.umin(other, byte)
            total = total + (byte.eq(0).select(0, difference) if masked else difference)
        found.append(total)
    return found


def _packed(c: Context, sums: list[Value], start: Value, saturate: bool) -> Value:
    result = start.like(0)
    for place, total in enumerate(sums):
        wide = total + (start.lshr(16 * place) & 0xFFFF).trunc("i32")
        wide = c.umin(wide, wide.like(0xFFFF)) if saturate else wide & 0xFFFF
        result = result | wide.zext("i64").shl(16 * place)
    return result


@valu("v_qsad_pk_u16_u8", "u64 = u64 u32 u64")
def quad(c: Context, a: Value, b: Value, start: Value) -> Result:
    """Four 16-bit sums added to those of the third source; they saturate with clamp."""
    return _packed(c, _sums(c, a, b, False), start, c.mods.clamp)


@valu("v_mqsad_pk_u16_u8", "u64 = u64 u32 u64")
def masked_quad(c: Context, a: Value, b: Value, start: Value) -> Result:
    """As v_qsad_pk_u16_u8, without the bytes where the second source is 0."""
    return _packed(c, _sums(c, a, b, True), start, c.mods.clamp)


@valu("v_mqsad_u32_u8", "r4 = u64 u32 r4")
def masked_quad_wide(c: Context, a: Value, b: Value, start: tuple[Value, ...]) -> Result:
    """Four 32-bit sums; they saturate with clamp."""
    sums = _sums(c, a, b, True)
    if c.mods.clamp:
        return tuple(c.intrinsic("uadd.sat", total, old) for total, old in zip(sums, start, strict=True))
    return tuple(total + old for total, old in zip(sums, start, strict=True))
