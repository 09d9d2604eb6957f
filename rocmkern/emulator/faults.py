"""Accesses that a launch must not make: how code tells of them, and what Python makes of that.

Mostly the first one ends the launch: `record_fault` writes it to the launch's record. Where somebody collects faults,
the launch has a `Log` and goes on: an entry for each place in the code and kind of fault, with how often it was met.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from attrs import define, evolve, field, frozen

from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import Arena, address_of, reserve
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.launch import Dims, Plan
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers.seam import (
    IN_SCRATCH,
    LANE_BITS,
    OBSERVER_SHIFT,
    PLACE_BITS,
    REASON_SHIFT,
    WAVE_BITS,
    Observers,
    Reason,
)
from rocmkern.emulator.wave import field as wave_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmkern.emulator.machine import Entry, Machine
    from rocmkern.emulator.program import Program
    from rocmkern.emulator.space import Start

# A log: a lock, how many entries it has, how many faults found no room; which launch it is of, a clock for orders
# between workgroups, where it says when each of these last released and acquired, how many are left out; then entries.
LOCK: Final = 0
USED: Final = 8
LEFT_OUT: Final = 16
NUMBER: Final = 24
CLOCK: Final = 32
TIMES: Final = 40
SAMPLE: Final = 48  # of so many workgroups one is looked at whole
RELEASED, ACQUIRED, TIMES_BYTES = 0, 8, 16
ENTRIES: Final = 64
MOST_ENTRIES: Final = 512
ENTRY: Final = struct.Struct("<QQQQQIIIIII")  # the fields below; workgroups have three dwords
PC, OTHER, ADDRESS, LANES, COUNT, SIZE, KIND, WAVE, GROUP = 0, 8, 16, 24, 32, 40, 44, 48, 52

# What code tells of without an observer: what goes outside a space, and waves that wait for ever.
SIMPLE: Final = (
    Reason("out of bounds", "", "keep the index inside what the kernel was given"),
    Reason("out of bounds", "of LDS", "ask for more LDS, or keep the index inside it"),
    Reason("out of bounds", "of scratch", "keep the index inside the array"),
    Reason("barrier deadlock", "goes on without coming to the barrier where others wait", "let all waves come to it"),
)
STUCK: Final = 6  # kind of the last one
KINDS: Final = ("load", "store", "atomic", "barrier", "end")
APERTURES: Final = {at.SHARED_APERTURE: 1, at.PRIVATE_APERTURE: 2}  # place in `SIMPLE` of what flat addresses mean


@frozen
class Other:
    """The access that one races with."""

    pc: int  # in the kernel
    wave: int
    lane: int
    group: int | None  # its number in the launch; None for the same workgroup


@frozen
class Fault:
    """What a launch did wrong at one place."""

    code: CodeObject
    kernel: Kernel
    pc: int  # in the kernel
    kind: str  # of `KINDS`, or "wave"
    reason: Reason
    address: int
    size: int
    wave: int
    lanes: int  # of that wave, a bit each
    group: Dims
    place: str  # what the address is near to, or the limit that it breaks
    other: Other | None = None
    count: int = 1

    @property
    def lane(self) -> int:
        return (self.lanes & -self.lanes).bit_length() - 1

    @property
    def what(self) -> str:
        """`load of 4 bytes at 0x40 of memory that nothing wrote`"""
        where = f" of {self.size} bytes at {self.address:#x}" if self.size else ""
        return f"{self.kind}{where} {self.reason.text}".rstrip()

    def message(self) -> str:
        from rocmkern.codeobject.lines import Lines  # loads what reads DWARF

        source = Lines.of(self.code.image).source(self.kernel.entry_address + self.pc)
        where = f"pc {self.pc:#x} in the kernel" + f" ({source})" * bool(source)
        return (
            f"launch: {self.kernel.name}: {self.what} by lane {self.lane} of wave {self.wave},"
            f" workgroup {self.group}, {where}; {self.place}"
        )


@frozen
class Copied:
    """A copy to the host of bytes that nothing wrote."""

    address: int
    size: int
    count: int  # of those bytes
    place: str  # of the first one
    source: str  # `file:line` of who asked for it


class Collector(Protocol):
    """Who wants to know of all faults."""

    @property
    def sample(self) -> int:
        """Of so many workgroups it is enough to look at one; 0 for any number."""
        ...

    def launching(self, machine: Machine, entry: Entry, start: Start, arguments: bytes) -> None:
        """A launch is about to begin."""
        ...

    def launched(self, faults: Sequence[Fault], left_out: int, is_checked: bool) -> None:
        """A launch has ended with these; of some more there is no entry."""
        ...

    def copied(self, copy: Copied) -> None:
        """The host got bytes that nothing wrote."""
        ...


COLLECTORS: Final[list[Collector]] = []


@contextmanager
def collected(collector: Collector) -> Iterator[None]:
    """Launches tell it of their faults meanwhile, and go on."""
    COLLECTORS.append(collector)
    try:
        yield
    finally:
        COLLECTORS.remove(collector)


@define(eq=False)
class Teller:
    """Puts what the code of one launch told into words."""

    arena: Arena
    observers: Observers
    program: Program
    kernel: Kernel
    plan: Plan

    def recorded(self, record: ctypes.Array[ctypes.c_char]) -> Fault:
        """The fault that ended a launch."""
        pc, address, size, lane, x, y, z, wave, kind = struct.unpack_from("<QQIIIIIII", record, at.FAULT_PC)
        return self._fault(pc, 0, address, 1 << lane, size, kind, wave, (x, y, z))

    def _fault(
        self, pc: int, other: int, address: int, lanes: int, size: int, kind: int, wave: int, group: Dims
    ) -> Fault:
        if kind < STUCK:
            kind = APERTURES.get(address >> 32, kind >> 1) * 2 + (kind & 1)
        reason, operation = self._reason(kind)
        first = self.program.base + self.kernel.entry_address
        place = self._place(kind, address) if size else ""
        return Fault(
            self.program.code, self.kernel, pc - first, operation, reason, address, size, wave, lanes, group, place,
            self._other(other),
        )  # fmt: skip

    def _reason(self, kind: int) -> tuple[Reason, str]:
        number, reason = kind >> OBSERVER_SHIFT, kind >> REASON_SHIFT & (1 << OBSERVER_SHIFT - REASON_SHIFT) - 1
        if reason:
            return self.observers.those[number].reasons[reason], KINDS[kind & IN_SCRATCH - 1]
        return SIMPLE[kind >> 1], "wave" if kind == STUCK else KINDS[kind & 1]

    def _place(self, kind: int, address: int) -> str:
        plan = self.plan
        lds = f"the workgroup has {plan.lds_bytes} bytes of LDS"
        scratch = f"a lane has {plan.private_bytes} bytes of scratch"
        if not kind >> REASON_SHIFT:
            return (self.arena.describe(address), lds, scratch)[kind >> 1]
        if self.arena.contains(address, 0):
            return self.arena.describe(address)
        return scratch if kind & IN_SCRATCH else lds

    def _other(self, word: int) -> Other | None:
        place = word & ((1 << PLACE_BITS) - 1)
        if not place:
            return None
        lane, wave = word >> PLACE_BITS, word >> PLACE_BITS + LANE_BITS
        group = word >> PLACE_BITS + LANE_BITS + WAVE_BITS
        pc = 4 * (place - 1) + self.program.translation.address - self.program.base - self.kernel.entry_address
        return Other(pc, wave & (1 << WAVE_BITS) - 1, lane & (1 << LANE_BITS) - 1, group - 1 if group else None)

    def logged(
        self, pc: int, other: int, address: int, lanes: int, count: int, size: int, kind: int, wave: int, *group: int
    ) -> Fault:
        """The fault of a log's entry."""
        x, y, z = group
        return evolve(self._fault(pc, other, address, lanes, size, kind, wave, (x, y, z)), count=count)


