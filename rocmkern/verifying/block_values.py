"""What the quantized kernels should give, by NumPy and the gguf package, where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from rocmkern.kernels.block_formats import Q8_1, BlockFormat

Array = np.ndarray[Any, Any]


def is_known(row: BlockFormat) -> bool:
    """Whether the values of such blocks can be told here."""
    return row.symbol == "q8_K" or find_spec("gguf") is not None


def random_blocks(row: BlockFormat, count: int, rng: np.random.Generator) -> Array:
    """Blocks of random bytes: any bit pattern is a block, NaN and infinite scales included."""
    return rng.integers(0, 256, (count, row.nbytes), dtype=np.uint8)


def weights(row: BlockFormat, rows: int, columns: int, rng: np.random.Generator) -> Array:
    """Rows of blocks with scales of ordinary size, so that products are finite."""
    blocks = random_blocks(row, rows * columns // row.values, rng)
    fields = blocks.view(row.layout)
    for name in ("d", "m", "dmin"):
        if name in (row.layout.names or ()):
            fields[name] = rng.uniform(-1, 1, fields[name].shape)
    if "e" in (row.layout.names or ()):
        fields["e"] = rng.integers(120, 130, fields["e"].shape)
    return blocks.reshape(rows, -1)


def dequantized(row: BlockFormat, blocks: Array) -> Any:
    """The f32 values of rows of blocks; q8_K, which the gguf package lacks, is scale times quant."""
    if row.symbol == "q8_K":
        fields = blocks.reshape(-1, row.nbytes).view(row.layout)[:, 0]
        with np.errstate(all="ignore"):
            return (fields["d"][:, None] * fields["qs"].astype(np.float32)).reshape(len(blocks), -1)
    import gguf

    with np.errstate(all="ignore"):
        return gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[row.struct])


def quantized_activations(x: Array, padded: int) -> Array:
    """Rows of q8_1 blocks: scale |max| / 127, quants rounded half away from zero, the sum of the values."""
    wide = np.zeros((len(x), padded), np.float32)
    wide[:, : x.shape[1]] = x
    values = wide.reshape(-1, 32)
    scale = np.abs(values).max(1) / np.float32(127)
    with np.errstate(all="ignore"):
        quotient = np.where(scale[:, None] == 0, 0, values / scale[:, None])
    blocks = np.zeros(len(values), Q8_1.layout)
    blocks["d"] = scale
    blocks["s"] = values.sum(1)
    blocks["qs"] = np.sign(quotient) * np.floor(np.abs(quotient) + np.float32(0.5))
    return blocks.view(np.uint8).reshape(len(x), -1)


def activation_values(blocks: Array) -> Any:
    """What q8_1 blocks stand for, exactly."""
    fields = blocks.reshape(-1, Q8_1.nbytes).view(Q8_1.layout)[:, 0]
    return (fields["d"].astype(np.float64)[:, None] * fields["qs"]).reshape(len(blocks), -1)
