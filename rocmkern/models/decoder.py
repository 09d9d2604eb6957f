"""How a layer of a language model is computed: the one place that calls kernels for it.

A step takes some tokens of one text, each after those that the cache holds. Their positions are numbers in memory, so
that a step of one token can be captured as a graph and launched for every token.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.dtypes import DType, float32
from rocmkern.models.architectures import Config
from rocmkern.models.tensors import Layer, Network, Weights
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import clip
from rocmkern.ops.creation import zeros
from rocmkern.ops.indexing import take, where
from rocmkern.ops.items import set_item
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import concat, contiguous, expand_dims, matrix_transpose, permute_dims, reshape
from rocmkern.ops.nn import embedding, rms_norm, rope, scaled_dot_product_attention, softmax
from rocmkern.ops.reductions import sum as total
from rocmkern.ops.rows_binary import add, greater, less_equal, logical_and, minimum, multiply, subtract
from rocmkern.ops.rows_unary import gelu_tanh, sigmoid, silu, tanh
from rocmkern.ops.sorting import top_k_softmax
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

_CLAMPED_AT: Final = 7.0  # of gpt-oss's gate and rows beside it
_CLAMPED_SLOPE: Final = 1.702


@frozen(eq=False)
class Cache:
    """Keys and values of every layer: (kv_heads, capacity, head) each."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    @staticmethod
    def empty(config: Config, capacity: int, dtype: DType, device: Device) -> Cache:
        shape = (config.kv_heads, capacity, config.head)
        keys, values = (tuple(zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)) for _ in range(2))
        return Cache(keys, values)

    @property
    def capacity(self) -> int:
        return self.keys[0].shape[1]

    @property
    def nbytes(self) -> int:
        return sum(t.size * t.dtype.itemsize for t in (*self.keys, *self.values))


@frozen(eq=False)
class Step:
    """Where some tokens stand: after others in one text, whose first `seen` positions the cache has room for."""

    rows: Tensor | slice  # of the cache, for these tokens
    seen: int
    masks: dict[bool, Tensor]  # (tokens, seen), 0 or -inf, of layers with a window and of the others
    angles: dict[bool, tuple[Tensor, Tensor]]

    @staticmethod
    def at(weights: Weights, config: Config, places: Tensor, rows: Tensor | slice, seen: Tensor) -> Step:
        """For tokens at `places`, of int64; `seen` counts the positions that the cache has room for."""
        here = expand_dims(places, axis=1)
        masks, angles = dict[bool, Tensor](), dict[bool, tuple[Tensor, Tensor]]()
        for local, table in weights.tables.items():
            passes = less_equal(seen, here)
            if local:
                passes = logical_and(passes, greater(seen, subtract(here, config.window)))
            masks[local] = where(passes, 0.0, float("-inf"))
            both, half = embedding(table, places), config.head // 2
            angles[local] = (contiguous(both[:, :half]), contiguous(both[:, half:]))
        return Step(rows, seen.size, masks, angles)


