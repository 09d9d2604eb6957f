"""Factorizations and what they solve: products of the factors, and NumPy's answers within the condition's bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import linalg
from rocmkern.dtypes import DType
from rocmkern.engine import checks
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels.families.linalg import FACTORED
from rocmkern.linalg import LinAlgError
from tests.matrices import adjoint, exactly, normal
from tests.tensor.arrays import Array, relaid

FEW = settings(max_examples=5, deadline=None)
DTYPES = st.sampled_from(FACTORED)
BATCHES = st.sampled_from([(), (1,), (3,), (0,), (2, 2)])
SIDES = st.one_of(st.integers(0, 9), st.integers(0, 40))
TINY = {"f32": 1e-40, "c64": 1e-40, "f64": 1e-310, "c128": 1e-310}


def size(x: Array) -> float:
    return float(np.abs(x).max(initial=0))


def assert_zero(residual: Array, scale: float, dtype: DType, n: int) -> None:
    """Within some roundings of n products of that size."""
    assert np.isfinite(residual).all()
    assert size(residual) <= 8 * max(n, 1) * float(np.finfo(dtype.numpy).eps) * scale


@FEW
@given(data=st.data(), dtype=DTYPES, batch=BATCHES, n=SIDES, columns=st.integers(0, 5))
def test_solve_and_inv(data: st.DataObject, dtype: DType, batch: tuple[int, ...], n: int, columns: int) -> None:
    """The residual is as small as backward stable solutions have it, whatever the layout and the condition."""
    a, x = data.draw(relaid(normal(dtype, *batch, n, n)))
    b, y = data.draw(relaid(normal(dtype, *batch, n, columns)))
    solution = linalg.solve(a, b)
    assert (solution.dtype, solution.shape) == (dtype, y.shape)
    z = solution.numpy()
    assert_zero(exactly(x) @ exactly(z) - y, size(x) * size(z) * n, dtype, n)
    inverse = linalg.inv(a)
    assert (inverse.dtype, inverse.shape) == (dtype, x.shape)
    z = inverse.numpy()
    assert_zero(exactly(x) @ exactly(z) - np.eye(n), size(x) * size(z) * n, dtype, n)


@FEW
@given(data=st.data(), dtype=DTYPES, batch=BATCHES, n=SIDES)
def test_determinants(data: st.DataObject, dtype: DType, batch: tuple[int, ...], n: int) -> None:
    """NumPy's in f64, within what the condition lets a rounding change."""
    a, x = data.draw(relaid(normal(dtype, *batch, n, n)))
    wide = x.astype(np.complex128 if dtype.is_complex else np.float64)
    sign, log_size = np.linalg.slogdet(wide)
    got = linalg.slogdet(a)
    assert got.sign.dtype is dtype and got.logabsdet.dtype.name == np.abs(x).dtype.name
    assert got.sign.shape == got.logabsdet.shape == linalg.det(a).shape == batch
    bound = 8 * max(n, 1) * np.finfo(dtype.numpy).eps * (np.linalg.cond(wide) if n else 1)
    assert (np.abs(got.sign.numpy() - sign) <= bound).all()
    assert (np.abs(got.logabsdet.numpy() - log_size) <= bound + 4 * np.finfo(dtype.numpy).eps * np.abs(log_size)).all()
    with np.errstate(over="ignore"):
        product = (got.sign.numpy().astype(wide.dtype) * np.exp(got.logabsdet.numpy().astype(np.float64))).astype(
            dtype.numpy
        )
    finite = np.isfinite(product)
    np.testing.assert_allclose(
        linalg.det(a).numpy()[finite], product[finite], rtol=float(np.finfo(dtype.numpy).eps) * 400
    )


