"""Eigenvalues and singular values of matrices, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Final, Literal, NamedTuple

import numpy as np

from rocmkern.dtypes import complex64, complex128, int64, part_of
from rocmkern.engine.operation import planned
from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_eigen
from rocmkern.kernels.families.eigen import svd_work
from rocmkern.layout import Shape
from rocmkern.ops import small
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.creation import eye
from rocmkern.ops.elementwise import as_tensor, broadcast, check_order
from rocmkern.ops.factors import qr
from rocmkern.ops.faults import CheckOfMatrices, checked
from rocmkern.ops.indexing import where
from rocmkern.ops.launch import context, empty, kernel
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import concat, expand_dims, squeeze
from rocmkern.ops.matrices import adjoint, largest, matrices, square_matrices, vector_norm
from rocmkern.ops.reduction import max, min, sum
from rocmkern.ops.rows_binary import divide, greater, multiply
from rocmkern.tensor import Operand, Tensor

Order = int | float | Literal["fro", "nuc"] | None


class EighResult(NamedTuple):
    """Ascending eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """x = U·diag(S)·Vh, S descending."""

    U: Tensor
    S: Tensor
    Vh: Tensor


_EIGENVALUES: Final = ("has eigenvalues that do not converge, or elements that are not finite", "look at isfinite(x)")
_SINGULAR: Final = ("has singular values that do not converge, or elements that are not finite", "look at isfinite(x)")


# From which sides on the factors of R cost less than those of the whole, with Q square and not.
_LONG: Final = 64
_WIDE: Final = 16


@planned
def eigh(x: Tensor, /) -> EighResult:
    """The real eigenvalues of Hermitian matrices, ascending, and orthonormal eigenvectors as columns.

    The lower triangle alone is read. A matrix that is not finite has NaN for both.
    """
    a = square_matrices("eigh", x)
    vectors = empty(a.shape, a.dtype, a.device)
    return EighResult(_hermitian("eigh", a, vectors), vectors)


@planned
def eigvalsh(x: Tensor, /) -> Tensor:
    """The real eigenvalues of Hermitian matrices, ascending; the lower triangle alone is read.

    A matrix that is not finite has NaN.
    """
    return _hermitian("eigvalsh", square_matrices("eigvalsh", x), None)


def _hermitian(operation: str, a: Tensor, vectors: Tensor | None) -> Tensor:
    n, count, device = a.shape[-1], prod(a.shape[:-2]), a.device
    values, source = empty(a.shape[:-1], part_of(a.dtype), device), packed(a)
    if not a.size:
        return values
    plan = context(device).plan(plans_eigen.hermitian, count, n, a.dtype.itemsize)
    work = empty((plan.scratch,), a.dtype, device)
    run = kernel(device, f"eigh_{a.dtype.short}")
    checked(
        device,
        CheckOfMatrices(operation, a.shape, *_EIGENVALUES),
        lambda status: run.run(
            plan.launch, count, n, source.address, work.address, values.address, _address(vectors), status
        ),
    )
    return values


def _address(x: Tensor | None) -> int:
    return 0 if x is None else x.address


@planned
def eig(x: Tensor, /) -> EigResult:
    """The complex eigenvalues of square matrices in no order, and eigenvectors of length 1 as columns.

    Computed in complex128. Raises LinAlgError (a ValueError) for a matrix that is not finite.
    """
    a = square_matrices("eig", x)
    few = small.eig(a, CheckOfMatrices("eig", a.shape, *_EIGENVALUES), vectors=True)
    if few is not None:
        return EigResult(*few)
    vectors = empty(a.shape, complex128, a.device)
    values = _general("eig", a, vectors)
    return EigResult(values, cast(vectors, values.dtype))


@planned
def eigvals(x: Tensor, /) -> Tensor:
    """The complex eigenvalues of square matrices in no order.

    Computed in complex128. Raises LinAlgError (a ValueError) for a matrix that is not finite.
    """
    a = square_matrices("eigvals", x)
    few = small.eig(a, CheckOfMatrices("eigvals", a.shape, *_EIGENVALUES), vectors=False)
    return _general("eigvals", a, None) if few is None else few[0]


