"""Finds races in device memory: accesses of two waves to the same bytes, one a write, that nothing orders.

Waves of a workgroup are ordered by barriers. Workgroups are ordered where one *releases*, by an atomic or a store once
nothing of its wave's stores is under way, and another one *acquires* after that, by dropping what its caches hold. It
isn't followed by which address one told the other, so an order that was meant for something else counts too.
Accesses of a scope beyond the workgroup, which languages make of atomic loads and stores, race with each other only
where both store, and not the same.

Device memory has a cell for each dword with its last write and last read. It is looked at only where faults are
collected; the launch then runs on one thread.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, ClassVar, Final

from attrs import define, frozen

from rocmkern import targets
from rocmkern.emulator import faults
from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import address_of, reserve
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.simm import waits
from rocmkern.emulator.isa.table import CDNA
from rocmkern.emulator.meaning.api import Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.emulator.observers.seam import (
    ATOMIC,
    LANE_BITS,
    LOAD,
    PLACE_BITS,
    STORE,
    WAVE_BITS,
    Accessed,
    Event,
    Observer,
    Observers,
    Point,
    Reason,
    Records,
    Site,
    report,
)
from rocmkern.emulator.observers.shadow import body, group_number, here, is_left_out, number, parameter
from rocmkern.emulator.wave import field as wave_field
from rocmkern.emulator.wave import wave

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.space import Start

# A cell: who wrote last, and who read. The first word of either says in which launch, workgroup, barrier interval and
# wave, and which bytes of the dword; the second one by which instruction and lane, how, and when.
CELL_BYTES: Final = 32
WRITE, READ = 0, 16
BYTES_BITS, EPOCH_BITS, GROUP_BITS = 4, 14, 24
EPOCH_SHIFT: Final = BYTES_BITS + WAVE_BITS
GROUP_SHIFT: Final = EPOCH_SHIFT + EPOCH_BITS
LAUNCH_SHIFT: Final = GROUP_SHIFT + GROUP_BITS
IS_COHERENT: Final = 1 << PLACE_BITS + LANE_BITS
IS_ATOMIC: Final = IS_COHERENT << 1
TIME_SHIFT: Final = PLACE_BITS + LANE_BITS + 2

# The structure of a thread.
CELLS: Final = 0  # address of the arena's first one
COHERENT: Final = 8  # the access that follows has a wide scope
WAVES: Final = 16  # two words each: the number of barriers passed, stores under way
UNWAITED, UNWRITTEN = 1, 2  # of the second word

READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE, SAME_VALUE = range(1, 5)
_REMEDY: Final = (
    "order them: by a barrier within a workgroup, by atomics that release and acquire for the agent between them"
)
_WRITES_BACK: Final = frozenset({"gfx940", "gfx950"})  # where stores stay in the cache of a part of the GPU
_MARKS_STORES: Final = frozenset({"gfx940", "gfx950", "gfx12"})  # of a wide scope; elsewhere they look like any
_INVALIDATES: Final = ("buffer_wbinvl1", "buffer_gl1_inv", "global_inv", "buffer_inv")
_PARAMETERS: Final = (
    "ptr %w, ptr %op, ptr %structure, i64 %lanes, ptr %addresses, i64 %bytes, i32 %faulty, ptr %data, i64 %row"
)
_DWORD: Final = (
    "ptr %w, ptr %op, ptr %structure, ptr %cell, i64 %mask, i64 %lane, i64 %address, i32 %size, i32 %faulty, ptr %data,"
    " i64 %row"
)


def _is_wide(isa: str, inst: Inst) -> bool:
    """Whether an access has a scope beyond the workgroup."""
    cache = inst.mods.cache
    return cache >> 3 & 3 >= 2 if isa == "gfx12" else bool(cache & (4 if isa in _WRITES_BACK else 1))


def _awaits_stores(isa: str, inst: Inst) -> bool:
    """Whether nothing that was stored before is under way after it."""
    word = inst.imm & 0xFFFF
    if inst.name == "s_waitcnt":
        return isa in CDNA and waits(isa, word).get("vmcnt") == 0
    if inst.name == "s_wait_storecnt_dscnt":
        return not word >> 8
    return inst.name == "s_wait_idle" or (inst.name in ("s_waitcnt_vscnt", "s_wait_storecnt") and not word)


@frozen
class Races(Observer):
    """Finds races in device memory."""

    isa: str
    name: ClassVar[str] = "races"
    reasons: ClassVar[dict[int, Reason]] = {
        READ_AFTER_WRITE: Reason("race, read after write", "that races with a store: nothing orders them", _REMEDY),
        WRITE_AFTER_READ: Reason("race, write after read", "that races with a load: nothing orders them", _REMEDY),
        WRITE_AFTER_WRITE: Reason("race, write after write", "that races with a store: nothing orders them", _REMEDY),
        SAME_VALUE: Reason("race, same value", "that races with a store of the same value", _REMEDY, is_note=True),
    }

    @property
    def key(self) -> str:
        return f"{self.name}_{self.isa}"

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        if event == "access":
            return row.unit == "memory" and inst.encoding not in ("DS", "VDS", "SCRATCH", "VSCRATCH")
        return event == "instruction" and bool(self._means(row, inst))

    def _means(self, row: Row, inst: Inst) -> str:
        """What an instruction does to the order of accesses."""
        if row.unit == "barrier":
            return "barrier"
        if inst.name.startswith(_INVALIDATES):
            return "acquire" if inst.name.startswith("buffer_wb") or "gl1" in inst.name or self._wide(inst) else ""
        if inst.name == "buffer_wbl2":
            return "write back"
        if row.unit == "memory":
            return "wide access" if inst.encoding != "SMEM" and self._wide(inst) else ""
        return "wait" if _awaits_stores(self.isa, inst) else ""

    def _wide(self, inst: Inst) -> bool:
        return _is_wide(self.isa, inst)

    def functions(self) -> tuple[Code, ...]:
        return (_check_races(self.isa),)

    def open(self, arena: Arena) -> Cells:
        return Cells(arena.base, arena.capacity)

    def group(self, site: Site) -> None:
        w, waves = site.writer, site.writer.at(site.structure, WAVES)
        launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        with w.loop(w.load(w.at(launch, at.LAUNCH_WAVES), "i32", 0, 4).zext("i64")) as i:
            w.store(w.constant("i64", 0, 2), w.at(waves, i.shl(4)), 8)
        w.store(w.constant("i64", 0), w.at(site.structure, COHERENT), 8)

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        w, mine = point.writer, _mine(point.writer, point.structure)
        means = self._means(row, inst)
        if means == "barrier":
            w.store(w.load(mine, "i64", 0, 8) + 1, mine, 8)
        elif means == "wide access":
            w.store(w.constant("i64", 1), w.at(point.structure, COHERENT), 8)
        elif means == "acquire":
            log = _log(w)
            with w.when(log.ne(0)):
                _stamp(w, _pointer(w, log), faults.ACQUIRED)
        else:
            pending, bit = w.at(mine, 8), UNWAITED if means == "wait" else UNWRITTEN
            w.store(w.load(pending, "i64", 0, 8) & ~bit, pending, 8)

    def access(self, point: Point, accessed: Accessed) -> None:
        w = point.writer
        data = accessed.data if accessed.data is not None else Value(w, "ptr", 0, "null")
        where = point.wave, point.operation, point.structure, accessed.lanes, accessed.addresses, accessed.size
        row = w.constant("i64", 4 * point.wave_size)
        w.call(f"check_races_{self.isa}", "void", 0, *where, point.faulty(accessed.kind), data, row)


def observers(target: str) -> Observers:
    """What watches a checked device of a target."""
    return Observers((*CHECKED.those, Races(targets.isa(target))))


@define(eq=False)
class Cells(Records):
    """A cell for each dword of device memory, made once faults are collected."""

    base: int  # of the arena
    capacity: int
    _memory: mmap.mmap | None = None
    _round: int = 0  # of the numbers of launches, which begin anew

    def room(self, start: Start) -> int:
        return WAVES + 16 * start.plan.waves

    def begin(self, structure: int, start: Start) -> None:
        cells = ctypes.c_uint64.from_address(structure + CELLS)
        cells.value = 0
        if faults.COLLECTORS:
            now = faults.launches() // faults.NUMBERS
            if self._memory is None or self._round != now:
                self._memory, self._round = reserve(self.capacity * CELL_BYTES // 4), now
            cells.value = address_of(self._memory)

    def freed(self, address: int, nbytes: int) -> None:
        """The address is not used again, so what is known of it may go."""
        if self._memory is None:
            return
        scale = CELL_BYTES // 4
        first = -(-(address - self.base) * scale // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (address - self.base + nbytes) * scale // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self._memory.madvise(mmap.MADV_DONTNEED, first, last - first)


def _mine(w: Writer, structure: Value) -> Value:
    return w.at(w.at(structure, WAVES), number(w).shl(4))


def _log(w: Writer) -> Value:
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    return w.load(w.at(launch, at.LAUNCH_LOG), "i64", 0, 8)


def _pointer(w: Writer, address: Value) -> Value:
    return w.emit(f"inttoptr i64 {address.text} to ptr", "ptr")


def _group(w: Writer) -> Value:
    """The number of the workgroup in the launch, as records have it."""
    return group_number(w) & ((1 << GROUP_BITS) - 1)


def _times(w: Writer, log: Value, group: Value) -> Value:
    """Pointer to when a workgroup last released and acquired."""
    return w.at(w.load(w.at(log, faults.TIMES), "ptr", 0, 8), group.shl(4))


def _stamp(w: Writer, log: Value, which: int) -> None:
    """This workgroup releases or acquires now."""
    now = w.load(w.at(log, faults.CLOCK), "i64", 0, 8) + 1
    w.store(now, w.at(log, faults.CLOCK), 8)
    w.store(now, w.at(_times(w, log, _group(w)), which), 8)


def _check_races(isa: str) -> Code:
    """`check_races_…`: an access of lanes."""
    one, w = _check_dword(isa), Writer()
    structure, faulty = parameter(w, "structure", "ptr"), parameter(w, "faulty", "i32")
    cells, log = w.load(w.at(structure, CELLS), "i64", 0, 8), _log(w)
    with w.when(cells.eq(0) | log.eq(0)):
        w.line("ret void")
    with w.when(is_left_out(w)):
        w.store(w.constant("i64", 0), w.at(structure, COHERENT), 8)
        w.line("ret void")
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    low, high = (w.load(w.at(launch, limit), "i64", 0, 8) for limit in (at.LAUNCH_ARENA, at.LAUNCH_ARENA_END))
    size, row, data = parameter(w, "bytes"), parameter(w, "row"), parameter(w, "data", "ptr")
    with w.when((faulty & 7).ne(LOAD)):
        _release(w, _pointer(w, log), structure, isa in _WRITES_BACK)
    _pass_run(w, _pointer(w, cells), low, high)
    with w.each_bit(parameter(w, "lanes")) as bit:
        lane = bit.zext("i64")
        address = w.load(w.at(parameter(w, "addresses", "ptr"), lane.shl(3)), "i64", 0, 8)
        with w.when((address - low).compare("ult", high - low) & size.ne(0)):
            first = address - low
            begin = first.lshr(2)
            with w.loop((first + size - 1).lshr(2) - begin + 1) as i:
                dword = begin + i
                ahead = dword.shl(2).compare("ult", first).select(first - dword.shl(2), 0)
                rest = first + size - dword.shl(2)
                behind = rest.compare("ult", 4).select(rest, 4)
                mask = (w.constant("i64", 1).shl(behind) - 1) & ~(w.constant("i64", 1).shl(ahead) - 1)
                cell = w.at(_pointer(w, cells), dword * CELL_BYTES)
                where = wave(w), parameter(w, "op", "ptr"), structure, cell, mask, lane, address, size.trunc("i32")
                w.call(f"check_dword_{isa}", "void", 0, *where, faulty, data, row)
    w.store(w.constant("i64", 0), w.at(structure, COHERENT), 8)
    w.line("ret void")
    declarations = {s: d for s, d in (one.declarations | w.declarations).items() if s != one.symbol}
    symbol = f"check_races_{isa}"
    text = f"{one.text}define void @{symbol}({_PARAMETERS}) #0 {{\n{body(w)}\n}}\n"
    return Code(symbol, text, declarations)


def _pass_run(w: Writer, cells: Value, low: Value, high: Value) -> None:
    """Return where the first lanes go to whole dwords one after the other, of which another wave touched none in this
    launch, as it mostly is.
    """
    lanes, size, addresses = parameter(w, "lanes"), parameter(w, "bytes"), parameter(w, "addresses", "ptr")
    structure, kind, start = parameter(w, "structure", "ptr"), _kind(w), w.load(addresses, "i64", 0, 8)
    is_aligned = ((start | size) & 3).eq(0) & size.ne(0) & kind.ne(ATOMIC)
    with w.when((lanes & (lanes + 1)).eq(0) & lanes.ne(0) & is_aligned):
        count, differs = w.intrinsic("ctpop", lanes), w.variable(start.like(0))
        with w.loop(count) as i:
            differs.set(differs.get() | (w.load(w.at(addresses, i.shl(3)), "i64", 0, 8) - start - i * size))
        is_inside = (start - low).compare("ult", high - low) & (start + count * size).compare("ule", high)
        with w.when(differs.get().eq(0) & is_inside):
            first, dwords, me = (start - low).lshr(2), size.lshr(2), _me(w) | ((1 << BYTES_BITS) - 1)
            total, others = count * dwords, w.variable(start.like(0))
            with w.loop(total) as i:
                cell = w.at(cells, (first + i) * CELL_BYTES)
                for place in (WRITE, READ):
                    differ = w.load(w.at(cell, place), "i64", 0, 8) ^ me
                    is_other = differ.lshr(LAUNCH_SHIFT).eq(0) & differ.lshr(BYTES_BITS).ne(0)
                    others.set(others.get() | is_other.zext("i64"))
            with w.when(others.get().eq(0)):
                records = w.at(cells, kind.eq(LOAD).select(start.like(READ), start.like(WRITE)))
                is_wide = w.load(w.at(structure, COHERENT), "i64", 0, 8).ne(0)
                by = _by(w, start.like(0), _how(w, is_wide, kind.eq(ATOMIC)))
                with w.loop(count) as lane, w.loop(dwords) as i:
                    record = w.at(records, (first + lane * dwords + i) * CELL_BYTES)
                    _keep(w, record, w.load(record, "i64", 0, 8), me, by | lane.shl(PLACE_BITS))
                w.store(start.like(0), w.at(structure, COHERENT), 8)
                w.line("ret void")


def _me(w: Writer) -> Value:
    """The first word of this wave's records in this interval, without bytes."""
    structure, log = parameter(w, "structure", "ptr"), _pointer(w, _log(w))
    epoch = w.load(_mine(w, structure), "i64", 0, 8) & ((1 << EPOCH_BITS) - 1)
    launch = w.load(w.at(log, faults.NUMBER), "i64", 0, 8)
    return launch.shl(LAUNCH_SHIFT) | _group(w).shl(GROUP_SHIFT) | epoch.shl(EPOCH_SHIFT) | number(w).shl(BYTES_BITS)


