"""The checker's functions: what they find in an access, and at barriers and ends."""

from __future__ import annotations

from typing import Final

from attrs import define, field

from rocmkern.emulator import layout as at
from rocmkern.emulator.ir import Value, Variable, Writer
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers import shadow
from rocmkern.emulator.observers.seam import ATOMIC, IN_SCRATCH, LANE_BITS, LOAD, PLACE_BITS, STORE, report
from rocmkern.emulator.observers.shadow import (
    AFTER_FREE,
    ALLOCATED,
    CODE,
    DIFFERENT,
    DIVERGENT,
    ENDED_EARLY,
    EVERY_BYTE,
    FIRST_READER,
    FREED,
    INTO_CODE,
    LANES,
    LAST_READER,
    MISALIGNED,
    READ_AFTER_WRITE,
    SKIPPED,
    UNALIGNED,
    UNALLOCATED,
    UNWRITTEN,
    WRITE_AFTER_READ,
    WRITE_AFTER_WRITE,
    WRITER,
    WRITTEN,
    collects,
    kind,
    parameter,
    tell,
)
from rocmkern.emulator.wave import field as wave_field
from rocmkern.emulator.wave import wave

# A byte of LDS: i64 with the barrier interval and the wave of the last write and the last read.
EPOCH_BITS: Final = 20
WAVE_BITS: Final = 8
BY_ATOMIC: Final = 1 << 28
EVER: Final = 1 << 29
READ_SHIFT: Final = 32
MANY: Final = (1 << WAVE_BITS) - 1

_LANE: Final = "(ptr %w, ptr %op, ptr %structure, i64 %lane, i64 %address, i32 %size, i32 %faulty)"
_ACCESS: Final = (
    "(ptr %w, ptr %op, ptr %structure, i64 %lanes, ptr %addresses, i64 %bytes, i32 %faulty, ptr %data, i64 %row)"
)
_BARRIER: Final = "(ptr %w, ptr %op, ptr %structure, i64 %lanes, i32 %faulty)"


def functions() -> tuple[Code, ...]:
    return check_access(), check_barrier(), check_end()


def check_access() -> Code:
    """`check_access`: the lanes that may go on."""
    parts, w = (_check_lane(), _check_lanes()), Writer()
    lanes, addresses = parameter(w, "lanes"), parameter(w, "addresses", "ptr")
    size, allowed = parameter(w, "bytes").trunc("i32"), w.variable(lanes)
    data, faulty = parameter(w, "data", "ptr"), parameter(w, "faulty", "i32")
    first = wave(w), parameter(w, "op", "ptr"), parameter(w, "structure", "ptr")
    _pass_run(w, lanes, addresses)
    with w.when(kind(w).eq(LOAD)), w.when(shadow.is_left_out(w)):
        w.line(f"ret i64 {lanes.text}")
    with w.each_bit(lanes) as bit:
        lane = bit.zext("i64")
        address = w.load(w.at(addresses, lane.shl(3)), "i64", 0, 8)
        passes = w.call("check_lane", "i1", 0, *first, lane, address, size, faulty)
        allowed.set(allowed.get() & ~(~passes).zext("i64").shl(lane))
    with w.when(w.emit("icmp ne ptr %data, null", "i1") & collects(w)):
        w.call("check_lanes", "void", 0, *first, lanes, addresses, parameter(w, "bytes"), faulty, data,
               parameter(w, "row"))  # fmt: skip
    w.line(f"ret i64 {allowed.get().text}")
    return _joined("check_access", f"define i64 @check_access{_ACCESS}", w, parts)


def _pass_run(w: Writer, lanes: Value, addresses: Value) -> None:
    """Return where the first lanes load or store what follows each other in device memory, and all is well with it."""
    size, has = parameter(w, "bytes"), kind(w)
    start = w.load(addresses, "i64", 0, 8)
    with w.when((lanes & (lanes + 1)).eq(0) & lanes.ne(0) & has.ne(ATOMIC) & ((start | size) & 1).eq(0)):
        count, low, high = w.intrinsic("ctpop", lanes), *_arena(w)
        total, differs = count * size, w.variable(start.like(0))
        with w.loop(count) as i:
            differs.set(differs.get() | (w.load(w.at(addresses, i.shl(3)), "i64", 0, 8) - start - i * size))
        is_inside = (start - low).compare("ult", high - low) & (start + total).compare("ule", high)
        with w.when(differs.get().eq(0) & is_inside & (total & 7).eq(0) & total.ne(0)):
            structure = parameter(w, "structure", "ptr")
            states = w.at(w.load(w.at(structure, shadow.MEMORY), "ptr", 0, 8), start - low)
            _pass_words(w, states, total.lshr(3), "i64", f"ret i64 {lanes.text}")


