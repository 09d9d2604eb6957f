"""The angle of a point: within a unit in the last place, with C's special values."""

from __future__ import annotations

from itertools import product
from math import atan2, inf, nan
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType

SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 5e-324, -5e-324, 1e-45, -1e-45, 3e38, -3e38, 1.7e308, -1.7e308)
BOTH = pytest.mark.parametrize("dtype", [rk.float32, rk.float64], ids=lambda d: d.short)


@BOTH
@pytest.mark.parametrize("reach", ["alike", "any", "long"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_angles_are_within_a_unit_in_the_last_place(dtype: DType, reach: str, seed: int) -> None:
    """Of legs of any lengths, alike and not, subnormal and the longest ones."""
    info, rng = np.finfo(dtype.numpy), np.random.default_rng(seed)
    low, high = {
        "alike": (-3, 3),
        "any": (info.minexp - info.nmant, info.maxexp),
        "long": (info.maxexp - 4, info.maxexp),
    }[reach]
    y, x = np.ldexp(rng.uniform(-1, 1, (2, 64)), rng.integers(low, high, (2, 64))).astype(dtype.numpy)
    got = rk.atan2(rk.asarray(y), rk.asarray(x)).numpy()
    want = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert (np.abs(got - want) <= np.spacing(np.abs(got))).all()


@pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16, rk.float32, rk.float64], ids=lambda d: d.short)
def test_special_values_are_those_of_atan2_in_c(dtype: DType) -> None:
    """All pairs of them, the sign of zero too."""
    with np.errstate(all="ignore"):
        y, x = np.array(list(product(SPECIAL, SPECIAL))).T.astype(dtype.numpy)
        want = np.array([atan2(float(a), float(b)) for a, b in zip(y, x, strict=True)]).astype(dtype.numpy)
    got = rk.atan2(rk.asarray(y), rk.asarray(x)).numpy()
    assert np.array_equal(got, want, equal_nan=True)
    assert np.array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])
