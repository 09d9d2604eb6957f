"""Quantiles by all of NumPy's methods, of complex numbers, and of what is no NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor, nan, prod
from typing import Any, Final, Literal, get_args

import numpy as np

from rocmkern.dtypes import float64, int64, part_of
from rocmkern.engine.operation import planned
from rocmkern.errors import ShapeError
from rocmkern.layout import Axes, normal_axes
from rocmkern.ops import familiar
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.composed import clip, imag, real
from rocmkern.ops.creation import full
from rocmkern.ops.elementwise import as_tensor, finish, one_of, real_float
from rocmkern.ops.familiar import Shares
from rocmkern.ops.indexing import take_along_axis, where
from rocmkern.ops.manipulation import expand_dims, permute_dims, reshape, squeeze, stack
from rocmkern.ops.reduction import any as any_of
from rocmkern.ops.reduction import as_floats, count_nonzero, floating
from rocmkern.ops.rows_binary import add, logical_or, minimum, multiply, subtract
from rocmkern.ops.rows_unary import floor as floors
from rocmkern.ops.rows_unary import isnan, logical_not, nearest_integer
from rocmkern.ops.sorting import argsort, sort
from rocmkern.tensor import Tensor

Method = Literal[
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
_METHODS: Final = get_args(Method)


# The numbers are Python's, or tensors with an element for each row.
_Place = Callable[[Any, float, Callable[[Any], Any], Callable[[Any], Any]], Any]


def _continuous(alpha: float, beta: float) -> _Place:
    return lambda n, q, floor, nearest: n * q + alpha + q * (1 - alpha - beta) - 1


def _averaged(n: Any, q: float, floor: Callable[[Any], Any], nearest: Callable[[Any], Any]) -> Any:
    """Half way on where n·q is whole, else the next."""
    at = n * q - 1
    return (floor(at) + 1 - floor(-at)) * 0.5


def _closest(n: Any, q: float, floor: Callable[[Any], Any], nearest: Callable[[Any], Any]) -> Any:
    """The nearest, of two the even one, counted from 1."""
    at = n * q - 1.5
    low = floor(at)
    return low + 1 - (at == low) * (low % 2)


# Where in n values in order a share q lies, from 0; a fraction is a place between two.
# Source: Hyndman and Fan, Sample Quantiles in Statistical Packages (1996).
_PLACES: Final[Mapping[str, _Place]] = {
    "inverted_cdf": lambda n, q, floor, nearest: -floor(-n * q) - 1,
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": lambda n, q, floor, nearest: (n - 1) * q,
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
    "lower": lambda n, q, floor, nearest: floor((n - 1) * q),
    "higher": lambda n, q, floor, nearest: -floor((1 - n) * q),
    "midpoint": lambda n, q, floor, nearest: (floor((n - 1) * q) - floor((1 - n) * q)) * 0.5,
    "nearest": lambda n, q, floor, nearest: nearest((n - 1) * q),
}


@planned
def quantile(
    x: Tensor,
    q: Shares,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The value below which a share q (0..1) of those along axes lies, between neighbours as NumPy's method of that
    name has it.

    NaN where there is one. Several shares come along a new first axis. Integers become the default dtype. Raises
    ShapeError without elements.
    """
    return finish("quantile", _quantiles("quantile", x, q, 1, axis, method, keepdims), out)


