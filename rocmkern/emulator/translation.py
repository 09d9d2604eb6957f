"""The operations of tier 0 for a module's code: they appear as execution reaches the code, and never move.

Code that nothing has reached is one operation that asks for its translation. What is there and where blocks begin is
marked per dword of code.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Iterable
from typing import Final

import numpy as np
from attrs import define, field, frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.flow import Code
from rocmkern.emulator.library import Library
from rocmkern.emulator.mode import Translated
from rocmkern.emulator.observers.seam import Observers
from rocmkern.emulator.pieces import NoMeaning, Piece, Pieces, pieces
from rocmkern.emulator.scan import Words
from rocmkern.emulator.snapshot import Run, Snapshot, words_of
from rocmkern.errors import KernelAborted, UnsupportedInstruction
from rocmkern.locks import ReentrantLock

LEADS: Final = 1  # a block begins here
WRITTEN: Final = 2  # its operation is there
COUNTED: Final = 4  # behind one that counts
ROOM_BYTES: Final = 1 << 14  # for operations, taken at a time
_HEAD: Final = struct.Struct("<3Q")  # of an operation: handler, target, address of the instruction
_word = ctypes.c_uint64.from_address


@frozen
class Trace:
    """Instructions that run one after another. `after`: where that goes on; None where it ends."""

    pieces: list[tuple[int, Piece]]
    after: int | None


@define(eq=False)
class Translation:
    """What is translated of a module's code."""

    text: bytes
    address: int  # of the text in device memory
    isa: str
    target: str
    library: Library
    observers: Observers
    translated: Translated = Translated.USUALLY
    table: ctypes.Array[ctypes.c_uint64] = field(init=False)  # of each dword of code: its operation, or 0
    runs: list[Run] = field(factory=list)  # what was translated
    units: dict[int, int] = field(factory=dict)  # block → compiled code that takes over where it begins
    lock: ReentrantLock = field(factory=lambda: ReentrantLock("translation"))
    _marks: bytearray = field(init=False)
    _awaited: dict[int, list[int]] = field(factory=dict)  # untranslated place → operations that shall go on there
    _rooms: list[ctypes.Array[ctypes.c_char]] = field(factory=list)
    _free: int = 0
    _free_end: int = 0
    _loads_to_lds: bool | None = None
    _count: int = 0  # address of the function that counts

    def __attrs_post_init__(self) -> None:
        self.table = (ctypes.c_uint64 * (len(self.text) // 4 + 1))()
        self._marks = bytearray(len(self.text) // 4 + 1)

    # What is there.

    @property
    def loads_to_lds(self) -> bool:
        """Whether there may be loads to LDS, which are under way until a wait: that ends a block then."""
        if self._loads_to_lds is None:
            self._loads_to_lds = Words(self.isa, self.text, 0, len(self.text)).loads_to_lds()
        return self._loads_to_lds

    def is_written(self, pc: int) -> bool:
        return bool(self._marks[pc >> 2] & WRITTEN)

    def is_counted(self, pc: int) -> bool:
        return bool(self._marks[pc >> 2] & COUNTED)

    def counts(self, pc: int) -> tuple[int, int]:
        """How often the block at `pc` began, and how often with lanes off."""
        if not self.is_counted(pc):
            return 0, 0
        where = self.table[pc >> 2]
        return _word(where + at.OP_COUNT).value, _word(where + at.OP_PARTIAL).value

    def hot_instructions(self, start: int, end: int) -> int:
        """How many instructions ran, those of blocks that ran with and without all lanes twice."""
        total = versions = 0
        for pc in range(start, end, 4):
            if self._marks[pc >> 2] & COUNTED:
                count, partial = self.counts(pc)
                versions = (count > partial) + (partial > 0)
            total += versions * bool(self._marks[pc >> 2] & WRITTEN)
        return total

    def ran_outside(self, start: int, end: int, versions: Collection[tuple[int, bool]]) -> int:
        """How many instructions of waves ran in blocks of other versions than these: block, all lanes on."""
        total = often = 0
        for pc in range(start, end, 4):
            if self._marks[pc >> 2] & COUNTED:
                count, partial = self.counts(pc)
                often = (0 if (pc, True) in versions else count - partial) + (0 if (pc, False) in versions else partial)
            total += often * bool(self._marks[pc >> 2] & WRITTEN)
        return total

    # For later processes.

    def snapshot(self, start: int, end: int, wave_size: int) -> Snapshot:
        """The operations of a part of the code."""
        with self.lock:
            places = range(start, end, 4)
            counted = frozenset(pc for pc in places if self._marks[pc >> 2] & COUNTED)
            leads = [pc for pc in places if self._marks[pc >> 2] & LEADS]
            runs = [run for run in self.runs if start <= run[0] < end]
        known = pieces(self.isa, wave_size, self.observers, self.translated)
        return Snapshot.of(runs, self.text, known, counted, leads)

    def restore(self, kept: Snapshot, wave_size: int) -> bool:
        """Take over the operations that another process had; not where some of them are here already."""
        known = pieces(self.isa, wave_size, self.observers, self.translated)
        known.find_handlers((), self.library)
        handlers = [self.library.native.address(symbol) or 0 for symbol in kept.handlers]
        pcs, offsets, counted = kept.columns()
        with self.lock:
            marks = np.frombuffer(self._marks, np.uint8)
            if not all(handlers) or (marks[pcs >> 2] & WRITTEN).any():
                return False
            where = self._room(len(kept.content))
            kept.lay(where, handlers, self.address)
            for pc, operation in kept.ways:
                _word(where + operation + at.OP_TARGET).value = self._way(pc, where + operation, {}, known)
            self._count = known.count.form.handler
            words_of(self.table)[pcs >> 2] = offsets.astype(np.uint64) + np.uint64(where)
            self.runs += kept.runs
            marks[np.array(kept.leads, np.int64) >> 2] |= LEADS
            marks[pcs >> 2] |= np.where(counted, WRITTEN | COUNTED, WRITTEN).astype(np.uint8)
            for pc in self._awaited.keys() & set(pcs.tolist()):
                self._connect(pc)
        return True

    # Compiled units.

    def install(self, units: dict[int, int]) -> None:
        """Let compiled code take over where blocks begin, those that are not translated yet as well."""
        with self.lock:
            self.units |= units
            for pc, address in units.items():
                if self.is_counted(pc):
                    _word(self.table[pc >> 2] + at.OP_HANDLER).value = address

    def withdraw(self) -> None:
        """Take all compiled code out of use: what runs next runs in tier 0."""
        with self.lock:
            for pc in self.units:
                if self.is_counted(pc):
                    _word(self.table[pc >> 2] + at.OP_HANDLER).value = self._count
            self.units.clear()

    # Reading.

    def mark(self, blocks: Iterable[int]) -> None:
        """Say where blocks begin, before they are translated: there the count goes."""
        with self.lock:
            for pc in blocks:
                self._lead(pc)

    def _lead(self, pc: int) -> None:
        if self.holds(pc):
            self._marks[pc >> 2] |= LEADS

    def holds(self, pc: int) -> bool:
        """Whether an instruction may begin there."""
        return 0 <= pc < len(self.text) and not pc % 4

    def reachable(self, start: int, wave_size: int) -> Code:
        """All code that branches lead to from `start` on, translated or not, up to what has no meaning."""
        known, found, pending = pieces(self.isa, wave_size, self.observers, self.translated), Code(), [start]
        while pending:
            try:
                for pc, piece, gpr_index in known.straight(self.text, pending.pop()):
                    outside = piece.target is not None and not self.holds(pc + piece.target)
                    if pc in found or outside:
                        break
                    found[pc] = known.instruction(self.text, pc, gpr_index)
                    if piece.target is not None:
                        pending.append(pc + piece.target)
                    elif piece.form.is_call:
                        pending.append(pc + piece.size)
            except NoMeaning:
                continue
        return found

    # Translating.

    def operation(self, pc: int, wave_size: int, kernel: str) -> int:
        """The operation at a place in the code, translated now where it was not.

        An exception leaves what is there as it was, wherever it strikes: places are marked when all is in place.
        """
        with self.lock:
            if not self._marks[pc >> 2] & WRITTEN:
                self._translate(pc, wave_size, kernel)
            self._connect(pc)
            return self.table[pc >> 2]

    def _translate(self, start: int, wave_size: int, kernel: str) -> None:
        known = pieces(self.isa, wave_size, self.observers, self.translated)
        traces = self._traces(start, known, kernel)
        known.find_handlers((piece for trace in traces for _, piece in trace.pieces), self.library)
        self._count = known.count.form.handler
        written = self._write(traces, known)
        self.runs += [(trace.pieces[0][0], len(trace.pieces), trace.after) for trace in traces]
        for pc, (operation, mark) in written.items():
            self.table[pc >> 2] = operation
            self._marks[pc >> 2] |= mark
        for pc in self._awaited.keys() & written.keys():
            self._connect(pc)

    def _connect(self, pc: int) -> None:
        """Send those that waited for a place there."""
        for operation in self._awaited.get(pc, ()):
            _word(operation + at.OP_TARGET).value = self.table[pc >> 2]
        self._awaited.pop(pc, None)

    def _traces(self, start: int, known: Pieces, kernel: str) -> list[Trace]:
        """What surely runs once `start` is reached, or is skipped only by waves without lanes."""
        traces, seen, pending = list[Trace](), set[int](), [start]
        while pending:
            first = after = pending.pop()
            trace = list[tuple[int, Piece]]()
            try:
                for pc, piece, gpr_index in known.straight(self.text, first):
                    if pc in seen or self._marks[pc >> 2] & WRITTEN:
                        break
                    seen.add(pc)
                    trace.append((pc, piece))
                    after = pc + piece.size
                    if piece.parts_blocks or (piece.form.awaits_loads and self.loads_to_lds):
                        self._lead(after)
                    if piece.target is None:
                        continue
                    self._lead(pc + piece.target)
                    if piece.form.ends:
                        pending += [pc + piece.target] if self.holds(pc + piece.target) else []
                    elif piece.form.may_jump and not gpr_index:
                        break
            except NoMeaning as error:
                if first == start and not trace:
                    if error.fact.startswith("(s_trap)"):
                        raise KernelAborted(
                            f"launch: {kernel} trapped, at pc {start:#x}; an assert failed, or it called abort"
                        ) from None
                    raise UnsupportedInstruction(self._complaint(start, error, kernel)) from error
            if trace:
                traces.append(Trace(trace, None if trace[-1][1].form.ends else after))
        return traces

    def _complaint(self, pc: int, error: NoMeaning, kernel: str) -> str:
        end = min(pc + error.nbytes, len(self.text)) // 4 * 4
        words = " ".join(f"{w:08x}" for (w,) in struct.iter_unpack("<I", self.text[pc:end]))
        return f"launch: instruction {words} {error.fact}, at pc {pc:#x} of {kernel} for {self.target}"

    def _write(self, traces: list[Trace], known: Pieces) -> dict[int, tuple[int, int]]:
        """Writes the operations of traces; gives for each place its operation and how to mark it."""
        marks, join, written, size = self._marks, known.join, dict[int, tuple[int, int]](), 0
        for trace in traces:
            for pc, piece in trace.pieces:
                leads = marks[pc >> 2] & LEADS
                written[pc] = size, WRITTEN | COUNTED if leads else WRITTEN
                size += piece.form.operation_bytes + at.COUNT_BYTES if leads else piece.form.operation_bytes
            size += 0 if trace.after is None else join.form.operation_bytes
        where = first = self._room(size)
        for pc, (offset, mark) in written.items():
            written[pc] = first + offset, mark
        content = list[bytes]()
        for trace in traces:
            for pc, piece in trace.pieces:
                form, address = piece.form, self.address + pc
                if marks[pc >> 2] & LEADS:
                    content += (_HEAD.pack(self.units.get(pc, known.count.form.handler), 0, address), known.count.body)
                    where += at.COUNT_BYTES
                target = 0 if piece.target is None else self._way(pc + piece.target, where, written, known)
                content += (_HEAD.pack(form.handler, target, address), piece.body)
                where += form.operation_bytes
            if trace.after is not None:
                target = self._way(trace.after, where, written, known)
                content.append(_HEAD.pack(join.form.handler, target, self.address + trace.after))
                where += join.form.operation_bytes
        ctypes.memmove(first, b"".join(content), size)
        return written

    def _way(self, pc: int, operation: int, written: dict[int, tuple[int, int]], known: Pieces) -> int:
        """Where `operation` finds the operation of `pc`, or what stands for it until there is one."""
        if pc in written:
            return written[pc][0]
        if self.holds(pc):
            if not self._marks[pc >> 2] & WRITTEN:
                self._awaited.setdefault(pc, []).append(operation)
            if not self.table[pc >> 2]:
                self.table[pc >> 2] = self._stub(pc, known)
            return self.table[pc >> 2]
        return self._stub(pc, known)

    def _stub(self, pc: int, known: Pieces) -> int:
        """An operation that asks for translation, and does so too where compiled code skips the count."""
        where = self._room(2 * at.COUNT_BYTES)
        one = _HEAD.pack(known.untranslated.form.handler, 0, self.address + pc) + known.count.body
        ctypes.memmove(where, 2 * one, 2 * at.COUNT_BYTES)
        return where

    def _room(self, size: int) -> int:
        """Memory for operations that stays where it is."""
        if self._free + size > self._free_end:
            room = ctypes.create_string_buffer(max(size, ROOM_BYTES))
            self._rooms.append(room)
            self._free = ctypes.addressof(room)
            self._free_end = self._free + len(room)
        where = self._free
        self._free += size
        return where
