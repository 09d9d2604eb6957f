"""Writes code objects as small as they can be, and says where each field of their tables lies."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgpack
from attrs import define, field, frozen

from rocmkern.codeobject.target_id import MACHINES
from tests.fuzz.sources import KernelCode

EHDR: Final = "<16sHHIQQQIHHHHHH"
PHDR: Final = "<IIQQQQQQ"
SHDR: Final = "<IIQQQQIIQQ"
SYMBOL: Final = "<IBBHQQ"
RELA: Final = "<QIIq"
NOTE: Final = "<III8s"
WIDTHS: Final = {"B": 1, "H": 2, "I": 4, "Q": 8, "q": 8}
PAGE: Final = 0x1000
RELATIVE64, ABSOLUTE64 = 13, 3
DATA_WORDS: Final = 8  # of the data segment, each of which a relocation may fill
NUMBERS: Final = {name: number for number, name in MACHINES.items()}
SECTIONS: Final = (".note", ".dynsym", ".dynstr", ".rela.dyn", ".rodata", ".text", ".data", ".shstrtab")

Span = tuple[int, int]  # offset in the file, bytes
Relocation = tuple[int, int, int, int]  # word of the data, type, symbol, addend


@frozen
class Image:
    """A code object. `fields`: those of its tables, by kind of table. `places`: of sections and of kernels' code."""

    data: bytes
    fields: dict[str, tuple[Span, ...]]
    places: dict[str, Span]

    def with_code(self, name: str, code: bytes) -> bytes:
        """The file with other code, of the same length, for a kernel."""
        start, size = self.places[name]
        return self.data[:start] + code + self.data[start + size :]


@define
class Writer:
    """A file under construction that knows where its fields are."""

    data: bytearray = field(factory=bytearray)
    fields: dict[str, list[Span]] = field(factory=lambda: defaultdict(list))

    def put(self, table: str, layout: str, *values: Any) -> None:
        """Append one record of a table."""
        at = len(self.data)
        self.data += struct.pack(layout, *values)
        if layout == EHDR:
            self.fields[table] += [(at + i, 1) for i in range(4, 9)]
            at, layout = at + 16, layout[3:]
        for letter in layout.partition("<")[2] or layout:
            if letter in WIDTHS:
                self.fields[table].append((at, WIDTHS[letter]))
                at += WIDTHS[letter]

    def align(self, to: int) -> int:
        """The place of what comes next."""
        self.data += bytes(-len(self.data) % to)
        return len(self.data)


def metadata(kernels: Sequence[KernelCode], target: str) -> bytes:
    """The note of kernels."""
    document = {
        "amdhsa.version": [1, 2],
        "amdhsa.target": f"amdgcn-amd-amdhsa--{target}",
        "amdhsa.kernels": [kernel.note for kernel in kernels],
    }
    return bytes(msgpack.packb(document))


