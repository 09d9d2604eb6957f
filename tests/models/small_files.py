"""Small language models of random weights in GGUF files, one for each architecture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

Array = np.ndarray[Any, Any]
WIDTH, HEADS, KV_HEADS, HEAD, INNER, EXPERTS = 32, 4, 2, 16, 48, 4
LETTERS = [chr(b) if (chr(b).isprintable() and chr(b) != " " and b < 0x7F) or (b >= 0xA1 and b != 0xAD) else None
           for b in range(256)]  # fmt: skip
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("h e", "l l", "he ll", "hell o", "Ġ w", "Ġw o", "1 2")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_letters() -> list[str]:
    """The letters that spell bytes in byte-level vocabularies, in the order of the bytes."""
    missing = iter(range(256, 512))
    return [letter if letter is not None else chr(next(missing)) for letter in LETTERS]


def vocabulary() -> dict[str, Any]:
    """Metadata of a byte-level vocabulary: 256 bytes, some merges, special tokens and one of the user's."""
    tokens = [*byte_letters(), *(merge.replace(" ", "") for merge in MERGES), *SPECIAL, "<think>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [*[1] * (256 + len(MERGES)), *[3] * len(SPECIAL), 4],
        "tokenizer.ggml.merges": list(MERGES),
        "tokenizer.ggml.bos_token_id": tokens.index("<|im_start|>"),
        "tokenizer.ggml.eos_token_id": tokens.index("<|im_end|>"),
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }


def sizes(name: str, layers: int, **more: Any) -> dict[str, Any]:
    """Metadata of a model's sizes."""
    given = {
        "block_count": layers,
        "context_length": 64,
        "embedding_length": WIDTH,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 5000.0,
        **more,
    }
    return {"general.architecture": name, **{f"{name}.{key}": value for key, value in given.items()}}


