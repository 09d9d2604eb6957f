"""Reductions, statistics and running totals against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.dtypes import REAL, DType
from rocmkern.errors import AxisError, ShapeError
from tests.tensor.arrays import FLOATS, FULL_SHAPES, NUMBERS, SHAPES, assert_same, laid_out

TOLERANCE = {"f8_e4m3": 0.13, "f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-5, "f64": 1e-12}
IDS = {"ids": lambda d: d.short if isinstance(d, DType) else str(d)}


def axes_of(shape: tuple[int, ...]) -> Any:
    """None, one axis or several, counted from either end."""
    if not shape:
        return st.just(None)
    return st.none() | st.integers(-len(shape), len(shape) - 1) | hnp.valid_tuple_axes(len(shape))


def assert_near(got: rk.Tensor, expected: Any, dtype: DType, scale: Any = 1.0) -> None:
    """Same shape and dtype, values within the dtype's tolerance of `scale`."""
    assert got.dtype is dtype
    want = np.asarray(expected, np.float64)
    assert got.shape == want.shape
    have = got.numpy().astype(np.float64)
    slack = TOLERANCE[dtype.short] * (np.abs(want) + np.asarray(scale, np.float64))
    assert (np.abs(have - want) <= slack).all(), f"{have} instead of {want}"


@pytest.mark.parametrize("dtype", REAL, **IDS)
@pytest.mark.parametrize("name", ["max", "min", "any", "all", "count_nonzero"])
@settings(max_examples=8)
@given(data=st.data())
def test_exact_reductions_equal_numpy(name: str, dtype: DType, data: st.DataObject) -> None:
    """Extremes keep NaN and the dtype; any, all and count_nonzero take the truth of each value."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    axis, keepdims = data.draw(axes_of(x.shape)), data.draw(st.booleans())
    got = getattr(rk, name)(t, axis=axis, keepdims=keepdims)
    wide = x.astype(np.float32) if dtype.is_float and dtype.itemsize < 4 else x
    expected = getattr(np, name)(wide, axis=axis, keepdims=keepdims)
    given = {"any": rk.bool_, "all": rk.bool_, "count_nonzero": rk.int64}.get(name, dtype)
    assert_same(got, expected, given)


@pytest.mark.parametrize("dtype", REAL, **IDS)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@settings(max_examples=10)
@given(data=st.data())
def test_arg_reductions_give_the_first_occurrence(name: str, dtype: DType, data: st.DataObject) -> None:
    """The index of the first extreme, or of the first NaN, as int64."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    axis, keepdims = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    wide = x.astype(np.float32) if dtype.is_float and dtype.itemsize < 4 else x
    assert_same(
        getattr(rk, name)(t, axis=axis, keepdims=keepdims), getattr(np, name)(wide, axis=axis, keepdims=keepdims)
    )


@pytest.mark.parametrize("dtype", [d for d in REAL if not d.is_float], **IDS)
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@settings(max_examples=8)
@given(data=st.data())
def test_integer_totals_are_in_64_bits(name: str, dtype: DType, data: st.DataObject) -> None:
    """Sums and products of integers and bool are int64, of unsigned ones uint64, and wrap."""
    t, x = data.draw(laid_out(dtype, SHAPES if name in ("sum", "prod") else FULL_SHAPES))
    wanted = rk.uint64 if dtype.kind == "unsigned" else rk.int64
    if name in ("sum", "prod"):
        axis = data.draw(axes_of(x.shape))
        assert_same(getattr(rk, name)(t, axis=axis), getattr(np, name)(x, axis=axis, dtype=wanted.numpy), wanted)
    else:
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        running = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name]
        assert_same(getattr(rk, name)(t, axis=axis), running(x, axis=axis, dtype=wanted.numpy), wanted)


@pytest.mark.parametrize("dtype", FLOATS, **IDS)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "logsumexp"])
@settings(max_examples=8)
@given(data=st.data())
def test_float_statistics_equal_numpy(name: str, dtype: DType, data: st.DataObject) -> None:
    """The dtype stays; values are within the dtype's tolerance of the sum of magnitudes."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=-3.0, high=3.0))
    axis, keepdims = data.draw(axes_of(x.shape)), data.draw(st.booleans())
    exact = x.astype(np.float64)
    got = getattr(rk, name)(t, axis=axis, keepdims=keepdims)
    if name == "logsumexp":
        with np.errstate(all="ignore"):
            expected = np.log(np.exp(exact).sum(axis=axis, keepdims=keepdims))
    else:
        expected = getattr(np, name)(exact, axis=axis, keepdims=keepdims)
    largest = 448.0 if dtype.short == "f8_e4m3" else np.inf
    if (np.abs(expected) > largest).any():
        return
    assert_near(got, expected, dtype, np.sum(np.abs(exact), axis=axis, keepdims=keepdims) + 1e-2)


@pytest.mark.parametrize("dtype", FLOATS, **IDS)
@settings(max_examples=8)
@given(data=st.data())
def test_running_totals_of_floats(dtype: DType, data: st.DataObject) -> None:
    """cumulative_sum and cumulative_prod along any axis, with and without the initial value."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=-2.0, high=2.0))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    exact = x.astype(np.float64)
    assert_near(rk.cumulative_sum(t, axis=axis), exact.cumsum(axis), dtype, np.abs(exact).cumsum(axis))
    assert_near(rk.cumulative_prod(t, axis=axis), exact.cumprod(axis), dtype, 1e-2)
    begun = rk.cumulative_sum(t, axis=axis, include_initial=True)
    zero = np.zeros_like(exact.take([0], axis))
    assert_near(begun, np.concatenate([zero, exact.cumsum(axis)], axis), dtype, np.abs(exact).sum())


