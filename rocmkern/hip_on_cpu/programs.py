"""Compiled programs: starting them, and answering their calls in the interpreter that the library starts for them."""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from rocmkern import hip_on_cpu
from rocmkern.errors import DriverUnavailable
from rocmkern.hip_on_cpu import library

_SOMETHING: Final = """\
define void @add(ptr %p) #0 {
  %x = load <16 x float>, ptr %p
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %p
  ret void
}
"""
_DEVICES: Final = "ROCMKERN_HIP_DEVICES"


class _StandardOutput:
    """The C library's: what kernels print keeps its place among what the program prints."""

    encoding = "utf-8"

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._print: Any = loaded.rk_print
        self._print.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
        self._print.restype = None

    def write(self, text: str) -> int:
        data = text.encode()
        self._print(data, len(data))
        return len(text)

    def flush(self) -> None: ...


def answer() -> None:
    """Lets the program see the devices that it was started with; called by the library."""
    hip_on_cpu.activate(*os.environ.get(_DEVICES, "").split())


def share_output() -> None:
    """Has this interpreter print through the program's own buffer; called by the library where it started it."""
    sys.stdout = _StandardOutput(library.load())


def load_compiler() -> None:
    """Has the emulator's compiler make all that it keeps until a process ends; called by the library, which waits for
    it ahead of that: LLVM's generators take their tables away while they are in use.
    """
    from rocmkern.emulator.compiler import THOROUGH, attributes, compile_ir

    compile_ir(f"{_SOMETHING}\n{attributes()}", THOROUGH)


def end() -> None:
    """Waits until nothing compiles in the background, and keeps what an interpreter keeps at its end; called by the
    library as the program ends, whose interpreter is not.
    """
    from rocmkern.emulator import program

    program.settle()
    program.keep_notes()
    program.warn_of_failures()


def execute(program: Path, arguments: Sequence[str], targets: Sequence[str]) -> NoReturn:
    """Becomes the program, whose devices are of these targets. Raises DriverUnavailable without Python's library."""
    places = {
        _DEVICES: " ".join(targets),
        "ROCMKERN_HIP_PYTHON": str(_python()),
        "ROCMKERN_HIP_HOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
        "ROCMKERN_HIP_PATH": os.pathsep.join(path for path in sys.path if path),
    }
    found = os.environ.get("LD_LIBRARY_PATH")
    places["LD_LIBRARY_PATH"] = os.pathsep.join([str(library.compiled().parent), *([found] if found else [])])
    os.execve(program, [str(program), *arguments], os.environ | places)


def _python() -> Path:
    name = sysconfig.get_config_var("INSTSONAME") or ""
    folders = (sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib")
    for folder in folders:
        path = Path(folder or "", name)
        if ".so" in name and path.is_file():
            return path
    raise DriverUnavailable(f"run-hip: {sys.executable} has no shared library of Python beside it; use one that has")
