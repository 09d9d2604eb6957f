"""The `gguf` package's reader, held to what the file has bytes for.

The package slices past the end of a file without a word, loops over whatever count a damaged header claims, and keeps
an array's numbers as one object each.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
from gguf import GGMLQuantizationType, GGUFEndian, GGUFReader, GGUFValueType, ReaderField

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.block_formats import FORMATS, BlockFormat

# ggml's tensor types that have kernels here.
KINDS: Final[dict[int, BlockFormat | DType]] = {
    GGMLQuantizationType.F32: dtypes.float32,
    GGMLQuantizationType.F16: dtypes.float16,
    GGMLQuantizationType.BF16: dtypes.bfloat16,
    GGMLQuantizationType.F64: dtypes.float64,
    GGMLQuantizationType.I8: dtypes.int8,
    GGMLQuantizationType.I16: dtypes.int16,
    GGMLQuantizationType.I32: dtypes.int32,
    GGMLQuantizationType.I64: dtypes.int64,
    **{GGMLQuantizationType[f.struct]: f for f in FORMATS},
}
_EMPTY_STRING_BYTES: Final = 8


class CheckedReader(GGUFReader):  # type: ignore[misc]  # mypy does not follow the package
    """Maps a file; whatever it claims and lacks is a ValueError."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self.endianess != GGUFEndian.LITTLE:
            raise ValueError("it is big-endian")

    def _require(self, offset: int, nbytes: int) -> None:
        left = len(self.data) - offset
        if nbytes > left:
            raise ValueError(f"{nbytes} bytes should follow byte {offset}, {max(left, 0)} do: it is truncated")

    def _get(self, offset: int, dtype: Any, count: Any = 1, override_order: Any = None) -> Any:
        self._require(offset, int(count) * np.dtype(dtype).itemsize)
        return super()._get(offset, dtype, count, override_order)

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        if raw_type != GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, int(raw_type))
        kind, count = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
        start = orig_offs + 12
        if kind[0] == GGUFValueType.STRING:
            self._require(start, int(count[0]) * _EMPTY_STRING_BYTES)
            return super()._get_field_parts(orig_offs, raw_type)
        if kind[0] not in self.gguf_scalar_to_np:
            raise ValueError(f"an array of value type {kind[0]} at byte {orig_offs}; known are scalars and strings")
        numbers = self._get(start, self.gguf_scalar_to_np[kind[0]], count[0])
        types = [GGUFValueType.ARRAY, GGUFValueType(kind[0])]
        return 12 + numbers.nbytes, [kind, count, numbers], [2], types

    def _build_tensors(self, start_offs: int, fields: list[ReaderField]) -> None:
        for field in fields:
            *_, dims, number, offset = (part.tolist() for part in field.parts)
            self._check_tensor(f"tensor {field.name!r}", tuple(reversed(dims)), number[0], start_offs, offset[0])
        super()._build_tensors(start_offs, fields)

    def _check_tensor(self, what: str, shape: tuple[int, ...], number: int, start: int, offset: int) -> None:
        kind = KINDS.get(number)
        if kind is None:
            known = ", ".join(k.name for k in KINDS.values())
            raise ValueError(f"{what} has ggml type {number}, which has no kernels here; there are {known}")
        nbytes = math.prod(shape)
        if isinstance(kind, BlockFormat):
            if not shape or shape[-1] % kind.values:
                raise ValueError(
                    f"{what} of {kind.name} has shape {shape}; its rows must be multiples of {kind.values}"
                )
            nbytes = nbytes // kind.values * kind.nbytes
        else:
            nbytes *= kind.itemsize
        if offset % self.alignment:
            raise ValueError(f"{what} lies at offset {offset}, no multiple of {self.alignment}")
        first, last = start + offset, start + offset + nbytes
        if last > len(self.data):
            end = len(self.data)
            raise ValueError(f"{what} takes bytes {first} to {last}, the file ends at {end}: it is truncated")
