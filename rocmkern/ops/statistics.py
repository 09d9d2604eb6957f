"""Statistics in NumPy's names: weighted, of several variables, of what is no NaN, and counts in bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from rocmkern.dtypes import float8_e4m3, float32, float64, int64, part_of
from rocmkern.errors import ShapeError
from rocmkern.layout import Axes, normal_axes, normal_integer
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import clip, real
from rocmkern.ops.creation import asarray, upload, zeros
from rocmkern.ops.datatypes import finfo
from rocmkern.ops.elementwise import as_tensor, real_float
from rocmkern.ops.familiar import Shares, quantiles
from rocmkern.ops.indexing import searchsorted, where
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import broadcast_to, concat, expand_dims, reshape, squeeze
from rocmkern.ops.matrices import adjoint, diagonal
from rocmkern.ops.recorded import recorded
from rocmkern.ops.reduction import all, as_floats, count_nonzero, max, mean, min, sum, wide
from rocmkern.ops.rows_binary import less_equal, logical_and
from rocmkern.ops.rows_unary import abs, isnan, logical_not, sqrt, square
from rocmkern.ops.scatter import index_add
from rocmkern.promotion import promote
from rocmkern.tensor import Tensor

_TOO_MANY: Final = 1 << 31  # bins


@recorded
def average(x: Tensor, /, axis: Axes = None, weights: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """The mean along axes; with weights Σ w·x / Σ w. These have the shape of x, or are a vector along the one axis.

    Integers become float32. Weights whose sum is 0 give NaN or an infinity.
    """
    if weights is None:
        return mean(x, axis=axis, keepdims=keepdims)
    axes = normal_axes(axis, as_tensor("average", x).ndim, "average")
    shape = as_tensor("average", weights).shape
    if shape != x.shape:
        if len(axes) != 1 or shape != (x.shape[axes[0]],):
            raise ShapeError(
                f"average: weights of shape {shape} for {x.shape} along {axes}; give one for each element, or a vector"
                " along one axis"
            )
        weights = reshape(weights, tuple(n if a == axes[0] else 1 for a, n in enumerate(x.shape)))
    values, given = _numbers("average", x), _numbers("average", weights)
    dtype = promote(values.dtype, given.dtype)
    each = broadcast_to(wide(cast(given, dtype)), x.shape)
    total = sum(wide(values) * each, axis=axes, keepdims=keepdims)
    return cast(total / sum(each, axis=axes, keepdims=keepdims), dtype)


def _numbers(operation: str, x: Tensor) -> Tensor:
    return x if as_tensor(operation, x).dtype.is_complex else as_floats(operation, x)


@recorded
def cov(x: Tensor, y: Tensor | None = None, /, *, rowvar: bool = True, correction: float = 1.0) -> Tensor:
    """The covariances of variables: the rows of x, or its columns without `rowvar`; those of y come behind them.

    The divisor is the number of observations less `correction`. One variable has no axes in the result. Integers become
    float32.
    """
    rows = _variables("cov", x, rowvar)
    if y is not None:
        more = _variables("cov", y, rowvar)
        if more.shape[1] != rows.shape[1]:
            raise ShapeError(f"cov: {rows.shape[1]} and {more.shape[1]} observations; give as many of each variable")
        rows = concat([rows, more])
    n = rows.shape[1]
    freedom = n - real_float("cov", correction, "correction")
    apart = wide(rows) - mean(wide(rows), axis=1, keepdims=True)
    found = cast(matmul(apart, adjoint(apart)) / (freedom if freedom > 0 else 0.0), rows.dtype)
    return squeeze(found, axis=(0, 1)) if found.shape == (1, 1) else found


def _variables(operation: str, x: Tensor, rowvar: bool) -> Tensor:
    values = _numbers(operation, x)
    if values.ndim > 2:
        raise ShapeError(f"{operation}: {values.ndim} dimensions; it takes a vector or a matrix")
    if values.ndim < 2:
        return reshape(values, (1, -1))
    return values if rowvar else values.T


@recorded
def corrcoef(x: Tensor, y: Tensor | None = None, /, *, rowvar: bool = True) -> Tensor:
    """The correlations of variables, -1..1: their covariances, as `cov` has them, over their standard deviations."""
    found = cov(x, y, rowvar=rowvar)
    if not found.ndim:
        return found / found
    spread = sqrt(real(diagonal(found)) if found.dtype.is_complex else diagonal(found))
    found = found / expand_dims(spread, axis=1) / spread
    return found if found.dtype.is_complex else clip(found, -1.0, 1.0)


def percentile(x: Tensor, q: Shares, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """`quantile` of percentages, 0..100."""
    return quantiles("percentile", x, q, 100, axis, keepdims)


def histogram(
    x: Tensor,
    bins: int | Shares = 10,
    /,
    range: tuple[float, float] | None = None,
    *,
    weights: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, and the edges of the bins: as many of equal width over the range, by default
    that of the elements, for which the host waits, or those between the edges given.

    A bin holds its lower edge, the last both. Counts are int64; with weights their sums, with `density` shares of the
    whole over the bin's width. Elements outside and NaN count nowhere.
    """
    if weights is not None and as_tensor("histogram", weights).shape != as_tensor("histogram", x).shape:
        raise ShapeError(f"histogram: weights of shape {weights.shape} for {x.shape}; give one for each")
    edges = _edges(as_tensor("histogram", x), bins, range)
    values, count = reshape(cast(x, edges.dtype), -1), edges.size - 1
    last = edges[-1]
    inside = logical_and(less_equal(edges[0], values), less_equal(values, last))
    place = clip(searchsorted(edges, values, side="right") - 1, None, count - 1)
    place = where(inside, place, count)  # a bin more, for those outside
    each = cast(inside, int64) if weights is None else reshape(weights, -1)
    found = index_add(zeros((count + 1,), dtype=each.dtype, device=x.device), place, each)[:-1]
    if not density:
        return found, edges
    return found / (sum(cast(found, edges.dtype)) * (edges[1:] - edges[:-1])), edges


