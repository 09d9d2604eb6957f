"""Operand fields: from the codes in the encoding to operands. Operands are shared: equal ones are one object."""

from __future__ import annotations

from attrs import define, field

from rocmkern.emulator.isa.model import M0, NULL, VCC, Operand
from rocmkern.emulator.isa.table import Slot

LITERAL_CODE = 255
SDWA_CODE = 249
DPP_CODE = 250
DPP8_CODES = (233, 234)


@define(eq=False)
class Fields:
    """Operand decoding of one target. `halves`: vector registers have 16-bit halves."""

    swap_null: bool
    halves: bool
    mask_dwords: int
    vcc: Operand = field(init=False)
    _sources: dict[int, Operand] = field(factory=dict)
    _vectors: dict[tuple[str, int, int], Operand] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.vcc = Operand("s", VCC, self.mask_dwords)

    def source(self, code: int, count: int) -> Operand:
        """Operand of 9-bit code; the literal's code is not among them."""
        key = code | count << 9
        found = self._sources.get(key)
        if found is None:
            found = self._sources[key] = self._source(code, count)
        return found

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
            found = self._vectors[key] = Operand(kind, index, count)  # type: ignore[arg-type]  # "a" if … else "v" is a str
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
            return self.source(code & 127, slot.count)
        if kind == "a":
            return self.vector(code, slot.count, "a")
        return self.vector(code, 1, ("vh" if high else "vl") if self.halves else "v")
