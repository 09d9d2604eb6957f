"""Blocks and distances that the tests of quantized kernels use, beside what the package itself compares with."""

from __future__ import annotations

from typing import Any

import numpy as np

from rocmkern.kernels.block_formats import BlockFormat
from rocmkern.verifying.block_values import activation_values as activation_values
from rocmkern.verifying.block_values import dequantized as dequantized
from rocmkern.verifying.block_values import quantized_activations as quantized_activations
from rocmkern.verifying.block_values import random_blocks as random_blocks
from rocmkern.verifying.block_values import weights as weights

Array = np.ndarray[Any, Any]
SPECIAL_HALVES = (0x0000, 0x8000, 0x0001, 0x03FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00)


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


def relative_error(got: Array, wanted: Array) -> float:
    """The error's norm by the wanted values' norm."""
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))
