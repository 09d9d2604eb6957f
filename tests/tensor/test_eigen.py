"""Eigenvalues, singular values and what follows from them: the factors multiply back, the vectors are orthonormal."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import linalg
from rocmkern.dtypes import DType, part_of
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels.families.linalg import FACTORED
from rocmkern.linalg import LinAlgError
from tests.matrices import adjoint, exactly, normal
from tests.tensor.arrays import Array, relaid

FEW = settings(max_examples=12, deadline=None)
DTYPES = st.sampled_from(FACTORED)
BATCHES = st.sampled_from([(), (1,), (3,), (0,), (2, 2)])
SIDES = st.integers(0, 20)
SCALES = st.sampled_from([1.0, 1e-30, 1e30])
KINDS = st.sampled_from(["normal", "diagonal", "repeated", "rank 1", "zero", "graded"])


def eps(x: Array) -> float:
    return float(np.finfo(x.dtype).eps)


def norms(x: Array) -> Array:
    """Frobenius norms, of which the squares neither overflow nor vanish, over a batch's matrices."""
    wide = x.astype(np.clongdouble)
    result: Array = np.sqrt((np.abs(wide) ** 2).sum((-2, -1), keepdims=True)).real
    return result


def assert_zero(residual: Array, bound: Array | float) -> None:
    assert np.isfinite(residual).all()
    assert (np.abs(residual) <= bound).all()


def assert_orthonormal(columns: Array) -> None:
    n = columns.shape[-2]
    assert_zero(adjoint(columns) @ columns - np.eye(columns.shape[-1]), 8 * max(n, 1) * eps(columns))


def of_kind(kind: str, dtype: DType, *shape: int) -> Array:
    """Matrices that methods stumble over: with values that are equal, zero, or of all magnitudes."""
    x = normal(dtype, *shape)
    rows, columns = shape[-2:]
    if kind == "diagonal":
        return x * np.eye(rows, columns, dtype=dtype.numpy)
    if kind == "repeated":
        return (np.ones(shape) + 3 * np.eye(rows, columns)).astype(dtype.numpy)
    if kind == "rank 1":
        return normal(dtype, *shape[:-1], 1) @ normal(dtype, *shape[:-2], 1, columns)
    if kind == "graded":
        return x * np.logspace(0, -12, columns).astype(part_of(dtype).numpy)
    return x * 0 if kind == "zero" else x


@FEW
@given(data=st.data(), dtype=DTYPES, batch=BATCHES, n=SIDES, scale=SCALES, kind=KINDS)
def test_eigh(data: st.DataObject, dtype: DType, batch: tuple[int, ...], n: int, scale: float, kind: str) -> None:
    """Real ascending values and orthonormal vectors at every scale; above the diagonal nothing is read."""
    x = of_kind(kind, dtype, *batch, n, n)
    x = ((x + adjoint(x)) * part_of(dtype).numpy.type(scale)).astype(dtype.numpy)
    a, _ = data.draw(relaid(np.tril(x) + np.triu(np.full((n, n), nan, dtype.numpy), 1)))
    found = linalg.eigh(a)
    w, v = found.eigenvalues.numpy(), found.eigenvectors.numpy()
    assert (found.eigenvalues.dtype, found.eigenvectors.dtype) == (part_of(dtype), dtype)
    assert (w.shape, v.shape) == (x.shape[:-1], x.shape)
    assert (np.diff(w) >= 0).all()
    bound = 4 * max(n, 1) * eps(w) * norms(x)
    assert_zero(exactly(x) @ exactly(v) - exactly(v) * exactly(w)[..., None, :], bound)
    assert_orthonormal(v)
    np.testing.assert_array_equal(linalg.eigvalsh(a).numpy(), w)