@frozen(eq=False)
class Decoder:
    """A model's weights, and what they make of tokens."""

    config: Config
    weights: Weights

    def hidden(self, ids: Tensor, step: Step, cache: Cache) -> Tensor:
        """What the last layer says of each token, (tokens, width); the cache gets their keys and values."""
        x = self.weights.embedding.rows(ids)
        if self.config.embedding_scale != 1:
            x = multiply(x, self.config.embedding_scale)
        for number, layer in enumerate(self.weights.layers):
            x = self._layer(x, number, layer, step, cache)
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        """(tokens, vocabulary) float32."""
        c = self.config
        found = self.weights.head(rms_norm(hidden, self.weights.norm, eps=c.epsilon))
        if c.logit_scale != 1:
            found = multiply(found, 1 / c.logit_scale)
        return _capped(found, c.logit_softcap)

    def _layer(self, x: Tensor, number: int, layer: Layer, step: Step, cache: Cache) -> Tensor:
        attended = self._attention(self._norm(x, layer, "attention"), number, layer, step, cache)
        x = self._joined(x, self._norm(attended, layer, "after attention"))
        h = self._norm(x, layer, "network")
        if layer.experts is not None:
            made = self._experts(h, layer, layer.experts)
            if layer.shared is not None:
                made = add(made, self._network(h, layer.shared))
        else:
            assert layer.network is not None
            made = self._network(h, layer.network)
        return self._joined(x, self._norm(made, layer, "after network"))

    def _norm(self, x: Tensor, layer: Layer, place: str) -> Tensor:
        weight = layer.norms.get(place)
        return x if weight is None else rms_norm(x, weight, eps=self.config.epsilon)

    def _joined(self, x: Tensor, branch: Tensor) -> Tensor:
        scale = self.config.residual_scale
        return add(x, branch if scale == 1 else multiply(branch, scale))

    def _attention(self, h: Tensor, number: int, layer: Layer, step: Step, cache: Cache) -> Tensor:
        c = self.config
        tokens, rotating, local = h.shape[0], c.heads + c.kv_heads, c.local[number]
        qkv = layer.qkv(h)
        if layer.qkv_bias is not None:
            qkv = add(qkv, layer.qkv_bias)
        heads = reshape(self._normed_rows(qkv, layer), (tokens, rotating + c.kv_heads, c.head))
        qk = heads[:, :rotating]
        if layer.head_norm is not None:
            qk = multiply(rms_norm(qk, eps=c.epsilon), layer.head_norm)
        qk = permute_dims(qk, (1, 0, 2))
        if c.is_rotated(number):
            qk = rope(expand_dims(qk, axis=0), *step.angles[local], interleaved=True)[0]
        keys, values = cache.keys[number], cache.values[number]
        set_item(keys, (slice(None), step.rows), cast(qk[c.heads :], keys.dtype))
        set_item(values, (slice(None), step.rows), cast(permute_dims(heads[:, rotating:], (1, 0, 2)), values.dtype))
        query = reshape(qk[: c.heads], (c.kv_heads, c.heads // c.kv_heads, tokens, c.head))
        seen = [cast(t[:, : step.seen], float32) for t in (keys, values)]
        mixed = self._mixed(query, seen[0], seen[1], step.masks[local], layer)
        out = layer.output(reshape(permute_dims(mixed, (2, 0, 1, 3)), (tokens, c.heads * c.head)))
        return out if layer.output_bias is None else add(out, layer.output_bias)

    def _normed_rows(self, qkv: Tensor, layer: Layer) -> Tensor:
        """With norms over all heads together, where a layer has them."""
        if "queries" not in layer.norms:
            return qkv
        first, second = self.config.heads * self.config.head, self.config.kv_heads * self.config.head
        q, k = self._norm(qkv[:, :first], layer, "queries"), self._norm(qkv[:, first : first + second], layer, "keys")
        return concat([q, k, qkv[:, first + second :]], axis=-1)

    def _mixed(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, layer: Layer) -> Tensor:
        """Attention of (kv_heads, group, tokens, head) to (kv_heads, seen, head)."""
        c, tokens = self.config, query.shape[2]
        if tokens == 1:  # a group's queries are rows of one product
            query, shape = query[:, :, 0], query.shape
        else:
            keys, values, shape = expand_dims(keys, axis=1), expand_dims(values, axis=1), query.shape
        if layer.sinks is None and not c.attention_softcap:
            return reshape(scaled_dot_product_attention(query, keys, values, mask, scale=c.scale), shape)
        scores = matmul(multiply(query, c.scale), matrix_transpose(keys))
        scores = add(_capped(scores, c.attention_softcap), mask)
        if layer.sinks is None:
            return reshape(matmul(softmax(scores), values), shape)
        sinks = layer.sinks[:, :, 0] if tokens == 1 else layer.sinks
        wide = concat([scores, add(zeros((*scores.shape[:-1], 1), device=scores.device), sinks)], axis=-1)
        return reshape(matmul(softmax(wide)[..., :-1], values), shape)

    def _network(self, h: Tensor, network: Network) -> Tensor:
        gate_up = network.gate_up(h)
        if network.gate_up_bias is not None:
            gate_up = add(gate_up, network.gate_up_bias)
        out = network.down(self._activated(gate_up))
        return out if network.down_bias is None else add(out, network.down_bias)

    def _experts(self, h: Tensor, layer: Layer, experts: Network) -> Tensor:
        """The sum of what the experts make that the router chooses, times its weights of these, which sum to 1."""
        assert layer.router is not None
        scores = layer.router(h)
        if layer.router_bias is not None:
            scores = add(scores, layer.router_bias)
        chosen = top_k_softmax(scores, self.config.experts_used, renormalize=True)
        assert chosen is not None
        shares, ids = chosen
        gate_up = experts.gate_up.chosen(h, ids)
        if experts.gate_up_bias is not None:
            gate_up = add(gate_up, take(experts.gate_up_bias, ids, axis=0))
        made = experts.down.chosen(self._activated(gate_up), ids)
        if experts.down_bias is not None:
            made = add(made, take(experts.down_bias, ids, axis=0))
        if self.config.experts_scale != 1:
            shares = multiply(shares, self.config.experts_scale)
        return total(multiply(made, expand_dims(shares, axis=-1)), axis=1)

    def _activated(self, gate_up: Tensor) -> Tensor:
        """The gate's half through the activation, times the other half."""
        half, kind = gate_up.shape[-1] // 2, self.config.architecture.activation
        gate, up = gate_up[..., :half], gate_up[..., half:]
        if kind == "clamped":
            gate = minimum(gate, _CLAMPED_AT)
            turned = multiply(gate, sigmoid(multiply(gate, _CLAMPED_SLOPE)))
            return multiply(turned, add(clip(up, -_CLAMPED_AT, _CLAMPED_AT), 1.0))
        return multiply(silu(gate) if kind == "silu" else gelu_tanh(gate), up)


def _capped(x: Tensor, cap: float) -> Tensor:
    return x if not cap else multiply(tanh(multiply(x, 1 / cap)), cap)
