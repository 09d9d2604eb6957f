"""The package's own code objects, each with a note of what it was made of.

Those of a family for AMD GPUs lie together in an offload bundle, where the host's piece holds the notes. PTX is built
where it is wanted, in a file for each target with the note as its last line. A code object of other sources, flags or
declarations than those beside it is refused: its kernels would give wrong values without a word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import asdict, field, frozen

from rocmkern import targets
from rocmkern.codeobject import BundleEntry, bundler, read_bundle
from rocmkern.errors import CodeObjectError, StaleCodeObject
from rocmkern.kernels import compile_flags, families, files, sources
from rocmkern.locks import file_locked
from rocmkern.paths import write_whole

_PTX_NOTE: Final = b"// made of "


def _strings(values: Any) -> tuple[str, ...]:
    return tuple(values)


@frozen
class Origin:
    """What a code object was made of. `sources` and `catalogue` are hashes."""

    sources: str
    catalogue: str
    flags: tuple[str, ...] = field(converter=_strings)
    compiler: str
    library: str  # the device library, by content


@frozen
class Piece:
    """One code object of a bundle. `origin` is None where nothing is noted, as in a bundle that others made."""

    entry: BundleEntry
    origin: Origin | None


def path(family: str) -> Path:
    """The bundle of a family."""
    return files.code_objects() / f"{family}.hsaco"


def ptx_path(family: str, target: str) -> Path:
    return files.code_objects() / target / targets.file_name(family, target)


def pieces(family: str) -> dict[str, Piece]:
    """The code objects for AMD GPUs by target; none if nothing was built. Raises CodeObjectError if damaged."""
    where = path(family)
    return _pieces(where.read_bytes()) if where.exists() else {}


def code(family: str, arch: str) -> bytes:
    """The code object of `family` that serves a device of `arch` best.

    Raises ModuleNotShipped for an unknown family, TargetNotBuilt if nothing of it fits, StaleCodeObject if it is of
    other sources, flags or declarations than those here.
    """
    families.family(family)
    if targets.is_ptx(arch):
        built = tuple(sorted(where.parent.name for where in files.code_objects().glob(f"*/{family}.ptx")))
        target = targets.resolve(arch, built, family)
        data = ptx_path(family, target).read_bytes()
        require_current(family, target, ptx_origin(data))
        return data
    held = pieces(family)
    target = targets.resolve(arch, tuple(sorted(held)), family)
    require_current(family, target, held[target].origin)
    return held[target].entry.data


def require_current(family: str, target: str, origin: Origin | None) -> None:
    """Raises StaleCodeObject unless a code object is of today's flags and declarations and, in a checkout, sources."""
    if origin is None:
        fact = "does not say what it was made of"
    elif origin.catalogue != catalogue_hash(family):
        fact = "is of other declarations than the catalogue's"
    elif origin.flags not in compile_flags.known(target):
        fact = "is of other compiler flags than today's"
    elif files.is_checkout() and origin.sources != sources.source_hash(family):
        fact = f"is of other sources than those in {files.sources().name}/"
    else:
        return
    raise StaleCodeObject(f"load {family} for {target}: its code object {fact}; run `rocmkern build`")


@cache
def catalogue_hash(family: str) -> str:
    """SHA-256 over the symbols, instances and parameters that a family declares."""
    declared = list[str]()
    for kernel in families.family(family).kernels:
        declared += (kernel.symbol, kernel.instance)
        for parameter in kernel.parameters:
            declared += (parameter.name, parameter.role, parameter.dtype.short)
    return hashlib.sha256("\0".join(declared).encode()).hexdigest()


def ptx_origin(text: bytes) -> Origin | None:
    """What the last line of a PTX file says."""
    return _origin(_decoded(text.rpartition(_PTX_NOTE)[2]))


def add(family: str, target: str, built: bytes, origin: Origin) -> None:
    """Puts a code object beside the others of its family, or in place of the one that was there."""
    if targets.is_ptx(target):
        where = ptx_path(family, target)
        where.parent.mkdir(parents=True, exist_ok=True)
        write_whole(where, built + _PTX_NOTE + json.dumps(asdict(origin)).encode() + b"\n")
        return
    files.code_objects().mkdir(exist_ok=True)
    with _opened(files.code_objects()) as folder, file_locked(folder):
        before, held, images = _whole(path(family))
        origins = {name: asdict(piece.origin) for name, piece in held.items() if piece.origin is not None}
        note = json.dumps(dict(sorted((origins | {target: asdict(origin)}).items()))).encode()
        write_whole(path(family), bundler.bundle(note, dict(sorted((images | {target: built}).items())), before))


def _whole(where: Path) -> tuple[bytes, dict[str, Piece], dict[str, bytes]]:
    """A bundle, its pieces and their code objects; nothing of one that is damaged."""
    try:
        data = where.read_bytes()
        held = _pieces(data)
        return data, held, {target: piece.entry.data for target, piece in held.items()}
    except (FileNotFoundError, CodeObjectError):
        return b"", {}, {}


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _pieces(bundle: bytes) -> dict[str, Piece]:
    entries = read_bundle(bundle)
    host = b"".join(entry.data for entry in entries if entry.target is None)
    notes = _decoded(host)
    return {e.target: Piece(e, _origin(notes.get(e.target))) for e in entries if e.target is not None and e.size}


def _decoded(note: bytes) -> dict[str, Any]:
    """A note as it was written; an empty one for what somebody else put in its place."""
    try:
        found = json.loads(note)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _origin(fields: dict[str, Any] | None) -> Origin | None:
    try:
        return Origin(**fields) if fields else None
    except TypeError:
        return None
