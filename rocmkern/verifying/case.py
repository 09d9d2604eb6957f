"""One call on tensors, what NumPy gives for it, and how far apart the two may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import field, frozen

from rocmkern.dtypes import DType
from rocmkern.dtypes import dtype as dtype_of

Array = np.ndarray[Any, Any]
_DIGITS = {"f8_e4m3": (3, -6), "f16": (10, -14), "bf16": (7, -126), "f32": (23, -126), "f64": (52, -1022)}
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)


def _each(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


@frozen(eq=False)
class Case:
    """`call` takes tensors of `arrays`, `reference` the arrays themselves with floats widened; each gives one result or
    several.

    A result is right within `ulps` units in the last place of its own dtype, taken at each element or, where
    `of_largest`, at the largest one; 0 demands the very value. Where `grows`, more rows in the arrays that have as many
    as the first make a larger case of the same kind, which is timed. Without a reference, only bits are compared.
    """

    name: str
    call: Callable[..., Any]
    arrays: tuple[Array, ...]
    reference: Callable[..., Any] | None = None
    ulps: float = field(default=0.0, kw_only=True)
    of_largest: bool = field(default=False, kw_only=True)
    grows: bool = field(default=False, kw_only=True)

    def results(self, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        return _each(self.call(*tensors))

    def error(self, results: tuple[Array, ...]) -> float:
        """The largest difference from NumPy's over what is allowed: 1 is as much as that, infinity no result at all."""
        if self.reference is None:
            return 0.0
        with np.errstate(all="ignore"):
            wanted = _each(self.reference(*map(wide, self.arrays)))
            pairs = zip(results, map(np.asarray, wanted), strict=True)
            return max(_error(got, want, self.ulps, self.of_largest) for got, want in pairs)

    def grown(self, nbytes: int) -> tuple[Array, ...]:
        """The arrays with their rows repeated until they have about as many bytes together."""
        rows = len(self.arrays[0])
        times = max(1, nbytes // sum(a.nbytes for a in self.arrays))
        return tuple(np.tile(a, (times, *(1,) * (a.ndim - 1))) if _has_rows(a, rows) else a for a in self.arrays)


def _has_rows(a: Array, rows: int) -> bool:
    return a.ndim > 0 and len(a) == rows


def wide(x: Array) -> Array:
    """Values in a type with digits to spare: long double for f64, f64 for shorter floats, integers as they are."""
    t = dtype_of(x.dtype)
    if t.is_complex:
        return x.astype(np.clongdouble)
    return x.astype(np.longdouble if t.short == "f64" else np.float64) if t.is_float else x


def spacing(values: Array, t: DType) -> Array:
    """The distance of `t`'s numbers at each value, at least that at its smallest normal number."""
    mantissa, smallest = _DIGITS[t.short]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        found: Array = np.ldexp(np.longdouble(1), np.maximum(exponent - 1, smallest) - mantissa)
    return found


def bits(x: Array) -> bytes:
    """The bytes of an array in which a NaN is a NaN: its sign and payload are nobody's promise."""
    if x.dtype.kind == "c":
        return bits(np.stack([x.real, x.imag]))
    is_float = x.dtype.kind not in "biu"
    return np.where(np.isnan(x), x.dtype.type(np.nan), x).tobytes() if is_float else x.tobytes()


def _error(got: Array, want: Array, ulps: float, of_largest: bool) -> float:
    if got.shape != want.shape:
        return float("inf")
    if got.dtype.kind == "c":
        scale = np.abs(want)
        parts = ((got.real, want.real), (got.imag, want.imag))
        return max(_error_of_reals(g, w, scale, ulps, of_largest) for g, w in parts)
    if got.dtype.kind in "biu":
        return 0.0 if np.array_equal(got, want) else float("inf")
    return _error_of_reals(got, want, np.abs(want), ulps, of_largest)


def _error_of_reals(got: Array, want: Array, scale: Array, ulps: float, of_largest: bool) -> float:
    rounded = want.astype(got.dtype).astype(np.longdouble)
    have, finite = got.astype(np.longdouble), np.isfinite(rounded)
    if not np.array_equal(have[~finite], rounded[~finite], equal_nan=True) or not np.isfinite(have[finite]).all():
        return float("inf")
    if not ulps:
        return 0.0 if np.array_equal(have[finite], rounded[finite]) else float("inf")
    sizes = scale[finite].astype(np.longdouble)
    if not sizes.size:
        return 0.0
    allowed = ulps * spacing(np.full_like(sizes, sizes.max()) if of_largest else sizes, dtype_of(got.dtype))
    return float((np.abs(have[finite] - want[finite].astype(np.longdouble)) / allowed).max())


def floats(t: DType, *shape: int, special: bool = True, seed: int = 0) -> Array:
    """Numbers of several magnitudes; with zeros, infinities and NaN among them where the dtype has them."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape) * (1 if t.itemsize == 1 else 2.0 ** rng.integers(-4, 4, shape))
    if special and t.itemsize > 1:
        values = np.where(rng.random(shape) < 0.1, rng.choice(np.array(_SPECIAL), shape), values)
    return values.astype(t.numpy)


def whole(t: DType, *shape: int, seed: int = 0) -> Array:
    """Small whole numbers, whose sums and products are exact in any order."""
    low = 0 if t.kind in ("unsigned", "bool") else -3
    return np.random.default_rng([seed, *shape]).integers(low, 4, shape).astype(t.numpy)


def integers(t: DType, *shape: int, seed: int = 0) -> Array:
    """Any integers of the dtype, its ends among them."""
    rng = np.random.default_rng([seed, *shape])
    if t.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    ends = np.iinfo(t.numpy)
    values = rng.integers(ends.min, ends.max, shape, t.numpy, endpoint=True)
    return np.where(rng.random(shape) < 0.2, rng.choice(np.array([0, 1, ends.min, ends.max], t.numpy), shape), values)


def numbers(t: DType, *shape: int, special: bool = True, seed: int = 0) -> Array:
    """What `t` can hold: `floats`, `integers`, or complex numbers."""
    if t.is_complex:
        parts = np.random.default_rng([seed, *shape]).standard_normal((2, *shape))
        found: Array = (parts[0] + 1j * parts[1]).astype(t.numpy)
        return found
    return floats(t, *shape, special=special, seed=seed) if t.is_float else integers(t, *shape, seed=seed)
