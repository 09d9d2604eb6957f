"""The checked mode: finds accesses outside every allocation, use after free, reads of what nothing wrote, LDS races.

It keeps for each byte of device memory whether it is allocated and written, and for each byte of LDS who touched it
since the last barrier. A thread's structure begins with the address of the former and holds the latter; behind it lies
how many barriers each wave has passed.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, ClassVar, Final

from attrs import define, field, frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.addresses import SPACE_OF
from rocmkern.emulator.arena import address_of, reserve
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers.seam import (
    ATOMIC,
    LOAD,
    REASON_SHIFT,
    STORE,
    Accessed,
    Event,
    Observer,
    Observers,
    Point,
    Records,
    Site,
    report,
)
from rocmkern.emulator.wave import field as wave_field
from rocmkern.emulator.wave import wave

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.space import Start

# A byte of device memory.
ALLOCATED: Final = 1
WRITTEN: Final = 2
FREED: Final = 4
EVERY_BYTE: Final = 0x01010101  # of a dword

UNALLOCATED, AFTER_FREE, UNWRITTEN, RACE = range(1, 5)  # reasons

# A byte of LDS: i64 with the barrier interval and the wave of the last write and the last read.
EPOCH_BITS: Final = 20
WAVE_BITS: Final = 8
BY_ATOMIC: Final = 1 << 28
EVER: Final = 1 << 29
READ_SHIFT: Final = 32
MANY: Final = (1 << WAVE_BITS) - 1

# The structure.
MEMORY: Final = 0  # address of the byte for the arena's first one
LDS: Final = 64  # 8 bytes for each of LDS, then the barriers that each wave has passed

_LANE: Final = "(ptr %w, ptr %op, ptr %structure, i64 %lane, i64 %address, i32 %size, i32 %faulty)"
_WAVE: Final = "(ptr %w, ptr %op, ptr %structure, i64 %lanes, ptr %addresses, i64 %bytes, i32 %faulty)"


@frozen
class Checker(Observer):
    """Finds what hardware lets pass."""

    name: ClassVar[str] = "checker"
    apart: ClassVar[bool] = True
    reasons: ClassVar[dict[int, str]] = {
        UNALLOCATED: "outside every allocation",
        AFTER_FREE: "in memory that was freed",
        UNWRITTEN: "of memory that nothing wrote",
        RACE: "that races with another wave: no barrier lies between their accesses, and one writes",
    }

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        """Accesses but of scratch, whose bounds are all that is known of it; barriers."""
        if event == "access":
            return SPACE_OF.get(inst.encoding) != "scratch"
        return event == "instruction" and row.unit == "barrier"

    def functions(self) -> tuple[Code, ...]:
        return (_check_access(),)

    def open(self, arena: Arena) -> Bytes:
        return Bytes(arena.base, arena.capacity)

    def group(self, site: Site) -> None:
        """LDS holds nothing, and no barrier was passed."""
        w, structure = site.writer, site.structure
        w.declarations["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        size = w.load(wave_field(w, at.WAVE_LDS_SIZE), "i64", 0, 8).shl(3)
        w.line(f"call void @llvm.memset.p0.i64(ptr {w.at(structure, LDS).text}, i8 0, i64 {size.text}, i1 false)")
        launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        with w.loop(w.load(w.at(launch, at.LAUNCH_WAVES), "i32", 0, 4).zext("i64")) as number:
            w.store(w.constant("i64", 1), _epoch(w, structure, number), 8)

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        """A barrier."""
        w = point.writer
        spot = _epoch(w, point.structure, _number(w))
        w.store(w.load(spot, "i64", 0, 8) + 1, spot, 8)

    def access(self, point: Point, accessed: Accessed) -> Value:
        return point.writer.call(
            "check_access", "i64", 0, point.wave, point.operation, point.structure, accessed.lanes, accessed.addresses,
            accessed.size, point.faulty(accessed.kind),
        )  # fmt: skip


CHECKED: Final = Observers((Checker(),))


@define(eq=False)
class Bytes(Records):
    """The state of each byte of device memory."""

    base: int  # of the arena
    capacity: int
    _states: mmap.mmap = field(init=False)
    _address: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._states = reserve(self.capacity)
        self._address = address_of(self._states)

    def room(self, start: Start) -> int:
        return LDS + 8 * (start.plan.lds_bytes + start.plan.waves)

    def begin(self, structure: int, start: Start) -> None:
        ctypes.c_uint64.from_address(structure + MEMORY).value = self._address

    def allocated(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, ALLOCATED)

    def freed(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, FREED)

    def written(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, ALLOCATED | WRITTEN)

    def _mark(self, address: int, nbytes: int, state: int) -> None:
        ctypes.memset(self._address + address - self.base, state, nbytes)


def _number(w: Writer) -> Value:
    return w.load(wave_field(w, at.WAVE_NUMBER), "i32", 0, 4).zext("i64")


def _epoch(w: Writer, structure: Value, wave: Value) -> Value:
    """Pointer to how many barriers a wave has passed, from 1 on."""
    size = w.load(wave_field(w, at.WAVE_LDS_SIZE), "i64", 0, 8)
    return w.at(w.at(structure, LDS), (size + wave).shl(3))


def _body(w: Writer) -> str:
    return "\n".join([*w.prologue, *w.lines])


def _check_access() -> Code:
    """`check_access`: the lanes that may go on."""
    one, w = _check_lane(), Writer()
    lanes, addresses = Value(w, "i64", 0, "%lanes"), Value(w, "ptr", 0, "%addresses")
    size, allowed = Value(w, "i64", 0, "%bytes").trunc("i32"), w.variable(lanes)
    with w.each_bit(lanes) as bit:
        lane = bit.zext("i64")
        address = w.load(w.at(addresses, lane.shl(3)), "i64", 0, 8)
        passed = (_operation(w), Value(w, "ptr", 0, "%structure"), lane, address, size, _faulty(w))
        passes = w.call("check_lane", "i1", 0, wave(w), *passed)
        allowed.set(allowed.get() & ~(~passes).zext("i64").shl(lane))
    w.line(f"ret i64 {allowed.get().text}")
    declarations = {s: d for s, d in (one.declarations | w.declarations).items() if s != "check_lane"}
    return Code("check_access", f"{one.text}define i64 @check_access{_WAVE} #0 {{\n{_body(w)}\n}}\n", declarations)


def _check_lane() -> Code:
    """`check_lane`: whether a lane may go on; its first fault is reported, and that of no later one."""
    w = Writer()
    address, structure = Value(w, "i64", 0, "%address"), Value(w, "ptr", 0, "%structure")
    size = Value(w, "i32", 0, "%size").zext("i64")
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    low = w.load(w.at(launch, at.LAUNCH_ARENA), "i64", 0, 8)
    high = w.load(w.at(launch, at.LAUNCH_ARENA_END), "i64", 0, 8)
    offset = address - low
    with w.when(offset.compare("ult", high - low)):
        states = w.at(w.load(w.at(structure, MEMORY), "ptr", 0, 8), offset)
        with w.when((size & 3).eq(0) & size.ne(0)):
            _pass_dwords(w, states, size)
        _check_memory(w, states, size)
        w.line("ret i1 true")
    lds = address - w.load(wave_field(w, at.WAVE_LDS), "i64", 0, 8)
    with w.when(lds.compare("ult", w.load(wave_field(w, at.WAVE_LDS_SIZE), "i64", 0, 8))):
        _check_lds(w, structure, lds, size)
    w.line("ret i1 true")
    return Code("check_lane", f"define internal i1 @check_lane{_LANE} #0 {{\n{_body(w)}\n}}\n", w.declarations)


def _operation(w: Writer) -> Value:
    return Value(w, "ptr", 0, "%op")


def _faulty(w: Writer) -> Value:
    return Value(w, "i32", 0, "%faulty")


def _kind(w: Writer) -> Value:
    return _faulty(w) & ((1 << REASON_SHIFT) - 1)


def _report(w: Writer, reason: int) -> None:
    lane, address, size = Value(w, "i64", 0, "%lane"), Value(w, "i64", 0, "%address"), Value(w, "i32", 0, "%size")
    report(w, lane, address, size, _faulty(w), reason)


def _pass_dwords(w: Writer, states: Value, size: Value) -> None:
    """Return where all is well with whole dwords, as it mostly is."""
    kind = _kind(w)
    whole = [w.constant("i32", EVERY_BYTE * state) for state in (ALLOCATED, ALLOCATED | WRITTEN)]
    wanted = kind.eq(STORE).select(*whole)
    left = w.variable(w.constant("i32", 0))
    with w.loop(size.lshr(2)) as i:
        left.set(left.get() | ((w.load(w.at(states, i.shl(2)), "i32") & wanted) ^ wanted))
    with w.when(left.get().eq(0)):
        with w.when(kind.ne(LOAD)), w.loop(size.lshr(2)) as i:
            w.store(w.constant("i32", EVERY_BYTE * (ALLOCATED | WRITTEN)), w.at(states, i.shl(2)))
        w.line("ret i1 true")


def _check_memory(w: Writer, states: Value, size: Value) -> None:
    kind = _kind(w)
    with w.loop(size) as i:
        place = w.at(states, i)
        state = w.load(place, "i8")
        with w.when((state & ALLOCATED).eq(0)):
            for reason, condition in ((AFTER_FREE, (state & FREED).ne(0)), (UNALLOCATED, (state & FREED).eq(0))):
                with w.when(condition):
                    _report(w, reason)
            w.line("ret i1 false")
        with w.when(kind.ne(STORE) & (state & WRITTEN).eq(0)):
            _report(w, UNWRITTEN)
        with w.when(kind.ne(LOAD)):
            w.store(state | WRITTEN, place)


def _check_lds(w: Writer, structure: Value, offset: Value, size: Value) -> None:
    number = _number(w)
    epoch = w.load(_epoch(w, structure, number), "i64", 0, 8) & ((1 << EPOCH_BITS) - 1)
    me = number + 1
    mine = epoch | me.shl(EPOCH_BITS)
    is_store, is_atomic = _kind(w).eq(STORE), _kind(w).eq(ATOMIC)
    with w.loop(size) as i:
        place = w.at(w.at(structure, LDS), (offset + i).shl(3))
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
