"""Statistics in NumPy's names: weighted, of several variables, of what is no NaN, and counts in bins."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, prod
from typing import Final

import numpy as np

from rocmkern.dtypes import DType, float32, float64, int64
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels import plans, plans_rows, plans_sort
from rocmkern.kernels.families.reduce import FLOATS
from rocmkern.kernels.families.statistics import MOST_BINS, MOST_VARIABLES
from rocmkern.layout import Axes, collapse, normal_axes, normal_integer
from rocmkern.ops import fused, means
from rocmkern.ops import rows as whole_rows
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.composed import clip, real
from rocmkern.ops.creation import asarray, upload, zeros
from rocmkern.ops.elementwise import as_tensor, real_float, same_device
from rocmkern.ops.familiar import Shares
from rocmkern.ops.fused import are_few
from rocmkern.ops.indexing import searchsorted, where
from rocmkern.ops.launch import context, empty, kernel, layout_info, strided, word
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import broadcast_to, concat, expand_dims, reshape, squeeze
from rocmkern.ops.matrices import adjoint, diagonal
from rocmkern.ops.reduction import floating, lowered_by, max, mean, min, sum, wide
from rocmkern.ops.rows_binary import less_equal, logical_and
from rocmkern.ops.rows_unary import isnan, logical_not, sqrt
from rocmkern.ops.scatter import index_add
from rocmkern.tensor import Tensor

# What the namespace takes from here; the rest it has with NumPy's arguments, from `quantiles` and `passing_nan`.
__all__ = ["average", "corrcoef", "cov", "histogram"]

_FEW_PRODUCTS: Final = 1 << 16  # of covariances
_TOO_MANY: Final = 1 << 31  # bins


@planned
def average(x: Tensor, /, axis: Axes = None, weights: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """The mean along axes; with weights Σ w·x / Σ w. These have the shape of x, or are a vector along the one axis.

    Integers become the default dtype. Weights whose sum is 0 give NaN or an infinity.
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
    dtype = floating(x.dtype, weights.dtype)
    points, each = cast(x, dtype), cast(weights, dtype)
    found = _weighted(points, broadcast_to(each, x.shape), axes, keepdims)
    if found is None:
        points, each = wide(points), wide(each)
        share = each / max(abs(each)) if each.size else each  # of the largest, so that no product overflows
        found = mean(points * share, axis=axes, keepdims=keepdims) / mean(share, axis=axes, keepdims=keepdims)
    return cast(found, dtype)