@settings(max_examples=10)
@given(data=st.data())
def test_correction_of_the_variance(data: st.DataObject) -> None:
    """The divisor is the count less the correction; none left divides by zero."""
    t, x = data.draw(laid_out(rk.float64, FULL_SHAPES, low=-9.0, high=9.0))
    correction = data.draw(st.sampled_from([0, 1, 0.5]))
    n = x.shape[-1]
    with np.errstate(all="ignore"):
        expected = ((x - x.mean(-1, keepdims=True)) ** 2).sum(-1) / np.float64(max(n - correction, 0))
    got = rk.var(t, axis=-1, correction=correction).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16], **IDS)
def test_short_floats_are_summed_in_f32(dtype: DType) -> None:
    """4096 ones sum to 4096 in f16 and bf16, and the mean of large values does not overflow on the way."""
    assert rk.sum(rk.ones((4096,), dtype=dtype)).item() == 4096
    assert rk.mean(rk.full((1000,), 60000.0, dtype=dtype)).item() == float(np.asarray(60000.0).astype(dtype.numpy))


def test_variance_far_from_zero_is_exact() -> None:
    """Two passes: values around a million with a variance of 1.25 lose nothing."""
    x = rk.asarray(np.array([1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3], np.float32))
    assert rk.var(x).item() == 1.25


@pytest.mark.parametrize("shape", [(3, 40000), (70000,), (2, 3, 33000), (300, 700), (5000, 9), (70000, 2)])
def test_long_rows_and_many_rows(shape: tuple[int, ...]) -> None:
    """Rows that are split in parts, and rows by the thousand, along either end."""
    x = (np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * 7919) % 1000003
    t = rk.asarray(x)
    for axis in {0, len(shape) - 1}:
        assert_same(rk.sum(t, axis=axis), x.sum(axis))
        assert_same(rk.max(t, axis=axis), x.max(axis))
        assert_same(rk.argmax(t, axis=axis), x.argmax(axis))
        assert_same(rk.cumulative_sum(t, axis=axis), x.cumsum(axis))
    assert_same(rk.argmin(t), x.argmin())


def test_empty_reductions() -> None:
    """Sums and products have an identity; extremes of nothing are ValueErrors, as in NumPy; no rows are no error."""
    nothing = rk.zeros((0, 3))
    assert rk.sum(nothing).item() == 0 and rk.prod(nothing, axis=0).tolist() == [1, 1, 1]
    assert rk.any(nothing).item() is False and rk.all(nothing).item() is True
    assert np.isnan(rk.mean(nothing).item())
    assert rk.max(nothing, axis=1).shape == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ShapeError, match=f"{name}: shape .* no elements"):
            getattr(rk, name)(nothing, axis=0)


def test_wrong_axes_are_numpys_errors() -> None:
    """Out of range: ValueError and IndexError; twice: ValueError; a running total of a matrix needs an axis."""
    t = rk.zeros((2, 3))
    with pytest.raises(AxisError, match="sum: axis 2 of 2 dimensions"):
        rk.sum(t, axis=2)
    with pytest.raises(ValueError, match="name an axis twice"):
        rk.mean(t, axis=(0, -2))
    with pytest.raises(ShapeError, match="name the axis"):
        rk.cumulative_sum(t)
    with pytest.raises(ShapeError, match="no dimensions; it takes one or more"):
        rk.cumulative_sum(rk.zeros(()))
    with pytest.raises(AxisError, match="there is no axis to name"):
        rk.argmax(rk.zeros(()), axis=0)


@pytest.mark.parametrize("dtype", NUMBERS, **IDS)
@settings(max_examples=8)
@given(data=st.data())
def test_diff_equals_numpy(dtype: DType, data: st.DataObject) -> None:
    """Differences along an axis, n times, with what is put before and after."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=0 if dtype.is_integer else -4.0, high=4))
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(0, 3))
    wide = x if dtype.is_integer else x.astype(np.float64)
    if dtype.is_float and dtype.itemsize < 8 and n > 1:
        return
    assert_same(rk.diff(t, axis=axis, n=n), np.diff(wide, axis=axis, n=n), dtype, ulp=1)
    joined = rk.diff(t, axis=axis, prepend=t, append=t)
    assert_same(joined, np.diff(wide, axis=axis, prepend=wide, append=wide), dtype, ulp=1)
    assert_same(rk.diff(t, axis=axis, n=0, prepend=t), np.diff(wide, axis=axis, n=0, prepend=wide), dtype)


def test_truth_is_counted_without_its_like_in_int64() -> None:
    """Of long rows too, along either axis of a transposed mask and with a rest behind whole pieces."""
    n = (1 << 20) + 5
    mask = np.random.default_rng(0).random((2, n)) < 0.5
    t, turned = rk.asarray(mask), rk.asarray(np.ascontiguousarray(mask.T)).T
    with rk.Trace() as trace:
        for x in (t, turned):
            assert rk.sum(x, axis=1).tolist() == mask.sum(1).tolist()
            assert rk.count_nonzero(x, axis=1, keepdims=True).tolist() == mask.sum(1, keepdims=True).tolist()
        assert int(rk.sum(t)) == mask.sum() and rk.sum(t).dtype is rk.int64
        assert int(rk.count_nonzero(t.astype(rk.uint8))) == mask.sum()
    assert "cast_bool_i64" not in {row.kernel for row in trace.totals()}
