"""Compiling a kernel while the program runs, where a compiler is there."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from rocmkern import private_files, targets
from rocmkern.build import hiprtc, toolchain
from rocmkern.build.toolchain import Toolchain
from rocmkern.disk_cache import DiskCache
from rocmkern.errors import BuildError, ConfigError
from rocmkern.kernels import files
from rocmkern.runtime import Module
from rocmkern.runtime.device import DeviceLike, open_device


def compile(
    source: str, *, device: DeviceLike = None, target: str | None = None, name: str = "kernel",
    options: Sequence[str] = (),
) -> Module:  # fmt: skip
    """The module of a HIP source on a device (the default one), compiled for its target or the `target` named.

    The source can include the package's headers (`#include "include/device.hpp"`). What was compiled once is kept in
    the user's cache by source, options, target and compiler, not by headers of folders that `options` name; several
    processes may ask for it at once, and one compiles. Needs ROCm, whose run-time compiler does it, or the `build`
    extra. Raises BuildError with the compiler's log and the numbered source, ConfigError (a ValueError) for a `name`
    that is no identifier.
    """
    texts = {"source": source, "name": name, "target": "" if target is None else target}
    for what, text in texts.items():
        if not isinstance(text, str):
            raise ConfigError(f"compile: {what} {text!r} is no string; give one")
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise ConfigError(f"compile: options {options!r}; give a list of strings")
    if not name.isidentifier():
        raise ConfigError(f"compile: name {name!r} is no identifier; use letters, digits and _")
    place = open_device(device)
    code = compiled(source, place.info.target if target is None else target, name=name, options=tuple(options))
    return Module.load_data(code, place)


def compiled(source: str, target: str, *, name: str = "kernel", options: tuple[str, ...] = ()) -> bytes:
    """The code object of a source: from the cache, or made now and kept there."""
    chosen, cache = compiler_for(target), DiskCache.named("jit")
    key = _key(source, target, options, chosen)
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
    return toolchain.detect() if found is None else found


@cache
def _tools(chosen: Toolchain) -> str:
    """Compiler and headers; asking a compiler what it is takes too long."""
    digest = hashlib.sha256()
    for path in sorted(files.sources().rglob("*.hpp")):
        digest.update(path.read_bytes())
    return f"{chosen.identity} {digest.hexdigest()}"


def _key(source: str, target: str, options: tuple[str, ...], chosen: Toolchain) -> str:
    parts = (source, target, *options, _tools(chosen), *chosen.flags(target))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """One process at a time, where the folder can be written; the system lets go of the lock when its owner dies."""
    with ExitStack() as held:
        with suppress(OSError):
            descriptor = private_files.opened_file(folder, name, os.O_WRONLY | os.O_CREAT)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            held.callback((folder / name).unlink, missing_ok=True)
        yield


def _compile(source: str, target: str, name: str, options: tuple[str, ...], chosen: Toolchain) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, f"{name}.hip").write_text(source)
        built = Path(scratch, "built")
        try:
            chosen.compile(Path(scratch), f"{name}.hip", target, built, (f"-I{files.sources()}", *options))
        except BuildError as error:
            numbered = "\n".join(f"{i:4} | {line}" for i, line in enumerate(source.splitlines(), 1))
            raise BuildError(f"compile {name} for {target} with {chosen.compiler}: {error}\n{numbered}") from None
        return built.read_bytes()
