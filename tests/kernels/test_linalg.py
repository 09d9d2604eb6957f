"""The linalg family: what is factored multiplies back to the matrix, padding around it stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.families.linalg import FACTORED, TEAMS
from rocmkern.runtime import Device
from tests.kernels.launching import Array, run
from tests.matrices import adjoint, normal

EVERY = pytest.mark.parametrize("t", FACTORED, ids=lambda t: t.short)
BY_TEAM = pytest.mark.parametrize("team", TEAMS)
CLEAN = (1 << 64) - 1


def assert_near(got: Array, wanted: Array, t: DType) -> None:
    bound = 60 * float(np.finfo(t.numpy).eps) * float(np.abs(wanted).max(initial=1))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=bound)


@BY_TEAM
@EVERY
def test_lu_multiplies_back(device: Device, t: DType, team: str) -> None:
    """P·A = L·U of two panels inside wider matrices; the pivots are those of the largest sizes, told from row 4 on."""
    rows, columns, first = 11, 7, 4
    whole, before = normal(t, 2, rows, 9), normal(t, 2, rows, 9)
    before[1, :, 3] = 0
    whole[...] = before
    pivots, status = np.full((2, 20), -1, np.int32), np.full(4, CLEAN, np.uint64)
    sizes = (rows, columns, 2, first, 9, rows * 9, 20)
    run(device, f"lu{team}_{t.short}", *sizes, whole, pivots, status, grid=2, block=64)
    np.testing.assert_array_equal(whole[..., columns:], before[..., columns:])
    assert status[0] == 1 << 32 | first + 3, "the third column of the second matrix is zero"
    assert (pivots[:, :first] == -1).all() and (pivots[:, first + columns :] == -1).all()
    for got, a, rows_of in zip(
        whole[..., :columns], before[..., :columns], pivots[:, first : first + columns] - first, strict=True
    ):
        lower = np.tril(got, -1) + np.eye(rows, columns, dtype=t.numpy)
        sizes = np.abs(lower.real) + np.abs(lower.imag)
        assert sizes.max() <= (np.sqrt(2) if t.is_complex else 1) + 1e-5
        permuted = a.copy()
        for k, p in enumerate(rows_of):
            permuted[[k, p]] = permuted[[p, k]]
        assert_near(lower @ np.triu(got[:columns]), permuted, t)


@BY_TEAM
@EVERY
def test_cholesky_multiplies_back(device: Device, t: DType, team: str) -> None:
    """A = L·Lᴴ from the lower triangle, zeros above up to the matrix's first row; a negative pivot is told."""
    n, first = 6, 2
    half = normal(t, 2, n, n)
    positive = half @ adjoint(half) + np.eye(n, dtype=t.numpy)
    positive[1] *= -1
    whole = np.full((2, first + n, first + n), 7, t.numpy)
    whole[:, first:, first:] = np.tril(positive) + np.triu(np.full((n, n), np.nan), 1)
    status = np.full(4, CLEAN, np.uint64)
    base = whole[:, first:, first:]
    run(device, f"cholesky{team}_{t.short}", n, 2, first, first + n, (first + n) ** 2, base, status, grid=2, block=64)
    assert status[0] == 1 << 32 | first
    lower = whole[0, first:, first:]
    assert (np.triu(lower, 1) == 0).all() and (whole[0, :first, first:] == 0).all() and (whole[0, :, :first] == 7).all()
    assert_near(lower @ adjoint(lower), positive[0], t)


@pytest.mark.parametrize("bits", [np.uint32, np.uint64])
def test_swap_rows_follows_the_pivots(device: Device, bits: type[Any]) -> None:
    """Row by row, in all columns but those of the gap."""
    a = np.arange(2 * 5 * 6).astype(bits).reshape(2, 5, 6)
    pivots = np.array([[0, 3, 2, 4], [0, 1, 4, 3]], np.int32)
    expected = a.copy()
    for matrix, rows in zip(expected, pivots, strict=True):
        for k in (1, 2, 3):
            for columns in (slice(0, 2), slice(4, 6)):
                matrix[[k, rows[k]], columns] = matrix[[rows[k], k], columns]
    symbol = f"swap_rows_u{8 * a.itemsize}"
    run(device, symbol, 4, 2, 2, 2, 1, 3, 6, 30, 4, pivots, a, grid=1, block=64)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("t", [dtypes.float32, dtypes.float64], ids=lambda t: t.short)
