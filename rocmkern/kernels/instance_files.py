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
from rocmkern.paths import cache_folder, write_whole

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


def mark(code_object: Path, kernel: KernelSpec) -> None:
    """Notes beside a code object which sources it came from, and what it is."""
    write_whole(_mark_path(code_object), _mark(kernel, code_object.read_bytes()))


def is_current(code_object: Path, kernel: KernelSpec) -> bool:
    """Whether the file is there, whole and of today's sources."""
    try:
        return _mark_path(code_object).read_bytes() == _mark(kernel, code_object.read_bytes())
    except OSError:
        return False


def _mark_path(code_object: Path) -> Path:
    return code_object.with_name(code_object.name + _HASH_SUFFIX)


def _mark(kernel: KernelSpec, content: bytes) -> bytes:
    return f"{source_hash(kernel)} {hashlib.sha256(content).hexdigest()}\n".encode()


def find(kernel: KernelSpec, arch: str) -> Path | None:
    """The file that serves a device of `arch`; earlier folders and exact targets win."""
    folders = [folder / "instances" for folder in named_folders()] + [default_folder()]
    found = (path(kernel, target, folder) for folder in folders for target in targets.candidates(arch))
    chosen = next((file for file in found if is_current(file, kernel)), None)
    if chosen is not None and chosen.is_relative_to(default_folder()):
        disk_cache.use(chosen)
    return chosen


def require(kernel: KernelSpec, arch: str) -> Path:
    """The same, or KernelNotFound (a LookupError) with the way to build it."""
    found = find(kernel, arch)
    if found is None:
        raise KernelNotFound(
            f"load {kernel.symbol}: this instance does not ship and is not built for {targets.strip_features(arch)}; "
            f"build it with `rocmkern build --instances all --family {kernel.family} --target "
            f"{targets.strip_features(arch)}`"
        )
    return found
