"""The HIP library's stand-in, compiled once a session and handed to the real hip-python.

hip-python loads `libamdhip64.so` by name; the loader answers with the library of that soname which is already in the
process. Outside the fixture the double has no devices, so that nothing else sees it.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from rocmkern import drivers
from rocmkern.drivers import hip
from rocmkern.kernels.cache import KernelCache
from rocmkern.runtime import device as device_module


@frozen
class Double:
    """The double's controls, and what it recorded."""

    library: ctypes.CDLL
    compiler: ctypes.CDLL

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

    def compiler_answers(self, code: bytes, log: str = "") -> None:
        """What hiprtc gives next: this code, or without any an error with the log."""
        self.compiler.rtc_answer(code, ctypes.c_size_t(len(code)), log.encode())

    def compiled(self) -> list[str]:
        """What hiprtc was asked since: the name, the source's lines, the options, and the end of the program."""
        lines: list[str] = self.compiler.rtc_seen().decode().splitlines()
        return lines

    def devices(self, count: int, architecture: str = "gfx942:sramecc+:xnack-", *machines: int) -> None:
        self.library.double_architecture(architecture.encode(), *(machines or (0x4C, 0x5F)))
        self.library.double_devices(count)
        hip.device_count.cache_clear()

    def reset(self) -> None:
        self.library.double_reset()


def _compiled(source: str, path: Path) -> ctypes.CDLL:
    flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-Wl,-soname,{path.name}")
    command = [sys.executable, "-m", "ziglang", "cc", *flags, "-o", str(path), str(Path(__file__).with_name(source))]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


@functools.cache
def load() -> Double:
    """Compiles and loads the library."""
    folder = Path(tempfile.mkdtemp(prefix="hip-double"))
    (folder / "lib").mkdir()
    os.environ["ROCM_PATH"] = str(folder)  # an installed ROCm would come first otherwise
    library = _compiled("hip_double.c", folder / "lib" / "libamdhip64.so")
    compiler = _compiled("hiprtc_double.c", folder / "lib" / "libhiprtc.so")
    compiler.rtc_seen.restype = ctypes.c_char_p
    library.double_log.restype = ctypes.c_char_p
    library.double_arguments.restype = ctypes.c_void_p
    library.double_arguments_size.restype = ctypes.c_size_t
    return Double(library, compiler)


@contextmanager
def present(count: int = 2) -> Iterator[Double]:
    """The double with `count` devices; afterwards all that was opened on them is gone."""
    double = load()
    double.devices(count)
    double.reset()
    try:
        yield double
    finally:
        KernelCache.current().clear()
        for name in [n for n in drivers._open if n.startswith("hip")]:
            driver = drivers._open.pop(name)
            driver.close()
            device_module._POOLS.pop(driver, None)
        double.devices(0)