def _weighted(x: Tensor, weights: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor | None:
    """An average in one launch; None of rows that are better taken in parts, and of other dtypes."""
    same_device("average", x.device, weights)
    if x.dtype not in FLOATS:
        return None
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    at, given = (t.layout.permute((*kept, *axes)) for t in (x, weights))
    rows, columns = prod(at.shape[: len(kept)]), prod(at.shape[len(kept) :])
    if not rows * columns or columns > whole_rows.WHOLE_ROW:
        return None
    here = context(x.device)
    side_by_side = not whole_rows.runs_along_rows(at, len(kept))
    plan = here.plan(plans_rows.reduction, rows, columns, x.dtype.itemsize, contiguous=side_by_side)
    if plan.merge is not None:
        return None
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    out, (dims, strides) = empty(shape, x.dtype, x.device), collapse(at.shape, at.strides, given.strides)
    layout = len(dims or (1,)), layout_info(x.device, (*(dims or (1,)), *(strides[0] or (0,)), *(strides[1] or (0,))))
    here.kernel(x.device, f"average_{x.dtype.short}").run(
        plan.first, rows * columns, columns, *layout, x.address, weights.address, out.address
    )
    return out


def _numbers(operation: str, x: Tensor) -> Tensor:
    return cast(x, floating(as_tensor(operation, x).dtype))


@planned
def cov(x: Tensor, /, y: Tensor | None = None, *, rowvar: bool = True, correction: float = 1.0) -> Tensor:
    """The covariances of variables: the rows of x, or its columns without `rowvar`; those of y come behind them.

    The divisor is the number of observations less `correction`. One variable has no axes in the result. Integers become
    float32.
    """
    rows, freedom = _variables_of_both("cov", x, y, rowvar), real_float("cov", correction, "correction")
    found = _of_few_variables(rows, freedom, correlates=False)
    if found is None:
        found = cast(_of_many_variables(rows, freedom), rows[0].dtype)
    return squeeze(found, axis=(0, 1)) if found.shape == (1, 1) else found


def _of_many_variables(rows: list[Tensor], correction: float, *, are_scaled: bool = False) -> Tensor:
    """Covariances, of short floats in float32; of variables scaled such that no product of distances overflows."""
    values = wide(rows[0] if len(rows) == 1 else concat(rows))
    apart = values - mean(values, axis=1, keepdims=True)
    if are_scaled and values.size:
        apart = apart / max(abs(apart), axis=1, keepdims=True)
    return matmul(apart, adjoint(apart)) / _freedom(rows, correction)


def _freedom(rows: list[Tensor], correction: float) -> float:
    n = rows[0].shape[1]
    return n - correction if n > correction else 0.0


def _of_few_variables(rows: list[Tensor], correction: float, *, correlates: bool) -> Tensor | None:
    """Covariances or correlations of few elements in one launch."""
    first, dtype, device = rows[0], rows[0].dtype, rows[0].device
    count, n = first.shape[0] + (rows[1].shape[0] if len(rows) > 1 else 0), first.shape[1]
    if dtype not in FLOATS or rows[-1].device is not device or count > MOST_VARIABLES:
        return None
    if not 0 < count * count * n <= _FEW_PRODUCTS:
        return None
    out = empty((count, count), dtype, device)
    steps = [word(s) for r in (first, rows[-1]) for s in r.strides]
    run, plan = (
        kernel(device, f"covariance_{dtype.short}").run,
        context(device).plan(plans.one_block, count * count * n),
    )
    addresses = first.address, 0 if len(rows) == 1 else rows[-1].address, out.address
    run(plan, count, first.shape[0], n, *steps, _freedom(rows, correction), correlates, *addresses)
    return out


def _variables_of_both(operation: str, x: Tensor, y: Tensor | None, rowvar: bool) -> list[Tensor]:
    given = [as_tensor(operation, t) for t in ((x,) if y is None else (x, y))]
    dtype = floating(*(t.dtype for t in given))
    rows = [_variables(operation, cast(t, dtype), rowvar) for t in given]
    if rows[0].shape[1] != rows[-1].shape[1]:
        counts = " and ".join(str(r.shape[1]) for r in rows)
        raise ShapeError(f"{operation}: {counts} observations; give as many of each variable")
    return rows


def _variables(operation: str, values: Tensor, rowvar: bool) -> Tensor:
    if values.ndim > 2:
        raise ShapeError(f"{operation}: {values.ndim} dimensions; it takes a vector or a matrix")
    if values.ndim < 2:
        return reshape(values, (1, -1))
    return values if rowvar else values.T


@planned
def corrcoef(x: Tensor, /, y: Tensor | None = None, *, rowvar: bool = True) -> Tensor:
    """The correlations of variables, -1..1: their covariances, as `cov` has them, over their standard deviations."""
    rows = _variables_of_both("corrcoef", x, y, rowvar)
    found = _of_few_variables(rows, 1.0, correlates=True)
    if found is None:
        found = cast(_correlations(_of_many_variables(rows, 1.0, are_scaled=True)), rows[0].dtype)
    return squeeze(found, axis=(0, 1)) if found.shape == (1, 1) else found


def _correlations(found: Tensor) -> Tensor:
    """Of covariances."""
    if found.shape == (1, 1):
        return found / found
    spread = sqrt(real(diagonal(found)) if found.dtype.is_complex else diagonal(found))
    found = found / expand_dims(spread, axis=1) / spread
    return found if found.dtype.is_complex else clip(found, -1.0, 1.0)


def histogram(
    x: Tensor,
    /,
    bins: int | Shares = 10,
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
    given, count, limits = _bins(as_tensor("histogram", x), bins, range)
    if weights is None:
        # The ends of the elements are seldom those of others: what is done for them is not done again.
        counted = _counted if given is None and range is None else _counted_again
        found, *made = counted(x, given, count, *limits)
        edges = made[0] if given is None else given
    else:
        edges = _even_edges(x, count, *limits) if given is None else given
        found = _weights_within(cast(x, edges.dtype), edges, weights)
    return _shares(found, edges) if density else found, edges


def _bins(
    x: Tensor, bins: int | Shares, limits: tuple[float, float] | None
) -> tuple[Tensor | None, int, tuple[float, float]]:
    """The edges where they are given or their steps can't be told apart, how many bins there are, and both ends."""
    if x.dtype.is_complex:
        raise DTypeError(f"histogram: dtype {x.dtype}; it takes real numbers")
    if isinstance(bins, Tensor):
        same_device("histogram", x.device, bins)
    if isinstance(bins, Tensor | Sequence | np.ndarray):
        edges = bins if isinstance(bins, Tensor) else asarray(bins, dtype=float64, device=x.device)
        if edges.ndim != 1 or edges.size < 2 or not _rise(edges):
            raise ShapeError("histogram: the edges of the bins; give two or more, in order")
        return cast(edges, _edge_dtype(x)), edges.size - 1, (0.0, 0.0)
    count = normal_integer(bins, "histogram", "number of bins")
    if not 1 <= count < _TOO_MANY:
        raise ShapeError(f"histogram: {count} bins; use 1 or more, and fewer than 2**31")
    low, high = _range(limits) if limits is not None else _ends(x)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ShapeError(f"histogram: range {low} to {high}; give a finite one with range=(low, high)")
    low, high = (float(low), float(high)) if low < high else (low - 0.5, high + 0.5)
    if 0 < (high - low) / count < inf:
        return None, count, (low, high)
    return _even_edges(x, count, low, high), count, (low, high)


def _rise(edges: Tensor) -> bool:
    """Whether none is below the one ahead of it; the host looks at few itself."""
    if not are_few(edges.size):
        return not (edges[1:] < edges[:-1]).any()
    values = edges.numpy()
    return not (values[1:] < values[:-1]).any()


def _ends(x: Tensor) -> tuple[float, float]:
    """The least and the largest element; the host looks at few itself."""
    if not x.size:
        return 0.0, 1.0
    if not are_few(x.size):
        return float(min(x)), float(max(x))
    values = x.numpy().astype(np.float64)
    return float(values.min()), float(values.max())


def _edge_dtype(x: Tensor) -> DType:
    """One that has all values of the tensor apart, if it is of no more than 32 bits."""
    return float64 if x.dtype.itemsize == 8 or (x.dtype.is_integer and x.dtype.itemsize == 4) else float32


def _even_edges(x: Tensor, count: int, low: float, high: float) -> Tensor:
    return upload(np.linspace(low, high, count + 1).astype(_edge_dtype(x).numpy), x.device)


def _counted(x: Tensor, given: Tensor | None, count: int, low: float, high: float) -> tuple[Tensor, ...]:
    """How many elements each bin has, and the edges where they are not given."""
    values, device = cast(x, _edge_dtype(x)), x.device
    is_few = values.size <= fused.FEW and count <= MOST_BINS
    work = values.size if values.size > count else count + 1
    plan = context(device).plan(plans.one_block if is_few else plans_sort.counts, work)
    found = empty((count,), int64, device) if is_few else zeros((count,), dtype=int64, device=device)
    made = () if given is not None else (empty((count + 1,), values.dtype, device),)
    addresses = (0 if given is None else packed(given).address, values.address, made[0].address if made else 0)
    kernel(device, f"histogram_{values.dtype.short}").run(
        plan, values.size, *strided(values.shape, values), count, low, (high - low) / count, high, *addresses,
        found.address,
    )  # fmt: skip
    return (found, *made)


_counted_again: Final = planned(_counted)


@planned
def _shares(found: Tensor, edges: Tensor) -> Tensor:
    """What each bin has of the whole, over its width."""
    return found / (sum(cast(found, edges.dtype)) * (edges[1:] - edges[:-1]))


@planned
def _weights_within(x: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
    """The sums of the weights of the elements in each bin."""
    values, count = reshape(x, -1), edges.size - 1
    inside = logical_and(less_equal(edges[0], values), less_equal(values, edges[-1]))
    place = clip(searchsorted(edges, values, side="right") - 1, None, count - 1)
    place = where(inside, place, count)  # a bin more, for those outside
    each = reshape(weights, -1)
    return index_add(zeros((count + 1,), dtype=each.dtype, device=x.device), place, each)[:-1]


def _range(limits: object) -> tuple[float, float]:
    if not isinstance(limits, Sequence) or len(limits) != 2:
        raise ShapeError(f"histogram: range {limits!r}; give a lowest and a highest number")
    low, high = (real_float("histogram", end, "range") for end in limits)
    return low, high


@planned
def nansum(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum of what is no NaN along axes."""
    dtype = as_tensor("nansum", x).dtype
    if dtype.is_float:
        return _passing_over_nan("nansum", x, axis, keepdims)
    return sum(where(isnan(x), 0.0, x) if dtype.is_complex else x, axis=axis, keepdims=keepdims)


@planned
def nanmean(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The mean of what is no NaN along axes; NaN where all are. Integers become the default dtype."""
    values = _numbers("nanmean", x)
    if values.dtype.is_complex:
        axes = normal_axes(axis, x.ndim, "nanmean")
        return cast(means.mean(values, logical_not(isnan(values)), axes, keepdims), values.dtype)
    return _passing_over_nan("nanmean", values, axis, keepdims)


@planned
def nanvar(
    x: Tensor, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False, ddof: float | None = None
) -> Tensor:
    """The variance of what is no NaN along axes; NaN where no more than `correction`, or `ddof`, of them are there."""
    return _variance("nanvar", x, axis, lowered_by("nanvar", correction, ddof), keepdims, root=False)


@planned
def nanstd(
    x: Tensor, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False, ddof: float | None = None
) -> Tensor:
    """The square root of `nanvar`."""
    return _variance("nanstd", x, axis, lowered_by("nanstd", correction, ddof), keepdims, root=True)


@planned
def nanmax(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The largest of what is no NaN along axes; NaN where all are."""
    if not as_tensor("nanmax", x).dtype.is_float:
        return max(x, axis=axis, keepdims=keepdims)
    return _passing_over_nan("nanmax", x, axis, keepdims)


@planned
def nanmin(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The smallest of what is no NaN along axes; NaN where all are."""
    if not as_tensor("nanmin", x).dtype.is_float:
        return min(x, axis=axis, keepdims=keepdims)
    return _passing_over_nan("nanmin", x, axis, keepdims)


def _passing_over_nan(op: str, x: Tensor, axis: Axes, keepdims: bool, *options: float, name: str = "") -> Tensor:
    """The kernel's reduction, of float8 in float32."""
    axes, dtype = normal_axes(axis, x.ndim, name or op), x.dtype
    return cast(whole_rows.reduced(op, cast(x, float32) if dtype.itemsize == 1 else x, axes, keepdims, *options), dtype)


def _variance(operation: str, x: Tensor, axis: Axes, correction: float, keepdims: bool, *, root: bool) -> Tensor:
    values = _numbers(operation, x)
    if not values.dtype.is_complex:
        return _passing_over_nan("nanvar", values, axis, keepdims, correction, root, name=operation)
    axes = normal_axes(axis, x.ndim, operation)
    return means.spread(values, logical_not(isnan(values)), axes, keepdims, correction, root=root, of_few=nan)
