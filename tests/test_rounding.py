"""Numbers become elements with one rounding, wherever they enter."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.rounding import nearest

SHORT = (rk.bfloat16, rk.float16, rk.float8_e4m3)


@cache
def finite(dtype: rk.DType) -> tuple[list[Fraction], list[Any]]:
    """All finite numbers of a short dtype in order, from both sides one zero."""
    every = np.arange(1 << dtype.bits, dtype=f"u{dtype.itemsize}").view(dtype.numpy)
    numbers = {Fraction(float(v)): v for v in every if np.isfinite(float(v))}
    return sorted(numbers), [numbers[f] for f in sorted(numbers)]


def by_definition(value: float, dtype: rk.DType) -> float:
    """The nearest number of a dtype to one between its ends, of two as near the one with an even last bit."""
    fractions, numbers = finite(dtype)
    place = bisect_left(fractions, Fraction(value))
    if fractions[place] == value:
        return float(fractions[place])
    below, above = Fraction(value) - fractions[place - 1], fractions[place] - Fraction(value)
    odd = int(np.asarray(numbers[place - 1]).view(f"u{dtype.itemsize}")) & 1
    return float(fractions[place - 1 if below < above or (below == above and not odd) else place])


@given(st.data())
def test_the_nearest_number(data: st.DataObject) -> None:
    """Of float64 and of integers, beside the middle of two neighbours too."""
    dtype = data.draw(st.sampled_from(SHORT))
    fractions, _ = finite(dtype)
    place = data.draw(st.integers(1, len(fractions) - 1))
    middle = float((fractions[place - 1] + fractions[place]) / 2)
    value = data.draw(
        st.sampled_from([middle, float(np.nextafter(middle, np.inf)), float(np.nextafter(middle, -np.inf))])
    )
    assert float(nearest(value, dtype)) == by_definition(value, dtype)


@given(st.integers(-(1 << 127), 1 << 127))
@example((1 << 60) + (1 << 36) + 1)
@example(-(1 << 60) - (1 << 36) - 1)
def test_integers_of_many_bits(value: int) -> None:
    """They become float32 by one rounding, where Python goes by way of float64."""
    near = Fraction(float(nearest(value, rk.float32)))
    beside = [Fraction(float(np.nextafter(np.float32(near), np.float32(end)))) for end in (-np.inf, np.inf)]
    assert all(abs(near - value) <= abs(other - value) for other in beside)


def test_beyond_the_ends() -> None:
    """Infinities and NaN stay; what is too large becomes what the format has for it."""
    assert float(nearest(1e39, rk.bfloat16)) == float("inf")
    assert np.isnan(float(nearest(float("nan"), rk.bfloat16)))
    assert float(nearest(float("-inf"), rk.float32)) == float("-inf")


# Above the middle of 1 and the next number of each dtype by less than float32 shows.
ABOVE = {
    rk.bfloat16: 1 + 2.0**-8 + 2.0**-40,
    rk.float8_e4m3: 1 + 2.0**-4 + 2.0**-40,
    rk.float16: 1 + 2.0**-11 + 2.0**-40,
}
NEXT = {rk.bfloat16: 1 + 2.0**-7, rk.float8_e4m3: 1.125, rk.float16: 1 + 2.0**-10}


def assigned(dtype: rk.DType, value: float) -> rk.Tensor:
    x = rk.zeros(3, dtype=dtype)
    x[1:] = value
    return x


def masked(dtype: rk.DType, value: float) -> rk.Tensor:
    x = rk.zeros(3, dtype=dtype)
    x[rk.asarray([False, True, True])] = value
    return x


def filled(dtype: rk.DType, value: float) -> rk.Tensor:
    x = rk.zeros(3, dtype=dtype)
    x.fill(value)
    return x


ENTRIES: dict[str, Callable[[rk.DType, float], rk.Tensor]] = {
    "asarray": lambda d, v: rk.asarray([v], dtype=d),
    "full": lambda d, v: rk.full(3, v, dtype=d),
    "full_like": lambda d, v: rk.full_like(rk.zeros(3, dtype=d), v),
    "fill": filled,
    "assignment": assigned,
    "mask": masked,
    "where": lambda d, v: rk.where(rk.asarray([True]), v, rk.zeros(1, dtype=d)),
    "clip": lambda d, v: rk.clip(rk.full(1, 3, dtype=d), 0, v),
    "add": lambda d, v: rk.zeros(1, dtype=d) + v,
    "multiply": lambda d, v: rk.ones(1, dtype=d) * v,
    "maximum": lambda d, v: rk.maximum(rk.zeros(1, dtype=d), v),
    "pad": lambda d, v: rk.pad(rk.zeros(0, dtype=d), (0, 1), constant_values=v),
    "linspace": lambda d, v: rk.linspace(v, 8, 9, dtype=d)[:1],
    "linspace_end": lambda d, v: rk.linspace(0, v, 9, dtype=d)[-1:],
    "arange": lambda d, v: rk.arange(v, 8, dtype=d)[:1],
    "insert": lambda d, v: rk.insert(rk.zeros(3, dtype=d), 3, v),
    "nan_to_num": lambda d, v: rk.nan_to_num(rk.full(1, float("nan"), dtype=d), nan=v),
}


@pytest.mark.parametrize("dtype", SHORT, ids=str)
@pytest.mark.parametrize("entry", ENTRIES)
def test_one_rounding(entry: str, dtype: rk.DType) -> None:
    """A number enters as the nearest element."""
    assert float(ENTRIES[entry](dtype, ABOVE[dtype])[-1]) == NEXT[dtype]
