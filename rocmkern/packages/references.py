"""What AITER's kernels compute, in float64: what verify() and the tests compare their results with."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Doubles = NDArray[np.float64]


def attention(q: Array, k: Array, v: Array, scale: float, *, causal: bool = False) -> tuple[Doubles, Doubles]:
    """softmax(q · kᵀ · scale) · v and the logarithms of the sums, (queries, heads, hdim) and (heads, queries).

    Key heads are shared by as many query heads as there are to each. The last query sees all keys where `causal`, each
    one before it one less.
    """
    queries, keys, shared = q.shape[0], k.shape[0], q.shape[1] // k.shape[1]
    heads_q = q.astype(np.float64).transpose(1, 0, 2)
    heads_k, heads_v = (np.repeat(x.astype(np.float64), shared, 1).transpose(1, 0, 2) for x in (k, v))
    scores = heads_q @ heads_k.transpose(0, 2, 1) * scale
    if causal:
        sees = np.arange(keys)[None] - (keys - queries) <= np.arange(queries)[:, None]
        scores = np.where(sees, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    sums = weights.sum(-1, keepdims=True)
    return (weights / sums @ heads_v).transpose(1, 0, 2), (top + np.log(sums))[..., 0]


FOUR_BITS: Final = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def four_bit_values(packed: Array, scales: Array) -> Doubles:
    """A matrix of four-bit floats, two to a byte, each 32 of a row with a power of two, 2 to `scales` - 127."""
    values = np.stack([FOUR_BITS[packed & 15], FOUR_BITS[packed >> 4]], -1).reshape(len(packed), -1, 32)
    return (values * np.exp2(scales.astype(np.float64) - 127)[:, :, None]).reshape(len(packed), -1)


def block_values(x: Array, scales: Array) -> Doubles:
    """A matrix times the scales of its blocks."""
    rows, columns = (-(-n // s) for n, s in zip(x.shape, scales.shape, strict=True))
    spread = np.repeat(np.repeat(scales.astype(np.float64), rows, 0), columns, 1)
    return x.astype(np.float64) * spread[: x.shape[0], : x.shape[1]]


def best_of_softmax(gating: Array, k: int) -> tuple[Doubles, Array]:
    """The k largest of each row's softmax, largest first, and their columns."""
    weights = np.exp(gating.astype(np.float64) - gating.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    best = np.argsort(-weights, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(weights, best, 1), best


def paged_attention(q: Array, keys: Array, values: Array, tables: Array, lengths: Array) -> Doubles:
    """Attention of one query for each sequence; keys and values are (blocks, rows, key heads, features)."""
    results = []
    for query, table, length in zip(q, tables, lengths, strict=True):
        k, v = (x[table].reshape(-1, *x.shape[2:])[:length] for x in (keys, values))
        results.append(attention(query[None], k, v, q.shape[-1] ** -0.5)[0][0])
    return np.stack(results)


def in_packs(keys: Array, values: Array) -> tuple[Array, Array]:
    """Keys and values (blocks, rows, key heads, features) as kernels load them, in packs of 16 bytes."""
    x, (blocks, rows, heads, features) = 16 // keys.itemsize, keys.shape
    k = keys.reshape(blocks, rows, heads, features // x, x).transpose(0, 2, 3, 1, 4)
    v = values.reshape(blocks, rows // x, x, heads, features).transpose(0, 3, 1, 4, 2)
    return np.ascontiguousarray(k), np.ascontiguousarray(v)
