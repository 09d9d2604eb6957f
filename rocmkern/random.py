"""Random numbers on the device, with NumPy's names."""

from rocmkern.ops.generator import Generator, default_rng

__all__ = ["Generator", "default_rng"]
