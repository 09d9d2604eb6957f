"""Elements of typed buffers: how they lie in memory by each generation's numbering, and what their components become.

A format word is as the last dword of a buffer resource: four selectors of three bits, then the format's code.

The ISA documents say: f32 becomes f16 by truncation, everything else rounds to nearest even; a component that the
format lacks reads 0; memory gets 0 where a store brings too few components, on gfx12 the first one again. They do not
say that integers too large for memory saturate, nor that 10- and 11-bit floats are truncated too: drivers' interfaces
ask for that.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from attrs import frozen

from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.table import CDNA

LAYOUTS: Final = (
    "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32",
    "16_16_16_16", "32_32_32", "32_32_32_32",
)  # fmt: skip
NUMBERS: Final = ("unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "", "float")  # "": not a format
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, _, FLOAT = range(8)
GONE_SINCE_GFX11: Final = {"10_10_10_2": ("uscaled", "sscaled")} | dict.fromkeys(
    ("10_11_11", "11_11_10"), NUMBERS[:6]
)  # fmt: skip

COMPONENTS: Final = 4
ALL_SELECTED: Final = 0o7654  # x, y, z, w as they are
CODE_SHIFT: Final = 12
CODES: Final = 128
ENTRY_BYTES: Final = 16  # size in bytes, number, two unused, then the components' first bits and their widths
FIRST_BITS: Final = 4
WIDTHS: Final = 8


def widths(layout: str) -> list[int]:
    """Bits of x, y, z, w; names begin with the highest bits."""
    return [int(bits) for bits in layout.split("_")[::-1]]


def _exists(layout: str, number: str) -> bool:
    if number == "float":
        return not {2, 8} & set(widths(layout))
    return bool(number) and (number in ("uint", "sint") or 32 not in widths(layout))


@cache
def codes(isa: str) -> dict[int, tuple[str, str]]:
    """Layout and number of each format's code: CDNA has a field for either, RDNA counts the pairs that exist."""
    pairs = [(layout, number) for layout in LAYOUTS for number in NUMBERS if _exists(layout, number)]
    if isa in CDNA:
        return {NUMBERS.index(number) | LAYOUTS.index(layout) + 1 << 3: (layout, number) for layout, number in pairs}
    if isa != "gfx10":
        pairs = [(layout, number) for layout, number in pairs if number not in GONE_SINCE_GFX11.get(layout, ())]
    return dict(enumerate(pairs, 1))


def instruction_word(isa: str, field: int) -> int:
    """The format word of a typed instruction, from its format field."""
    code = field >> 4 | (field & 15) << 3 if isa in CDNA else field
    return ALL_SELECTED | code << CODE_SHIFT


def resource_bits(isa: str) -> int:
    """The bits of a resource's last dword that are its format word."""
    return 0x7FFFF if isa in CDNA or isa == "gfx10" else 0x3FFFF


def _table(isa: str) -> bytes:
    found = bytearray(CODES * ENTRY_BYTES)
    for code, (layout, number) in codes(isa).items():
        sizes = widths(layout)
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        entry = code * ENTRY_BYTES
        found[entry : entry + 2] = sum(sizes) // 8, NUMBERS.index(number)
        for field, values in ((FIRST_BITS, starts), (WIDTHS, sizes)):
            found[entry + field : entry + field + len(values)] = values
    return bytes(found)


@frozen
class Format:
    """A format that is known when the code runs."""

    w: Writer
    isa: str
    word: Value
    entry: Value  # pointer to its line of the table

    @staticmethod
    def of(w: Writer, isa: str, word: Value) -> Format:
        table, name = _table(isa), f"formats_{isa}"
        text = "".join(f"\\{byte:02x}" for byte in table)
        w.globals[name] = f'@{name} = private unnamed_addr constant [{len(table)} x i8] c"{text}"'
        line = (word.lshr(CODE_SHIFT) & (CODES - 1)).zext("i64") * ENTRY_BYTES
        return Format(w, isa, word, w.at(Value(w, "ptr", 0, f"@{name}"), line))

    def _byte(self, offset: int | Value) -> Value:
        return self.w.load(self.w.at(self.entry, offset), "i8").zext("i32")

    @property
    def size(self) -> Value:
        """Bytes of an element, i64; 0 where there is no such format."""
        return self._byte(0).zext("i64")

    @property
    def number(self) -> Value:
        return self._byte(1)

    def selector(self, register: int) -> Value:
        """What a register holds: 0, 1, or component x, y, z, w (4 to 7)."""
        return self.word.lshr(3 * register) & 7

    def one(self, halves: bool) -> Value:
        is_integer = self.number.eq(UINT) | self.number.eq(SINT)
        return is_integer.select(self.w.constant("i32", 1), 0x3C00 if halves else 0x3F800000)

    def component(self, index: int) -> Component:
        width = self._byte(WIDTHS + index)
        most = (self.w.constant("i64", 1).shl(width) - 1).trunc("i32")
        return Component(self.w, self.number, self._byte(FIRST_BITS + index), width, most)


