"""Tier 1: the hot blocks of a kernel as one LLVM function per unit, registers in SSA form.

A unit takes over in tier 0 where its first block begins and goes back to tier 0 wherever it has no code: all state is
in the wave at those points, so the tiers mix freely. Blocks come in two versions: for EXEC known to be all ones,
where nothing is masked, and for any EXEC. Which blocks and versions are worth having is what tier 0 counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2s
from typing import Final

from attrs import define, field, frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.flow import ALWAYS_READ, EXEC_PAIR, PAIRS, SCC, Block, Effects, Flow
from rocmkern.emulator.inline_memory import InlineMemory
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import EXEC, M0, VCC, Inst
from rocmkern.emulator.meaning.api import Context, Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.operands import CONSTANTS, emit_dual, emit_scalar, emit_vector, implicit, mask_lanes
from rocmkern.emulator.registers import Place
from rocmkern.emulator.tier0 import PARAMETERS, HandlerBuilder, shape, symbol_of

PAIR_OF: Final = {"vcc": VCC, "m0": M0, "exec": EXEC}
Version = tuple[int, bool]  # block, EXEC known to be all ones


@define
class Inline:
    """Registers as local variables of the function, one per chunk of a vector register or pair of scalar ones."""

    writer: Writer
    wave_size: int
    isa: str
    inst: Inst
    lanes: int = at.CHUNK
    full: bool = False
    written: set[int] = field(factory=set)
    cells: dict[tuple[int, int], Value] = field(factory=dict)  # (register, chunk) → where it is kept
    _masks: dict[tuple[str, int], Value] = field(factory=dict)
    _exec: Value | None = None
    _moved: dict[int, list[Value]] = field(factory=dict)
    straight: dict[tuple[int, int, int], tuple[Value, Value]] = field(factory=dict)

    def begin_block(self, full: bool) -> None:
        self.full, self._exec = full, None
        self._masks.clear()
        self.straight.clear()

    # Cells.

    def cell(self, register: int, chunk: int = 0) -> Value:
        key = register, chunk
        if key not in self.cells:
            kind = "i1" if register == SCC else "i64" if register >= PAIRS else f"<{self.lanes} x i32>"
            self.cells[key] = self.writer.hoist(f"alloca {kind}", "ptr")
        return self.cells[key]

    @property
    def chunk_count(self) -> int:
        return self.wave_size // self.lanes

    def read_row(self, register: int, chunk: int) -> Value:
        return self.writer.load(self.cell(register, chunk), "i32", self.lanes, 64)

    def write_row(self, register: int, chunk: int, value: Value) -> None:
        self.written.add(register)
        for key in [k for k in self.straight if register in (k[0], k[0] + 1)]:
            del self.straight[key]
        self.writer.store(value, self.cell(register, chunk), 64)

    def read_pair(self, pair: int) -> Value:
        if pair == EXEC_PAIR and self.full:
            return self.writer.constant("i64", -1 if self.wave_size == 64 else 0xFFFFFFFF)
        return self.writer.load(self.cell(pair), "i64", 0, 8)

    def write_pair(self, pair: int, value: Value) -> None:
        self.written.add(pair)
        self.writer.store(value, self.cell(pair), 8)

    # Home: the register's place in the wave.

    def home(self, register: int, chunk: int = 0) -> Value:
        w = self.writer
        if register == SCC:
            return w.at(self.wave(), at.SCC)
        if register >= PAIRS:
            return w.at(self.wave(), 8 * (register - PAIRS))
        return w.at(self.wave(), at.WAVE_VECTORS + 4 * (register * self.wave_size + chunk * self.lanes))

    def save(self, register: int) -> None:
        """Copy to its home."""
        w = self.writer
        if register == SCC:
            w.store(w.load(self.cell(SCC), "i1").zext("i32"), self.home(SCC), 4)
        elif register >= PAIRS:
            w.store(w.load(self.cell(register), "i64", 0, 8), self.home(register), 4)
        else:
            for chunk in range(self.chunk_count):
                w.store(self.read_row(register, chunk), self.home(register, chunk), 64)

    def restore(self, register: int) -> None:
        """Copy from its home."""
        w = self.writer
        if register == SCC:
            self.written.add(SCC)
            w.store(w.load(self.home(SCC), "i32", 0, 4).ne(0), self.cell(SCC))
        elif register >= PAIRS:
            self.write_pair(register, w.load(self.home(register), "i64", 0, 4))
        else:
            for chunk in range(self.chunk_count):
                self.write_row(register, chunk, w.load(self.home(register, chunk), "i32", self.lanes, 64))

    # The seam.

    def wave(self) -> Value:
        return Value(self.writer, "ptr", 0, "%w")

    def launch(self) -> Value:
        return Value(self.writer, "ptr", 0, "%launch")

    def operation(self) -> Value:
        return Value(self.writer, "ptr", 0, "%op")

    def chunks(self) -> Iterator[Value]:
        for chunk in range(self.chunk_count):
            yield self.writer.constant("i64", chunk)

    def register(self, place: Place) -> int:
        operand = (self.inst.dst if place[0] == "dst" else self.inst.src)[place[1]]
        return operand.value + (at.VECTORS if operand.kind == "a" else 0)

    def vector(self, place: Place, register: int, chunk: Value) -> Value:
        number = int(chunk.constant or 0)
        if place[0] == "moved":
            return self._moved[place[1]][number]
        return self.read_row(self.register(place) + register, number)

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        number, row = int(chunk.constant or 0), self.register(place) + register
        value = value.splat(self.lanes)
        if mask is not None:
            value = mask.select(value, self.read_row(row, number))
        self.write_row(row, number, value)

    def exec_mask(self) -> Value | None:
        if self.full:
            return None
        if self._exec is None:
            self._exec = self.read_pair(EXEC_PAIR)
        return self._exec

    def lanes_of(self, mask: Value, chunk: Value) -> Value:
        key = mask.text, int(chunk.constant or 0)
        if key not in self._masks or mask.constant is not None:
            self._masks[key] = mask_lanes(mask, chunk, self.lanes)
        return self._masks[key]

    def permuted(self, place: Place, order: list[int], register: int) -> Place:
        w = self.writer
        whole = self.whole(self.register(place) + register)
        moved = w.shuffle(whole, None, [max(source, 0) for source in order])
        number = len(self._moved)
        self._moved[number] = [
            w.shuffle(moved, None, list(range(c * self.lanes, (c + 1) * self.lanes))) for c in range(self.chunk_count)
        ]
        return ("moved", number)

    def whole(self, row: int) -> Value:
        """All lanes of a vector register."""
        return self.writer.concatenate([self.read_row(row, c) for c in range(self.chunk_count)])

    def scalar(self, place: Place, element: str) -> Value:
        return self.read_scalar(self.register(place), element)

    def read_scalar(self, index: int, element: str) -> Value:
        pair = self.read_pair(PAIRS + index // 2)
        if element == "i64":
            return pair
        return pair.lshr(32).trunc("i32") if index & 1 else pair.trunc("i32")

    def scalar_part(self, place: Place, register: int) -> Value:
        return self.read_scalar(self.register(place) + register, "i32")

    def write_scalar(self, place: Place, value: Value) -> None:
        self.write_scalar_at(self.register(place), value)

    def write_scalar_at(self, index: int, value: Value) -> None:
        pair = PAIRS + index // 2
        if value.width == 32:
            old = self.read_pair(pair)
            wide = value.zext("i64")
            value = (old & 0xFFFFFFFF) | wide.shl(32) if index & 1 else (old & -0x100000000) | wide
        self.write_pair(pair, value)

    def constant(self, place: Place, element: str, bits: int) -> Value:
        width = int(element[1:])
        return self.writer.constant(element, bits - (1 << width) if bits >> (width - 1) & 1 else bits)

    def immediate(self, which: int) -> Value:
        return self.writer.constant("i64", self.inst.imm1 if which else self.inst.imm)

    def special(self, name: str, element: str) -> Value:
        if name == "scc":
            return self.writer.load(self.cell(SCC), "i1")
        return self.read_scalar(PAIR_OF[name], element)

    def write_special(self, name: str, value: Value) -> None:
        if name == "scc":
            self.written.add(SCC)
            self.writer.store(value, self.cell(SCC))
        else:
            self.write_scalar_at(PAIR_OF[name], value)

    def next_pc(self) -> Value:
        start = self.writer.load(self.writer.at(self.launch(), at.LAUNCH_CODE), "i64", 0, 8)
        return start + (self.inst.pc + self.inst.size)

    def rows(self, place: Place) -> Value:
        return self.home(self.register(place))


@define
class Whole(Inline):
    """The same registers, all lanes at once."""

    parts: Inline = field(kw_only=True)

    def chunks(self) -> Iterator[Value]:
        yield self.writer.constant("i64", 0)

    def vector(self, place: Place, register: int, chunk: Value) -> Value:
        return self.parts.whole(self.register(place) + register)

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        number = self.register(place) + register
        if mask is not None:
            value = mask.select(value, self.parts.whole(number))
        size = self.parts.lanes
        for part in range(self.parts.chunk_count):
            self.parts.write_row(
                number, part, self.writer.shuffle(value, None, list(range(part * size, part * size + size)))
            )

    def exec_mask(self) -> Value | None:
        return self.parts.exec_mask()

    def lanes_of(self, mask: Value, chunk: Value) -> Value:
        return mask_lanes(mask, chunk, self.wave_size)

    def read_pair(self, pair: int) -> Value:
        return self.parts.read_pair(pair)

    def write_pair(self, pair: int, value: Value) -> None:
        self.parts.write_pair(pair, value)


@frozen
class Hot:
    """What tier 0 saw: the versions of blocks that ran."""

    versions: frozenset[Version]

    @staticmethod
    def of(flow: Flow, counts: Callable[[int], tuple[int, int]]) -> Hot:
        """`counts(block)`: how often it began, and how often with lanes off."""
        versions = set[Version]()
        for start in flow.blocks:
            count, partial = counts(start)
            if count > partial:
                versions.add((start, True))
            if partial:
                versions.add((start, False))
        return Hot(frozenset(versions))


@define(eq=False)
class UnitBuilder:
    """Emits one unit."""

    flow: Flow
    entry: int
    hot: Hot
    isa: str
    wave_size: int
    leaders: set[int]
    plains: dict[str, tuple[Row, Inst]] = field(factory=dict)
    _writer: Writer = field(factory=Writer)
    _stubs: dict[tuple[str, int, bool], str] = field(factory=dict)
    _regs: Inline = field(init=False)
    _blocks: dict[int, Block] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._writer.inlines = True
        self._regs = Inline(self._writer, self.wave_size, self.isa, Inst(0, 0, "", ""))
        self._blocks = {b.start: b for b in self.flow.unit(self.entry)}

    @property
    def versions(self) -> list[Version]:
        return [(start, full) for start in self._blocks for full in (True, False) if (start, full) in self.hot.versions]

    @property
    def symbol(self) -> str:
        """By content: the instructions and their places, what is hot, where one goes on."""
        state = blake2s(f"{self.isa} {self.wave_size} {self.entry}".encode(), digest_size=16)
        for start, full in self.versions:
            block = self._blocks[start]
            state.update(f"|{start} {full} {block.successors} {block.leaves} {sorted(self.flow.alive[start])}".encode())
            for pc in block.pcs:
                inst = self.flow.code[pc][1]
                state.update(f"{pc} {inst.dst} {inst.src} {inst.imm} {inst.imm1} {inst.target}".encode())
                state.update(shape(inst, self.isa, self.wave_size).encode())
        return "unit_" + state.hexdigest()

    def build(self) -> Code:
        w = self._writer
        w.prologue.append(f"  %launch_at = getelementptr i8, ptr %w, i64 {at.WAVE_LAUNCH}")
        w.prologue.append("  %launch = load ptr, ptr %launch_at, align 8")
        w.prologue.append(f"  %map_at = getelementptr i8, ptr %launch, i64 {at.LAUNCH_MAP}")
        w.prologue.append("  %map = load ptr, ptr %map_at, align 8")
        self._enter()
        for start, full in self.versions:
            self._block(self._blocks[start], full)
        self._emit_stubs()
        self._load_live()
        body = "\n".join([*w.prologue, *w.lines])
        text = f"define i32 @{self.symbol}{PARAMETERS} #0 {{\n{body}\n}}\n"
        needs = (*sorted(self.plains), *sorted(w.supports))
        return Code(self.symbol, text, w.declarations, needs, w.globals)

    def _enter(self) -> None:
        full = self._is_full(self._writer.load(self._regs.home(EXEC_PAIR), "i64", 0, 8))
        self._writer.branch(full, self._label(self.entry, True, skip=True), self._label(self.entry, False, skip=True))

    def _is_full(self, mask: Value) -> Value:
        return mask.resize(f"i{self.wave_size}").eq(-1)

    def _load_live(self) -> None:
        """Variables begin with the wave's values where those can be read, else with 0."""
        regs, w = self._regs, self._writer
        body, w.lines = w.lines, []
        live = self.flow.alive[self.entry] | ALWAYS_READ
        for register, chunk in list(regs.cells):
            kind = "i1" if register == SCC else "i64" if register >= PAIRS else f"<{regs.lanes} x i32>"
            if register not in live:
                w.line(f"store {kind} zeroinitializer, ptr {regs.cell(register, chunk).text}")
            elif register == SCC:
                w.store(w.load(regs.home(SCC), "i32", 0, 4).ne(0), regs.cell(SCC))
            elif register >= PAIRS:
                w.store(w.load(regs.home(register), "i64", 0, 4), regs.cell(register), 8)
            else:
                value = w.load(regs.home(register, chunk), "i32", regs.lanes, 64)
                w.store(value, regs.cell(register, chunk), 64)
        w.prologue += w.lines
        w.lines = body

    # Ways on.

    def _label(self, pc: int, full: bool, skip: bool = False) -> str:
        """The block at `pc` in this unit, or the way back to tier 0."""
        if pc in self._blocks and (pc, full) in self.hot.versions:
            return f"b{pc}_{'full' if full else 'any'}"
        return self._stub("go", pc, skip)

    def _stub(self, kind: str, pc: int, flag: bool = False) -> str:
        return self._stubs.setdefault((kind, pc, flag), f"{kind}{pc}{'_skip' if flag else ''}")

    def _back_to_tier0(self, pc: int) -> str:
        """A way out before the instruction at `pc`."""
        return self._stub("go", pc, pc in self.leaders)

    def _operation(self, pc: int, skip: bool = False) -> Value:
        w = self._writer
        operation = w.load(w.at(Value(w, "ptr", 0, "%map"), pc // 4 * 8), "ptr", 0, 8)
        return w.at(operation, at.OP_SIZE) if skip else operation

    def _emit_stubs(self) -> None:
        w = self._writer
        for (kind, pc, skip), label in list(self._stubs.items()):
            w.label(label)
            live = self.flow.alive.get(pc)
            for register in sorted(self._regs.written):
                if live is None or register in live or register == EXEC_PAIR:
                    self._regs.save(register)
            operation = self._operation(pc, skip)
            if kind == "go":
                handler = w.load(operation, "ptr", 0, 8)
                result = w.emit(f"musttail call i32 {handler.text}(ptr %w, ptr {operation.text})", "i32")
                w.line(f"ret i32 {result.text}")
            else:
                w.store(operation, w.at(self._regs.wave(), at.WAVE_NEXT), 8)
                w.line(f"ret i32 {at.BARRIER if kind == 'barrier' else at.YIELD}")

    def _edge(self, block: Block, target: int, full: bool) -> str:
        """The label to go to; a way back costs fuel first."""
        label = self._label(target, full)
        if target > block.start or label.startswith("go"):
            return label
        return f"back{block.start}_{target}_{'full' if full else 'any'}"

    def _back_edge(self, block: Block, target: int, full: bool) -> None:
        label = self._edge(block, target, full)
        if not label.startswith("back"):
            return
        w = self._writer
        w.label(label)
        spot = w.at(self._regs.wave(), at.WAVE_FUEL)
        fuel = w.load(spot, "i64", 0, 8) - 1
        w.store(fuel, spot, 8)
        w.branch(fuel.compare("slt", 0), self._stub("yield", target), self._label(target, full))

    # Blocks.

    def _block(self, block: Block, full: bool) -> None:
        w, regs = self._writer, self._regs
        w.lines.append(f"{self._label(block.start, full)}:")
        regs.begin_block(full)
        for pc in block.pcs:
            row, inst = self.flow.code[pc]
            if inst.mods.gpr_index and row.unit != "salu":  # registers that are chosen at run time lie in memory
                w.jump(self._back_to_tier0(pc))
                return
            regs.inst = inst
            self._instruction(row, inst)
        self._leave(block, full)

    def _leave(self, block: Block, full: bool) -> None:
        w, regs = self._writer, self._regs
        row, inst = self.flow.code[block.pcs[-1]] if block.pcs else (None, None)
        if block.leaves == "end":
            w.line(f"ret i32 {at.END}")
        elif block.leaves == "jump":
            w.jump(self._stub("go", block.after, block.after in self.leaders))
        elif block.leaves == "barrier":
            w.jump(self._stub("barrier", block.after))
        elif row is not None and inst is not None and row.unit == "branch":
            self._branch(block, row, inst, full)
        elif row is not None and inst is not None and EXEC_PAIR in Effects.of(row, inst).writes:
            regs.full = False
            now_full = self._is_full(regs.read_pair(EXEC_PAIR))
            w.branch(now_full, self._edge(block, block.after, True), self._edge(block, block.after, False))
            for version in (True, False):
                self._back_edge(block, block.after, version)
        else:
            w.jump(self._edge(block, block.after, full))
            self._back_edge(block, block.after, full)

    def _branch(self, block: Block, row: Row, inst: Inst, full: bool) -> None:
        w = self._writer
        if row.emit is None:
            w.jump(self._edge(block, inst.target, full))
        else:
            context = Context(w, 0, self.wave_size, self.isa)
            taken = row.emit(context, *(implicit(self._regs, t) for t in row.sources))
            assert isinstance(taken, Value)
            w.branch(taken, self._edge(block, inst.target, full), self._edge(block, block.after, full))
        for target in dict.fromkeys(block.successors):
            self._back_edge(block, target, full)

    # Instructions.

    def _instruction(self, row: Row, inst: Inst) -> None:
        if row.unit in ("nop", "branch", "end", "barrier"):
            return
        if row.unit == "valu":
            emit_vector(row, inst, self._regs, self.isa)
        elif row.unit == "lanes":
            whole = Whole(self._writer, self.wave_size, self.isa, inst, lanes=self.wave_size, parts=self._regs)
            emit_vector(row, inst, whole, self.isa)
        elif row.unit == "dual":
            emit_dual(inst, self._regs, self.isa)
        elif row.unit == "salu":
            emit_scalar(row, inst, self._regs, self.isa)
        elif row.unit == "memory":
            InlineMemory(self._regs, row, inst, self._back_to_tier0, self.call).emit()
        elif not self._lane_access(row, inst):
            self.call(row, inst)

    def _lane_access(self, row: Row, inst: Inst) -> bool:
        """readlane, readfirstlane, writelane: at constant places from registers, else by way of the wave's memory."""
        regs = self._regs
        if inst.name == "v_readfirstlane_b32":
            lane: Value | int = 0 if regs.full else self._first_lane()
        elif inst.name in ("v_readlane_b32", "v_writelane_b32"):
            operand = inst.src[1]
            constant = operand.kind in CONSTANTS
            lane = operand.value if constant else regs.scalar(("src", 1), "i32")
            lane = lane & (self.wave_size - 1)
        else:
            return False
        if inst.name == "v_writelane_b32":
            self._write_lane(inst, lane)
        elif inst.src[0].kind in ("v", "a"):
            regs.write_scalar(("dst", 0), self._read_lane(("src", 0), lane))
        else:
            return False
        return True

    def _first_lane(self) -> Value:
        mask = self._regs.exec_mask()
        assert mask is not None
        return mask.eq(0).select(0, self._writer.intrinsic("cttz", mask, extra="i1 false").trunc("i32"))

    def _home_lane(self, register: int, lane: Value) -> Value:
        return self._writer.at(self._regs.home(register), lane.zext("i64").shl(2))

    def _read_lane(self, place: Place, lane: Value | int) -> Value:
        regs = self._regs
        register = regs.register(place)
        if isinstance(lane, int):
            return regs.read_row(register, lane // regs.lanes).lane(lane % regs.lanes)
        regs.save(register)
        return self._writer.load(self._home_lane(register, lane), "i32", 0, 4)

    def _write_lane(self, inst: Inst, lane: Value | int) -> None:
        regs, operand = self._regs, inst.src[0]
        value = (
            regs.scalar(("src", 0), "i32") if operand.kind == "s"
            else regs.constant(("src", 0), "i32", operand.value & 0xFFFFFFFF)
        )  # fmt: skip
        register = regs.register(("dst", 0))
        if isinstance(lane, int):
            chunk, position = divmod(lane, regs.lanes)
            old = regs.read_row(register, chunk)
            text = f"insertelement {old.type} {old.text}, i32 {value.text}, i32 {position}"
            regs.write_row(register, chunk, self._writer.emit(text, "i32", regs.lanes))
            return
        regs.save(register)
        self._writer.store(value, self._home_lane(register, lane), 4)
        regs.restore(register)

    def call(self, row: Row, inst: Inst) -> None:
        """Run the instruction out of line on the wave's memory."""
        regs, w = self._regs, self._writer
        symbol = plain_symbol(inst, self.isa, self.wave_size)
        self.plains[symbol] = (row, inst)
        effects = Effects.of(row, inst)
        for register in sorted(effects.reads | ALWAYS_READ):
            regs.save(register)
        operation = self._operation(inst.pc, inst.pc in self.leaders)
        w.declarations[symbol] = f"declare void @{symbol}(ptr, ptr)"
        w.line(f"call void @{symbol}(ptr %w, ptr {operation.text})")
        for register in sorted(effects.writes):
            regs.restore(register)


def plain_symbol(inst: Inst, isa: str, wave_size: int) -> str:
    return "call_" + symbol_of(shape(inst, isa, wave_size))


def plain_code(row: Row, inst: Inst, isa: str, wave_size: int) -> HandlerBuilder:
    return HandlerBuilder(row, inst, isa, wave_size, plain=True)
