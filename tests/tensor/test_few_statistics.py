"""NumPy's functions beyond the standard: one launch of few elements, the values of many, and NumPy's of either."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import linalg
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels.families.statistics import MOST_BINS
from rocmkern.ops.fused import FEW
from rocmkern.ops.rows import WHOLE_ROW
from tests.tensor.arrays import Array, assert_same, elsewhere, laid_out, opened
from tests.tensor.test_few import both_ways

WAVES = pytest.mark.parametrize("name", ["emulator:gfx942", "emulator:gfx1100"])
FLOATS = st.sampled_from([rk.float16, rk.bfloat16, rk.float32, rk.float64])


def launches(call: Callable[[], object]) -> int:
    with rk.Trace() as trace:
        call()
    return sum(row.launches for row in trace.totals())


@WAVES
def test_one_launch(name: str) -> None:
    """Whatever the statistic, of waves of 64 and of 32 lanes; an area takes the sum as well."""
    device = opened(name)
    x, m = rk.asarray([1.0, 2.0, 4.0, 3.0], device=device), rk.asarray([[2.0, 1.0], [1.0, 3.0]], device=device)
    k, nan = rk.asarray([5, 2], device=device), np.float32(np.nan)
    holes = rk.asarray(np.array([[1, nan], [nan, 5]], np.float32), device=device)
    calls: dict[str, tuple[Callable[[], Any], Any]] = {
        **{f: (lambda f=f: getattr(rk, f)(holes), getattr(np, f)([[1, nan], [nan, 5]])) for f in (
            "nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")},
        "average": (lambda: rk.average(m, axis=0, weights=x[:2]), np.average([[2, 1], [1, 3]], 0, [1, 2])),
        "cov": (lambda: rk.cov(m, x[:2]), np.cov([[2, 1], [1, 3]], [1, 2])),
        "corrcoef": (lambda: rk.corrcoef(m), np.corrcoef([[2, 1], [1, 3]])),
        "histogram": (lambda: rk.histogram(x, 4, range=(0, 4))[0], [0, 1, 1, 2]),
        "gradient": (lambda: rk.gradient(x, 0.5), np.gradient([1, 2, 4, 3], 0.5)),
        "interp": (lambda: rk.interp(m, k[::-1], x[:2]), np.interp([[2, 1], [1, 3]], [2, 5], [1, 2])),
        "polyval": (lambda: rk.polyval(x[::2], m), np.polyval([1, 4], [[2, 1], [1, 3]])),
        "unravel_index": (lambda: rk.stack(rk.unravel_index(k, (3, 2))), np.unravel_index([5, 2], (3, 2))),
        "cond": (lambda: linalg.cond(m), np.linalg.cond([[2, 1], [1, 3]])),
        "lstsq": (lambda: linalg.lstsq(m, x[1:3]).x, np.linalg.solve([[2, 1], [1, 3]], [2, 4])),
    }  # fmt: skip
    more = {"unravel_index": 0, "interp": 1}  # the cast of integers
    for f, (call, want) in calls.items():
        assert launches(call) == 1 + more.get(f, 0), f
        np.testing.assert_allclose(call().numpy(), want, rtol=1e-6, err_msg=f)
    assert launches(lambda: rk.trapezoid(x)) == 2


@settings(max_examples=12)
@given(st.data(), FLOATS)
def test_slopes_and_areas_round_as_in_numpy(draw: st.DataObject, dtype: rk.DType) -> None:
    """Each step, of short floats in float32, along any axis of any layout."""
    t, x = draw.draw(laid_out(dtype, (3, 4, 2), low=-100.0, high=100.0))
    axis, h = draw.draw(st.integers(-3, 2)), draw.draw(st.sampled_from([1.0, 0.5, 3.0, -0.1]))
    y = np.moveaxis(x if dtype.itemsize >= 4 else x.astype(np.float32), axis, 0)
    step, twice = (np.asarray(h * n).astype(y.dtype) for n in (1, 2))
    parts = [(y[1:2] - y[:1]) / step, (y[2:] - y[:-2]) / twice, (y[-1:] - y[-2:-1]) / step]
    assert_same(rk.gradient(t, h, axis=axis), np.moveaxis(np.concatenate(parts), 0, axis).astype(dtype.numpy))
    areas = np.moveaxis((y[1:] + y[:-1]) * step / np.asarray(2, y.dtype), 0, axis)
    assert_same(
        rk.trapezoid(t, dx=h, axis=axis), rk.sum(rk.asarray(areas.copy()), axis=axis).numpy().astype(dtype.numpy)
    )


@settings(max_examples=25)
@given(st.data())
def test_interpolation_is_numpys(draw: st.DataObject) -> None:
    """To the last places, of float64, whatever the places: equal ones, infinities and NaN among the values."""
    n = draw.draw(st.integers(1, 6))
    numbers = st.floats(-8, 8, width=16) | st.sampled_from([np.inf, -np.inf, np.nan])
    places = np.sort(np.array(draw.draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n)), float)) / 3
    heights = np.array(draw.draw(st.lists(numbers, min_size=n, max_size=n)))
    at = np.array(draw.draw(st.lists(numbers, max_size=8)), float)
    limits = draw.draw(st.sampled_from([{}, {"left": -9.0}, {"right": 9.0}, {"left": np.nan, "right": 1.0}]))
    found = rk.interp(rk.asarray(at), rk.asarray(places), rk.asarray(heights), **limits)
    np.testing.assert_allclose(found.numpy(), np.interp(at, places, heights, **limits), rtol=1e-14, atol=1e-14)


def test_interpolation_at_nan() -> None:
    """Among several places it is NaN; beside one place it has that one's value, which is neither below nor above."""
    x = np.array([np.nan, 0.0, 1.0, 2.0])
    for places, heights in (([1.0], [5.0]), ([1.0, 2.0], [5.0, 6.0])):
        for limits in ({}, {"left": -1.0, "right": 9.0}):
            found = rk.interp(rk.asarray(x), rk.asarray(places), rk.asarray(heights), **limits)
            np.testing.assert_array_equal(found.numpy(), np.interp(x, places, heights, **limits))
    beyond = rk.interp(rk.asarray(x), rk.asarray([1.0, 1.5]), rk.asarray([1j, 2.0]), left=-1j, right=3 + 1j)
    np.testing.assert_array_equal(beyond.numpy(), [np.nan, -1j, 1j, 3 + 1j])


