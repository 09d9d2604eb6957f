"""How emitted code reaches registers: the seam between the meaning of instructions and the two tiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst

Place = tuple[str, int]  # ("dst", 0), ("src", 2): an operand of the instruction


class Registers(Protocol):
    """The registers of a wave as one instruction's operands see them. Vectors come in chunks of `lanes` lanes."""

    writer: Writer
    inst: Inst
    wave_size: int
    lanes: int

    def chunks(self) -> Iterator[Value]:
        """Emit a loop over the chunks (or repeat the body): yields the chunk's number as i64."""
        ...

    def exec_mask(self) -> Value | None:
        """EXEC as i64; None where all lanes are known to be on."""
        ...

    def lanes_of(self, mask: Value, chunk: Value) -> Value:
        """The part of an i64 lane mask that belongs to a chunk, as i1 lanes."""
        ...

    def vector(self, place: Place, register: int, chunk: Value) -> Value:
        """i32 lanes of the operand's register number `register`."""
        ...

    def write_vector(self, place: Place, register: int, chunk: Value, value: Value, mask: Value | None) -> None:
        """Write i32 lanes, where the i1 `mask` holds."""
        ...

    def scalar(self, place: Place, element: str) -> Value:
        """A scalar register (i32) or pair (i64)."""
        ...

    def scalar_part(self, place: Place, register: int) -> Value:
        """One of the operand's scalar registers, i32."""
        ...

    def write_scalar(self, place: Place, value: Value) -> None: ...

    def constant(self, place: Place, element: str, bits: int) -> Value:
        """The constant operand whose bits in this type are `bits`."""
        ...

    def immediate(self, which: int) -> Value:
        """`Inst.imm` (0) or `Inst.imm1` (1) as i64."""
        ...

    def special(self, name: str, element: str) -> Value:
        """exec, vcc, m0 (i32 or i64) or scc (i1)."""
        ...

    def write_special(self, name: str, value: Value) -> None: ...

    def next_pc(self) -> Value:
        """Address of the following instruction, i64."""
        ...

    def permuted(self, place: Place, order: list[int], register: int) -> Place:
        """A place that holds the operand's register with lanes moved: lane i from lane order[i]."""
        ...

    def rows(self, place: Place) -> Value:
        """Pointer to the operand's vector registers in memory."""
        ...

    def wave(self) -> Value:
        """Pointer to the wave."""
        ...

    def operation(self) -> Value:
        """Pointer to the operation, which says the pc of a fault."""
        ...
