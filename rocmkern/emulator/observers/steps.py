"""Keeps what one wave of a launch does: its instructions in their order, and the registers that each one wrote.

As an instruction begins, an entry is made: where it lies, EXEC, and where the registers lie that it is going to write.
Their values follow in the entry as the next one begins. Registers lie in memory between instructions in tier 0 only.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from attrs import define, field, frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import address_of, reserve
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers import shadow
from rocmkern.emulator.observers.seam import Event, Observer, Point, Records
from rocmkern.emulator.pieces import meaning_of
from rocmkern.emulator.wave import extent, registers
from rocmkern.emulator.wave import field as wave_field

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.space import Start

LOG_BYTES: Final = 1 << 28
MOST_WRITTEN: Final = 4  # operands of an instruction
SIZE_BITS: Final = 16  # of the bytes of each
IMPLICIT: Final = {"vcc": 8, "vcc_lo": 4, "m0": 4, "exec": 8, "exec_lo": 4, "scc": 4}  # bytes

# A thread's structure: where the next entry goes and where the log ends, the last entry, whom to follow, what was lost.
NEXT, END, LAST, GROUP, WAVE, LOST = range(0, 48, 8)
STRUCTURE_BYTES: Final = 48
# An entry: place, EXEC, bytes of what was written, where it lies; then the values.
PLACE, EXEC, SIZES, POINTERS = range(0, 32, 8)
ENTRY_BYTES: Final = POINTERS + 8 * MOST_WRITTEN
_HEAD: Final = struct.Struct("<QQQ")


def written(row: Row, inst: Inst) -> list[tuple[str, int]]:
    """What an instruction writes beside its operands: names, and bytes of each."""
    return [(name, IMPLICIT[name]) for name in row.destinations if name in IMPLICIT]


@frozen
class Step:
    """One instruction that the wave carried out."""

    place: int  # in the module's code, in bytes
    lanes: int  # EXEC as it began
    values: tuple[bytes, ...]  # of its operands, then of what it writes beside them; none where it did not end


@frozen
class Steps(Observer):
    """Follows one wave."""

    workgroup: int  # its number in the launch
    wave: int
    name: ClassVar[str] = "steps"
    looks_at_registers: ClassVar[bool] = True

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        return event == "instruction"

    def functions(self) -> tuple[Code, ...]:
        return (_keep_step(),)

    def open(self, arena: Arena) -> Log:
        return Log(self.workgroup, self.wave)

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        w, operation = point.writer, point.operation
        places, sizes = list[Value](), 0
        for number, operand in enumerate(inst.dst):
            nbytes = extent(operand, point.wave_size)
            if nbytes and len(places) < MOST_WRITTEN:
                place = w.load(w.at(operation, at.OP_FIELDS + 8 * number), "i64", 0, 8)
                sizes |= nbytes << SIZE_BITS * len(places)
                places.append(registers(w, operand, place, point.wave_size))
        for name, nbytes in written(row, inst)[: MOST_WRITTEN - len(places)]:
            sizes |= nbytes << SIZE_BITS * len(places)
            places.append(wave_field(w, at.SCALARS[name.removesuffix("_lo")]))
        nowhere = Value(w, "ptr", 0, "null")
        w.call(
            "keep_step", "void", 0, point.wave, point.structure, point.offset, point.lanes, w.constant("i64", sizes),
            *places, *[nowhere] * (MOST_WRITTEN - len(places)),
        )  # fmt: skip


def _keep_step() -> Code:
    """`keep_step`: completes the last entry, and makes one."""
    w = Writer()
    structure, place, lanes, sizes = (
        Value(w, element, 0, f"%{name}")
        for element, name in (("ptr", "structure"), ("i64", "place"), ("i64", "lanes"), ("i64", "sizes"))
    )
    group, number = shadow.group_number(w), shadow.number(w)
    wanted = w.load(w.at(structure, GROUP), "i64", 0, 8), w.load(w.at(structure, WAVE), "i64", 0, 8)
    with w.when(group.ne(wanted[0]) | number.ne(wanted[1])):
        w.line("ret void")
    last = w.load(w.at(structure, LAST), "ptr", 0, 8)
    with w.when(w.emit(f"icmp ne ptr {last.text}, null", "i1")):
        _complete(w, last)
    entry, end = w.load(w.at(structure, NEXT), "i64", 0, 8), w.load(w.at(structure, END), "i64", 0, 8)
    total = w.variable(w.constant("i64", ENTRY_BYTES))
    for i in range(MOST_WRITTEN):
        total.set(total.get() + _size(sizes, i))
    following = entry + total.get()
    with w.when(following.compare("ugt", end)):
        lost = w.at(structure, LOST)
        w.store(w.load(lost, "i64", 0, 8) + 1, lost, 8)
        w.store(w.constant("i64", 0), w.at(structure, LAST), 8)
        w.line("ret void")
    new = w.emit(f"inttoptr i64 {entry.text} to ptr", "ptr")
    for offset, value in ((PLACE, place), (EXEC, lanes), (SIZES, sizes)):
        w.store(value, w.at(new, offset), 8)
    for i in range(MOST_WRITTEN):
        w.store(Value(w, "ptr", 0, f"%p{i}"), w.at(new, POINTERS + 8 * i), 8)
    w.store(entry, w.at(structure, LAST), 8)
    w.store(following, w.at(structure, NEXT), 8)
    w.line("ret void")
    pointers = ", ".join(f"ptr %p{i}" for i in range(MOST_WRITTEN))
    head = f"define void @keep_step(ptr %w, ptr %structure, i64 %place, i64 %lanes, i64 %sizes, {pointers})"
    body = "\n".join([*w.prologue, *w.lines])
    return Code("keep_step", f"{head} #0 {{\n{body}\n}}\n", w.declarations)


def _size(sizes: Value, number: int) -> Value:
    return sizes.lshr(SIZE_BITS * number) & ((1 << SIZE_BITS) - 1)


def _complete(w: Writer, entry: Value) -> None:
    """Copy what the entry's instruction wrote."""
    sizes, target = w.load(w.at(entry, SIZES), "i64", 0, 8), w.variable(w.constant("i64", ENTRY_BYTES))
    for i in range(MOST_WRITTEN):
        size = _size(sizes, i)
        with w.when(size.ne(0)):
            source, place = w.load(w.at(entry, POINTERS + 8 * i), "ptr", 0, 8), w.at(entry, target.get())
            with w.loop(size.lshr(2)) as dword:
                w.store(w.load(w.at(source, dword.shl(2)), "i32", 0, 4), w.at(place, dword.shl(2)), 4)
        target.set(target.get() + size)


