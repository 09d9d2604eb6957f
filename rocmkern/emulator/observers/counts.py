"""Counts what kernels ask of a GPU, instruction by instruction. The counts are exact and the same in both tiers.

A thread's structure has a record for each dword of the module's code: how often a wave carried out the instruction that
begins there, with how many lanes, how many bytes it asked for and how many cache lines these lie in. They are added up
as the thread ends its part of a launch. All threads mark the lines that they read and write in two maps of the device's
memory, a byte for each line, from which follows what a launch must move at least.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from rocmkern.emulator import layout as at
from rocmkern.emulator.addresses import SPACE_OF
from rocmkern.emulator.arena import address_of, reserve
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers.seam import LOAD, Accessed, Event, Observer, Point, Records
from rocmkern.emulator.pieces import meaning_of
from rocmkern.emulator.wave import field as wave_field

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.space import Start

Kind = Literal[
    "valu", "transcendental", "matrix", "salu", "scalar memory", "vector memory", "lds", "branch", "wait", "barrier",
    "other",
]  # fmt: skip
TRANSCENDENTAL: Final = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_s_")
MATRIX: Final = ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")

RUNS, LANES, BYTES, LINES = range(4)  # of a record, 8 bytes each
RECORD_BYTES: Final = 32
READ_MAP, WRITTEN_MAP = 0, 8  # in a structure, ahead of the records: where the maps are
MOST_LINES: Final = 256  # of an access: two of each lane's 16 bytes, three of the most that a scalar one takes


def kind_of(row: Row, inst: Inst) -> Kind:
    """What part of a GPU carries an instruction out."""
    name, unit = inst.name, row.unit
    if unit == "memory":
        space = SPACE_OF.get(inst.encoding)
        return "scalar memory" if space is None else "lds" if space == "lds" else "vector memory"
    if name.startswith("s_barrier"):
        return "barrier"
    if unit == "branch" or "pc" in row.destinations:
        return "branch"
    if name.startswith("s_wait"):
        return "wait"
    if name.startswith(TRANSCENDENTAL):
        return "transcendental"
    if name.startswith(MATRIX):
        return "matrix"
    if unit in ("nop", "sleep", "end"):
        return "other"
    return "salu" if name.startswith("s_") else "valu"


def has_lanes(row: Row, inst: Inst) -> bool:
    """Whether EXEC counts for an instruction."""
    return kind_of(row, inst) in ("valu", "transcendental", "matrix", "vector memory", "lds")


@frozen
class Count:
    """What waves asked for by one instruction."""

    name: str
    kind: Kind
    runs: int  # by a wave each
    lanes: int  # that were on, in all runs; 0 of a scalar instruction
    bytes: int
    lines: int  # that an access touched, each once in a run; of LDS and scratch none

    def more(self, other: Count) -> Count:
        """Both together."""
        return Count(
            self.name, self.kind, self.runs + other.runs, self.lanes + other.lanes, self.bytes + other.bytes,
            self.lines + other.lines,
        )  # fmt: skip


@frozen
class Counts(Observer):
    """Counts what instructions ask for."""

    name: ClassVar[str] = "counts"
    line_bytes: int = 128

    @property
    def key(self) -> str:
        return f"{self.name}{self.line_bytes}"

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        return event in ("instruction", "access")

    def functions(self) -> tuple[Code, ...]:
        return (_count_lines(),)

    def open(self, arena: Arena) -> Tally:
        return Tally(arena, self.line_bytes)

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        w, record = point.writer, self._record(point)
        _add(w, record, RUNS, w.constant("i64", 1))
        if has_lanes(row, inst):
            _add(w, record, LANES, w.intrinsic("ctpop", point.lanes))

    def access(self, point: Point, accessed: Accessed) -> None:
        w, record = point.writer, self._record(point)
        _add(w, record, BYTES, w.intrinsic("ctpop", accessed.lanes) * accessed.size)
        if accessed.space not in ("lds", "scratch"):
            shift = w.constant("i64", self.line_bytes.bit_length() - 1)
            where = accessed.lanes, accessed.addresses, accessed.size
            chosen = READ_MAP if accessed.kind == LOAD else WRITTEN_MAP
            marks = w.load(w.at(point.structure, chosen), "ptr", 0, 8)
            _add(w, record, LINES, w.call("count_lines", "i64", 0, point.wave, *where, shift, marks))

    def _record(self, point: Point) -> Value:
        return point.writer.at(point.structure, point.offset * (RECORD_BYTES // 4) + RECORD_BYTES)


@frozen
class Launched:
    """What all launches of a kernel with one geometry asked for together."""

    start: Start
    counts: dict[int, Count]  # by place
    launches: int
    lines_read: int  # each once in a launch
    lines_written: int  # by stores and atomic operations


@define(eq=False)
class Tally(Records):
    """What was counted of each kernel, by where an instruction lies in it, in bytes from its first one on."""

    arena: Arena
    line_bytes: int
    _counted: dict[Start, dict[int, NDArray[np.uint64]]] = field(factory=lambda: defaultdict(dict))
    _touched: dict[Start, list[int]] = field(factory=lambda: defaultdict(lambda: [0, 0, 0]))
    _maps: tuple[mmap.mmap, mmap.mmap] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._maps = (
            reserve(self.arena.capacity // self.line_bytes + 2),
            reserve(self.arena.capacity // self.line_bytes + 2),
        )

    def room(self, start: Start) -> int:
        return RECORD_BYTES * (1 + len(start.text.text) // 4)

    def begin(self, structure: int, start: Start) -> None:
        _words(structure, RECORD_BYTES)[:2] = [address_of(marks) for marks in self._maps]

    def end(self, structure: int, start: Start) -> None:
        records = _words(structure + RECORD_BYTES, self.room(start) - RECORD_BYTES).reshape(-1, RECORD_BYTES // 8)
        known = self._counted[start]
        for number in np.flatnonzero(records.any(axis=1)).tolist():
            pc = 4 * number - start.first
            known[pc] = known.get(pc, 0) + records[number]
            records[number] = 0

    def launched(self, start: Start) -> None:
        used = (self.arena.reach - self.arena.base) // self.line_bytes + 2
        touched = self._touched[start]
        touched[0] += 1
        for i, marks in enumerate(self._maps, 1):
            seen = np.frombuffer(marks, np.uint8, used)
            touched[i] += int(np.count_nonzero(seen))
            seen[:] = 0

    @property
    def kernels(self) -> dict[str, dict[int, Count]]:
        """Counts by kernel and place, of all launches so far."""
        found = dict[str, dict[int, Count]]()
        for launched in self.launches:
            known = found.setdefault(launched.start.kernel.name, {})
            for pc, count in launched.counts.items():
                known[pc] = count if pc not in known else known[pc].more(count)
        return {name: dict(sorted(counts.items())) for name, counts in found.items()}

    @property
    def launches(self) -> list[Launched]:
        """By kernel and geometry, in the order of their first launches."""
        return [
            Launched(start, dict(sorted(self._of(start).items())), *touched)
            for start, touched in list(self._touched.items())
        ]

    def _of(self, start: Start) -> dict[int, Count]:
        found = dict[int, Count]()
        for pc, record in list(self._counted[start].items()):
            row, inst = meaning_of(start.text.isa, start.text.text, start.first + pc)
            found[pc] = Count(inst.name, kind_of(row, inst), *map(int, record))
        return found


def _words(address: int, nbytes: int) -> NDArray[np.uint64]:
    return np.frombuffer(memoryview((ctypes.c_ubyte * nbytes).from_address(address)), np.uint64)


def _add(w: Writer, record: Value, which: int, number: Value) -> None:
    spot = w.at(record, 8 * which)
    w.store(w.load(spot, "i64", 0, 8) + number, spot, 8)


def _mark(w: Writer, marks: Value, line: Value, low: Value, shift: Value) -> None:
    """Note that a line of the memory from `low` on was touched."""
    w.store(w.constant("i8", 1), w.at(marks, line - low.lshr(shift)))


def _count_neighbours(
    w: Writer, lanes: Value, addresses: Value, size: Value, shift: Value, marks: Value, arena: tuple[Value, Value]
) -> None:
    """Return how many lines lanes touch that lie one after the other, from the first lane on."""
    with w.when((lanes & (lanes + 1)).eq(0) & lanes.ne(0)):
        first, number = w.load(addresses, "i64", 0, 8), w.intrinsic("ctpop", lanes)
        differ = w.variable(w.constant("i64", 0))
        with w.loop(number) as i:
            differ.set(differ.get() | (w.load(w.at(addresses, i.shl(3)), "i64", 0, 8) - first - i * size))
        low, high = arena
        with w.when(differ.get().eq(0) & (first - low).compare("ult", high - low)):
            end = first + number * size - 1
            lines = end.lshr(shift) - first.lshr(shift) + 1
            with w.loop(lines) as i:
                _mark(w, marks, first.lshr(shift) + i, low, shift)
            w.line(f"ret i64 {lines.text}")


def _count_lines() -> Code:
    """`count_lines`: how many lines of 2 to the `shift` bytes the lanes touch in device memory, which it marks."""
    w = Writer()
    parameters = (("i64", "lanes"), ("ptr", "addresses"), ("i64", "size"), ("i64", "shift"), ("ptr", "marks"))
    lanes, addresses, size, shift, marks = (Value(w, element, 0, f"%{name}") for element, name in parameters)
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    low, high = (w.load(w.at(launch, limit), "i64", 0, 8) for limit in (at.LAUNCH_ARENA, at.LAUNCH_ARENA_END))
    _count_neighbours(w, lanes, addresses, size, shift, marks, (low, high))
    lines, count = w.buffer(8 * MOST_LINES), w.variable(w.constant("i64", 0))
    with w.each_bit(lanes) as lane:
        address = w.load(w.at(addresses, lane.zext("i64").shl(3)), "i64", 0, 8)
        first = address.lshr(shift)
        with (
            w.when((address - low).compare("ult", high - low)),
            w.loop((address + size - 1).lshr(shift) - first + 1) as i,
        ):
            line, left, after = first + i, w.variable(count.get()), w.fresh("known")
            again, other = w.fresh("again"), w.fresh("other")  # the last ones first: neighbours share them
            w.label(again)
            w.branch(left.get().eq(0), "none" + after, other)
            w.label(other)
            left.set(left.get() - 1)
            w.branch(w.load(w.at(lines, left.get().shl(3)), "i64", 0, 8).eq(line), after, again)
            w.label("none" + after)
            w.store(line, w.at(lines, count.get().shl(3)), 8)
            _mark(w, marks, line, low, shift)
            count.set(count.get() + 1)
            w.label(after)
    w.line(f"ret i64 {count.get().text}")
    body = "\n".join([*w.prologue, *w.lines])
    given = ", ".join(f"{element} %{name}" for element, name in parameters)
    text = f"define i64 @count_lines(ptr %w, {given}) #0 {{\n{body}\n}}\n"
    return Code("count_lines", text, w.declarations)