@FEW
@given(
    data=st.data(),
    dtype=DTYPES,
    batch=BATCHES,
    rows=SIDES,
    columns=SIDES,
    scale=SCALES,
    kind=KINDS,
    full=st.booleans(),
)
def test_svd(
    data: st.DataObject,
    dtype: DType,
    batch: tuple[int, ...],
    rows: int,
    columns: int,
    scale: float,
    kind: str,
    full: bool,
) -> None:
    """Descending values and orthonormal vectors, square factors too, of whatever rank and scale."""
    x = (of_kind(kind, dtype, *batch, rows, columns) * part_of(dtype).numpy.type(scale)).astype(dtype.numpy)
    a, _ = data.draw(relaid(x))
    found = linalg.svd(a, full_matrices=full)
    u, s, vh = (t.numpy() for t in found)
    k = min(rows, columns)
    assert (found.U.dtype, found.S.dtype, found.Vh.dtype) == (dtype, part_of(dtype), dtype)
    assert s.shape == (*batch, k)
    assert (u.shape, vh.shape) == ((*batch, rows, rows if full else k), (*batch, columns if full else k, columns))
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    bound = 4 * max(rows, columns, 1) * eps(s) * norms(x)
    assert_zero((exactly(u[..., :k]) * exactly(s)[..., None, :]) @ exactly(vh[..., :k, :]) - x, bound)
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))
    assert_zero(linalg.svdvals(a).numpy() - s, 4 * max(rows, columns, 1) * eps(s) * norms(x)[..., 0])


@FEW
@given(
    dtype=st.sampled_from([rk.float32, rk.complex64]),
    batch=BATCHES,
    rows=st.integers(1, 20) | st.sampled_from([33, 70, 100]),
    columns=st.integers(1, 20) | st.sampled_from([33, 70]),
    scale=SCALES,
    kind=KINDS,
)
@example(dtype=rk.float32, batch=(), rows=64, columns=64, scale=1.0, kind="normal")
@example(dtype=rk.float32, batch=(), rows=100, columns=10, scale=1.0, kind="normal")
def test_single_precision_is_lost_once(
    dtype: DType, batch: tuple[int, ...], rows: int, columns: int, scale: float, kind: str
) -> None:
    """The factors of float32 and complex64 are as near to the exact ones as NumPy's, which come from double precision:
    off by what rounding a result leaves, whatever the sides.
    """
    x = (of_kind(kind, dtype, *batch, rows, columns) * np.float32(scale)).astype(dtype.numpy)
    exact = np.linalg.svd(x.astype(np.complex128 if dtype.is_complex else np.float64), compute_uv=False)
    bound = 2 * eps(x) * exact[..., :1] + 2.0**-148
    ours = (t.numpy() for t in linalg.svd(rk.asarray(x), full_matrices=False))
    for u, s, vh in (ours, np.linalg.svd(x, full_matrices=False)):
        for columns_of in (u, adjoint(vh)):
            columns_of = exactly(columns_of)
            assert_zero(adjoint(columns_of) @ columns_of - np.eye(columns_of.shape[-1]), 2 * eps(x))
        assert_zero(s - exact, bound)
        assert_zero((exactly(u) * exactly(s)[..., None, :]) @ exactly(vh) - x, bound[..., None])


@FEW
@given(data=st.data(), dtype=DTYPES, batch=BATCHES, n=SIDES, scale=SCALES, kind=KINDS)
@example(data=None, dtype=rk.float64, batch=(), n=20, scale=1.0, kind="jordan")
def test_eig(data: st.DataObject | None, dtype: DType, batch: tuple[int, ...], n: int, scale: float, kind: str) -> None:
    """Complex values, and vectors of length 1 that the matrix multiplies by them."""
    x = np.eye(n) * 2 + np.eye(n, k=1) if kind == "jordan" else of_kind(kind, dtype, *batch, n, n)
    x = (x * part_of(dtype).numpy.type(scale)).astype(dtype.numpy)
    a = data.draw(relaid(x))[0] if data else rk.asarray(x)
    found = linalg.eig(a)
    w, v = found.eigenvalues.numpy(), found.eigenvectors.numpy()
    wanted = {4: rk.complex64, 8: rk.complex128}[part_of(dtype).itemsize]
    assert found.eigenvalues.dtype is found.eigenvectors.dtype is wanted
    bound = 8 * max(n, 1) * eps(w) * norms(x)
    assert_zero(exactly(x) @ exactly(v) - exactly(v) * exactly(w)[..., None, :], bound)
    assert_zero(np.linalg.norm(v, axis=-2) - 1, 4 * max(n, 1) * eps(w))
    assert_zero(exactly(w).sum(-1) - np.trace(exactly(x), axis1=-2, axis2=-1), n * bound[..., 0, 0])
    assert linalg.eigvals(a).shape == w.shape


