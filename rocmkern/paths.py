"""Folders of the user, and files in them that several processes write."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "ROCMKERN_CACHE"
CONFIG_VARIABLE: Final = "ROCMKERN_CONFIG"


def config_folder() -> Path:
    """Where the user's settings are: $ROCMKERN_CONFIG, else `rocmkern` in the user's configuration directory."""
    return _folder(CONFIG_VARIABLE, "XDG_CONFIG_HOME", ".config")


def cache_folder() -> Path:
    """Where translated and compiled code is kept: $ROCMKERN_CACHE, else the user's cache directory."""
    return _folder(CACHE_VARIABLE, "XDG_CACHE_HOME", ".cache")


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that readers find the old content or all of the new, whoever else writes it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    fresh.unlink(missing_ok=True)
    try:
        with fresh.open("xb") as file:  # not through a link that lies there
            file.write(content)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _folder(variable: str, base_variable: str, base: str) -> Path:
    named, parent = os.environ.get(variable), os.environ.get(base_variable)
    if named:
        return Path(named)
    return (Path(parent) if parent else _home() / base) / "rocmkern"


def _home() -> Path:
    """The user's; where they have none, as in some containers, a place that holds nothing."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)
