"""Convolutions, slopes, areas, interpolation, windows, coordinates: NumPy's values, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.errors import DTypeError, ShapeError
from tests.tensor.arrays import assert_same

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 5, 3))
T = rk.asarray


def close(got: rk.Tensor, want: Any) -> None:
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-6)


@settings(max_examples=15)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["f4", "f8", "i4", "c16"]))
def test_sums_of_products(n: int, m: int, kind: str) -> None:
    """Convolution and correlation in every mode, whichever vector is the longer one; integers stay exact."""
    a, b = (RNG.integers(-9, 9, k).astype(kind) for k in (n, m))
    if kind == "c16":
        a, b = a * 1j + 1, b - 2j
    for mode in ("full", "same", "valid"):
        for name in ("convolve", "correlate"):
            want = getattr(np, name)(a, b, mode=mode)
            got = getattr(rk, name)(T(a), T(b), mode)
            assert got.dtype == rk.dtype(a.dtype)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5, strict=True)


def test_slopes() -> None:
    """Along one axis, several, all; of as few as two elements."""
    for axis in (0, -1, 1):
        close(rk.gradient(T(X), 0.5, axis=axis), np.gradient(X, 0.5, axis=axis))
    for axes in (None, (2, 0)):
        found = rk.gradient(T(X), axis=axes)
        for got, want in zip(found, np.gradient(X, axis=axes), strict=True):
            close(got, want)
    close(rk.gradient(T([1, 5])), [4.0, 4.0])
    close(rk.gradient(T(X[0, 0] * 1j)), np.gradient(X[0, 0] * 1j))


def test_areas() -> None:
    """Of equal steps, of places along the axis, of places for each element."""
    places = np.cumsum(RNG.random(5))
    close(rk.trapezoid(T(X), dx=2.0), np.trapezoid(X, dx=2.0))
    close(rk.trapezoid(T(X), T(places), axis=1), np.trapezoid(X, places, axis=1))
    close(rk.trapezoid(T(X), T(np.cumsum(X, 0)), axis=0), np.trapezoid(X, np.cumsum(X, 0), axis=0))
    close(rk.trapezoid(T([1, 2, 4])), 4.5)
    close(rk.trapezoid(T([[3.0]])), [0.0])


@settings(max_examples=15)
@given(st.lists(st.integers(-5, 5), min_size=2, max_size=6, unique=True), st.booleans())
def test_interpolation(places: list[int], beyond: bool) -> None:
    """At the places themselves, between, below, above and at NaN; with values for what lies outside."""
    known, at = np.sort(np.array(places, float)), np.append(np.linspace(-6, 6, 25), np.nan)
    heights, options = RNG.standard_normal(known.size), {"left": -9.0, "right": 9.0} if beyond else {}
    close(rk.interp(T(at), T(known), T(heights), **options), np.interp(at, known, heights, **options))


def test_interpolation_of_integers_and_complex_heights() -> None:
    """Integers become float32. One place has its value everywhere."""
    assert rk.interp(T([-1.0, 2.0, 3.0]), T([2.0]), T([7.0])).tolist() == [7, 7, 7]
    assert_same(rk.interp(T([0, 1, 3]), T([0, 2]), T([0, 10])), np.array([0, 5, 10], np.float32))
    heights = np.array([1j, 2 + 2j])
    close(rk.interp(T([0.25]), T([0.0, 1.0]), T(heights)), np.interp([0.25], [0.0, 1.0], heights))


def test_interpolation_rounds_once_and_knows_nan() -> None:
    """From float64 to float16 at once; at NaN a complex value is NaN, and 0 in its imaginary part, as NumPy's."""
    x, places, values = (np.array(v, np.float16) for v in ([726], [0, 748], [-2.223, -0.654]))
    exact = np.interp(*(v.astype(np.float64) for v in (x, places, values)))
    assert_same(rk.interp(T(x), T(places), T(values)), exact.astype(np.float16))
    heights = np.array([1j, 2 + 2j])
    got, want = rk.interp(T([np.nan]), T([0.0, 1.0]), T(heights)).numpy(), np.interp([np.nan], [0.0, 1.0], heights)
    np.testing.assert_array_equal(got.real, want.real)
    np.testing.assert_array_equal(got.imag, want.imag)


