"""NumPy's functions that pass over NaN, with all its arguments."""

from __future__ import annotations

from math import inf

from rocmkern.dtypes import DType
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import ShapeError
from rocmkern.layout import Axes
from rocmkern.ops import statistics
from rocmkern.ops.casting import cast
from rocmkern.ops.elementwise import as_tensor, finish
from rocmkern.ops.indexing import where
from rocmkern.ops.numpy_names import cumprod, cumsum
from rocmkern.ops.reduction import all, any, argmax, argmin, prod
from rocmkern.ops.rows_unary import isnan
from rocmkern.tensor import Tensor


def _in(dtype: DType | None, x: Tensor, operation: str) -> Tensor:
    return as_tensor(operation, x) if dtype is None else cast(as_tensor(operation, x), as_dtype(dtype))


def nanmean(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The mean of what is no NaN along axes, in its dtype or the one given; NaN where all are. Integers become
    float32.
    """
    return finish("nanmean", statistics.nanmean(_in(dtype, x, "nanmean"), axis=axis, keepdims=keepdims), out)


def nanvar(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float = 0.0,
) -> Tensor:
    """The variance of what is no NaN along axes, in its dtype or the one given; NaN where no more than `correction`, or
    `ddof`, of them are there.
    """
    given = _in(dtype, x, "nanvar")
    found = statistics.nanvar(given, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof)
    return finish("nanvar", found, out)


def nanstd(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float = 0.0,
) -> Tensor:
    """The square root of `nanvar`."""
    given = _in(dtype, x, "nanstd")
    found = statistics.nanstd(given, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof)
    return finish("nanstd", found, out)


def nanprod(x: Tensor, /, axis: Axes = None, dtype: DType | None = None, *, keepdims: bool = False) -> Tensor:
    """The product of what is no NaN along axes."""
    return prod(_without_nan("nanprod", x, 1.0), axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(x: Tensor, /, axis: int | None = None, dtype: DType | None = None) -> Tensor:
    """`cumsum` of what is no NaN."""
    return cumsum(_without_nan("nancumsum", x, 0.0), axis, dtype)


def nancumprod(x: Tensor, /, axis: int | None = None, dtype: DType | None = None) -> Tensor:
    """`cumprod` of what is no NaN."""
    return cumprod(_without_nan("nancumprod", x, 1.0), axis, dtype)


def nanargmax(x: Tensor, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the first largest value that is no NaN, as int64. Raises ShapeError where all are; the host waits
    for that.
    """
    return argmax(_with_a_number("nanargmax", x, axis, -inf), axis=axis, keepdims=keepdims)


def nanargmin(x: Tensor, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the first smallest value that is no NaN, as int64. Raises ShapeError where all are; the host waits
    for that.
    """
    return argmin(_with_a_number("nanargmin", x, axis, inf), axis=axis, keepdims=keepdims)


def _without_nan(operation: str, x: Tensor, other: float) -> Tensor:
    dtype = as_tensor(operation, x).dtype
    return where(isnan(x), other, x) if dtype.is_float or dtype.is_complex else x


def _with_a_number(operation: str, x: Tensor, axis: int | None, other: float) -> Tensor:
    if not as_tensor(operation, x).dtype.is_float:
        return x
    unknown = isnan(x)
    if bool(any(all(unknown, axis=axis))):
        raise ShapeError(f"{operation}: nothing but NaN along axis {axis} of shape {x.shape}; there is no such index")
    return where(unknown, other, x)
