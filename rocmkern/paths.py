"""Folders of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "ROCMKERN_CACHE"


def cache_folder() -> Path:
    """Where translated and compiled code is kept: $ROCMKERN_CACHE, else the user's cache directory."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rocmkern"
