"""Movement between lanes and scalars."""

from __future__ import annotations

from rocmkern.emulator.meaning.api import State, state


@state("v_readlane_b32")
def read_lane(s: State) -> None:
    w = s.context.writer
    lane = s.scalar(1) & (s.context.wave_size - 1)
    s.write_scalar(w.load(w.at(s.rows(0), lane.zext("i64").shl(2)), "i32"))