def test_thousands_of_rotations_keep_vectors_orthonormal() -> None:
    """Rounding adds up like a random walk, √n: cosines rounded to 1 would make it grow with n."""
    n = 96
    x = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
    v = linalg.eigh(rk.asarray(x + x.T)).eigenvectors.numpy().astype(np.float64)
    assert_zero(v.T @ v - np.eye(n), 4 * n**0.5 * eps(x))


def test_more_pairs_than_a_block_takes_at_once() -> None:
    """What 256 threads do in one go ends at 64 columns."""
    x = normal(rk.float32, 70, 66)
    u, s, vh = (t.numpy() for t in linalg.svd(rk.asarray(x)))
    np.testing.assert_allclose(u[:, :66] * s @ vh, x, atol=1e-4)
    assert_orthonormal(u)
    w, v = (t.numpy() for t in linalg.eigh(rk.asarray(x.T @ x)))
    np.testing.assert_allclose(w[::-1], s**2, atol=1e-3)
    assert_orthonormal(v)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("dtype", [rk.float32, rk.complex128])
@pytest.mark.parametrize(("rows", "columns"), [(70, 16), (16, 70)])
def test_svd_of_long_matrices(rows: int, columns: int, dtype: DType, full: bool) -> None:
    """Those that go by R first: of full rank and of rank 1, and the error names the shape that was given."""
    x = np.stack([of_kind(kind, dtype, rows, columns) for kind in ("normal", "rank 1")])
    u, s, vh = (t.numpy() for t in linalg.svd(rk.asarray(x), full_matrices=full))
    assert (u.shape[-1], vh.shape[-2]) == ((rows, columns) if full else (16, 16))
    assert_zero((u[..., :16] * s[:, None, :]) @ vh[..., :16, :] - x, 16 * eps(s) * norms(x))
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))
    x[1, 2, 3] = nan
    with pytest.raises(LinAlgError, match=rf"matrix 1 of shape \(2, {rows}, {columns}\)"):
        linalg.svd(rk.asarray(x), full_matrices=full).S.numpy()


@pytest.mark.parametrize(("dtype", "small"), [(rk.float32, 1e-36), (rk.float64, 1e-200)])
def test_singular_values_of_all_sizes(dtype: DType, small: float) -> None:
    """One whose square is no number any more has its value; its vectors are orthonormal."""
    u, s, vh = (t.numpy() for t in linalg.svd(rk.asarray(np.diag([small, 0, 1]), dtype=dtype)))
    np.testing.assert_allclose(s, np.array([1, small, 0]), rtol=1e-6)
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))