NUMBERS: Final = (1 << 16) - 1  # of launches, from 1 on, which begin anew then
_launched: Final = [0]


def launches() -> int:
    """How many launches have had a log so far."""
    return _launched[0]


@define(eq=False)
class Log:
    """The faults of one launch, as its threads find them."""

    groups: int
    sample: int = 1
    _bytes: ctypes.Array[ctypes.c_char] = field(
        factory=lambda: ctypes.create_string_buffer(ENTRIES + MOST_ENTRIES * ENTRY.size)
    )
    _times: mmap.mmap = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._times = reserve(self.groups * TIMES_BYTES)
        _launched[0] += 1
        number = _launched[0] % NUMBERS + 1
        struct.pack_into("<QQQQ", self._bytes, NUMBER, number, 0, address_of(self._times), self.sample)

    @property
    def address(self) -> int:
        return ctypes.addressof(self._bytes)

    def entries(self) -> Iterable[tuple[int, ...]]:
        (used,) = struct.unpack_from("<Q", self._bytes, USED)
        return ENTRY.iter_unpack(self._bytes.raw[ENTRIES : ENTRIES + used * ENTRY.size])

    def add(self, pc: int, other: int, kind: int, wave: int, group: Dims) -> None:
        """Make an entry of what is no access."""
        (used,) = struct.unpack_from("<Q", self._bytes, USED)
        if used < MOST_ENTRIES:
            ENTRY.pack_into(self._bytes, ENTRIES + used * ENTRY.size, pc, other, 0, 1, 1, 0, kind, wave, *group)
            struct.pack_into("<Q", self._bytes, USED, used + 1)

    def tell(self, teller: Teller) -> None:
        """Tell those who collect, once the launch has ended."""
        faults = [teller.logged(*entry) for entry in self.entries()]
        (left_out,) = struct.unpack_from("<Q", self._bytes, LEFT_OUT)
        for collector in tuple(COLLECTORS):
            collector.launched(faults, left_out, bool(teller.observers))