def code_object(
    kernels: Sequence[KernelCode],
    target: str,
    note: bytes | None = None,
    relocations: Iterable[Relocation] = (),
) -> Image:
    """The linked code object of kernels. `note` stands in for the metadata of these."""
    w, places = Writer(), dict[str, Span]()
    note = metadata(kernels, target) if note is None else note
    names = bytearray(1)
    w.data += bytes(struct.calcsize(EHDR) + 4 * struct.calcsize(PHDR))

    places[".note"] = w.align(4), struct.calcsize(NOTE) + len(note)
    w.put("note", NOTE, 7, len(note), 32, b"AMDGPU")
    w.data += note
    dynsym = w.align(8)
    count = 2 + 2 * len(kernels)
    w.data += bytes(count * struct.calcsize(SYMBOL))
    places[".dynsym"] = dynsym, len(w.data) - dynsym
    starts = []
    for name in (*(part for k in kernels for part in (k.name, f"{k.name}.kd")), "words"):
        starts.append(len(names))
        names += name.encode() + b"\0"
    places[".dynstr"] = len(w.data), len(names)
    w.data += names
    relocations = tuple(relocations)
    rela = w.align(8)
    w.data += bytes(len(relocations) * struct.calcsize(RELA))
    places[".rela.dyn"] = rela, len(w.data) - rela
    rodata = w.align(64)
    w.data += bytes(64 * len(kernels))
    places[".rodata"] = rodata, 64 * len(kernels)
    text = w.align(256)
    for kernel in kernels:
        places[kernel.name] = w.align(256), len(kernel.code)
        w.data += kernel.code
    places[".text"] = text, len(w.data) - text
    data = w.align(64)
    w.data += bytes(8 * DATA_WORDS)
    places[".data"] = data, 8 * DATA_WORDS
    section_names = "\0".join(["", *SECTIONS, ""]).encode()
    places[".shstrtab"] = len(w.data), len(section_names)
    w.data += section_names
    sections = w.align(8)

    tail = Writer(w.data, w.fields)
    shift = {".text": PAGE, ".data": 2 * PAGE}
    tail.put("section", SHDR, *(0,) * 10)
    for name in SECTIONS:
        at, size = places[name]
        kind, flags, link, info, entry = _SECTION[name]
        tail.put(
            "section", SHDR, section_names.index(name.encode() + b"\0"), kind, flags, at + shift.get(name, 0), at, size,
            link, info, 4, entry,
        )  # fmt: skip

    def over(at: int, table: str, layout: str, rows: Iterable[tuple[Any, ...]]) -> None:
        head = Writer()
        for row in rows:
            head.put(table, layout, *row)
        w.data[at : at + len(head.data)] = head.data
        w.fields[table] += [(at + offset, width) for offset, width in head.fields[table]]

    entry_flags = NUMBERS[target]
    over(0, "header", EHDR, [(
        b"\x7fELF\x02\x01\x01\x40\x03", 3, 224, 1, 0, struct.calcsize(EHDR), sections, entry_flags,
        struct.calcsize(EHDR), struct.calcsize(PHDR), 4, struct.calcsize(SHDR), 1 + len(SECTIONS), len(SECTIONS),
    )])  # fmt: skip
    text_size = places[".text"][1]
    over(struct.calcsize(EHDR), "segment", PHDR, [
        (1, 4, 0, 0, 0, text, text, PAGE),
        (1, 5, text, text + PAGE, text + PAGE, text_size, text_size, PAGE),
        (1, 6, data, data + 2 * PAGE, data + 2 * PAGE, 8 * DATA_WORDS, 16 * DATA_WORDS, PAGE),
        (4, 4, places[".note"][0], places[".note"][0], places[".note"][0], *(places[".note"][1],) * 2, 4),
    ])  # fmt: skip
    rows: list[tuple[Any, ...]] = [(0, 0, 0, 0, 0, 0)]
    for i, kernel in enumerate(kernels):
        start, size = places[kernel.name]
        entry, descriptor = start + PAGE + kernel.entry, rodata + 64 * i
        rows.append((starts[2 * i], 0x12, 3, 6, entry, size - kernel.entry))
        rows.append((starts[2 * i + 1], 0x11, 3, 5, descriptor, 64))
        place = kernel.descriptor[:16] + struct.pack("<q", entry - descriptor) + kernel.descriptor[24:]
        w.data[descriptor : descriptor + 64] = place
    rows.append((starts[-1], 0x11, 3, 7, data + 2 * PAGE, 8 * DATA_WORDS))
    over(dynsym, "symbol", SYMBOL, rows)
    over(rela, "relocation", RELA, [
        (data + 2 * PAGE + 8 * word, kind, symbol, addend) for word, kind, symbol, addend in relocations
    ])  # fmt: skip
    return Image(bytes(w.data), {table: tuple(spans) for table, spans in w.fields.items()}, places)


# Type, flags, link, info, bytes of an entry.
_SECTION: Final = {
    ".note": (7, 2, 0, 0, 0),
    ".dynsym": (11, 2, 3, 1, struct.calcsize(SYMBOL)),
    ".dynstr": (3, 2, 0, 0, 0),
    ".rela.dyn": (4, 2, 2, 0, struct.calcsize(RELA)),
    ".rodata": (1, 2, 0, 0, 0),
    ".text": (1, 6, 0, 0, 0),
    ".data": (1, 3, 0, 0, 0),
    ".shstrtab": (3, 0, 0, 0, 0),
}
