"""The standard's dtype functions and the namespace's inspection."""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy as np
from attrs import frozen

from rocmkern import default_dtypes
from rocmkern.dtypes import ALL, DType, DTypeLike, part_of
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import DTypeError, UnknownKind
from rocmkern.promotion import (
    KINDS,
    Number,
    common_dtype,
    promote,
)
from rocmkern.runtime import Device, default_device, devices
from rocmkern.runtime.device import DeviceLike
from rocmkern.tensor import Tensor

# Dtypes of the standard; bfloat16, float16 and float8_e4m3 are ours beyond it.
STANDARD: Final = tuple(d for d in ALL if d.short not in ("f8_e4m3", "f16", "bf16"))


@frozen
class FloatInfo:
    """The limits of a float dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@frozen
class IntInfo:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(operation: str, spec: object) -> DType:
    if isinstance(spec, Tensor):
        return spec.dtype
    if isinstance(spec, DType | str | np.dtype | type):
        return as_dtype(spec)
    raise DTypeError(f"{operation}: {spec!r} is no dtype and no tensor; use a DType, its name or NumPy's")


def finfo(type: DTypeLike | Tensor, /) -> FloatInfo:
    """The limits of a float dtype, or of a complex number's parts. Raises DTypeError for another."""
    dtype = part_of(_dtype_of("finfo", type))
    if not dtype.is_float:
        raise DTypeError(f"finfo: {dtype} is no float dtype; use iinfo")
    info = ml_dtypes.finfo(dtype.numpy)
    return FloatInfo(dtype.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), dtype)


def iinfo(type: DTypeLike | Tensor, /) -> IntInfo:
    """The limits of an integer dtype. Raises DTypeError for another."""
    dtype = _dtype_of("iinfo", type)
    if not dtype.is_integer:
        raise DTypeError(f"iinfo: {dtype} is no integer dtype; use finfo")
    info = np.iinfo(dtype.numpy)
    return IntInfo(dtype.bits, int(info.max), int(info.min), dtype)


def can_cast(from_: DTypeLike | Tensor, to: DTypeLike, /) -> bool:
    """Whether promotion leads from one dtype to the other."""
    source, target = _dtype_of("can_cast", from_), _dtype_of("can_cast", to)
    try:
        return promote(source, target) is target
    except DTypeError:
        return False


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is the given one, of the given kind ("integral", "real floating", …), or any of several."""
    given = _dtype_of("isdtype", dtype)
    if isinstance(kind, tuple):
        return any(isdtype(given, k) for k in kind)
    if isinstance(kind, str) and kind in KINDS:
        return given in KINDS[kind]
    try:
        return given is _dtype_of("isdtype", kind)
    except DTypeError:
        names = ", ".join(KINDS)
        raise UnknownKind(f"isdtype: kind {kind!r}; use a dtype, one of {names}, or a tuple of them") from None


def result_type(*arrays_and_dtypes: Tensor | DTypeLike | Number) -> DType:
    """The dtype of an operation on these tensors, dtypes and numbers."""
    given = [
        a if isinstance(a, bool | int | float | complex | np.generic) else _dtype_of("result_type", a)
        for a in arrays_and_dtypes
    ]
    if not any(isinstance(g, DType | np.generic) for g in given):
        raise ValueError("result_type: no tensor and no dtype; give at least one")
    return common_dtype(given)


class NamespaceInfo:
    """What the namespace can do, in the standard's words."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Masks and shapes that depend on data are supported; tensors have at most 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device that is used where none is named."""
        return default_device()

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """The dtypes of Python numbers in this thread."""
        return {
            "real floating": default_dtypes.floating(),
            "complex floating": default_dtypes.complex_number(),
            "integral": default_dtypes.INTEGER,
            "indexing": default_dtypes.INTEGER,
        }

    def dtypes(self, *, device: DeviceLike = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The standard's dtypes that exist here, by name; of one kind or several where asked."""
        return {d.name: d for d in STANDARD if kind is None or isdtype(d, kind)}

    def devices(self) -> tuple[Device, ...]:
        """The devices that can be opened, and the default one, which may be one that is not looked for."""
        names = dict.fromkeys([*(info.name for info in devices()), self.default_device().name])
        return tuple(Device(name) for name in names)


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """The inspection functions of the namespace."""
    return NamespaceInfo()