def _how(w: Writer, is_wide: Value, is_atomic: Value) -> Value:
    zero = w.constant("i64", 0)
    return is_wide.select(zero + IS_COHERENT, zero) | is_atomic.select(zero + IS_ATOMIC, zero)


def _by(w: Writer, lane: Value, how: Value) -> Value:
    """The second word of a record."""
    time = w.load(w.at(_pointer(w, _log(w)), faults.CLOCK), "i64", 0, 8)
    return here(w) | lane.shl(PLACE_BITS) | how | time.shl(TIME_SHIFT)


def _release(w: Writer, log: Value, structure: Value, writes_back: bool) -> None:
    """A store or an atomic tells of what its wave stored before, unless that is still under way. A plain store is, from
    now on.
    """
    pending = w.at(_mine(w, structure), 8)
    state = w.load(pending, "i64", 0, 8)
    with w.when(state.eq(0)):
        _stamp(w, log, faults.RELEASED)
    is_store, is_wide = _kind(w).eq(STORE), w.load(w.at(structure, COHERENT), "i64", 0, 8).ne(0)
    plain = state | UNWAITED | (UNWRITTEN if writes_back else 0)
    w.store(is_store.select(is_wide.select(state | UNWAITED, plain), state), pending, 8)


def _kind(w: Writer) -> Value:
    return parameter(w, "faulty", "i32") & 7


