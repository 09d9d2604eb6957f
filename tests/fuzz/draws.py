"""What every mutator draws from one seed: numbers on edges, and edits of bytes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from tests.fuzz.elf import Span

EDGES: Final = (
    0, 1, 2, 3, 4, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x100, 0xFFF, 0x1000, 0x7FFF, 0xFFFF,
    1 << 16, 1 << 20, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 8, 1 << 40, 1 << 61,
    (1 << 63) - 1, 1 << 63, (1 << 63) + 4096, (1 << 64) - 4096, (1 << 64) - 64, (1 << 64) - 8, (1 << 64) - 1,
)  # fmt: skip
MOST_EDITED: Final = 64  # bytes put in, taken out or moved at once


class Draws(random.Random):
    """The random choices of one case: equal for equal kinds and seeds, in every process."""

    def __new__(cls, kind: str, seed: int) -> Draws:
        return super().__new__(cls, 0)

    def __init__(self, kind: str, seed: int) -> None:
        super().__init__(f"{kind} {seed}")

    def number(self, width: int) -> bytes:
        """An integer of `width` bytes, little-endian: mostly an edge of some type, or near one."""
        kind = self.randrange(8)
        if kind == 0:
            return self.randbytes(width)
        value = self.choice(EDGES) + (self.randrange(-9, 10) if kind == 1 else 0)
        return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")

    def few(self) -> range:
        """A small number of times, mostly once."""
        return range(self.choice((1, 1, 1, 2, 2, 3, 4)))

    def overwrite(self, data: bytes, spans: Sequence[Span]) -> bytes:
        """Other numbers in some of the fields."""
        mutable = bytearray(data)
        for _ in self.few():
            at, width = self.choice(spans)
            mutable[at : at + width] = self.number(width)
        return bytes(mutable)

    def edit(self, data: bytes, first: int = 0, last: int | None = None) -> bytes:
        """Bits flipped; bytes replaced, put in, taken out, doubled or cut off, between `first` and `last`."""
        for _ in self.few():
            end = len(data) if last is None else min(last, len(data))
            at = self.randrange(first, max(end, first + 1))
            count = self.randrange(1, MOST_EDITED)
            kind = self.randrange(8)
            if kind < 3:
                old = data[at : at + 1] or b"\0"
                data = data[:at] + bytes([old[0] ^ 1 << self.randrange(8)]) + data[at + 1 :]
            elif kind == 3:
                width = self.choice((1, 2, 4, 8))
                data = data[:at] + self.number(width) + data[at + width :]
            elif kind == 4:
                data = data[:at] + self.randbytes(count) + data[at:]
            elif kind == 5:
                data = data[:at] + data[at + count :]
            elif kind == 6:
                other = self.randrange(len(data) + 1)
                data = data[:at] + data[other : other + count] + data[at:]
            else:
                data = data[:at] + bytes(count) + data[at + count :]
        return data[: self.randrange(len(data) + 1)] if self.randrange(12) == 0 else data

    def splice(self, data: bytes, other: bytes) -> bytes:
        """The head of one file with the tail of another."""
        return data[: self.randrange(len(data) + 1)] + other[self.randrange(len(other) + 1) :]
