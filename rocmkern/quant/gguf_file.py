"""GGUF files: metadata and named tensors, mapped into memory and not copied."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from rocmkern.dtypes import DType
from rocmkern.errors import GgufError, GgufUnavailable
from rocmkern.kernels.block_formats import BlockFormat
from rocmkern.ops.creation import upload
from rocmkern.quant.qtensor import QTensor, from_blocks
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.tensor import Tensor


@frozen(eq=False)
class GgufTensor:
    """A tensor of a file: `data` are its bytes there. Blocks lie along the last axis of the shape."""

    name: str
    kind: BlockFormat | DType
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


def load_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """The tensors and metadata of a GGUF file. The file is mapped, so only what is used gets read.

    Raises GgufError (a ValueError) naming what is wrong where: a truncated or corrupt file, a tensor type that has no
    kernels here, a row that its type's blocks don't divide. Raises GgufUnavailable (an ImportError) without the `gguf`
    package.
    """
    try:
        from rocmkern.quant.gguf_reader import KINDS, CheckedReader
    except ImportError as error:
        raise GgufUnavailable(f"load_gguf: gguf can't be imported ({error}); pip install rocmkern[quant]") from None
    where = Path(path)
    try:
        reader = CheckedReader(where)
        metadata = {name: entry.contents() for name, entry in reader.fields.items() if not name.startswith("GGUF.")}
    except (ValueError, LookupError) as error:
        fact = error.args[0] if len(error.args) == 1 else error
        raise GgufError(f"load_gguf {where.name}: {fact}; get the file again or convert it anew") from error
    tensors = {
        t.name: GgufTensor(t.name, KINDS[t.tensor_type], tuple(reversed(t.shape.tolist())), _bytes(t.data))
        for t in reader.tensors
    }
    return GgufFile(where, metadata, tensors)


def _bytes(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return data.reshape(-1).view(np.uint8)
