"""Integers made of numbers: exact, or an error; comparisons of integers with floats."""

from __future__ import annotations

import operator
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rocmkern as rk
from tests.tensor.arrays import INTEGERS

COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62), st.integers(0, 9), st.booleans())
@example(2**53 + 1, 2**53 + 9, 9, True)
@example(0, 2**62, 4, True)
@example(7, -2, 5, False)
def test_linspace_of_integers_is_exact(start: int, stop: int, num: int, endpoint: bool) -> None:
    """Each is the floor of the exact number, beyond 2⁵³ too."""
    parts = (num - 1 if endpoint else num) or 1
    want = [floor(start + Fraction((stop - start) * i, parts)) for i in range(num)]
    assert rk.linspace(start, stop, num, dtype=rk.int64, endpoint=endpoint).tolist() == want


def test_linspace_over_the_whole_of_uint64() -> None:
    """Beyond int64 too, and where the ends are floats that are integers."""
    assert rk.linspace(0, 2**64 - 1, 4, dtype=rk.uint64).tolist() == [i * ((2**64 - 1) // 3) for i in range(4)]
    assert rk.linspace(0.0, 2.0**63, 3, dtype=rk.uint64).tolist() == [0, 2**62, 2**63]
    assert rk.linspace(0, 256, 256, dtype=rk.uint8, endpoint=False).tolist() == list(range(256))
    assert rk.linspace(-0.5, 3.5, 5, dtype=rk.int32).tolist() == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rk.linspace(0, float("inf"), 3, dtype=rk.int32), "linspace: stop inf for int32; use a finite"),
        (lambda: rk.linspace(float("nan"), 1, 3, dtype=rk.int32), "linspace: start nan for int32"),
        (lambda: rk.linspace(0, 300, 3, dtype=rk.uint8), "linspace: 300 is out of bounds for uint8"),
        (lambda: rk.linspace(-0.5, 3, 3, dtype=rk.uint8), "linspace: -1 is out of bounds for uint8"),
        (lambda: rk.linspace(0, 2**64, 3, dtype=rk.uint64), "linspace: 18446744073709551616 is out of bounds"),
        (lambda: rk.arange(0.5, 300, 1, dtype=rk.uint8), "arange: 299 is out of bounds for uint8"),
        (lambda: rk.arange(-1.5, 3, dtype=rk.uint8), "arange: -1 is out of bounds for uint8"),
        (lambda: rk.logspace(0, 10, 3, dtype=rk.int32), "logspace: 10000000000 is out of bounds for int32"),
        (lambda: rk.logspace(0, 400, 3, dtype=rk.int64), "logspace: inf for int64; use a finite"),
        (lambda: rk.geomspace(-300, -1, 3, dtype=rk.int8), "geomspace: -300 is out of bounds for int8"),
        (lambda: rk.asarray([1.5, float("nan")], dtype=rk.int32), "asarray: nan for int32; use a finite"),
        (lambda: rk.asarray([1.5, 1e10], dtype=rk.int32), "asarray: 10000000000 is out of bounds for int32"),
    ],
)
def test_what_no_integer_is(call: Any, words: str) -> None:
    """Infinities, NaN and values outside the dtype are told."""
    with pytest.raises(OverflowError, match=words):
        call()


@given(st.sampled_from(INTEGERS), st.data())
def test_integers_beside_floats_compare_by_value(dtype: rk.DType, data: st.DataObject) -> None:
    """As Python compares int and float, on both sides, whatever float32 would make of them."""
    info = np.iinfo(dtype.numpy)
    near = data.draw(
        st.one_of(st.sampled_from([int(info.min), int(info.max), 0]), st.integers(int(info.min), int(info.max)))
    )
    number = data.draw(
        st.sampled_from([float(near), near + 0.5, near * 2.0, float("inf"), float("-inf"), float("nan")])
    )
    held = [v for v in {near - 1, near, near + 1, int(info.min), int(info.max)} if info.min <= v <= info.max]
    x = rk.asarray(held, dtype=dtype)
    for compare in COMPARISONS:
        assert compare(x, number).tolist() == [compare(v, number) for v in held]
        assert compare(number, x).tolist() == [compare(number, v) for v in held]


def test_numpys_floats_compare_by_value_too() -> None:
    """16777217 is no float32."""
    x = rk.asarray([16777217, 16777216], dtype=rk.int32)
    assert (x == 16777216.0).tolist() == (x == np.float32(16777216)).tolist() == [False, True]
    out = rk.zeros(2, dtype=rk.bool_)
    assert rk.less(x, 16777216.5, out=out) is out
    assert out.tolist() == [False, True]
