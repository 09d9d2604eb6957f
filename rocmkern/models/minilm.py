"""all-MiniLM-L6-v2 sentence embeddings in rocmkern operations: an encoder from weights to unit vectors.

Run it as a script with sentences as arguments: `python examples/minilm.py "first sentence" "second sentence"`.
The architecture is BERT's (Devlin et al. 2018, arXiv:1810.04805): token, position and type embeddings; layers of
self-attention and a two-layer network, each followed by a residual and a layer norm; here with mean pooling.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import rocmkern as rk
from rocmkern.models import weights

WEIGHT_DTYPES = ("float32", "float16", "bfloat16")
WEIGHT_FORMATS = ("q8_0", "q4_k_m", "q4_k")


class MiniLM:
    """The encoder: `model.encode(sentences)` gives unit vectors (sentences, 384) as a Tensor of its dtype.

    `dtype` is one of WEIGHT_DTYPES and holds for weights and activations; `quantized` is one of WEIGHT_FORMATS and
    holds for the weight matrices, whose rows are padded to whole blocks; activations stay float32. `progress` is
    called with a label for each array.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        device: rk.Device | None = None,
        dtype: str = "float32",
        quantized: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        path = weights.folder() if folder is None else folder
        self.config = weights.config(path)
        self.tokenize = weights.Tokenizer(path, self.config.max_tokens)
        self.device = device or rk.Device()
        self.dtype = rk.dtype(dtype)
        self._tensors: dict[str, rk.Tensor] = {}
        self._matrices: dict[str, rk.Tensor | rk.QTensor] = {}
        for name, array in weights.arrays(path).items():
            if name.startswith("pooler"):
                continue
            tensor = rk.asarray(array, device=self.device)
            if quantized and ".layer." in name and array.ndim == 2:
                self._matrices[name] = rk.quantize(tensor, block_format(quantized, name), pad=True)
            elif ".layer." in name and array.ndim == 2:
                self._matrices[name] = tensor.astype(self.dtype)
            else:
                self._tensors[name] = tensor.astype(self.dtype)
            if progress is not None:
                progress(name)

    def encode(self, sentences: Sequence[str]) -> rk.Tensor:
        """Unit vectors (len(sentences), 384); sentences longer than 256 tokens are cut."""
        if not sentences:
            return rk.zeros((0, self.config.hidden), dtype=self.dtype, device=self.device)
        return self.encode_batch(self.tokenize(sentences))

    def encode_batch(self, batch: weights.Batch) -> rk.Tensor:
        """Unit vectors of sentences that are tokens already."""
        ids = rk.asarray(batch.ids, device=self.device)
        keep = rk.asarray(batch.mask.astype(np.float32), device=self.device).astype(self.dtype)
        hide = rk.asarray(np.where(batch.mask, 0, -np.inf).astype(np.float32), device=self.device).astype(self.dtype)
        x = self._embed(ids)
        for i in range(self.config.layers):
            x = self._layer(x, hide[:, None, None, :], f"encoder.layer.{i}")
        pooled = rk.sum(x * keep[:, :, None], axis=1) / rk.sum(keep, axis=1, keepdims=True)
        return pooled / rk.sqrt(rk.sum(pooled * pooled, axis=-1, keepdims=True))

    def _embed(self, ids: rk.Tensor) -> rk.Tensor:
        t = self._tensors
        words = rk.embedding(t["embeddings.word_embeddings.weight"], ids)
        places = t["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kinds = t["embeddings.token_type_embeddings.weight"][0]
        return self._norm(words + places + kinds, "embeddings.LayerNorm")

    def _layer(self, x: rk.Tensor, hide: rk.Tensor, at: str) -> rk.Tensor:
        attended = self._linear(self._attend(x, hide, f"{at}.attention.self"), f"{at}.attention.output.dense")
        x = self._norm(x + attended, f"{at}.attention.output.LayerNorm")
        wide = rk.gelu(self._linear(x, f"{at}.intermediate.dense"))
        return self._norm(x + self._linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")

    def _attend(self, x: rk.Tensor, hide: rk.Tensor, at: str) -> rk.Tensor:
        sentences, tokens, hidden = x.shape
        split = (sentences, tokens, self.config.heads, self.config.head)
        query, key, value = (
            rk.permute_dims(rk.reshape(self._linear(x, f"{at}.{part}"), split), (0, 2, 1, 3))
            for part in ("query", "key", "value")
        )
        scores = query @ key.mT * (1 / math.sqrt(self.config.head)) + hide
        mixed = rk.softmax(scores, axis=-1) @ value
        return rk.reshape(rk.permute_dims(mixed, (0, 2, 1, 3)), (sentences, tokens, hidden))

    def _linear(self, x: rk.Tensor, name: str) -> rk.Tensor:
        matrix = self._matrices[f"{name}.weight"]
        product = matrix.matmul(x) if isinstance(matrix, rk.QTensor) else x @ matrix.mT
        return product + self._tensors[f"{name}.bias"]

    def _norm(self, x: rk.Tensor, name: str) -> rk.Tensor:
        t = self._tensors
        return rk.layer_norm(x, t[f"{name}.weight"], t[f"{name}.bias"], eps=self.config.norm_epsilon)


def block_format(wanted: str, name: str) -> str:
    """The block format of one matrix: q4_k_m is q4_k with more bits where they count, as llama.cpp's files have it."""
    needs_bits = ".self.value." in name or (".output.dense." in name and ".attention." not in name)
    return {"q4_k_m": "q6_k" if needs_bits else "q4_k"}.get(wanted, wanted)


def batches(model: MiniLM, sentences: Sequence[str], size: int = 32) -> Iterator[np.ndarray]:
    """Vectors (≤ size, 384) float32 of consecutive sentences; an empty sentence gives a row of zeros."""
    for start in range(0, len(sentences), size):
        part = sentences[start : start + size]
        out = np.zeros((len(part), model.config.hidden), np.float32)
        filled = [i for i, text in enumerate(part) if text.strip()]
        if filled:
            out[filled] = model.encode([part[i] for i in filled]).astype(rk.float32).numpy()
        yield out


if __name__ == "__main__":
    texts = sys.argv[1:] or ["A man is playing guitar", "Someone strums an instrument", "The cat sits outside"]
    vectors = MiniLM().encode(texts)
    print(np.round((vectors @ vectors.mT).numpy(), 3))
