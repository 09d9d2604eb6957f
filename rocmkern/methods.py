"""The methods that NumPy's arrays have; `Tensor` takes them into its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rocmkern
from rocmkern.dtypes import DType, float64
from rocmkern.errors import ArgumentError
from rocmkern.layout import normal_integer

if TYPE_CHECKING:
    from rocmkern.layout import Axes
    from rocmkern.tensor import Operand, Tensor


# Reductions. NumPy's functions of these names call them, with an `out` of None.


def sum(
    x: Tensor, axis: Axes = None, dtype: DType | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """`rocmkern.sum` of the tensor."""
    _refuse_out("sum", out)
    return rocmkern.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def prod(
    x: Tensor, axis: Axes = None, dtype: DType | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """`rocmkern.prod` of the tensor."""
    _refuse_out("prod", out)
    return rocmkern.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


def mean(
    x: Tensor, axis: Axes = None, dtype: DType | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """`rocmkern.mean` of the tensor."""
    _refuse_out("mean", out)
    return rocmkern.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)


def var(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: None = None,
    ddof: float | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """`rocmkern.var` of the tensor."""
    _refuse_out("var", out)
    return rocmkern.var(x, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof, dtype=dtype)


def std(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: None = None,
    ddof: float | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """`rocmkern.std` of the tensor."""
    _refuse_out("std", out)
    return rocmkern.std(x, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof, dtype=dtype)


def min(x: Tensor, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """`rocmkern.min` of the tensor."""
    _refuse_out("min", out)
    return rocmkern.min(x, axis=axis, keepdims=keepdims)


def max(x: Tensor, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """`rocmkern.max` of the tensor."""
    _refuse_out("max", out)
    return rocmkern.max(x, axis=axis, keepdims=keepdims)


def argmin(x: Tensor, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """`rocmkern.argmin` of the tensor."""
    _refuse_out("argmin", out)
    return rocmkern.argmin(x, axis=axis, keepdims=keepdims)


def argmax(x: Tensor, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """`rocmkern.argmax` of the tensor."""
    _refuse_out("argmax", out)
    return rocmkern.argmax(x, axis=axis, keepdims=keepdims)


def any(x: Tensor, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """`rocmkern.any` of the tensor."""
    _refuse_out("any", out)
    return rocmkern.any(x, axis=axis, keepdims=keepdims)


def all(x: Tensor, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """`rocmkern.all` of the tensor."""
    _refuse_out("all", out)
    return rocmkern.all(x, axis=axis, keepdims=keepdims)


def cumsum(x: Tensor, axis: int | None = None, dtype: DType | None = None, out: None = None) -> Tensor:
    """`rocmkern.cumulative_sum` along an axis, or of the flat tensor without one."""
    _refuse_out("cumsum", out)
    return rocmkern.cumulative_sum(x.ravel() if axis is None else x, axis=axis, dtype=dtype)


def cumprod(x: Tensor, axis: int | None = None, dtype: DType | None = None, out: None = None) -> Tensor:
    """`rocmkern.cumulative_prod` along an axis, or of the flat tensor without one."""
    _refuse_out("cumprod", out)
    return rocmkern.cumulative_prod(x.ravel() if axis is None else x, axis=axis, dtype=dtype)


def _refuse_out(operation: str, out: object) -> None:
    if out is not None:
        raise ArgumentError(
            f"{operation}: out={type(out).__name__}; results are new tensors, write one by out[...] = result"
        )


# Shapes


def transpose(x: Tensor, *axes: int | tuple[int, ...] | None) -> Tensor:
    """The axes in a new order, or all reversed where none is named; a view."""
    return x.permute(*axes) if axes else rocmkern.permute_dims(x)


def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged, a view."""
    return rocmkern.swapaxes(x, axis1, axis2)


def squeeze(x: Tensor, axis: Axes = None) -> Tensor:
    """Without the named axes of length 1, by default all of them; a view."""
    return rocmkern.squeeze(x, axis)


def ravel(x: Tensor) -> Tensor:
    """The elements along one axis: a view where the strides allow, else a copy."""
    return rocmkern.reshape(x, -1)


def flatten(x: Tensor) -> Tensor:
    """A copy of the elements along one axis."""
    return rocmkern.reshape(x, -1, copy=True)


def repeat(x: Tensor, repeats: int | Tensor, axis: int | None = None) -> Tensor:
    """`rocmkern.repeat` of the tensor."""
    return rocmkern.repeat(x, repeats, axis=axis)


# Elements


def real(x: Tensor) -> Tensor:
    """A copy of the real parts: of bool of the values, which are real too."""
    return rocmkern.copy(x) if x.dtype.kind == "bool" else rocmkern.real(x)


def imag(x: Tensor) -> Tensor:
    """A copy of the imaginary parts, of bool False everywhere."""
    return rocmkern.zeros_like(x) if x.dtype.kind == "bool" else rocmkern.imag(x)


def conj(x: Tensor) -> Tensor:
    """`rocmkern.conj` of the tensor."""
    return rocmkern.conj(x)


def clip(x: Tensor, min: Operand | None = None, max: Operand | None = None, out: None = None) -> Tensor:
    """`rocmkern.clip` of the tensor."""
    _refuse_out("clip", out)
    return rocmkern.clip(x, min, max)


def round(x: Tensor, decimals: int = 0, out: None = None) -> Tensor:
    """`rocmkern.round` of the tensor, to so many decimal places: before the point if negative."""
    _refuse_out("round", out)
    places = normal_integer(decimals, "round", "decimals")
    is_exact = x.dtype.kind in ("bool", "signed", "unsigned")
    if places == 0 or (is_exact and places > 0):
        return rocmkern.round(x)
    scale = 10.0 ** abs(places)
    if is_exact:
        return (rocmkern.round(x.astype(float64) / scale) * scale).astype(x.dtype)
    return rocmkern.round(x * scale) / scale if places > 0 else rocmkern.round(x / scale) * scale


def dot(x: Tensor, other: Tensor) -> Tensor:
    """`rocmkern.dot` with another tensor."""
    return rocmkern.dot(x, other)


def take(x: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    """`rocmkern.take` along an axis, or of the flat tensor without one."""
    return rocmkern.take(x.ravel() if axis is None else x, indices, axis=0 if axis is None else axis)


def nonzero(x: Tensor) -> tuple[Tensor, ...]:
    """`rocmkern.nonzero` of the tensor."""
    return rocmkern.nonzero(x)


def argsort(x: Tensor, axis: int = -1, *, descending: bool = False) -> Tensor:
    """`rocmkern.argsort` of the tensor."""
    return rocmkern.argsort(x, axis=axis, descending=descending)


# In place


def sort(x: Tensor, axis: int = -1, *, descending: bool = False) -> None:
    """Put the values in order along an axis, in place."""
    x[...] = rocmkern.sort(x, axis=axis, descending=descending)


def fill(x: Tensor, value: Operand) -> None:
    """Write one number everywhere."""
    x[...] = value


# To the host


def tobytes(x: Tensor) -> bytes:
    """The bytes of the elements in row-major order."""
    values: Any = x.numpy()
    return bytes(values.tobytes())
