"""Linear algebra of few elements on every target: one launch does what several do of larger matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import linalg
from rocmkern.dtypes import DType
from rocmkern.kernels.families.linalg import FACTORED
from rocmkern.runtime import Device
from tests.matrices import Array, adjoint, exactly, normal

EACH = pytest.mark.parametrize("dtype", FACTORED, ids=lambda t: t.short)


def graded(dtype: DType, *shape: int) -> Array:
    """Rows of very different sizes."""
    x = normal(dtype, *shape)
    x *= (10.0 ** (4 * np.arange(shape[-2]) - 8))[:, None].astype(x.real.dtype)
    return x


def assert_small(residual: Array, scale: object, dtype: DType, n: int) -> None:
    assert (np.abs(residual) <= 8 * n * float(np.finfo(dtype.numpy).eps) * np.asarray(scale)).all()


def launched(trace: rk.Trace) -> int:
    return sum(row.launches for row in trace.totals())


@EACH
def test_systems_of_a_batch(device: Device, dtype: DType) -> None:
    """Row by row, the residual is small beside the row: of strided matrices, several a wave, in one launch."""
    x, y = graded(dtype, 5, 2, 3, 3), normal(dtype, 2, 3, 4)
    a = rk.asarray(np.swapaxes(x, -1, -2).copy(), device=device)
    b = rk.asarray(y, device=device)
    with rk.Trace() as trace:
        z, inverse = linalg.solve(rk.matrix_transpose(a), b), linalg.inv(rk.matrix_transpose(a))
    assert launched(trace) == 2
    for solution, right in ((z.numpy(), y), (inverse.numpy(), np.eye(3, dtype=x.dtype))):
        scale = np.abs(x) @ np.abs(solution) + np.abs(right)
        assert_small(exactly(x) @ exactly(solution) - right, scale, dtype, 3)


@EACH
def test_batches_of_many(device: Device, dtype: DType) -> None:
    """However many matrices there are, one launch does them, and each is done as it is among few."""
    x, y = normal(dtype, 600, 3, 3), normal(dtype, 600, 3, 2)
    a, b = rk.asarray(x, device=device), rk.asarray(y, device=device)
    of_values: dict[str, Callable[[slice], Any]] = {
        "svd": lambda at: linalg.svd(a[at]),
        "svdvals": lambda at: linalg.svdvals(a[at]),
        "pinv": lambda at: linalg.pinv(a[at]),
        "matrix_rank": lambda at: linalg.matrix_rank(a[at]),
        "cond": lambda at: linalg.cond(a[at]),
        "lstsq": lambda at: linalg.lstsq(a[at], b[at]),
        "eig": lambda at: linalg.eig(a[at]),
        "eigvals": lambda at: linalg.eigvals(a[at]),
    }
    of_factors: dict[str, Callable[[slice], Any]] = {
        "inv": lambda at: linalg.inv(a[at]),
        "solve": lambda at: linalg.solve(a[at], b[at]),
        "det": lambda at: linalg.det(a[at]),
        "qr": lambda at: linalg.qr(a[at]),
    }
    for name, operation in (of_values | of_factors).items():
        with rk.Trace() as trace:
            many = operation(slice(None))
        if name in of_values or not device.info.unified:
            assert launched(trace) == 1, name
        few = operation(slice(500, 510))
        for long, short in zip(*(r if isinstance(r, tuple) else (r,) for r in (many, few)), strict=True):
            exact = {"rtol": 1e-4, "atol": 1e-4} if name in of_factors else {"rtol": 0, "atol": 0}
            np.testing.assert_allclose(long.numpy()[500:510], short.numpy(), **exact, err_msg=name)


@EACH
def test_determinants(device: Device, dtype: DType) -> None:
    """Where the product overflows too; 0 of a singular matrix, whose first pivot of 0 `inv` tells."""
    x = normal(dtype, 3, 5, 5)
    x[2, :, 1] = 0
    a, wide = rk.asarray(x, device=device), x.astype(np.complex128 if dtype.is_complex else np.float64)
    sign, log_size = (part.numpy() for part in linalg.slogdet(a))
    want = np.linalg.det(wide)
    bound = 100 * float(np.finfo(dtype.numpy).eps)
    np.testing.assert_allclose(linalg.det(a).numpy(), want, rtol=bound)
    np.testing.assert_allclose(sign * np.exp(log_size), want, rtol=bound)
    assert log_size[2] == -np.inf
    large = linalg.slogdet(a[:2] * float(np.finfo(dtype.numpy).max) ** 0.5)
    assert np.isfinite(large.logabsdet.numpy()).all()
    with pytest.raises(linalg.LinAlgError, match=r"inv: matrix 2 of shape .* is singular at pivot 1"):
        linalg.inv(a).numpy()


@EACH
@pytest.mark.parametrize("shape", [(3, 7, 4), (2, 4, 7), (16, 16), (1, 1)])
def test_qr(device: Device, dtype: DType, shape: tuple[int, ...]) -> None:
    """Q is orthonormal, R upper triangular, their product the matrix, of either mode; signs are LAPACK's."""
    x = normal(dtype, *shape)
    for mode in ("reduced", "complete"):
        with rk.Trace() as trace:
            q, r = linalg.qr(rk.asarray(x, device=device), mode=mode)  # type: ignore[arg-type]  # one of the two
        assert launched(trace) == 1
        theirs = np.linalg.qr(x, mode=mode)  # type: ignore[call-overload]  # one of the two
        assert (q.shape, r.shape) == (theirs.Q.shape, theirs.R.shape)
        ours, upper = exactly(q.numpy()), exactly(r.numpy())
        assert_small(adjoint(ours) @ ours - np.eye(ours.shape[-1]), 1, dtype, shape[-2])
        assert_small(ours @ upper - x, np.linalg.norm(x, axis=-2, keepdims=True), dtype, shape[-2])
        assert (np.tril(upper, -1) == 0).all()
        mine, lapacks = (np.sign(np.diagonal(v.real, axis1=-2, axis2=-1)) for v in (upper, theirs.R))
        np.testing.assert_array_equal(mine, lapacks)