@planned
def percentile(
    x: Tensor,
    q: Shares,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`quantile` of percentages, 0..100."""
    return finish("percentile", _quantiles("percentile", x, q, 100, axis, method, keepdims), out)


@planned
def median(x: Tensor, /, axis: Axes = None, out: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """The middle value along axes, or the mean of both middle ones; NaN where there is one, and of nothing. Integers
    become float32; complex numbers are in order of their real parts, then of the imaginary ones.
    """
    if not as_tensor("median", x).size:
        found = _of_nothing("median", x, axis, keepdims)
    elif x.dtype.is_complex:
        found = _of_complex(x, axis, keepdims)
    else:
        found = familiar.quantiles("median", x, 0.5, 1, axis, keepdims)
    return finish("median", found, out)


def nanquantile(
    x: Tensor,
    q: Shares,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`quantile` of what is no NaN; NaN where all are, and of nothing."""
    return finish("nanquantile", _of_numbers("nanquantile", x, q, 1, axis, method, keepdims), out)


def nanpercentile(
    x: Tensor,
    q: Shares,
    /,
    axis: Axes = None,
    out: Tensor | None = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`nanquantile` of percentages, 0..100."""
    return finish("nanpercentile", _of_numbers("nanpercentile", x, q, 100, axis, method, keepdims), out)


def nanmedian(x: Tensor, /, axis: Axes = None, out: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """`median` of what is no NaN; NaN where all are, and of nothing."""
    return finish("nanmedian", _of_numbers("nanmedian", x, 0.5, 1, axis, "linear", keepdims), out)


def _quantiles(operation: str, x: Tensor, q: Shares, whole: int, axis: Axes, method: str, keepdims: bool) -> Tensor:
    one_of(operation, method, "method", _METHODS)
    if method == "linear":
        return familiar.quantiles(operation, x, q, whole, axis, keepdims)
    shares, several = _shares(operation, q, whole)
    rows, shape = _rows(operation, as_floats(operation, x), axis, keepdims)
    n = rows.shape[-1]
    if not n:
        raise ShapeError(f"{operation}: no elements along axes of shape {x.shape}; there is no such value")
    places = [min(max(_PLACES[method](n, share, floor, round), 0.0), n - 1.0) for share in shares]
    found = [reshape(value, shape) for value in familiar.in_order(rows, places)]
    return stack(found) if several else found[0]


def _shares(operation: str, q: Shares, whole: int) -> tuple[list[float], bool]:
    given = q.tolist() if isinstance(q, np.ndarray | Tensor) else q
    several = isinstance(given, Sequence)
    numbers = [real_float(operation, s, "share") for s in (given if isinstance(given, Sequence) else [given])]
    if any(not 0 <= s <= whole for s in numbers):
        raise ShapeError(f"{operation}: shares {numbers}; use 0..{whole}")
    return [s / whole for s in numbers], several


def _rows(operation: str, values: Tensor, axis: Axes, keepdims: bool) -> tuple[Tensor, tuple[int, ...]]:
    """The values that go together along the last axis, and the shape of one for each."""
    axes = normal_axes(axis, values.ndim, operation)
    kept = [a for a in range(values.ndim) if a not in axes]
    n = prod(values.shape[a] for a in axes)
    rows = reshape(permute_dims(values, (*kept, *axes)), (*[values.shape[a] for a in kept], n))
    return rows, tuple(1 if a in axes else m for a, m in enumerate(values.shape) if keepdims or a not in axes)


def _of_nothing(operation: str, x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    """NaN for each row without elements."""
    _, shape = _rows(operation, x, axis, keepdims)
    return full(shape, nan, dtype=floating(x.dtype), device=x.device)


def _of_complex(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    rows, shape = _rows("median", x, axis, keepdims)
    ordered, n = _ordered(rows), rows.shape[-1]
    middle = add(multiply(ordered[..., (n - 1) // 2], 0.5), multiply(ordered[..., n // 2], 0.5))
    return reshape(where(any_of(isnan(rows), axis=-1), complex(nan, nan), middle), shape)


def _ordered(rows: Tensor) -> Tensor:
    """Each row in order, NaN last; complex numbers by their real, then by their imaginary parts."""
    if not rows.dtype.is_complex:
        return sort(rows)
    numbers = where(isnan(rows), complex(nan, nan), rows)
    by_imaginary = argsort(imag(numbers))
    order = take_along_axis(by_imaginary, argsort(take_along_axis(real(numbers), by_imaginary)))
    return take_along_axis(numbers, order)


def _of_numbers(operation: str, x: Tensor, q: Shares, whole: int, axis: Axes, method: str, keepdims: bool) -> Tensor:
    one_of(operation, method, "method", _METHODS)
    shares, several = _shares(operation, q, whole)
    values = x if as_tensor(operation, x).dtype.is_complex and operation == "nanmedian" else as_floats(operation, x)
    if not x.size:
        found = [_of_nothing(operation, values, axis, keepdims) for _ in shares]
        return stack(found) if several else found[0]
    rows, shape = _rows(operation, values, axis, keepdims)
    ordered = _ordered(rows)
    counts = cast(count_nonzero(logical_not(isnan(rows)), axis=-1), float64)
    last = clip(subtract(counts, 1.0), 0.0)
    found = []
    for share in shares:
        place = minimum(clip(_PLACES[method](counts, share, floors, nearest_integer), 0.0), last)
        low = floors(place)
        ends = [cast(minimum(add(low, step), last), int64) for step in (0.0, 1.0)]
        first, second = (squeeze(take_along_axis(ordered, expand_dims(e, axis=-1)), axis=-1) for e in ends)
        part = cast(subtract(place, low), part_of(rows.dtype))
        inside = logical_or(first == second, part == 0.0)
        value = where(inside, first, add(multiply(first, subtract(1.0, part)), multiply(second, part)))
        found.append(reshape(duplicate(value), shape))
    return stack(found) if several else found[0]
