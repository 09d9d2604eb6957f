"""GGUF files: metadata and named tensors, mapped into memory and not copied.

The `gguf` package reads the same files, but loops over whatever count a damaged header claims; here every length is
checked against the file before it is believed.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from attrs import define, field, frozen

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.errors import GgufError
from rocmkern.kernels.block_formats import BY_NAME, BlockFormat
from rocmkern.ops.creation import DeviceLike, open_device, upload
from rocmkern.quant.qtensor import QTensor, from_blocks
from rocmkern.tensor import Tensor

Kind = BlockFormat | DType

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_DEFAULT_ALIGNMENT: Final = 32
_MAX_DIMS: Final = 4
_EMPTY_STRING_BYTES: Final = 8
_STRING, _ARRAY, _BOOL = 8, 9, 7
_SCALARS: Final[dict[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip

# ggml's numbers of tensor types.
KINDS: Final[dict[int, Kind]] = {
    0: dtypes.float32, 1: dtypes.float16, 24: dtypes.int8, 25: dtypes.int16, 26: dtypes.int32, 27: dtypes.int64,
    28: dtypes.float64, 30: dtypes.bfloat16,
    **{number: BY_NAME[name] for number, name in {
        2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k", 11: "q3_k", 12: "q4_k", 13: "q5_k",
        14: "q6_k", 15: "q8_k", 20: "iq4_nl", 23: "iq4_xs", 39: "mxfp4"}.items()},
}  # fmt: skip


@frozen(eq=False)
class GgufTensor:
    """A tensor of a file: `data` are its bytes there. Blocks lie along the last axis of the shape."""

    name: str
    kind: Kind
    shape: tuple[int, ...]
    data: np.ndarray[Any, Any] = field(repr=False)

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes)

    def to(self, device: DeviceLike = None) -> QTensor | Tensor:
        """The tensor on a device: a QTensor for a block format, else a Tensor."""
        if isinstance(self.kind, BlockFormat):
            return from_blocks(self.data, self.kind, self.shape, device)
        return upload(self.data.view(self.kind.numpy).reshape(self.shape), open_device(device))


@frozen(eq=False)
class GgufFile(Mapping[str, GgufTensor]):
    """A GGUF file: tensors by name, and `metadata` by key."""

    path: Path
    metadata: dict[str, Any] = field(repr=False)
    tensors: dict[str, GgufTensor] = field(repr=False)

    def __getitem__(self, name: str) -> GgufTensor:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


@define
class _Cursor:
    """Reads forward through the file's bytes; whatever would lie past the end is an error."""

    data: np.ndarray[Any, Any]
    fail: Callable[[str], GgufError]
    at: int = 0

    def take(self, nbytes: int, what: str) -> bytes:
        if nbytes > len(self.data) - self.at:
            raise self.fail(f"{what} at byte {self.at} takes {nbytes} bytes, {len(self.data) - self.at} are left")
        self.at += nbytes
        return bytes(self.data[self.at - nbytes : self.at])

    def number(self, code: str, what: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code), what))[0]

    def text(self, what: str) -> str:
        raw = self.take(self.number("Q", f"the length of {what}"), what)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise self.fail(f"{what} before byte {self.at} is no UTF-8") from None

    def value(self, kind: int, what: str) -> Any:
        if kind == _STRING:
            return self.text(what)
        if kind == _ARRAY:
            return self.array(what)
        if kind not in _SCALARS:
            raise self.fail(f"{what} has value type {kind} at byte {self.at}; known are 0 to 12")
        return self.number(_SCALARS[kind], what)

    def array(self, what: str) -> list[Any]:
        kind, count = self.number("I", what), self.number("Q", what)
        if kind in _SCALARS:
            code = _SCALARS[kind]
            raw = self.take(count * struct.calcsize(code), what)
            return list(np.frombuffer(raw, np.dtype(code).newbyteorder("<")).tolist())
        if kind != _STRING:
            raise self.fail(f"{what} is an array of value type {kind}; known are scalars and strings")
        if count * _EMPTY_STRING_BYTES > len(self.data) - self.at:
            raise self.fail(f"{what} claims {count} strings, {len(self.data) - self.at} bytes are left")
        return [self.text(what) for _ in range(count)]