@EACH
def test_cross(device: Device, dtype: DType) -> None:
    """Each product and difference rounded once, of vectors that broadcast."""
    x, y = normal(dtype, 70, 3), normal(dtype, 2, 1, 3)
    wide = np.clongdouble if dtype.is_complex else x.dtype
    got = linalg.cross(rk.asarray(x, device=device), rk.asarray(y, device=device)).numpy()
    want = np.cross(x.astype(wide), y.astype(wide))
    if dtype.is_complex:
        assert_small(got - want, np.linalg.norm(x, axis=-1)[:, None] * np.linalg.norm(y), dtype, 1)
    else:
        np.testing.assert_array_equal(got, want)


@EACH
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (16, 16)])
def test_singular_values(device: Device, dtype: DType, shape: tuple[int, int]) -> None:
    """Of full rank, of rank 1 and of 0, side by side in one wave: values, vectors that are orthonormal whatever the
    rank, rank and pseudo-inverse, a launch each.
    """
    rows, columns = shape
    thin = normal(dtype, rows, 1) @ normal(dtype, 1, columns)
    x = np.stack([normal(dtype, *shape), thin, np.zeros_like(thin)])
    a, wide = rk.asarray(x, device=device), exactly(x).astype(np.complex128 if dtype.is_complex else np.float64)
    with rk.Trace() as trace:
        (u, s, vh), values = linalg.svd(a), linalg.svdvals(a)
        rank, inverse = linalg.matrix_rank(a), linalg.pinv(a)
    assert launched(trace) == 4
    largest = np.linalg.norm(x, axis=(-2, -1))[:, None, None]
    want = np.linalg.svd(wide, compute_uv=False)
    assert_small(s.numpy() - want, largest[..., 0], dtype, max(shape))
    np.testing.assert_array_equal(s.numpy(), values.numpy())
    left, right = exactly(u.numpy()), adjoint(exactly(vh.numpy()))
    for vectors in (left, right):
        assert_small(adjoint(vectors) @ vectors - np.eye(vectors.shape[-1]), 1, dtype, max(shape))
    product = (left[..., : min(shape)] * exactly(s.numpy())[:, None]) @ adjoint(right)[:, : min(shape)]
    assert_small(product - x, largest, dtype, max(shape))
    assert rank.tolist() == [min(shape), 1, 0]
    found = exactly(inverse.numpy())
    assert (found[2] == 0).all()
    bound = 8 * max(shape) * float(np.finfo(dtype.numpy).eps) * want[:2, 0] / np.array([want[0, -1], want[1, 0]])
    error = np.abs(found[:2] @ exactly(x[:2]) @ found[:2] - found[:2]).max((-2, -1))
    assert (error <= bound * np.abs(found[:2]).max((-2, -1))).all()
    symmetric = exactly(x[:2]) @ found[:2]
    assert (np.abs(symmetric - adjoint(symmetric)).max((-2, -1)) <= bound).all()


@EACH
@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_eigenvalues(device: Device, dtype: DType, n: int) -> None:
    """Values and vectors of length 1 of strided matrices, one of which has fewer vectors than columns."""
    x = np.stack([normal(dtype, n, n), (2 * np.eye(n) + np.eye(n, k=1)).astype(dtype.numpy)])
    a = rk.matrix_transpose(rk.asarray(np.swapaxes(x, -1, -2).copy(), device=device))
    with rk.Trace() as trace:
        values, vectors = (t.numpy() for t in linalg.eig(a))
        alone = linalg.eigvals(a).numpy()
    assert launched(trace) == 2
    assert values.dtype == vectors.dtype == alone.dtype == np.result_type(x.dtype, np.complex64)
    largest = np.linalg.norm(x, axis=(-2, -1))[:, None, None]
    assert_small(exactly(x) @ vectors - vectors * values[:, None], largest, dtype, n)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    want = np.linalg.eigvals(x[0].astype(np.complex128))
    for found in (values[0], alone[0]):
        nearest = np.abs(found[:, None] - want).min(0)
        assert_small(nearest, 100 * largest[0, 0], dtype, n)
    np.testing.assert_array_equal(alone[1], np.full(n, 2))


def test_what_is_not_finite_is_told(device: Device) -> None:
    """The third of three matrices that share a wave; the others have their values."""
    x = np.stack([np.eye(3, dtype=np.float32)] * 3)
    x[2, 1, 1] = np.inf
    for function in (linalg.pinv, linalg.eigvals):
        with pytest.raises(linalg.LinAlgError, match=f"{function.__name__}: matrix 2 of shape"):
            function(rk.asarray(x, device=device)).numpy()
    values = linalg.svdvals(rk.asarray(x[:2], device=device))
    np.testing.assert_array_equal(values.numpy(), np.ones((2, 3)))