def test_polynomials() -> None:
    """The highest power first, at every element; without coefficients 0."""
    p = np.array([2.0, 0.0, -1.0])
    close(rk.polyval(T(p), T(X)), np.polyval(p, X))
    assert rk.polyval(T([1, 2]), T([3, 4])).tolist() == [5, 6]
    assert rk.polyval(rk.zeros((0,)), T([3.0])).tolist() == [0]


def test_windows_are_views() -> None:
    """Along all axes or those named; they see what is written."""
    view: Any = np.lib.stride_tricks.sliding_window_view
    for window, axis in ((2, 0), (3, -2), ((2, 2, 1), None), ((2, 3), (0, 1)), (1, 0)):
        assert_same(rk.sliding_window_view(T(X), window, axis=axis), view(X, window, axis))
    t = rk.zeros((4,))[::-1]
    windows = rk.sliding_window_view(t, 3)
    t[1] = 5.0
    assert windows.tolist() == [[0, 5, 0], [5, 0, 0]]


def test_diagonals_rows_and_columns() -> None:
    """diag both ways, stacks of vectors and matrices."""
    for k in (-2, 0, 1):
        assert_same(rk.diag(T([1, 2, 3]), k), np.diag([1, 2, 3], k))
        assert_same(rk.diag(T(X[0]), k), np.diag(X[0], k))
    a, b = X[0], X[1]
    assert_same(rk.hstack((T(a), T(b))), np.hstack((a, b)))
    assert_same(rk.vstack([T(a), T(b[0])]), np.vstack([a, b[0]]))
    assert_same(rk.hstack((T(a[0]), T(1.0).astype(rk.float64))), np.hstack((a[0], 1.0)))
    assert_same(rk.vstack((T(a[0]), T(b[0]))), np.vstack((a[0], b[0])))


def test_coordinates() -> None:
    """Of what is not zero, of flat places."""
    x = np.array([[[0, 1], [2, 0]], [[0, 0], [0, 3]]])
    assert_same(rk.argwhere(T(x)), np.argwhere(x))
    for single in (0, 5):
        assert_same(rk.argwhere(T(single)), np.argwhere(np.array(single)))
    flat = np.array([[0, 7], [5, 11]])
    for got, want in zip(rk.unravel_index(T(flat), (2, 3, 2)), np.unravel_index(flat, (2, 3, 2)), strict=True):
        assert_same(got, want)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rk.convolve(T(X), T([1.0])), ShapeError, r"convolve: shapes \(4, 5, 3\) and \(1,\)"),
        (lambda: rk.convolve(rk.zeros((0,)), T([1.0])), ShapeError, "vectors that hold something"),
        (lambda: rk.correlate(T([True]), T([True])), DTypeError, "correlate: dtype bool"),
        (lambda: rk.convolve(T([1]), T([1]), mode="all"), ShapeError, "mode 'all'; use one of full, same, valid"),  # type: ignore[arg-type]  # on purpose
        (lambda: rk.gradient(T(X[:, :1]), axis=1), ShapeError, "gradient: axis 1 of length 1"),
        (lambda: rk.trapezoid(T(X), T([1.0, 2.0])), ShapeError, "trapezoid: places of shape"),
        (lambda: rk.interp(T([1.0]), T([1.0, 2.0]), T([1.0])), ShapeError, "interp: places"),
        (lambda: rk.interp(T([1.0]), rk.zeros((0,)), rk.zeros((0,))), ShapeError, "interp: places"),
        (
            lambda: rk.interp(T([1.0]), T([1.0]), T([1.0]), left=10**400),
            OverflowError,
            "interp: an integer of 1329 bits",
        ),
        (lambda: rk.polyval(T(X), T([1.0])), ShapeError, "polyval: coefficients of 3 dimensions"),
        (lambda: rk.sliding_window_view(T(X), 5, axis=0), ShapeError, "window of 5 on axis 0 of length 4"),
        (lambda: rk.sliding_window_view(T(X), 5), ShapeError, "give a length for each"),
        (lambda: rk.diag(T(X)), ShapeError, "diag: 3 dimensions"),
        (lambda: rk.unravel_index(T([1.0]), 3), DTypeError, "unravel_index: dtype float32"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    """The error names the operation and what came."""
    with pytest.raises(error, match=words):
        call()


def test_areas_below_no_points() -> None:
    """0, as of one point."""
    assert rk.trapezoid(rk.zeros((0, 2)), axis=0).tolist() == [0, 0]
    assert rk.trapezoid(rk.zeros((0,)), rk.zeros((0,))).tolist() == 0