@FEW
@given(data=st.data(), dtype=DTYPES, batch=BATCHES, n=SIDES, upper=st.booleans())
def test_cholesky(data: st.DataObject, dtype: DType, batch: tuple[int, ...], n: int, upper: bool) -> None:
    """The factor is NumPy's, zero beyond its triangle; what is above the diagonal is not read."""
    half = normal(dtype, *batch, n, n)
    positive = half @ adjoint(half) + np.eye(n, dtype=dtype.numpy)
    a, _ = data.draw(relaid(np.tril(positive) + np.triu(np.full((n, n), np.nan, dtype.numpy), 1)))
    got = linalg.cholesky(a, upper=upper)
    assert (got.dtype, got.shape) == (dtype, positive.shape)
    lower = adjoint(got.numpy()) if upper else got.numpy()
    assert (np.triu(lower, 1) == 0).all() and (np.einsum("...ii->...i", lower).real > 0).all()
    assert_zero(exactly(lower) @ exactly(adjoint(lower)) - positive, size(positive), dtype, n)


@FEW
@given(
    data=st.data(),
    dtype=DTYPES,
    batch=BATCHES,
    rows=SIDES,
    columns=SIDES,
    mode=st.sampled_from(["reduced", "complete"]),
)
def test_qr(data: st.DataObject, dtype: DType, batch: tuple[int, ...], rows: int, columns: int, mode: str) -> None:
    """Q is orthonormal, R upper triangular, their product the matrix; shapes and signs are NumPy's."""
    a, x = data.draw(relaid(normal(dtype, *batch, rows, columns)))
    q, r = linalg.qr(a, mode=mode)  # type: ignore[arg-type]  # one of the two
    theirs = np.linalg.qr(x, mode=mode)  # type: ignore[call-overload]  # one of the two
    assert (q.shape, r.shape, q.dtype, r.dtype) == (theirs.Q.shape, theirs.R.shape, dtype, dtype)
    ours, upper = exactly(q.numpy()), exactly(r.numpy())
    assert_zero(adjoint(ours) @ ours - np.eye(ours.shape[-1]), 1, dtype, rows)
    assert_zero(ours @ upper - x, size(x) * max(rows, 1), dtype, columns)
    assert (np.tril(upper, -1) == 0).all()
    diagonals = [
        np.einsum("...ii->...i", part[..., : min(rows, columns), : min(rows, columns)]) for part in (upper, theirs.R)
    ]
    well_known = np.abs(diagonals[1]) > 1e-3
    np.testing.assert_allclose(np.sign(diagonals[0].real)[well_known], np.sign(diagonals[1].real)[well_known])


@pytest.mark.parametrize("dtype", FACTORED, ids=lambda t: t.short)
def test_more_than_one_panel(dtype: DType) -> None:
    """70 rows: three panels, brought up to date by products of matrices."""
    n = 70
    x, y = normal(dtype, n, n), normal(dtype, n, 3)
    a = rk.asarray(x)
    z = linalg.solve(a, rk.asarray(y)).numpy()
    assert_zero(exactly(x) @ exactly(z) - y, size(x) * size(z) * n, dtype, n)
    positive = x @ adjoint(x) + np.eye(n, dtype=dtype.numpy)
    lower = linalg.cholesky(rk.asarray(positive)).numpy()
    assert (np.triu(lower, 1) == 0).all()
    assert_zero(lower @ adjoint(lower) - positive, size(positive), dtype, n)
    q, r = (exactly(part.numpy()) for part in linalg.qr(rk.asarray(x[:, :40])))
    assert_zero(adjoint(q) @ q - np.eye(40), 1, dtype, n)
    assert_zero(q @ r - x[:, :40], size(x) * n, dtype, n)


@pytest.mark.parametrize("dtype", FACTORED, ids=lambda t: t.short)
def test_qr_of_what_is_triangular_already(dtype: DType) -> None:
    """Nothing is reflected: every τ is 0, in both panels."""
    x = np.triu(normal(dtype, 40, 40))
    x[np.arange(40), np.arange(40)] = np.arange(1, 41)
    q, r = linalg.qr(rk.asarray(x))
    np.testing.assert_array_equal(q.numpy(), np.eye(40))
    np.testing.assert_array_equal(r.numpy(), x)


