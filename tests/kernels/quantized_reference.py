"""What the quantized kernels should give, by NumPy and the gguf package."""

from __future__ import annotations

from typing import Any

import gguf
import numpy as np

from rocmkern.kernels.block_formats import Q8_1, BlockFormat

Array = np.ndarray[Any, Any]
SPECIAL_HALVES = (0x0000, 0x8000, 0x0001, 0x03FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00)


def random_blocks(row: BlockFormat, count: int, rng: np.random.Generator) -> Array:
    """Blocks of random bytes: any bit pattern is a block, NaN and infinite scales included."""
    return rng.integers(0, 256, (count, row.nbytes), dtype=np.uint8)


def extreme_blocks(row: BlockFormat) -> Array:
    """All zeros, all ones, and every special scale (zero, subnormal, largest, infinite, NaN) in each scale field."""
    blocks = [np.zeros(row.nbytes, np.uint8), np.full(row.nbytes, 255, np.uint8)]
    for name in ("d", "m", "dmin"):
        if name in (row.layout.names or ()) and row.layout[name] == np.float16:
            for half in SPECIAL_HALVES:
                block = (np.arange(row.nbytes) * 37 % 256).astype(np.uint8)
                block[row.layout.fields[name][1] :][:2] = np.array([half], "<u2").view(np.uint8)
                blocks.append(block)
    return np.stack(blocks)


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


def dequantized(row: BlockFormat, blocks: Array) -> Array:
    """The f32 values of rows of blocks; q8_K, which the gguf package lacks, is scale times quant."""
    if row.symbol == "q8_K":
        fields = blocks.reshape(-1, row.nbytes).view(row.layout)[:, 0]
        with np.errstate(all="ignore"):
            return (fields["d"][:, None] * fields["qs"].astype(np.float32)).reshape(len(blocks), -1)
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


def activation_values(blocks: Array) -> Array:
    """What q8_1 blocks stand for, exactly."""
    fields = blocks.reshape(-1, Q8_1.nbytes).view(Q8_1.layout)[:, 0]
    return (fields["d"].astype(np.float64)[:, None] * fields["qs"]).reshape(len(blocks), -1)


def relative_error(got: Array, wanted: Array) -> float:
    """The error's norm by the wanted values' norm."""
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))