def _general(operation: str, a: Tensor, vectors: Tensor | None) -> Tensor:
    n, count, device = a.shape[-1], prod(a.shape[:-2]), a.device
    values, source = empty(a.shape[:-1], complex128, device), packed(cast(a, complex128))
    if a.size:
        plan = context(device).plan(plans_eigen.general, count, n, complex128.itemsize)
        work = empty((plan.scratch,), complex128, device)
        run = kernel(device, "eig_c128")
        real = not a.dtype.is_complex
        checked(
            device,
            CheckOfMatrices(operation, a.shape, *_EIGENVALUES),
            lambda status: run.run(
                plan.launch, count, n, real, source.address, work.address, values.address, _address(vectors), status
            ),
        )
    return cast(values, complex64 if part_of(a.dtype).itemsize == 4 else complex128)


@planned
def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Matrices as U·diag(S)·Vh with orthonormal columns in U and rows in Vh, and real S descending.

    U and Vh are square, or without `full_matrices` as narrow as S is long. Raises LinAlgError (a ValueError) for a
    matrix that is not finite.
    """
    a = matrices("svd", x)
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    short, long = sorted((rows, columns))
    left, right = (rows, columns) if full_matrices else (short, short)
    if not a.size:
        unit = (eye(n, k, dtype=a.dtype, device=a.device) for n, k in ((rows, left), (right, columns)))
        u, vh = (packed(broadcast(e, (*batch, *e.shape))) for e in unit)
        return SVDResult(u, empty((*batch, short), part_of(a.dtype), a.device), vh)
    if long >= 2 * short and long >= _LONG and (full_matrices or short >= _WIDE):
        if rows > columns:
            return _triangular_first(a, full_matrices, a.shape)
        turned = _triangular_first(adjoint(a), full_matrices, a.shape)
        return SVDResult(adjoint(turned.Vh), turned.S, adjoint(turned.U))
    kept = long if full_matrices else short
    few = small.svd(a, kept, check_of_values("svd", a.shape))
    if few is not None:
        return SVDResult(*few)
    u, vh = (empty((*batch, *shape), a.dtype, a.device) for shape in ((rows, left), (right, columns)))
    return SVDResult(u, _singular("svd", a, u, vh, kept), vh)


def check_of_values(operation: str, shape: Shape) -> CheckOfMatrices:
    """That singular values converge."""
    return CheckOfMatrices(operation, shape, *_SINGULAR)


def _triangular_first(a: Tensor, full_matrices: bool, given: Shape) -> SVDResult:
    """The factors of matrices with more rows than columns by those of their R, in double precision; errors name the
    shape that was given.
    """
    n, wide = a.shape[-1], svd_work(a.dtype)
    q, r = qr(cast(a, wide), mode="complete" if full_matrices else "reduced")
    square = r.view(r.layout.narrow(r.ndim - 2, 0, n))
    u, vh = empty(square.shape, wide, a.device), empty(square.shape, wide, a.device)
    s = _singular("svd", square, u, vh, n, given)
    first, rest = (q.view(q.layout.narrow(q.ndim - 1, at, count)) for at, count in ((0, n), (n, q.shape[-1] - n)))
    left = concat([matmul(first, u), rest], axis=-1)
    return SVDResult(cast(left, a.dtype), cast(s, part_of(a.dtype)), cast(vh, a.dtype))


@planned
def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of matrices, descending.

    Raises LinAlgError (a ValueError) for a matrix that is not finite.
    """
    return _values("svdvals", matrices("svdvals", x))


def _values(operation: str, a: Tensor) -> Tensor:
    few = small.svdvals(a, check_of_values(operation, a.shape))
    return _singular(operation, a, None, None, 0) if few is None else few


