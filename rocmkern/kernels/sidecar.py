"""What lies beside a specialised code object: for which tensors it is, and how it is launched."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from rocmkern import disk_cache
from rocmkern.errors import ConfigError

SUFFIX: Final = ".json"
_UNUSABLE: Final = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
Four = tuple[int, int, int, int]


@frozen
class TensorRow:
    """One tensor: shape and strides innermost first, strides in elements."""

    dtype: str
    shape: Four
    strides: Four


@frozen
class Sidecar:
    """One kernel. Its arguments are a pointer per input and one for the output."""

    op: str
    symbol: str
    target: str
    inputs: tuple[TensorRow, ...]
    output: TensorRow
    grid: int
    block: int
    source_hash: str
    sha256: str  # of the code object

    def key(self) -> tuple[Any, ...]:
        """What a launch is matched by."""
        return (self.op, self.target, self.inputs, self.output)

    def write(self, code_object: Path, content: bytes) -> None:
        """Writes it beside its code object, which has that content."""
        disk_cache.describe(code_object, SUFFIX, (json.dumps(asdict(self), indent=1) + "\n").encode(), content)


def path_of(code_object: Path) -> Path:
    return code_object.with_name(code_object.name + SUFFIX)


def read(code_object: Path) -> Sidecar:
    """The sidecar of a code object. Raises ConfigError where it is missing or says nothing that can be used."""
    path = path_of(code_object)
    try:
        return _parsed(disk_cache.read(path))
    except _UNUSABLE as error:
        raise _unusable(path, error) from None


def read_both(code_object: Path) -> tuple[Sidecar, bytes]:
    """A sidecar and its code object. Raises ConfigError where one is missing or damaged."""
    try:
        code, text = disk_cache.read_described(code_object, SUFFIX)
        row = _parsed(text)
    except _UNUSABLE as error:
        raise _unusable(path_of(code_object), error) from None
    if hashlib.sha256(code).hexdigest() != row.sha256:
        raise ConfigError(f"read {code_object.name}: it is not the file that its sidecar is of; generate it again")
    return row, code


def _unusable(path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"read {path.name}: {type(error).__name__}: {error}; generate the kernel again")


def _parsed(text: bytes) -> Sidecar:
    document = json.loads(text)
    inputs = tuple(_row(row) for row in document.pop("inputs"))
    return Sidecar(inputs=inputs, output=_row(document.pop("output")), **document)


def _row(row: dict[str, Any]) -> TensorRow:
    shape, strides = (tuple(map(int, row[key])) for key in ("shape", "strides"))
    if len(shape) != 4 or len(strides) != 4:
        raise ConfigError(f"a tensor of {len(shape)} dims; sidecars hold four")
    return TensorRow(str(row["dtype"]), shape, strides)
