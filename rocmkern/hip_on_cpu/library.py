"""Compiling and loading the library that HIP's programs call."""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from rocmkern.build import hip_source, toolchain
from rocmkern.errors import BuildError
from rocmkern.paths import cache_folder

# The loader takes the library of that name which is in the process already.
_NAME: Final = "libamdhip64.so"
_SOURCE: Final = Path(__file__).with_name("library.c")


@cache
def folder() -> Path:
    """The folder with the library for these sources."""
    sources = (_SOURCE, *sorted(hip_source.HEADERS.rglob("*.inc")), hip_source.HEADERS / "hip/hip_runtime_api.h")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return cache_folder() / "hip_on_cpu" / digest


def load() -> ctypes.CDLL:
    """The library, compiled if need be. Raises BuildError without a compiler."""
    path = folder() / _NAME
    if not path.exists():
        _compile(path)
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _compile(path: Path) -> None:
    chosen = toolchain.detect("zig")
    if not isinstance(chosen, toolchain.Zig):
        raise BuildError("hip_on_cpu: no zig here; `pip install rocmkern[build]`")
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = ("-shared", "-O2", "-fPIC", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-sanitize=all")
    where = (f"-I{hip_source.HEADERS}", f"-Wl,-soname,{_NAME}", "-o", str(path))
    command = [str(chosen.path), "cc", "-target", "x86_64-linux-gnu.2.28", *flags, *where, str(_SOURCE)]
    toolchain.run(command, path.parent, "libamdhip64")
