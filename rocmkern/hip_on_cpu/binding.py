"""From the table of HIP's calls to functions that C can call: types, and errors as statuses."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from rocmkern import errors
from rocmkern.build import hip_source

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, NOT_FOUND, NOT_READY, NOT_SUPPORTED = 0, 1, 2, 101, 500, 600, 801
UNKNOWN: Final = 999
INTERNAL: Final = 11  # of hiprtc's

# The first class that fits tells the status.
_STATUSES: Final = (
    (errors.DeviceOutOfMemory, OUT_OF_MEMORY), (errors.TargetNotBuilt, 209), (errors.CodeObjectError, 200),
    (errors.KernelNotFound, NOT_FOUND), (errors.DeviceNotFound, INVALID_DEVICE), (errors.LaunchError, INVALID_VALUE),
    (errors.MemoryFault, 700), (errors.KernelAborted, 710), (errors.KernelTimeout, 702),
    (errors.UnsupportedInstruction, 719), (errors.ClosedError, 709), (errors.ArgumentError, INVALID_VALUE),
    (FileNotFoundError, 301),
)  # fmt: skip

_ROW: Final = re.compile(r"^RK_API\((\w+), \((.*?)\), \(", re.MULTILINE)
_NUMBERS: Final = {
    "size_t": ctypes.c_size_t, "unsigned": ctypes.c_uint, "unsigned char": ctypes.c_ubyte,
    "unsigned short": ctypes.c_ushort, "unsigned long long": ctypes.c_ulonglong,
}  # fmt: skip
_POINTERS: Final = ("hipDeviceptr_t", "hipStreamCallback_t", "hipHostFn_t")
_HANDLES: Final = (
    "hipStream_t", "hipEvent_t", "hipMemPool_t", "hipModule_t", "hipFunction_t", "hipGraph_t", "hipGraphNode_t",
    "hipGraphExec_t", "hiprtcProgram", "hiprtcLinkState",
)  # fmt: skip

_keeping: list[Any] = []  # what C holds pointers to


class Status(Exception):
    """Ends a call with a status that no error of ours stands for."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def rows() -> Iterator[tuple[str, list[Any]]]:
    """Each call with the types of its parameters."""
    tables = (hip_source.HEADERS / "rocmkern" / name for name in ("api.inc", "hiprtc.inc"))
    for name, parameters in _ROW.findall("\n".join(table.read_text() for table in tables)):
        yield name, [_type(parameter.strip()) for parameter in parameters.split(",") if parameter.strip() != "void"]


def _type(parameter: str) -> Any:
    if "*" in parameter:
        return ctypes.c_void_p
    words = parameter.rsplit(" ", 1)[0]
    if words in _HANDLES or words in _POINTERS:
        return ctypes.c_void_p
    return _NUMBERS.get(words, ctypes.c_int)


def bind(library: ctypes.CDLL, calls: object) -> None:
    """Lets the library's calls end in the methods of those names."""
    library.rk_bind.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    for name, types in rows():
        method = getattr(calls, name, None)
        if method is not None:
            function = ctypes.CFUNCTYPE(ctypes.c_int, *types)(_answering(name, method))
            _keeping.append(function)
            library.rk_bind(name.encode(), ctypes.cast(function, ctypes.c_void_p))


def _answering(name: str, method: Callable[..., int | None]) -> Callable[..., int]:
    def answer(*args: Any) -> int:
        try:
            return method(*args) or SUCCESS
        except Status as ended:
            return ended.status
        except Exception as error:
            unknown = INTERNAL if name.startswith("hiprtc") else UNKNOWN
            status = next((status for kind, status in _STATUSES if isinstance(error, kind)), unknown)
            print(f"hip_on_cpu: {name}: {error}", file=sys.stderr)
            return status

    return answer
