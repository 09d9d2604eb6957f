"""Registers in compiled code: local variables of the function, and how instructions see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from rocmkern.emulator import layout as at
from rocmkern.emulator import wave
from rocmkern.emulator.flow import EXEC_PAIR, PAIRS, SCC
from rocmkern.emulator.ir import WIDTH, Value, Writer
from rocmkern.emulator.isa.model import EXEC, M0, VCC, Inst, Operand
from rocmkern.emulator.meaning.api import ELEMENT, IMPLICIT, Row
from rocmkern.emulator.operands import CONSTANTS, is_null, mask_lanes
from rocmkern.emulator.registers import Place
from rocmkern.errors import UnsupportedInstruction

REGISTERS: Final = ("s", "v", "vl", "vh", "a")
PAIR_OF: Final = {"vcc": VCC, "m0": M0, "exec": EXEC}
QUAD: Final = 4  # lanes that stand for all where they are alike
BY_LANE: Final = frozenset({"v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"})


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
    uniform: set[tuple[str, int]] = field(factory=set)  # of this block: ("row" | "mask", register) alike in all lanes

    def begin_block(self, full: bool) -> None:
        self.full, self._exec = full, None
        self._masks.clear()
        self.straight.clear()
        self.uniform.clear()

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
        self.uniform.discard(("row", register))
        for key in [k for k in self.straight if register in (k[0], k[0] + 1)]:
            del self.straight[key]
        self.writer.store(value, self.cell(register, chunk), 64)

    def read_pair(self, pair: int) -> Value:
        if pair == EXEC_PAIR and self.full:
            return self.writer.constant("i64", -1 if self.wave_size == 64 else 0xFFFFFFFF)
        return self.writer.load(self.cell(pair), "i64", 0, 8)

    def write_pair(self, pair: int, value: Value) -> None:
        self.written.add(pair)
        self.uniform -= {("mask", 2 * (pair - PAIRS) + i) for i in (0, 1)}
        self.writer.store(value, self.cell(pair), 8)

    # Home: the register's place in the wave.

    def home(self, register: int, chunk: int = 0) -> Value:
        w = self.writer
        if register == SCC:
            return wave.field(w, at.SCC)
        if register >= PAIRS:
            return wave.pair(w, register - PAIRS)
        return wave.row(w, register, chunk, self.lanes, self.isa, self.wave_size)

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
        return wave.wave(self.writer)

    def launch(self) -> Value:
        return Value(self.writer, "ptr", 0, "%launch")

    def operation(self) -> Value:
        return Value(self.writer, "ptr", 0, "%op")

    def chunks(self) -> Iterator[Value]:
        for chunk in range(self.chunk_count):
            yield self.writer.constant("i64", chunk)

    def register(self, place: Place, which: int = 0, count: int = 1) -> int:
        """Number `which` of an operand's registers, of which that many from there on are meant.

        Raises UnsupportedInstruction where it has fewer.
        """
        operand = (self.inst.dst if place[0] == "dst" else self.inst.src)[place[1]]
        wave.place_of(operand, self.isa, self.wave_size)
        if operand.kind not in REGISTERS or which + count > operand.count:
            raise UnsupportedInstruction(
                f"translate: {self.inst.name} wants {which + count} registers of an operand of {operand.count}"
            )
        return operand.value + which + (at.VECTORS if operand.kind == "a" else 0)

    def _is_null(self, place: Place) -> bool:
        return is_null((self.inst.dst if place[0] == "dst" else self.inst.src)[place[1]])

    def vector(self, place: Place, register: int, chunk: Value) -> Value:
        number = int(chunk.constant or 0)
        if place[0] == "moved":
            return self._moved[place[1]][number]
        return self.read_row(self.register(place, register), number)

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        number, row = int(chunk.constant or 0), self.register(place, register)
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
        whole = self.whole(self.register(place, register))
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
        if self._is_null(place):
            return self.writer.constant(element, 0)
        return self.read_scalar(self.register(place, count=WIDTH[element] // 32 or 1), element)

    def read_scalar(self, index: int, element: str) -> Value:
        pair = self.read_pair(PAIRS + index // 2)
        if element == "i64":
            return pair
        width = WIDTH[element]
        value = (pair.lshr(32) if index & 1 else pair).trunc(f"i{width}") if width < 64 else pair
        return value if element[0] == "i" else value.bits(element)

    def scalar_part(self, place: Place, register: int) -> Value:
        if self._is_null(place):
            return self.writer.constant("i32", 0)
        return self.read_scalar(self.register(place, register), "i32")

    def write_scalar(self, place: Place, value: Value, register: int = 0) -> None:
        if not self._is_null(place):
            self.write_scalar_at(self.register(place, register, value.width // 32), value)

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
        return self.parts.whole(self.register(place, register))

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        number = self.register(place, register)
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


@define
class Uniform(Whole):
    """The same registers where all lanes hold the same: a few lanes stand for all."""

    def vector(self, place: Place, register: int, chunk: Value) -> Value:
        return self.parts.read_row(self.register(place, register), 0).lane(0).splat(self.lanes)

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        row, value = self.register(place, register), value if not value.lanes else value.lane(0)
        for part in range(self.parts.chunk_count):
            self.parts.write_row(row, part, value.splat(self.parts.lanes))
        self.parts.uniform.add(("row", row))

    def lanes_of(self, mask: Value, chunk: Value) -> Value:
        return mask_lanes(mask, chunk, self.lanes)

    def write_scalar(self, place: Place, value: Value, register: int = 0) -> None:
        """A mask of lanes, which is the only scalar result of vector instructions: all or none."""
        if self._is_null(place):
            return
        index = self.register(place)
        self.write_scalar_at(index, -(value & 1))
        self.parts.uniform.add(("mask", index))


def is_uniform(row: Row, inst: Inst, regs: Inline) -> bool:
    """Whether a lane-wise instruction is known to do the same in all lanes."""
    if row.unit != "valu" or not regs.full or inst.mods.dpp or inst.name in BY_LANE or "mx" in row.destinations:
        return False
    if not set(row.sources) & IMPLICIT <= {"scc"}:
        return False
    widths = [WIDTH[ELEMENT[t]] for t in row.destinations if t in ELEMENT]  # the others are whole registers
    keeps_old = inst.mods.sdwa is not None or 8 in widths or 16 in widths
    reads_result = keeps_old or any(t.startswith("^") for t in row.sources)
    sources = [*inst.src, *(inst.dst[:1] if reads_result else ())]
    tokens = [*row.explicit, *(["b32"] if reads_result else [])]
    return all(_is_alike(o, t, regs) for o, t in zip(sources, tokens, strict=True))


def _is_alike(operand: Operand, token: str, regs: Inline) -> bool:
    if operand.kind in ("v", "a", "vl", "vh"):
        first = operand.value + (at.VECTORS if operand.kind == "a" else 0)
        return all(("row", first + i) in regs.uniform for i in range(operand.count))
    if token == "m":
        return operand.kind == "s" and ("mask", operand.value) in regs.uniform
    return operand.kind == "s" or operand.kind in CONSTANTS or operand.kind == "special"
