"""NCCL and RCCL, which have the same functions: NCCL's from its own library, RCCL's from hip-python's bindings."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from rocmkern.drivers.c_functions import function_pointer
from rocmkern.errors import CollectiveError, DriverUnavailable

_NCCL: Final = "libnccl.so.2"
_RCCL: Final = (("rocm.bindings.rccl", "rocm.bindings.cyrccl"), ("hip.rccl", "hip.crccl"))  # of releases 10 and 7
_RCCL_FILE: Final = "librccl.so.1"
# Has both libraries order work that graphs captured with other work, by nodes that double what a collective costs in a
# graph. Our groups order theirs; other libraries of the process, which load it first then, may need it.
_ORDER: Final = "NCCL_GRAPH_MIXING_SUPPORT"
_UNIQUE_BYTES: Final = 128
_IN_PROGRESS: Final = 7


class UniqueId(ctypes.Structure):
    """ncclUniqueId: what makes one communicator of many processes."""

    _fields_ = (("data", ctypes.c_ubyte * _UNIQUE_BYTES),)


_P, _N, _I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "GetVersion": (_P,),
    "GetUniqueId": (_P,),
    "CommInitRank": (_P, _I, UniqueId, _I),
    "CommDestroy": (_P,),
    "CommAbort": (_P,),
    "CommGetAsyncError": (_P, _P),
    "AllReduce": (_P, _P, _N, _I, _I, _P, _P),
    "ReduceScatter": (_P, _P, _N, _I, _I, _P, _P),
    "AllGather": (_P, _P, _N, _I, _P, _P),
    "Broadcast": (_P, _P, _N, _I, _I, _P, _P),
    "Send": (_P, _N, _I, _I, _P, _P),
    "Recv": (_P, _N, _I, _I, _P, _P),
    "GroupStart": (),
    "GroupEnd": (),
}


@define(eq=False)
class CollectiveLibrary:
    """The functions of one of them by their names without `nccl`."""

    name: str
    find: Callable[[str, Any], Any]  # a C function as that type of ctypes
    _functions: dict[str, Any] = field(init=False, factory=dict)
    _text: Any = field(init=False)
    _last: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        for name, arguments in _FUNCTIONS.items():
            self._functions[name] = self.find(f"nccl{name}", ctypes.CFUNCTYPE(_I, *arguments))
        self._text = self.find("ncclGetErrorString", ctypes.CFUNCTYPE(ctypes.c_char_p, _I))
        self._last = self.find("ncclGetLastError", ctypes.CFUNCTYPE(ctypes.c_char_p, _P))

    def call(self, name: str, *arguments: Any) -> None:
        """Raises CollectiveError with what the library says, unless it succeeds."""
        status = self._functions[name](*arguments)
        if status:
            raise self.error(f"nccl{name}", status)

    def error(self, call: str, status: int) -> CollectiveError:
        text = (self._text(status) or b"").decode(errors="replace")
        last = (self._last(None) or b"").decode(errors="replace").strip()
        return CollectiveError(
            f"{call}: {text} ({status}){': ' if last else ''}{last}; set NCCL_DEBUG=INFO to see what {self.name} does"
        )

    @property
    def version(self) -> int:
        """Such as 22304 for 2.23.4."""
        found = ctypes.c_int()
        self.call("GetVersion", ctypes.byref(found))
        return found.value

    def unique_id(self) -> bytes:
        made = UniqueId()
        self.call("GetUniqueId", ctypes.byref(made))
        return bytes(made.data)

    def communicator(self, unique: bytes, size: int, rank: int) -> ctypes.c_void_p:
        """This process's end of a communicator on the current device; returns when all processes have called."""
        made = ctypes.c_void_p()
        self.call("CommInitRank", ctypes.byref(made), size, UniqueId.from_buffer_copy(unique), rank)
        return made

    def failed(self, communicator: ctypes.c_void_p) -> int:
        """The status of what went wrong in work under way; 0 for none."""
        found = ctypes.c_int()
        self.call("CommGetAsyncError", communicator, ctypes.byref(found))
        return 0 if found.value == _IN_PROGRESS else found.value


@functools.cache
def nccl() -> CollectiveLibrary:
    """NCCL: the library that is loaded already, as PyTorch does, else that of NVIDIA's wheel, else the system's.

    Raises DriverUnavailable where there is none.
    """
    try:
        library = _nccl_library()
        return CollectiveLibrary("NCCL", lambda name, kind: kind((name, library)))
    except (OSError, AttributeError) as error:
        raise DriverUnavailable(f"nccl: {error}; install NVIDIA's wheel nvidia-nccl-cu13 or nvidia-nccl-cu12") from None


def _nccl_library() -> ctypes.CDLL:
    with suppress(OSError):
        return ctypes.CDLL(_NCCL, os.RTLD_NOLOAD)
    os.environ.setdefault(_ORDER, "0")
    spec = find_spec("nvidia.nccl") if _is_there("nvidia.nccl") else None
    folders = [] if spec is None else spec.submodule_search_locations or []
    paths = (Path(folder, "lib", _NCCL) for folder in folders)
    return ctypes.CDLL(str(next(filter(Path.exists, paths), _NCCL)))


@functools.cache
def rccl() -> CollectiveLibrary:
    """RCCL by the bindings of hip-python. Raises DriverUnavailable without them or without the library."""
    try:
        ctypes.CDLL(_RCCL_FILE, os.RTLD_NOLOAD)
    except OSError:
        os.environ.setdefault(_ORDER, "0")
    modules = next((names for names in _RCCL if _is_there(names[0])), None)
    if modules is None:
        raise DriverUnavailable("rccl: hip-python's bindings of it are not there; pip install 'hip-python[systems]'")
    module, functions = import_module(modules[0]), import_module(modules[1]).__pyx_capi__
    try:
        module.ncclGetVersion()  # loads the library, which the C functions can't say they lack
    except RuntimeError as error:
        raise DriverUnavailable(f"rccl: the RCCL library can't be used ({error}); install ROCm's rccl") from None
    return CollectiveLibrary("RCCL", lambda name, kind: kind(function_pointer(functions[name])))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it
        return False