def load_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """The tensors and metadata of a GGUF file. The file is mapped, so only what is used gets read.

    Raises GgufError (a ValueError) naming what is wrong where: a truncated or corrupt file, a tensor type that has no
    kernels here, a row that its type's blocks don't divide.
    """
    where = Path(path)

    def fail(fact: str) -> GgufError:
        return GgufError(f"load_gguf {where.name}: {fact}; get the file again or convert it anew")

    if where.stat().st_size < len(_MAGIC):
        raise fail(f"{where.stat().st_size} bytes, too short for any GGUF file")
    data = np.memmap(where, np.uint8, "r")
    cursor = _Cursor(data, fail)
    _check_header(cursor)
    tensor_count, key_count = cursor.number("Q", "the tensor count"), cursor.number("Q", "the key count")
    metadata: dict[str, Any] = {}
    for i in range(key_count):
        key = cursor.text(f"key {i} of {key_count}")
        if key in metadata:
            raise fail(f"key {key!r} comes twice")
        metadata[key] = cursor.value(cursor.number("I", f"the type of {key!r}"), repr(key))
    described = [_described(cursor, i, tensor_count) for i in range(tensor_count)]
    return GgufFile(where, metadata, _located(cursor, described, _alignment(metadata, fail)))


def _check_header(cursor: _Cursor) -> None:
    magic = cursor.take(4, "the magic")
    if magic != _MAGIC:
        raise cursor.fail(f"it begins with {magic!r}, a GGUF file with {_MAGIC!r}")
    version = cursor.number("I", "the version")
    if version not in _VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS
        raise cursor.fail("it is big-endian" if swapped else f"version {version}; 2 and 3 are known")


def _alignment(metadata: dict[str, Any], fail: Callable[[str], GgufError]) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise fail(f"general.alignment is {alignment!r}, no power of two")
    return alignment


@frozen
class _Description:
    name: str
    kind: Kind
    shape: tuple[int, ...]
    offset: int

    @property
    def nbytes(self) -> int:
        count = math.prod(self.shape)
        if isinstance(self.kind, DType):
            return count * self.kind.itemsize
        return count // self.kind.values * self.kind.nbytes


def _described(cursor: _Cursor, index: int, count: int) -> _Description:
    name = cursor.text(f"the name of tensor {index} of {count}")
    what = f"tensor {name!r}"
    ndim = cursor.number("I", what)
    if ndim > _MAX_DIMS:
        raise cursor.fail(f"{what} has {ndim} axes, at most {_MAX_DIMS} are possible")
    shape = tuple(reversed([cursor.number("Q", what) for _ in range(ndim)]))
    number, offset = cursor.number("I", what), cursor.number("Q", what)
    kind = KINDS.get(number)
    if kind is None:
        known = ", ".join(k.name for k in KINDS.values())
        raise cursor.fail(f"{what} has ggml type {number}, which has no kernels here; there are {known}")
    if isinstance(kind, BlockFormat) and (not shape or shape[-1] % kind.values):
        raise cursor.fail(f"{what} of {kind.name} has shape {shape}; its rows must be multiples of {kind.values}")
    return _Description(name, kind, shape, offset)


def _located(cursor: _Cursor, described: list[_Description], alignment: int) -> dict[str, GgufTensor]:
    start = -(-cursor.at // alignment) * alignment
    tensors: dict[str, GgufTensor] = {}
    for d in described:
        first, last = start + d.offset, start + d.offset + d.nbytes
        if d.name in tensors:
            raise cursor.fail(f"tensor {d.name!r} comes twice")
        if d.offset % alignment:
            raise cursor.fail(f"tensor {d.name!r} lies at offset {d.offset}, no multiple of {alignment}")
        if last > len(cursor.data):
            raise cursor.fail(
                f"tensor {d.name!r} takes bytes {first} to {last}, the file ends at {len(cursor.data)}: it is truncated"
            )
        tensors[d.name] = GgufTensor(d.name, d.kind, d.shape, cursor.data[first:last])
    return tensors
