"""Compiling a kernel while the program runs, where a compiler is there."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from rocmkern import private_files, targets
from rocmkern.build import hip_source, hiprtc
from rocmkern.build.toolchain import Toolchain
from rocmkern.disk_cache import DiskCache
from rocmkern.errors import BuildError, CompileWarning, ConfigError
from rocmkern.kernels import files
from rocmkern.locks import file_locked
from rocmkern.runtime import Module
from rocmkern.runtime.device import DeviceLike, open_device

_PLACE: Final = re.compile(r":(\d+):\d+: ")  # line and column in a compiler's log
_SHOWN_WHOLE: Final = 60  # lines of a source
_AROUND: Final = 3
_OUR_HEADER: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"include/', re.MULTILINE)


def compile(
    source: str | os.PathLike[str], *, device: DeviceLike = None, target: str | None = None, name: str = "kernel",
    options: Sequence[str] = (),
) -> Module:  # fmt: skip
    """The module of a HIP or CUDA source, a text or a path, on a device (the default one), for its target or the one
    named.

    The source is written as for ROCm or CUDA, whose headers are here (`docs/hip.md`); a text needs to include none. It
    may include the package's own as well (`#include "include/device.hpp"`). What was compiled once is kept in the
    user's cache by source, headers in quotes, options, target and compiler; several processes may ask for it at once,
    and one compiles. Needs ROCm, whose run-time compiler does it, or the `build` extra. Warns with CompileWarning of
    what the compiler warns of. Raises BuildError with its log and the numbered source, ConfigError (a ValueError) for
    a `name` that is no identifier, FileNotFoundError.
    """
    if isinstance(source, str) and _is_path(source):
        source = Path(source)
    texts = {"name": name, "target": "" if target is None else target}
    texts |= {} if isinstance(source, os.PathLike) else {"source": source}
    for what, text in texts.items():
        if not isinstance(text, str):
            raise ConfigError(f"compile: {what} {text!r} is no string; give one")
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise ConfigError(f"compile: options {options!r}; give a list of strings")
    if not name.isidentifier():
        raise ConfigError(f"compile: name {name!r} is no identifier; use letters, digits and _")
    place = open_device(device)
    target = place.info.target if target is None else target
    code = compiled(
        Path(source) if isinstance(source, os.PathLike) else source, target, name=name, options=tuple(options)
    )
    return Module.load_data(code, place)


def _is_path(source: str) -> bool:
    return "\n" not in source and source.endswith((".hip", ".cu", ".cpp"))


def compiled(source: str | Path, target: str, *, name: str = "kernel", options: tuple[str, ...] = ()) -> bytes:
    """The code object of a source: from the cache, or made now and kept there."""
    chosen, cache = compiler_for(target), DiskCache.named("jit")
    text = source if isinstance(source, str) else source.read_text()
    options += hip_source.flags_for(source if isinstance(source, Path) else f"{name}.hip")
    if isinstance(source, str) and not targets.is_ptx(target) and not _OUR_HEADER.search(text):
        options += ("-include", "hip/hip_runtime.h")
    near = hip_source.local_headers(source, options) if isinstance(source, Path) else []
    key = _key("\0".join((text, *(header.read_text() for header in near))), target, options, chosen)
    code = cache.fetch(key)
    if code is None:
        with _locked(cache.folder, f"{key}.lock"):
            code = cache.fetch(key)
            if code is None:
                code = _compile(source, target, name, options, chosen)
                cache.keep(key, code)
    return code


@cache
def compiler_for(target: str) -> Toolchain:
    """The compiler of sources that come while a program runs: hiprtc where HIP has a device, else hipcc or zig's clang.

    Raises BuildError where there is none.
    """
    found = None if targets.is_ptx(target) else hiprtc.find()
    return hip_source.compiler() if found is None else found


@cache
def _tools(chosen: Toolchain) -> str:
    """Compiler and headers; asking a compiler what it is takes too long."""
    digest = hashlib.sha256()
    for path in sorted((*files.sources().rglob("*.hpp"), *hip_source.HEADERS.rglob("*.*"))):
        digest.update(path.read_bytes())
    return f"{chosen.identity} {digest.hexdigest()}"


def _key(source: str, target: str, options: tuple[str, ...], chosen: Toolchain) -> str:
    parts = (source, target, *options, _tools(chosen), *chosen.flags(target))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """One process at a time, where the folder can be written."""
    with ExitStack() as held:
        with suppress(OSError):
            descriptor = private_files.opened_file(folder, name, os.O_WRONLY | os.O_CREAT)
            held.callback(os.close, descriptor)
            held.enter_context(file_locked(descriptor))
            held.callback((folder / name).unlink, missing_ok=True)
        yield


def _compile(source: str | Path, target: str, name: str, options: tuple[str, ...], chosen: Toolchain) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        path = source if isinstance(source, Path) else Path(scratch, f"{name}.hip")
        if isinstance(source, str):
            path.write_text(source)
        built = Path(scratch, "built")
        try:
            said = chosen.compile(path.parent, path.name, target, built, (f"-I{files.sources()}", *options))
        except BuildError as error:
            if not error.log:
                raise
            what = f"compile {path.stem} for {target} with {chosen.compiler}: {error}"
            told = BuildError(f"{what}\n{_numbered(source, str(error))}" if isinstance(source, str) else what)
            told.log = error.log
            raise told from None
        if said.strip():
            warnings.warn(f"compile {path.stem} for {target}: the compiler warns\n{said.strip()}", CompileWarning, 5)
        return built.read_bytes()


def _numbered(source: str, log: str) -> str:
    """The lines of a source, of a long one those around the places that the log names."""
    lines = list(enumerate(source.splitlines(), 1))
    named = {int(number) for number in _PLACE.findall(log)}
    if named and len(lines) > _SHOWN_WHOLE:
        lines = [(i, line) for i, line in lines if any(abs(i - n) <= _AROUND for n in named)]
    return "\n".join(f"{i:4} | {line}" for i, line in lines)
