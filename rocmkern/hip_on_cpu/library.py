"""Compiling and loading the library that HIP's programs call."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from rocmkern.build import hip_source, toolchain
from rocmkern.errors import BuildError
from rocmkern.paths import cache_folder

# The loader takes the library of that name which is in the process already.
_NAME: Final = "libamdhip64.so"
_COMPILER: Final = "libhiprtc.so"
_PARTS: Final = tuple(Path(__file__).with_name(name) for name in ("library.c", "programs.c", "interpreter.c"))
_HEADERS: Final = ("hip_runtime_api.h", "hiprtc.h")
_RELEASES: Final = (5, 6, 7)  # of ROCm, whose compiled programs ask for the library with their number


@cache
def folder() -> Path:
    """The folder with the library for these sources."""
    shared = (Path(__file__).with_name("library.h"), *(hip_source.HEADERS / "hip" / name for name in _HEADERS))
    sources = (*_PARTS, *shared, *sorted(hip_source.HEADERS.rglob("*.inc")))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return cache_folder() / "hip_on_cpu" / digest


def compiled() -> Path:
    """The library, compiled if need be. Raises BuildError without a compiler."""
    made = folder()
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
            _compile(Path(scratch) / made.name)
            with suppress(OSError):  # another process was first
                Path(scratch, made.name).rename(made)
    return made / _NAME


def load() -> ctypes.CDLL:
    """The library in this process: that of the program where one brought it."""
    loaded = ctypes.CDLL(str(compiled()), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(folder() / _COMPILER))
    loaded.rk_symbol.argtypes, loaded.rk_symbol.restype = (ctypes.c_void_p,), ctypes.c_void_p
    loaded.rk_managed.argtypes, loaded.rk_managed.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_void_p
    return loaded


def _compile(made: Path) -> None:
    chosen = toolchain.detect("zig")
    if not isinstance(chosen, toolchain.Zig):
        raise BuildError("hip_on_cpu: no zig here; `pip install rocmkern[build]`")
    made.mkdir()
    common = (str(chosen.path), "cc", "-target", "x86_64-linux-gnu.2.28", "-shared", "-O2", "-fPIC")
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-sanitize=all", f"-I{hip_source.HEADERS}")
    command = [*common, *strict, *map(str, _PARTS), "-ldl", "-lpthread", f"-Wl,-soname,{_NAME}", "-o", _NAME]
    toolchain.run(command, made, _NAME)
    # The run-time compiler's calls are in the other library, too.
    empty = ("-Wl,--no-as-needed", "-L.", "-lamdhip64", f"-Wl,-soname,{_COMPILER}", "-x", "c", "/dev/null")
    toolchain.run([*common, *empty, "-o", _COMPILER], made, _COMPILER)
    for name in (_NAME, _COMPILER):
        for release in _RELEASES:
            (made / f"{name}.{release}").symlink_to(name)