_PARAMETERS: Final = "ptr %w, ptr %op, i64 %lane, i64 %address, i32 %size, i32 %kind, i64 %other"


@cache
def record_fault() -> Code:
    """`record_fault`: notes a fault in the launch's log, or ends the launch where that has none."""
    w = Writer()
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    pc = w.load(w.at(Value(w, "ptr", 0, "%op"), at.OP_PC), "i64", 0, 8)
    log = w.load(w.at(launch, at.LAUNCH_LOG), "ptr", 0, 8)
    with w.when(w.emit(f"icmp ne ptr {log.text}, null", "i1")):
        w.line(
            f"call void @note_fault(ptr {log.text}, ptr %w, i64 {pc.text}, i64 %lane, i64 %address, i32 %size,"
            " i32 %kind, i64 %other)"
        )
        w.line("ret void")
    fault = w.at(launch, at.LAUNCH_FAULT)
    with w.when(w.emit(f"atomicrmw xchg ptr {fault.text}, i32 1 seq_cst", "i32").eq(0)):
        for offset, value in (
            (at.FAULT_PC, pc),
            (at.FAULT_ADDRESS, Value(w, "i64", 0, "%address")),
            (at.FAULT_SIZE, Value(w, "i32", 0, "%size")),
            (at.FAULT_LANE, Value(w, "i64", 0, "%lane").trunc("i32")),
            (at.FAULT_WAVE, w.load(wave_field(w, at.WAVE_NUMBER), "i32", 0, 4)),
            (at.FAULT_KIND, Value(w, "i32", 0, "%kind")),
        ):
            w.store(value, w.at(launch, offset), 4)
        _copy_group(w, w.at(launch, at.FAULT_GROUP))
        w.line(f"store atomic i32 1, ptr {w.at(launch, at.LAUNCH_STOP).text} seq_cst, align 4")
    w.line("ret void")
    body = "\n".join([*w.prologue, *w.lines])
    note = _note_fault()
    text = f"{note.text}define void @record_fault({_PARAMETERS}) {{\n{body}\n}}\n"
    return Code("record_fault", text, w.declarations | note.declarations)