def _singular(
    operation: str, a: Tensor, u: Tensor | None, vh: Tensor | None, kept: int, given: Shape | None = None
) -> Tensor:
    (rows, columns), count, device = a.shape[-2:], prod(a.shape[:-2]), a.device
    short = rows if rows < columns else columns
    values, source = empty((*a.shape[:-2], short), part_of(a.dtype), device), packed(a)
    if not a.size:
        return values
    wide = svd_work(a.dtype)
    plan = context(device).plan(plans_eigen.singular, count, rows, columns, kept, wide.itemsize)
    work = empty((plan.scratch,), wide, device)
    run = kernel(device, f"svd_{a.dtype.short}")
    checked(
        device,
        check_of_values(operation, given or a.shape),
        lambda status: run.run(
            plan.launch, count, rows, columns, kept, source.address, work.address, values.address, _address(u),
            _address(vh), status,
        ),
    )  # fmt: skip
    return values


@planned
def pinv(x: Tensor, /, *, rtol: Operand | None = None) -> Tensor:
    """The pseudo-inverses of matrices, in which singular values up to `rtol` times the largest count as zero.

    By default that is the dtype's epsilon times the longer side.
    """
    a = matrices("pinv", x)
    cut = cut_of(a, rtol)
    few = small.pinv(a, cut, check_of_values("pinv", a.shape)) if isinstance(cut, float) else None
    if few is not None:
        return few
    u, s, vh = svd(a, full_matrices=False)
    inverses = where(above(s, cut), divide(1, s), 0)
    return matmul(multiply(adjoint(vh), cast(expand_dims(inverses, axis=-2), vh.dtype)), adjoint(u))


@planned
def matrix_rank(x: Tensor, /, *, rtol: Operand | None = None) -> Tensor:
    """How many singular values of each matrix lie above `rtol` times the largest, as int64.

    By default that is the dtype's epsilon times the longer side.
    """
    a = matrices("matrix_rank", x)
    cut = cut_of(a, rtol)
    few = small.matrix_rank(a, cut, check_of_values("matrix_rank", a.shape)) if isinstance(cut, float) else None
    if few is not None:
        return few
    return sum(above(_singular("matrix_rank", a, None, None, 0), cut), axis=-1, dtype=int64)


def cut_of(a: Tensor, rtol: Operand | None) -> Operand:
    """Up to how much of the largest singular value another counts as zero."""
    if rtol is None:
        rows, columns = a.shape[-2:]
        return float(np.finfo(a.dtype.numpy).eps) * (rows if rows > columns else columns)
    return float(rtol) if isinstance(rtol, (int, float)) else rtol


def above(s: Tensor, cut: Operand) -> Tensor:
    """Which singular values count."""
    if not s.shape[-1]:
        return greater(s, 0)
    each = expand_dims(cut, axis=-1) if isinstance(cut, Tensor) else cut
    return greater(s, multiply(max(s, axis=-1, keepdims=True), each))


# Along which axis of a matrix magnitudes are added, and which sum is the norm.
_BY_SUMS: Final[dict[object, tuple[int, Callable[..., Tensor]]]] = {
    1: (-2, largest),
    -1: (-2, min),
    inf: (-1, largest),
    -inf: (-1, min),
}
# Which singular value is the norm, or that their sum is.
_BY_VALUES: Final[dict[object, Callable[..., Tensor]]] = {2: largest, -2: min, "nuc": sum}


@planned
def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Order = "fro") -> Tensor:
    """The norms of matrices: "fro" of all elements, ±1 of the columns' sums of magnitudes the largest or smallest, ±inf
    of the rows', ±2 of the singular values, "nuc" their sum.
    """
    if as_tensor("matrix_norm", x).ndim < 2:
        raise ShapeError(f"matrix_norm: {x.ndim} dimensions; it takes matrices, two dimensions or more")
    check_order("matrix_norm", ord)
    if ord is None or ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in _BY_VALUES:
        values = _values("matrix_norm", matrices("matrix_norm", x))
        result = _BY_VALUES[ord](expand_dims(values, axis=-1), axis=(-2, -1), keepdims=True)
    elif ord in _BY_SUMS:
        axis, chosen = _BY_SUMS[ord]
        result = chosen(vector_norm(x, axis=axis, keepdims=True, ord=1), axis=-3 - axis, keepdims=True)
    else:
        raise ShapeError(f"matrix_norm: ord {ord!r}; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    return result if keepdims else squeeze(result, axis=(-2, -1))
