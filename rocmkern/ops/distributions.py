"""Distributions that a generator draws beside uniform and normal numbers: methods, which `Generator` takes in.

All are made in float64 from uniform and normal numbers, so that every target gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, floor, isfinite, lgamma, log, pi, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from rocmkern import default_dtypes
from rocmkern.dtypes import DType, float64, int64
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import normal_axis, normal_integer, normal_shape
from rocmkern.ops import rows_unary as of_one
from rocmkern.ops.casting import cast
from rocmkern.ops.creation import upload, zeros
from rocmkern.ops.eigen import eigh
from rocmkern.ops.elementwise import as_tensor, real_float, same_device
from rocmkern.ops.indexing import searchsorted, where
from rocmkern.ops.items import set_item
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import matrix_transpose
from rocmkern.ops.reduction import any as any_of
from rocmkern.ops.reduction import min as least
from rocmkern.ops.rows_binary import (
    add,
    bitwise_and,
    divide,
    greater,
    less,
    maximum,
    multiply,
    pow,
    subtract,
)  # fmt: skip
from rocmkern.tensor import Tensor

if TYPE_CHECKING:
    from rocmkern.ops.generator import Generator, Size

_LARGEST_TABLE: Final = 1 << 22  # numbers that a distribution of integers may give
_ROUNDING: Final = 1e-6  # how far below zero a covariance's eigenvalue may come to lie, of the largest


def shuffle(rng: Generator, x: Tensor, axis: int = 0) -> None:
    """Put the slices of a tensor along an axis in random order, in place."""
    at = normal_axis(axis, as_tensor("shuffle", x).ndim, "shuffle")
    set_item(x, ..., rng.permutation(x, at))


def standard_exponential(rng: Generator, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Exponential numbers of mean 1."""
    return _rounded("standard_exponential", _exponential(rng, size), dtype)


