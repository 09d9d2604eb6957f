"""HIP's runtime library over the emulator, for programs that know nothing of rocmkern: hip-python and what uses it.

`activate()` puts a `libamdhip64.so` into the process before the bindings look for one. It is compiled once by zig's
clang and kept in the user's cache; its calls end in Python, in `calls.py`.
"""

from __future__ import annotations

import ctypes
import functools
import os

from rocmkern.errors import DeviceNotFound, DriverUnavailable
from rocmkern.hip_on_cpu import binding, library
from rocmkern.hip_on_cpu.calls import Calls
from rocmkern.near import near
from rocmkern.targets import TARGETS

__all__ = ["activate"]

_active: list[tuple[str, ...]] = []


def activate(*targets: str) -> None:
    """Lets HIP see a device of each target (one gfx942 without any), in this process, from now on.

    Call it before anything loads HIP. A second call with the same targets does nothing. Needs the `build` extra. Raises
    DeviceNotFound for a target that is none, DriverUnavailable where devices are active that are others.
    """
    wanted = targets or ("gfx942",)
    unknown = [target for target in wanted if target not in TARGETS]
    if unknown:
        raise DeviceNotFound(f"activate: no target {unknown[0]!r}; there are {near(unknown[0], TARGETS)}")
    if _active and _active[0] != wanted:
        raise DriverUnavailable(f"activate: {', '.join(_active[0])} are active in this process; start another one")
    if not _active:
        _start(wanted)
        _active.append(wanted)


@functools.cache
def _start(targets: tuple[str, ...]) -> ctypes.CDLL:
    os.environ["ROCM_PATH"] = str(library.folder())  # an installed ROCm would come first otherwise
    loaded = library.load()
    binding.bind(loaded, Calls(targets, loaded))
    return loaded
