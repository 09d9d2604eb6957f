"""Movement between the lanes of a wave by a pattern or a selector in scalar registers: RDNA and gfx950."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import State, state

ROW = 16


def _rows(s: State, pointer: Value) -> Value:
    return s.context.writer.load(pointer, "i32", s.context.wave_size, 4)


def _permute_rows(s: State, other_row: bool, own_selector: bool = False) -> None:
    """Each lane of a row reads the lane that its nibble of the 64-bit selector names, in its row or the one beside it.

    `own_selector`: the lane that the low nibble of its own second source names. A lane whose source is inactive keeps
    its old value, or gets 0 with bound_ctrl (op_sel bit 1), or fetches all the same with fi (op_sel bit 0).
    """
    w, size, op_sel = s.context.writer, s.context.wave_size, s.context.mods.op_sel
    selector = None if own_selector else w.combine(s.scalar(1), s.scalar(2))
    mask, source, last = s.exec_mask(), w.buffer(4 * size), 4 * (size - 1)
    w.store(_rows(s, s.rows(0)), source, 64)
    with w.each_bit(mask) as lane:
        own = lane.zext("i64").shl(2)
        if selector is None:
            nibble = w.load(w.at(s.rows(1), own, last), "i32", 0, 4) & (ROW - 1)
        else:
            nibble = selector.lshr((lane & (ROW - 1)).shl(2).zext("i64")).trunc("i32") & (ROW - 1)
        row = lane & ~(ROW - 1)
        chosen = ((row ^ ROW) if other_row else row) | nibble
        value = w.load(w.at(source, chosen.zext("i64").shl(2)), "i32", 0, 4)
        place = w.at(s.rows("dst"), own, last)
        if not op_sel & 1:
            is_active = (mask.lshr(chosen.zext("i64")) & 1).ne(0)
            value = is_active.select(value, 0 if op_sel & 2 else w.load(place, "i32", 0, 4))
        w.store(value, place, 4)


@state("v_permlane16_b32")
def permute_row(s: State) -> None:
    """Within each row of 16 lanes, by a scalar selector."""
    _permute_rows(s, other_row=False)


@state("v_permlanex16_b32")
def permute_across_rows(s: State) -> None:
    """From the other row of each pair of rows of 16 lanes, by a scalar selector."""
    _permute_rows(s, other_row=True)


@state("v_permlane16_var_b32")
def permute_row_by_lane(s: State) -> None:
    """Within each row of 16 lanes, each by its own selector."""
    _permute_rows(s, other_row=False, own_selector=True)


@state("v_permlanex16_var_b32")
def permute_across_rows_by_lane(s: State) -> None:
    """From the other row of each pair of rows of 16 lanes, each by its own selector."""
    _permute_rows(s, other_row=True, own_selector=True)


@state("v_permlane64_b32")
def swap_wave_halves(s: State) -> None:
    """Each active lane reads the lane 32 away, active or not; a move on wave32."""
    w, size = s.context.writer, s.context.wave_size
    order = [lane ^ 32 if size == 64 else lane for lane in range(size)]
    active = (s.exec_mask() if size == 64 else s.exec_mask().trunc("i32")).bits("i1")
    moved = w.shuffle(_rows(s, s.rows(0)), None, order)
    w.store(active.select(moved, _rows(s, s.rows("dst"))), s.rows("dst"), 4)


def _swap(s: State, step: int) -> None:
    """Exchange the odd groups of `step` lanes of the destination with the even groups of the source."""
    w, size = s.context.writer, s.context.wave_size
    first, second = _rows(s, s.rows("dst")), _rows(s, s.rows(0))
    active = s.exec_mask().bits("i1")
    odd = [bool(lane // step % 2) for lane in range(size)]
    to_first = w.shuffle(first, second, [size + lane - step if odd[lane] else lane for lane in range(size)])
    to_second = w.shuffle(first, second, [size + lane if odd[lane] else lane + step for lane in range(size)])
    w.store(active.select(to_first, first), s.rows("dst"), 4)
    w.store(active.select(to_second, second), s.rows(0), 4)


@state("v_permlane16_swap_b32")
def swap_rows(s: State) -> None:
    """Exchanges the odd rows of the destination with the even rows of the source."""
    _swap(s, ROW)


@state("v_permlane32_swap_b32")
def swap_halves(s: State) -> None:
    """Exchanges the high half of the destination with the low half of the source."""
    _swap(s, 32)
