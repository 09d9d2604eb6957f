"""Choosing tokens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmkern.errors import ConfigError
from rocmkern.models.sampling import Sampler, Sampling

PLAIN: dict[str, Any] = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}


def shares(logits: list[float], count: int = 3000, before: list[int] | None = None, **options: Any) -> list[float]:
    """How often each token is chosen."""
    sampler = Sampler(Sampling(**{**PLAIN, **options}, seed=3))
    values = np.asarray(logits, np.float32)
    found = np.bincount([sampler.choose(values, before or []) for _ in range(count)], minlength=len(logits))
    return (found / count).tolist()


def test_draws_are_the_mersenne_twisters() -> None:
    """Two of its words a draw, the first the low one: of the seed whose ten thousandth word the standard names."""
    sampler = Sampler(Sampling(seed=5489))
    first = sampler.uniform()
    assert first == pytest.approx((3499211612 + 581869302 * 2.0**32) * 2.0**-64, abs=0)
    for _ in range(4998):
        sampler.uniform()
    assert math.floor(sampler.uniform() * 2.0**32) == 4123659995


def test_the_likeliest_is_the_first_of_equals() -> None:
    """At temperature 0."""
    assert Sampler(Sampling(temperature=0)).choose(np.asarray([1, 5, 5, 2], np.float32), []) == 1


def test_probabilities_are_those_of_the_logits() -> None:
    """Softmax of the logits over the temperature."""
    logits = [0.0, math.log(2), math.log(5)]
    assert shares(logits) == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)
    assert shares(logits, temperature=0.5) == pytest.approx([1 / 30, 4 / 30, 25 / 30], abs=0.03)


def test_top_k_keeps_the_first_of_equals() -> None:
    """As many as asked for."""
    assert [share > 0 for share in shares([1, 3, 2, 2], top_k=2)] == [False, True, True, False]


def test_top_p_keeps_the_one_that_reaches_it() -> None:
    """The shortest beginning of the sorted tokens whose probabilities reach it."""
    logits = [math.log(p) for p in (0.5, 0.3, 0.2)]
    assert [share > 0 for share in shares(logits, top_p=0.49)] == [True, False, False]
    assert [share > 0 for share in shares(logits, top_p=0.7)] == [True, True, False]


def test_min_p_is_a_share_of_the_likeliest() -> None:
    """Before the temperature."""
    logits = [math.log(p) for p in (0.6, 0.29, 0.11)]
    assert [share > 0 for share in shares(logits, min_p=0.4, temperature=5.0)] == [True, True, False]


def test_top_k_comes_before_top_p() -> None:
    """Which counts what is left: of 0.4, 0.3, 0.3 the first two make 0.57 and 0.43."""
    logits = [math.log(p) for p in (0.4, 0.3, 0.3)]
    assert [share > 0 for share in shares(logits, top_k=2, top_p=0.5)] == [True, False, False]
    assert [share > 0 for share in shares(logits, top_p=0.5)] == [True, True, False]


def test_penalties_count_what_was_written() -> None:
    """A positive logit is divided, a negative one multiplied; each repetition subtracts, and the first once more."""
    logits = np.asarray([2.0, 1.5, -1.0, -1.5], np.float32)

    def chosen(values: Any, before: list[int], **options: Any) -> int:
        return Sampler(Sampling(temperature=0, **options)).choose(np.asarray(values, np.float32), before)

    assert chosen(logits, [0], repeat_penalty=1.5) == 1
    assert chosen([-1.0, -1.5], [0], repeat_penalty=1.6) == 1
    assert chosen(logits, [0, 1, 1, 0], repeat_penalty=1.5, repeat_last=1) == 1
    assert chosen(logits, [0], frequency_penalty=0.4) == 0
    assert chosen(logits, [0, 0], frequency_penalty=0.4) == 1
    assert chosen(logits, [0], presence_penalty=0.6) == 1


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=40), st.integers(0, 99), st.floats(1e-6, 50))
def test_every_choice_is_a_token(logits: list[float], seed: int, temperature: float) -> None:
    """Whatever the options, and the same again by the same seed; -inf is never chosen."""
    values = np.asarray([*logits, -np.inf], np.float32)
    options = Sampling(temperature=temperature, seed=seed)
    first, second = (Sampler(options).choose(values, [0]) for _ in range(2))
    assert first == second
    assert 0 <= first < len(logits)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1}, {"top_p": 1.5}, {"min_p": float("nan")}, {"top_k": True}, {"seed": -1}, {"seed": 1.5}],
)
def test_options_out_of_their_range_are_refused(wrong: dict[str, Any]) -> None:
    """With the range."""
    with pytest.raises(ConfigError, match=rf"sampling: {next(iter(wrong))}=.*; use"):
        Sampling(**wrong)
