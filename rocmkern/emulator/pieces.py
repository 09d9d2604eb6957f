"""What tier 0 needs to know of an instruction, found again by its words: kernels consist of the same few."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from attrs import define, evolve, field

from rocmkern.emulator import layout as at
from rocmkern.emulator.flow import writes_exec
from rocmkern.emulator.isa import Undecodable, decode
from rocmkern.emulator.isa.model import SKIPPABLE, Inst
from rocmkern.emulator.isa.text import special_text
from rocmkern.emulator.lds_loads import awaits_loads
from rocmkern.emulator.library import Library
from rocmkern.emulator.meaning import ROWS, Row, row_of
from rocmkern.emulator.meaning.rounding import depends_on_mode
from rocmkern.emulator.mode import Translated
from rocmkern.emulator.observers.seam import Observers
from rocmkern.emulator.operands import SPECIALS
from rocmkern.emulator.tier0 import fields, shape
from rocmkern.emulator.wave import FIELDS, extent

CALLS: Final = frozenset({"s_swappc_b64", "s_call_b64"})
# Which operands take a register index from here on, by the immediate; it ends with the straight piece of code.
INDEXING: Final = {"s_set_gpr_idx_on": 15, "s_set_gpr_idx_mode": 15, "s_set_gpr_idx_off": 0}  # name → mask
INDEXED_RESULT: Final = 8  # of the mask
INDEXED: Final = frozenset({"valu", "lanes", "state"})
SKIPS_BEYOND: Final = "(s_setvskip) skips vector instructions beyond a branch or barrier, which the emulator does not"
MOST_KEPT: Final = 1 << 18
_FIELDS: Final = [struct.Struct(f"<{count}Q") for count in range(32)]


class NoMeaning(Exception):
    """What stands in the code is no instruction that the emulator carries out."""

    def __init__(self, nbytes: int, fact: str) -> None:
        super().__init__(fact)
        self.nbytes, self.fact = nbytes, fact


@define(eq=False)
class Form:
    """What the instructions that one function carries out have in common."""

    first: Callable[[], tuple[Row, Inst]]  # one of them
    shape: str  # names the function
    fields: int  # of an operation
    is_branch: bool
    is_call: bool
    ends: bool  # no instruction follows this one directly
    may_jump: bool  # a branch that is not taken only where all lanes are off
    writes_scalars: bool  # EXEC perhaps
    parts_blocks: bool  # a block begins behind it, whatever scalar it writes
    awaits_loads: bool
    index_mask: int | None
    takes: int  # what of the mask counts for it
    parts_regions: bool  # no instruction is skipped beyond it
    handler: int = 0  # the function's address, once it is known
    operation_bytes: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.operation_bytes = at.OP_FIELDS + 8 * self.fields

    @staticmethod
    def of(row: Row, inst: Inst, isa: str, shape: str, fields: int) -> Form:
        name, is_branch, is_call = inst.name, row.unit == "branch", inst.name in CALLS
        writes_scalars = any(o.kind == "s" for o in inst.dst)
        return Form(
            first=lambda: (row, inst),
            shape=shape,
            fields=fields,
            is_branch=is_branch,
            is_call=is_call,
            ends=row.unit == "end" or (is_branch and row.emit is None) or "pc" in row.destinations,
            may_jump=is_branch and name != "s_cbranch_execz",
            writes_scalars=writes_scalars,
            parts_blocks=is_branch
            or row.unit == "barrier"
            or is_call
            or (not writes_scalars and writes_exec(row, inst)),
            awaits_loads=row.unit == "wait" and awaits_loads(inst, isa),
            index_mask=INDEXING.get(name),
            takes=_takes(row, inst),
            parts_regions=is_branch or is_call or row.unit == "barrier" or "pc" in row.destinations,
        )


@define(eq=False)
class Piece:
    """An instruction wherever it stands."""

    form: Form
    body: bytes  # the open fields of its operation
    size: int
    target: int | None  # of a branch, from its own place
    parts_blocks: bool  # a block begins behind it
    indexing: int | None  # gfx9: which operands take a register index from here on


@define(eq=False)
class Pieces:
    """The pieces of one kind of code that this process has met."""

    isa: str
    wave_size: int
    observers: Observers
    translated: Translated = Translated.USUALLY
    count: Piece = field(init=False)  # begins every block
    join: Piece = field(init=False)  # put in where code goes on elsewhere
    untranslated: Piece = field(init=False)  # in the place of code that nothing has reached
    _kept: dict[bytes, Piece] = field(factory=dict)
    _forms: dict[str, Form] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.count, self.join, self.untranslated = (
            self._made(ROWS[name], Inst(0, size, name, encoding))
            for name, size, encoding in (("count", 4, ""), ("s_branch", 0, "SOPP"), ("untranslated", 4, ""))
        )

    def straight(self, text: bytes, pc: int) -> Iterator[tuple[int, Piece, int]]:
        """The instructions from `pc` on, up to one that none follows: place, piece, which operands are indexed.

        Raises NoMeaning.
        """
        gpr_index, kept = 0, self._kept.get
        while True:
            piece = kept(text[pc : pc + 4]) or self._longer(text, pc)
            if piece.indexing is not None:
                gpr_index = piece.indexing
                if gpr_index & SKIPPABLE:
                    self._require_straight(text, pc + piece.size, piece.size)
            if gpr_index & piece.form.takes:
                piece = self._made(*self.instruction(text, pc, gpr_index))
            yield pc, piece, gpr_index
            if piece.form.ends:
                return
            pc += piece.size

    def _longer(self, text: bytes, pc: int) -> Piece:
        kept = self._kept.get
        return kept(text[pc : pc + 8]) or kept(text[pc : pc + 12]) or kept(text[pc : pc + 16]) or self._add(text, pc)

    def _require_straight(self, text: bytes, pc: int, nbytes: int) -> None:
        """Raises NoMeaning, for an instruction of so many bytes, unless what it may skip comes before any branch."""
        while True:
            piece = self._kept.get(text[pc : pc + 4]) or self._longer(text, pc)
            if piece.form.parts_regions:
                raise NoMeaning(nbytes, SKIPS_BEYOND)
            if piece.indexing is not None or piece.form.ends:
                return
            pc += piece.size

    def instruction(self, text: bytes, pc: int, gpr_index: int = 0) -> tuple[Row, Inst]:
        """The instruction at `pc`, with M0 added to the vector registers that `gpr_index` names. Raises NoMeaning."""
        row, inst = self._meaning(text, pc)
        gpr_index &= _takes(row, inst)
        if gpr_index:
            inst.mods = evolve(inst.mods, gpr_index=gpr_index)
            if gpr_index & INDEXED_RESULT and any(extent(o, self.wave_size) > FIELDS[at.WAVE_TEMP] for o in inst.dst):
                raise NoMeaning(inst.size, f"({inst.name}) has more results than M0 can be added to")
        return row, inst

    def find_handlers(self, wanted: Iterable[Piece], library: Library) -> None:
        """See to it that these pieces, and those that every translation needs, know their functions."""
        forms = {
            f.shape: f for f in (p.form for p in (self.count, self.join, self.untranslated, *wanted)) if not f.handler
        }
        if forms:
            shapes = {text: form.first for text, form in forms.items()}
            for text, address in library.handlers(shapes, self.isa, self.wave_size, self.observers).items():
                forms[text].handler = address

    def _add(self, text: bytes, pc: int) -> Piece:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        row, inst = self._meaning(text, pc)
        piece = self._kept[text[pc : pc + inst.size]] = self._made(row, inst)
        return piece

    def _meaning(self, text: bytes, pc: int) -> tuple[Row, Inst]:
        row, inst = meaning_of(self.isa, text, pc)
        fault = row.fault(inst, self.isa, self.wave_size) if row.fault is not None else ""
        if fault:
            raise NoMeaning(inst.size, fault)
        if self.translated is Translated.BY_MODE:
            if inst.parts or depends_on_mode(row):
                inst.mods = evolve(inst.mods, by_mode=True)
        elif inst.mods.omod and (self.translated is Translated.USUALLY or "f32" not in row.destinations):
            inst.mods = evolve(inst.mods, omod=0)  # denormal results count
        return row, inst

    def _made(self, row: Row, inst: Inst) -> Piece:
        values = fields(row, inst, self.isa, self.wave_size)
        name = shape(inst, self.isa, self.wave_size) + self.observers.key(row, inst)
        form = self._forms.get(name)
        if form is None:
            form = self._forms[name] = Form.of(row, inst, self.isa, name, len(values))
        body = _FIELDS[len(values)].pack(*values)
        target = inst.target - inst.pc if form.is_branch else None
        indexing = None if form.index_mask is None else inst.imm & form.index_mask
        if inst.name == "s_setvskip":
            value, bit = inst.src
            is_off = value.kind == bit.kind == "int" and not value.value >> (bit.value & 31) & 1
            indexing = 0 if is_off else SKIPPABLE
        parts = form.parts_blocks or (form.writes_scalars and writes_exec(row, inst))
        return Piece(form, body, inst.size, target, parts, indexing)


def _takes(row: Row, inst: Inst) -> int:
    """What of the mask of indexed operands counts for an instruction."""
    is_vector = row.unit in ("memory", "dual", *INDEXED) and not inst.name.startswith("s_")
    return 15 * (row.unit in INDEXED or inst.name in INDEXING) | SKIPPABLE * is_vector


def meaning_of(isa: str, text: bytes, pc: int) -> tuple[Row, Inst]:
    """The instruction at `pc` and its row. Raises NoMeaning."""
    try:
        inst = decode(isa, text, pc)
    except Undecodable as error:
        raise NoMeaning(error.nbytes, error.fact) from error
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
    for operand in inst.src:
        if operand.kind == "special" and operand.value not in SPECIALS:
            raise NoMeaning(inst.size, f"({inst.name}) reads {special_text(operand.value)}, which the emulator has not")
    return row, inst


@cache
def pieces(isa: str, wave_size: int, observers: Observers, translated: Translated = Translated.USUALLY) -> Pieces:
    return Pieces(isa, wave_size, observers, translated)