@frozen
class Component:
    """One component of an element, in a buffer of four i32."""

    w: Writer
    number: Value
    first_bit: Value
    width: Value  # 0: the format has no such component
    most: Value  # the largest unsigned number

    def _place(self, element: Value) -> Value:
        return self.w.at(element, self.first_bit.lshr(5).zext("i64").shl(2))

    def _choose(self, by_number: dict[int, Value]) -> Value:
        first, *others = by_number
        value = by_number[first]
        for number in others:
            value = self.number.eq(number).select(by_number[number], value)
        return value

    def read(self, element: Value, halves: bool) -> Value:
        """What a register, or half of one, gets."""
        raw = self.w.load(self._place(element), "i32", 0, 4).lshr(self.first_bit & 31) & self.most
        unused = self.most.like(32) - self.width
        signed = raw.shl(unused).ashr(unused)
        positive, whole = raw.cast("uitofp", "float"), signed.cast("sitofp", "float")
        least = whole / self.most.lshr(1).cast("sitofp", "float")
        numbers = {
            UNORM: positive / self.most.cast("uitofp", "float"),
            SNORM: least.compare("olt", -1.0).select(least.like(-1.0), least),
            USCALED: positive,
            SSCALED: whole,
        }
        half = self.width.compare("ult", 16).select(raw.shl(self.most.like(15) - self.width), raw)
        if halves:
            found = {n: v.cast("fptrunc", "half").as_int().zext("i32") for n, v in numbers.items()}
            single = truncated(raw, self.most.like(10)) | raw.lshr(16) & 0x8000
        else:
            found = {n: v.as_int() for n, v in numbers.items()}
            single = raw
            half = half.trunc("i16").bits("half").cast("fpext", "float").as_int()
        found |= {UINT: raw, SINT: signed, FLOAT: self.width.eq(32).select(single, half)}
        return self.width.eq(0).select(self.w.constant("i32", 0), self._choose(found))

    def write(self, element: Value, register: Value, halves: bool) -> None:
        """Put a register, or the low half of one, into an element of zeros."""
        unsigned, signed, single = register, register, register.bits("float")
        if halves:
            unsigned, signed = register & 0xFFFF, register.shl(16).ashr(16)
            single = register.trunc("i16").bits("half").cast("fpext", "float")
        mantissa = self.width.eq(16).select(self.most.like(10), self.width - 5)
        small = truncated(single.as_int(), mantissa)
        sign = single.as_int().lshr(31)
        is_number = (single.as_int() & 0x7FFFFFFF).compare("ule", 0x7F800000)
        small = self.width.eq(16).select(small | sign.shl(15), (sign.ne(0) & is_number).select(small.like(0), small))
        limit = self.most.lshr(1)
        found = {
            UNORM: self._rounded(single, self.most, self.most.like(0), self.most),
            SNORM: self._rounded(single, limit, -limit, limit),
            USCALED: self._rounded(single, self.most.like(1), self.most.like(0), self.most),
            SSCALED: self._rounded(single, self.most.like(1), -limit - 1, limit),
            UINT: self.w.intrinsic("umin", unsigned, self.most),
            SINT: self.w.intrinsic("smax", self.w.intrinsic("smin", signed, limit), -limit - 1),
            FLOAT: self.width.eq(32).select(single.as_int(), small),
        }
        place = self._place(element)
        bits = (self._choose(found) & self.most).shl(self.first_bit & 31)
        self.w.store(self.w.load(place, "i32", 0, 4) | bits, place, 4)

    def _rounded(self, value: Value, scale: Value, low: Value, high: Value) -> Value:
        """value · scale to the nearest integer between the two, NaN to 0; the product is exact."""
        wide = value.cast("fpext", "double")
        scale, low, high = (bound.cast("sitofp", "double") for bound in (scale, low, high))
        product = wide * scale
        product = product.compare("olt", low).select(low, product)
        product = product.compare("ogt", high).select(high, product)
        product = wide.is_nan().select(0.0, product)
        return self.w.intrinsic("roundeven", product).cast("fptosi", "i32")


def truncated(single: Value, mantissa: Value) -> Value:
    """The magnitude of an f32 (its bits) as a float of 5 exponent bits, toward zero; finite stays finite."""
    size = single & 0x7FFFFFFF
    infinity = size.like(31).shl(mantissa)
    normal = (size - (112 << 23)).lshr(size.like(23) - mantissa)
    power = (mantissa + (127 + 14)).shl(23).bits("float")  # the smallest number becomes 1
    subnormal = (size.bits("float") * power).cast("fptoui", "i32")
    code = size.compare("ult", 113 << 23).select(subnormal, size.writer.intrinsic("umin", normal, infinity - 1))
    code = size.eq(0x7F800000).select(infinity, code)
    return size.compare("ugt", 0x7F800000).select(infinity | size.like(1).shl(mantissa - 1), code)
