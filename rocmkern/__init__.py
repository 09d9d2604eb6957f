"""Tensor kernels for AMD GPUs, compiled ahead of time; on the CPU through an emulator where there is no GPU.

Names are imported when first used: importing rocmkern loads neither HIP, nor LLVM, nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocmkern.drivers import is_hip_available
    from rocmkern.dtypes import (
        DType,
        bfloat16,
        bool_,
        dtype,
        float8_e4m3,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
    )  # fmt: skip
    from rocmkern.kernels.cache import KernelCache, get_kernel
    from rocmkern.runtime import (
        Device,
        DeviceMemory,
        Dim3,
        Event,
        Function,
        KernelTime,
        Module,
        PinnedMemory,
        Stream,
        Trace,
        default_device,
        devices,
    )  # fmt: skip

__version__ = "0.1.0"

_NAMES: dict[str, tuple[str, ...]] = {
    "drivers": ("is_hip_available",),
    "dtypes": (
        "DType", "bfloat16", "bool_", "dtype", "float8_e4m3", "float16", "float32", "float64", "int8", "int16", "int32",
        "int64", "uint8", "uint16", "uint32", "uint64",
    ),
    "kernels.cache": ("KernelCache", "get_kernel"),
    "runtime": (
        "Device", "DeviceMemory", "Dim3", "Event", "Function", "KernelTime", "Module", "PinnedMemory", "Stream",
        "Trace", "default_device", "devices",
    ),
}  # fmt: skip
_HOME = {name: f"rocmkern.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rocmkern' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
