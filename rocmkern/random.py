"""Random numbers on the device, with NumPy's names."""

from typing import Any

from rocmkern.ops.generator import Generator, default_rng

__all__ = ["Generator", "default_rng"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'rocmkern.random' has no attribute {name!r}; draw from a default_rng()")
