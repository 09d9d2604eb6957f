"""Compiled files kept by what they were compiled from, so that no checkout of a user compiles the same thing again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rocmkern.build.toolchain import Toolchain
from rocmkern.disk_cache import DiskCache


def _cache() -> DiskCache:
    return DiskCache.named("compiled")


def key(family: str, target: str, source_hash: str, toolchain: Toolchain) -> str:
    """Equal for equal sources, target, flags and tools, of which each changes the bytes."""
    parts = (family, target, source_hash, toolchain.compiler, toolchain.library(target), *toolchain.flags(target))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def fetch(name: str, output: Path) -> bool:
    """Writes what was kept to `output`, if there is something."""
    data = _cache().fetch(name)
    if data is not None:
        output.write_bytes(data)
    return data is not None


def keep(name: str, built: Path) -> None:
    _cache().keep(name, built.read_bytes())
