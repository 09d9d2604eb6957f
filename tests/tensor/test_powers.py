"""Powers: exact where the result is a number, within a unit in the last place elsewhere, special values as C's."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from tests.tensor.arrays import Array, assert_same, laid_out

BOTH = pytest.mark.parametrize("dtype", [rk.float32, rk.float64], ids=lambda d: d.short)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 7.5, math.inf, -math.inf, math.nan)


def power(base: float, exponent: float) -> float:
    """C's pow, which raises no exceptions."""
    return float(np.power(np.float64(base), np.array([exponent]))[0])  # of a scalar 0.5, NumPy takes the root


def both_ways(x: Array, exponent: float) -> list[Array]:
    """The powers by a number as exponent and by a tensor of it."""
    t = rk.asarray(x)
    return [rk.pow(t, exponent).numpy(), rk.pow(t, rk.full(x.shape, exponent, dtype=t.dtype)).numpy()]


@BOTH
@settings(max_examples=60)
@given(data=st.data())
@example(data=None)
def test_powers_that_are_numbers_are_exact(dtype: DType, data: Any) -> None:
    """Where the digits of base ** exponent fit, there is no error, whichever way the exponent comes."""
    digits = {"f32": 24, "f64": 53}[dtype.short]
    cases = [(7, 3, 0), (2, 16, 0), (171, 2, -1), (2, 11, 0), (3, 5, -2), (10, 7, 0)]
    if data is not None:
        exponent = data.draw(st.integers(2, digits))
        most = int((2.0**digits) ** (1 / exponent))
        cases = [
            (data.draw(st.integers(1, most)), exponent, data.draw(st.integers(-(100 // exponent), 100 // exponent)))
        ]
    for whole, exponent, scale in cases:
        assume(whole**exponent < 2**digits)
        base, want = math.ldexp(whole, scale), math.ldexp(whole**exponent, scale * exponent)
        for sign in (1.0, -1.0):
            for got in both_ways(np.array([sign * base], dtype.numpy), float(exponent)):
                assert got[0] == want * sign**exponent, (sign * base, exponent)
        root = rk.pow(rk.asarray([want], dtype=dtype), rk.asarray([1 / exponent], dtype=dtype)).item()
        if exponent in (2, 4, 8, 16):
            assert root == base, (want, exponent)


@BOTH
@settings(max_examples=60)
@given(data=st.data())
def test_powers_are_within_a_unit_in_the_last_place(dtype: DType, data: st.DataObject) -> None:
    """Of bases near 1 and far from it, with results of any size."""
    most, width = {"f32": (87.0, 32), "f64": (700.0, 64)}[dtype.short]
    near = st.floats(-(2.0**-10), 2.0**-10, width=width).map(lambda x: 1 + x)
    bases = data.draw(st.lists(st.one_of(near, st.floats(2.0**-100, 2.0**100, width=width)), min_size=4, max_size=4))
    x = np.array(bases, dtype.numpy)
    size = np.log(x.astype(np.float64))
    shares = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=4, max_size=4)))
    y = np.where(size == 0, 3, shares * most / np.where(size == 0, 1, size)).astype(dtype.numpy)
    got = rk.pow(rk.asarray(x), rk.asarray(y)).numpy()
    with mpmath.workprec(200):
        for base, exponent, value in zip(x.tolist(), y.tolist(), got, strict=True):
            want = mpmath.power(mpmath.mpf(base), mpmath.mpf(exponent))
            assert abs(want - float(value)) <= float(np.spacing(value)), (base, exponent, value)


@pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16, rk.float32, rk.float64], ids=lambda d: d.short)
def test_special_values_are_those_of_pow_in_c(dtype: DType) -> None:
    """All pairs of them, the sign of zero too: the power of one half of -0 is 0, of -infinity infinity."""
    x = np.array(SPECIAL, dtype.numpy)
    for exponent in SPECIAL:
        with np.errstate(all="ignore"):
            want = np.array([power(float(v), exponent) for v in x]).astype(dtype.numpy)
        for got in both_ways(x, exponent):
            assert_same(rk.asarray(got), want, ulp=1)
            zeros = want == 0
            assert (np.signbit(got) == np.signbit(want))[zeros].all(), (exponent, got, want)


@BOTH
@settings(max_examples=30)
@given(data=st.data())
def test_exponents_that_are_operations_give_what_those_give(dtype: DType, data: st.DataObject) -> None:
    """x**1 is x, x**2 x * x, x**-1 1 / x and x**.5 the square root, bit for bit; x**3 is within a unit of the cube."""
    t, x = data.draw(laid_out(dtype))
    assert_same(t**1, x)
    assert_same(t**2, (t * t).numpy())
    assert_same(t**-1, (1 / t).numpy())
    assert_same(rk.abs(t) ** 0.5, rk.sqrt(rk.abs(t)).numpy())
    with np.errstate(all="ignore"):
        assert_same(t**3, x.astype(np.longdouble) ** 3, dtype, ulp=1)


def test_powers_of_integers_are_exact() -> None:
    """The square and others, which wrap, of a number as exponent and of a tensor."""
    x = np.array([0, 1, -1, 3, -7, 46340, 46341, 2**31 - 1], np.int32)
    for exponent in (0, 1, 2, 3, 5):
        assert_same(rk.asarray(x) ** exponent, x**exponent)
        assert_same(rk.pow(rk.asarray(x), rk.full(x.shape, exponent, dtype=rk.int32)), x**exponent)
