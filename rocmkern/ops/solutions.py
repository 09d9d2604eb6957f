"""What NumPy's linear algebra has beyond the standard: norms by one name, condition numbers, least squares."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from rocmkern.engine.operation import planned
from rocmkern.errors import ArgumentRangeError, ShapeError
from rocmkern.layout import Axes, normal_axes
from rocmkern.ops import small
from rocmkern.ops.casting import cast
from rocmkern.ops.eigen import Order, above, check_of_values, cut_of, matrix_norm, svd, svdvals
from rocmkern.ops.elementwise import as_tensor, check_order, same_device
from rocmkern.ops.factors import inv
from rocmkern.ops.indexing import where
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import expand_dims, moveaxis, squeeze
from rocmkern.ops.matrices import adjoint, matrices, vector_norm
from rocmkern.ops.reduction import sum
from rocmkern.ops.rows_unary import abs, isnan, square
from rocmkern.promotion import promote
from rocmkern.tensor import Operand, Tensor


class LstsqResult(NamedTuple):
    """The solution, the sums of squares that it leaves over, the rank and the singular values of the matrix."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    S: Tensor


@planned
def norm(x: Tensor, /, ord: Order = None, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """`vector_norm` along one axis, `matrix_norm` over two; by default the root of the sum of all squares, or of
    vectors and matrices the norm that `ord` names.
    """
    ndim = as_tensor("norm", x).ndim
    axes = normal_axes(axis, ndim, "norm")
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    if len(axes) == 1 and not isinstance(ord, str):
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm: ord {ord!r} along {len(axes)} axes; name one for vectors or two for matrices")
    found = matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord, keepdims=keepdims)
    return moveaxis(found, (-2, -1), axes) if keepdims else found


@planned
def cond(x: Tensor, /, ord: Order = None) -> Tensor:
    """The condition numbers of matrices: the largest singular value over the smallest, for an `ord` other than 2 and -2
    the product of the norms of the matrix and its inverse, for which it is square.
    """
    check_order("cond", ord)
    if ord not in (None, 2, -2):
        return matrix_norm(x, ord=ord) * matrix_norm(inv(x), ord=ord)
    values = matrices("cond", x)
    if 0 in values.shape[-2:]:
        raise ShapeError(f"cond: a matrix of shape {x.shape[-2:]}; it takes matrices that hold something")
    few = small.cond(values, check_of_values("cond", values.shape), inverted=ord == -2)
    if few is not None:
        return few
    s = svdvals(values)
    found = s[..., -1] / s[..., 0] if ord == -2 else s[..., 0] / s[..., -1]
    return where(isnan(found), inf, found)


@planned
def lstsq(a: Tensor, b: Tensor, /, rcond: Operand | None = None, *, rtol: Operand | None = None) -> LstsqResult:
    """The x of the smallest norm among those that make the norm of a·x - b smallest, then the squares of these norms,
    the rank of `a` and its singular values, which count as in `pinv`: where they exceed `rtol`, or by NumPy's
    name `rcond`, of the largest. A vector b is one right-hand side.
    """
    if rcond is not None:
        if rtol is not None:
            raise ArgumentRangeError(f"lstsq: rcond={rcond} and rtol={rtol}; give one of them")
        rtol = rcond
    right = expand_dims(b, axis=-1) if as_tensor("lstsq", b).ndim == 1 else b
    if as_tensor("lstsq", a).ndim < 2 or right.ndim < 2 or a.shape[-2] != right.shape[-2]:
        raise ShapeError(f"lstsq: shapes {a.shape} and {b.shape}; give as many right-hand sides' rows as equations")
    same_device("lstsq", a.device, b)
    values = matrices("lstsq", a)
    dtype = promote(values.dtype, b.dtype)
    values, right = cast(values, dtype), cast(right, dtype)
    cut = cut_of(values, rtol)
    few = None
    if isinstance(cut, float):
        few = small.lstsq(values, right, cut, check_of_values("lstsq", values.shape))
    x, left, rank, s = _by_factors(values, right, cut) if few is None else few
    if b.ndim == 1:
        x, left = squeeze(x, axis=-1), squeeze(left, axis=-1)
    return LstsqResult(x, left, rank, s)


def _by_factors(values: Tensor, right: Tensor, cut: Operand) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    u, s, vh = svd(values, full_matrices=False)
    counts = above(s, cut)
    inverses = cast(expand_dims(where(counts, 1 / s, 0), axis=-1), vh.dtype)
    x = matmul(adjoint(vh), matmul(adjoint(u), right) * inverses)
    left = sum(square(abs(matmul(values, x) - right)), axis=-2)
    return x, left, sum(counts, axis=-1), s
