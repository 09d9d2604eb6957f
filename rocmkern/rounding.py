"""Python numbers and float64 in another dtype, rounded once: to the nearest, halves to even.

ml_dtypes takes float64 to its types by way of float32, and Python takes an integer to float32 by way of float64. A
number on the way that is rounded to odd, its last bit set where anything was cut off, leaves the last rounding right.
Source: Boldo and Melquiond, Emulation of a FMA and Correctly Rounded Sums (2008).
"""

from __future__ import annotations

from math import copysign, ldexp
from typing import Any, Final

import numpy as np

from rocmkern.dtypes import DType, bfloat16, float8_e4m3, float64

_BY_FLOAT32: Final = (bfloat16, float8_e4m3)
_FLOAT64_BITS: Final = 53  # of a significand


def nearest(value: bool | int | float, dtype: DType) -> Any:
    """A number as NumPy's of a float dtype; beyond its range as that converts, infinite or NaN."""
    return nearest_of(widened(value, dtype), dtype)[()]


def widened(value: bool | int | float, dtype: DType) -> float:
    """A float64 that goes to a float dtype as the number itself does. Raises OverflowError for an integer beyond."""
    return _odd_float64(value) if isinstance(value, int) and dtype is not float64 else float(value)


def nearest_of(values: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Values of float64 as an array of a float dtype."""
    wide = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        return (_odd_float32(wide) if dtype in _BY_FLOAT32 else wide).astype(dtype.numpy)


def _odd_float64(value: int) -> float:
    """An integer as a float64 whose last bit tells of those that are cut off."""
    size = abs(value)
    cut = size.bit_length() - _FLOAT64_BITS
    if cut <= 0:
        return float(value)
    kept = size >> cut
    return copysign(ldexp(kept | (kept << cut != size), cut), value)


def _odd_float32(wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """float64 as float32 towards zero, the last bit set where something was cut off."""
    near = wide.astype(np.float32)
    bits = near.reshape(-1).view(np.uint32)
    flat = wide.reshape(-1)
    with np.errstate(invalid="ignore"):
        bits -= np.abs(near.reshape(-1).astype(np.float64)) > np.abs(flat)
        bits |= np.isfinite(flat) & (near.reshape(-1) != flat)
    return near
