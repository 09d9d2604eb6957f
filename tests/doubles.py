"""What the stand-ins of the vendors' libraries have in common: compiled once a session, handed to the real bindings.

The bindings load their library by name; the loader answers with the library of that soname which is already in the
process. Outside the fixtures a double has no devices, so that nothing else sees it.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import frozen

from rocmkern import drivers
from rocmkern.kernels.cache import KernelCache
from rocmkern.runtime import device as device_module


@frozen
class Double:
    """A double's controls, and what it recorded."""

    library: ctypes.CDLL

    def __attrs_post_init__(self) -> None:
        self.library.double_log.restype = ctypes.c_char_p
        self.library.double_arguments.restype = ctypes.c_void_p
        self.library.double_arguments_size.restype = ctypes.c_size_t

    def log(self, call: str = "") -> list[str]:
        """The lines recorded since the last reset, of one call or of all."""
        lines: list[str] = self.library.double_log().decode().splitlines()
        return [line for line in lines if line.startswith(call)]

    def arguments(self) -> bytes:
        """The argument block of the last launch."""
        return ctypes.string_at(self.library.double_arguments(), self.library.double_arguments_size())

    def fail(self, call: str, status: int) -> None:
        """Lets the next such call answer `status`."""
        self.library.double_fail(call.encode(), status)

    def events_ready(self, ready: bool) -> None:
        self.library.double_events_ready(ready)

    def recording(self, on: bool) -> None:
        """Whether calls are written down, which takes as long as the rest of a launch."""
        self.library.double_recording(on)

    def reset(self) -> None:
        self.library.double_reset()


@functools.cache
def folder() -> Path:
    """Where the libraries lie, as in an installation: `lib`."""
    found = Path(tempfile.mkdtemp(prefix="doubles"))
    (found / "lib").mkdir()
    return found


def compiled(source: str, name: str) -> ctypes.CDLL:
    """Compiles a library to be found by that soname, and loads it."""
    pytest.importorskip("ziglang", reason="it compiles the stand-in")
    path = folder() / "lib" / name
    flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-Wl,-soname,{name}")
    command = [sys.executable, "-m", "ziglang", "cc", *flags, "-o", str(path), str(Path(__file__).with_name(source))]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


@contextmanager
def forgotten(kind: str) -> Iterator[None]:
    """Afterwards all that was opened on devices of that kind is gone."""
    try:
        yield
    finally:
        KernelCache.current().clear()
        for name in [n for n in drivers._open if n.startswith(kind)]:
            driver = drivers._open.pop(name)
            driver.close()
            device_module._POOLS.pop(driver, None)
