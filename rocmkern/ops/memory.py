"""The memory that tensors live in: a caching pool for each device."""

from __future__ import annotations

from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.runtime.pool import MemoryStatistics


def memory_statistics(device: DeviceLike = None) -> MemoryStatistics:
    """Bytes in use, at most in use and kept for reuse on a device, and how often the driver was asked."""
    return open_device(device).memory_statistics()


def empty_cache(device: DeviceLike = None) -> int:
    """Give the memory that no tensor uses back to the driver, after the work in flight; returns the bytes."""
    return open_device(device).trim()
