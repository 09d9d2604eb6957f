"""LU, Cholesky and QR factorizations of matrices, and what they solve.

A block factors a panel of 64 columns; products of matrices bring the columns to its right up to date.
"""

from __future__ import annotations

from math import prod
from typing import Literal, NamedTuple

from attrs import frozen

from rocmkern.dtypes import int32, part_of
from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_linalg
from rocmkern.kernels.families.linalg import PANEL
from rocmkern.kernels.plans import LaunchPlan
from rocmkern.layout import Shape, broadcast_shapes, normal_integer
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.composed import conj, triu
from rocmkern.ops.creation import eye, zeros
from rocmkern.ops.elementwise import as_tensor, broadcast, device_and_dtype
from rocmkern.ops.faults import CheckOfMatrices, checked
from rocmkern.ops.launch import context, empty
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import matrix_transpose, reshape
from rocmkern.ops.matrices import factored_floats, matrices, square_matrices
from rocmkern.ops.parts import words
from rocmkern.ops.rows_binary import subtract
from rocmkern.tensor import Tensor

_SINGULAR = ("is singular", "use pinv, or add to its diagonal")
_INDEFINITE = ("is not positive definite", "add to its diagonal, or use eigh")


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives: signs, or complex numbers of magnitude 1, and logarithms of the sizes."""

    sign: Tensor
    logabsdet: Tensor


def _run(plan: LaunchPlan, symbol: str, x: Tensor, *arguments: int) -> None:
    context(x.device).kernel(x.device, f"{symbol}_{x.dtype.short}").run(plan, *arguments)


def _block(a: Tensor, rows: slice, columns: slice) -> Tensor:
    """Rows and columns of each matrix of a stack, a view."""
    return a.view(a.layout.index((slice(None), rows, columns)))


def _stack(x: Tensor) -> Tensor:
    """A copy of its own memory with one axis of batches."""
    return reshape(duplicate(x), (prod(x.shape[:-2]), *x.shape[-2:]))


def _panels(count: int) -> list[tuple[int, int]]:
    return [(at, min(at + PANEL, count)) for at in range(0, count, PANEL)]


def _subtract_product(target: Tensor, a: Tensor, b: Tensor) -> None:
    if target.size:
        subtract(target, matmul(a, b), out=target)


@frozen
class LU:
    """P·A = L·U of a stack of square matrices: both triangles in one, and the row exchanged at each pivot."""

    factors: Tensor
    pivots: Tensor


def _lu(a: Tensor, status: int = 0) -> LU:
    """Factor in place. The first zero pivot is told at `status`."""
    batch, n, _ = a.shape
    pivots = empty((batch, n), int32, a.device)
    here = context(a.device)
    for start, end in _panels(n) if batch else ():
        below = _block(a, slice(start, n), slice(start, end))
        plan = here.plan(plans_linalg.matrices, batch, n - start)
        _run(plan, "lu", a, n - start, end - start, batch, start, n, n * n, n, below.address, pivots.address, status)
        if end - start < n:
            _swap_rows(a, pivots, start, end, gap=(start, end))
        if end < n:
            right = _block(a, slice(start, end), slice(end, n))
            _triangular(_block(a, slice(start, end), slice(start, end)), right, backward=False, unit=True)
            rest, left = slice(end, n), slice(start, end)
            _subtract_product(_block(a, rest, rest), _block(a, rest, left), right)
    return LU(a, pivots)


def _swap_rows(a: Tensor, pivots: Tensor, start: int, end: int, gap: tuple[int, int] = (0, 0)) -> None:
    """Exchange the rows of a contiguous stack as pivots `start` to `end` say, in all columns but those of the gap."""
    bits = words(a)
    each = bits.size // a.size if a.size else 1
    columns = (a.shape[2] - (gap[1] - gap[0])) * each
    here = context(a.device)
    run = here.kernel(a.device, f"swap_rows_u{8 * bits.dtype.itemsize}")
    pivots_step = pivots.shape[1] if pivots.shape[0] > 1 else 0
    run(
        columns * a.shape[0], columns, gap[0] * each, (gap[1] - gap[0]) * each, a.shape[0], start, end - start,
        a.shape[2] * each, a.shape[1] * a.shape[2] * each, pivots_step, pivots.address, bits.address,
    )  # fmt: skip


def _triangular(t: Tensor, x: Tensor, *, backward: bool, unit: bool, conjugated: bool = False) -> None:
    """Solve T·X = B for stacks in X's place; one T serves all of a stack. Reads no other triangle of T."""
    (batch, n, width), steps = x.shape, (t.strides[0] if t.shape[0] > 1 else 0)
    if not x.size:
        return
    here = context(x.device)
    panels = _panels(n)
    for start, end in reversed(panels) if backward else panels:
        own, rest = slice(start, end), slice(0, start) if backward else slice(end, n)
        diagonal, rows = _block(t, own, own), _block(x, own, slice(None))
        plan = here.plan(plans_linalg.columns, batch, end - start, width)
        _run(
            plan, "triangular", x, end - start, width, batch, *t.strides[1:], steps, *x.strides[1:], x.strides[0],
            backward, unit, conjugated, diagonal.address, rows.address,
        )  # fmt: skip
        if len(panels) > 1:
            beside = _block(t, rest, own)
            _subtract_product(_block(x, rest, slice(None)), conj(beside) if conjugated else beside, rows)


