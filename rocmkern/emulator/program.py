"""A loaded code object: its bytes in device memory, and its translation, as far as it has been reached."""

from __future__ import annotations

import ctypes
import struct
import threading
from functools import cache

from attrs import define, field

from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.library import Library
from rocmkern.emulator.meaning import Row, row_of
from rocmkern.emulator.tier0 import fields, shape
from rocmkern.errors import CodeObjectError, UnsupportedInstruction

EXECUTABLE = 1
RELATIVE64, ABSOLUTE64 = 13, 3
_OPERATION = struct.Struct(f"<{3 + at.OP_FIELD_COUNT}Q")
_MASK = (1 << 64) - 1
CALLS = frozenset({"s_swappc_b64", "s_call_b64"})


@cache
def _branch_to(pc: int) -> Inst:
    """A branch that joins code translated before."""
    return Inst(pc, 4, "s_branch", "SOPP")


@define(eq=False)
class Program:
    """Operations appear as execution reaches their code; they never move."""

    code: CodeObject
    isa: str
    arena: Arena
    library: Library
    base: int = field(init=False)  # what is added to the file's addresses
    text: bytes = field(init=False)
    text_start: int = field(init=False)  # address of the code in device memory
    table: ctypes.Array[ctypes.c_uint64] = field(init=False)
    _address: int = field(init=False)
    _operations: dict[int, int] = field(factory=dict)  # pc (offset in text) → address of its operation
    _blocks: list[ctypes.Array[ctypes.c_char]] = field(factory=list)
    instructions: dict[int, tuple[Row, Inst]] = field(factory=dict)
    _lock: threading.RLock = field(factory=threading.RLock)

    def __attrs_post_init__(self) -> None:
        segments = [s for s in self.code.segments if s.memory_size]
        low = min(s.address for s in segments) & ~0xFFF
        high = max(s.address + s.memory_size for s in segments)
        self._address = self.arena.alloc(high - low + 0x1000)
        placed = -(-self._address // 0x1000) * 0x1000
        self.base = placed - low
        view = self.arena.view(placed, high - low)
        view[:] = bytes(high - low)
        for segment in segments:
            start = segment.address - low
            view[start : start + len(segment.data)] = segment.data
        self._relocate()
        executable = [s for s in segments if s.flags & EXECUTABLE]
        start = min(s.address for s in executable)
        end = max(s.address + len(s.data) for s in executable)
        self.text_start = self.base + start
        self.text = bytes(view[start - low : end - low])
        self.table = (ctypes.c_uint64 * (len(self.text) // 4 + 1))()

    def close(self) -> None:
        self.arena.free(self._address)

    def _relocate(self) -> None:
        for address, kind, symbol, addend in self.code.relocations:
            if kind not in (RELATIVE64, ABSOLUTE64):
                raise CodeObjectError(f"load: relocation type {kind} at {address:#x} is not known")
            value = addend if kind == RELATIVE64 else self.code.symbols[symbol][0] + addend
            self.arena.view(self.base + address, 8)[:] = struct.pack("<Q", self.base + value)

    def entry(self, kernel: Kernel, wave_size: int) -> int:
        """Address of the first operation of a kernel."""
        return self.operation(self.base + kernel.entry_address, wave_size, kernel.name)

    def operation(self, address: int, wave_size: int, kernel: str) -> int:
        """The operation at a code address, translated now where it was not."""
        pc = address - self.text_start
        if not 0 <= pc < len(self.text) or pc % 4:
            raise UnsupportedInstruction(f"launch: {kernel} jumps to {address:#x}, which is no code of its module")
        with self._lock:
            if pc not in self._operations:
                self._translate(pc, wave_size, kernel)
            return self._operations[pc]

    def _translate(self, start: int, wave_size: int, kernel: str) -> None:
        traces = self._reach(start, kernel)
        known = [self.instructions[pc] for trace in traces for pc in trace]
        joins = [(row_of(self.isa, "s_branch"), _branch_to(0))]
        handlers = self.library.handlers([*known, *((r, i) for r, i in joins if r)], self.isa, wave_size)
        branch = handlers[shape(_branch_to(0), self.isa, wave_size)]
        placed: list[tuple[int, int, int | None]] = []  # (operation, pc, pc of the target)
        for trace in traces:
            last = self.instructions[trace[-1]]
            goes_on = not _ends(*last)
            block = ctypes.create_string_buffer(at.OP_SIZE * (len(trace) + 1) + 64)
            self._blocks.append(block)
            where = -(-ctypes.addressof(block) // 64) * 64
            for pc in trace:
                row, inst = self.instructions[pc]
                self._operations[pc] = where
                placed.append((where, pc, inst.target if row.unit == "branch" else None))
                values = fields(row, inst, wave_size)
                self._write(where, handlers[shape(inst, self.isa, wave_size)], pc, values)
                where += at.OP_SIZE
            if goes_on:
                self._write(where, branch, trace[-1], [])
                placed.append((where, trace[-1], last[1].pc + last[1].size))
        for where, _, target in placed:
            if target is not None:
                ctypes.c_uint64.from_address(where + at.OP_TARGET).value = self._operations[target]
        for trace in traces:
            for pc in trace:
                self.table[pc // 4] = self._operations[pc]

    def _write(self, where: int, handler: int, pc: int, values: list[int]) -> None:
        padded = [v & _MASK for v in values] + [0] * (at.OP_FIELD_COUNT - len(values))
        data = _OPERATION.pack(handler, 0, self.text_start + pc, *padded)
        ctypes.memmove(where, data, at.OP_SIZE)

    def _reach(self, start: int, kernel: str) -> list[list[int]]:
        """Straight pieces of code that can be reached from `start` and are not translated yet."""
        traces: list[list[int]] = []
        pending, seen = [start], set(self._operations)
        while pending:
            pc, trace = pending.pop(), list[int]()
            while pc not in seen:
                row, inst = self._decode(pc, kernel)
                self.instructions[pc] = row, inst
                seen.add(pc)
                trace.append(pc)
                if row.unit == "branch":
                    pending.append(inst.target)
                if _ends(row, inst):
                    if inst.name in CALLS:
                        pending.append(pc + inst.size)
                    break
                pc += inst.size
            if trace:
                traces.append(trace)
        return traces

    def _decode(self, pc: int, kernel: str) -> tuple[Row, Inst]:
        try:
            inst = decode(self.isa, self.text, pc)
        except (UnsupportedInstruction, ValueError) as error:
            raise UnsupportedInstruction(self._complaint(pc, 8, kernel, "is not known")) from error
        row = row_of(self.isa, inst.name)
        if row is None:
            raise UnsupportedInstruction(self._complaint(pc, inst.size, kernel, f"({inst.name}) has no meaning yet"))
        return row, inst

    def _complaint(self, pc: int, size: int, kernel: str, fact: str) -> str:
        words = " ".join(f"{w:08x}" for (w,) in struct.iter_unpack("<I", self.text[pc : pc + size // 4 * 4]))
        return f"launch: instruction {words} {fact}, at pc {pc:#x} of {kernel} for {self.code.target}"


def _ends(row: Row, inst: Inst) -> bool:
    """No instruction follows this one directly."""
    return row.unit == "end" or (row.unit == "branch" and row.emit is None) or "pc" in row.destinations
