"""Kernel sources: rendering of instances, what a family is made of, and the hash that tells whether it changed."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from rocmkern.errors import BuildError
from rocmkern.kernels import files
from rocmkern.kernels.catalogue import Family

_INCLUDE: Final = re.compile(rb'#[ \t]*include[ \t]+"([^"]+)"')  # one in a comment too: not to look where lines begin


def instances_path(family: Family) -> Path:
    return files.sources() / "instances" / f"{family.name}.inc"


def rendered(family: Family) -> str:
    """The text of a family's instance list: one macro line per exported symbol."""
    lines = (
        "// Rendered by `rocmkern build --render` from the catalogue; edit that instead.",
        *(k.instance for k in family.kernels),
    )
    return "\n".join(lines) + "\n"


def render(family: Family) -> bool:
    """Writes the instance list where it differs from the catalogue; tells whether it did."""
    path, text = instances_path(family), rendered(family)
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return True


def require_rendered(family: Family) -> None:
    """Raises BuildError if the instance list is not what the catalogue says."""
    path = instances_path(family)
    if not path.exists() or path.read_text() != rendered(family):
        raise BuildError(f"build: {path.name} is not what the catalogue says; run `rocmkern build --render`")


def source_path(name: str) -> Path:
    path = files.sources() / f"{name}.hip"
    if not path.exists():
        raise BuildError(f"build: no source {path.name} in {path.parent}; it should define family {name}")
    return path


def parts(name: str) -> tuple[Path, ...]:
    """The `.hip` file of a family and all that it includes, sorted by path."""
    return with_includes(source_path(name))


def with_includes(source: Path) -> tuple[Path, ...]:
    """A file and all that it includes by a quoted name from its folder or the package's, sorted by path."""
    return tuple(sorted(map(Path, _contents(source))))


def source_hash(name: str) -> str:
    """SHA-256 over the names and contents of all parts: equal sources in two checkouts give the same hash."""
    root = os.path.realpath(files.sources()) + os.sep
    digest = hashlib.sha256()
    for path, content in sorted(_contents(source_path(name)).items(), key=lambda item: item[0].split(os.sep)):
        digest.update(f"{path.removeprefix(root)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _contents(source: Path) -> dict[str, bytes]:
    """The same files by path. Plain strings, since this is asked while a program loads kernels."""
    root = os.path.realpath(files.sources())
    found: dict[str, bytes] = {}
    waiting = [os.path.realpath(source)]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        try:
            with open(path, "rb") as opened:
                content = found[path] = opened.read()
        except FileNotFoundError:  # a compiler's own header, or one that it will miss
            continue
        for name in map(os.fsdecode, _INCLUDE.findall(content)):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            is_beside = beside in found or os.path.exists(beside)
            waiting.append(beside if is_beside else os.path.normpath(os.path.join(root, name)))
    return found
