"""What a generator draws beside uniform and normal numbers: moments, supports, the same on every target."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, pi, sqrt
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from tests.tensor.arrays import elsewhere

N = 20_000
DRAWN: dict[str, tuple[Callable[[Any], rk.Tensor], float, float]] = {
    "exponential": (lambda g: g.exponential(3.0, N, rk.float64), 3.0, 3.0),
    "standard_exponential": (lambda g: g.standard_exponential(N, rk.float64), 1.0, 1.0),
    "gamma": (lambda g: g.gamma(2.5, 2.0, N, rk.float64), 5.0, 2.0 * sqrt(2.5)),
    "gamma below 1": (lambda g: g.standard_gamma(0.4, N, rk.float64), 0.4, sqrt(0.4)),
    "chisquare": (lambda g: g.chisquare(5, N, rk.float64), 5.0, sqrt(10)),
    "beta": (lambda g: g.beta(2.0, 3.0, N, rk.float64), 0.4, 0.2),
    "lognormal": (lambda g: g.lognormal(0.5, 0.4, N), exp(0.58), exp(0.58) * sqrt(exp(0.16) - 1)),
    "standard_t": (lambda g: g.standard_t(9, N, rk.float64), 0.0, sqrt(9 / 7)),
    "poisson": (lambda g: g.poisson(3.5, N), 3.5, sqrt(3.5)),
    "poisson of many": (lambda g: g.poisson(2e4, N), 2e4, sqrt(2e4)),
    "binomial": (lambda g: g.binomial(40, 0.3, N), 12.0, sqrt(8.4)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_moments(name: str) -> None:
    """Mean and standard deviation are those of the distribution, within six standard errors."""
    draw, mean, deviation = DRAWN[name]
    found = draw(rk.random.default_rng(7)).numpy().astype(np.float64)
    assert abs(found.mean() - mean) < 6 * deviation / sqrt(N)
    assert abs(found.std() / deviation - 1) < 0.08


def test_counts_are_as_likely_as_they_should_be() -> None:
    """The share of each number of events is the probability of it."""
    found = np.bincount(rk.random.default_rng(3).poisson(1.5, N).numpy(), minlength=4)[:4] / N
    want = [exp(-1.5), 1.5 * exp(-1.5), 1.125 * exp(-1.5), 0.5625 * exp(-1.5)]
    np.testing.assert_allclose(found, want, atol=0.02)
    assert rk.random.default_rng(1).binomial(9, 1.0, 3).tolist() == [9, 9, 9]
    assert rk.random.default_rng(1).poisson(0.0, 2).tolist() == [0, 0]


def test_cauchy_quartiles() -> None:
    """Half of the numbers lie between -1 and 1."""
    found = rk.random.default_rng(2).standard_cauchy(N, rk.float64).numpy()
    assert abs((np.abs(found) < np.tan(pi / 4)).mean() - 0.5) < 0.03


def test_normal_vectors() -> None:
    """They have the mean and the covariances that were asked for."""
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    rng = rk.random.default_rng(5)
    found = rng.multivariate_normal(rk.asarray([1.0, -2.0]), rk.asarray(cov), N, rk.float64).numpy()
    np.testing.assert_allclose(found.mean(0), [1, -2], atol=0.06)
    np.testing.assert_allclose(np.cov(found.T), cov, atol=0.12)
    with pytest.raises(ValueError, match="multivariate_normal: covariances of eigenvalue"):
        rng.multivariate_normal(rk.zeros(2), rk.asarray([[1.0, 2.0], [2.0, 1.0]]))


def test_shuffle_is_in_place() -> None:
    """The slices are the same ones in another order."""
    x = rk.arange(40)
    rk.random.default_rng(1).shuffle(x)
    assert x.tolist() != list(range(40)) and sorted(x.tolist()) == list(range(40))


@pytest.mark.parametrize("name", ["exponential", "gamma", "beta", "poisson", "binomial", "standard_t"])
def test_other_targets_draw_the_same(name: str) -> None:
    """To the last bit."""
    draw = DRAWN[name][0]
    here, there = (draw(rk.random.default_rng(4, device=d)).numpy() for d in (None, elsewhere()))
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: g.exponential(-1.0), "exponential: scale -1.0; use 0 or more"),
        (lambda g: g.standard_gamma(0), "standard_gamma: shape 0.0; use more than 0"),
        (lambda g: g.binomial(3, 1.5), "binomial: n 3 and p 1.5"),
        (lambda g: g.poisson(1e15), "poisson: .* likely numbers"),
    ],
)
def test_parameters_out_of_range(call: Any, words: str) -> None:
    """They are told."""
    with pytest.raises(ValueError, match=words):
        call(rk.random.default_rng(0))