def _check_dword(isa: str) -> Code:
    """`check_dword_…`: one lane goes to bytes of one dword."""
    w = Writer()
    structure, cell, log = parameter(w, "structure", "ptr"), parameter(w, "cell", "ptr"), _pointer(w, _log(w))
    kind, group = _kind(w), _group(w)
    is_load, is_store, is_atomic = kind.eq(LOAD), kind.eq(STORE), kind.eq(ATOMIC)
    is_wide = is_atomic | w.load(w.at(structure, COHERENT), "i64", 0, 8).ne(0)
    me, by = _me(w) | parameter(w, "mask"), _by(w, parameter(w, "lane"), _how(w, is_wide, is_atomic))
    write, writer = (w.load(w.at(cell, WRITE + 8 * i), "i64", 0, 8) for i in range(2))
    read, reader = (w.load(w.at(cell, READ + 8 * i), "i64", 0, 8) for i in range(2))
    both_wide = is_wide & (writer & IS_COHERENT).ne(0)
    reads_wide = both_wide if isa in _MARKS_STORES else is_wide
    clashes = _clashes(w, log, me, write, writer, group)
    with w.when(clashes & is_load & ~reads_wide):
        _tell(w, READ_AFTER_WRITE, write, writer, group)
    stores_both = is_store & (writer & IS_ATOMIC).eq(0)
    with w.when(clashes & ~is_load & (~both_wide | stores_both)):
        with w.when(_is_there(w)):
            _tell(w, SAME_VALUE, write, writer, group)
        with w.when(~_is_there(w)):
            _tell(w, WRITE_AFTER_WRITE, write, writer, group)
    clashes = _clashes(w, log, me, read, reader, group)
    may_be_wide = is_wide if isa in _MARKS_STORES else is_wide | is_store
    with w.when(clashes & ~is_load & ~(may_be_wide & (reader & IS_COHERENT).ne(0))):
        _tell(w, WRITE_AFTER_READ, read, reader, group)
    with w.when(~is_load):
        _keep(w, w.at(cell, WRITE), write, me, by)
    with w.when(is_load & ~clashes):  # the first of several readers stays
        _keep(w, w.at(cell, READ), read, me, by)
    w.line("ret void")
    symbol = f"check_dword_{isa}"
    return Code(symbol, f"define internal void @{symbol}({_DWORD}) #0 {{\n{body(w)}\n}}\n", w.declarations)


