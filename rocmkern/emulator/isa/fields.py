"""Operand fields: from the codes in the encoding to operands. Operands are shared: equal ones are one object."""

from __future__ import annotations

from typing import Final

from attrs import define, field

from rocmkern.emulator.isa.model import EXEC, M0, NULL, VCC, Operand
from rocmkern.emulator.isa.table import Slot

LITERAL_CODE = 255
SDWA_CODE = 249
DPP_CODE = 250
DPP8_CODES = (233, 234)
VECTORS: Final = 256  # in a file of vector or accumulation registers
TTMP: Final = 108
# Scalar registers that an operand of several dwords may take together; M0 and null stand alone.
GROUPS: Final = (range(VCC), range(VCC, TTMP), range(TTMP, M0), range(EXEC, EXEC + 2))
SPECIALS: Final = frozenset({230, 231, *range(235, 240), *range(251, 255)})
LITERAL: Final = "literal"
# What operands may be by the letter of their slot; the others may be anything.
ALLOWED: Final[dict[str, tuple[frozenset[str], str]]] = {
    "m": (frozenset({"s"}), "a scalar register"),
    "s": (frozenset({"s"}), "a scalar register"),
    "u": (frozenset({"s", "int", "float", LITERAL, "special"}), "a scalar register or a constant"),
    "a": (frozenset({"a"}), "an accumulation register"),
    "v": (frozenset({"v"}), "a vector register"),
    "c": (frozenset({"v", "int", "float"}), "a vector register or an inline constant"),
}
SCALAR: Final = Slot("u", 1)
PAIR: Final = Slot("s", 2)
RESOURCE: Final = Slot("s", 4)
ANY: Final = Slot("", 1)


class IllegalField(Exception):
    """What stands in a field means nothing there, or reaches past the registers."""


@define(eq=False)
class Fields:
    """Operand decoding of one target. `halves`: vector registers have 16-bit halves.

    Raises IllegalField where no such operand is, unless it is `lenient`.
    """

    swap_null: bool
    halves: bool
    mask_dwords: int
    has_null: bool
    lenient: bool = False
    vcc: Operand = field(init=False)
    _sources: dict[tuple[int, str, int], Operand] = field(factory=dict)
    _vectors: dict[tuple[str, int, int], Operand] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.vcc = Operand("s", VCC, self.mask_dwords)

    def refuse(self, fact: str) -> None:
        """Raise IllegalField."""
        if not self.lenient:
            raise IllegalField(fact)

    def source(self, code: int, slot: Slot) -> Operand:
        """Operand of 9-bit code; the literal's code is not among them."""
        key = code, slot.kind, slot.count
        found = self._sources.get(key)
        if found is None:
            found = self._sources[key] = self._allowed(self._source(code, slot.count), slot)
        return found

    def literal(self, word: int, slot: Slot) -> Operand:
        return self._allowed(Operand(LITERAL, word), slot)

    def _allowed(self, operand: Operand, slot: Slot) -> Operand:
        fact = self._fault(operand)
        if fact:
            self.refuse(fact)
        if slot.kind in ALLOWED and operand.kind not in ALLOWED[slot.kind][0]:
            self.refuse(f"{_shown(operand)} stands where {ALLOWED[slot.kind][1]} is wanted")
        return operand

    def _fault(self, operand: Operand) -> str:
        """Why there is no such operand; "" where there is."""
        kind, first, count = operand.kind, operand.value, operand.count
        if kind in ("v", "a"):
            return "" if first + count <= VECTORS else f"{_shown(operand)} reaches past {kind}{VECTORS - 1}"
        if kind == "special":
            return "" if first in SPECIALS else f"source code {first} is reserved"
        if kind != "s" or (first == NULL and self.has_null):
            return ""
        if first == NULL:
            return f"source code {first} is reserved"
        if first == M0:
            return "" if count == 1 else f"m0 is one dword, not {count}"
        is_whole = any(first in group and first + count - 1 in group for group in GROUPS)
        return "" if is_whole else f"{_shown(operand)} reaches past its group of scalar registers"

    def _source(self, code: int, count: int) -> Operand:
        if code >= 256:
            return Operand("v", code - 256, count)
        if code < 128:
            if self.swap_null and code in (M0, NULL):
                code = M0 + NULL - code
            if count > 1 and code not in (M0, NULL):
                code &= ~1 if count == 2 else ~3
            return Operand("s", code, count)
        if code <= 192:
            return Operand("int", code - 128, count)
        if code <= 208:
            return Operand("int", 192 - code, count)
        return Operand("float" if 240 <= code <= 248 else "special", code, count)

    def vector(self, index: int, count: int, kind: str = "v") -> Operand:
        """A vector (`v`) or accumulation (`a`) register, or a half (`vl`, `vh`)."""
        key = (kind, index, count)
        found = self._vectors.get(key)
        if found is None:
            made = Operand(kind, index, count)  # type: ignore[arg-type]  # "a" if … else "v" is a str
            found = self._vectors[key] = self._allowed(made, ANY)
        return found

    def short_half(self, index: int) -> Operand:
        """A 16-bit register in a short encoding: bit 7 is the half."""
        return self.vector(index & 127, 1, "vh" if index & 128 else "vl")

    def destination(self, slot: Slot, code: int, high: bool = False) -> Operand:
        """The vector destination field of a VOP3 encoding."""
        kind = slot.kind
        if kind == "":
            return self.vector(code, slot.count)
        if kind in ("m", "s"):
            return self.source(code, slot)
        if kind == "a":
            return self.vector(code, slot.count, "a")
        return self.vector(code, 1, ("vh" if high else "vl") if self.halves else "v")


def _shown(operand: Operand) -> str:
    """A register as an error names it; what else it may be by its kind."""
    kind, first, count = operand.kind, operand.value, operand.count
    if kind not in ("s", "v", "a"):
        return {"special": f"source code {first}", LITERAL: "a literal"}.get(kind, "an inline constant")
    if kind == "s" and first in (M0, NULL):
        return "m0" if first == M0 else "null"
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"
