"""What tier 0 needs to know of an instruction, found again by its words: kernels consist of the same few."""

from __future__ import annotations

import struct
from copy import copy
from functools import cache
from typing import Final

from attrs import define, evolve, field

from rocmkern.emulator import layout as at
from rocmkern.emulator.flow import writes_exec
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning import Row
from rocmkern.emulator.tier0 import fields, shape

FLOAT_ADDS: Final = ("global_atomic_add_f", "global_atomic_pk_add", "buffer_atomic_add_f", "buffer_atomic_pk_add")
CALLS: Final = frozenset({"s_swappc_b64", "s_call_b64"})
# Which operands take a register index from here on, by the immediate; it ends with the straight piece of code.
INDEXING: Final = {"s_set_gpr_idx_on": 15, "s_set_gpr_idx_mode": 15, "s_set_gpr_idx_off": 0}  # name → mask
INDEXED: Final = frozenset({"valu", "lanes", "state"})
SIZES: Final = (4, 8, 12, 16)  # bytes; no instruction begins another
MOST_KEPT: Final = 1 << 18
_MASK: Final = (1 << 64) - 1
_FIELDS: Final = struct.Struct(f"<{at.OP_FIELD_COUNT}Q")


@define(eq=False)
class Piece:
    """An instruction wherever it stands; `inst` has the pc where it was met first."""

    row: Row
    inst: Inst
    shape: str  # names the function that carries it out
    body: bytes  # the open fields of its operation
    handler: int = 0  # that function's address, once it is known
    target: int | None = field(init=False)  # of a branch, from its own place
    is_call: bool = field(init=False)
    ends: bool = field(init=False)  # no instruction follows this one directly
    parts_blocks: bool = field(init=False)  # a block begins behind it
    indexing: int | None = field(init=False)
    adds_floats: bool = field(init=False)  # to memory

    def __attrs_post_init__(self) -> None:
        row, inst = self.row, self.inst
        is_branch = row.unit == "branch"
        self.target = inst.target - inst.pc if is_branch else None
        self.is_call = inst.name in CALLS
        self.ends = row.unit == "end" or (is_branch and row.emit is None) or "pc" in row.destinations
        self.parts_blocks = is_branch or row.unit == "barrier" or self.is_call or writes_exec(row, inst)
        self.indexing = inst.imm & INDEXING[inst.name] if inst.name in INDEXING else None
        self.adds_floats = row.unit == "memory" and row.name.startswith(FLOAT_ADDS) and not inst.dst

    def at(self, pc: int) -> tuple[Row, Inst]:
        inst = copy(self.inst)
        inst.pc = pc
        return self.row, inst


@define(eq=False)
class Pieces:
    """The pieces of one kind of code that this process has met."""

    isa: str
    wave_size: int
    checked: bool
    _kept: dict[bytes, Piece] = field(factory=dict)

    def find(self, text: bytes, pc: int) -> Piece | None:
        for size in SIZES:
            piece = self._kept.get(text[pc : pc + size])
            if piece is not None:
                return piece
        return None

    def add(self, text: bytes, row: Row, inst: Inst) -> Piece:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        piece = self._kept[text[inst.pc : inst.pc + inst.size]] = self._made(row, inst)
        return piece

    def indexed(self, piece: Piece, gpr_index: int) -> Piece:
        """`piece` where M0 is added to its vector registers."""
        inst = copy(piece.inst)
        inst.mods = evolve(inst.mods, gpr_index=gpr_index)
        return self._made(piece.row, inst)

    def _made(self, row: Row, inst: Inst) -> Piece:
        values = fields(row, inst, self.wave_size)
        body = _FIELDS.pack(*(v & _MASK for v in values), *[0] * (at.OP_FIELD_COUNT - len(values)))
        return Piece(row, inst, shape(inst, self.isa, self.wave_size, self.checked), body)


@cache
def pieces(isa: str, wave_size: int, checked: bool) -> Pieces:
    return Pieces(isa, wave_size, checked)