def test_eigenvalues_of_companion_matrices() -> None:
    """Roots that NumPy finds as well; those that are real have no imaginary part."""
    roots = np.array([-3, -1, 0.5, 2, 1 + 2j, 1 - 2j])
    companion = np.eye(6, k=-1)
    companion[0] = -np.poly(roots).real[1:]
    for x in (companion, companion.astype(np.float32)):
        w = linalg.eigvals(rk.asarray(x)).numpy()
        np.testing.assert_allclose(np.sort_complex(w.round(3)), np.sort_complex(roots), atol=2e-3)
        assert np.count_nonzero(w.imag) == 2
    turn = rk.asarray([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # plain QR steps leave it as it is
    w = linalg.eigvals(turn).numpy()
    np.testing.assert_allclose(np.sort_complex(w**3), [1, 1, 1], atol=1e-6)


@FEW
@given(data=st.data(), dtype=DTYPES, batch=BATCHES, rows=SIDES, columns=SIDES, kind=KINDS)
def test_pinv_and_rank(
    data: st.DataObject, dtype: DType, batch: tuple[int, ...], rows: int, columns: int, kind: str
) -> None:
    """Moore and Penrose's conditions; the rank is that of the matrix as it was made."""
    kind = "normal" if kind == "graded" else kind
    x = of_kind(kind, dtype, *batch, rows, columns)
    a, _ = data.draw(relaid(x))
    k = min(rows, columns)
    rank = linalg.matrix_rank(a)
    assert (rank.dtype, rank.shape) == (rk.int64, batch)
    np.testing.assert_array_equal(rank.numpy(), {"rank 1": min(k, 1), "zero": 0}.get(kind, k))
    inverse = linalg.pinv(a)
    assert (inverse.dtype, inverse.shape) == (dtype, (*batch, columns, rows))
    y = inverse.numpy()
    bound = 40 * max(rows, columns, 1) * eps(x) * (norms(x) * norms(y) + 1) ** 2
    assert_zero(x @ y @ x - x, bound * norms(x))
    assert_zero(y @ x @ y - y, bound * norms(y))
    for product in (x @ y, y @ x):
        assert_zero(product - adjoint(product), bound)


def test_tolerances() -> None:
    """Of the largest singular value; one for all matrices, or one each."""
    x = rk.asarray(np.stack([np.diag([1.0, 0.5, 0.1])] * 2))
    assert linalg.matrix_rank(x, rtol=0.2).tolist() == [2, 2]
    assert linalg.matrix_rank(x, rtol=rk.asarray([0.7, 0.05], dtype=rk.float64)).tolist() == [1, 3]
    inverses = linalg.pinv(x, rtol=rk.asarray([0.7, 0.05], dtype=rk.float64)).numpy()
    np.testing.assert_allclose(inverses, [np.diag([1, 0, 0]), np.diag([1, 2, 10])], rtol=1e-12)


@pytest.mark.parametrize("ord", ["nuc", 2, -2])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_by_singular_values(ord: int | str, keepdims: bool) -> None:
    """NumPy's, of integers too; no elements have the norm 0 but no smallest singular value."""
    x = np.arange(24).reshape(2, 3, 4)
    got = linalg.matrix_norm(rk.asarray(x), ord=ord, keepdims=keepdims)  # type: ignore[arg-type]  # they are right
    want = np.linalg.norm(x, ord, (-2, -1), keepdims)  # type: ignore[call-overload]  # one ord at a time there
    assert (got.dtype, got.shape) == (rk.float32, want.shape)
    np.testing.assert_allclose(got.numpy(), want, atol=3e-5)
    if ord == -2:
        with pytest.raises(ValueError):
            linalg.matrix_norm(rk.zeros((0, 3)), ord=ord)
    else:
        assert linalg.matrix_norm(rk.zeros((2, 0, 3)), ord=ord).tolist() == [0, 0]  # type: ignore[arg-type]  # right too


@pytest.mark.parametrize("bad", [nan, inf])
def test_what_is_not_finite(bad: float) -> None:
    """As in NumPy, eigh has NaN where the others refuse; which matrix of a batch it was is told."""
    x = np.stack([np.eye(3), np.eye(3)])
    x[1, 2, 0] = bad
    a = rk.asarray(x)
    values = linalg.eigvalsh(a).numpy()
    assert (values[0] == 1).all() and np.isnan(values[1]).all()
    for name in ("eig", "eigvals", "svd", "svdvals", "pinv", "matrix_rank"):
        with pytest.raises(LinAlgError, match=r"matrix 1 of shape \(2, 3, 3\) has .* not finite; look at isfinite"):
            getattr(linalg, name)(a)
            a.device.synchronize()


@pytest.mark.parametrize("function", [linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals])
def test_square_matrices_only(function: Callable[[rk.Tensor], object]) -> None:
    """Other shapes are a ValueError that names the function."""
    with pytest.raises(ShapeError, match=rf"{function.__name__}: shape \(2, 3\)"):
        function(rk.zeros((2, 3)))


@pytest.mark.parametrize("name", ["eigh", "eigvals", "svd", "svdvals", "pinv", "matrix_rank", "matrix_norm"])
def test_wrong_use(name: str) -> None:
    """Vectors are a ValueError, float16 a TypeError with the remedy; integers become float32."""
    function = getattr(linalg, name)
    options = {"ord": 2} if name == "matrix_norm" else {}
    with pytest.raises(ShapeError, match=f"{name}|svd.*1 dimensions"):
        function(rk.zeros((3,)), **options)
    with pytest.raises(DTypeError, match=r"use astype\(float32\)"):
        function(rk.zeros((3, 3), dtype=rk.float16), **options)
    function(rk.ones((3, 3), dtype=rk.int64), **options)
