"""The checked mode's bookkeeping: per byte of device memory whether it is allocated and written, per byte of LDS who
touched it since the last barrier.

`check_access(wave, op, lane, address, size, kind) -> bool` records what is wrong; false: the lane must not do it.
"""

from __future__ import annotations

from typing import Final

from rocmkern.emulator import layout as at
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.native import Code
from rocmkern.emulator.wave import field, wave

# A byte of device memory.
ALLOCATED: Final = 1
WRITTEN: Final = 2
FREED: Final = 4

# Kinds of access, and reasons, as `record_fault` gets them: kind | reason << 4.
LOAD, STORE, ATOMIC = range(3)
OUTSIDE, UNALLOCATED, AFTER_FREE, UNWRITTEN, RACE = range(5)

# A byte of LDS: i64 with the barrier interval and the wave of the last write and the last read.
EPOCH_BITS: Final = 20
WAVE_BITS: Final = 8
BY_ATOMIC: Final = 1 << 28
EVER: Final = 1 << 29
READ_SHIFT: Final = 32
MANY: Final = (1 << WAVE_BITS) - 1
LDS_RECORD_BYTES: Final = 8

_PARAMETERS: Final = "(ptr %w, ptr %op, i64 %lane, i64 %address, i32 %size, i32 %kind)"


def code() -> Code:
    w = Writer()
    address = Value(w, "i64", 0, "%address")
    size = Value(w, "i32", 0, "%size").zext("i64")
    launch = w.load(field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    low = w.load(w.at(launch, at.LAUNCH_ARENA), "i64", 0, 8)
    high = w.load(w.at(launch, at.LAUNCH_ARENA_END), "i64", 0, 8)
    offset = address - low
    with w.when(offset.compare("ult", high - low)):
        _check_memory(w, w.load(w.at(launch, at.LAUNCH_SHADOW), "ptr", 0, 8), offset, size)
        w.line("ret i1 true")
    lds = address - w.load(field(w, at.WAVE_LDS), "i64", 0, 8)
    with w.when(lds.compare("ult", w.load(field(w, at.WAVE_LDS_SIZE), "i64", 0, 8))):
        _check_lds(w, lds, size)
    w.line("ret i1 true")
    body = "\n".join([*w.prologue, *w.lines])
    return Code("check_access", f"define i1 @check_access{_PARAMETERS} #0 {{\n{body}\n}}\n", w.declarations)


def _kind(w: Writer) -> Value:
    return Value(w, "i32", 0, "%kind")


def _report(w: Writer, reason: int) -> None:
    w.call(
        "record_fault", "void", 0, wave(w), Value(w, "ptr", 0, "%op"), Value(w, "i64", 0, "%lane"),
        Value(w, "i64", 0, "%address"), Value(w, "i32", 0, "%size"), _kind(w) | reason << 4,
    )  # fmt: skip


def _check_memory(w: Writer, shadow: Value, offset: Value, size: Value) -> None:
    with w.loop(size) as i:
        place = w.at(shadow, offset + i)
        state = w.load(place, "i8")
        with w.when((state & ALLOCATED).eq(0)):
            for reason, condition in ((AFTER_FREE, (state & FREED).ne(0)), (UNALLOCATED, (state & FREED).eq(0))):
                with w.when(condition):
                    _report(w, reason)
            w.line("ret i1 false")
        with w.when(_kind(w).ne(STORE) & (state & WRITTEN).eq(0)):
            _report(w, UNWRITTEN)
        with w.when(_kind(w).ne(LOAD)):
            w.store(state | WRITTEN, place)


def _check_lds(w: Writer, offset: Value, size: Value) -> None:
    shadow = w.load(field(w, at.WAVE_LDS_SHADOW), "ptr", 0, 8)
    epoch = w.load(field(w, at.WAVE_EPOCH), "i64", 0, 8) & ((1 << EPOCH_BITS) - 1)
    me = w.load(field(w, at.WAVE_NUMBER), "i32", 0, 4).zext("i64") + 1
    mine = epoch | me.shl(EPOCH_BITS)
    is_store, is_atomic = _kind(w).eq(STORE), _kind(w).eq(ATOMIC)
    with w.loop(size) as i:
        place = w.at(shadow, (offset + i).shl(3))
        state = w.load(place, "i64", 0, 8)
        with w.when(~is_store & (state & EVER).eq(0)):
            _report(w, UNWRITTEN)
        both_atomic = is_atomic & (state & BY_ATOMIC).ne(0)
        with w.when(_other(state, epoch, me) & ~both_atomic):
            _report(w, RACE)
        read = state.lshr(READ_SHIFT)
        writes = is_store | is_atomic
        with w.when(writes & _other(read, epoch, me)):
            _report(w, RACE)
        same_interval = (read & ((1 << EPOCH_BITS) - 1)).eq(epoch)
        several = same_interval & (read.lshr(EPOCH_BITS) & MANY).ne(me)
        reader = several.select(epoch | MANY << EPOCH_BITS, mine)
        written = mine | EVER | is_atomic.select(w.constant("i64", BY_ATOMIC), 0)
        low = writes.select(written, state & 0xFFFFFFFF)
        high = is_store.select(read, reader).shl(READ_SHIFT)
        w.store(low | writes.select(read.shl(READ_SHIFT), high), place, 8)


def _other(record: Value, epoch: Value, me: Value) -> Value:
    """Another wave did it in this interval."""
    by = record.lshr(EPOCH_BITS) & MANY
    return (record & ((1 << EPOCH_BITS) - 1)).eq(epoch) & by.ne(0) & by.ne(me)
