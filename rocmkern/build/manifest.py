"""hsaco/MANIFEST.json: what each built file is, from which sources and tools it came, and what its kernels use."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from rocmkern import codeobject
from rocmkern.codeobject import Kernel
from rocmkern.kernels import files
from rocmkern.paths import write_whole

# What a kernel's row holds, in this order; sizes in bytes. A scalar register parked in a lane of a vector register does
# not count as spilled: it costs no memory access.
KERNEL_FIELDS: Final = ("kernarg_size", "lds_size", "sgprs", "vgprs", "agprs", "spills", "private_size", "code_size")


def _row(kernel: Kernel, code_size: int) -> tuple[int, ...]:
    spills = kernel.vgpr_spills + (kernel.sgpr_spills if kernel.private_size else 0)
    used = (kernel.kernarg_size, kernel.lds_size, kernel.sgprs, kernel.vgprs, kernel.agprs)
    return (*used, spills, kernel.private_size, code_size)


@frozen
class Entry:
    """One built file. `sha256` is of the file, `source_hash` of the sources that it came from."""

    target: str
    family: str
    sha256: str
    source_hash: str
    compiler: str
    library: str
    flags: tuple[str, ...]
    kernels: dict[str, tuple[int, ...]]


def digest(path: Path) -> str:
    """The hash by which an entry knows its file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kernel_rows(image: bytes) -> dict[str, tuple[int, ...]]:
    """What the code object says of each of its kernels."""
    read = codeobject.read(image)
    return {name: _row(kernel, read.symbols[name][1]) for name, kernel in read.kernels.items()}


def manifest_path() -> Path:
    return files.code_objects() / "MANIFEST.json"


def load() -> dict[str, Entry]:
    """The entries by path below hsaco/; none if nothing was built."""
    path = manifest_path()
    if not path.exists():
        return {}
    return {name: _entry(**row) for name, row in json.loads(path.read_text())["files"].items()}


def _entry(flags: list[str], kernels: dict[str, list[int]], **rest: str) -> Entry:
    return Entry(flags=tuple(flags), kernels={name: tuple(row) for name, row in kernels.items()}, **rest)


def add(entries: dict[str, Entry]) -> None:
    """Notes what was built, beside what others noted meanwhile."""
    if entries:
        with _locked():
            _save(load() | entries)


@contextmanager
def _locked() -> Iterator[None]:
    """One process at a time; the system lets go of the lock when its owner dies."""
    descriptor = os.open(files.code_objects(), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _save(entries: dict[str, Entry]) -> None:
    """Writes one line per file, sorted, so that builds of different families merge as text."""

    def line(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    rows = ",\n".join(f"{line(name)}:{line(asdict(entries[name]))}" for name in sorted(entries))
    write_whole(manifest_path(), f'{{"kernel_fields":{line(KERNEL_FIELDS)},\n"files":{{\n{rows}\n}}}}\n'.encode())
