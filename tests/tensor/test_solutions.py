"""norm, cond and lstsq: NumPy's values, alone and in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import linalg
from rocmkern.errors import ShapeError
from rocmkern.linalg import LinAlgError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 3))
Z = X + 1j * X[::-1]


def close(got: rk.Tensor, want: Any) -> None:
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("x", [X, Z], ids=["real", "complex"])
def test_norms(x: Any) -> None:
    """Of all elements, vectors, matrices; along axes in any order, which may stay."""
    t = rk.asarray(x)
    close(linalg.norm(t), np.linalg.norm(x))
    close(linalg.norm(t[0]), np.linalg.norm(x[0]))
    for ord in (None, 1, 3, np.inf):
        for keepdims in (False, True):
            got = linalg.norm(t, ord, axis=1, keepdims=keepdims)
            close(got, np.linalg.norm(x, ord, axis=1, keepdims=keepdims))
    for ord in ("fro", "nuc", 1, -np.inf):
        close(linalg.norm(t[0], ord), np.linalg.norm(x[0], ord))
        for axes in ((0, 2), (2, 0), (1, 2)):
            for keepdims in (False, True):
                got = linalg.norm(t, ord, axis=axes, keepdims=keepdims)
                close(got, np.linalg.norm(x, ord, axis=axes, keepdims=keepdims))
    close(linalg.norm(rk.asarray([3, 4])), 5.0)
    for wrong in (
        lambda: linalg.norm(t, 2),
        lambda: linalg.norm(t[0, 0], "fro"),
        lambda: linalg.norm(t, axis=(0, 1, 2)),
    ):
        with pytest.raises(ShapeError, match="norm: ord"):
            wrong()


def test_condition_numbers() -> None:
    """Of singular values or, of square matrices, of norms; a singular one has none that is finite."""
    close(linalg.cond(rk.asarray(X)), np.linalg.cond(X))
    close(linalg.cond(rk.asarray(X), -2), np.linalg.cond(X, -2))
    for ord in (1, "fro", np.inf):
        close(linalg.cond(rk.asarray(Z[:, :3]), ord), np.linalg.cond(Z[:, :3], ord))
    assert linalg.cond(rk.asarray([[1.0, 0.0], [0.0, 0.0]])).tolist() == np.inf
    with pytest.raises(LinAlgError):
        linalg.cond(rk.zeros((2, 2)), 1).tolist()
    with pytest.raises(ShapeError, match="cond: a matrix of shape"):
        linalg.cond(rk.zeros((0, 2)))


@pytest.mark.parametrize("a", [X[0], X[0].T, Z[1], X[0][:, [0, 0, 1]]], ids=["tall", "wide", "complex", "rank 2"])
@pytest.mark.parametrize("columns", [None, 2])
def test_least_squares(a: Any, columns: int | None) -> None:
    """Too many equations, too few, dependent ones; one right-hand side or several."""
    b = RNG.standard_normal((a.shape[0], columns or 1))[:, slice(None) if columns else 0]
    got, want = linalg.lstsq(rk.asarray(a), rk.asarray(b)), np.linalg.lstsq(a, b)
    close(got.x, want[0])
    assert got.rank.tolist() == want[2]
    close(got.S, want[3])
    close(got.residuals, np.sum(np.abs(a @ want[0] - b) ** 2, axis=0))


def test_least_squares_of_two_dtypes() -> None:
    """They are solved in the wider one, whichever has it."""
    a, b = X[0].astype(np.float32), RNG.standard_normal(X.shape[1])
    for x1, x2 in ((a, b), (X[0], b.astype(np.float32))):
        got, want = linalg.lstsq(rk.asarray(x1), rk.asarray(x2)), np.linalg.lstsq(x1, x2)
        assert {got.x.dtype, got.residuals.dtype, got.S.dtype} == {rk.float64}
        np.testing.assert_allclose(got.x.numpy(), want[0], rtol=1e-12)
        np.testing.assert_allclose(got.S.numpy(), want[3], rtol=1e-12)


def test_least_squares_in_batches() -> None:
    """And of integers, and what does not fit."""
    whole = linalg.lstsq(rk.asarray([[1, 0], [0, 2]]), rk.asarray([3, 4]))
    assert whole.x.dtype is rk.float32
    np.testing.assert_allclose(whole.x.numpy(), [3, 2], rtol=1e-6)
    found = linalg.lstsq(rk.asarray(X), rk.asarray(X[:, :, :2]), rtol=1e-3)
    assert found.x.shape == (2, 3, 2) and found.residuals.shape == (2, 2) and found.rank.tolist() == [3, 3]
    close(found.x, np.linalg.pinv(X) @ X[:, :, :2])
    for b in (rk.zeros((3,)), rk.zeros((2, 3, 1)), rk.zeros(())):
        with pytest.raises(ShapeError, match="lstsq: shapes"):
            linalg.lstsq(rk.asarray(X), b)
