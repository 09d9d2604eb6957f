"""The quantized kernels: ggml's block formats."""

from __future__ import annotations

import json
from pathlib import Path

from rocmkern.kernels.families.quantized import FAMILY

CANDLE = json.loads((Path(__file__).parents[1] / "data" / "candle_kernels.json").read_text())["quantized"]


def test_every_candle_symbol_is_declared() -> None:
    """A Candle port finds all 142 symbols of its quantized module."""
    assert len(CANDLE) == 142
    assert set(CANDLE) - set(FAMILY.by_symbol) == set()
