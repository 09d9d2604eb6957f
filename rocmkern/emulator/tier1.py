"""Tier 1: the hot blocks of a kernel as one LLVM function per unit, registers in SSA form.

A unit takes over in tier 0 where its first block begins and goes back to tier 0 wherever it has no code: all state is
in the wave at those points, so the tiers mix freely. Blocks come in two versions: for EXEC known to be all ones,
where nothing is masked, and for any EXEC. Which blocks and versions are worth having is what tier 0 counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2s
from typing import Final

from attrs import define, field, frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.flow import ALWAYS_READ, EXEC_PAIR, PAIRS, SCC, Block, Effects, Flow
from rocmkern.emulator.inline import QUAD, Inline, Uniform, Whole, is_uniform
from rocmkern.emulator.inline_memory import InlineMemory
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import ROWS, Context, Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers.seam import NOBODY, Observers, Point
from rocmkern.emulator.operands import CONSTANTS, emit_dual, emit_scalar, emit_vector, implicit, uniform
from rocmkern.emulator.registers import Place
from rocmkern.emulator.tier0 import PARAMETERS, HandlerBuilder, shape, symbol_of
from rocmkern.emulator.wave import field as field_of_wave

Version = tuple[int, bool]  # block, EXEC known to be all ones
BLOCK: Final = (ROWS["count"], Inst(0, 4, "count", ""))  # what begins one in tier 0


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
    observers: Observers = NOBODY
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
        """By content: the instructions and their places, what is hot, where one goes on, what is read from there on."""
        state, alive = blake2s(f"{self.isa} {self.wave_size} {self.entry}".encode(), digest_size=16), self.flow.alive
        state.update(self._block_key.encode())
        for start, full in self.versions:
            block = self._blocks[start]
            after = f"{block.after} {block.after in self.leaders}"
            state.update(f"|{start} {full} {block.successors} {block.leaves} {after}".encode())
            for place in (start, *block.successors):
                state.update(f"{sorted(alive[place]) if place in alive else ''};".encode())
            for pc in block.pcs:
                row, inst = self.flow.code[pc]
                state.update(
                    f"{pc} {pc in self.leaders} {inst.dst} {inst.src} {inst.imm} {inst.imm1} {inst.target}".encode()
                )
                state.update((shape(inst, self.isa, self.wave_size) + self.observers.key(row, inst)).encode())
        return "unit_" + state.hexdigest()

    def build(self) -> Code:
        w = self._writer
        lines, w.lines = w.lines, w.prologue
        w.line(f"%launch = load ptr, ptr {field_of_wave(w, at.WAVE_LAUNCH).text}, align 8")
        w.lines = lines
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
        self._writer.branch(full, *[self._first(all_lanes) for all_lanes in (True, False)])

    def _first(self, full: bool) -> str:
        """The first block, or the way back to tier 0, which counts what it runs."""
        if (self.entry, full) in self.hot.versions:
            return self._label(self.entry, full)
        return self._stub("count", self.entry, full)

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

    def _label(self, pc: int, full: bool) -> str:
        """The block at `pc` in this unit, or the way back to tier 0."""
        if pc in self._blocks and (pc, full) in self.hot.versions:
            return f"b{pc}_{'full' if full else 'any'}"
        return self._stub("go", pc)

    def _stub(self, kind: str, pc: int, flag: bool = False) -> str:
        return self._stubs.setdefault((kind, pc, flag), f"{kind}{pc}{'_skip' if flag else ''}")

    def _back_to_tier0(self, pc: int) -> str:
        """A way out before the instruction at `pc`."""
        return self._stub("go", pc, pc in self.leaders)

    def _operation(self, pc: int, skip: bool = False) -> Value:
        w = self._writer
        operation = w.load(w.at(Value(w, "ptr", 0, "%map"), pc // 4 * 8), "ptr", 0, 8)
        return w.at(operation, at.COUNT_BYTES) if skip else operation

    def _emit_stubs(self) -> None:
        w = self._writer
        for (kind, pc, flag), label in list(self._stubs.items()):
            w.label(label)
            for register in sorted(self._regs.written & self.flow.to_save(self.entry, pc)):
                self._regs.save(register)
            operation = self._operation(pc, flag and kind != "count")
            if kind == "count":
                self._tell_of_block(pc)
                for offset in (at.OP_COUNT,) if flag else (at.OP_COUNT, at.OP_PARTIAL):
                    spot = w.at(operation, offset)
                    w.store(w.load(spot, "i64", 0, 8) + 1, spot, 8)
                operation = w.at(operation, at.COUNT_BYTES)
            if kind in ("go", "count"):
                handler = w.load(operation, "ptr", 0, 8)
                result = w.emit(f"musttail call i32 {handler.text}(ptr %w, ptr {operation.text})", "i32")
                w.line(f"ret i32 {result.text}")
            else:
                w.store(operation, field_of_wave(w, at.WAVE_NEXT), 8)
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
        spot = field_of_wave(w, at.WAVE_FUEL)
        fuel = w.load(spot, "i64", 0, 8) - 1
        w.store(fuel, spot, 8)
        w.branch(fuel.compare("slt", 0), self._stub("yield", target), self._label(target, full))

    # Blocks.

    def _block(self, block: Block, full: bool) -> None:
        w, regs = self._writer, self._regs
        w.lines.append(f"{self._label(block.start, full)}:")
        regs.begin_block(full)
        self._tell_of_block(block.start)
        for pc in block.pcs:
            row, inst = self.flow.code[pc]
            if inst.mods.gpr_index and row.unit != "salu":  # registers that are chosen at run time lie in memory
                w.jump(self._back_to_tier0(pc))
                return
            regs.inst = inst
            for i, observer in self.observers.watching("instruction", row, inst):
                observer.instruction(self._point(pc, i), row, inst)
            self._instruction(row, inst)
        self._leave(block, full)

    def _leave(self, block: Block, full: bool) -> None:
        w, regs = self._writer, self._regs
        row, inst = self.flow.code[block.pcs[-1]] if block.pcs else (None, None)
        if block.leaves == "end":
            w.line(f"ret i32 {at.END}")
        elif block.leaves in ("jump", "landing"):
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
            self._tell_of_branch(row, inst, w.constant("i1", 1))
            w.jump(self._edge(block, inst.target, full))
        else:
            context = Context(w, 0, self.wave_size, self.isa)
            taken = row.emit(context, *(implicit(self._regs, t) for t in row.sources))
            assert isinstance(taken, Value)
            self._tell_of_branch(row, inst, taken)
            w.branch(taken, self._edge(block, inst.target, full), self._edge(block, block.after, full))
        for target in dict.fromkeys(block.successors):
            self._back_edge(block, target, full)

    # What observers add.

    @property
    def _block_key(self) -> str:
        return self.observers.key(*BLOCK)

    def _point(self, pc: int, number: int) -> Point:
        lanes = self._regs.read_pair(EXEC_PAIR)
        lanes = lanes if self.wave_size == 64 else lanes & 0xFFFFFFFF
        operation = partial(self._operation, pc, pc in self.leaders)
        return Point(self._writer, number, self.wave_size, lanes, operation, pc)

    def _tell_of_block(self, pc: int) -> None:
        for i, observer in self.observers.watching("block", *BLOCK):
            observer.block(self._point(pc, i))

    def _tell_of_branch(self, row: Row, inst: Inst, taken: Value) -> None:
        for i, observer in self.observers.watching("branch", row, inst):
            observer.branch(self._point(inst.pc, i), taken)

    # Instructions.

    def _instruction(self, row: Row, inst: Inst) -> None:
        if row.unit in ("nop", "wait", "branch", "end", "barrier"):
            return
        is_watched = row.unit == "memory" and self.observers.key(row, inst)  # it must not go back to tier 0 half told
        if inst.mods.by_mode or is_watched:  # the former tells the CPU how to round
            self.call(row, inst)
        elif is_uniform(row, inst, self._regs):
            one = Uniform(self._writer, self.wave_size, self.isa, inst, lanes=QUAD, full=True, parts=self._regs)
            emit_vector(row, inst, one, self.isa)
        elif row.unit == "valu":
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
            lane = operand.value if constant else uniform(regs, ("src", 1), operand, "i32", "b32")
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
        return self._writer.at(self._regs.home(register), lane.zext("i64").shl(2), 4 * (self.wave_size - 1))

    def _read_lane(self, place: Place, lane: Value | int) -> Value:
        regs = self._regs
        register = regs.register(place)
        if isinstance(lane, int):
            return regs.read_row(register, lane // regs.lanes).lane(lane % regs.lanes)
        regs.save(register)
        return self._writer.load(self._home_lane(register, lane), "i32", 0, 4)

    def _write_lane(self, inst: Inst, lane: Value | int) -> None:
        regs, operand = self._regs, inst.src[0]
        value = uniform(regs, ("src", 0), operand, "i32", "b32")
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
        symbol = "call_" + symbol_of(shape(inst, self.isa, self.wave_size) + self.observers.key(row, inst))
        self.plains[symbol] = (row, inst)
        effects = Effects.of(row, inst)
        for register in sorted(effects.reads | ALWAYS_READ):
            regs.save(register)
        operation = self._operation(inst.pc, inst.pc in self.leaders)
        w.declarations[symbol] = f"declare void @{symbol}(ptr, ptr)"
        w.line(f"call void @{symbol}(ptr %w, ptr {operation.text})")
        for register in sorted(effects.writes):
            regs.restore(register)


def plain_code(row: Row, inst: Inst, isa: str, wave_size: int, observers: Observers) -> HandlerBuilder:
    return HandlerBuilder(row, inst, isa, wave_size, observers, plain=True)