def _keep(w: Writer, place: Value, old: Value, new: Value, by: Value) -> None:
    """Write a record, with the bytes of the last one where that is of the same wave and interval: then only what both
    were counts.
    """
    is_same, how = (old ^ new).lshr(BYTES_BITS).eq(0), IS_COHERENT | IS_ATOMIC
    w.store(is_same.select(old | new, new), place, 8)
    last = w.load(w.at(place, 8), "i64", 0, 8)
    w.store(by & ~(is_same.select(how & ~last, by.like(0))), w.at(place, 8), 8)


def _clashes(w: Writer, log: Value, me: Value, record: Value, by: Value, group: Value) -> Value:
    """Whether nothing orders another wave's access of the same bytes and this one."""
    differs = record ^ me
    same_launch, overlaps = differs.lshr(LAUNCH_SHIFT).eq(0), (record & me & ((1 << BYTES_BITS) - 1)).ne(0)
    same_group = (differs.lshr(GROUP_SHIFT) & ((1 << GROUP_BITS) - 1)).eq(0)
    same_wave = (differs.lshr(BYTES_BITS) & ((1 << WAVE_BITS) - 1)).eq(0)
    same_interval = (differs.lshr(EPOCH_SHIFT) & ((1 << EPOCH_BITS) - 1)).eq(0)
    unordered = (same_group & same_interval & ~same_wave) | ~same_group
    found, then = w.variable(w.constant("i1", 0)), by.lshr(TIME_SHIFT)
    with w.when(same_launch & overlaps & unordered):
        other = record.lshr(GROUP_SHIFT) & ((1 << GROUP_BITS) - 1)
        released = w.load(w.at(_times(w, log, other), faults.RELEASED), "i64", 0, 8)
        acquired = w.load(w.at(_times(w, log, group), faults.ACQUIRED), "i64", 0, 8)
        found.set(~(released.compare("ugt", then) & acquired.compare("ugt", then)))
    return found.get()


