"""Compiling and loading the library that HIP's programs call."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from rocmkern.build import hip_source, toolchain
from rocmkern.errors import BuildError
from rocmkern.paths import cache_folder

# The loader takes the library of that name which is in the process already.
_NAME: Final = "libamdhip64.so"
_PARTS: Final = tuple(Path(__file__).with_name(name) for name in ("library.c", "programs.c", "interpreter.c"))
_RELEASES: Final = (5, 6, 7)  # of ROCm, whose compiled programs ask for the library with their number


@cache
def folder() -> Path:
    """The folder with the library for these sources."""
    shared = (Path(__file__).with_name("library.h"), hip_source.HEADERS / "hip/hip_runtime_api.h")
    sources = (*_PARTS, *shared, *sorted(hip_source.HEADERS.rglob("*.inc")))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return cache_folder() / "hip_on_cpu" / digest


def compiled() -> Path:
    """The library, compiled if need be. Raises BuildError without a compiler."""
    path = folder() / _NAME
    if not path.exists():
        _compile(path)
    return path


def load() -> ctypes.CDLL:
    """The library in this process: that of the program where one brought it."""
    loaded = ctypes.CDLL(str(compiled()), mode=ctypes.RTLD_GLOBAL)
    loaded.rk_symbol.argtypes, loaded.rk_symbol.restype = (ctypes.c_void_p,), ctypes.c_void_p
    loaded.rk_managed.argtypes, loaded.rk_managed.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_void_p
    return loaded


def _compile(path: Path) -> None:
    chosen = toolchain.detect("zig")
    if not isinstance(chosen, toolchain.Zig):
        raise BuildError("hip_on_cpu: no zig here; `pip install rocmkern[build]`")
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = ("-shared", "-O2", "-fPIC", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-sanitize=all")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch) / _NAME
        where = (f"-I{hip_source.HEADERS}", f"-Wl,-soname,{_NAME}", "-ldl", "-lpthread", "-o", str(made))
        command = [str(chosen.path), "cc", "-target", "x86_64-linux-gnu.2.28", *flags, *map(str, _PARTS), *where]
        toolchain.run(command, path.parent, "libamdhip64")
        made.replace(path)
    for release in _RELEASES:
        path.with_name(f"{_NAME}.{release}").symlink_to(_NAME)