def exponential(rng: Generator, scale: float = 1.0, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Exponential numbers of mean `scale`."""
    mean = _at_least_zero("exponential", scale, "scale")
    return _rounded("exponential", multiply(_exponential(rng, size), mean), dtype)


def _exponential(rng: Generator, size: Size) -> Tensor:
    return of_one.negative(of_one.log1p(of_one.negative(rng.random(size, float64))))


def lognormal(
    rng: Generator, mean: float = 0.0, sigma: float = 1.0, size: Size = None, dtype: DType | None = None
) -> Tensor:
    """Numbers whose logarithms are normal, of that mean and standard deviation."""
    spread = _at_least_zero("lognormal", sigma, "sigma")
    return _rounded(
        "lognormal", of_one.exp(rng.normal(real_float("lognormal", mean, "mean"), spread, size, float64)), dtype
    )


def standard_gamma(rng: Generator, shape: float, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Gamma numbers of that shape and scale 1."""
    return _rounded("standard_gamma", _gamma(rng, _positive("standard_gamma", shape, "shape"), size), dtype)


def gamma(rng: Generator, shape: float, scale: float = 1.0, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Gamma numbers of that shape and scale."""
    width = _at_least_zero("gamma", scale, "scale")
    return _rounded("gamma", multiply(_gamma(rng, _positive("gamma", shape, "shape"), size), width), dtype)


def _gamma(rng: Generator, shape: float, size: Size) -> Tensor:
    """Of scale 1, in rounds until none is left: each takes more than 95 of 100.

    Source: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables (2000).
    """
    if shape < 1:
        return multiply(_gamma(rng, shape + 1, size), pow(subtract(1.0, rng.random(size, float64)), 1 / shape))
    d = shape - 1 / 3
    c = 1 / sqrt(9 * d)
    lengths = () if size is None else normal_shape(size, "gamma")
    found = zeros(lengths, dtype=float64, device=rng.device)
    while found.size:
        x, u = rng.standard_normal(lengths, float64), rng.random(lengths, float64)
        root = add(multiply(x, c), 1.0)
        v = pow(maximum(root, 0.0), 3)
        logs = of_one.log(maximum(v, 1e-300))
        bound = add(multiply(of_one.square(x), 0.5), multiply(add(subtract(1.0, v), logs), d))
        takes = bitwise_and(greater(root, 0.0), less(of_one.log(subtract(1.0, u)), bound))
        found = where(bitwise_and(found == 0.0, takes), multiply(v, d), found)
        if not bool(any_of(found == 0.0)):
            break
    return found


def chisquare(rng: Generator, df: float, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Chi-square numbers of so many degrees of freedom."""
    return _rounded("chisquare", multiply(_gamma(rng, _positive("chisquare", df, "df") / 2, size), 2.0), dtype)


def beta(rng: Generator, a: float, b: float, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Beta numbers of those shapes, 0..1."""
    first, second = (_gamma(rng, _positive("beta", v, w), size) for v, w in ((a, "a"), (b, "b")))
    return _rounded("beta", divide(first, add(first, second)), dtype)


def standard_cauchy(rng: Generator, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Cauchy numbers of mode 0 and scale 1."""
    return _rounded("standard_cauchy", of_one.tan(rng.uniform(-pi / 2, pi / 2, size, float64)), dtype)


def standard_t(rng: Generator, df: float, size: Size = None, dtype: DType | None = None) -> Tensor:
    """Student's t numbers of so many degrees of freedom."""
    freedom = _positive("standard_t", df, "df")
    wide = of_one.sqrt(divide(_gamma(rng, freedom / 2, size), freedom / 2))
    return _rounded("standard_t", divide(rng.standard_normal(size, float64), wide), dtype)


def poisson(rng: Generator, lam: float = 1.0, size: Size = None) -> Tensor:
    """How many events of mean `lam` come to pass, as int64."""
    mean = _at_least_zero("poisson", lam, "lam")
    if not mean:
        return zeros(() if size is None else normal_shape(size, "poisson"), dtype=int64, device=rng.device)
    low, high = floor(max(mean - 40 * sqrt(mean) - 40, 0)), floor(mean + 40 * sqrt(mean) + 40)
    return _by_table("poisson", rng, size, low, high, lambda k: k * log(mean) - mean - lgamma(k + 1))


def binomial(rng: Generator, n: int, p: float, size: Size = None) -> Tensor:
    """How many of n trials succeed, each with probability p, as int64."""
    trials, share = normal_integer(n, "binomial", "n"), real_float("binomial", p, "p")
    if trials < 0 or not 0 <= share <= 1:
        raise ShapeError(f"binomial: n {trials} and p {share}; use 0 or more trials and a probability")
    if share in (0, 1):
        shape = () if size is None else normal_shape(size, "binomial")
        return add(zeros(shape, dtype=int64, device=rng.device), trials if share else 0)
    reach = 40 * sqrt(trials * share * (1 - share)) + 40
    low, high = floor(max(trials * share - reach, 0)), floor(min(trials * share + reach, trials))
    whole, success, failure = lgamma(trials + 1), log(share), np.log1p(-share)

    def density(k: int) -> float:
        ways = whole - lgamma(k + 1) - lgamma(trials - k + 1)
        return float(ways + k * success + (trials - k) * failure)

    return _by_table("binomial", rng, size, low, high, density)


def _by_table(
    operation: str, rng: Generator, size: Size, low: int, high: int, log_density: Callable[[int], float]
) -> Tensor:
    """Integers from low to high: the first whose cumulative probability exceeds a uniform number."""
    if high - low >= _LARGEST_TABLE:
        raise ShapeError(f"{operation}: {high - low + 1} likely numbers; use a normal distribution for so many")
    ends = np.cumsum([exp(log_density(k)) for k in range(low, high + 1)])
    table = upload(ends / ends[-1], rng.device)
    return add(searchsorted(table, rng.random(size, float64), side="right"), low)


def multivariate_normal(
    rng: Generator, mean: Tensor, cov: Tensor, size: Size = None, dtype: DType | None = None
) -> Tensor:
    """Normal vectors of that mean and those covariances along a new last axis. Raises ShapeError where these are not of
    one length, or are no covariances: the host waits for the answer.
    """
    for given in (mean, cov):
        same_device("multivariate_normal", rng.device, as_tensor("multivariate_normal", given))
    if mean.ndim != 1 or cov.shape != (mean.size, mean.size):
        raise ShapeError(f"multivariate_normal: mean {mean.shape} and covariances {cov.shape}; give n and n × n")
    spread, axes = eigh(cast(cov, float64))
    if mean.size and float(least(spread)) < -_ROUNDING * max(float(spread[-1]), 0.0):
        raise ShapeError(f"multivariate_normal: covariances of eigenvalue {float(spread[0])}; none may be negative")
    shape = () if size is None else normal_shape(size, "multivariate_normal")
    drawn = rng.standard_normal((*shape, mean.size), float64)
    turned = matmul(multiply(drawn, of_one.sqrt(maximum(spread, 0.0))), matrix_transpose(axes))
    return _rounded("multivariate_normal", add(turned, cast(mean, float64)), dtype)


def _rounded(operation: str, found: Tensor, dtype: DType | None) -> Tensor:
    wanted = default_dtypes.floating(dtype)
    if not wanted.is_float:
        raise DTypeError(f"{operation}: dtype {wanted}; use a float dtype")
    return cast(found, wanted)


def _at_least_zero(operation: str, value: object, what: str) -> float:
    number = real_float(operation, value, what)
    if not (number >= 0 and isfinite(number)):
        raise ShapeError(f"{operation}: {what} {number}; use 0 or more")
    return number


def _positive(operation: str, value: object, what: str) -> float:
    number = real_float(operation, value, what)
    if not (number > 0 and isfinite(number)):
        raise ShapeError(f"{operation}: {what} {number}; use more than 0")
    return number
