"""A loaded code object: its bytes in device memory, and its translation, as far as it has been reached."""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
import threading
import warnings
from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b

from attrs import define, field

from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.flow import Flow
from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.library import Library
from rocmkern.emulator.meaning import ROWS, Row, row_of
from rocmkern.emulator.pieces import INDEXED, Piece, Pieces, pieces
from rocmkern.emulator.threads import Threads, whole
from rocmkern.emulator.tier0 import shape
from rocmkern.emulator.tier1 import Hot, UnitBuilder
from rocmkern.errors import CodeObjectError, UnsupportedInstruction

EXECUTABLE = 1
RELATIVE64, ABSOLUTE64 = 13, 3
_HEAD = struct.Struct("<3Q")  # of an operation: handler, target, address of the instruction
_NO_FIELDS = bytes(8 * at.OP_FIELD_COUNT)

COUNT = Inst(0, 0, "count", "")  # begins every block
JOIN = Inst(0, 4, "s_branch", "SOPP")  # put in where code runs on into code that was translated before


@define(eq=False)
class Heat:
    """How much time tier 0 spent on a kernel, and where compiled units begin."""

    first: int = 0  # address of the first operation, once it was looked up whether earlier runs compiled the kernel
    seconds: float = 0.0
    price: float = 0.0  # what compiling was last reckoned to take
    under_way: bool = False
    failed: bool = False
    entries: frozenset[int] = frozenset()
    loops: set[int] = field(factory=set)


HOT_S = 0.1  # seconds in tier 0 before which compiling never pays; a kernel then runs 4 to 6 times as fast
HOT_S_PER_INSTRUCTION = 2e-3  # in each version of a block that ran: about what compiling it takes
MOST_WAITING = 2  # jobs: an interpreter that ends waits for them; who finds no place asks again later
_waiting = set[tuple[int, str]]()
COMPILER = Threads(1, "rocmkern-compiler")
os.register_at_fork(after_in_child=_waiting.clear)
_failures = deque[str]()  # of the background that nobody was told of yet


def warn_of_failures() -> None:
    """Issue what failed in the background as warnings of the thread that calls."""
    while _failures:
        warnings.warn(_failures.popleft(), RuntimeWarning, stacklevel=2)


def settle() -> None:
    """Wait until nothing compiles in the background."""
    last = COMPILER.submit(lambda: None)
    if last is not None:
        last.result()


atexit.register(warn_of_failures)


