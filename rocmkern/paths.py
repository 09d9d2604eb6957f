"""Folders of the user, files in them that several processes write, and what a path leads to."""

from __future__ import annotations

import os
import stat
import threading
from functools import lru_cache
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


def leads_into(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder once all links on the way are followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def open_regular(path: Path) -> int:
    """The descriptor of a file to read, which is no pipe and no device, as they would have no end.

    Raises OSError as open() does, ValueError for what is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            os.read(descriptor, 0)  # says so as open() does
        if not stat.S_ISREG(mode):
            raise ValueError("it is no regular file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _folder(variable: str, base_variable: str, base: str) -> Path:
    named, parent, home = (os.environ.get(name) for name in (variable, base_variable, "HOME"))
    if named or parent or home:
        return _named_folder(named, parent, home, base)
    return _home() / base / "rocmkern"


@lru_cache
def _named_folder(named: str | None, parent: str | None, home: str | None, base: str) -> Path:
    """The same path object again, as every file of the cache asks for it."""
    if named:
        return Path(named)
    return (Path(parent) if parent else _home() / base) / "rocmkern"


def _home() -> Path:
    """The user's; where they have none, as in some containers, a place that holds nothing."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)