class Drawn:
    """Tensors of a model, drawn at random."""

    def __init__(self, layers: int, seed: int = 7) -> None:
        self.rng = np.random.default_rng(seed)
        self.layers = layers
        count = len(vocabulary()["tokenizer.ggml.tokens"])
        self.tensors: dict[str, Array] = {"token_embd.weight": self.draw(count, WIDTH) * 4}
        self.norm("output_norm", WIDTH)
        for at in self.blocks():
            self.matrix(f"{at}.attn_output", WIDTH, HEADS * HEAD)

    def blocks(self) -> list[str]:
        return [f"blk.{number}" for number in range(self.layers)]

    def draw(self, *shape: int) -> Array:
        return (self.rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    def matrix(self, name: str, *shape: int) -> None:
        self.tensors[f"{name}.weight"] = self.draw(*shape)

    def norm(self, name: str, *shape: int) -> None:
        self.tensors[f"{name}.weight"] = (1 + 0.3 * self.rng.standard_normal(shape)).astype(np.float32)

    def bias(self, name: str, *shape: int) -> None:
        self.tensors[f"{name}.bias"] = (0.3 * self.rng.standard_normal(shape)).astype(np.float32)

    def norms(self, *names: str, length: int = WIDTH) -> None:
        for at in self.blocks():
            for name in names:
                self.norm(f"{at}.{name}", length)

    def heads(self) -> None:
        for at in self.blocks():
            for name, count in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
                self.matrix(f"{at}.attn_{name}", count * HEAD, WIDTH)

    def network(self, kind: str = "", *outer: int) -> None:
        for at in self.blocks():
            for name, shape in (("gate", (INNER, WIDTH)), ("up", (INNER, WIDTH)), ("down", (WIDTH, INNER))):
                self.matrix(f"{at}.ffn_{name}{kind}", *outer, *shape)

    def experts(self) -> None:
        self.network("_exps", EXPERTS)
        for at in self.blocks():
            self.matrix(f"{at}.ffn_gate_inp", EXPERTS, WIDTH)
            self.tensors[f"{at}.ffn_gate_inp.weight"] *= 4

    def biases(self, **lengths: int) -> None:
        for at in self.blocks():
            for name, length in lengths.items():
                self.bias(f"{at}.{name}", length)


def drawn(case: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Metadata and tensors of a case: an architecture, or one with something that some of its models have."""
    name = case.partition(" ")[0]
    layers = {"gemma3": 7, "smollm3": 4, "olmo2": 4}.get(name, 2)
    model, more = Drawn(layers), dict[str, Any]()
    q_width, kv_width = HEADS * HEAD, KV_HEADS * HEAD
    if name != "phi3":
        model.heads()
    if name == "olmo2":
        model.norms("post_attention_norm", "post_ffw_norm")
        model.norms("attn_q_norm", length=q_width)
        model.norms("attn_k_norm", length=kv_width)
        if case != name:
            more = {"attention.sliding_window": 4, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    else:
        model.norms("attn_norm", "post_attention_norm" if name == "gpt-oss" else "ffn_norm")
    if name in ("gemma2", "gemma3"):
        model.norms("post_attention_norm", "post_ffw_norm")
        more = {"attention.sliding_window": 4}
    if name == "gemma2":
        more |= {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
    if name == "gemma3":
        more |= {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0, "rope.freq_base": 1e6}
    if name in ("qwen3", "qwen3moe", "gemma3"):
        model.norms("attn_q_norm", "attn_k_norm", length=HEAD)
    if name == "qwen2" or case == "llama with biases":
        model.biases(attn_q=q_width, attn_k=kv_width, attn_v=kv_width)
    if name in ("qwen3moe", "gpt-oss", "granitemoe") or case == "llama with experts":
        model.experts()
        more |= {"expert_count": EXPERTS, "expert_used_count": 2, "expert_feed_forward_length": INNER}
    elif name == "phi3":
        for at in model.blocks():
            model.matrix(f"{at}.attn_qkv", q_width + 2 * kv_width, WIDTH)
            model.matrix(f"{at}.ffn_up", 2 * INNER, WIDTH)
            model.matrix(f"{at}.ffn_down", WIDTH, INNER)
        pairs = HEAD // 2
        if case != name:
            pairs = 6
            model.tensors["rope_factors_short.weight"] = np.linspace(1, 2, pairs).astype(np.float32)
            model.tensors["rope_factors_long.weight"] = np.linspace(1, 9, pairs).astype(np.float32)
            more = {
                "rope.dimension_count": 2 * pairs, "rope.scaling.type": "longrope", "rope.scaling.attn_factor": 1.2,
                "rope.scaling.original_context_length": 32 if "long" in case else 64,
            }  # fmt: skip
    else:
        model.network()
    if name == "granitemoe":
        model.network("_shexp")
    if name in ("granite", "granitemoe"):
        more |= {"embedding_scale": 6.0, "residual_scale": 0.4, "logit_scale": 3.0, "attention.scale": 0.1}
    if name in ("gpt-oss", "mistral3"):
        more |= {
            "rope.scaling.type": "yarn", "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 16,
            "rope.scaling.yarn_beta_fast": 8.0,
        }  # fmt: skip
    if name == "gpt-oss":
        model.biases(attn_q=q_width, attn_k=kv_width, attn_v=kv_width, attn_output=WIDTH, ffn_gate_inp=EXPERTS)
        for at in model.blocks():
            for kind, length in (("gate", INNER), ("up", INNER), ("down", WIDTH)):
                model.bias(f"{at}.ffn_{kind}_exps", EXPERTS, length)
                model.tensors[f"{at}.ffn_{kind}_exps.weight"] *= 3
            model.tensors[f"{at}.attn_sinks.weight"] = model.draw(HEADS)
        more |= {"attention.sliding_window": 4}
    if case == "llama with divisors":
        model.tensors["rope_freqs.weight"] = np.linspace(1, 8, HEAD // 2).astype(np.float32)
    if name not in ("gemma2", "gemma3", "smollm3", "granite"):
        model.matrix("output", len(model.tensors["token_embd.weight"]), WIDTH)
    return {**sizes(name, layers, **more), **vocabulary()}, model.tensors


CASES = (
    "llama", "llama with biases", "llama with experts", "llama with divisors", "mistral3", "qwen2", "qwen3", "qwen3moe",
    "gemma2", "gemma3", "phi3", "phi3 short of longrope", "phi3 at length of longrope", "smollm3", "granite",
    "granitemoe", "olmo2", "olmo2 with a window", "gpt-oss",
)  # fmt: skip


def write(path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Any]) -> Path:
    """A file. A tensor is an array, or the bytes of blocks and their type."""
    writer = gguf.GGUFWriter(path, metadata["general.architecture"])
    for key, value in metadata.items():
        if key == "general.architecture":
            continue
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
    for name, tensor in tensors.items():
        data, kind = tensor if isinstance(tensor, tuple) else (tensor, None)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def small(path: Path, case: str = "llama") -> Path:
    return write(path, *drawn(case))
