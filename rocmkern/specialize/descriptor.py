"""ggml's tensor descriptors: `(d0,d1,d2,d3)/dtype[/(s0,s1,s2,s3)]`, innermost dimension first, strides in elements."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.dtypes import BY_SHORT, DType
from rocmkern.errors import ConfigError

DIMENSIONS: Final = 4
_FORM: Final = "(d0,d1,d2,d3)/dtype[/(s0,s1,s2,s3)]"
Four = tuple[int, int, int, int]


@frozen
class TensorDescriptor:
    """Shape, dtype and strides of a tensor, innermost dimension first; strides are in elements."""

    shape: Four
    dtype: DType
    strides: Four

    @property
    def size(self) -> int:
        d0, d1, d2, d3 = self.shape
        return d0 * d1 * d2 * d3

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other; strides of dims of one element do not matter."""
        dense = contiguous(self.shape)
        return all(n == 1 or s == d for n, s, d in zip(self.shape, self.strides, dense, strict=True))

    def __str__(self) -> str:
        def four(values: Four) -> str:
            return f"({','.join(map(str, values))})"

        strides = "" if self.strides == contiguous(self.shape) else f"/{four(self.strides)}"
        return f"{four(self.shape)}/{self.dtype.short}{strides}"


def contiguous(shape: Four) -> Four:
    """The strides of a contiguous tensor."""
    d0, d1, d2, _ = shape
    return 1, d0, d0 * d1, d0 * d1 * d2


def parse(text: object, where: str = "tensor") -> TensorDescriptor:
    """The tensor that a descriptor describes; `where` begins the message of a ConfigError (a ValueError)."""
    if not isinstance(text, str):
        raise ConfigError(f"{where}: {text!r} is no descriptor; write {_FORM}")
    parts = [part.strip() for part in text.split("/")]
    if not 2 <= len(parts) <= 3:
        raise ConfigError(f"{where}: {text!r} has {len(parts)} parts between slashes; write {_FORM}")
    shape = _four(parts[0], f"{where}: shape", text)
    if min(shape) < 1:
        raise ConfigError(f"{where}: shape {parts[0]} has a dimension below 1; unused dimensions are 1")
    dtype = BY_SHORT.get(parts[1])
    if dtype is None:
        raise ConfigError(f"{where}: unknown dtype {parts[1]!r}; there are {', '.join(BY_SHORT)}")
    if len(parts) == 2:
        return TensorDescriptor(shape, dtype, contiguous(shape))
    strides = _four(parts[2], f"{where}: strides", text)
    _check_strides(shape, dtype, strides, where)
    return TensorDescriptor(shape, dtype, strides)


def _four(text: str, where: str, whole: str) -> Four:
    if not (text.startswith("(") and text.endswith(")")):
        raise ConfigError(f"{where} of {whole!r} must be enclosed in parentheses; write {_FORM}")
    words = text[1:-1].split(",")
    if len(words) != DIMENSIONS:
        raise ConfigError(
            f"{where} of {whole!r} must have exactly 4 dimensions, it has {len(words)}; use 1 for the rest"
        )
    try:
        d0, d1, d2, d3 = (int(word) for word in words)
    except ValueError:
        raise ConfigError(f"{where} of {whole!r} are not four integers; write {_FORM}") from None
    return d0, d1, d2, d3


def _check_strides(shape: Four, dtype: DType, strides: Four, where: str) -> None:
    if min(strides) < 0:
        raise ConfigError(f"{where}: strides {strides} are negative; a descriptor's strides count forward")
    size = dtype.itemsize
    dense = contiguous(shape)
    in_bytes = tuple(s * size for s in dense)
    moving = [d for d in range(DIMENSIONS) if shape[d] > 1]
    if size > 1 and moving and all(strides[d] == in_bytes[d] for d in moving):
        raise ConfigError(
            f"{where}: strides {strides} are those of a contiguous {dtype.short} tensor in bytes; "
            f"strides are in elements: {dense}"
        )
