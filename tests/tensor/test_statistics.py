"""Averages, covariances, bins, and what passes over NaN: NumPy's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.errors import DTypeError, ShapeError
from tests.tensor.arrays import Array

CLOSE: dict[Any, Any] = {"rtol": 2e-5, "atol": 1e-6}
X = np.random.default_rng(0).standard_normal((4, 6))
Z = X[:, :3] + 1j * X[:, 3:]


def same(got: rk.Tensor, want: Any, dtype: rk.DType, *, rtol: float = 1e-12) -> None:
    want = np.asarray(want)
    assert (got.dtype, got.shape) == (dtype, want.shape)
    np.testing.assert_allclose(got.numpy().astype(want.dtype), want, rtol=rtol, atol=rtol)


def test_averages() -> None:
    """Weights for each element, along one axis, or none; of integers in float32, of complex numbers their own dtype."""
    weights, row = np.abs(X), np.array([1.0, 2.0, 0.0, 3.0, 4.0, 5.0])
    x = rk.asarray(X)
    same(rk.average(x), np.average(X), rk.float64)
    same(rk.average(x, weights=rk.asarray(weights)), np.average(X, weights=weights), rk.float64)
    for keepdims in (False, True):
        found = rk.average(x, axis=1, weights=rk.asarray(row), keepdims=keepdims)
        same(found, np.average(X, 1, row, keepdims=keepdims), rk.float64)
    found = rk.average(x.T, axis=0, weights=rk.asarray(row))
    same(found, np.average(X.T, 0, row), rk.float64)
    same(rk.average(rk.asarray([1, 2, 4]), weights=rk.asarray([1, 1, 2])), 2.75, rk.float32)
    same(rk.average(rk.asarray(Z), axis=0), Z.mean(0), rk.complex128)
    for wrong in (row[:5], weights[:3]):
        with pytest.raises(ShapeError, match="average: weights of shape"):
            rk.average(x, axis=1, weights=rk.asarray(wrong))


@pytest.mark.parametrize("rowvar", [True, False])
@pytest.mark.parametrize("x", [X, X[0], Z, X[:1]], ids=["matrix", "vector", "complex", "one row"])
def test_covariances(x: Array, rowvar: bool) -> None:
    """Of rows or columns, with more variables behind them, with another divisor; correlations likewise."""
    t, dtype = rk.asarray(x), rk.dtype(x.dtype)
    same(rk.cov(t, rowvar=rowvar, correction=0), np.cov(x, rowvar=rowvar, ddof=0), dtype)
    if rowvar or x.shape[0] > 1:
        same(rk.cov(t, rowvar=rowvar), np.cov(x, rowvar=rowvar), dtype)
        same(rk.corrcoef(t, rowvar=rowvar), np.corrcoef(x, rowvar=rowvar), dtype)
        same(rk.cov(t, 2 * t, rowvar=rowvar), np.cov(x, 2 * x, rowvar=rowvar), dtype)
        same(rk.corrcoef(t, t[..., ::-1], rowvar=rowvar), np.corrcoef(x, x[..., ::-1], rowvar=rowvar), dtype)


def test_covariances_of_too_little() -> None:
    """No more observations than the correction give NaN or infinities, and what does not fit is refused."""
    assert np.isnan(rk.cov(rk.asarray([[1.0], [2.0]])).numpy()).all()
    with pytest.raises(ShapeError, match="cov: 6 and 5 observations"):
        rk.cov(rk.asarray(X), rk.asarray(X[:, :5]))
    with pytest.raises(ShapeError, match="cov: 3 dimensions"):
        rk.cov(rk.zeros((2, 2, 2)))


@settings(max_examples=12)
@given(st.lists(st.integers(-8, 8), max_size=20), st.integers(1, 9), st.sampled_from(["f4", "f8", "i4", "u1"]))
@example([3, 3], 4, "f4")
def test_histograms(numbers: list[int], bins: int, kind: str) -> None:
    """Equal bins over the elements or a range, bins by their edges, weights, shares; what lies outside counts not."""
    x = np.abs(numbers).astype(kind) if kind == "u1" else np.array(numbers, kind)
    t, weights = rk.asarray(x), np.arange(x.size) / 4
    for wanted, limits in ((bins, (-3.0, 5.0)), (bins, None), ([-4.0, 0.0, 0.5, 7.0], None)):
        theirs, places = np.histogram(x, wanted, limits)
        ours, edges = rk.histogram(t, wanted, range=limits)
        assert ours.dtype is rk.int64
        assert np.allclose(edges.numpy(), places, **CLOSE)
        if np.array_equal(edges.numpy(), places):
            assert ours.tolist() == theirs.tolist()
        assert int(ours.sum()) == theirs.sum()
        weighted, _ = rk.histogram(t, edges, weights=rk.asarray(weights))
        assert np.allclose(weighted.numpy(), np.histogram(x, edges.numpy(), weights=weights)[0])
        if theirs.sum():
            shares, _ = rk.histogram(t, edges, density=True)
            assert np.allclose(shares.numpy(), np.histogram(x, edges.numpy(), density=True)[0], **CLOSE)


def test_histograms_pass_over_nan() -> None:
    """Where a range is given; without one they have none."""
    x = rk.asarray([[0.5, float("nan")], [float("inf"), 2.0]])
    assert rk.histogram(x, 2, range=(0.0, 2.0))[0].tolist() == [1, 1]
    for wrong, words in (
        (lambda: rk.histogram(x), "range nan to nan|range 0.5 to nan|range 0.5 to inf"),
        (lambda: rk.histogram(x, 0), "histogram: 0 bins"),
        (lambda: rk.histogram(x, [1.0, 0.0]), "the edges of the bins"),
        (lambda: rk.histogram(x, weights=rk.ones((3,))), "weights of shape"),
        (lambda: rk.histogram(x, 2, range=(1.0, 0.0)), "range 1.0 to 0.0"),
    ):
        with pytest.raises(ShapeError, match=words):
            wrong()


def test_percentiles() -> None:
    """Quantiles of hundredths."""
    same(rk.percentile(rk.asarray(X), 30, axis=1), np.percentile(X, 30, axis=1), rk.float64)
    same(rk.percentile(rk.asarray(X), [0.0, 50.0, 99.0]), np.percentile(X, [0, 50, 99]), rk.float64)


OVER_NAN: dict[str, tuple[Callable[..., rk.Tensor], Callable[..., Any]]] = {
    name: (getattr(rk, name), getattr(np, name))
    for name in ("nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")
}


@pytest.mark.parametrize("name", OVER_NAN)
@pytest.mark.parametrize("dtype", [rk.float16, rk.float32, rk.float64, rk.int32], ids=str)
@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:Mean of empty", "ignore:Degrees of freedom")
def test_what_passes_over_nan(name: str, dtype: rk.DType) -> None:
    """Along every axis and all; rows of nothing but NaN, infinities beside it, and integers, which have none."""
    ours, theirs = OVER_NAN[name]
    x = np.arange(-12, 12).reshape(2, 4, 3)
    if dtype.is_float:
        x = np.where(x % 5 == 0, np.nan, x)
        x[0, 1], x[1, 2, 0] = np.nan, -np.inf if name in ("nanmax", "nanmin") else 7
    x = x.astype(dtype.numpy)
    for axis in (None, 0, 2, (0, 1)):
        for options in ({}, {"keepdims": True}):
            want = theirs(x.astype(np.float64) if dtype.is_float else x, axis=axis, **options)
            got = ours(rk.asarray(x), axis=axis, **options)
            assert got.shape == np.shape(want)
            np.testing.assert_allclose(got.numpy().astype(float), want, rtol={rk.float16: 2e-3}.get(dtype, 1e-6))
    if name in ("nanvar", "nanstd"):
        got = ours(rk.asarray(x), axis=2, correction=2)
        np.testing.assert_allclose(
            got.numpy().astype(float), theirs(x.astype(float), axis=2, ddof=2), rtol=2e-3, atol=1e-3
        )


def test_short_floats_do_not_overflow_on_the_way() -> None:
    """Counts and sums beyond 65504 are of no matter to a mean."""
    x = np.full((70000,), 2, np.float16)
    x[::2] = np.nan
    assert rk.nanmean(rk.asarray(x)).tolist() == 2
    assert rk.nanvar(rk.asarray(x)).tolist() == 0


def test_float8_and_complex() -> None:
    """float8_e4m3 has no infinity to begin a maximum with; complex numbers vary by their magnitudes."""
    x = rk.asarray(np.array([float("nan"), -448.0, -2.0])).astype(rk.float8_e4m3)
    assert [float(rk.nanmax(x)), float(rk.nanmin(x)), float(rk.nanmax(x[:2]))] == [-2, -448, -448]
    z = np.array([1 + 1j, complex(np.nan, 0), -3j])
    same(rk.nanmean(rk.asarray(z)), np.nanmean(z), rk.complex128)
    same(rk.nanvar(rk.asarray(z)), np.nanvar(z), rk.float64)


def test_short_floats_go_beyond_their_range_in_between() -> None:
    """Products and sums of f16 are carried in f32: what fits f16 at last is no infinity before."""
    x = rk.asarray([200.0, -200.0, 200.0, 0.0], dtype=rk.float16)
    big = rk.asarray([60000.0, 59008.0], dtype=rk.float16)
    wide = x.numpy().astype(np.float64)
    assert float(rk.cov(x)) == np.float16(np.cov(wide))
    assert float(rk.average(big, weights=big)) == np.float16(np.average([60000, 59008], weights=[60000, 59008]))
    assert float(rk.trapezoid(big, dx=0.5)) == np.float16(29752)
    steep = rk.asarray([-40000.0, 0.0, 40000.0], dtype=rk.float16)
    assert rk.gradient(steep).tolist() == [40000, 40000, 40000]


def test_weights_of_a_narrower_dtype_lose_nothing_of_the_sum() -> None:
    """A float64 tensor is weighed in float64, whatever the weights are."""
    x, w = np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.3], np.float32)
    assert float(rk.average(rk.asarray(x), weights=rk.asarray(w))) == pytest.approx(np.average(x, weights=w), rel=1e-15)


def test_integers_beside_float64_keep_their_digits() -> None:
    """They go to the common dtype at once, not by way of float32."""
    n, f = np.array([2**30 + 1, 2**30 + 3, 2**30 + 9]), np.array([1.0, 2.0, 5.0])
    x, t = rk.asarray(n), rk.asarray(f)
    same(rk.average(x, weights=t), np.average(n, weights=f), rk.float64)
    same(rk.cov(x, t), np.cov(n, f), rk.float64)
    same(rk.trapezoid(x, t), np.trapezoid(n, f), rk.float64)
    same(rk.interp(x, x[::2], t[::2]), np.interp(n, n[::2], f[::2]), rk.float64)


def test_correlations_of_many_short_floats() -> None:
    """Of variances beyond f16, and of float8, which rounds them once."""
    x = np.random.default_rng(5).standard_normal((70, 4))
    large = (300 * x).astype(np.float16)
    np.testing.assert_allclose(rk.corrcoef(rk.asarray(large)).numpy(), np.corrcoef(large.astype(float)), atol=1e-3)
    few = rk.astype(rk.asarray(x[:4]), rk.float8_e4m3)
    want = rk.astype(rk.asarray(np.corrcoef(few.numpy().astype(float))), rk.float8_e4m3)
    assert rk.corrcoef(few).tolist() == want.tolist()


def test_bins_of_neighbouring_integers() -> None:
    """Of 32 bits, which float32 does not tell apart."""
    for dtype in (np.int32, np.uint32):
        x = np.array([2**24, 2**24 + 1, 2**24 + 1], dtype)
        counts, edges = rk.histogram(rk.asarray(x), rk.asarray([2**24, 2**24 + 1, 2**24 + 2]))
        assert (counts.tolist(), edges.dtype) == ([1, 2], rk.float64)


def test_bins_of_complex_numbers() -> None:
    """There is no order of them."""
    with pytest.raises(DTypeError, match="histogram: dtype complex128; it takes real numbers"):
        rk.histogram(rk.asarray(Z))


def test_variance_of_large_numbers() -> None:
    """Their sum, even of a few, is beyond the dtype; their distances are not."""
    for dtype, large in ((rk.float32, 1e38), (rk.float64, 1e308)):
        x = rk.asarray([large] * 7 + [float("nan")] + [large] * 56, dtype=dtype)
        assert rk.nanvar(x).item() == rk.nanstd(x[:8]).item() == 0
