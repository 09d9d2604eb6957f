"""GGUF files: metadata and named tensors, which are read when they are used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from rocmkern.codeobject import MOST_BYTES
from rocmkern.dtypes import DType
from rocmkern.errors import GgufError, TensorNotFound
from rocmkern.kernels.block_formats import BlockFormat
from rocmkern.ops.creation import upload
from rocmkern.quant.gguf_reader import Source, read_header
from rocmkern.quant.qtensor import QTensor, from_blocks
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.tensor import Tensor


@frozen(eq=False)
class GgufTensor:
    """A tensor of a file. Blocks lie along the last axis of the shape."""

    name: str
    kind: BlockFormat | DType
    shape: tuple[int, ...]
    nbytes: int
    _file: str = field(repr=False)
    _source: Source = field(repr=False)
    _offset: int = field(repr=False)

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """Its bytes, read from the file. Raises GgufError where that was cut short since it was opened."""
        try:
            return self._source.read(self._offset, self.nbytes)
        except ValueError as error:
            raise GgufError(f"read tensor {self.name!r} of {self._file}: {error}; get the file again") from None

    def to(self, device: DeviceLike = None) -> QTensor | Tensor:
        """The tensor on a device: a QTensor for a block format, else a Tensor. Raises GgufError as `data` does."""
        if isinstance(self.kind, BlockFormat):
            return from_blocks(self.data, self.kind, self.shape, device)
        return upload(self.data.view(self.kind.numpy).reshape(self.shape), open_device(device))

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """What tensors on a device have: the error says how to get one."""
            kind = object.__getattribute__(self, "kind")  # not this method's again, where it is missing
            made = QTensor if isinstance(kind, BlockFormat) else Tensor
            hint = f"; to(device) gives a {made.__name__}, which has it" if hasattr(made, name) else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")


@frozen(eq=False)
class GgufFile(Mapping[str, GgufTensor]):
    """A GGUF file: tensors by name, and `metadata` by key."""

    path: Path
    metadata: dict[str, Any] = field(repr=False)
    tensors: dict[str, GgufTensor] = field(repr=False)

    def __getitem__(self, name: str) -> GgufTensor:
        try:
            return self.tensors[name]
        except KeyError:
            near = get_close_matches(str(name), self.tensors, cutoff=0.4) or list(self.tensors)[:3]
            raise TensorNotFound(f"{self.path.name}: no tensor {name!r}; it has {', '.join(near) or 'none'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def load_gguf(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> GgufFile:
    """The tensors and metadata of a GGUF file. It stays open, and of its tensors only those that are used get read.

    Raises GgufError (a ValueError) naming what is wrong where: a truncated or corrupt file, a tensor type that has no
    kernels here, a row that its type's blocks don't divide, tensors that share bytes, metadata that takes more than
    `most_bytes` of memory beyond its size in the file.
    """
    where = Path(path)
    try:
        source = Source.opened(where)
        header = read_header(source, most_bytes)
    except ValueError as error:
        raise GgufError(f"load_gguf {where.name}: {error}; get the file again or convert it anew") from error
    tensors = {
        p.name: GgufTensor(p.name, p.kind, p.shape, p.nbytes, where.name, source, p.offset) for p in header.tensors
    }
    return GgufFile(where, header.metadata, tensors)
