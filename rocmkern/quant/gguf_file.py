"""GGUF files: metadata and named tensors, which are read when they are used."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from attrs import field, frozen

from rocmkern.codeobject import MOST_BYTES
from rocmkern.dtypes import DType
from rocmkern.errors import FormatNotFound, GgufError, TensorNotFound
from rocmkern.kernels.block_formats import BlockFormat
from rocmkern.ops.creation import upload
from rocmkern.quant.gguf_reader import KINDS, Source, UnknownFormat, read_header
from rocmkern.quant.qtensor import QTensor, from_blocks
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.tensor import Tensor

_PARTS_KEY: Final = "split.count"
_PART_NAME: Final = re.compile(r"(?P<name>.+)-(?P<part>\d{5})-of-(?P<count>\d{5})\.gguf")


@frozen(eq=False)
class GgufTensor:
    """A tensor of a file. Blocks lie along the last axis of the shape."""

    name: str
    kind: BlockFormat | DType | UnknownFormat
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
        """The tensor on a device: a QTensor for a block format, else a Tensor.

        Raises GgufError as `data` does, FormatNotFound (a LookupError) for a type that has no kernels here.
        """
        if isinstance(self.kind, UnknownFormat):
            known = ", ".join(kind.name for kind in KINDS.values())
            raise FormatNotFound(
                f"tensor {self.name!r} of {self._file}: no kernels for {self.kind.name}; convert it to one of {known}"
            )
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

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def get(self, name: str, default: Any = None) -> Any:
        return self.tensors.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def load_gguf(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> GgufFile:
    """The tensors and metadata of a GGUF file. It stays open, and of its tensors only those that are used get read.

    Of a model in parts, named `NAME-00001-of-00003.gguf`, any part stands for all: they have the first one's metadata.
    Raises GgufError (a ValueError) naming what is wrong where: a truncated or corrupt file, a row that its type's
    blocks don't divide, tensors that share bytes, a part that is missing, metadata that takes more than `most_bytes` of
    memory beyond its size in the file.
    """
    where = Path(path)
    first = _loaded(where, most_bytes)
    count = first.metadata.get(_PARTS_KEY, 1)
    if count == 1:
        return first
    named = _PART_NAME.fullmatch(where.name)
    if type(count) is not int or named is None or int(named["count"]) != count:
        raise GgufError(
            f"load_gguf {where.name}: it says that it is one of {count!r} parts, and is not named like one; name it "
            "NAME-00001-of-00003.gguf"
        )
    parts = [where.with_name(f"{named['name']}-{n:05}-of-{count:05}.gguf") for n in range(1, count + 1)]
    missing = next((part for part in parts if not part.exists()), None)
    if missing is not None:
        raise GgufError(f"load_gguf {where.name}: its part {missing.name} is missing; put all {count} in one folder")
    files = [first if part.name == where.name else _loaded(part, most_bytes) for part in parts]
    tensors = dict[str, GgufTensor]()
    for file in files:
        twice = next((name for name in file if name in tensors), None)
        if twice is not None:
            raise GgufError(f"load_gguf {file.path.name}: tensor {twice!r} is in an earlier part too; get it again")
        tensors |= file.tensors
    return GgufFile(parts[0], files[0].metadata, tensors)


def _loaded(where: Path, most_bytes: int) -> GgufFile:
    """One file, as it is."""
    try:
        source = Source.opened(where)
        header = read_header(source, most_bytes)
    except ValueError as error:
        raise GgufError(f"load_gguf {where.name}: {error}; get the file again or convert it anew") from error
    tensors = {
        p.name: GgufTensor(p.name, p.kind, p.shape, p.nbytes, where.name, source, p.offset) for p in header.tensors
    }
    return GgufFile(where, header.metadata, tensors)
