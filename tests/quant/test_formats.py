"""The rows of block formats agree with the gguf package."""

from __future__ import annotations

import gguf
import pytest

from rocmkern.kernels.block_formats import FORMATS, Q8_1, BlockFormat


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_sizes_are_ggufs(row: BlockFormat) -> None:
    """A block has as many values and bytes as the gguf package says."""
    assert (row.values, row.nbytes) == gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[row.struct]]


def test_q8_1_has_two_halves_and_32_quants() -> None:
    """Activations use the 36-byte block of ggml's CUDA kernels; the gguf package still lists an older one of 40."""
    assert (Q8_1.values, Q8_1.nbytes) == (32, 36)


def test_bits_per_value_count_the_scales() -> None:
    """q4_0 spends 4.5 bits on a value, q6_K 6.5625."""
    assert [f.bits_per_value for f in FORMATS if f.name in ("q4_0", "q6_k")] == [4.5, 6.5625]
