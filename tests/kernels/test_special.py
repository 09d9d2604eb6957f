"""special: closeness, truths of two and numbers for NaN, on contiguous operands and on others, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import COMPLEX, DType
from rocmkern.kernels.catalogue import FLOATS, INTEGERS
from rocmkern.runtime import Device

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
NUMBERS = [0.0, -0.0, 1.0, 1.5, 2.0, -2.0, 448.0, np.inf, -np.inf, np.nan]


def drawn(shape: tuple[int, ...], dtype: DType) -> Array:
    x = RNG.choice(NUMBERS, shape)
    with np.errstate(invalid="ignore"):
        return np.asarray((x + 1j * RNG.choice(NUMBERS, shape) if dtype.is_complex else x).astype(dtype.numpy))


def wide(x: Array) -> Array:
    return x if x.dtype.kind in "bc" else x.astype(np.float64)


def on(device: Device, x: Array) -> tuple[rk.Tensor, rk.Tensor]:
    """The array twice: contiguous, and as the transposition of one that is."""
    return rk.asarray(x, device=device), rk.asarray(np.ascontiguousarray(x.T), device=device).T


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX], ids=lambda d: d.short)
def test_closeness(device: Device, dtype: DType) -> None:
    """Far from the limit, where rounding does not count; NaN is close to NaN if asked for."""
    x, y = drawn((37, 9), dtype), drawn((37, 9), dtype)
    for first, second in zip(on(device, x), on(device, y), strict=True):
        for equal_nan in (False, True):
            got = rk.isclose(first, second, rtol=2.0**-6, atol=0.25, equal_nan=equal_nan)
            with np.errstate(invalid="ignore"):
                want = np.isclose(wide(x), wide(y), rtol=2.0**-6, atol=0.25, equal_nan=equal_nan)
            np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.short)
def test_truths_of_two(device: Device, dtype: DType) -> None:
    """And, or and exclusive or of what is not zero, whichever bit that is."""
    top = np.array([0, 0, 1, np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max], dtype.numpy)
    x, y = RNG.choice(top, (37, 9)), RNG.choice(top, (37, 9))
    for name in ("logical_and", "logical_or", "logical_xor"):
        want = getattr(np, name)(x, y)
        for first, second in zip(on(device, x), on(device, y), strict=True):
            np.testing.assert_array_equal(getattr(rk, name)(first, second).numpy(), want)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_numbers_for_nan(device: Device, dtype: DType) -> None:
    """NaN, infinity and its negative become the numbers given; all else stays, signs of zeros too."""
    x = drawn((37, 9), dtype)
    values = wide(x)
    want = np.where(np.isnan(values), 3, np.where(values == np.inf, 5, np.where(values == -np.inf, -7, values)))
    for t in on(device, x):
        got = wide(rk.nan_to_num(t, nan=3.0, posinf=5.0, neginf=-7.0).numpy())
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.short)
def test_products_of_short_lines(device: Device, dtype: DType) -> None:
    """Running products of whole numbers, which are exact, along either axis."""
    x = (RNG.integers(-2, 3, (5, 6)) + 1j * RNG.integers(-2, 3, (5, 6))).astype(dtype.numpy)
    for t in on(device, x):
        for axis in (0, 1):
            np.testing.assert_array_equal(rk.cumulative_prod(t, axis=axis).numpy(), np.cumprod(x, axis))