def test_a_zero_pivot_in_a_later_panel_names_its_row() -> None:
    """The error counts pivots over the whole matrix."""
    x = np.eye(70)
    x[66, 66] = 0
    with pytest.raises(LinAlgError, match=r"inv: the matrix of shape \(70, 70\) is singular at pivot 66"):
        linalg.inv(rk.asarray(x)).numpy()
    assert linalg.det(rk.asarray(x)).item() == 0
    with pytest.raises(LinAlgError, match="not positive definite at pivot 66"):
        linalg.cholesky(rk.asarray(x)).numpy()


def test_batches_of_solve_broadcast() -> None:
    """A vector only where x2 has one dimension; stacks of either side repeat."""
    matrices, sides = normal(rk.float64, 2, 1, 4, 4), normal(rk.float64, 3, 4, 2)
    got = linalg.solve(rk.asarray(matrices), rk.asarray(sides)).numpy()
    np.testing.assert_allclose(got, np.linalg.solve(matrices, sides), rtol=1e-9)
    got = linalg.solve(rk.asarray(matrices[0, 0]), rk.asarray(sides)).numpy()
    np.testing.assert_allclose(got, np.linalg.solve(matrices[0, 0], sides), rtol=1e-9)
    vector = sides[0, :, 0]
    got = linalg.solve(rk.asarray(matrices), rk.asarray(vector)).numpy()
    np.testing.assert_allclose(got, np.linalg.solve(matrices, vector[:, None])[..., 0], rtol=1e-9)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5, 8])
def test_matrix_power(n: int) -> None:
    """NumPy's, of a stack, also below zero; the first power is a copy."""
    x = normal(rk.complex128, 2, 3, 3)
    a = rk.asarray(x)
    got = linalg.matrix_power(a, n)
    np.testing.assert_allclose(got.numpy(), np.linalg.matrix_power(x, n), rtol=1e-9, atol=1e-9)
    assert got.memory is not a.memory


@pytest.mark.parametrize("dtype", FACTORED, ids=lambda t: t.short)
def test_sizes_at_the_ends_of_the_range(dtype: DType) -> None:
    """No reciprocal, square or partial product overflows where the answer does not."""
    tiny, huge = TINY[dtype.short], float(np.finfo(dtype.numpy).max) / 4
    for scale in (tiny, huge):
        a = rk.asarray(np.array([[1, 0], [0.5, 1]], dtype.numpy) * dtype.numpy.type(scale))
        got = linalg.solve(a, a).numpy()
        np.testing.assert_allclose(got, np.eye(2), atol=1e-3)
        q, r = linalg.qr(a)
        np.testing.assert_allclose(np.abs(q.numpy()[0, 0]), 2 / np.sqrt(5), rtol=1e-3)
        np.testing.assert_allclose(np.abs(r.numpy()[0, 0]) / scale, np.sqrt(5) / 2, rtol=1e-3)
    wide = rk.asarray(np.diag([huge, huge, 1 / huge, 1 / huge, 3]).astype(dtype.numpy))
    np.testing.assert_allclose(linalg.det(wide).numpy(), 3, rtol=1e-5)


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("dtype", FACTORED, ids=lambda t: t.short)
def test_qr_of_subnormal_numbers(dtype: DType, n: int) -> None:
    """Q is as orthonormal as of any others: what reflects them is not rounded as they are."""
    q = linalg.qr(rk.asarray(normal(dtype, n, n) * dtype.numpy.type(TINY[dtype.short]))).Q.numpy()
    assert_zero(adjoint(exactly(q)) @ exactly(q) - np.eye(n), 1, dtype, n)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_comes_back(bad: float) -> None:
    """NaN and infinities run through; Cholesky refuses NaN as LAPACK does."""
    x = normal(rk.float32, 5, 5)
    x[1, 2] = x[4, 2] = bad
    a = rk.asarray(x)
    assert np.isnan(linalg.inv(a).numpy()).any() and np.isnan(linalg.det(a).item())
    assert np.isnan(linalg.slogdet(a).logabsdet.item()) and np.isnan(linalg.qr(a).R.numpy()).any()
    with pytest.raises(LinAlgError):
        linalg.cholesky(rk.full((3, 3), np.nan)).numpy()