@define(eq=False, slots=False)
class Program:
    """Operations appear as execution reaches their code; they never move."""

    code: CodeObject
    isa: str
    arena: Arena
    library: Library
    compiles: bool = True  # what is hot
    checked: bool = False
    base: int = field(init=False)  # what is added to the file's addresses
    text: bytes = field(init=False)
    text_start: int = field(init=False)  # address of the code in device memory
    table: ctypes.Array[ctypes.c_uint64] = field(init=False)
    _address: int = field(init=False)
    _operations: dict[int, int] = field(factory=dict)  # pc (offset in text) → address of its operation
    _blocks: list[ctypes.Array[ctypes.c_char]] = field(factory=list)
    pieces: dict[int, Piece] = field(factory=dict)  # pc → instruction
    leaders: set[int] = field(factory=set)  # where blocks begin: there the operation is a "count"
    _with_barriers: set[str] = field(factory=set)  # kernels
    _with_float_adds: set[str] = field(factory=set)  # kernels that add floats to memory
    _count: int = 0  # address of the function that counts
    _heat: dict[str, Heat] = field(factory=lambda: defaultdict(Heat))
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
        heat = self._heat[kernel.name]
        warn_of_failures()
        if heat.first:
            return heat.first
        heat.first = self.operation(self.base + kernel.entry_address, wave_size, kernel.name)
        if self.compiles:
            units = {pc: a for pc, a in self.library.known_units(self._key(kernel)).items() if pc in self._operations}
            for pc, address in units.items():
                self.install(pc, address)
            heat.entries = frozenset(units)
        return heat.first

    @cached_property
    def _content(self) -> bytes:
        return blake2b(self.text, digest_size=16).digest()

    def _key(self, kernel: Kernel) -> str:
        """Names the kernel's code across processes."""
        place = self.base + kernel.entry_address - self.text_start
        state = blake2b(self._content + f"{self.isa} {place} {kernel.wave_size}".encode(), digest_size=12)
        return "kernel_" + state.hexdigest()

    def operation(self, address: int, wave_size: int, kernel: str) -> int:
        """The operation at a code address, translated now where it was not."""
        pc = address - self.text_start
        if not 0 <= pc < len(self.text) or pc % 4:
            raise UnsupportedInstruction(f"launch: {kernel} jumps to {address:#x}, which is no code of its module")
        found = self._operations.get(pc)
        return self._translated(pc, wave_size, kernel) if found is None else found

    @whole
    def _translated(self, pc: int, wave_size: int, kernel: str) -> int:
        with self._lock:
            if pc not in self._operations:
                self._translate(pc, wave_size, kernel)
            return self._operations[pc]

    def counts(self, pc: int) -> tuple[int, int]:
        """How often the block at `pc` began, and how often with lanes off."""
        where = self._operations.get(pc)
        if where is None or pc not in self.leaders:
            return 0, 0
        word = ctypes.c_uint64.from_address
        return word(where + at.OP_COUNT).value, word(where + at.OP_PARTIAL).value

    def install(self, pc: int, address: int) -> None:
        """Let the compiled unit at `address` take over where the block at `pc` begins."""
        ctypes.c_uint64.from_address(self._operations[pc] + at.OP_HANDLER).value = address

    # Compiled units.

    def withdraw(self) -> None:
        """Take all compiled units out of use: what runs next runs in tier 0."""
        for pc in self.leaders & self._operations.keys():
            self.install(pc, self._count)
        for heat in self._heat.values():
            heat.entries = frozenset()

    def is_compiled(self, kernel: Kernel) -> bool:
        return bool(self._heat[kernel.name].entries)

    def expects_zeros(self, kernel: Kernel) -> bool:
        """Whether code of the kernel adds floats to memory and has barriers.

        Kernels that split a sum among workgroups may clear what they add to themselves and trust that all have done
        so before the first adds, since the hardware has room for all of them.
        """
        return kernel.name in self._with_barriers and kernel.name in self._with_float_adds

    def warm(self, kernel: Kernel, seconds: float, address: int | None = None, ahead: float = 0.0) -> None:
        """Tier 0 spent so long on a kernel: once that is what compiling costs, compile it in the background.

        `ahead`: how long it is going to spend. `address`: a loop that a wave ran out of fuel in, where a compiled unit
        should be able to take over.
        """
        heat = self._heat[kernel.name]
        loop = None if address is None else address - self.text_start
        if not self.compiles or (heat.entries and (loop is None or loop in heat.entries)):
            return
        heat.seconds += seconds
        spent = heat.seconds + ahead
        if spent < max(heat.price, HOT_S) or heat.under_way or heat.failed or len(_waiting) >= MOST_WAITING:
            return
        heat.price = HOT_S_PER_INSTRUCTION * self.hot_instructions(kernel)
        if spent >= heat.price:
            heat.seconds, heat.under_way = 0.0, True
            extra = {loop} if loop is not None else set[int]()
            _waiting.add((id(self), kernel.name))
            if COMPILER.submit(self._compile_in_background, kernel, extra) is None:
                heat.failed = True

    def hot_instructions(self, kernel: Kernel) -> int:
        """How many instructions of the kernel ran, those of blocks that ran with and without all lanes twice."""
        start = self.base + kernel.entry_address - self.text_start
        total = versions = 0
        with self._lock:
            inside = sorted(pc for pc in self.pieces if start <= pc < start + self.code.symbols[kernel.name][1])
        for pc in inside:
            if pc in self.leaders:
                count, partial = self.counts(pc)
                versions = (count > partial) + (partial > 0)
            total += versions
        return total

    def _compile_in_background(self, kernel: Kernel, extra: set[int]) -> None:
        try:
            self.compile(kernel, extra)
        except Exception as error:
            self._heat[kernel.name].failed = True
            _failures.append(
                f"compile: {kernel.name} for {self.code.target} stays in the emulator's slow tier:"
                f" {type(error).__name__}: {error}; please report this"
            )
        finally:
            _waiting.discard((id(self), kernel.name))
            self._heat[kernel.name].under_way = False

    def compile(self, kernel: Kernel, extra: Iterable[int] = ()) -> None:
        """Put compiled units in the place of what tier 0 ran of a kernel so far; `extra` places where one begins."""
        entry = self.base + kernel.entry_address - self.text_start
        heat = self._heat[kernel.name]
        with self._lock:
            code, leaders = self.reached(), set(self.leaders)
        flow = Flow(code, entry, frozenset({*extra, *heat.loops}))
        hot = Hot.of(flow, self.counts)
        builders = [
            UnitBuilder(flow, e, hot, self.isa, kernel.wave_size, leaders)
            for e in flow.entries
            if {(e, True), (e, False)} & hot.versions
        ]
        for pc, address in self.library.units(self._key(kernel), builders).items():
            self.install(pc, address)
        heat.loops |= set(extra)
        heat.entries = frozenset(flow.entries)

    def reached(self) -> dict[int, tuple[Row, Inst]]:
        """The instructions that are translated, by pc."""
        return {pc: piece.at(pc) for pc, piece in self.pieces.items()}

    def _translate(self, start: int, wave_size: int, kernel: str) -> None:
        traces = self._reach(start, kernel, pieces(self.isa, wave_size, self.checked))
        new = [p for p in (self.pieces[pc] for trace in traces for pc in trace) if not p.handler]
        ours = {inst.name: shape(inst, self.isa, wave_size) for inst in (JOIN, COUNT)}
        wanted = {ours[inst.name]: (ROWS[inst.name], inst) for inst in (JOIN, COUNT)}
        wanted |= {piece.shape: (piece.row, piece.inst) for piece in new}
        handlers = self.library.handlers(wanted, self.isa, wave_size, self.checked)
        branch, self._count = (handlers[ours[inst.name]] for inst in (JOIN, COUNT))
        for piece in new:
            piece.handler = handlers[piece.shape]
        placed: list[tuple[int, int]] = []  # (operation, pc of the target)
        operations: dict[int, int] = {}
        for trace in traces:
            placed += self._write(trace, branch, operations)
        for where, target in placed:
            address = operations.get(target) or self._operations[target]
            ctypes.c_uint64.from_address(where + at.OP_TARGET).value = address
        self._operations |= operations  # other threads look without the lock: what they find is whole
        for pc, where in operations.items():
            self.table[pc // 4] = where

    def _write(self, trace: list[int], branch: int, operations: dict[int, int]) -> list[tuple[int, int]]:
        """Adds the operations of a straight piece of code; gives those of them that need the address of another."""
        last = self.pieces[trace[-1]]
        counts = sum(pc in self.leaders for pc in trace)
        size = at.OP_SIZE * (len(trace) + counts + (not last.ends))
        block = ctypes.create_string_buffer(size + 64)
        self._blocks.append(block)
        first = where = -(-ctypes.addressof(block) // 64) * 64
        written, placed = list[bytes](), list[tuple[int, int]]()
        for pc in trace:
            piece, address = self.pieces[pc], self.text_start + pc
            operations[pc] = where
            if pc in self.leaders:
                written += (_HEAD.pack(self._count, 0, address), _NO_FIELDS)
                where += at.OP_SIZE
            if piece.target is not None:
                placed.append((where, pc + piece.target))
            written += (_HEAD.pack(piece.handler, 0, address), piece.body)
            where += at.OP_SIZE
        if not last.ends:
            after = trace[-1] + last.inst.size
            placed.append((where, after))
            written += (_HEAD.pack(branch, 0, self.text_start + after), _NO_FIELDS)
        ctypes.memmove(first, b"".join(written), size)
        return placed

    def _reach(self, start: int, kernel: str, known: Pieces) -> list[list[int]]:
        """Straight pieces of code that can be reached from `start` and are not translated yet."""
        traces: list[list[int]] = []
        pending, seen = [start], set[int]()
        self.leaders.add(start)
        while pending:
            pc, trace, gpr_index = pending.pop(), list[int](), 0
            while pc not in seen and pc not in self._operations:
                piece = known.find(self.text, pc) or known.add(self.text, *self._decode(pc, kernel))
                if piece.indexing is not None:
                    gpr_index = piece.indexing
                if gpr_index and (piece.row.unit in INDEXED or piece.indexing is not None):
                    piece = known.indexed(piece, gpr_index)
                self.pieces[pc] = piece
                if piece.row.unit == "barrier":
                    self._with_barriers.add(kernel)
                elif piece.adds_floats:
                    self._with_float_adds.add(kernel)
                seen.add(pc)
                trace.append(pc)
                after = pc + piece.inst.size
                if piece.target is not None:
                    pending.append(pc + piece.target)
                    self.leaders.add(pc + piece.target)
                if piece.parts_blocks:
                    self.leaders.add(after)
                if piece.ends:
                    if piece.is_call:
                        pending.append(after)
                    break
                pc = after
            if trace:
                traces.append(trace)
        return traces

    def _decode(self, pc: int, kernel: str) -> tuple[Row, Inst]:
        try:
            inst = decode(self.isa, self.text, pc)
        except (UnsupportedInstruction, ValueError) as error:
            raise UnsupportedInstruction(self._complaint(pc, 8, kernel, "is not known")) from error
        if inst.parts:
            inst = self._joined(inst, kernel)
        row = row_of(self.isa, inst.name)
        if row is None or inst.mods.gds:
            name = inst.name + " gds" * inst.mods.gds
            raise UnsupportedInstruction(self._complaint(pc, inst.size, kernel, f"({name}) has no meaning yet"))
        return row, inst

    def _joined(self, inst: Inst, kernel: str) -> Inst:
        """A pair with the operands of both."""
        for part in inst.parts:
            if row_of(self.isa, part.name) is None:
                complaint = self._complaint(inst.pc, inst.size, kernel, f"({part.name}) has no meaning yet")
                raise UnsupportedInstruction(complaint)
        first, second = inst.parts
        return Inst(
            inst.pc, inst.size, inst.name, inst.encoding, first.dst + second.dst, first.src + second.src,
            parts=inst.parts,
        )  # fmt: skip

    def _complaint(self, pc: int, size: int, kernel: str, fact: str) -> str:
        words = " ".join(f"{w:08x}" for (w,) in struct.iter_unpack("<I", self.text[pc : pc + size // 4 * 4]))
        return f"launch: instruction {words} {fact}, at pc {pc:#x} of {kernel} for {self.code.target}"
