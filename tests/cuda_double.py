"""The CUDA driver library's stand-in, for the real cuda-bindings."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests import doubles
from tests.doubles import Double

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 scale_0, .param .u64 .ptr .align 1 scale_1, .param .f32 scale_2)
{
    ret;
}
.visible .entry store_one(.param .u64 .ptr .align 1 store_one_0)
{
    ret;
}
.visible .entry nothing()
{
    ret;
}
.visible .entry awaits(.param .u64 .ptr .align 1 awaits_0)
{
    griddepcontrol.wait;
    ret;
}
"""


@functools.cache
def load() -> Double:
    pytest.importorskip("cuda.bindings.driver")
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Double(doubles.compiled("cuda_double.c", "libcuda.so.1"))
    pytest.skip("NVIDIA's own library is here")


@contextmanager
def present(count: int = 2) -> Iterator[Double]:
    """The double with `count` devices of sm_90; afterwards all that was opened on them is gone."""
    double = load()
    double.library.double_devices(count)
    double.reset()
    try:
        with doubles.forgotten("cuda"):
            yield double
    finally:
        double.library.double_devices(0)
