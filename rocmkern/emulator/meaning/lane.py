"""Movement between lanes, and between lanes and scalars."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import State, state


def _lane_place(s: State, lane: Value) -> Value:
    return (lane & (s.context.wave_size - 1)).zext("i64").shl(2)


@state("v_readlane_b32")
def read_lane(s: State) -> None:
    w = s.context.writer
    s.write_scalar(w.load(w.at(s.rows(0), _lane_place(s, s.scalar(1))), "i32"))


@state("v_readfirstlane_b32")
def read_first_lane(s: State) -> None:
    """The lowest active lane; lane 0 where none is."""
    w = s.context.writer
    mask = s.exec_mask()
    first = w.intrinsic("cttz", mask, extra="i1 false").trunc("i32")
    lane = mask.eq(0).select(0, first)
    s.write_scalar(w.load(w.at(s.rows(0), _lane_place(s, lane)), "i32"))


@state("v_writelane_b32")
def write_lane(s: State) -> None:
    w = s.context.writer
    w.store(s.scalar(0), w.at(s.rows("dst"), _lane_place(s, s.scalar(1))), 4)


@state("ds_bpermute_b32")
def backward_permute(s: State) -> None:
    """Each active lane reads the lane that its address (in bytes) names; an inactive source reads 0."""
    _permute(s, backward=True)


@state("ds_permute_b32")
def forward_permute(s: State) -> None:
    """Each active lane writes to the lane that its address names; a lane that nobody writes gets 0."""
    _permute(s, backward=False)


def _permute(s: State, backward: bool) -> None:
    w, size = s.context.writer, s.context.wave_size
    mask, buffer = s.exec_mask(), w.buffer(4 * size)
    data = w.load(s.rows(1), "i32", size, 4)
    zero = w.constant("i32", 0, size)
    active = _bits(mask, size)
    w.store(active.select(data, zero) if backward else zero, buffer, 64)
    result = buffer if not backward else w.buffer(4 * size)
    if backward:
        w.store(w.load(s.rows("dst"), "i32", size, 4), result, 64)
    with w.each_bit(mask) as lane:
        own = lane.zext("i64").shl(2)
        address = w.load(w.at(s.rows(0), own), "i32", 0, 4) + s.offset().trunc("i32")
        place = (address.lshr(2) & (size - 1)).zext("i64").shl(2)
        if backward:
            w.store(w.load(w.at(buffer, place), "i32", 0, 4), w.at(result, own), 4)
        else:
            w.store(w.load(w.at(s.rows(1), own), "i32", 0, 4), w.at(buffer, place), 4)
    old = w.load(s.rows("dst"), "i32", size, 4)
    w.store(active.select(w.load(result, "i32", size, 64), old), s.rows("dst"), 4)


def _bits(mask: Value, size: int) -> Value:
    return (mask if size == 64 else mask.trunc("i32")).bits("i1")


@state("ds_swizzle_b32")
def swizzle(s: State) -> None:
    """Quad permutation where bit 15 of the offset is set, else and, or, xor of the lane number in groups of 32."""
    w, size = s.context.writer, s.context.wave_size
    order = [_swizzled(s.inst.imm, lane) for lane in range(size)]
    active = _bits(s.exec_mask(), size)
    data = active.select(w.load(s.rows(0), "i32", size, 4), 0)
    old = w.load(s.rows("dst"), "i32", size, 4)
    w.store(active.select(w.shuffle(data, None, order), old), s.rows("dst"), 4)


def _swizzled(pattern: int, lane: int) -> int:
    group, i = lane & ~31, lane & 31
    if pattern & 0x8000:
        return lane & ~3 | (pattern >> 2 * (lane & 3) & 3)
    return group | ((i & pattern & 31) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)