def _arena(w: Writer) -> tuple[Value, Value]:
    """Where device memory begins and ends."""
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    return (
        w.load(w.at(launch, at.LAUNCH_ARENA), "i64", 0, 8),
        w.load(w.at(launch, at.LAUNCH_ARENA_END), "i64", 0, 8),
    )


def _joined(symbol: str, head: str, w: Writer, parts: tuple[Code, ...]) -> Code:
    """A function with those that only it calls."""
    own = {p.symbol for p in parts}
    held = (*(p.declarations for p in parts), w.declarations)
    declarations = {s: d for one in held for s, d in one.items() if s not in own}
    text = "".join(p.text for p in parts) + f"{head} #0 {{\n{shadow.body(w)}\n}}\n"
    return Code(symbol, text, declarations)


# Lanes of one instruction.


def _check_lanes() -> Code:
    """`check_lanes`: tells of a lane that stores to where another lane stores another value."""
    w = Writer()
    lanes, addresses, size = parameter(w, "lanes"), parameter(w, "addresses", "ptr"), parameter(w, "bytes")
    ascends, end = w.variable(w.constant("i1", 1)), w.variable(w.constant("i64", 0))
    with w.each_bit(lanes) as bit:
        address = w.load(w.at(addresses, bit.zext("i64").shl(3)), "i64", 0, 8)
        ascends.set(ascends.get() & address.compare("uge", end.get()))
        end.set(address + size)
    with w.when(ascends.get()):
        w.line("ret void")
    with w.each_bit(lanes) as one:
        first = w.load(w.at(addresses, one.zext("i64").shl(3)), "i64", 0, 8)
        with w.each_bit(lanes & ~w.constant("i64", 2).shl(one.zext("i64")) + 1 & lanes) as other:
            _compare_lanes(w, one.zext("i64"), first, other.zext("i64"))
    w.line("ret void")
    text = f"define internal void @check_lanes{_ACCESS} #0 {{\n{shadow.body(w)}\n}}\n"
    return Code("check_lanes", text, w.declarations)


def _compare_lanes(w: Writer, one: Value, first: Value, other: Value) -> None:
    size = parameter(w, "bytes")
    second = w.load(w.at(parameter(w, "addresses", "ptr"), other.shl(3)), "i64", 0, 8)
    with w.when((first - second + size - 1).compare("ult", size.shl(1) - 1)), w.loop(size) as i:
        place = first + i - second
        with w.when(place.compare("ult", size)), w.when(_stored(w, one, i).ne(_stored(w, other, place))):
            by = shadow.here(w) | one.shl(PLACE_BITS) | shadow.number(w).shl(PLACE_BITS + LANE_BITS)
            report(w, other, second, size.trunc("i32"), parameter(w, "faulty", "i32"), LANES, by)
            w.line("ret void")


def _stored(w: Writer, lane: Value, byte: Value) -> Value:
    """A byte that a lane stores."""
    row = byte.lshr(2) * parameter(w, "row")
    return w.load(w.at(parameter(w, "data", "ptr"), row + lane.shl(2) + (byte & 3)), "i8")


# One lane.


@define
class _Once:
    """Tells of an access once for each reason, however many of its bytes there is one for."""

    writer: Writer
    _told: Variable = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._told = self.writer.variable(self.writer.constant("i64", 0))

    def tell(self, condition: Value, reason: int, other: Value | None = None) -> None:
        w, bit = self.writer, 1 << reason
        with w.when(condition & (self._told.get() & bit).eq(0)):
            self._told.set(self._told.get() | bit)
            tell(w, reason, other)


def _check_lane() -> Code:
    """`check_lane`: whether a lane may go on."""
    w = Writer()
    address, structure = parameter(w, "address"), parameter(w, "structure", "ptr")
    size = parameter(w, "size", "i32").zext("i64")
    _check_alignment(w, address, size)
    low, high = _arena(w)
    offset = address - low
    with w.when(offset.compare("ult", high - low)):
        states = w.at(w.load(w.at(structure, shadow.MEMORY), "ptr", 0, 8), offset)
        with w.when((size & 3).eq(0) & size.ne(0)):
            _pass_words(w, states, size.lshr(2), "i32", "ret i1 true")
        _check_memory(w, states, size)
        w.line("ret i1 true")
    lds = address - w.load(wave_field(w, at.WAVE_LDS), "i64", 0, 8)
    with w.when(lds.compare("ult", w.load(wave_field(w, at.WAVE_LDS_SIZE), "i64", 0, 8))):
        _check_lds(w, structure, lds, size)
        w.line("ret i1 true")
    place = address - w.load(wave_field(w, at.WAVE_SCRATCH), "i64", 0, 8)
    with w.when(place.compare("ult", shadow.scratch_bytes(w))):
        _check_scratch(w, shadow.scratch(w, structure), place, size)
    w.line("ret i1 true")
    return Code("check_lane", f"define internal i1 @check_lane{_LANE} #0 {{\n{shadow.body(w)}\n}}\n", w.declarations)