def test_other_dtypes() -> None:
    """Integers and bool become float32; operands of two dtypes the common one."""
    whole = rk.asarray([[2, 1], [1, 1]])
    assert linalg.inv(whole).dtype is linalg.det(whole).dtype is linalg.cholesky(whole).dtype is rk.float32
    np.testing.assert_allclose(linalg.inv(whole).numpy(), [[1, -1], [-1, 2]], rtol=1e-5)
    assert linalg.solve(whole, rk.ones((2,), dtype=rk.complex128)).dtype is rk.complex128
    assert linalg.solve(rk.eye(2), rk.ones((2, 1), dtype=rk.float64)).dtype is rk.float64


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: linalg.inv(rk.zeros((2, 3))), ShapeError, r"inv: shape \(2, 3\); it takes square"),
        (lambda: linalg.det(rk.zeros((3,))), ShapeError, "det: 1 dimensions"),
        (lambda: linalg.cholesky(rk.zeros((2, 3))), ShapeError, "square"),
        (lambda: linalg.qr(rk.zeros((3,))), ShapeError, "qr: 1 dimensions"),
        (lambda: linalg.qr(rk.zeros((2, 2)), mode="raw"), ShapeError, "mode 'raw'; use"),  # type: ignore[arg-type]  # on purpose
        (lambda: linalg.solve(rk.eye(2), rk.ones((3,))), ShapeError, "2 equations, 3 right-hand sides"),
        (lambda: linalg.solve(rk.eye(2), rk.ones(())), ShapeError, "no dimensions"),
        (lambda: linalg.solve(rk.zeros((3, 2, 2)), rk.ones((2, 2, 1))), ShapeError, "differ at axis"),
        (lambda: linalg.inv(rk.eye(2, dtype=rk.float16)), DTypeError, r"inv: dtype float16 .*use astype\(float32\)"),
        (lambda: linalg.solve(rk.eye(2), rk.ones((2,), dtype=rk.bfloat16)), DTypeError, "solve: dtype bfloat16"),
        (lambda: linalg.inv([[1.0]]), DTypeError, "no tensor"),
        (lambda: linalg.matrix_power(rk.eye(2), 1.5), TypeError, "power 1.5 is no integer"),
        (
            lambda: linalg.inv(rk.zeros((2, 2))).numpy(),
            LinAlgError,
            r"the matrix of shape \(2, 2\) is singular at pivot 0",
        ),
        (lambda: linalg.matrix_power(rk.zeros((2, 2)), -1).numpy(), ValueError, "singular"),
        (lambda: linalg.solve(rk.ones((4, 2, 2)), rk.ones((2,))).numpy(), LinAlgError, "solve: matrix 0 of shape"),
    ],
)
def test_wrong_use(call: Callable[[], object], error: type[Exception], words: str) -> None:
    """The error names the operation and what it takes."""
    with pytest.raises(error, match=words):
        call()


def test_the_device_may_answer_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: the error of the first failure comes with the next wait, and is told once."""
    monkeypatch.setattr(checks, "answers_at_once", lambda device: False)
    monkeypatch.setattr(checks, "_answers", {})
    singular = rk.asarray(np.stack([np.eye(3), np.ones((3, 3))]))
    linalg.solve(singular, rk.ones((3,), dtype=rk.float64))
    linalg.cholesky(rk.asarray(-np.eye(2)))
    with pytest.raises(LinAlgError, match=r"solve: matrix 1 of shape \(2, 3, 3\) is singular at pivot 1; use pinv"):
        singular.numpy()
    assert singular.numpy().shape == (2, 3, 3)
