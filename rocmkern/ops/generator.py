"""Random numbers on the device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from rocmkern import default_dtypes
from rocmkern.dtypes import DType, bool_, float32, int64, uint64
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import DTypeError, ScalarRangeError, ShapeError
from rocmkern.kernels.catalogue import bits_type
from rocmkern.kernels.families.random import FLOATS
from rocmkern.layout import normal_axis, normal_integer, normal_shape
from rocmkern.locks import Lock
from rocmkern.ops import distributions
from rocmkern.ops.creation import arange
from rocmkern.ops.elementwise import as_tensor, real_float, same_device
from rocmkern.ops.indexing import searchsorted, take
from rocmkern.ops.launch import empty, kernel
from rocmkern.ops.manipulation import reshape
from rocmkern.ops.reduction import cumulative_sum
from rocmkern.ops.sorting import order
from rocmkern.promotion import check_range
from rocmkern.runtime import Device
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.tensor import Tensor

Size = int | Sequence[int] | None
_WORDS: Final = 4  # that one counter gives
_COUNTERS: Final = 1 << 64


class Generator:
    """Draws random numbers on one device, the same ones for the same seed on every device.

    Bits come from Philox-4x64-10 under the key that NumPy's `Philox(seed)` has, so what a fresh generator draws first
    with `random` (float32 and float64) is what `numpy.random.Generator(numpy.random.Philox(seed)).random` draws. Each
    draw begins with a new counter, where NumPy's goes on within one; other distributions are worked out in other ways.
    Several threads may draw from one generator. Source: Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3
    (SC 2011).
    """

    def __init__(self, seed: int | Sequence[int] | None = None, *, device: DeviceLike = None) -> None:
        try:
            key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Generator: seed {seed!r}; use an integer ≥ 0, several, or None") from None
        self._place(int(key[0]), int(key[1]), 1, open_device(device))

    def _place(self, key0: int, key1: int, counter: int, device: Device) -> None:
        self.device, self._key, self._counter, self._lock = device, (key0, key1), counter, Lock("generator")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (*self._key, self._counter, self.device.info.name)

    def __repr__(self) -> str:
        return f"Generator(key={self._key}, counter={self._counter}, device={self.device.info.name})"

    def random(self, size: Size = None, dtype: DType | None = None) -> Tensor:
        """Uniform numbers at least 0 and below 1: multiples of 2⁻⁵³ (float64), 2⁻²⁴, 2⁻¹¹ (float16) or 2⁻⁸."""
        return self._floats("random", "uniform", size, dtype, 1.0, 0.0)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None, dtype: DType | None = None) -> Tensor:
        """Uniform numbers at least `low` and below `high`, which rounding may reach."""
        first, end = (real_float("uniform", v, w) for v, w in ((low, "low"), (high, "high")))
        return self._floats("uniform", "uniform", size, dtype, end - first, first)

    def standard_normal(self, size: Size = None, dtype: DType | None = None) -> Tensor:
        """Normal numbers of mean 0 and standard deviation 1, none beyond 6.7 (float64: 9.5)."""
        return self._floats("standard_normal", "normal", size, dtype, 1.0, 0.0)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: DType | None = None) -> Tensor:
        """Normal numbers of that mean and standard deviation. Raises ShapeError for a scale below 0."""
        middle, deviation = (real_float("normal", v, w) for v, w in ((loc, "loc"), (scale, "scale")))
        if not deviation >= 0:
            raise ShapeError(f"normal: scale {scale}; use 0 or more")
        return self._floats("normal", "normal", size, dtype, deviation, middle)

    def integers(
        self, low: int, high: int | None = None, size: Size = None, dtype: DType = int64, *, endpoint: bool = False
    ) -> Tensor:
        """Integers from `low` up to, without `endpoint` not including, `high`; from 0 up to `low` without `high`.

        Each is as likely as the next but for one part in 2⁶⁴ / their number. bool takes 0 and 1. Raises ShapeError
        where there is no such integer, ScalarRangeError where the dtype can't hold one.
        """
        wanted = as_dtype(dtype)
        if not (wanted.is_integer or wanted is bool_):
            raise DTypeError(f"integers: dtype {wanted}; use an integer dtype or bool")
        first = 0 if high is None else normal_integer(low, "integers", "low")
        last = normal_integer(low if high is None else high, "integers", "high") - (not endpoint)
        if last < first:
            raise ShapeError(f"integers: none from {first} to {last}; raise high")
        for end in (first, last):
            if wanted is bool_ and end not in (0, 1):
                raise ScalarRangeError(f"integers: {end} is out of bounds for bool; it holds 0 and 1")
            check_range(end, wanted, "integers")
        result = empty(_shape(size, "integers"), wanted, self.device)
        symbol = f"random_integers_{bits_type(wanted).short}"
        return self._drawn(symbol, _WORDS, result, first % _COUNTERS, (last - first + 1) % _COUNTERS)

    def permutation(self, x: int | Tensor, axis: int = 0) -> Tensor:
        """The slices of a tensor along an axis, or the integers below a number, in random order; a copy."""
        if isinstance(x, Tensor):
            same_device("permutation", self.device, x)
            at = normal_axis(axis, x.ndim, "permutation")
            return take(x, self._order(x.shape[at]), axis=at)
        return self._order(_count(x, "permutation"))

    def _order(self, n: int) -> Tensor:
        return order(self.integers(0, 1 << 64, n, uint64))

    def choice(
        self, a: int | Tensor, size: Size = None, replace: bool = True, p: Tensor | None = None, axis: int = 0
    ) -> Tensor:
        """Slices of a tensor along an axis, or integers below a number, drawn at random.

        Without `replace` none is drawn twice. `p` has the probability of each, floats that sum to 1; it is for draws
        that replace. Raises ShapeError where there are not enough to draw from, or p has another length.
        """
        source = a if isinstance(a, Tensor) else arange(_count(a, "choice"), device=self.device)
        at, shape = normal_axis(axis, source.ndim, "choice"), _shape(size, "choice")
        for given in (source, *([] if p is None else [as_tensor("choice", p)])):
            same_device("choice", self.device, given)
        n, drawn = source.shape[at], prod(shape)
        if drawn > (n if not replace else drawn * n):
            raise ShapeError(f"choice: {drawn} of {n}{'' if replace else ' without replacement'}; draw fewer")
        if p is not None:
            if not replace or p.shape != (n,) or not p.dtype.is_float:
                raise ShapeError(
                    f"choice: p of {p.dtype} and shape {p.shape} for {n} slices; give a float for each, and replace"
                )
            ends = cumulative_sum(p, dtype=float32 if p.dtype.itemsize < 4 else p.dtype)
            share = self.random(drawn, ends.dtype) * ends[-1]
            places = searchsorted(ends, share, side="right")
        elif replace:
            places = self.integers(0, n, drawn) if drawn else arange(0, device=self.device)
        else:
            places = self._order(n)[:drawn]
        taken = take(source, places, axis=at)
        return reshape(taken, (*source.shape[:at], *shape, *source.shape[at + 1 :]))

    shuffle, multivariate_normal = distributions.shuffle, distributions.multivariate_normal
    exponential, standard_exponential = distributions.exponential, distributions.standard_exponential
    gamma, standard_gamma, chisquare = distributions.gamma, distributions.standard_gamma, distributions.chisquare
    beta, lognormal = distributions.beta, distributions.lognormal
    standard_t, standard_cauchy = distributions.standard_t, distributions.standard_cauchy
    poisson, binomial = distributions.poisson, distributions.binomial

    def _floats(
        self, operation: str, name: str, size: Size, dtype: DType | None, scale: float, offset: float
    ) -> Tensor:
        wanted = default_dtypes.floating(dtype)
        if wanted not in FLOATS:
            raise DTypeError(f"{operation}: dtype {wanted}; use {', '.join(t.name for t in FLOATS)}")
        result = empty(_shape(size, operation), wanted, self.device)
        lanes = _WORDS if wanted.itemsize == 8 else 2 * _WORDS
        return self._drawn(f"random_{name}_{wanted.short}", lanes, result, scale, offset)

    def _drawn(self, symbol: str, lanes: int, result: Tensor, *arguments: float) -> Tensor:
        counters = -(-result.size // lanes)
        if counters:
            with self._lock:
                first, self._counter = self._counter, (self._counter + counters) % _COUNTERS
            kernel(self.device, symbol)(counters, result.size, *self._key, first, *arguments, result.address)
        return result


def default_rng(seed: int | Sequence[int] | None = None, *, device: DeviceLike = None) -> Generator:
    """A generator, by the name that NumPy has for it; without a seed of the operating system's randomness."""
    return Generator(seed, device=device)


def _shape(size: Size, operation: str) -> tuple[int, ...]:
    return () if size is None else normal_shape(size, operation)


def _count(n: object, operation: str) -> int:
    count = normal_integer(n, operation, "number")
    if count < 0:
        raise ShapeError(f"{operation}: the integers below {count}; use 0 or more, or a tensor")
    return count


def _restored(key0: int, key1: int, counter: int, device: str) -> Generator:
    result = Generator.__new__(Generator)
    result._place(key0, key1, counter, open_device(device))
    return result
