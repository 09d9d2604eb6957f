"""The architectures in NumPy and float64, each as its papers and its authors' code have them: what ours is held to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def rms(x: Array, weight: Array, epsilon: float) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    found: Array = powers / powers.sum(-1, keepdims=True)
    return found


def gated(name: str, gate: Array, up: Array) -> Array:
    if name.startswith("gemma"):
        return 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) * up
    if name == "gpt-oss":
        gate = np.minimum(gate, 7)
        return gate * sigmoid(1.702 * gate) * (np.clip(up, -7, 7) + 1)
    return gate * sigmoid(gate) * up


def frequencies(
    name: str, m: Mapping[str, Any], t: Mapping[str, Array], local: bool, context: int
) -> tuple[Array, float]:
    """Radians a position of each pair, and the length of what they turn."""

    def key(what: str, default: Any) -> Any:
        return m.get(f"{name}.{what}", default)

    count = key("rope.dimension_count", m[f"{name}.attention.key_length"])
    base = 10000.0 if name == "gemma3" and local else m[f"{name}.rope.freq_base"]
    turns = np.array([base ** (-2 * pair / count) for pair in range(count // 2)])
    if local and name in ("gemma3", "olmo2"):
        return turns, 1.0
    factor, kind = key("rope.scaling.factor", 1.0), key("rope.scaling.type", "none")
    if kind == "linear":
        return turns / factor, 1.0
    if kind == "longrope":
        length = "long" if context > key("rope.scaling.original_context_length", 0) else "short"
        return turns / t[f"rope_factors_{length}.weight"], key("rope.scaling.attn_factor", 1.0)
    if kind == "yarn":
        original, fast = key("rope.scaling.original_context_length", 0), key("rope.scaling.yarn_beta_fast", 32.0)
        low, high = (count * math.log(original / (beta * 2 * math.pi)) / (2 * math.log(base)) for beta in (fast, 1.0))
        low, high = max(math.floor(low), 0), min(math.ceil(high), count - 1)
        slowed = []
        for pair, turn in enumerate(turns):
            share = min(max((pair - low) / (high - low), 0), 1)
            slowed.append(turn / factor * share + turn * (1 - share))
        return np.array(slowed), 1 + 0.1 * math.log(factor)
    if "rope_freqs.weight" in t:
        return turns / t["rope_freqs.weight"], 1.0
    return turns, 1.0


def rotated(name: str, x: Array, turns: Array, length: float) -> Array:
    """(tokens, heads, head), each token turned by its position."""
    out, pairs = x.copy(), len(turns)
    neighbours = name in ("llama", "mistral3", "smollm3", "granite", "granitemoe")
    for position in range(len(x)):
        for pair, turn in enumerate(turns):
            a, b = (2 * pair, 2 * pair + 1) if neighbours else (pair, pair + pairs)
            cos, sin = length * math.cos(position * turn), length * math.sin(position * turn)
            out[position, :, a] = x[position, :, a] * cos - x[position, :, b] * sin
            out[position, :, b] = x[position, :, a] * sin + x[position, :, b] * cos
    return out


def logits(m: Mapping[str, Any], tensors: Mapping[str, Array], ids: list[int], context: int) -> Array:
    """(tokens, vocabulary), what follows each."""
    name = m["general.architecture"]
    t = {key: value.astype(np.float64) for key, value in tensors.items()}

    def key(what: str, default: Any = 1.0) -> Any:
        return m.get(f"{name}.{what}", default)

    heads, kv, head = key("attention.head_count"), key("attention.head_count_kv"), key("attention.key_length")
    epsilon, width, n = key("attention.layer_norm_rms_epsilon"), key("embedding_length"), len(ids)

    def linear(x: Array, at: str) -> Array:
        return x @ t[f"{at}.weight"].T + t.get(f"{at}.bias", 0)

    def network(x: Array, at: str, kind: str = "") -> Array:
        if name == "phi3":
            both = linear(x, f"{at}.ffn_up")
            gate, up = both[:, : both.shape[1] // 2], both[:, both.shape[1] // 2 :]
        else:
            gate, up = linear(x, f"{at}.ffn_gate{kind}"), linear(x, f"{at}.ffn_up{kind}")
        return linear(gated(name, gate, up), f"{at}.ffn_down{kind}")

    def mixture(x: Array, at: str) -> Array:
        out = np.zeros_like(x)
        scores = linear(x, f"{at}.ffn_gate_inp")
        for token in range(n):
            chosen = np.argsort(-scores[token])[: key("expert_used_count")]
            shares = softmax(scores[token][chosen])
            for expert, share in zip(chosen, shares, strict=True):
                parts = {}
                for part in ("gate", "up"):
                    weight = t[f"{at}.ffn_{part}_exps.weight"][expert]
                    bias = t[f"{at}.ffn_{part}_exps.bias"][expert] if f"{at}.ffn_{part}_exps.bias" in t else 0
                    parts[part] = weight @ x[token] + bias
                made = t[f"{at}.ffn_down_exps.weight"][expert] @ gated(name, parts["gate"], parts["up"])
                if f"{at}.ffn_down_exps.bias" in t:
                    made = made + t[f"{at}.ffn_down_exps.bias"][expert]
                out[token] += share * made
        return out

    x = t["token_embd.weight"][ids] * (math.sqrt(width) if name.startswith("gemma") else key("embedding_scale"))
    for layer in range(key("block_count")):
        at = f"blk.{layer}"
        window = key("attention.sliding_window", 0)
        every = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "olmo2": 4}.get(name, 0)
        local = bool(window and every and layer % every < every - 1)
        h = rms(x, t[f"{at}.attn_norm.weight"], epsilon) if name != "olmo2" else x
        if name == "phi3":
            q, k, v = np.split(linear(h, f"{at}.attn_qkv"), [heads * head, (heads + kv) * head], axis=1)
        else:
            q, k, v = (linear(h, f"{at}.attn_{part}") for part in "qkv")
        if name == "olmo2":
            q, k = (rms(y, t[f"{at}.attn_{p}_norm.weight"], epsilon) for y, p in ((q, "q"), (k, "k")))
        q, k, v = q.reshape(n, heads, head), k.reshape(n, kv, head), v.reshape(n, kv, head)
        if name in ("qwen3", "qwen3moe", "gemma3"):
            q, k = (rms(y, t[f"{at}.attn_{p}_norm.weight"], epsilon) for y, p in ((q, "q"), (k, "k")))
        if not (name == "smollm3" and (layer + 1) % 4 == 0):
            turns = frequencies(name, m, t, local, context)
            q, k = rotated(name, q, *turns), rotated(name, k, *turns)
        out = np.zeros((n, heads, head))
        for token in range(n):
            first = max(token - window + 1, 0) if local else 0
            for one in range(heads):
                source = one * kv // heads
                scores = k[first : token + 1, source] @ q[token, one] * key("attention.scale", head**-0.5)
                if name == "gemma2":
                    cap = key("attn_logit_softcapping")
                    scores = cap * np.tanh(scores / cap)
                if name == "gpt-oss":
                    shares = softmax(np.append(scores, t[f"{at}.attn_sinks.weight"][one]))[:-1]
                else:
                    shares = softmax(scores)
                out[token, one] = shares @ v[first : token + 1, source]
        made = linear(out.reshape(n, -1), f"{at}.attn_output")
        if name in ("gemma2", "gemma3", "olmo2"):
            made = rms(made, t[f"{at}.post_attention_norm.weight"], epsilon)
        x = x + made * key("residual_scale")
        before = "post_attention_norm" if name == "gpt-oss" else "ffn_norm"
        h = x if name == "olmo2" else rms(x, t[f"{at}.{before}.weight"], epsilon)
        made = mixture(h, at) if key("expert_count", 0) else network(h, at)
        if name == "granitemoe":
            made = made + network(h, at, "_shexp")
        if name in ("gemma2", "gemma3", "olmo2"):
            made = rms(made, t[f"{at}.post_ffw_norm.weight"], epsilon)
        x = x + made * key("residual_scale")
    x = rms(x, t["output_norm.weight"], epsilon)
    found = x @ t.get("output.weight", t["token_embd.weight"]).T / key("logit_scale")
    if name == "gemma2":
        cap = key("final_logit_softcapping")
        found = cap * np.tanh(found / cap)
    return found