@settings(max_examples=20)
@given(st.data(), st.sampled_from([rk.bool, rk.int8, rk.uint64, rk.float16, rk.float32, rk.float64]))
def test_polynomials_are_numpys(draw: st.DataObject, dtype: rk.DType) -> None:
    """By Horner's rule, of any dtype in any layout; integers wrap, bool is by "and" and "or"."""
    few = {} if dtype.kind == "bool" else {"low": 0, "high": 7}
    (p, coefficients), (t, x) = (draw.draw(laid_out(dtype, s, **few)) for s in ((3,), (2, 5)))
    assert_same(rk.polyval(p, t), np.polyval(coefficients, x))


def check_what_passes_over_nan(t: rk.Tensor, x: Array) -> None:
    wide, epsilon = x.astype(np.float64), float(rk.finfo(t.dtype).eps)
    for name in ("nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"):
        for axis in (None, 0, 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                want = getattr(np, name)(wide, axis=axis)
            found = getattr(rk, name)(t, axis=axis).numpy().astype(np.float64)
            np.testing.assert_allclose(found, want, rtol=8 * epsilon, atol=16 * epsilon, err_msg=f"{name} {axis}")


@settings(max_examples=10)
@given(st.data(), FLOATS)
def test_what_passes_over_nan_in_any_layout(draw: st.DataObject, dtype: rk.DType) -> None:
    """Along rows, columns and all, with any elements missing."""
    t, x = draw.draw(laid_out(dtype, (4, 3), low=-4.0, high=4.0))
    holes = np.array(draw.draw(st.lists(st.booleans(), min_size=12, max_size=12))).reshape(4, 3)
    t = rk.where(rk.asarray(holes), float("nan"), t)
    check_what_passes_over_nan(t, np.where(holes, np.asarray(np.nan, dtype.numpy), x))


def test_variances_of_special_rows() -> None:
    """Of a number whose square is beyond the dtype, of nothing but NaN, of numbers far from 0, of infinities."""
    for row in ([1e30, np.nan], [np.nan] * 2, [1e5, 1e5 + 1], [np.inf, 1], [np.inf], [np.nan, -np.inf]):
        x = np.array([row], np.float32)
        check_what_passes_over_nan(rk.asarray(x), x)


@WAVES
def test_many_elements_have_the_same_values(name: str) -> None:
    """On both sides of every seam: what one block or one row holds, and one more."""
    device, rng = opened(name), np.random.default_rng(1)
    for n in (FEW, FEW + 1, 3 * WHOLE_ROW):
        x = rng.integers(-50, 50, n).astype(np.float32)
        x[::7] = np.nan
        t = rk.asarray(x, device=device)
        for bins in (9, MOST_BINS, MOST_BINS + 1):
            counts, edges = rk.histogram(t, bins, range=(-40, 40))
            want = np.histogram(x, edges.numpy())[0]
            np.testing.assert_array_equal(counts.numpy(), want)
        given, _ = rk.histogram(t, rk.asarray(np.linspace(-40, 40, FEW + 2, dtype=np.float32), device=device))
        np.testing.assert_array_equal(
            given.numpy(), np.histogram(x, np.linspace(-40, 40, FEW + 2, dtype=np.float32))[0]
        )
        for f in ("nanmean", "nanstd", "nanmax"):
            np.testing.assert_allclose(getattr(rk, f)(t).numpy(), getattr(np, f)(x.astype(float)), rtol=1e-6)
    for n in (WHOLE_ROW, WHOLE_ROW + 1):
        x, w = rng.standard_normal((2, 3, n))
        found = rk.average(rk.asarray(x, device=device), axis=1, weights=rk.asarray(np.abs(w), device=device))
        np.testing.assert_allclose(found.numpy(), np.average(x, 1, np.abs(w)), rtol=1e-9)


def of_matrices(t: rk.Tensor) -> list[Callable[[], Any]]:
    return [
        lambda: rk.cov(t),
        lambda: rk.corrcoef(t, t + 1),
        lambda: linalg.cond(t),
        lambda: linalg.cond(t, -2),
        lambda: linalg.lstsq(t, t[:, 0]),
        lambda: rk.average(t, axis=0, weights=t),
        lambda: rk.histogram(t, 5),
    ]


@settings(max_examples=6)
@given(st.data(), st.sampled_from([rk.float32, rk.float64]), st.sampled_from([(3, 5), (5, 3), (4, 4), (1, 6)]))
def test_few_and_many_agree(draw: st.DataObject, dtype: rk.DType, shape: tuple[int, int]) -> None:
    """The one launch gives what the composition gives."""
    t, _ = draw.draw(laid_out(dtype, shape, low=0.5, high=2.0))
    for operation in of_matrices(rk.asarray(np.random.default_rng(3).standard_normal(shape).astype(dtype.numpy)) + t):
        few, many = both_ways(operation)
        for a, b in zip(few, many, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e3 * float(np.finfo(dtype.numpy).eps), atol=1e-5)


def test_batches_of_systems() -> None:
    """Several right-hand sides of each matrix, or the same for all; matrices that more than a wave takes."""
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((40, 5, 3)), rng.standard_normal((5, 2))
    a[7, :, 1] = a[7, :, 0]

    def solved(a: Array, b: Array) -> tuple[Array, ...]:
        return tuple(t.numpy() for t in linalg.lstsq(rk.asarray(a), rk.asarray(b)))

    for right in (b, b + a[:, :, :2]):
        x, left, rank, s = solved(a, right)
        want = np.linalg.pinv(a, rcond=1e-12) @ right
        np.testing.assert_allclose(x, want, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(left, ((a @ want - right) ** 2).sum(-2), rtol=1e-9, atol=1e-9)
        assert rank.tolist() == [2 if i == 7 else 3 for i in range(40)]
        np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-9, atol=1e-9)


def test_condition_of_nothing_but_zeros() -> None:
    """It is infinite, as in NumPy, one matrix or many elements."""
    for n in (2, 20):
        assert linalg.cond(rk.zeros((n, n))).tolist() == linalg.cond(rk.zeros((n, n)), -2).tolist() == np.inf


def test_what_is_refused() -> None:
    """By the name of the function that was called."""
    x = rk.ones((4,))
    for error, words, call in (
        (ShapeError, r"percentile: shares \[130.0\]; use 0..100", lambda: rk.percentile(x, 130)),
        (ShapeError, r"percentile: shares \[1.0, -2.0\]", lambda: rk.percentile(x, [1, -2])),
        (ShapeError, "corrcoef: 4 and 3 observations", lambda: rk.corrcoef(x, x[1:])),
        (ShapeError, "nanmax: shape .* has no elements", lambda: rk.nanmax(x[:0])),
        (DTypeError, "gradient: spacing '1' is no real number", lambda: rk.gradient(x, "1")),  # type: ignore[arg-type]  # on purpose
        (ShapeError, "histogram: tensors on .* and ", lambda: rk.histogram(x, rk.ones((3,), device=elsewhere()))),
        (linalg.LinAlgError, "lstsq: the matrix of shape", lambda: linalg.lstsq(x[:, None] / 0, x).x.numpy()),
    ):
        with pytest.raises(error, match=words):
            call()
