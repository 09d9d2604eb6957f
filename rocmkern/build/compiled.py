"""Compiled files kept by what they were compiled from, so that no checkout of a user compiles the same thing again."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

from rocmkern.build.toolchain import Toolchain
from rocmkern.paths import cache_folder

LIMIT_BYTES: Final = 512 << 20


def folder() -> Path:
    return cache_folder() / "compiled"


def key(family: str, target: str, source_hash: str, toolchain: Toolchain) -> str:
    """Equal for equal sources, target, flags and tools, of which each changes the bytes."""
    parts = (family, target, source_hash, toolchain.compiler, toolchain.library(target), *toolchain.flags(target))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def fetch(name: str, output: Path) -> bool:
    """Copies the kept file to `output`, if there is one."""
    kept = folder() / name
    if not kept.exists():
        return False
    shutil.copyfile(kept, output)
    os.utime(kept)
    return True


def keep(name: str, built: Path) -> None:
    """Keeps a copy; the longest unused ones go when all of them exceed the limit."""
    folder().mkdir(parents=True, exist_ok=True)
    fresh = folder() / f".{name}.{os.getpid()}"
    shutil.copyfile(built, fresh)
    fresh.replace(folder() / name)
    total = 0
    for path in sorted(folder().iterdir(), key=lambda p: p.stat().st_mtime, reverse=True):
        total += path.stat().st_size
        if total > LIMIT_BYTES:
            path.unlink(missing_ok=True)
