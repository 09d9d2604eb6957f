"""Both tiers give the same results on shipped kernels."""

from __future__ import annotations

import random
import struct
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from rocmkern.emulator.flow import Flow
from rocmkern.emulator.machine import Entry, Loaded
from rocmkern.kernels import shipped
from tests.emulator.device import machine

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100")
FAMILIES = ("unary", "binary")
SAMPLE = 2  # kernels of a family and target in each run; the slow test takes them all
COUNT = 3000
FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn,
}


@cache
def module(target: str, family: str) -> Loaded:
    return machine(target).load(shipped.code(family, target))


def kernels(target: str, family: str) -> list[str]:
    return sorted(module(target, family).program.code.kernels)


def launch(target: str, entry: Entry, buffers: list[bytes]) -> list[bytes]:
    """Run over COUNT contiguous elements: first pointer null, the others `buffers`; returns what these hold after."""
    on, random_bytes = machine(target), np.random.default_rng(1)
    packed, addresses = bytearray(struct.pack("<QQQ", COUNT, 1, 0)), []
    for argument in entry.kernel.explicit_arguments[3:]:
        packed += bytes(argument.offset - len(packed))
        if argument.is_pointer:
            content = buffers[len(addresses)]
            addresses.append(on.alloc(len(content)))
            on.view(addresses[-1], len(content))[:] = content
            packed += struct.pack("<Q", addresses[-1])
        else:
            packed += random_bytes.bytes(argument.size)
    on.launch(entry, (5, 1, 1), (256, 1, 1), 0, bytes(packed))
    results = [bytes(on.view(a, len(b))) for a, b in zip(addresses, buffers, strict=False)]
    for address in addresses:
        on.free(address)
    return results


@np.errstate(invalid="ignore")  # ml_dtypes warns of signalling NaNs
def compare(target: str, family: str, name: str) -> None:
    entry = module(target, family).kernel(name)
    random_bytes = np.random.default_rng(0)
    buffers = [random_bytes.bytes(8 * COUNT) for _ in range(4)]
    first = launch(target, entry, buffers)
    entry.module.program.compile(entry.kernel)
    dtype = np.dtype(FLOATS.get(name.rpartition("_")[2], np.uint8))
    for cold, hot in zip(first, launch(target, entry, buffers), strict=True):
        if cold != hot:  # the sign of a NaN is not defined
            a, b = np.frombuffer(cold, dtype), np.frombuffer(hot, dtype)
            assert ((a == b) | (a != a) & (b != b)).all(), f"{name} of {target}"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("target", TARGETS)
def test_tiers_agree_on_a_sample(target: str, family: str) -> None:
    """Random bit patterns through a few kernels, in tier 0 and compiled, give equal bits (any NaN equals any other)."""
    for name in random.Random(target + family).sample(kernels(target, family), SAMPLE):
        compare(target, family, name)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("target", TARGETS)
def test_tiers_agree_on_every_kernel(target: str, family: str) -> None:
    """The same for all of them."""
    for name in kernels(target, family):
        compare(target, family, name)


def test_code_that_begins_with_what_has_no_meaning_has_no_units() -> None:
    """Nothing of it is compiled; the launch says what the first instruction is."""
    assert Flow({}, 0).entries == []
