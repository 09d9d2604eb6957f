"""The HIP library's stand-in, for the real hip-python."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import frozen

from rocmkern.drivers import hip
from tests import doubles


@frozen
class Double(doubles.Double):
    """HIP, and its compiler hiprtc."""

    compiler: ctypes.CDLL

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


@functools.cache
def load() -> Double:
    """Compiles and loads the libraries."""
    os.environ["ROCM_PATH"] = str(doubles.folder())  # an installed ROCm would come first otherwise
    library = doubles.compiled("hip_double.c", "libamdhip64.so")
    compiler = doubles.compiled("hiprtc_double.c", "libhiprtc.so")
    compiler.rtc_seen.restype = ctypes.c_char_p
    return Double(library, compiler)


@contextmanager
def present(count: int = 2) -> Iterator[Double]:
    """The double with `count` devices; afterwards all that was opened on them is gone."""
    double = load()
    double.devices(count)
    double.reset()
    try:
        with doubles.forgotten("hip"):
            yield double
    finally:
        double.devices(0)
