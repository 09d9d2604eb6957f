"""Damaged GGUF files, opened, and their tensors read."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any, ClassVar, Final

from attrs import define, field, frozen

import rocmkern as rk
from rocmkern.kernels.block_formats import BlockFormat
from rocmkern.quant.gguf_reader import ALIGNMENT_KEY, KINDS
from tests.fuzz.draws import Draws
from tests.fuzz.elf import Span
from tests.fuzz.kind import Kind
from tests.fuzz.memory_file import MemoryFile

U8, U32, I32, F32, BOOL, STRING, ARRAY, U64 = 0, 4, 5, 6, 7, 8, 9, 10
SCALARS: Final = {U8: "B", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q"}
UPLOADED_EVERY: Final = 256  # cases of which one brings its tensors onto a device
ROWS: Final = 2


@frozen
class Layout:
    """A file, and where its fields lie, by what they hold."""

    data: bytes
    counts: tuple[Span, ...]
    types: tuple[Span, ...]
    others: tuple[Span, ...]


@define
class Writer:
    """A file under construction that knows where its fields are."""

    data: bytearray = field(factory=bytearray)
    spans: dict[str, list[Span]] = field(factory=lambda: {"counts": [], "types": [], "others": []})

    def number(self, group: str, letter: str, value: Any) -> None:
        self.spans[group].append((len(self.data), struct.calcsize(f"<{letter}")))
        self.data += struct.pack(f"<{letter}", value)

    def text(self, value: str) -> None:
        raw = value.encode()
        self.number("counts", "Q", len(raw))
        self.spans["others"].append((len(self.data), min(len(raw), 8)))
        self.data += raw

    def value(self, kind: int, value: Any) -> None:
        if kind == STRING:
            self.text(value)
        elif kind == ARRAY:
            inner, items = value
            self.number("types", "I", inner)
            self.number("counts", "Q", len(items))
            for item in items:
                self.value(inner, item)
        else:
            self.number("others", SCALARS[kind], value)


def written(version: int, entries: dict[str, tuple[int, Any]], tensors: list[int], alignment: int) -> Layout:
    """A file with a small tensor of each of the given types."""
    writer = Writer(bytearray(b"GGUF"))
    writer.number("others", "I", version)
    writer.number("counts", "Q", len(tensors))
    writer.number("counts", "Q", len(entries))
    for key, (kind, value) in entries.items():
        writer.text(key)
        writer.number("types", "I", kind)
        writer.value(kind, value)
    offset = 0
    for position, number in enumerate(tensors):
        kind = KINDS[number]
        width = kind.values if isinstance(kind, BlockFormat) else 8
        nbytes = ROWS * (kind.nbytes if isinstance(kind, BlockFormat) else width * kind.itemsize)
        writer.text(f"blk.{position}.weight")
        writer.number("counts", "I", 2)
        writer.number("others", "Q", width)
        writer.number("others", "Q", ROWS)
        writer.number("types", "I", number)
        writer.number("others", "Q", offset)
        offset += -(-nbytes // alignment) * alignment
    writer.data += bytes(-len(writer.data) % alignment) + bytes(i * 7 & 0xFF for i in range(offset))
    return Layout(bytes(writer.data), *(tuple(writer.spans[name]) for name in ("counts", "types", "others")))


@cache
def files() -> tuple[Layout, ...]:
    """The files that cases start from."""
    numbers = list(KINDS)
    entries: dict[str, tuple[int, Any]] = {
        "general.architecture": (STRING, "llama"),
        "a.count": (U32, 7),
        "a.scale": (F32, 0.5),
        "a.flag": (BOOL, 1),
        "tokens": (ARRAY, (STRING, ["a", "", "é"])),
        "scores": (ARRAY, (F32, [0.5, 1.0])),
        "numbers": (ARRAY, (I32, [1, -2, 3])),
        "size": (U64, 1 << 40),
    }
    aligned = {**entries, ALIGNMENT_KEY: (U32, 64)}
    return (
        written(3, entries, numbers[:6], 32),
        written(3, aligned, numbers[6:12], 64),
        written(2, entries, numbers[12:], 32),
        written(3, {}, numbers[:1], 32),
    )


@define(eq=False)
class GgufFiles(Kind):
    """GGUF files, damaged."""

    name: ClassVar[str] = "gguf"
    batch: ClassVar[int] = 512
    _file: MemoryFile | None = field(default=None, init=False)

    def make(self, seed: int) -> bytes:
        draws = Draws(self.name, seed)
        chosen = draws.choice(files())
        kind = draws.randrange(8)
        if kind < 2 and chosen.types:
            data = bytearray(chosen.data)
            at, width = draws.choice(chosen.types)
            data[at : at + width] = draws.choice((*range(45), 1 << 31, (1 << 32) - 1)).to_bytes(width, "little")
            return bytes(data)
        if kind < 4:
            return draws.overwrite(chosen.data, chosen.counts)
        if kind < 6:
            return draws.overwrite(chosen.data, chosen.others)
        return draws.edit(chosen.data) if kind == 6 else draws.splice(chosen.data, draws.choice(files()).data)

    def prepare(self) -> None:
        self._file = MemoryFile()
        rk.Device(f"emulator:{self.target}")

    def run(self, data: bytes, seed: int) -> str:
        assert self._file is not None
        self._file.replace(data)
        found = rk.load_gguf(self._file.path)
        for tensor in found.values():
            assert tensor.data.nbytes == tensor.nbytes
            if seed % UPLOADED_EVERY == 0:
                tensor.to(f"emulator:{self.target}")
        return "read"
