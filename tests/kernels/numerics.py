"""Values to try and distances in units in the last place, for every dtype."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from rocmkern import dtypes
from rocmkern.dtypes import DType

Array = npt.NDArray[Any]

# Units in the last place by which a function's result may differ from the correctly rounded one.
TOLERANCE: Final[dict[DType, int]] = {
    dtypes.float8_e4m3: 1,
    dtypes.float16: 1,
    dtypes.bfloat16: 1,
    dtypes.float32: 2,
    dtypes.float64: 4,
}


def bits_type(dtype: DType) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


def ordinals(values: Array) -> Array:
    """Neighbouring floats get neighbouring integers; both zeros get 0."""
    width = values.dtype.itemsize * 8
    bits = values.view(f"u{width // 8}").astype(object if width == 64 else np.int64)
    sign = 1 << (width - 1)
    return np.where(bits >= sign, sign - bits, bits)


def is_nan(values: Array) -> Array:
    with np.errstate(invalid="ignore"):  # ml_dtypes warns when it meets a signalling NaN
        return np.isnan(values)


def distances(got: Array, wanted: Array) -> Array:
    """Units in the last place between the elements; NaN is as far as can be from a number."""
    nan, wanted_nan = is_nan(got), is_nan(wanted)
    steps = np.where(nan | wanted_nan, 0, abs(ordinals(got) - ordinals(wanted)))
    return np.where(nan != wanted_nan, np.inf, steps)


def assert_close(got: Array, wanted: Array, ulps: int, inputs: tuple[Array, ...]) -> None:
    """Fails with the worst element and what it came from."""
    steps = distances(got, wanted)
    worst = int(np.argmax(steps))
    if steps[worst] > ulps:
        came = ", ".join(repr(i[worst]) for i in inputs)
        count = np.count_nonzero(steps > ulps)
        raise AssertionError(
            f"f({came}) is {got[worst]!r}, wanted {wanted[worst]!r}: {steps[worst]} ulp, allowed {ulps}; "
            f"{count} of {steps.size} elements are off"
        )


def assert_signs_of_zero(got: Array, wanted: Array, inputs: tuple[Array, ...]) -> None:
    """Fails where a zero has the other sign."""
    wrong = np.flatnonzero((wanted == 0) & (np.signbit(got) != np.signbit(wanted)))
    if wrong.size:
        came = ", ".join(repr(i[wrong[0]]) for i in inputs)
        raise AssertionError(
            f"f({came}) is {got[wrong[0]]!r}, wanted {wanted[wrong[0]]!r}; {wrong.size} elements are off"
        )


@cache
def _specials(dtype: DType) -> Array:
    limits = ml_dtypes.finfo(dtype.numpy)
    plain = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 20.0, 88.0, 100.0, 0.1, 0.7, np.pi, np.inf, np.nan]
    edges = [float(v) for v in (limits.max, limits.smallest_normal, limits.smallest_subnormal, limits.eps)]
    values = np.array(plain + edges)
    return np.concatenate([values, -values]).astype(dtype.numpy)


@cache
def floats(dtype: DType, count: int = 3000) -> Array:
    """Every value of an 8- or 16-bit format; of a wider one the special values, and random ones of all magnitudes."""
    if dtype.itemsize <= 2:
        return np.arange(1 << dtype.bits, dtype=bits_type(dtype)).view(dtype.numpy)
    rng = np.random.default_rng(dtype.bits)
    part = count // 4
    anything = rng.integers(0, 1 << dtype.bits, part, dtype=bits_type(dtype), endpoint=False).view(dtype.numpy)
    scaled = [(rng.standard_normal(part) * scale).astype(dtype.numpy) for scale in (1, 10, 100)]
    return np.concatenate([_specials(dtype), anything, *scaled])


@cache
def integers(dtype: DType, count: int = 1500, seed: int = 0) -> Array:
    """The ends of the range, small numbers and random ones."""
    if dtype.kind == "bool":
        return np.random.default_rng(seed).integers(0, 2, count).astype(np.bool_)
    limits = np.iinfo(dtype.numpy)
    rng = np.random.default_rng(dtype.bits + seed)
    ends = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1, 2, 3]
    small = rng.integers(max(limits.min, -9), 10, count // 2, dtype=dtype.numpy)
    wide = rng.integers(limits.min, limits.max, count // 2, dtype=dtype.numpy, endpoint=True)
    return np.concatenate([np.array(ends, dtype.numpy), small, wide])


def values(dtype: DType) -> Array:
    return floats(dtype) if dtype.is_float else integers(dtype)


def pairs(dtype: DType, count: int = 2000) -> tuple[Array, Array]:
    """Two arrays of one length: every special value with every other, then random pairs, some of them equal."""
    rng = np.random.default_rng(7)
    base = _specials(dtype) if dtype.is_float else integers(dtype, 16)
    left, right = (a.ravel() for a in np.meshgrid(base, base))
    pool = floats(dtype) if dtype.is_float else integers(dtype)
    x, y = rng.choice(pool, count), rng.choice(pool, count)
    y[::5] = x[::5]
    if dtype.is_float:
        near = rng.standard_normal((2, count)).astype(np.float64) * 4
        x, y = np.concatenate([x, near[0].astype(dtype.numpy)]), np.concatenate([y, near[1].astype(dtype.numpy)])
    return np.concatenate([left, x]), np.concatenate([right, y])


def exact(x: Array, dtype: DType) -> Array:
    """The values in a format with digits to spare: long double for f64, f64 for the rest."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.longdouble if dtype is dtypes.float64 else np.float64)


def rounded(x: Array, dtype: DType) -> Array:
    """Rounded once to the dtype, overflow to what the format has for it."""
    with np.errstate(all="ignore"):
        if dtype.itemsize == 1:  # ml_dtypes goes through f32, which may round twice
            return x.astype(np.float64).astype(dtype.numpy)
        return x.astype(dtype.numpy)
