"""The eigen family: vectors are orthonormal and multiply back to the matrix, and nothing around the results changes."""

from __future__ import annotations

import numpy as np
import pytest

from rocmkern.dtypes import DType, part_of
from rocmkern.kernels import plans_eigen
from rocmkern.kernels.families.eigen import svd_work
from rocmkern.kernels.families.linalg import FACTORED
from rocmkern.kernels.plans_eigen import MatricesPlan
from rocmkern.runtime import Device
from tests.kernels.launching import Array, run
from tests.matrices import adjoint, normal

EVERY = pytest.mark.parametrize("t", FACTORED, ids=lambda t: t.short)
CLEAN = (1 << 64) - 1


def assert_zero(residual: Array, n: int) -> None:
    bound = 8 * n * float(np.finfo(residual.dtype).eps)
    np.testing.assert_allclose(residual, 0, rtol=0, atol=bound)


def launch(
    device: Device, symbol: str, plan: MatricesPlan, scratch: DType, sizes: tuple[int, ...], x: Array, *results: Array
) -> int:
    """Runs as planned but by two workgroups, fewer than there are matrices; what the status says."""
    status, work = np.full(1, CLEAN, np.uint64), np.zeros(plan.scratch // plan.launch.grid[0] * 2, scratch.numpy)
    run(device, symbol, *sizes, x, work, *results, status, grid=2, block=plan.launch.block)
    return int(status[0])


@EVERY
def test_hermitian(device: Device, t: DType) -> None:
    """Three matrices by two workgroups, of odd size; what is above the diagonal is not read."""
    count, n = 3, 7
    a = normal(t, count, n, n)
    a = a + adjoint(a)
    values, vectors = np.zeros((count, n), part_of(t).numpy), np.zeros_like(a)
    plan = plans_eigen.hermitian(count, n, t.itemsize, device.info)
    lower = np.tril(a) + np.triu(np.full((n, n), np.nan, t.numpy), 1)
    assert launch(device, f"eigh_{t.short}", plan, t, (count, n), lower, values, vectors) == CLEAN
    size = np.linalg.norm(a, 2, (-2, -1)).max()
    assert (np.diff(values) >= 0).all()
    assert_zero((a @ vectors - vectors * values[:, None, :]) / size, n)
    assert_zero(adjoint(vectors) @ vectors - np.eye(n, dtype=t.numpy), n)


@EVERY
@pytest.mark.parametrize(("rows", "columns"), [(7, 4), (4, 7)])
def test_singular(device: Device, t: DType, rows: int, columns: int) -> None:
    """Both orientations with square factors; one matrix has rank 2, and one is not finite, which the status says."""
    count, short, long = 4, 4, 7
    a = normal(t, count, rows, columns)
    a[1] = a[1, :, :1] @ a[1, :1] + a[1, :, 1:2] @ a[1, 1:2]
    a[1, :, 2] = 0
    a[2, 1, 3] = np.nan
    values = np.zeros((count, short), part_of(t).numpy)
    left, right = np.zeros((count, rows, rows), t.numpy), np.zeros((count, columns, columns), t.numpy)
    scratch = svd_work(t)
    plan = plans_eigen.singular(count, rows, columns, long, scratch.itemsize, device.info)
    status = launch(device, f"svd_{t.short}", plan, scratch, (count, rows, columns, long), a, values, left, right)
    assert status == 2 << 32
    assert all(np.isnan(x[2]).all() for x in (values, left, right))
    a, values, left, right = (np.delete(x, 2, axis=0) for x in (a, values, left, right))
    size = np.linalg.norm(a, 2, (-2, -1)).max()
    assert (np.diff(values) <= 0).all() and (values >= 0).all()
    assert_zero((left[..., :short] * values[:, None, :] @ right[:, :short] - a) / size, long)
    assert_zero(adjoint(left) @ left - np.eye(rows, dtype=t.numpy), long)
    assert_zero(adjoint(right) @ right - np.eye(columns, dtype=t.numpy), long)


def test_general(device: Device) -> None:
    """Random, nilpotent and not finite; a nilpotent matrix has one vector only."""
    t, count, n = FACTORED[-1], 3, 6
    a = normal(t, count, n, n)
    a[1] = np.diag(np.ones(n - 1), 1)
    a[2, 0, 0] = np.inf
    values, vectors = np.zeros((count, n), t.numpy), np.zeros_like(a)
    plan = plans_eigen.general(count, n, t.itemsize, device.info)
    assert launch(device, "eig_c128", plan, t, (count, n, False), a, values, vectors) == 2 << 32
    assert np.isnan(values[2]).all() and np.isnan(vectors[2]).all()
    assert_zero((a[:2] @ vectors[:2] - vectors[:2] * values[:2, None, :]) / 6, n)
    assert_zero(np.linalg.norm(vectors[:2], axis=-2) - 1, n)
    assert (values[1] == 0).all()
