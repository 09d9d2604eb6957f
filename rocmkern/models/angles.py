"""Tables of the angles by which rotary embedding turns queries and keys (Su et al. 2021, arXiv:2104.09864)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rocmkern.models.architectures import Angles

if TYPE_CHECKING:
    from numpy.typing import NDArray


def order(pairs: str, head: int, rotated: int) -> NDArray[np.int64]:
    """Where the features of a head come from, that pairs be neighbours and what is not rotated lie behind."""
    if pairs == "neighbours":
        return np.arange(head)
    halves = np.arange(rotated).reshape(2, rotated // 2).T.reshape(-1)
    return np.concatenate([halves, np.arange(rotated, head)])


def table(
    angles: Angles, head: int, context: int, divisors: NDArray[Any] | None, long_factors: NDArray[Any] | None
) -> NDArray[np.float32]:
    """Cosines, then sines, of each position: (context, head), where features that don't rotate have the angle 0.

    `divisors` are those of the file, for each pair; with `longrope` scaling those of short contexts, and `long_factors`
    those of contexts longer than what the model was first trained for.
    """
    pairs = angles.rotated // 2
    turns = angles.base ** (-2.0 * np.arange(pairs) / angles.rotated)
    length = 1.0
    if angles.scaling == "longrope":
        chosen = long_factors if context > angles.original_context else divisors
        turns = turns if chosen is None else turns / chosen.astype(np.float64)
        length = angles.attention_factor
    elif divisors is not None:
        turns = turns / divisors.astype(np.float64)
    elif angles.scaling == "linear":
        turns = turns / angles.factor
    elif angles.scaling == "yarn":
        turns = _yarn(angles, turns)
        length = angles.attention_factor * _yarn_length(angles)
    each = np.arange(context)[:, None] * np.concatenate([turns, np.zeros(head // 2 - pairs)])
    cos, sin = np.cos(each), np.sin(each)
    cos[:, :pairs] *= length
    sin[:, :pairs] *= length
    return np.concatenate([cos, sin], axis=1).astype(np.float32)


def _yarn(angles: Angles, turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """High frequencies as they are, low ones over the factor, a ramp between (Peng et al. 2023, arXiv:2309.00071)."""

    def pair_of(rotations: float) -> float:
        """The pair that turns so often within the original context."""
        ratio = angles.original_context / (rotations * 2 * math.pi)
        return angles.rotated * math.log(ratio) / (2 * math.log(angles.base))

    first = max(math.floor(pair_of(angles.fast)), 0)
    last = min(math.ceil(pair_of(angles.slow)), angles.rotated - 1)
    kept = 1 - np.clip((np.arange(len(turns)) - first) / max(last - first, 0.001), 0, 1)
    return turns * (kept + (1 - kept) / angles.factor)


def _yarn_length(angles: Angles) -> float:
    """What cosines and sines are multiplied by."""

    def length(multiplier: float) -> float:
        return 1 + 0.1 * multiplier * math.log(angles.factor) if angles.factor > 1 else 1.0

    return length(1.0) / length(angles.log_multiplier) if angles.log_multiplier else length(1.0)
