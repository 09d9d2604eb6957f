"""What einops asks of a framework.

einops takes for backends the subclasses of its `AbstractBackend` whose framework's module is loaded.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import rocmkern
from rocmkern.announcing import when_imported

if TYPE_CHECKING:
    from rocmkern.tensor import Tensor

_BACKENDS: Final = "einops._backends"
_made: Final[list[type]] = []  # einops itself keeps no subclass alive


class Operations:
    """einops' names for what our namespace does; `AbstractBackend` has the rest, by methods of the tensor."""

    framework_name = "rocmkern"

    def is_appropriate_type(self, tensor: object) -> bool:
        return isinstance(tensor, rocmkern.Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return rocmkern.asarray(x)

    def to_numpy(self, x: Tensor) -> Any:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return rocmkern.arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        return rocmkern.stack(tensors)

    def tile(self, x: Tensor, repeats: tuple[int, ...]) -> Tensor:
        return rocmkern.tile(x, repeats)

    def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
        return rocmkern.concat(tensors, axis=axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.is_float

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return rocmkern.expand_dims(x, axis=new_position)

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return rocmkern.einsum(pattern, *x)


def _make(backends: ModuleType) -> None:
    _made.append(type("RocmkernBackend", (Operations, backends.AbstractBackend), {}))


def announce() -> None:
    """Makes the backend where einops is there, else as soon as it comes."""
    when_imported(_BACKENDS, _make)
