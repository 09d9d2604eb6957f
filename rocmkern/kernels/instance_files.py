"""Kernels of instances that do not ship: where they are looked for, and which of the files may be used.

They lie as `instances/<target>/<symbol>.hsaco` in the folders of ROCMKERN_KERNEL_DIR and in the user's cache, each with
the hash of the sources that it came from and its own; one of other sources than today's, or a damaged one, counts as
not there.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from rocmkern import disk_cache, targets
from rocmkern.errors import KernelNotFound
from rocmkern.kernels import sources
from rocmkern.kernels.catalogue import KernelSpec
from rocmkern.paths import cache_folder

KERNEL_FOLDERS: Final = "ROCMKERN_KERNEL_DIR"
_HASH_SUFFIX: Final = ".sources"


def named_folders() -> list[Path]:
    """The folders of ROCMKERN_KERNEL_DIR."""
    return [Path(text) for text in os.environ.get(KERNEL_FOLDERS, "").split(os.pathsep) if text]


def default_folder() -> Path:
    """Where instances are built."""
    return cache_folder() / "instances"


def path(kernel: KernelSpec, target: str, folder: Path) -> Path:
    return folder / target / targets.file_name(kernel.symbol, target)


def source_text(kernel: KernelSpec) -> str:
    """The source of one kernel: its family's file with its own line in place of the shipped instances."""
    return (
        sources.source_path(kernel.family)
        .read_text()
        .replace(f'#include "instances/{kernel.family}.inc"', kernel.instance)
    )


def source_hash(kernel: KernelSpec) -> str:
    return hashlib.sha256(f"{sources.source_hash(kernel.family)}\0{source_text(kernel)}".encode()).hexdigest()


def mark(code_object: Path, kernel: KernelSpec, content: bytes) -> None:
    """Notes beside a code object of that content which sources it came from, and what it is."""
    disk_cache.describe(code_object, _HASH_SUFFIX, _mark(kernel, content), content)


def current(code_object: Path, kernel: KernelSpec) -> bytes | None:
    """The content of a file; None where it is not there, or not whole, or not of today's sources."""
    try:
        content, text = disk_cache.read_described(code_object, _HASH_SUFFIX)
    except OSError:
        return None
    return content if text == _mark(kernel, content) else None


def _mark(kernel: KernelSpec, content: bytes) -> bytes:
    return f"{source_hash(kernel)} {hashlib.sha256(content).hexdigest()}\n".encode()


def find(kernel: KernelSpec, arch: str) -> Path | None:
    """The file that serves a device of `arch`; earlier folders and exact targets win."""
    found = _find(kernel, arch)
    return None if found is None else found[0]


def _find(kernel: KernelSpec, arch: str) -> tuple[Path, bytes] | None:
    """The file and its content, as it was when that was found to be right."""
    folders = [folder / "instances" for folder in named_folders()] + [default_folder()]
    for file in (path(kernel, target, folder) for folder in folders for target in targets.candidates(arch)):
        content = current(file, kernel)
        if content is not None:
            if file.is_relative_to(default_folder()):
                disk_cache.use(file)
            return file, content
    return None


def require(kernel: KernelSpec, arch: str) -> tuple[Path, bytes]:
    """The same with its content, or KernelNotFound (a LookupError) with the way to build it."""
    found = _find(kernel, arch)
    if found is None:
        raise KernelNotFound(
            f"load {kernel.symbol}: this instance does not ship and is not built for {targets.strip_features(arch)}; "
            f"build it with `rocmkern build --instances all --family {kernel.family} --target "
            f"{targets.strip_features(arch)}`"
        )
    return found
