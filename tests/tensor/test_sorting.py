"""Sorting and set functions against NumPy: stable, NaN last, rows short and long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import REAL, DType
from rocmkern.errors import AxisError, ShapeError
from tests.tensor.arrays import FULL_SHAPES, SHAPES, assert_same, laid_out

DTYPES = st.sampled_from(REAL)
BY_DTYPE = pytest.mark.parametrize("dtype", REAL, ids=lambda d: d.short)


def order_of(x: Any, axis: int, descending: bool) -> Any:
    """The stable order, NaN being the largest value."""
    wide = x.astype(np.float64) if rk.dtype(x.dtype).is_float else x
    if not descending:
        return np.argsort(wide, axis, kind="stable")
    back = np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)
    return wide.shape[axis] - 1 - back


@BY_DTYPE
@settings(max_examples=12)
@given(data=st.data())
def test_sort_and_argsort_are_stable(dtype: DType, data: st.DataObject) -> None:
    """Any axis of any layout, up and down; equal values keep their order."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    axis, descending = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    order = order_of(x, axis, descending)
    assert_same(rk.argsort(t, axis=axis, descending=descending), order)
    assert_same(rk.sort(t, axis=axis, descending=descending), np.take_along_axis(x, order, axis), dtype)


@pytest.mark.parametrize("dtype", [rk.uint8, rk.int16, rk.float32, rk.int64, rk.bfloat16], ids=lambda d: d.short)
@pytest.mark.parametrize("columns", [4096, 4097, 9000])
def test_long_rows(dtype: DType, columns: int) -> None:
    """Rows beyond one block go by radix, with the same order."""
    numbers = (np.arange(2 * columns) * 7919 % 10007 - 5000) % (200 if dtype is rk.uint8 else 20000)
    x = numbers.astype(dtype.numpy).reshape(2, columns)
    t = rk.asarray(x)
    for descending in (False, True):
        order = order_of(x, 1, descending)
        assert_same(rk.argsort(t, descending=descending), order)
        assert_same(rk.sort(t, descending=descending), np.take_along_axis(x, order, 1), dtype)


def test_rows_by_the_thousand() -> None:
    """65,537 rows of four values: more than a 16-bit grid axis holds."""
    x = np.tile(np.array([3, 1, 2, 0], np.int32), (65537, 1))
    assert (rk.argsort(rk.asarray(x)).numpy() == [3, 1, 2, 0]).all()


@BY_DTYPE
@settings(max_examples=8)
@given(data=st.data())
def test_top_k(dtype: DType, data: st.DataObject) -> None:
    """The first k of the sorted values with their positions; NaN is the largest."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k, largest = data.draw(st.integers(0, x.shape[axis])), data.draw(st.booleans())
    order = order_of(x, axis, largest).take(range(k), axis)
    got, where = rk.top_k(t, k, axis=axis, largest=largest)
    assert_same(where, order)
    assert_same(got, np.take_along_axis(x, order, axis), dtype)


@BY_DTYPE
@settings(max_examples=10)
@given(data=st.data())
def test_set_functions(dtype: DType, data: st.DataObject) -> None:
    """Distinct values in order; first places, inverse and counts; every NaN is distinct."""
    t, x = data.draw(laid_out(dtype))
    wide = x.astype(np.float64) if dtype.is_float else x
    values, places, inverse, counts = np.unique(
        wide, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    got = rk.unique_all(t)
    assert_same(got.values, values, dtype)
    assert_same(rk.unique_values(t), values, dtype)
    assert_same(rk.unique_counts(t).values, values, dtype)
    assert_same(got.counts, counts)
    assert_same(rk.unique_counts(t).counts, counts)
    assert_same(got.indices, places)
    if not np.isnan(wide.astype(np.float64)).any():
        assert_same(got.inverse_indices, inverse.reshape(x.shape))
        assert_same(rk.unique_inverse(t).inverse_indices, inverse.reshape(x.shape))
    rebuilt = rk.take(got.values, rk.reshape(got.inverse_indices, -1)) if x.size else rk.reshape(t, -1)
    assert_same(rebuilt, x.reshape(-1), dtype)


@BY_DTYPE
@settings(max_examples=10)
@given(data=st.data())
def test_isin(dtype: DType, data: st.DataObject) -> None:
    """Whether each value is among the others; NaN never is; also inverted, and for a number."""
    t, x = data.draw(laid_out(dtype))
    u, y = data.draw(laid_out(dtype, SHAPES))
    wide = (lambda a: a.astype(np.float64)) if dtype.is_float else (lambda a: a)
    assert_same(rk.isin(t, u), np.isin(wide(x), wide(y)))
    assert_same(rk.isin(t, u, invert=True), np.isin(wide(x), wide(y), invert=True))
    one = True if dtype.kind == "bool" else 1
    assert_same(rk.isin(t, one), np.isin(wide(x), np.array(one)))


def test_errors() -> None:
    """Axes out of range and too large a k."""
    with pytest.raises(AxisError, match="sort: axis 1 of 1"):
        rk.sort(rk.zeros((2,)), axis=1)
    with pytest.raises(ShapeError, match="top_k: 3 of 2 values"):
        rk.top_k(rk.zeros((2,)), 3)
