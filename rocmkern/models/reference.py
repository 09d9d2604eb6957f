"""The same encoder in NumPy and float64: what the demo compares with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocmkern.models.weights import Batch, Config

_erf = np.frompyfunc(math.erf, 1, 1)


def _norm(x: NDArray[np.float64], w: dict[str, NDArray[Any]], name: str, epsilon: float) -> NDArray[np.float64]:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + epsilon)
    out: NDArray[np.float64] = scaled * w[f"{name}.weight"] + w[f"{name}.bias"]
    return out


def _linear(x: NDArray[np.float64], w: dict[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    out: NDArray[np.float64] = x @ w[f"{name}.weight"].T.astype(np.float64) + w[f"{name}.bias"]
    return out


def encode(w: dict[str, NDArray[Any]], config: Config, batch: Batch) -> NDArray[np.float64]:
    """Unit vectors (sentences, hidden) of the batch, in float64 from the weights given."""
    sentences, tokens = batch.ids.shape
    embed = "embeddings"
    x = w[f"{embed}.word_embeddings.weight"][batch.ids].astype(np.float64)
    x += w[f"{embed}.position_embeddings.weight"][:tokens] + w[f"{embed}.token_type_embeddings.weight"][0]
    x = _norm(x, w, f"{embed}.LayerNorm", config.norm_epsilon)
    bias = np.where(batch.mask, 0.0, -np.inf)[:, None, None, :]
    split = (sentences, tokens, config.heads, config.head)
    for i in range(config.layers):
        at = f"encoder.layer.{i}"
        q, k, v = (
            _linear(x, w, f"{at}.attention.self.{part}").reshape(split).swapaxes(1, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(config.head) + bias
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(x.shape)
        attended = x + _linear(mixed, w, f"{at}.attention.output.dense")
        x = _norm(attended, w, f"{at}.attention.output.LayerNorm", config.norm_epsilon)
        wide = _linear(x, w, f"{at}.intermediate.dense")
        wide *= 0.5 * (1 + np.asarray(_erf(wide / math.sqrt(2)), np.float64))
        x = _norm(x + _linear(wide, w, f"{at}.output.dense"), w, f"{at}.output.LayerNorm", config.norm_epsilon)
    mask = batch.mask[:, :, None]
    pooled = (x * mask).sum(1) / mask.sum(1)
    out: NDArray[np.float64] = pooled / np.linalg.norm(pooled, axis=-1, keepdims=True)
    return out
