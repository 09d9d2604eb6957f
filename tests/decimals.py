"""Rounding to decimal places by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rocmkern.dtypes import dtype as as_dtype

Array = npt.NDArray[Any]


def rounded_to_places(x: Array, places: int) -> Array:
    """Of each float the one nearest to its multiple of 10^-places; itself where that is beyond the dtype."""
    unit = Fraction(1, 10**places) if places >= 0 else Fraction(10**-places)
    with np.errstate(invalid="ignore"):  # ml_dtypes warns when it meets a signalling NaN
        values = x.astype(np.float64).ravel().tolist()
    return np.array([_rounded(value, unit, x.dtype) for value in values], x.dtype).reshape(x.shape)


def _rounded(value: float, unit: Fraction, dtype: np.dtype[Any]) -> Any:
    if not np.isfinite(value):
        return dtype.type(value)
    nearest = _nearest(abs(round(Fraction(value) / unit) * unit), dtype)
    return dtype.type(value if np.isinf(nearest) else np.copysign(nearest, value))


def _nearest(value: Fraction, dtype: np.dtype[Any]) -> float:
    """The float of the dtype nearest to a fraction from 0 on, halves to even; infinite beyond the largest."""
    digits, lowest, largest = {
        "f16": (11, -24, 65504.0),
        "bf16": (8, -133, 3.3895313892515355e38),
        "f32": (24, -149, float(np.finfo(np.float32).max)),
        "f64": (53, -1074, float(np.finfo(np.float64).max)),
        "f8_e4m3": (4, -9, 448.0),
    }[as_dtype(dtype).short]
    if value == 0:
        return 0.0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - digits + 1, lowest)
    found = round(value / step) * step
    return float("inf") if found > Fraction(largest) else float(found)


def rounded_integer(x: Array, digits: int) -> Array:
    """Of each integer the nearest multiple of 10^digits, halves to even; itself where that is beyond the dtype."""
    limits = np.iinfo(x.dtype)
    found = [(int(v), round(int(v), -digits)) for v in x.ravel()]
    return np.array([r if limits.min <= r <= limits.max else v for v, r in found], x.dtype).reshape(x.shape)
