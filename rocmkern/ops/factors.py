"""LU, Cholesky and QR factorizations of matrices, and what they solve.

A block of threads factors a panel of some columns; products of matrices bring the columns to its right up to date.
"""

from __future__ import annotations

from math import prod
from typing import Final, Literal, NamedTuple

from attrs import frozen

from rocmkern.dtypes import int32, part_of
from rocmkern.engine.operation import planned
from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_linalg
from rocmkern.kernels.plans import LaunchPlan
from rocmkern.layout import Shape, broadcast_shapes, contiguous, normal_integer
from rocmkern.ops import small
from rocmkern.ops.casting import cast, duplicate, scalar_tensor
from rocmkern.ops.composed import conj, tril, triu
from rocmkern.ops.creation import eye, zeros
from rocmkern.ops.elementwise import as_tensor, broadcast, device_and_dtype, one_of
from rocmkern.ops.faults import CheckOfMatrices, checked
from rocmkern.ops.launch import context, empty
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import matrix_transpose, reshape
from rocmkern.ops.matrices import adjoint, diagonal, factored_floats, matrices, square_matrices
from rocmkern.ops.movement import write
from rocmkern.ops.parts import words
from rocmkern.ops.rows_unary import reciprocal
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

# Columns of a panel: twice as many would leave more of the work to single blocks, half as many more to launches.
_PANEL: Final = 32
_SINGULAR: Final = ("is singular at pivot {pivot}", "use pinv, or add to its diagonal")
_INDEFINITE: Final = ("is not positive definite at pivot {pivot}", "add to its diagonal, or use eigh")


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives: signs, or complex numbers of magnitude 1, and logarithms of the sizes."""

    sign: Tensor
    logabsdet: Tensor


def _run(plan: LaunchPlan, device: Device, *arguments: int) -> None:
    context(device).kernel(device, plan.variant).run(plan, *arguments)


def _block(a: Tensor, rows: slice, columns: slice) -> Tensor:
    """Rows and columns of each matrix of a stack, a view."""
    return a.view(a.layout.index((slice(None), rows, columns)))


def _stack(x: Tensor) -> Tensor:
    """A copy of its own memory with one axis of batches."""
    return reshape(duplicate(x), (prod(x.shape[:-2]), *x.shape[-2:]))


def _panels(count: int) -> list[tuple[int, int]]:
    return [(at, min(at + _PANEL, count)) for at in range(0, count, _PANEL)]


def _subtract_product(target: Tensor, a: Tensor, b: Tensor) -> None:
    """Subtract a·b from a block of rows of a stack, in place."""
    if not target.size:
        return
    product = matmul(a, b)
    batch, rows, columns = target.shape
    each, real = (2, part_of(target.dtype)) if target.dtype.is_complex else (1, target.dtype)
    symbol = f"subtract_block_{real.short}"
    plan = context(target.device).plan(plans_linalg.rows, symbol, batch * rows, columns * each)
    _run(
        plan, target.device, rows, columns * each, batch, target.strides[1] * each, target.strides[0] * each,
        product.address, target.address,
    )  # fmt: skip


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
        plan = here.plan(plans_linalg.matrices, "lu", a.dtype.short, batch, n - start)
        _run(plan, a.device, n - start, end - start, batch, start, n, n * n, n, below.address, pivots.address, status)
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
        plan = here.plan(plans_linalg.columns, "triangular", x.dtype.short, batch, end - start, width)
        _run(
            plan, x.device, end - start, width, batch, *t.strides[1:], steps, *x.strides[1:], x.strides[0],
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


@planned
def inv(x: Tensor, /) -> Tensor:
    """The inverses of matrices. Raises LinAlgError (a ValueError) for a singular one."""
    a = square_matrices("inv", x)
    if not a.size:
        return duplicate(a)
    n = a.shape[-1]
    few = small.solve(a, None, a.shape[:-2], CheckOfMatrices("inv", a.shape, *_SINGULAR))
    if few is not None:
        return few
    lu = _factored("inv", a)
    result = duplicate(broadcast(eye(n, dtype=a.dtype, device=a.device), lu.factors.shape))
    _solve_factored(lu, result)
    return reshape(result, a.shape)


@planned
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
    left, right = cast(a, dtype), cast(right, dtype)
    few = small.solve(left, right, batch, CheckOfMatrices("solve", a.shape, *_SINGULAR))
    if few is not None:
        return few.view(contiguous(shape[:-1])) if vector else few
    lu = _factored("solve", left)
    result = _stack(broadcast(right, shape))
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
    few = small.determinant(a, logarithm=logarithm)
    if few is not None:
        return few
    real = part_of(a.dtype) if a.dtype.is_complex else a.dtype
    lu = _lu(_stack(a))
    (batch, n, _), shape = lu.factors.shape, a.shape[:-2]
    dtypes = (a.dtype, real) if logarithm else (a.dtype,)
    results = tuple(empty(shape, dtype, a.device) for dtype in dtypes)
    addresses = (0, *(r.address for r in results)) if logarithm else (results[0].address, 0, 0)
    if batch:
        plan = context(a.device).plan(plans_linalg.matrices, "determinant", a.dtype.short, batch, n)
        _run(plan, a.device, n, batch, lu.factors.address, lu.pivots.address, *addresses)
    return results


@planned
def det(x: Tensor, /) -> Tensor:
    """The determinants of matrices; 0 of singular ones."""
    return _determinant("det", x, logarithm=False)[0]


@planned
def slogdet(x: Tensor, /) -> SlogdetResult:
    """The determinants' signs and the logarithms of their sizes, which don't overflow; 0 and −inf of singular ones."""
    return SlogdetResult(*_determinant("slogdet", x, logarithm=True))


@planned
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
    return adjoint(result) if upper else result


def _cholesky(a: Tensor, status: int) -> None:
    batch, n, _ = a.shape
    here = context(a.device)
    for start, end in _panels(n):
        own, rest = slice(start, end), slice(end, n)
        block = _block(a, own, own)
        plan = here.plan(plans_linalg.matrices, "cholesky", a.dtype.short, batch, end - start)
        _run(plan, a.device, end - start, batch, start, n, n * n, block.address, status)
        if end < n:
            below = _block(a, rest, own)
            _triangular(block, matrix_transpose(below), backward=False, unit=False, conjugated=a.dtype.is_complex)
            _subtract_product(_block(a, rest, rest), below, adjoint(below))


@planned
def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Q with orthonormal columns and upper triangular R with x = Q·R; "complete" has a square Q.

    The signs are LAPACK's: R's diagonal may be negative.
    """
    a = matrices("qr", x)
    one_of("qr", mode, "mode", ("reduced", "complete"))
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    width = count if mode == "reduced" else rows
    few = small.qr(a, width)
    if few is not None:
        return QRResult(*few)
    work, batch = _stack(a), prod(a.shape[:-2])
    q = duplicate(broadcast(eye(rows, width, dtype=a.dtype, device=a.device), (batch, rows, width)))
    panels = _panels(count) if batch else []
    reflections: list[Reflections | ReflectionsInOne] = []
    for start, end in panels:
        below = slice(start, rows)
        made = _reflections(_block(work, below, slice(start, end)))
        reflections.append(made if len(panels) == 1 else _in_one(made))
        reflections[-1].reflect(_block(work, below, slice(end, columns)), backward=False)
    for (start, _), each in reversed([*zip(panels, reflections, strict=True)]):
        each.reflect(_block(q, slice(start, rows), slice(start, width)), backward=True)
    r = triu(_block(work, slice(0, width), slice(None)))
    return QRResult(reshape(q, (*a.shape[:-2], rows, width)), reshape(r, (*a.shape[:-2], width, columns)))