def test_subtract_block(device: Device, t: DType) -> None:
    """A contiguous block from one inside wider matrices, whose other elements stay; more rows than blocks."""
    whole, b = normal(t, 2, 5, 9), normal(t, 2, 3, 4)
    expected = whole.copy()
    expected[:, 1:4, 2:6] -= b
    run(device, f"subtract_block_{t.short}", 3, 4, 2, 9, 45, b, whole[:, 1:4, 2:6], grid=4, block=64)
    np.testing.assert_array_equal(whole, expected)


@BY_TEAM
@EVERY
def test_triangular_solves(device: Device, t: DType, team: str) -> None:
    """Forward and backward, a unit diagonal or not, of more columns than a block has; transposed in memory."""
    n, columns = 9, 70
    triangle = normal(t, 2, n, n) + 4 * np.eye(n, dtype=t.numpy)
    b = normal(t, 2, n, columns)
    for backward, unit, conjugated in ((False, True, False), (True, False, False), (False, False, True)):
        used = np.triu(triangle) if backward else np.tril(triangle)
        if unit:
            used = used - (np.einsum("bii->bi", used)[..., None] - 1) * np.eye(n, dtype=t.numpy)
        x = b.copy()
        sizes = (n, columns, 2, n, 1, n * n, columns, 1, n * columns)
        run(device, f"triangular{team}_{t.short}", *sizes, backward, unit, conjugated, triangle, x, grid=3, block=64)
        scale = np.abs(used).sum(-1).max() * np.abs(x).max()
        assert_near((np.conj(used) if conjugated else used) @ x / scale, b / scale, t)
    y = np.ascontiguousarray(b.swapaxes(1, 2))
    sizes = (n, columns, 2, 1, n, n * n, 1, n, n * columns)
    run(device, f"triangular{team}_{t.short}", *sizes, False, False, False, triangle, y, grid=1, block=128)
    lower = np.tril(triangle.swapaxes(1, 2))
    assert_near(lower @ y.swapaxes(1, 2) / 100, b / 100, t)


@BY_TEAM
@EVERY
def test_determinant_of_factors(device: Device, t: DType, team: str) -> None:
    """An exchanged row turns the sign; a product beyond the largest number has a logarithm."""
    n, large = 3, 1e30 if t.short in ("f32", "c64") else 1e250
    lu = np.stack([np.diag([2, -3, 0.5]), np.diag([large, large, 2]), np.diag([1, 0, 3])]).astype(t.numpy)
    pivots = np.array([[0, 2, 2], [1, 1, 2], [0, 1, 2]], np.int32)
    det, sign = np.zeros(3, t.numpy), np.zeros(3, t.numpy)
    size = np.zeros(3, np.zeros(0, t.numpy).real.dtype)
    run(device, f"determinant{team}_{t.short}", n, 3, lu, pivots, det, sign, size, grid=2, block=64)
    assert det[0] == 3 and np.isinf(det[1].real) and det[2] == 0
    np.testing.assert_allclose(sign, [1, -1, 0], rtol=1e-6)
    np.testing.assert_allclose(size, [np.log(3), 2 * np.log(large) + np.log(2), -np.inf], rtol=1e-6)


@EVERY
@pytest.mark.parametrize(("team", "block"), [("", 64), ("", 256), ("_each", 64)])
def test_qr_multiplies_back(device: Device, t: DType, team: str, block: int) -> None:
    """The reflections applied to R give A again, applied to A give R; R's diagonal has NumPy's signs."""
    rows, columns, stride = 12, 5, 8
    whole = normal(t, 2, rows, stride)
    a = whole[..., :columns].copy()
    taus = np.zeros((2, 6), t.numpy)
    sizes = (rows, columns, 2, stride, rows * stride)
    run(device, f"qr{team}_{t.short}", *sizes, 6, whole, taus, grid=2, block=block)
    factored = whole[..., :columns]
    r = np.triu(factored) * (np.arange(rows) < columns)[:, None]
    assert_near(r[:, :columns], np.stack([np.linalg.qr(x).R for x in a]), t)
    x, back = r.astype(t.numpy), a.copy()
    reflect = (rows, columns, columns, 2, stride, rows * stride, 6, columns, rows * columns)
    run(device, f"reflect{team}_{t.short}", *reflect, True, whole, taus, x, grid=1, block=block)
    assert_near(x, a, t)
    run(device, f"reflect{team}_{t.short}", *reflect, False, whole, taus, back, grid=2, block=block)
    assert_near(back, r, t)
