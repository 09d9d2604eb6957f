"""Devices, memory, streams, modules and launches: HIP's nouns over any driver."""

from rocmkern.runtime.checks import check
from rocmkern.runtime.device import Device, default_device, devices
from rocmkern.runtime.dim3 import Dim3
from rocmkern.runtime.function import Function
from rocmkern.runtime.memory import DeviceMemory, PinnedMemory, Pointer
from rocmkern.runtime.module import Module
from rocmkern.runtime.profiles import profile
from rocmkern.runtime.replays import save_reproducer
from rocmkern.runtime.stream import Event, Stream
from rocmkern.runtime.trace import KernelTime, Trace

__all__ = [
    "Device", "DeviceMemory", "Dim3", "Event", "Function", "KernelTime", "Module", "PinnedMemory",
    "Pointer", "Stream", "Trace",
    "check", "default_device", "devices", "profile", "save_reproducer",
]  # fmt: skip