def _copy_group(w: Writer, target: Value) -> None:
    for i in range(3):
        w.store(w.load(w.at(wave_field(w, at.WAVE_GROUP), 4 * i), "i32", 0, 4), w.at(target, 4 * i), 4)


def _note_fault() -> Code:
    """`note_fault`: adds to the entry of the place and kind, or makes one."""
    w = Writer()
    log, pc, lane, address, size, kind, other = (
        Value(w, element, 0, f"%{name}")
        for element, name in (
            ("ptr", "log"), ("i64", "pc"), ("i64", "lane"), ("i64", "address"), ("i32", "size"), ("i32", "kind"),
            ("i64", "other"),
        )
    )  # fmt: skip
    number, first = w.load(wave_field(w, at.WAVE_NUMBER), "i32", 0, 4), w.load(wave_field(w, at.WAVE_GROUP), "i32")
    again, taken = w.fresh("again"), w.fresh("taken")
    w.label(again)
    w.branch(w.emit(f"atomicrmw xchg ptr {log.text}, i32 1 acquire", "i32").eq(0), taken, again)
    w.label(taken)
    used, found = w.load(w.at(log, USED), "i64", 0, 8), w.variable(w.constant("i64", 0))
    place = (1 << PLACE_BITS) - 1
    with w.when(used.ne(0)), w.loop(used) as i:
        entry = w.at(w.at(log, ENTRIES), i * ENTRY.size)
        same = w.load(w.at(entry, PC), "i64").eq(pc) & w.load(w.at(entry, KIND), "i32").eq(kind)
        same = same & ((w.load(w.at(entry, OTHER), "i64") ^ other) & place).eq(0)
        found.set(same.select(i + 1, found.get()))
    with w.when(found.get().eq(0) & used.compare("ult", MOST_ENTRIES)):
        entry = w.at(w.at(log, ENTRIES), used * ENTRY.size)
        for offset, value in (
            (PC, pc), (OTHER, other), (ADDRESS, address), (LANES, pc.like(0)), (COUNT, pc.like(0)), (SIZE, size),
            (KIND, kind), (WAVE, number),
        ):  # fmt: skip
            w.store(value, w.at(entry, offset))
        _copy_group(w, w.at(entry, GROUP))
        w.store(used + 1, w.at(log, USED))
        found.set(used + 1)
    with w.when(found.get().eq(0)):
        w.store(w.load(w.at(log, LEFT_OUT), "i64") + 1, w.at(log, LEFT_OUT))
    with w.when(found.get().ne(0)):
        entry = w.at(w.at(log, ENTRIES), (found.get() - 1) * ENTRY.size)
        w.store(w.load(w.at(entry, COUNT), "i64") + 1, w.at(entry, COUNT))
        is_same = w.load(w.at(entry, WAVE), "i32").eq(number) & w.load(w.at(entry, GROUP), "i32").eq(first)
        with w.when(is_same):
            lanes = w.load(w.at(entry, LANES), "i64") | w.constant("i64", 1).shl(lane)
            w.store(lanes, w.at(entry, LANES))
    w.line(f"store atomic i32 0, ptr {log.text} release, align 4")
    w.line("ret void")
    body = "\n".join([*w.prologue, *w.lines])
    parameters = "ptr %log, ptr %w, i64 %pc, i64 %lane, i64 %address, i32 %size, i32 %kind, i64 %other"
    return Code("note_fault", f"define internal void @note_fault({parameters}) {{\n{body}\n}}\n", w.declarations)