def _check_alignment(w: Writer, address: Value, size: Value) -> None:
    is_atomic = kind(w).eq(ATOMIC)
    with w.when(is_atomic & (address & (size - 1)).ne(0)):
        tell(w, MISALIGNED)
        w.line("ret i1 false")
    with w.when(~is_atomic & size.compare("ugt", 1) & (address & 1).ne(0)), w.when(collects(w)):
        tell(w, UNALIGNED)


def _pass_words(w: Writer, states: Value, count: Value, element: str, result: str) -> None:
    """Return where all is well with so many i32 or i64 of states, as it mostly is."""
    has, shift = kind(w), {"i32": 2, "i64": 3}[element]
    every = EVERY_BYTE if element == "i32" else EVERY_BYTE << 32 | EVERY_BYTE
    wanted = w.constant(element, every * ALLOCATED)
    wanted = has.eq(STORE).select(wanted, wanted * (ALLOCATED | WRITTEN))
    looked = has.eq(LOAD).select(wanted, wanted | every * CODE)
    left = w.variable(w.constant(element, 0))
    with w.loop(count) as i:
        left.set(left.get() | ((w.load(w.at(states, i.shl(shift)), element) & looked) ^ wanted))
    with w.when(left.get().eq(0)):
        with w.when(has.ne(LOAD)), w.loop(count) as i:
            w.store(w.constant(element, every * (ALLOCATED | WRITTEN)), w.at(states, i.shl(shift)))
        w.line(result)


def _check_memory(w: Writer, states: Value, size: Value) -> None:
    has, once = kind(w), _Once(w)
    with w.loop(size) as i:
        place = w.at(states, i)
        state = w.load(place, "i8")
        for reason, condition in (
            (AFTER_FREE, (state & ALLOCATED).eq(0) & (state & FREED).ne(0)),
            (UNALLOCATED, (state & ALLOCATED).eq(0) & (state & FREED).eq(0)),
            (INTO_CODE, (state & CODE).ne(0) & has.ne(LOAD)),
        ):
            with w.when(condition):
                tell(w, reason)
                w.line("ret i1 false")
        once.tell(has.ne(STORE) & (state & WRITTEN).eq(0), UNWRITTEN)
        with w.when(has.ne(LOAD)):
            w.store(state | WRITTEN, place)


def _check_scratch(w: Writer, states: Value, offset: Value, size: Value) -> None:
    first = w.at(states, shadow.number(w) * shadow.scratch_bytes(w) + offset)
    is_store = kind(w).eq(STORE)
    with w.loop(size) as i:
        place = w.at(first, i)
        with w.when(is_store):
            w.store(w.constant("i8", 1), place)
        with w.when(~is_store & w.load(place, "i8").eq(0)):
            lane, address, held = parameter(w, "lane"), parameter(w, "address"), parameter(w, "size", "i32")
            report(w, lane, address, held, parameter(w, "faulty", "i32") | IN_SCRATCH, UNWRITTEN)
            w.line("ret i1 true")


def _check_lds(w: Writer, structure: Value, offset: Value, size: Value) -> None:
    number = shadow.number(w)
    epoch = w.load(shadow.epoch(w, structure, number), "i64", 0, 8) & ((1 << EPOCH_BITS) - 1)
    me = number + 1
    mine = epoch | me.shl(EPOCH_BITS)
    is_store, is_atomic = kind(w).eq(STORE), kind(w).eq(ATOMIC)
    writes, this, once = is_store | is_atomic, shadow.me(w), _Once(w)
    with w.loop(size) as i:
        place = w.at(w.at(structure, shadow.LDS), (offset + i).shl(3))
        by = shadow.who(w, structure, offset + i)
        state = w.load(place, "i64", 0, 8)
        once.tell(~is_store & (state & EVER).eq(0), UNWRITTEN)
        clashes = _other(state, epoch, me) & ~(is_atomic & (state & BY_ATOMIC).ne(0))
        other = w.load(w.at(by, WRITER), "i64", 0, 8)
        once.tell(clashes & writes, WRITE_AFTER_WRITE, other)
        once.tell(clashes & ~writes, READ_AFTER_WRITE, other)
        read = state.lshr(READ_SHIFT)
        once.tell(writes & _other(read, epoch, me), WRITE_AFTER_READ, _reader(w, by, number))
        same_interval = (read & ((1 << EPOCH_BITS) - 1)).eq(epoch)
        several = same_interval & (read.lshr(EPOCH_BITS) & MANY).ne(me)
        reader = several.select(epoch | MANY << EPOCH_BITS, mine)
        plain = ((state ^ mine) & (EVER - 1)).eq(0) & (state & EVER).ne(0)  # this wave has stored there as well
        written = mine | EVER | (is_atomic & ~plain).select(w.constant("i64", BY_ATOMIC), 0)
        low = writes.select(written, state & 0xFFFFFFFF)
        high = is_store.select(read, reader).shl(READ_SHIFT)
        w.store(low | writes.select(read.shl(READ_SHIFT), high), place, 8)
        with w.when(writes):
            w.store(this, w.at(by, WRITER), 8)
        with w.when(~writes):
            w.store(this, w.at(by, LAST_READER), 8)
            with w.when(~same_interval):
                w.store(this, w.at(by, FIRST_READER), 8)


