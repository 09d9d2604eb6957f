"""What lies beside a specialised code object: for which tensors it is, and how it is launched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from rocmkern.errors import ConfigError
from rocmkern.paths import write_whole

SUFFIX: Final = ".json"
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

    def write(self, code_object: Path) -> None:
        """Writes it beside its code object."""
        write_whole(path_of(code_object), (json.dumps(asdict(self), indent=1) + "\n").encode())


def path_of(code_object: Path) -> Path:
    return code_object.with_name(code_object.name + SUFFIX)


def read(code_object: Path) -> Sidecar:
    """The sidecar of a code object. Raises ConfigError where it is missing or says nothing that can be used."""
    path = path_of(code_object)
    try:
        document = json.loads(path.read_text())
        inputs = tuple(_row(row) for row in document.pop("inputs"))
        return Sidecar(inputs=inputs, output=_row(document.pop("output")), **document)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"read {path.name}: {error}; generate the kernel again") from None


def _row(row: dict[str, Any]) -> TensorRow:
    shape, strides = (tuple(map(int, row[key])) for key in ("shape", "strides"))
    if len(shape) != 4 or len(strides) != 4:
        raise ConfigError(f"a tensor of {len(shape)} dims; sidecars hold four")
    return TensorRow(str(row["dtype"]), shape, strides)
