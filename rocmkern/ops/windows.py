"""Windows of signal processing, and the Bessel function that one of them takes; worked out in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial, pi, prod

from rocmkern import default_dtypes
from rocmkern.dtypes import DType, float64
from rocmkern.layout import normal_integer
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import clip
from rocmkern.ops.creation import arange, asarray, ones
from rocmkern.ops.elementwise import as_tensor, real_float
from rocmkern.ops.indexing import where
from rocmkern.ops.reduction import as_floats
from rocmkern.ops.rows_binary import add, divide, less, maximum, multiply, subtract
from rocmkern.ops.rows_unary import abs, cos, exp, sqrt, square
from rocmkern.ops.series import polyval
from rocmkern.runtime.device import DeviceLike
from rocmkern.tensor import Tensor

_ASYMPTOTIC_FROM = 25.0  # there the terms of the series fall below 2⁻⁵³ before they grow again
_INFINITE_FROM = 1000.0  # from 714 on


@cache
def _near_zero() -> list[float]:
    """Σ (x²/4)ᵏ / k!² by falling powers of x²/4."""
    return [1 / factorial(k) ** 2 for k in range(60, -1, -1)]


@cache
def _far_out() -> list[float]:
    """√(2πx)·e⁻ˣ·I₀(x) ~ Σ ((2k-1)!!)² / (k!·(8x)ᵏ) by falling powers of 1/(8x)."""
    return [prod(range(1, 2 * k, 2)) ** 2 / factorial(k) for k in range(24, -1, -1)]


def i0(x: Tensor, /) -> Tensor:
    """The modified Bessel function of the first kind and order 0; integers become the default dtype.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.6.12 and 9.7.1.
    """
    dtype = as_floats("i0", x).dtype
    size = abs(cast(x, float64))
    near = polyval(asarray(_near_zero(), dtype=float64, device=x.device), square(divide(size, 2.0)))
    far = clip(size, _ASYMPTOTIC_FROM, _INFINITE_FROM)
    series = polyval(asarray(_far_out(), dtype=float64, device=x.device), divide(0.125, far))
    grown = multiply(divide(exp(divide(far, 2.0)), sqrt(multiply(far, 2 * pi))), exp(divide(far, 2.0)))
    return cast(where(less(size, _ASYMPTOTIC_FROM), near, multiply(grown, series)), dtype)


def _window(
    operation: str, m: int, dtype: DType | None, device: DeviceLike, shape: Callable[[Tensor], Tensor]
) -> Tensor:
    """`shape` of m evenly spaced numbers from -1 to 1."""
    count, wanted = normal_integer(m, operation, "number of points"), default_dtypes.floating(dtype)
    if count < 2:
        return ones((max(count, 0),), dtype=wanted, device=device)
    places = divide(arange(1 - count, count, 2, dtype=float64, device=device), float(count - 1))
    return cast(shape(places), wanted)


def bartlett(m: int, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The Bartlett window of m points, a triangle that begins and ends at 0."""
    return _window("bartlett", m, dtype, device, lambda x: subtract(1.0, abs(x)))


def hanning(m: int, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The Hann window of m points, 0.5 + 0.5·cos(πx) for x from -1 to 1."""
    return _window("hanning", m, dtype, device, lambda x: add(multiply(cos(multiply(x, pi)), 0.5), 0.5))


def hamming(m: int, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The Hamming window of m points, 0.54 + 0.46·cos(πx) for x from -1 to 1."""
    return _window("hamming", m, dtype, device, lambda x: add(multiply(cos(multiply(x, pi)), 0.46), 0.54))


def blackman(m: int, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The Blackman window of m points, 0.42 + 0.5·cos(πx) + 0.08·cos(2πx) for x from -1 to 1."""

    def shape(x: Tensor) -> Tensor:
        slow, fast = cos(multiply(x, pi)), cos(multiply(x, 2 * pi))
        return add(add(multiply(slow, 0.5), multiply(fast, 0.08)), 0.42)

    return _window("blackman", m, dtype, device, shape)


def kaiser(m: int, beta: float, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The Kaiser window of m points, I₀(β·√(1-x²)) / I₀(β) for x from -1 to 1."""
    width = real_float("kaiser", beta, "beta")

    def shape(x: Tensor) -> Tensor:
        inside = multiply(sqrt(maximum(subtract(1.0, square(x)), 0.0)), width)
        return divide(i0(inside), i0(as_tensor("kaiser", asarray([width], dtype=float64, device=x.device))))

    return _window("kaiser", m, dtype, device, shape)
