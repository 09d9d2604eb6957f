"""Candle's list of kernels."""

from __future__ import annotations

import json
from pathlib import Path


def symbols(module: str) -> set[str]:
    """The symbols of one of Candle's modules."""
    listed = json.loads((Path(__file__).parents[1] / "data" / "candle_kernels.json").read_text())
    return set(listed[module])
