"""Movement between lanes, and between lanes and scalars."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, State, lanes, state


def _at_lane(s: State, rows: Value, lane: Value) -> Value:
    """Pointer to a lane of a register."""
    size = s.context.wave_size
    return s.context.writer.at(rows, (lane & (size - 1)).zext("i64").shl(2), 4 * (size - 1))


@state("v_readlane_b32")
def read_lane(s: State) -> None:
    w = s.context.writer
    s.write_scalar(w.load(_at_lane(s, s.rows(0), s.scalar(1)), "i32"))


@state("v_readfirstlane_b32")
def read_first_lane(s: State) -> None:
    """The lowest active lane; lane 0 where none is."""
    w = s.context.writer
    mask = s.exec_mask()
    first = w.intrinsic("cttz", mask, extra="i1 false").trunc("i32")
    lane = mask.eq(0).select(0, first)
    s.write_scalar(w.load(_at_lane(s, s.rows(0), lane), "i32"))


@state("v_writelane_b32")
def write_lane(s: State) -> None:
    w = s.context.writer
    w.store(s.scalar(0), _at_lane(s, s.rows("dst"), s.scalar(1)), 4)


@lanes("ds_bpermute_b32", "b32 = u32 b32")
def backward_permute(c: Context, address: Value, data: Value) -> Result:
    """Each lane reads the lane that its address (in bytes) names; an inactive source reads 0."""
    which = (address + c.immediate).lshr(2) & (c.wave_size - 1)
    return c.writer.look_up(c.exec_bits.select(data, 0), which)


@lanes("ds_bpermute_fi_b32", "b32 = u32 b32")
def backward_permute_of_all(c: Context, address: Value, data: Value) -> Result:
    """Each lane reads the lane that its address (in bytes) names, active or not."""
    return c.writer.look_up(data, (address + c.immediate).lshr(2) & (c.wave_size - 1))


@lanes("ds_swizzle_b32", "b32 = b32")
def swizzle(c: Context, data: Value) -> Result:
    """By the offset: and, or, xor of the lane number in groups of 32, quad permutation, rotation, or bit reversal."""
    order = [_swizzled(c.immediate, lane) for lane in range(c.wave_size)]
    return c.writer.shuffle(c.exec_bits.select(data, 0), None, order)


@state("ds_permute_b32")
def forward_permute(s: State) -> None:
    """Each active lane writes to the lane that its address names; a lane that nobody writes gets 0."""
    w, size = s.context.writer, s.context.wave_size
    mask, buffer = s.exec_mask(), w.buffer(4 * size)
    w.store(w.constant("i32", 0, size), buffer, 64)
    with w.each_bit(mask) as lane:
        address = w.load(_at_lane(s, s.rows(0), lane), "i32", 0, 4) + s.offset().trunc("i32")
        w.store(w.load(_at_lane(s, s.rows(1), lane), "i32", 0, 4), _at_lane(s, buffer, address.lshr(2)), 4)
    active = (mask if size == 64 else mask.trunc("i32")).bits("i1")
    old = w.load(s.rows("dst"), "i32", size, 4)
    w.store(active.select(w.load(buffer, "i32", size, 64), old), s.rows("dst"), 4)


def _swizzled(pattern: int, lane: int) -> int:
    group, i, mask = lane & ~31, lane & 31, pattern & 31
    if pattern >= 0xE000:  # as the butterflies of a Fourier transform need it
        return group | (int(f"{i:05b}"[::-1], 2) >> mask.bit_count()) | i & mask
    if pattern >= 0xC000:
        distance = (pattern >> 5 & 31) * (-1 if pattern & 0x400 else 1)
        return group | i & mask | (i + distance) & ~mask & 31
    if pattern & 0x8000:
        return lane & ~3 | (pattern >> 2 * (lane & 3) & 3)
    return group | ((i & mask) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)
