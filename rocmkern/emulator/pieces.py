"""What tier 0 needs to know of an instruction, found again by its words: kernels consist of the same few."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from sys import intern
from typing import Final

from attrs import define, evolve, field

from rocmkern.emulator import layout as at
from rocmkern.emulator.flow import writes_exec
from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.library import Library
from rocmkern.emulator.meaning import ROWS, Row, row_of
from rocmkern.emulator.tier0 import fields, shape
from rocmkern.errors import UnsupportedInstruction

CALLS: Final = frozenset({"s_swappc_b64", "s_call_b64"})
# Which operands take a register index from here on, by the immediate; it ends with the straight piece of code.
INDEXING: Final = {"s_set_gpr_idx_on": 15, "s_set_gpr_idx_mode": 15, "s_set_gpr_idx_off": 0}  # name → mask
INDEXED: Final = frozenset({"valu", "lanes", "state"})
MOST_KEPT: Final = 1 << 18
_MASK: Final = (1 << 64) - 1
_FIELDS: Final = [struct.Struct(f"<{count}Q") for count in range(32)]


class NoMeaning(Exception):
    """What stands in the code is no instruction that the emulator carries out."""

    def __init__(self, nbytes: int, fact: str) -> None:
        super().__init__(fact)
        self.nbytes, self.fact = nbytes, fact


@define(eq=False)
class Piece:
    """An instruction wherever it stands; `inst` has the pc where it was met first."""

    row: Row
    inst: Inst
    shape: str  # names the function that carries it out
    body: bytes  # the open fields of its operation
    handler: int  # that function's address, 0 as long as it is not known
    size: int = field(init=False)  # of the instruction
    operation_bytes: int = field(init=False)
    target: int | None = field(init=False)  # of a branch, from its own place
    is_call: bool = field(init=False)
    ends: bool = field(init=False)  # no instruction follows this one directly
    may_jump: bool = field(init=False)  # a branch that is not taken only where all lanes are off
    parts_blocks: bool = field(init=False)  # a block begins behind it
    indexing: int | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        row, inst = self.row, self.inst
        is_branch = row.unit == "branch"
        self.size = inst.size
        self.operation_bytes = at.OP_FIELDS + len(self.body)
        self.target = inst.target - inst.pc if is_branch else None
        self.is_call = inst.name in CALLS
        self.ends = row.unit == "end" or (is_branch and row.emit is None) or "pc" in row.destinations
        self.may_jump = is_branch and inst.name != "s_cbranch_execz"
        self.parts_blocks = is_branch or row.unit == "barrier" or self.is_call or writes_exec(row, inst)
        self.indexing = inst.imm & INDEXING[inst.name] if inst.name in INDEXING else None

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
    count: Piece = field(init=False)  # begins every block
    join: Piece = field(init=False)  # put in where code goes on elsewhere
    untranslated: Piece = field(init=False)  # in the place of code that nothing has reached
    _kept: dict[bytes, Piece] = field(factory=dict)
    _handlers: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.count, self.join, self.untranslated = (
            self._made(ROWS[name], Inst(0, 4, name, encoding))
            for name, encoding in (("count", ""), ("s_branch", "SOPP"), ("untranslated", ""))
        )

    def straight(self, text: bytes, pc: int) -> Iterator[tuple[int, Piece, bool]]:
        """The instructions from `pc` on, up to one that none follows: place, piece, whether registers are indexed.

        Raises NoMeaning.
        """
        gpr_index, kept = 0, self._kept.get
        while True:
            piece = (
                kept(text[pc : pc + 4]) or kept(text[pc : pc + 8]) or kept(text[pc : pc + 12])
                or kept(text[pc : pc + 16]) or self._add(text, pc)
            )  # fmt: skip
            if piece.indexing is not None:
                gpr_index = piece.indexing
            if gpr_index and (piece.row.unit in INDEXED or piece.indexing is not None):
                piece = self._indexed(piece, gpr_index)
            yield pc, piece, bool(gpr_index)
            if piece.ends:
                return
            pc += piece.size

    def find_handlers(self, wanted: Iterable[Piece], library: Library) -> None:
        """See to it that these pieces, and those that every translation needs, know their functions."""
        new = [p for p in (self.count, self.join, self.untranslated, *wanted) if not p.handler]
        shapes = {p.shape: (p.row, p.inst) for p in new if p.shape not in self._handlers}
        if shapes:
            self._handlers |= library.handlers(shapes, self.isa, self.wave_size, self.checked)
        for piece in new:
            piece.handler = self._handlers[piece.shape]

    def _add(self, text: bytes, pc: int) -> Piece:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        row, inst = meaning_of(self.isa, text, pc)
        piece = self._kept[text[pc : pc + inst.size]] = self._made(row, inst)
        return piece

    def _indexed(self, piece: Piece, gpr_index: int) -> Piece:
        """`piece` where M0 is added to its vector registers."""
        inst = copy(piece.inst)
        inst.mods = evolve(inst.mods, gpr_index=gpr_index)
        return self._made(piece.row, inst)

    def _made(self, row: Row, inst: Inst) -> Piece:
        values = fields(row, inst, self.wave_size)
        body = _FIELDS[len(values)].pack(*[v & _MASK for v in values])
        name = intern(shape(inst, self.isa, self.wave_size, self.checked))
        return Piece(row, inst, name, body, self._handlers.get(name, 0))


def meaning_of(isa: str, text: bytes, pc: int) -> tuple[Row, Inst]:
    """The instruction at `pc` and its row. Raises NoMeaning."""
    try:
        inst = decode(isa, text, pc)
    except (UnsupportedInstruction, ValueError) as error:
        raise NoMeaning(8, "is not known") from error
    for part in inst.parts:
        if row_of(isa, part.name) is None:
            raise NoMeaning(inst.size, f"({part.name}) has no meaning yet")
    if inst.parts:
        first, second = inst.parts
        inst = Inst(
            inst.pc, inst.size, inst.name, inst.encoding, first.dst + second.dst, first.src + second.src,
            parts=inst.parts,
        )  # fmt: skip
    row = row_of(isa, inst.name)
    if row is None or inst.mods.gds:
        raise NoMeaning(inst.size, f"({inst.name + ' gds' * inst.mods.gds}) has no meaning yet")
    return row, inst


@cache
def pieces(isa: str, wave_size: int, checked: bool) -> Pieces:
    return Pieces(isa, wave_size, checked)
