"""ROCm's run-time compiler, through hip-python: no compiler has to be installed beside the driver."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rocmkern.drivers import hip
from rocmkern.errors import BuildError

_FLAGS: Final = ("-O3", "-std=c++17")


@functools.cache
def _bindings() -> Any:
    from hip import hiprtc

    return hiprtc


def _check(call: str, *args: Any) -> Any:
    """Calls the bindings: the value without the status. Raises BuildError for a status that is none of success."""
    status, *values = getattr(_bindings(), call)(*args)
    if int(status) != 0:
        raise BuildError(f"{call}: {status.name} ({int(status)}); check the ROCm installation")
    return values[0] if len(values) == 1 else tuple(values)


@frozen
class Hiprtc:
    """A toolchain in the process. It finds the device library itself."""

    version: str

    @property
    def compiler(self) -> str:
        return f"hiprtc {self.version}"

    @property
    def identity(self) -> str:
        return self.compiler

    def library(self, target: str) -> str:
        return "of the ROCm installation"

    def flags(self, target: str) -> tuple[str, ...]:
        return (f"--offload-arch={target}", *_FLAGS)

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> str:
        """Raises BuildError with the compiler's log."""
        text = (root / source).read_bytes()
        program = _check("hiprtcCreateProgram", text, source.encode(), 0, None, None)
        try:
            options = [word.encode() for word in (*self.flags(target), *extra)]
            status, *_ = _bindings().hiprtcCompileProgram(program, len(options), options)
            if int(status) != 0:
                log = self._bytes(program, "hiprtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
                raise BuildError(f"build {source} for {target}: hiprtc answers {status.name}", log)
            output.write_bytes(self._bytes(program, "hiprtcGetCode"))
            return self._bytes(program, "hiprtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
        finally:
            _check("hiprtcDestroyProgram", program.createRef())

    def _bytes(self, program: Any, call: str) -> bytes:
        held = bytearray(_check(f"{call}Size", program))
        _check(call, program, held)
        return bytes(held)


def find() -> Hiprtc | None:
    """The run-time compiler where HIP sees a device and the bindings find its library."""
    if not hip.device_count():
        return None
    try:
        major, minor = _check("hiprtcVersion")
    except (ImportError, RuntimeError):  # no bindings, or no library
        return None
    return Hiprtc(f"{major}.{minor}")
