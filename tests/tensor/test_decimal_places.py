"""`round` to decimal places: the nearest number to the decimal multiple, or the value itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from tests.decimals import rounded_integer, rounded_to_places
from tests.tensor.arrays import FLOATS, INTEGERS, assert_same, laid_out

IDS = {"ids": lambda d: d.short}


@pytest.mark.parametrize("dtype", FLOATS, **IDS)
@settings(max_examples=25)
@given(data=st.data(), places=st.integers(-12, 45) | st.integers(-400, 400) | st.integers(-4, 4))
def test_floats_round_to_the_nearest_number(dtype: DType, data: st.DataObject, places: int) -> None:
    """Of any size, to any number of places, with nothing that overflows on the way."""
    t, x = data.draw(laid_out(dtype))
    got = rk.round(t, places)
    want = rounded_to_places(x, places)
    assert_same(got, want)
    assert (np.signbit(got.numpy()) == np.signbit(x))[~np.isnan(x.astype(np.float64))].all()


@pytest.mark.parametrize("dtype", INTEGERS, **IDS)
@settings(max_examples=25)
@given(data=st.data(), places=st.integers(-22, 3))
def test_integers_round_to_multiples(dtype: DType, data: st.DataObject, places: int) -> None:
    """Halves to even; to what is beyond the dtype an integer does not round."""
    t, x = data.draw(laid_out(dtype))
    assert_same(t.round(places), rounded_integer(x, max(-places, 0)))


def test_rounding_that_went_wrong() -> None:
    """No overflow in float16, none near the end of int64, no error for many places."""
    assert rk.asarray([1235.0], dtype=rk.float16).round(2).tolist() == [1235.0]
    assert rk.asarray([0.333], dtype=rk.float16).round(7).tolist() == [float(np.float16(0.333))]
    assert rk.asarray([2**63 - 8, -(2**63), 25, 35]).round(-1).tolist() == [2**63 - 8, -(2**63), 20, 40]
    assert rk.asarray([1.5, 2e300], dtype=rk.float64).round(400).tolist() == [1.5, 2e300]
    assert rk.asarray([1.5, 2e300], dtype=rk.float64).round(-400).tolist() == [0.0, 0.0]
    assert rk.asarray([0.285, 2.675, 1.005]).round(2).dtype is rk.float32


@settings(max_examples=15)
@given(data=st.data(), places=st.integers(-5, 12))
def test_complex_numbers_round_by_their_parts(data: st.DataObject, places: int) -> None:
    """Each as a number of its own."""
    t, x = data.draw(laid_out(rk.complex128))
    got = t.round(places)
    assert_same(rk.real(got), rounded_to_places(x.real, places))
    assert_same(rk.imag(got), rounded_to_places(x.imag, places))