@define(eq=False)
class Log(Records):
    """The steps of one wave in one launch."""

    workgroup: int
    wave: int
    start: Start | None = None  # of the launch
    lost: int = 0  # steps that found no room
    _bytes: mmap.mmap = field(factory=lambda: reserve(LOG_BYTES))
    _used: int = 0

    def room(self, start: Start) -> int:
        return STRUCTURE_BYTES

    def begin(self, structure: int, start: Start) -> None:
        first = address_of(self._bytes)
        words = (ctypes.c_uint64 * (STRUCTURE_BYTES // 8)).from_address(structure)
        words[:] = [first, first + LOG_BYTES, 0, self.workgroup, self.wave, 0]

    def end(self, structure: int, start: Start) -> None:
        words = (ctypes.c_uint64 * (STRUCTURE_BYTES // 8)).from_address(structure)
        used = words[NEXT // 8] - address_of(self._bytes)
        if used:
            self.start, self._used, self.lost = start, used, words[LOST // 8]

    def steps(self) -> Iterator[tuple[Step, Row, Inst]]:
        """What it did, with the instructions."""
        assert self.start is not None
        text, place = self.start.text, 0
        while place < self._used:
            where, lanes, sizes = _HEAD.unpack_from(self._bytes, place)
            counts = [sizes >> SIZE_BITS * i & (1 << SIZE_BITS) - 1 for i in range(MOST_WRITTEN)]
            values, first = list[bytes](), place + ENTRY_BYTES
            for count in counts:
                values.append(bytes(self._bytes[first : first + count]))
                first += count
            place = first
            yield Step(where, lanes, tuple(values)), *meaning_of(text.isa, text.text, where)
