"""Means and deviations of complex numbers, and of the elements that a mask chooses, by double precision: neither sums
nor differences overflow where the result is a number.
"""

from __future__ import annotations

from math import prod

from rocmkern.dtypes import complex128, float64, int64, part_of
from rocmkern.ops.casting import cast
from rocmkern.ops.creation import full
from rocmkern.ops.indexing import where
from rocmkern.ops.reduction import squares, sum
from rocmkern.ops.rows_binary import divide, greater, maximum, multiply, subtract
from rocmkern.ops.rows_unary import isfinite, sqrt, square
from rocmkern.tensor import Tensor


def mean(x: Tensor, mask: Tensor | None, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Along axes, in float64 or complex128; NaN of nothing."""
    values, counts = _values(x, mask), _counts(x, mask, axes, keepdims)
    found = divide(sum(values, axis=axes, keepdims=keepdims), counts)
    if values.dtype is not x.dtype:
        return found
    share = 0.5 ** _length(x, axes).bit_length()
    smaller = sum(multiply(values, share), axis=axes, keepdims=keepdims)
    return where(isfinite(found), found, divide(smaller, multiply(counts, share)))


def spread(
    x: Tensor, mask: Tensor | None, axes: tuple[int, ...], keepdims: bool, lowered: float, *, root: bool, of_few: float
) -> Tensor:
    """The deviation along axes with `root`, else its square: real, and as precise as x.

    The divisor is the count less `lowered`. What is left of no more elements is `of_few` times the sum of squares.
    """
    apart, part = subtract(_values(x, mask), mean(x, mask, axes, True)), part_of(x.dtype)
    if mask is None and _length(x, axes) > lowered:
        return cast(squares(apart, axes, keepdims, _length(x, axes) - lowered, root=root), part)
    distance = squares(apart if mask is None else where(mask, apart, 0), axes, keepdims, root=True)
    freedom = subtract(_counts(x, mask, axes, keepdims), lowered)
    several = divide(distance, sqrt(maximum(freedom, 0.0)))
    found = where(greater(freedom, 0), several, multiply(distance, of_few))
    return cast(found if root else square(found), part)


def _length(x: Tensor, axes: tuple[int, ...]) -> int:
    return prod(x.shape[a] for a in axes)


def _values(x: Tensor, mask: Tensor | None) -> Tensor:
    values = cast(x, complex128 if x.dtype.is_complex else float64)
    return values if mask is None else where(mask, values, 0)


def _counts(x: Tensor, mask: Tensor | None, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """How many elements count, as float64."""
    if mask is None:
        return full((), float(_length(x, axes)), dtype=float64, device=x.device)
    return cast(sum(cast(mask, int64), axis=axes, keepdims=keepdims), float64)
