"""The layout of GGUF files, versions 2 and 3: metadata, and where tensors lie. Nothing is taken that the file claims
and lacks.

The file is read and never mapped, since a mapped one that somebody cuts short ends the process; the gguf package maps
it, and takes what a header claims before the file has it.
"""

from __future__ import annotations

import math
import os
import struct
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from attrs import define, field, frozen

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.block_formats import FORMATS, BlockFormat
from rocmkern.paths import open_regular

# ggml's numbers of block formats and of the other types that have kernels here.
BLOCK_NUMBERS: Final[dict[str, int]] = {
    "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14,
    "Q8_K": 15, "IQ4_NL": 20, "IQ4_XS": 23, "MXFP4": 39,
}  # fmt: skip
KINDS: Final[dict[int, BlockFormat | DType]] = {
    0: dtypes.float32, 1: dtypes.float16, 30: dtypes.bfloat16, 28: dtypes.float64, 24: dtypes.int8, 25: dtypes.int16,
    26: dtypes.int32, 27: dtypes.int64, **{BLOCK_NUMBERS[f.struct]: f for f in FORMATS},
}  # fmt: skip
# Block formats of ggml that have no kernels here.
OTHER_NAMES: Final[dict[int, str]] = {
    9: "q8_1", 16: "iq2_xxs", 17: "iq2_xs", 18: "iq3_xxs", 19: "iq1_s", 21: "iq3_s", 22: "iq2_s", 29: "iq1_m",
    34: "tq1_0", 35: "tq2_0", 40: "nvfp4", 41: "q1_0",
}  # fmt: skip
MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
MOST_ENTRIES: Final = 1 << 16  # of metadata, and of tensors
LONGEST_NAME: Final = (1 << 16) - 1
MOST_DIMENSIONS: Final = 4
DEFAULT_ALIGNMENT: Final = 32
ALIGNMENT_KEY: Final = "general.alignment"
_LARGEST_SHAPE: Final = 1 << 59  # values, counted as if no side was 0: what NumPy can express
_SCALARS: Final[dict[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_ROWS: Final = {code: struct.Struct(f"<{code}") for code in _SCALARS.values()}
_STRING, _ARRAY = 8, 9
_LENGTH_BYTES: Final = 8
_POINTER_BYTES, _NUMBER_BYTES, _TEXT_BYTES = 8, 40, 64  # of objects in a list: known ones, numbers, empty texts
_LARGEST_LETTER: Final = 4
_PIECE_BYTES: Final = 1 << 18  # of an array of texts that are read together


@define(eq=False)
class Source:
    """A file that stays open, to read pieces from."""

    descriptor: int
    size: int

    @staticmethod
    def opened(path: Path) -> Source:
        """Raises OSError as open() does, ValueError for what is no file."""
        descriptor = open_regular(path)
        found = Source(descriptor, os.fstat(descriptor).st_size)
        weakref.finalize(found, os.close, descriptor)
        return found

    def read(self, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        """Raises ValueError where the file has become shorter."""
        held = np.empty(nbytes, np.uint8)
        view, done = held.data, 0
        while done < nbytes:
            count = os.preadv(self.descriptor, [view[done:]], offset + done)
            if not count:
                raise ValueError(f"it ends at {offset + done} by now and had {self.size} bytes when it was opened")
            done += count
        return held


@frozen
class UnknownFormat:
    """A type that has no kernels here. How many bytes it takes is not known: all up to the next tensor are its."""

    number: int  # ggml's

    @property
    def name(self) -> str:
        return OTHER_NAMES.get(self.number, f"type {self.number}")


@frozen
class Place:
    """Where a tensor lies in its file."""

    name: str
    kind: BlockFormat | DType | UnknownFormat
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@define(eq=False)
class Header:
    """All of a file but the tensors' bytes. Whatever it claims and lacks is a ValueError."""

    file: BinaryIO
    size: int
    most_bytes: int  # that metadata may take beyond its size in the file
    metadata: dict[str, Any] = field(init=False, factory=dict)
    tensors: list[Place] = field(init=False)
    _position: int = field(init=False, default=0)
    _taken: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        if self._take(4) != MAGIC:
            raise ValueError("it does not begin with GGUF")
        version = self._number("I")
        if version & 0xFFFF == 0 and version:
            raise ValueError("it is big-endian")
        if version not in VERSIONS:
            raise ValueError(f"it is of version {version}; {VERSIONS[0]} and {VERSIONS[1]} are known")
        tensors, entries = self._number("Q"), self._number("Q")
        for what, count in (("tensors", tensors), ("entries of metadata", entries)):
            if count > MOST_ENTRIES:
                raise ValueError(f"it claims {count} {what}, {MOST_ENTRIES} are the most")
        for _ in range(entries):
            self._entry()
        alignment = self.metadata.get(ALIGNMENT_KEY, DEFAULT_ALIGNMENT)
        if type(alignment) is not int or alignment <= 0 or alignment & (alignment - 1):
            raise ValueError(f"{ALIGNMENT_KEY} is {_shown(alignment)}, no power of two")
        rows = [self._tensor() for _ in range(tensors)]
        start = -(-self._position // alignment) * alignment
        offsets = sorted({row[3] for row in rows})
        ends = dict(pairwise([*offsets, max(self.size - start, 0)]))
        self.tensors = [self._placed(start, alignment, ends[row[3]], *row) for row in rows]
        self._require_apart()

    def _take(self, nbytes: int) -> bytes:
        self._require(nbytes)
        data = self.file.read(nbytes)
        if len(data) != nbytes:
            raise ValueError(f"it ends at {self._position + len(data)} by now and had {self.size} bytes")
        self._position += nbytes
        return data

    def _require(self, nbytes: int) -> None:
        left = self.size - self._position
        if nbytes > left:
            raise ValueError(f"{nbytes} bytes should follow byte {self._position}, {left} do: it is truncated")

    def _take_memory(self, nbytes: int) -> None:
        """Counts what an object takes, with the bytes that it is made from."""
        self._taken += nbytes
        if self._taken > self._position + self.most_bytes:
            raise ValueError(
                f"the first {self._position} bytes of metadata take {self._taken} as Python's objects, "
                f"{self.most_bytes} more are the most; if you trust the file, load it with a larger most_bytes="
            )

    def _number(self, code: str) -> Any:
        row = _ROWS[code]
        return row.unpack(self._take(row.size))[0]

    def _text(self) -> str:
        data = self._take(self._number("Q"))
        self._take_memory(len(data) * (1 + (1 if data.isascii() else _LARGEST_LETTER)))
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ValueError(f"the text that ends at byte {self._position} is no UTF-8") from None

    def _texts(self, count: int) -> list[str]:
        """As many texts, most of them from pieces of the file that hold many."""
        found, length_of = list[str](), _ROWS["Q"].unpack_from
        while len(found) < count:
            piece, begin, parts = self.file.read(_PIECE_BYTES), 0, list[bytes]()
            while len(found) + len(parts) < count and begin + _LENGTH_BYTES <= len(piece):
                end = begin + _LENGTH_BYTES + length_of(piece, begin)[0]
                if end > len(piece):
                    break
                parts.append(piece[begin + _LENGTH_BYTES : end])
                begin = end
            self.file.seek(self._position + begin)
            self._position += begin
            self._take_memory(sum(len(part) * (1 + (1 if part.isascii() else _LARGEST_LETTER)) for part in parts))
            try:
                found += [part.decode() for part in parts]
            except UnicodeDecodeError:
                raise ValueError(f"a text that ends before byte {self._position} is no UTF-8") from None
            if len(found) < count:
                found.append(self._text())
        return found

    def _name(self, what: str) -> str:
        name = self._text()
        if len(name) > LONGEST_NAME:
            raise ValueError(f"{what} has a name of {len(name)} letters, {LONGEST_NAME} are the most")
        return name

    def _entry(self) -> None:
        key = self._name("an entry of metadata")
        if key in self.metadata:
            raise ValueError(f"it has {_shown(key)} twice")
        at, kind = self._position, self._number("I")
        if kind != _ARRAY:
            self.metadata[key] = self._value(kind, at)
            return
        at = self._position
        kind, count = self._number("I"), self._number("Q")
        if kind == _STRING:
            self._require(count * _LENGTH_BYTES)
            self._take_memory(count * _TEXT_BYTES)
            self.metadata[key] = self._texts(count)
        elif kind in _SCALARS:
            item = np.dtype(f"<{_SCALARS[kind]}")
            data = self._take(count * item.itemsize)
            self._take_memory(len(data) + count * (_POINTER_BYTES if item.itemsize == 1 else _NUMBER_BYTES))
            self.metadata[key] = np.frombuffer(data, item).tolist()
        else:
            raise ValueError(f"an array of value type {kind} at byte {at}; known are scalars and strings")

    def _value(self, kind: int, at: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind not in _SCALARS:
            raise ValueError(f"a value of type {kind} at byte {at}, which is not known")
        return self._number(_SCALARS[kind])

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name, count = self._name("a tensor"), self._number("I")
        if count > MOST_DIMENSIONS:
            raise ValueError(f"tensor {_shown(name)} has {count} dimensions, {MOST_DIMENSIONS} are the most")
        dims = struct.unpack(f"<{count}Q", self._take(8 * count))
        return name, tuple(reversed(dims)), self._number("I"), self._number("Q")

    def _placed(
        self, start: int, alignment: int, end: int, name: str, shape: tuple[int, ...], number: int, offset: int
    ) -> Place:
        """`end` is where the next tensor begins."""
        what, kind = f"tensor {_shown(name)}", KINDS.get(number) or UnknownFormat(number)
        if isinstance(kind, UnknownFormat):
            nbytes = max(end - offset, 0)
        elif isinstance(kind, BlockFormat):
            if not shape or shape[-1] % kind.values:
                raise ValueError(
                    f"{what} of {kind.name} has shape {shape}; its rows must be multiples of {kind.values}"
                )
            nbytes = math.prod(shape) // kind.values * kind.nbytes
        else:
            nbytes = math.prod(shape) * kind.itemsize
        if offset % alignment:
            raise ValueError(f"{what} lies at offset {offset}, no multiple of {alignment}")
        first, last = start + offset, start + offset + nbytes
        if last > self.size:
            raise ValueError(f"{what} takes bytes {first} to {last}, the file ends at {self.size}: it is truncated")
        if math.prod(max(side, 1) for side in shape) > _LARGEST_SHAPE:
            raise ValueError(f"{what} has shape {shape}, which no tensor can have")
        return Place(name, kind, shape, first, nbytes)

    def _require_apart(self) -> None:
        names = set[str]()
        for place in self.tensors:
            if place.name in names:
                raise ValueError(f"it has tensor {_shown(place.name)} twice")
            names.add(place.name)
        held = sorted((place for place in self.tensors if place.nbytes), key=lambda place: place.offset)
        for first, second in pairwise(held):
            if first.offset + first.nbytes > second.offset:
                raise ValueError(f"tensors {_shown(first.name)} and {_shown(second.name)} share bytes")


def _shown(value: object) -> str:
    """What a message says of it."""
    text = repr(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"


def read_header(source: Source, most_bytes: int) -> Header:
    """Raises ValueError that says what is wrong where."""
    with os.fdopen(os.dup(source.descriptor), "rb") as file:
        file.seek(0)
        return Header(file, source.size, most_bytes)