def _reader(w: Writer, by: Value, number: Value) -> Value:
    """The first reader of the interval, or the last one where that is this wave."""
    first, last = (w.load(w.at(by, which), "i64", 0, 8) for which in (FIRST_READER, LAST_READER))
    return (first.lshr(PLACE_BITS + LANE_BITS)).eq(number).select(last, first)


def _other(record: Value, epoch: Value, me: Value) -> Value:
    """Another wave did it in this interval."""
    by = record.lshr(EPOCH_BITS) & MANY
    return (record & ((1 << EPOCH_BITS) - 1)).eq(epoch) & by.ne(0) & by.ne(me)


# Barriers.


def _tell_of_wave(w: Writer, reason: int, other: Value | None = None) -> None:
    """Report a barrier or an end of a wave."""
    lanes = parameter(w, "lanes")
    lane = lanes.eq(0).select(0, w.intrinsic("cttz", lanes, extra="i1 false"))
    report(w, lane, lanes.like(0), w.constant("i32", 0), parameter(w, "faulty", "i32"), reason, other)


def check_barrier() -> Code:
    """`check_barrier`: a wave comes to one. Whether that is well is only looked at where faults are collected: the
    hardware counts waves that have not ended.
    """
    w = Writer()
    structure, lanes = parameter(w, "structure", "ptr"), parameter(w, "lanes")
    count = shadow.epoch(w, structure, shadow.number(w))
    barrier = w.load(count, "i64", 0, 8)
    with w.when(collects(w)):
        arrived = w.load(w.at(structure, shadow.ARRIVED), "i64", 0, 8)
        w.store(arrived.compare("ult", barrier).select(barrier, arrived), w.at(structure, shadow.ARRIVED), 8)
        with w.when(w.load(w.at(structure, shadow.ENDED), "i64", 0, 8).compare("ule", barrier)):
            _tell_of_wave(w, SKIPPED)
        slot, place = w.at(w.at(structure, shadow.BARRIERS), (barrier & 1).shl(4)), shadow.here(w)
        is_first = w.load(slot, "i64", 0, 8).ne(barrier)
        other = w.load(w.at(slot, 8), "i64", 0, 8)
        with w.when(is_first):
            w.store(barrier, slot, 8)
            w.store(place | shadow.number(w).shl(PLACE_BITS + LANE_BITS), w.at(slot, 8), 8)
        with w.when(~is_first & ((other ^ place) & ((1 << PLACE_BITS) - 1)).ne(0)):
            _tell_of_wave(w, DIFFERENT, other)
        launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        masks = w.load(w.at(launch, at.LAUNCH_MASKS), "ptr", 0, 8)
        with w.when(w.load(w.at(masks, shadow.number(w).shl(3)), "i64", 0, 8).ne(lanes)):
            _tell_of_wave(w, DIVERGENT)
    w.store(barrier + 1, count, 8)
    w.line("ret void")
    text = f"define void @check_barrier{_BARRIER} #0 {{\n{shadow.body(w)}\n}}\n"
    return Code("check_barrier", text, w.declarations)


def check_end() -> Code:
    """`check_end`: a wave ends, which it must not ahead of a barrier that others come to."""
    w = Writer()
    structure = parameter(w, "structure", "ptr")
    following = w.load(shadow.epoch(w, structure, shadow.number(w)), "i64", 0, 8)
    ended = w.load(w.at(structure, shadow.ENDED), "i64", 0, 8)
    w.store(ended.compare("ult", following).select(ended, following), w.at(structure, shadow.ENDED), 8)
    skips = w.load(w.at(structure, shadow.ARRIVED), "i64", 0, 8).compare("uge", following)
    with w.when(skips), w.when(collects(w)):
        _tell_of_wave(w, ENDED_EARLY)
    w.line("ret void")
    text = f"define void @check_end{_BARRIER} #0 {{\n{shadow.body(w)}\n}}\n"
    return Code("check_end", text, w.declarations)
