"""Choosing the next token, in the order of llama.cpp: penalties, top-k, top-p, min-p, temperature, draw."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

from rocmkern.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@frozen
class Sampling:
    """How tokens are chosen. A temperature of 0 takes the likeliest, the first of equals; the numbers given are
    llama.cpp's.

    `top_k` of 0, `top_p` of 1, `min_p` of 0 and penalties of 1, 0 and 0 change nothing. `seed` makes draws the same
    again.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repeat_last: int = 64
    seed: int | None = None

    def __attrs_post_init__(self) -> None:
        for name, low, high in (
            ("temperature", 0.0, 100.0), ("top_k", 0, 1 << 31), ("top_p", 0.0, 1.0), ("min_p", 0.0, 1.0),
            ("repeat_penalty", 1e-6, 100.0), ("frequency_penalty", -100.0, 100.0), ("presence_penalty", -100.0, 100.0),
            ("repeat_last", 0, 1 << 31),
        ):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise ConfigError(f"sampling: {name}={value!r}; use {low:g} to {high:g}")
        if self.seed is not None and (type(self.seed) is not int or not 0 <= self.seed < 1 << 32):
            raise ConfigError(f"sampling: seed={self.seed!r}; use an integer from 0 to {(1 << 32) - 1}")

    @property
    def is_greedy(self) -> bool:
        """Whether the likeliest token of the logits as they are is chosen."""
        return not self.temperature and not self._penalizes

    @property
    def _penalizes(self) -> bool:
        penalties = self.repeat_penalty, self.frequency_penalty, self.presence_penalty
        return self.repeat_last > 0 and penalties != (1, 0, 0)


@define(eq=False)
class Sampler:
    """Chooses tokens one after another."""

    sampling: Sampling
    _random: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        seed = self.sampling.seed
        self._random = np.random.RandomState(secrets.randbits(32) if seed is None else seed)

    def uniform(self) -> float:
        """The next number of [0, 1): 64 bits of the Mersenne Twister, as C++'s std::generate_canonical takes them."""
        low, high = (int(self._random.randint(0, 1 << 32, dtype=np.uint32)) for _ in range(2))
        return min((low + high * 2.0**32) * 2.0**-64, math.nextafter(1.0, 0.0))

    def choose(self, logits: NDArray[np.float32], before: Sequence[int]) -> int:
        """The next token, of logits over the vocabulary and the tokens so far. One that is -inf is never chosen."""
        s, values = self.sampling, logits.astype(np.float32)
        if s._penalizes:
            _penalize(values, before[-s.repeat_last :], s)
        if not s.temperature:
            return int(values.argmax())
        ids = _best(values, s.top_k or len(values))
        kept = values[ids].astype(np.float64)
        ids, kept = ids[kept > -math.inf], kept[kept > -math.inf]
        if s.top_p < 1:
            sums = np.cumsum(_probabilities(kept))
            count = int(np.searchsorted(sums, s.top_p)) + 1
            ids, kept = ids[:count], kept[:count]
        if s.min_p > 0:
            likely = kept >= kept[0] + math.log(s.min_p)
            ids, kept = ids[likely], kept[likely]
        sums = np.cumsum(_probabilities((kept - kept[0]) / s.temperature))
        return int(ids[min(int(np.searchsorted(sums, self.uniform() * sums[-1])), len(ids) - 1)])


def _probabilities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of logits whose first is the largest."""
    powers = np.exp(values - values[0])
    found: NDArray[np.float64] = powers / powers.sum()
    return found


def _best(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The tokens of the largest values, these first, the first of equals first."""
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        ids = np.flatnonzero(values >= least)
    else:
        ids = np.arange(len(values))
    return ids[np.argsort(-values[ids], kind="stable")][:count]


def _penalize(values: NDArray[np.float32], before: Sequence[int], s: Sampling) -> None:
    ids, counts = np.unique(np.asarray(before, np.int64), return_counts=True)
    seen = values[ids]
    seen = np.where(seen > 0, seen / s.repeat_penalty, seen * s.repeat_penalty)
    values[ids] = seen - counts * s.frequency_penalty - s.presence_penalty