def _is_there(w: Writer) -> Value:
    """Whether memory holds already what a store writes there."""
    same = w.variable(w.constant("i1", 0))
    data = parameter(w, "data", "ptr")
    with w.when(w.emit("icmp ne ptr %data, null", "i1")):
        same.set(w.constant("i1", 1))
        memory, lane = _pointer(w, parameter(w, "address")), parameter(w, "lane").shl(2)
        with w.loop(parameter(w, "size", "i32").zext("i64")) as i:
            stored = w.load(w.at(data, i.lshr(2) * parameter(w, "row") + lane + (i & 3)), "i8")
            same.set(same.get() & w.load(w.at(memory, i), "i8").eq(stored))
    return same.get()


def _tell(w: Writer, reason: int, record: Value, by: Value, group: Value) -> None:
    other = record.lshr(GROUP_SHIFT) & ((1 << GROUP_BITS) - 1)
    who = by & ((1 << PLACE_BITS + LANE_BITS) - 1)
    who = who | (record.lshr(BYTES_BITS) & ((1 << WAVE_BITS) - 1)).shl(PLACE_BITS + LANE_BITS)
    named = other.eq(group).select(other.like(0), other + 1).shl(PLACE_BITS + LANE_BITS + WAVE_BITS)
    where = parameter(w, "lane"), parameter(w, "address"), parameter(w, "size", "i32"), parameter(w, "faulty", "i32")
    report(w, *where, reason, who | named)
