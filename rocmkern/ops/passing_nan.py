"""NumPy's functions that pass over NaN, with all its arguments."""

from __future__ import annotations

from math import inf, nan

from rocmkern.dtypes import DType, bool_
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import ShapeError
from rocmkern.layout import Axes
from rocmkern.ops import reductions, statistics
from rocmkern.ops.casting import cast
from rocmkern.ops.elementwise import as_tensor, finish
from rocmkern.ops.indexing import where as chosen
from rocmkern.ops.numpy_names import cumprod, cumsum
from rocmkern.ops.reduction import all, any, argmax, argmin, floating, prod, sum
from rocmkern.ops.reductions import mask
from rocmkern.ops.rows_binary import add, multiply
from rocmkern.ops.rows_unary import isnan
from rocmkern.promotion import Scalar
from rocmkern.tensor import Tensor


def nansum(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The sum of what is no NaN along axes; only of what `where` has true, `initial` is added."""
    values = _counted("nansum", x, where, 0)
    if dtype is None:
        found = statistics.nansum(values, axis=axis, keepdims=keepdims)
    else:
        found = sum(_without_nan("nansum", values, 0.0), axis=axis, dtype=dtype, keepdims=keepdims)
    return finish("nansum", found if initial is None else add(found, initial), out)


def nanprod(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The product of what is no NaN along axes; only of what `where` has true, and `initial` times it."""
    values = _without_nan("nanprod", _counted("nanprod", x, where, 1), 1.0)
    found = prod(values, axis=axis, dtype=dtype, keepdims=keepdims)
    return finish("nanprod", found if initial is None else multiply(found, initial), out)


def nanmax(
    x: Tensor,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The largest of what is no NaN along axes, NaN where all are: of `initial`, and of what `where` has true, which
    takes it.
    """
    if initial is None and where is None:
        return finish("nanmax", statistics.nanmax(x, axis=axis, keepdims=keepdims), out)
    values = _without_nan("nanmax", x, -inf)
    return reductions.max(values, axis, out, keepdims=keepdims, initial=initial, where=where)


def nanmin(
    x: Tensor,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The smallest of what is no NaN along axes, NaN where all are: of `initial`, and of what `where` has true, which
    takes it.
    """
    if initial is None and where is None:
        return finish("nanmin", statistics.nanmin(x, axis=axis, keepdims=keepdims), out)
    values = _without_nan("nanmin", x, inf)
    return reductions.min(values, axis, out, keepdims=keepdims, initial=initial, where=where)


def nanmean(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
) -> Tensor:
    """The mean of what is no NaN along axes, in its dtype or the one given; NaN where all are. Integers become the
    default dtype. Only of what `where` has true.
    """
    values = _in_floats("nanmean", x, dtype, where)
    return finish("nanmean", statistics.nanmean(values, axis=axis, keepdims=keepdims), out)


def nanvar(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
    *,
    correction: float = 0.0,
) -> Tensor:
    """The variance of what is no NaN along axes, in its dtype or the one given; NaN where no more than `correction`, or
    `ddof`, of them are there. Only of what `where` has true.
    """
    values = _in_floats("nanvar", x, dtype, where)
    found = statistics.nanvar(values, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof)
    return finish("nanvar", found, out)


def nanstd(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
    *,
    correction: float = 0.0,
) -> Tensor:
    """The square root of `nanvar`."""
    values = _in_floats("nanstd", x, dtype, where)
    found = statistics.nanstd(values, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof)
    return finish("nanstd", found, out)


def _in_floats(operation: str, x: Tensor, dtype: DType | None, where: Tensor | None) -> Tensor:
    """The values in a dtype, or their own; NaN for those that don't count."""
    given = as_tensor(operation, x) if dtype is None else cast(as_tensor(operation, x), as_dtype(dtype))
    return given if where is None else chosen(mask(operation, x, where), cast(given, floating(given.dtype)), nan)


def _counted(operation: str, x: Tensor, where: Tensor | None, other: int) -> Tensor:
    """The values that count, elsewhere one that changes nothing."""
    if where is None:
        return as_tensor(operation, x)
    return chosen(mask(operation, as_tensor(operation, x), where), x, bool(other) if x.dtype is bool_ else other)


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
    return chosen(isnan(x), other, x) if dtype.is_float or dtype.is_complex else x


def _with_a_number(operation: str, x: Tensor, axis: int | None, other: float) -> Tensor:
    if not as_tensor(operation, x).dtype.is_float:
        return x
    unknown = isnan(x)
    if bool(any(all(unknown, axis=axis))):
        raise ShapeError(f"{operation}: nothing but NaN along axis {axis} of shape {x.shape}; there is no such index")
    return chosen(unknown, other, x)
