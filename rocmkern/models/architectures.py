"""What language models in GGUF files differ in: a row for each architecture, and the sizes that a file gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from attrs import evolve, frozen

from rocmkern.errors import GgufError, UnsupportedArchitecture
from rocmkern.near import near


@frozen
class Architecture:
    """What a file does not say of its model. RMS norms, grouped heads and gated networks are common to all."""

    pairs: Literal["neighbours", "halves"]  # that rotate together; converters reorder rows of Llama's family
    activation: Literal["silu", "gelu_tanh", "clamped"] = "silu"
    ffn_norm: str = "ffn_norm"  # the tensor before the network
    scales_embedding: bool = False  # by the root of the width
    pattern: int = 0  # of n layers the first n - 1 see a window, where the file has one; 0: none does
    window: int = 0  # where the file has none
    scales_local: bool = True  # angles of layers with a window, as those of the others
    local_base: float = 0.0  # of those angles; 0: as of the others
    unrotated: int = 0  # every n-th layer has no angles
    softcaps: tuple[float, float] = (0.0, 0.0)  # of attention and of logits, where the file lacks them
    largest_layers: int = 0  # a model of so many scales queries by width / heads instead of the head's length


ARCHITECTURES: Final[dict[str, Architecture]] = {
    "llama": Architecture("neighbours"),
    "mistral3": Architecture("neighbours"),
    "qwen2": Architecture("halves"),
    "qwen3": Architecture("halves"),
    "qwen3moe": Architecture("halves"),
    "gemma2": Architecture(
        "halves", "gelu_tanh", scales_embedding=True, pattern=2, window=4096, softcaps=(50.0, 30.0), largest_layers=46
    ),
    "gemma3": Architecture(
        "halves",
        "gelu_tanh",
        scales_embedding=True,
        pattern=6,
        scales_local=False,
        local_base=10000.0,
        largest_layers=62,
    ),
    "phi3": Architecture("halves"),
    "smollm3": Architecture("neighbours", unrotated=4),
    "granite": Architecture("neighbours"),
    "granitemoe": Architecture("neighbours"),
    "olmo2": Architecture("halves", pattern=4, scales_local=False),
    "gpt-oss": Architecture("halves", "clamped", ffn_norm="post_attention_norm", pattern=2),
}
SCALINGS: Final = ("none", "linear", "yarn", "longrope")
_SOFTMAX, _SOFTMAX_OF_CHOSEN = 1, 3  # how a router's numbers become weights
# Keys of what is not computed here, unless they say nothing.
_REFUSED: Final = (
    "attention.temperature_scale", "attention.clamp_kqv", "attention.max_alibi_bias", "attention.q_lora_rank",
    "attention.kv_lora_rank", "attention.layer_norm_epsilon", "attention.shared_kv_layers", "rope.dimension_sections",
    "leading_dense_block_count", "expert_group_count", "nextn_predict_layers",
)  # fmt: skip


@frozen
class Angles:
    """How positions become angles: those of pair i are `position · base^(-2i / rotated)`, scaled."""

    rotated: int  # features of a head
    base: float
    scaling: str
    factor: float
    original_context: int
    attention_factor: float
    fast: float
    slow: float
    log_multiplier: float


@frozen
class Config:
    """Sizes and factors of one model. Lengths are in tokens or in values."""

    name: str  # of the architecture
    architecture: Architecture
    layers: int
    context: int  # that it was trained for
    width: int
    heads: int
    kv_heads: int
    head: int
    epsilon: float
    angles: Angles
    local_angles: Angles
    local: tuple[bool, ...]  # whether a layer sees a window
    window: int
    scale: float  # of queries times keys
    attention_softcap: float  # 0: none
    logit_softcap: float
    embedding_scale: float
    residual_scale: float
    logit_scale: float  # divides
    experts: int
    experts_used: int
    experts_scale: float

    def is_rotated(self, layer: int) -> bool:
        every = self.architecture.unrotated
        return not every or (layer + 1) % every != 0


@frozen
class _Keys:
    """Metadata of one architecture."""

    name: str
    metadata: Mapping[str, Any]

    def of(self, key: str, default: Any = None) -> Any:
        found = self.metadata.get(f"{self.name}.{key}", default)
        if found is None:
            raise GgufError(f"load model: {self.name}.{key} is missing in the metadata; convert the model anew")
        return found

    def count(self, key: str, default: int | None = None) -> int:
        """A number of at least 1; of one for each layer, all must be equal."""
        found = self.of(key, default)
        if isinstance(found, list):
            if len(set(found)) != 1:
                raise GgufError(f"load model: {self.name}.{key} differs from layer to layer, which is not supported")
            found = found[0]
        if type(found) is not int or not 0 < found < 1 << 31:
            raise GgufError(f"load model: {self.name}.{key} is {found!r}; it must be a positive integer")
        return found

    def number(self, key: str, default: float | None = None) -> float:
        found = self.of(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or found != found:
            raise GgufError(f"load model: {self.name}.{key} is {found!r}; it must be a number")
        return float(found)


def config(metadata: Mapping[str, Any]) -> Config:
    """What a file says of its model.

    Raises UnsupportedArchitecture for one that has no row or needs what is not computed here, GgufError (a ValueError)
    for missing or senseless numbers.
    """
    name = metadata.get("general.architecture")
    row = ARCHITECTURES.get(name) if isinstance(name, str) else None
    if row is None:
        raise UnsupportedArchitecture(
            f"load model: no architecture {name!r}; there is {near(str(name), ARCHITECTURES)}"
        )
    keys = _Keys(str(name), metadata)
    for key in _REFUSED:
        if metadata.get(f"{name}.{key}"):
            raise UnsupportedArchitecture(
                f"load model: {name}.{key} is set, which is not supported; take another model"
            )
    width, heads, layers = keys.count("embedding_length"), keys.count("attention.head_count"), keys.count("block_count")
    head = keys.count("attention.key_length", max(width // heads, 1))
    kv_heads = keys.count("attention.head_count_kv", heads)
    if keys.count("attention.value_length", head) != head or head % 2 or heads % kv_heads:
        raise UnsupportedArchitecture(
            f"load model: {heads} heads, {kv_heads} of keys, each of {head} values; values must be as long as keys, "
            "an even number, and heads shared evenly"
        )
    pattern, window = _window(keys, row, layers)
    angles = _angles(keys, head)
    local_base = keys.number("rope.freq_base_swa", row.local_base or angles.base)
    local = evolve(angles, base=local_base)
    experts = int(keys.number("expert_count", 0))
    if experts and keys.of("expert_gating_func", _SOFTMAX) not in (0, _SOFTMAX, _SOFTMAX_OF_CHOSEN):
        raise UnsupportedArchitecture(
            f"load model: {name}.expert_gating_func is {keys.of('expert_gating_func')!r}; supported are {_SOFTMAX} and "
            f"{_SOFTMAX_OF_CHOSEN}"
        )
    per_head = width / heads if layers == row.largest_layers else head
    return Config(
        name=keys.name,
        architecture=row,
        layers=layers,
        context=keys.count("context_length"),
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        epsilon=keys.number("attention.layer_norm_rms_epsilon"),
        angles=angles,
        local_angles=local if row.scales_local else evolve(local, scaling="none", attention_factor=1.0),
        local=pattern,
        window=window,
        scale=keys.number("attention.scale", 0.0) or float(per_head) ** -0.5,
        attention_softcap=keys.number("attn_logit_softcapping", row.softcaps[0]),
        logit_softcap=keys.number("final_logit_softcapping", row.softcaps[1]),
        embedding_scale=width**0.5 if row.scales_embedding else keys.number("embedding_scale", 0.0) or 1.0,
        residual_scale=keys.number("residual_scale", 0.0) or 1.0,
        logit_scale=keys.number("logit_scale", 0.0) or 1.0,
        experts=experts,
        experts_used=keys.count("expert_used_count") if experts else 0,
        experts_scale=keys.number("expert_weights_scale", 0.0) or 1.0,
    )


def _window(keys: _Keys, row: Architecture, layers: int) -> tuple[tuple[bool, ...], int]:
    """Which layers see a window, and its length."""
    window = int(keys.number("attention.sliding_window", row.window)) if row.pattern else 0
    if not window:
        return (False,) * layers, 0
    pattern = keys.of("attention.sliding_window_pattern", row.pattern)
    if isinstance(pattern, list):
        if len(pattern) < layers:
            raise GgufError(
                f"load model: {keys.name}.attention.sliding_window_pattern has {len(pattern)} entries, for {layers} "
                "layers; convert the model anew"
            )
        return tuple(bool(one) for one in pattern[:layers]), window
    every = keys.count("attention.sliding_window_pattern", row.pattern)
    return tuple(layer % every < every - 1 for layer in range(layers)), window


def _angles(keys: _Keys, head: int) -> Angles:
    rotated = keys.count("rope.dimension_count", head)
    scaling = keys.of("rope.scaling.type", "linear")
    factor = keys.number("rope.scaling.factor", 0.0) or keys.number("rope.scale_linear", 0.0) or 1.0
    if scaling not in SCALINGS:
        raise UnsupportedArchitecture(
            f"load model: {keys.name}.rope.scaling.type is {scaling!r}; supported are {', '.join(SCALINGS)}"
        )
    if rotated > head or rotated % 2:
        raise GgufError(f"load model: {keys.name}.rope.dimension_count is {rotated} for heads of {head}")
    return Angles(
        rotated=rotated,
        base=keys.number("rope.freq_base", 10000.0),
        scaling=scaling,
        factor=factor,
        original_context=keys.count("rope.scaling.original_context_length", keys.count("context_length")),
        attention_factor=keys.number("rope.scaling.attn_factor", 0.0) or 1.0,
        fast=keys.number("rope.scaling.yarn_beta_fast", 32.0),
        slow=keys.number("rope.scaling.yarn_beta_slow", 1.0),
        log_multiplier=keys.number("rope.scaling.yarn_log_multiplier", 0.0),
    )