@frozen
class Reflections:
    """H = I − τ·v·vᴴ for each column v of a panel, of which what lies below the diagonal is kept; its first is 1."""

    v: Tensor
    tau: Tensor

    def reflect(self, x: Tensor, *, backward: bool) -> None:
        """Multiply columns by H₀·H₁·… (backward), or by the conjugate transpose of that, in their place."""
        if not x.size:
            return
        (batch, rows, width), count = x.shape, self.v.shape[2]
        plan = context(x.device).plan(plans_linalg.columns, "reflect", x.dtype.short, batch, rows, width)
        _run(
            plan, x.device, rows, width, count, batch, self.v.strides[1], self.v.strides[0], count, x.strides[1],
            x.strides[0], backward, self.v.address, self.tau.address, x.address,
        )  # fmt: skip


@frozen
class ReflectionsInOne:
    """H₀·H₁·… = I − V·T·Vᴴ with the inverse of the upper triangular T: above its diagonal it is Vᴴ·V."""

    v: Tensor
    adjoint: Tensor
    inverse: Tensor

    def reflect(self, x: Tensor, *, backward: bool) -> None:
        """What `Reflections` does, in products of matrices."""
        if not x.size:
            return
        y = matmul(self.adjoint, x)
        if backward:
            _triangular(self.inverse, y, backward=True, unit=False)
        else:
            lower = matrix_transpose(self.inverse)
            _triangular(lower, y, backward=False, unit=False, conjugated=x.dtype.is_complex)
        _subtract_product(x, self.v, y)


def _reflections(below: Tensor) -> Reflections:
    """Factor a panel in place: R on and above its diagonal, what makes up Q below."""
    batch, rows, width = below.shape
    taus = empty((batch, width), below.dtype, below.device)
    plan = context(below.device).plan(plans_linalg.matrices, "qr", below.dtype.short, batch, rows)
    _run(
        plan, below.device, rows, width, batch, below.strides[1], below.strides[0], width, below.address, taus.address
    )  # fmt: skip
    return Reflections(below, taus)


def _in_one(made: Reflections) -> ReflectionsInOne:
    """The panel's reflections as one product. Where τ is 0 the inverse is infinite, and solving by it gives 0."""
    v = tril(made.v, k=-1)
    ones = broadcast(scalar_tensor(1, v.dtype, v.device), made.tau.shape)
    write(ones, diagonal(v))
    transposed = adjoint(v)
    inverse = matmul(transposed, v)
    write(reciprocal(made.tau), diagonal(inverse))
    return ReflectionsInOne(v, transposed, inverse)


@planned
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
