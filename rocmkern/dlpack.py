"""DLPack capsules: how memory crosses to NumPy, PyTorch and others without a copy.

The structures are those of DLPack 1.1, <https://dmlc.github.io/dlpack/latest/c_api.html>.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, Final, cast

import numpy as np
from attrs import frozen

from rocmkern.dtypes import ALL, DType
from rocmkern.errors import ExchangeError
from rocmkern.layout import Layout, contiguous

CPU: Final = 1  # kDLCPU
CUDA: Final = 2  # kDLCUDA
ROCM: Final = 10  # kDLROCM
VERSION: Final = (1, 1)
DEFAULT_STREAMS: Final = {CUDA: 1, ROCM: 0}  # what an exporter is told of ours
_KINDS: Final = {"hip": ROCM, "cuda": CUDA}
_MOST_AXES: Final = 64
_MOST_BYTES: Final = 1 << 63
_READ_ONLY: Final = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
_IS_COPIED: Final = 2  # DLPACK_FLAG_BITMASK_IS_COPIED

_CODE_OF_KIND: Final = {"signed": 0, "unsigned": 1, "float": 2, "complex": 5, "bool": 6}
_CODE_OF_NAME: Final = {"bfloat16": 4, "float8_e4m3": 10}
_CODES: Final[dict[DType, tuple[int, int]]] = {
    d: (_CODE_OF_NAME.get(d.name, _CODE_OF_KIND[d.kind]), d.bits) for d in ALL
}
_DTYPES: Final[dict[tuple[int, int], DType]] = {code: d for d, code in _CODES.items()}


def device_of(name: str) -> tuple[int, int]:
    """A device by its name here, `hip:0`. Emulated ones have their memory on the host."""
    kind, _, ordinal = name.partition(":")
    return (_KINDS[kind], int(ordinal or 0)) if kind in _KINDS else (CPU, 0)


def name_of(device: tuple[int, int]) -> str | None:
    """The name here of a GPU; None for other devices."""
    return next((f"{kind}:{device[1]}" for kind, code in _KINDS.items() if code == device[0]), None)


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_FORMS: Final[dict[bytes, type[ctypes.Structure]]] = {
    b"dltensor": _Managed,
    b"dltensor_versioned": _ManagedVersioned,
}
_USED: Final[dict[bytes, bytes]] = {name: b"used_" + name for name in _FORMS}

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


@frozen
class Exchange:
    """What a capsule describes: strides count elements; `owner` keeps the memory alive."""

    address: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]
    owner: object
    read_only: bool = False


class _Memory:
    """Memory at an address as NumPy takes it; NumPy never reads it."""

    def __init__(self, described: Exchange, code: str) -> None:
        itemsize = described.dtype.itemsize
        self.owner = described.owner
        self.__array_interface__ = {
            "data": (described.address, False),
            "shape": described.shape,
            "strides": tuple(s * itemsize for s in described.strides),
            "typestr": code,
            "version": 3,
        }


def export(exchange: Exchange, *, versioned: bool, copied: bool = False) -> object:
    """A capsule that shares the memory and keeps `exchange.owner` alive until the consumer lets go.

    NumPy makes it, of a host array at that address, and we write in where the memory really is: a consumer may let go
    while an exception is on its way, or on a thread of its own, when only native code can be called.
    """
    own = exchange.dtype.numpy
    array = np.asarray(_Memory(exchange, own.str if own.kind in "biufc" else f"u{own.itemsize}"))
    try:
        capsule = array.__dlpack__(max_version=VERSION if versioned else None)
    except TypeError:  # before NumPy 2.1
        capsule = array.__dlpack__()
    name = _name(capsule)
    managed = cast(Any, _FORMS[name].from_address(_pointer(capsule, name)))
    tensor = managed.tensor
    tensor.data = exchange.address
    tensor.device_type, tensor.device_id = exchange.device
    tensor.code, tensor.bits = _CODES[exchange.dtype]
    if name == b"dltensor_versioned":
        managed.flags = (_READ_ONLY if exchange.read_only else 0) | (_IS_COPIED if copied else 0)
    return capsule


def _name(capsule: object) -> bytes:
    """Which form a capsule has. Raises ExchangeError for a used one."""
    for name in _FORMS:
        if _is_valid(capsule, name):
            return name
    raise ExchangeError("from_dlpack: the capsule is no DLPack tensor or was used already; ask for a fresh one")


class _Owner:
    """Calls the producer's deleter once, when the last view of the memory is gone."""

    def __init__(self, address: int, deleter: Any) -> None:
        self.address, self.deleter = address, deleter

    def __del__(self) -> None:
        if self.deleter:
            self.deleter(self.address)


def consume(capsule: object) -> Exchange:
    """The memory that a capsule describes; the capsule is used up.

    Raises ExchangeError for a used capsule, another major version, or an element type without a DType.
    """
    name = _name(capsule)
    address = _pointer(capsule, name)
    managed = cast(Any, _FORMS[name].from_address(address))
    versioned = name == b"dltensor_versioned"
    if versioned and managed.major != VERSION[0]:
        raise ExchangeError(f"from_dlpack: DLPack {managed.major}.{managed.minor}; version 1 is understood")
    tensor = managed.tensor
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise ExchangeError(
            f"from_dlpack: type code {tensor.code} with {tensor.bits} bits and {tensor.lanes} lanes; "
            "no such element type here"
        )
    if not 0 <= tensor.ndim <= _MOST_AXES or (tensor.ndim and not tensor.shape):
        raise ExchangeError(
            f"from_dlpack: {tensor.ndim} dimensions; a tensor has at most {_MOST_AXES}, and their lengths"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if min(shape, default=0) < 0 or prod(n or 1 for n in shape) * dtype.itemsize >= _MOST_BYTES:
        raise ExchangeError(f"from_dlpack: shape {shape} of {dtype}; no memory holds that, ask its producer")
    if prod(shape) and not tensor.data:
        raise ExchangeError(f"from_dlpack: shape {shape} at no address; ask its producer")
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else contiguous(shape).strides
    read_only = versioned and bool(managed.flags & _READ_ONLY)
    _rename(capsule, _USED[name])
    return Exchange(
        (tensor.data or 0) + tensor.byte_offset,
        dtype,
        shape,
        strides,
        (tensor.device_type, tensor.device_id),
        _Owner(address, managed.deleter),
        read_only,
    )


def host_array(exchange: Exchange) -> np.ndarray[Any, Any]:
    """CPU memory of another library as a NumPy array, valid while `exchange` lives."""
    low, high = Layout(exchange.shape, exchange.strides).extent()
    itemsize = exchange.dtype.itemsize
    nbytes = (high - low) * itemsize
    if nbytes == 0:
        return np.empty(exchange.shape, exchange.dtype.numpy)
    raw = (ctypes.c_uint8 * nbytes).from_address(exchange.address + low * itemsize)
    strides = [s * itemsize for s in exchange.strides]
    array: np.ndarray[Any, Any] = np.ndarray(
        exchange.shape, exchange.dtype.numpy, memoryview(raw), -low * itemsize, strides
    )
    return array