def _solve_factored(lu: LU, x: Tensor) -> None:
    """Solve A·X = B for stacks in X's place."""
    if x.size:
        _swap_rows(x, lu.pivots, 0, x.shape[1])
        _triangular(lu.factors, x, backward=False, unit=True)
        _triangular(lu.factors, x, backward=True, unit=False)


def _factored(operation: str, a: Tensor) -> LU:
    """The LU factors of stacked copies. Raises LinAlgError for a singular matrix."""
    work, found = _stack(a), []
    checked(a.device, CheckOfMatrices(operation, a.shape, *_SINGULAR), lambda at: found.append(_lu(work, at)))
    return found[0]


def inv(x: Tensor, /) -> Tensor:
    """The inverses of matrices. Raises LinAlgError (a ValueError) for a singular one."""
    a = square_matrices("inv", x)
    if not a.size:
        return duplicate(a)
    lu = _factored("inv", a)
    n = a.shape[-1]
    result = duplicate(broadcast(eye(n, dtype=a.dtype, device=a.device), lu.factors.shape))
    _solve_factored(lu, result)
    return reshape(result, a.shape)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The X of x1·X = x2: of a vector x2 a vector, else of matrices; the batches of both broadcast.

    Raises LinAlgError (a ValueError) for a singular matrix.
    """
    a, b = square_matrices("solve", x1), factored_floats("solve", as_tensor("solve", x2))
    _, dtype = device_and_dtype("solve", a, b)
    if not b.ndim:
        raise ShapeError("solve: x2 has no dimensions; it takes a vector or matrices")
    vector = b.ndim == 1
    right = b.view(b.layout.expand(1)) if vector else b
    if right.shape[-2] != a.shape[-1]:
        raise ShapeError(
            f"solve: shapes {x1.shape} and {x2.shape}; {a.shape[-1]} equations, {right.shape[-2]} right-hand sides"
        )
    batch = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    shape = (*batch, *right.shape[-2:])
    if not a.size or not right.size:
        return zeros(shape[:-1] if vector else shape, dtype=dtype, device=a.device)
    lu = _factored("solve", cast(a, dtype))
    result = _stack(broadcast(cast(right, dtype), shape))
    if lu.factors.shape[0] not in (1, result.shape[0]):
        lu = LU(*(_repeated(x, a.shape[:-2], batch) for x in (lu.factors, lu.pivots)))
    _solve_factored(lu, result)
    return reshape(result, shape[:-1] if vector else shape)


def _repeated(x: Tensor, batch: Shape, wanted: Shape) -> Tensor:
    """A stack of a batch broadcast to another."""
    rest = x.shape[1:]
    return reshape(duplicate(broadcast(reshape(x, (*batch, *rest)), (*wanted, *rest))), (prod(wanted), *rest))


def _determinant(operation: str, x: Tensor, *, logarithm: bool) -> tuple[Tensor, ...]:
    a = square_matrices(operation, x)
    real = part_of(a.dtype) if a.dtype.is_complex else a.dtype
    lu = _lu(_stack(a))
    (batch, n, _), shape = lu.factors.shape, a.shape[:-2]
    dtypes = (a.dtype, real) if logarithm else (a.dtype,)
    results = tuple(empty(shape, dtype, a.device) for dtype in dtypes)
    addresses = (0, *(r.address for r in results)) if logarithm else (results[0].address, 0, 0)
    if batch:
        plan = context(a.device).plan(plans_linalg.matrices, batch, n)
        _run(plan, "determinant", a, n, batch, lu.factors.address, lu.pivots.address, *addresses)
    return results


def det(x: Tensor, /) -> Tensor:
    """The determinants of matrices; 0 of singular ones."""
    return _determinant("det", x, logarithm=False)[0]


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The determinants' signs and the logarithms of their sizes, which don't overflow; 0 and −inf of singular ones."""
    return SlogdetResult(*_determinant("slogdet", x, logarithm=True))


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower triangular L with x = L·Lᴴ, or its Lᴴ; read are the lower triangles only.

    Raises LinAlgError (a ValueError) for a matrix that is not positive definite.
    """
    a = square_matrices("cholesky", x)
    if not a.size:
        return duplicate(a)
    work = _stack(a)
    check = CheckOfMatrices("cholesky", a.shape, *_INDEFINITE)
    checked(a.device, check, lambda status: _cholesky(work, status))
    result = reshape(work, a.shape)
    if not upper:
        return result
    return conj(matrix_transpose(result)) if a.dtype.is_complex else matrix_transpose(result)


def _cholesky(a: Tensor, status: int) -> None:
    batch, n, _ = a.shape
    here = context(a.device)
    for start, end in _panels(n):
        own, rest = slice(start, end), slice(end, n)
        block = _block(a, own, own)
        plan = here.plan(plans_linalg.matrices, batch, end - start)
        _run(plan, "cholesky", a, end - start, batch, start, n, n * n, block.address, status)
        if end < n:
            below = _block(a, rest, own)
            _triangular(block, matrix_transpose(below), backward=False, unit=False, conjugated=a.dtype.is_complex)
            across = matrix_transpose(below)
            _subtract_product(_block(a, rest, rest), below, conj(across) if a.dtype.is_complex else across)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Q with orthonormal columns and upper triangular R with x = Q·R; "complete" has a square Q.

    The signs are LAPACK's: R's diagonal may be negative.
    """
    a = matrices("qr", x)
    if mode not in ("reduced", "complete"):
        raise ShapeError(f"qr: mode {mode!r}; use 'reduced' or 'complete'")
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    width = count if mode == "reduced" else rows
    work, batch = _stack(a), prod(a.shape[:-2])
    taus = empty((batch, count), a.dtype, a.device)
    here = context(a.device)
    for start, end in _panels(count) if batch else ():
        below = _block(work, slice(start, rows), slice(start, end))
        plan = here.plan(plans_linalg.matrices, batch, rows - start)
        tau = taus.view(taus.layout.narrow(1, start, end - start))
        _run(
            plan, "qr", work, rows - start, end - start, batch, columns, rows * columns, count, below.address,
            tau.address,
        )  # fmt: skip
        _reflect(below, tau, _block(work, slice(start, rows), slice(end, columns)), backward=False)
    unit = eye(rows, width, dtype=a.dtype, device=a.device)
    q = duplicate(broadcast(unit, (batch, rows, width)))
    for start, end in reversed(_panels(count)) if batch else ():
        below = _block(work, slice(start, rows), slice(start, end))
        tau = taus.view(taus.layout.narrow(1, start, end - start))
        _reflect(below, tau, _block(q, slice(start, rows), slice(start, width)), backward=True)
    r = triu(_block(work, slice(0, width), slice(None)))
    return QRResult(reshape(q, (*a.shape[:-2], rows, width)), reshape(r, (*a.shape[:-2], width, columns)))


def _reflect(v: Tensor, tau: Tensor, x: Tensor, *, backward: bool) -> None:
    """Multiply columns by the product of reflections, or by its conjugate transpose, in their place."""
    if not x.size:
        return
    (batch, rows, width), count = x.shape, v.shape[2]
    plan = context(x.device).plan(plans_linalg.columns, batch, rows, width)
    _run(
        plan, "reflect", x, rows, width, count, batch, v.strides[1], v.strides[0], tau.strides[0], x.strides[1],
        x.strides[0], backward, v.address, tau.address, x.address,
    )  # fmt: skip


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The matrices multiplied with themselves n times: the identity for 0, powers of the inverse below."""
    times = normal_integer(n, "matrix_power", "power")
    a = square_matrices("matrix_power", x)
    if times < 0:
        return matrix_power(inv(a), -times)
    if times == 0:
        return duplicate(broadcast(eye(a.shape[-1], dtype=a.dtype, device=a.device), a.shape))
    return duplicate(a) if times == 1 else _power(a, times)


def _power(a: Tensor, n: int) -> Tensor:
    if n == 1:
        return a
    half = _power(a, n // 2)
    even = matmul(half, half)
    return matmul(even, a) if n % 2 else even
