"""What exists under the standard's name, in NumPy's, and with NumPy's arguments where those differ."""

from __future__ import annotations

from rocmkern.dtypes import DType
from rocmkern.errors import ShapeError
from rocmkern.layout import normal_axis
from rocmkern.ops import matrices
from rocmkern.ops.composed import conj
from rocmkern.ops.elementwise import as_tensor, finish
from rocmkern.ops.manipulation import concat, moveaxis, reshape
from rocmkern.ops.reduction import cumulative_prod, cumulative_sum, sum
from rocmkern.ops.rows_binary import (
    atan2,
    bitwise_left_shift,
    bitwise_right_shift,
    divide,
    pow,
    remainder,
)
from rocmkern.ops.rows_unary import abs, acos, acosh, asin, asinh, atan, atanh, bitwise_invert, trunc
from rocmkern.tensor import Tensor

absolute = abs
arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh = acos, acosh, asin, asinh, atan, atan2, atanh
bitwise_not = invert = bitwise_invert
concatenate = concat
conjugate = conj
fix = trunc
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
mod = remainder
power = pow
true_divide = divide


def cumsum(x: Tensor, /, axis: int | None = None, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """`cumulative_sum` along an axis, or of the flat tensor without one."""
    flat = reshape(as_tensor("cumsum", x), -1) if axis is None else x
    return finish("cumsum", cumulative_sum(flat, axis=0 if axis is None else axis, dtype=dtype), out)


def cumprod(x: Tensor, /, axis: int | None = None, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """`cumulative_prod` along an axis, or of the flat tensor without one."""
    flat = reshape(as_tensor("cumprod", x), -1) if axis is None else x
    return finish("cumprod", cumulative_prod(flat, axis=0 if axis is None else axis, dtype=dtype), out)


def diagonal(x: Tensor, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of the matrices that two axes span, along a new last axis; a view."""
    first, second = (normal_axis(a, as_tensor("diagonal", x).ndim, "diagonal") for a in (axis1, axis2))
    if first == second:
        raise ShapeError(f"diagonal: axes {axis1} and {axis2} of {x.ndim} dimensions; name two")
    return matrices.diagonal(moveaxis(x, (first, second), (-2, -1)), offset=offset)


def trace(
    x: Tensor,
    /,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sums of the diagonals of the matrices that two axes span."""
    return finish("trace", sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype), out)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every product of an element of one tensor with one of another, both flat."""
    return matrices.outer(reshape(as_tensor("outer", x1), -1), reshape(as_tensor("outer", x2), -1))


def cross(x1: Tensor, x2: Tensor, /, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements along an axis."""
    return matrices.cross(x1, x2, axis=axis)


def around(x: Tensor, /, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest numbers of so many decimal places, halves to even."""
    return finish("around", as_tensor("around", x).round(decimals), out)


def rint(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """The nearest integers, halves to even."""
    return finish("rint", as_tensor("rint", x).round(), out)
