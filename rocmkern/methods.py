"""The methods that NumPy's arrays have; `Tensor` takes them into its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rocmkern
from rocmkern.dtypes import DType

if TYPE_CHECKING:
    from rocmkern.layout import Axes
    from rocmkern.promotion import Scalar
    from rocmkern.tensor import Operand, Tensor


# Reductions


def sum(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """`rocmkern.sum` of the tensor."""
    return rocmkern.sum(x, axis, dtype, out, keepdims, initial, where)


def prod(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """`rocmkern.prod` of the tensor."""
    return rocmkern.prod(x, axis, dtype, out, keepdims, initial, where)


def mean(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
) -> Tensor:
    """`rocmkern.mean` of the tensor."""
    return rocmkern.mean(x, axis, dtype, out, keepdims, where)


def var(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
    *,
    correction: float = 0.0,
) -> Tensor:
    """`rocmkern.var` of the tensor."""
    return rocmkern.var(x, axis, dtype, out, ddof, keepdims, where, correction=correction)


def std(
    x: Tensor,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
    *,
    correction: float = 0.0,
) -> Tensor:
    """`rocmkern.std` of the tensor."""
    return rocmkern.std(x, axis, dtype, out, ddof, keepdims, where, correction=correction)


def min(
    x: Tensor,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """`rocmkern.min` of the tensor."""
    return rocmkern.min(x, axis, out, keepdims, initial, where)


def max(
    x: Tensor,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """`rocmkern.max` of the tensor."""
    return rocmkern.max(x, axis, out, keepdims, initial, where)


def argmin(x: Tensor, axis: int | None = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """`rocmkern.argmin` of the tensor."""
    return rocmkern.argmin(x, axis, out, keepdims)


def argmax(x: Tensor, axis: int | None = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """`rocmkern.argmax` of the tensor."""
    return rocmkern.argmax(x, axis, out, keepdims)


def any(
    x: Tensor, axis: Axes = None, out: Tensor | None = None, keepdims: bool = False, where: Tensor | None = None
) -> Tensor:
    """`rocmkern.any` of the tensor."""
    return rocmkern.any(x, axis, out, keepdims, where)


def all(
    x: Tensor, axis: Axes = None, out: Tensor | None = None, keepdims: bool = False, where: Tensor | None = None
) -> Tensor:
    """`rocmkern.all` of the tensor."""
    return rocmkern.all(x, axis, out, keepdims, where)


def cumsum(x: Tensor, axis: int | None = None, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """`rocmkern.cumsum` of the tensor."""
    return rocmkern.cumsum(x, axis, dtype, out)


def cumprod(x: Tensor, axis: int | None = None, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """`rocmkern.cumprod` of the tensor."""
    return rocmkern.cumprod(x, axis, dtype, out)


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


def clip(x: Tensor, min: Operand | None = None, max: Operand | None = None, out: Tensor | None = None) -> Tensor:
    """`rocmkern.clip` of the tensor."""
    return rocmkern.ops.elementwise.finish("clip", rocmkern.clip(x, min, max), out)


def round(x: Tensor, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """`rocmkern.round` of the tensor."""
    return rocmkern.ops.elementwise.finish("round", rocmkern.round(x, decimals), out)


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
