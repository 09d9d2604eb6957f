"""Matrices and vectors: parts, products and norms that other operations make up."""

from __future__ import annotations

from math import inf

from rocmkern import default_dtypes
from rocmkern.dtypes import DType
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Axes, Layout, normal_axes, normal_axis, normal_integer
from rocmkern.ops import small
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.composed import conj
from rocmkern.ops.creation import full
from rocmkern.ops.elementwise import as_tensor, device_and_dtype, real_float, real_number
from rocmkern.ops.indexing import where
from rocmkern.ops.manipulation import (
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    reshape,
    squeeze,
)
from rocmkern.ops.reduction import max, min, squares, sum, wide
from rocmkern.ops.rows_binary import divide, greater, logical_and, multiply, not_equal, pow, subtract
from rocmkern.ops.rows_unary import abs, isfinite
from rocmkern.tensor import Tensor


def matrices(operation: str, x: Tensor) -> Tensor:
    """A stack of matrices of a dtype that factorizations have: bool and integers become the default dtype.

    Raises ShapeError below two dimensions, DTypeError for a float dtype of fewer bits.
    """
    if as_tensor(operation, x).ndim < 2:
        raise ShapeError(f"{operation}: {x.ndim} dimensions; it takes matrices, two dimensions or more")
    return factored_floats(operation, x)


def square_matrices(operation: str, x: Tensor) -> Tensor:
    """The same of square ones. Raises ShapeError for others."""
    result = matrices(operation, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{operation}: shape {x.shape}; it takes square matrices")
    return result


def factored_floats(operation: str, x: Tensor) -> Tensor:
    """The values in a dtype that factorizations have. Raises DTypeError for a float dtype of fewer than 32 bits."""
    if x.dtype.is_float and x.dtype.itemsize < 4:
        raise DTypeError(f"{operation}: dtype {x.dtype} is too short to factor in; use astype(float32)")
    return x if x.dtype.is_float or x.dtype.is_complex else cast(x, default_dtypes.wide_floating())


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transposes; of real matrices a view."""
    transposed = matrix_transpose(x)
    return conj(transposed) if x.dtype.is_complex else transposed


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices along a new last axis, those above the main one by a positive offset; a view."""
    if as_tensor("diagonal", x).ndim < 2:
        raise ShapeError(f"diagonal: {x.ndim} dimensions; it takes matrices, two dimensions or more")
    k = normal_integer(offset, "diagonal", "offset")
    down, right = (-k, 0) if k < 0 else (0, k)
    (rows, columns), (row, column) = x.shape[-2:], x.strides[-2:]
    length = rows - down if rows - down < columns - right else columns - right
    start = x.layout.offset + (down * row + right * column if length > 0 else 0)
    shape = (*x.shape[:-2], length if length > 0 else 0)
    return x.view(Layout(shape, (*x.strides[:-2], row + column), start))


@planned
def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sums of the matrices' diagonals, in the dtype that `sum` has."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@planned
def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every product of an element of one vector with one of another: a matrix with a row for each of the first."""
    if as_tensor("outer", x1).ndim != 1 or as_tensor("outer", x2).ndim != 1:
        raise ShapeError(f"outer: shapes {x1.shape} and {x2.shape}; it takes two vectors")
    return multiply(expand_dims(x1, axis=1), x2)


@planned
def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements along an axis; the others broadcast."""
    _, dtype = device_and_dtype("cross", as_tensor("cross", x1), as_tensor("cross", x2))
    at1, at2 = normal_axis(axis, x1.ndim, "cross"), normal_axis(axis, x2.ndim, "cross")
    if x1.shape[at1] != 3 or x2.shape[at2] != 3:
        raise ShapeError(f"cross: shapes {x1.shape} and {x2.shape} along axis {axis}; both take 3 elements there")
    a, b = moveaxis(cast(x1, dtype), at1, -1), moveaxis(cast(x2, dtype), at2, -1)
    found = small.cross(a, b)
    return moveaxis(_composed_cross(*broadcast_arrays(a, b)) if found is None else found, -1, axis)


def _composed_cross(a: Tensor, b: Tensor) -> Tensor:
    """Along the last axis of tensors of one shape."""

    def twice(x: Tensor) -> Tensor:
        return reshape(duplicate(broadcast_to(expand_dims(x, axis=-2), (*x.shape[:-1], 2, 3))), (*x.shape[:-1], 6))

    def turned(x: Tensor, by: int) -> Tensor:
        return x.view(x.layout.narrow(x.ndim - 1, by, 3))

    a, b = twice(a), twice(b)
    return subtract(multiply(turned(a, 1), turned(b, 2)), multiply(turned(a, 2), turned(b, 1)))


@planned
def vector_norm(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: int | float = 2) -> Tensor:
    """The norms of vectors along axes, by default of all elements: (Σ|x|^ord)^(1/ord), for ±inf the largest or
    smallest magnitude, for 0 how many elements are other than zero. A real dtype; integers become the default dtype.
    """
    axes = normal_axes(axis, as_tensor("vector_norm", x).ndim, "vector_norm")
    values = x if x.dtype.is_float or x.dtype.is_complex else cast(x, default_dtypes.floating())
    if isinstance(ord, str):
        raise ShapeError(f"vector_norm: ord {ord!r} is for matrices; use a number or matrix_norm")
    ord = real_number("vector_norm", ord, "ord")
    if ord == 2:
        return squares(values, axes, keepdims, root=True)
    if values.dtype.is_float and values.dtype.itemsize < 4:
        return cast(vector_norm(wide(values), axis=axes, keepdims=keepdims, ord=ord), values.dtype)
    sizes = abs(values)
    if ord == inf:
        return largest(sizes, axis=axes, keepdims=keepdims)
    if ord == -inf:
        return min(sizes, axis=axes, keepdims=keepdims)
    if ord == 0:
        return sum(cast(not_equal(sizes, 0), sizes.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return sum(sizes, axis=axes, keepdims=keepdims)
    power = real_float("vector_norm", ord, "ord")
    scale = _scale(sizes, axes, power)
    total = pow(sum(pow(divide(sizes, scale), power), axis=axes, keepdims=True), 1 / power)
    result = multiply(total, scale)
    return result if keepdims else squeeze(result, axes)


def _scale(sizes: Tensor, axes: tuple[int, ...], power: float) -> Tensor:
    """What brings the powers of sizes into range: the size that counts most, or 1 for 0 and infinity."""
    if 0 in (sizes.shape[a] for a in axes):
        return full((1,) * sizes.ndim, 1.0, dtype=sizes.dtype, device=sizes.device)
    counts_most = (max if power > 0 else min)(sizes, axis=axes, keepdims=True)
    return where(logical_and(greater(counts_most, 0), isfinite(counts_most)), counts_most, 1.0)


def largest(sizes: Tensor, *, axis: Axes, keepdims: bool) -> Tensor:
    """The largest size along axes; 0 of none."""
    axes = normal_axes(axis, sizes.ndim, "norm")
    return (max if all(sizes.shape[a] for a in axes) else sum)(sizes, axis=axes, keepdims=keepdims)
