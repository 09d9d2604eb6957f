"""Reductions with all that NumPy takes beside the axes: `out`, `initial`, and `where` for what counts."""

from __future__ import annotations

from math import inf
from math import prod as product

from rocmkern.dtypes import DType, bool_
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.engine.operation import planned
from rocmkern.errors import ArgumentError, DTypeError, ShapeError
from rocmkern.layout import Axes, broadcast_shapes, normal_axes
from rocmkern.ops import means, reduction
from rocmkern.ops.casting import cast
from rocmkern.ops.creation import full
from rocmkern.ops.elementwise import as_tensor, broadcast, finish, operand
from rocmkern.ops.indexing import where as chosen
from rocmkern.ops.manipulation import concat, reshape
from rocmkern.ops.rows_binary import add, logical_and, logical_or, maximum, minimum, multiply, subtract
from rocmkern.ops.rows_unary import logical_not
from rocmkern.promotion import Scalar
from rocmkern.tensor import Operand, Tensor


@planned
def sum(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The sum along axes, by default all: of integers in 64 bits, of f16 and bf16 carried in f32 and rounded once.

    Only of what `where` has true; `initial` is added.
    """
    found = reduction.sum(_kept("sum", x, where, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return finish("sum", found if initial is None else add(found, initial), out)


@planned
def prod(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The product along axes, by default all: of integers in 64 bits. Only of what `where` has true, and
    `initial` times it.
    """
    found = reduction.prod(_kept("prod", x, where, 1), axis=axis, dtype=dtype, keepdims=keepdims)
    return finish("prod", found if initial is None else multiply(found, initial), out)


@planned
def max(
    x: Tensor,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The largest value along axes, NaN where there is one: of `initial`, and of what `where` has true, which takes
    it. Raises ShapeError without elements and `initial`.
    """
    return finish("max", _extreme("max", x, axis, keepdims, initial, where), out)


@planned
def min(
    x: Tensor,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """The smallest value along axes, NaN where there is one: of `initial`, and of what `where` has true, which takes
    it. Raises ShapeError without elements and `initial`.
    """
    return finish("min", _extreme("min", x, axis, keepdims, initial, where), out)


amax, amin = max, min
_EXTREMES = {"max": (reduction.max, maximum), "min": (reduction.min, minimum)}


def _extreme(
    operation: str, x: Tensor, axis: Axes, keepdims: bool, initial: Scalar | None, where: Tensor | None
) -> Tensor:
    reduce, of_two = _EXTREMES[operation]
    if initial is None:
        if where is not None:
            raise ArgumentError(f"{operation}: where without initial; give the value of no elements")
        return reduce(x, axis=axis, keepdims=keepdims)
    axes = normal_axes(axis, as_tensor(operation, x).ndim, operation)
    if not product(x.shape[a] for a in axes):
        shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
        return full(shape, initial, dtype=x.dtype, device=x.device)
    return of_two(reduce(_kept(operation, x, where, initial), axis=axes, keepdims=keepdims), initial)


@planned
def any(
    x: Tensor,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
) -> Tensor:
    """Whether any value along axes is other than zero, of those that `where` has true."""
    given = x if where is None else logical_and(as_tensor("any", x), mask("any", x, where))
    return finish("any", reduction.any(given, axis=axis, keepdims=keepdims), out)


@planned
def all(
    x: Tensor,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
) -> Tensor:
    """Whether no value along axes is zero, of those that `where` has true."""
    given = x if where is None else logical_or(as_tensor("all", x), logical_not(mask("all", x, where)))
    return finish("all", reduction.all(given, axis=axis, keepdims=keepdims), out)


@planned
def argmax(x: Tensor, /, axis: int | None = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first largest value, or of the first NaN, as int64; of the flat tensor without an axis."""
    return finish("argmax", reduction.argmax(x, axis=axis, keepdims=keepdims), out)


@planned
def argmin(x: Tensor, /, axis: int | None = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest value, or of the first NaN, as int64; of the flat tensor without an axis."""
    return finish("argmin", reduction.argmin(x, axis=axis, keepdims=keepdims), out)


@planned
def mean(
    x: Tensor,
    /,
    axis: Axes = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    where: Tensor | None = None,
) -> Tensor:
    """The mean along axes, in its dtype or the one given; of integers the default one, NaN of nothing. Only of what
    `where` has true.
    """
    if where is None:
        return finish("mean", reduction.mean(x, axis=axis, keepdims=keepdims, dtype=dtype), out)
    values, axes = _numbers("mean", x, dtype), normal_axes(axis, x.ndim, "mean")
    return finish("mean", cast(means.mean(values, mask("mean", x, where), axes, keepdims), values.dtype), out)


@planned
def var(
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
    """The mean squared distance from the mean, in two passes, in its dtype or the one given; the sum is divided by the
    count less `correction`, which may also be given as `ddof`. Only of what `where` has true; of complex numbers real.
    """
    return finish("var", _spread("var", x, axis, dtype, ddof, keepdims, where, correction), out)


@planned
def std(
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
    """The square root of `var`."""
    return finish("std", _spread("std", x, axis, dtype, ddof, keepdims, where, correction), out)


@planned
def ptp(x: Tensor, /, axis: Axes = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The largest value along axes less the smallest."""
    high, low = (f(x, axis=axis, keepdims=keepdims) for f in (reduction.max, reduction.min))
    return finish("ptp", subtract(high, low), out)


def ediff1d(x: Tensor, /, to_end: Operand | None = None, to_begin: Operand | None = None) -> Tensor:
    """The differences of neighbours in the flat tensor, between those to begin and those to end with."""
    found = reduction.diff(reshape(as_tensor("ediff1d", x), -1))
    first, last = (
        t if t is None else reshape(t if isinstance(t, Tensor) else operand("ediff1d", t, found.dtype, x.device), -1)
        for t in (to_begin, to_end)
    )
    return concat([t for t in (first, found, last) if t is not None])


def mask(operation: str, x: Tensor, where: Tensor) -> Tensor:
    """What `where` has true, in the shape of x."""
    truth = as_tensor(f"{operation}, where", where)
    if broadcast_shapes(truth.shape, x.shape) != x.shape:
        raise ShapeError(f"{operation}: where of shape {truth.shape} for {x.shape}; it must broadcast to that")
    return broadcast(cast(truth, bool_), x.shape)


def _kept(operation: str, x: Tensor, where: Tensor | None, other: Scalar) -> Tensor:
    """The values that count, elsewhere one that changes nothing."""
    if where is None:
        return x
    counts = mask(operation, as_tensor(operation, x), where)
    return cast(chosen(counts, x, bool(other) if x.dtype is bool_ else other), x.dtype)


def _numbers(operation: str, x: Tensor, dtype: DType | None) -> Tensor:
    wanted = reduction.floating(as_tensor(operation, x).dtype) if dtype is None else as_dtype(dtype)
    if not (wanted.is_float or wanted.is_complex):
        raise DTypeError(f"{operation}: dtype {wanted.name}; name a float or complex dtype and convert the result")
    return cast(as_tensor(operation, x), wanted)


def _spread(
    operation: str, x: Tensor, axis: Axes, dtype: DType | None, ddof: float | None, keepdims: bool,
    where: Tensor | None, correction: float,
) -> Tensor:  # fmt: skip
    if (
        where is None
        and not as_tensor(operation, x).dtype.is_complex
        and (dtype is None or not as_dtype(dtype).is_complex)
    ):
        plain = reduction.var if operation == "var" else reduction.std
        return plain(x, axis=axis, correction=correction, keepdims=keepdims, ddof=ddof, dtype=dtype)
    values, lowered = _numbers(operation, x, dtype), reduction.lowered_by(operation, correction, ddof)
    axes, counts = normal_axes(axis, x.ndim, operation), None if where is None else mask(operation, x, where)
    return means.spread(values, counts, axes, keepdims, lowered, root=operation == "std", of_few=inf)