def _edges(x: Tensor, bins: int | Shares, limits: tuple[float, float] | None) -> Tensor:
    dtype = float64 if x.dtype.itemsize == 8 else float32
    if isinstance(bins, Tensor | Sequence | np.ndarray):
        edges = bins if isinstance(bins, Tensor) else asarray(bins, dtype=float64, device=x.device)
        if edges.ndim != 1 or edges.size < 2 or (edges[1:] < edges[:-1]).any():
            raise ShapeError("histogram: the edges of the bins; give two or more, in order")
        return cast(edges, dtype)
    count = normal_integer(bins, "histogram", "number of bins")
    if not 1 <= count < _TOO_MANY:
        raise ShapeError(f"histogram: {count} bins; use 1 or more, and fewer than 2**31")
    if limits is not None:
        low, high = _range(limits)
    else:
        low, high = (float(min(x)), float(max(x))) if x.size else (0.0, 1.0)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ShapeError(f"histogram: range {low} to {high}; give a finite one with range=(low, high)")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return upload(np.linspace(low, high, count + 1).astype(dtype.numpy), x.device)


def _range(limits: object) -> tuple[float, float]:
    if not isinstance(limits, Sequence) or len(limits) != 2:
        raise ShapeError(f"histogram: range {limits!r}; give a lowest and a highest number")
    low, high = (real_float("histogram", end, "range") for end in limits)
    return low, high


@recorded
def nansum(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum of what is no NaN along axes."""
    return sum(_with("nansum", x, 0.0), axis=axis, keepdims=keepdims)


@recorded
def nanmean(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The mean of what is no NaN along axes; NaN where all are. Integers become float32."""
    return _mean(_numbers("nanmean", x), axis, keepdims)


@recorded
def nanvar(x: Tensor, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance of what is no NaN along axes; NaN where no more than `correction` of them are there."""
    return _variance("nanvar", x, axis, correction, keepdims, root=False)


@recorded
def nanstd(x: Tensor, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of `nanvar`."""
    return _variance("nanstd", x, axis, correction, keepdims, root=True)


@recorded
def nanmax(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The largest of what is no NaN along axes; NaN where all are."""
    return _extreme("nanmax", x, axis, keepdims, largest=True)


@recorded
def nanmin(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The smallest of what is no NaN along axes; NaN where all are."""
    return _extreme("nanmin", x, axis, keepdims, largest=False)


def _with(operation: str, x: Tensor, number: float) -> Tensor:
    """The tensor with a number in the place of NaN."""
    dtype = as_tensor(operation, x).dtype
    return where(isnan(x), number, x) if dtype.is_float or dtype.is_complex else x


def _mean(values: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    total = sum(_with("nanmean", wide(values), 0.0), axis=axis, keepdims=keepdims)
    return cast(total / _how_many(wide(values), axis, keepdims), values.dtype)


def _variance(operation: str, x: Tensor, axis: Axes, correction: float, keepdims: bool, *, root: bool) -> Tensor:
    values = _numbers(operation, x)
    apart = _with(operation, wide(values) - _mean(wide(values), axis, True), 0.0)
    squares = sum(square(abs(apart)), axis=axis, keepdims=keepdims)
    freedom = _how_many(wide(values), axis, keepdims) - real_float(operation, correction, "correction")
    found = where(freedom > 0, squares / freedom, float("nan"))
    return cast(sqrt(found) if root else found, part_of(values.dtype) if values.dtype.is_complex else values.dtype)


def _how_many(values: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    """What is no NaN along axes, as floats."""
    count = count_nonzero(logical_not(isnan(values)), axis=axis, keepdims=keepdims)
    return cast(count, part_of(values.dtype) if values.dtype.is_complex else values.dtype)


def _extreme(operation: str, x: Tensor, axis: Axes, keepdims: bool, *, largest: bool) -> Tensor:
    chosen = max if largest else min
    if not as_tensor(operation, x).dtype.is_float:
        return chosen(x, axis=axis, keepdims=keepdims)
    lowest = finfo(x.dtype).min if x.dtype is float8_e4m3 else float("-inf")  # which that has not
    found = chosen(_with(operation, x, lowest if largest else -lowest), axis=axis, keepdims=keepdims)
    return where(all(isnan(x), axis=axis, keepdims=keepdims), float("nan"), found)
