"""Registers in the wave's memory, as tier 0 sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from rocmkern.emulator import layout as at
from rocmkern.emulator import wave
from rocmkern.emulator.ir import INT_OF, Value, Writer
from rocmkern.emulator.isa.model import Inst, Operand
from rocmkern.emulator.meaning.api import Context
from rocmkern.emulator.operands import implicit, is_null, mask_lanes, uniform
from rocmkern.emulator.registers import Place

TWO_INDICES: Final = frozenset(
    {"s_movrelsd_2_b32", "v_movrelsd_2_b32", "v_swaprel_b32"}
)  # the destination's is M0's high half
SCALAR_REGISTERS: Final = 106


@define
class OutOfLine:
    """Registers in the wave's memory, at places that the operation's fields tell.

    Lanes are worked on in chunks, which end with the last one that has an active lane.
    """

    writer: Writer
    inst: Inst
    wave_size: int
    isa: str
    lanes: int = at.CHUNK
    _fields: dict[int, Value] = field(factory=dict)

    def wave(self) -> Value:
        return wave.wave(self.writer)

    def operation(self) -> Value:
        return Value(self.writer, "ptr", 0, "%op")

    def _number(self, place: Place) -> int:
        return place[1] if place[0] == "dst" else len(self.inst.dst) + place[1]

    def open_field(self, number: int) -> Value:
        if number not in self._fields:
            pointer = self.writer.hoist(f"getelementptr i8, ptr %op, i64 {at.OP_FIELDS + 8 * number}", "ptr")
            self._fields[number] = self.writer.hoist(f"load i64, ptr {pointer.text}, align 8", "i64")
        return self._fields[number]

    def chunks(self) -> Iterator[Value]:
        if self.lanes == self.wave_size:
            yield self.writer.constant("i64", 0)
            return
        with self.writer.loop(self._active_chunks()) as chunk:
            yield chunk

    def _active_chunks(self) -> Value:
        """How many chunks there are up to the last active lane."""
        mask = self.special("exec", f"i{self.wave_size}")
        idle = self.writer.intrinsic("ctlz", mask, extra="i1 false").resize("i64")
        return (idle.like(self.wave_size + self.lanes - 1) - idle).lshr(self.lanes.bit_length() - 1)

    def exec_mask(self) -> Value | None:
        return self.special("exec", f"i{self.wave_size}").resize("i64")

    def lanes_of(self, mask: Value, chunk: Value) -> Value:
        return mask_lanes(mask, chunk, self.lanes)

    def _spot(self, place: Place, register: int, chunk: Value) -> Value:
        w = self.writer
        if place[0] == "temp":
            base = w.at(wave.field(w, at.WAVE_TEMP), place[1] * self.wave_size * 4)
        else:
            base = w.at(self.rows(place), register * self.wave_size * 4)
        if chunk.constant == 0:
            return base
        return w.at(base, chunk * (4 * self.lanes), 4 * (self.wave_size - self.lanes))

    def vector(self, place: Place, register: int, chunk: Value) -> Value:
        return self.writer.load(self._spot(place, register, chunk), "i32", self.lanes, 64)

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        w, spot = self.writer, self._spot(place, register, chunk)
        value = value.splat(self.lanes)
        if mask is not None:
            # Or else LLVM makes masked stores of it, of 40 micro-operations on AMD's CPUs.
            value = mask.select(value, w.load(spot, "i32", self.lanes, 64, volatile=True))
        w.store(value, spot, 64)

    def _operand(self, place: Place) -> Operand:
        return (self.inst.dst if place[0] == "dst" else self.inst.src)[place[1]]

    def _registers(self, place: Place) -> Value:
        return wave.registers(self.writer, self._operand(place), self.open_field(self._number(place)), self.wave_size)

    def scalar(self, place: Place, element: str) -> Value:
        if is_null(self._operand(place)):
            return self.writer.constant(element, 0)
        return self.writer.load(self._registers(place), element, 0, 4)

    def scalar_part(self, place: Place, register: int) -> Value:
        if is_null(self._operand(place)):
            return self.writer.constant("i32", 0)
        return self.writer.load(self.writer.at(self._registers(place), 4 * register), "i32", 0, 4)

    def write_scalar(self, place: Place, value: Value) -> None:
        self.writer.store(value, self._registers(place), 4)

    def constant(self, place: Place, element: str, bits: int) -> Value:
        return self.open_field(self._number(place)).resize(element)

    def immediate(self, which: int) -> Value:
        return self.open_field(len(self.inst.dst) + len(self.inst.src) + which)

    def special(self, name: str, element: str) -> Value:
        spot = wave.field(self.writer, at.SCALARS[name])
        if element == "i1":
            return self.writer.load(spot, "i32", 0, 4).ne(0)
        return self.writer.load(spot, element, 0, 4)

    def write_special(self, name: str, value: Value) -> None:
        if value.element == "i1":
            value = value.zext("i32")
        self.writer.store(value, wave.field(self.writer, at.SCALARS[name]), 4)

    def next_pc(self) -> Value:
        return self.pc() + self.inst.size

    def pc(self) -> Value:
        return self.writer.load(self.writer.at(self.operation(), at.OP_PC), "i64", 0, 8)

    def permuted(self, place: Place, order: list[int], register: int) -> Place:
        w, zero = self.writer, self.writer.constant("i64", 0)
        whole = w.load(self._spot(place, register, zero), "i32", self.wave_size, 64)
        moved = w.shuffle(whole, None, [max(source, 0) for source in order])
        w.store(moved, self._spot(("temp", register & 1), 0, zero), 64)
        return ("temp", register & 1)

    def rows(self, place: Place) -> Value:
        if not self._is_indexed(place):
            return self._registers(place)
        first, operand = self.open_field(self._number(place)), self._operand(place)
        row = 4 * self.wave_size
        offset = first + self._index(place).zext("i64") * row
        inside = offset.compare("ule", at.WAVE_VECTORS + (at.VECTORS - operand.count) * row)
        # Beyond the last register v0 is read, and nothing written.
        outside = at.WAVE_TEMP if place[0] == "dst" else at.WAVE_VECTORS
        return self._chosen(operand, inside.select(offset, outside), place[0] == "dst")

    def _chosen(self, operand: Operand, offset: Value, has_sink: bool) -> Value:
        """Pointer to registers whose place is known when code runs; what is not written goes to the rows for moves."""
        found = wave.registers(self.writer, operand, offset, self.wave_size)
        if has_sink and found.room is not None:
            found.room = min(found.room, wave.FIELDS[at.WAVE_TEMP])
        return found

    def _index(self, place: Place) -> Value:
        """What of M0 is added to a register's number."""
        m0 = self.special("m0", "i32")
        if self.inst.name in TWO_INDICES:
            return (m0.lshr(16) if place == ("dst", 0) else m0) & 0x3FF
        return m0 if self.inst.name.startswith("v_movrel") else m0 & 0xFF

    def scalar_rows(self, place: Place) -> Value:
        """Pointer to scalar registers, M0 added to their number; beyond the last s0 is read, and nothing written."""
        is_result, operand = place[0] == "dst", self._operand(place)
        shift = 16 if is_result else 0
        m0 = self.special("m0", "i32")
        index = m0.lshr(shift) & 0x3FF if self.inst.name in TWO_INDICES else m0
        offset = self.open_field(self._number(place)) + index.zext("i64").shl(2)
        inside = offset.compare("ule", 4 * (SCALAR_REGISTERS - operand.count))
        return self._chosen(operand, inside.select(offset, at.WAVE_TEMP if is_result else 0), is_result)

    def _is_indexed(self, place: Place) -> bool:
        """Whether gfx9's register index is added to an operand."""
        bit = 3 if place[0] == "dst" else place[1]
        return self._operand(place).kind == "v" and bool(self.inst.mods.gpr_index >> bit & 1)


@define
class StateRegisters:
    """What `state` rows see: `meaning.api.State`."""

    context: Context
    inst: Inst
    regs: OutOfLine

    def scalar(self, which: int, element: str = "i32") -> Value:
        width = INT_OF.get(element, element)
        return uniform(self.regs, ("src", which), self.inst.src[which], width, "b32").bits(element)

    def rows(self, which: int | str) -> Value:
        return self.regs.rows(("dst", 0) if isinstance(which, str) else ("src", which))

    def indexed(self, which: int | str) -> Value:
        return self.regs.scalar_rows(("dst", 0) if isinstance(which, str) else ("src", which))

    def offset(self) -> Value:
        return self.regs.immediate(0)

    def exec_mask(self) -> Value:
        return implicit(self.regs, "exec")

    def write_scalar(self, value: Value) -> None:
        self.regs.write_scalar(("dst", 0), value)

    def write_scc(self, value: Value) -> None:
        self.regs.write_special("scc", value)

    def mode(self) -> Value:
        return wave.field(self.regs.writer, at.WAVE_MODE)

    def signals(self) -> Value:
        return wave.first_waves_signals(self.regs.writer)
