"""Compiled files kept by what they were compiled from, so that no checkout of a user compiles the same thing again."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from rocmkern.build.toolchain import Toolchain
from rocmkern.paths import cache_folder, write_whole

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
    try:
        shutil.copyfile(kept, output)
    except FileNotFoundError:
        return False
    with suppress(FileNotFoundError):  # another process has dropped it since
        os.utime(kept)
    return True


def keep(name: str, built: Path) -> None:
    """Keeps a copy; the longest unused ones go when all of them exceed the limit."""
    folder().mkdir(parents=True, exist_ok=True)
    write_whole(folder() / name, built.read_bytes())
    found = []
    for path in folder().glob("[!.]*"):  # not what somebody is writing
        with suppress(FileNotFoundError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > LIMIT_BYTES:
            path.unlink(missing_ok=True)
