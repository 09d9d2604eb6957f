"""Random numbers on every target: the words are those of NumPy's Philox, and what is made of them is as defined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import DType
from rocmkern.kernels.families.random import FLOATS
from rocmkern.runtime import Device
from tests.kernels.launching import Array, Guarded

SEED = 11
KEY = tuple(int(k) for k in np.random.SeedSequence(SEED).generate_state(2, np.uint64))
SIZES = (1, 3, 8, 9, 1030)


def words(n: int) -> Array:
    """The first 64-bit words that NumPy draws, made of one counter after the other from 1 on."""
    return np.asarray(np.random.Philox(SEED).random_raw(n), np.uint64)


def lanes(dtype: DType, n: int) -> Array:
    """As many random bits for each element as its dtype takes: a word, or its lower and its upper half."""
    return words(n) if dtype.itemsize == 8 else words(-(-n // 2)).view(np.uint32)[:n]


def drawn(device: Device, symbol: str, dtype: Any, n: int, *arguments: Any, first: int = 1, shift: int = 0) -> Array:
    out = Guarded(device, (n,), dtype, shift)
    kernel = rk.get_kernel("random", symbol, device)
    kernel(n, *KEY, first, *arguments, out.pointer, grid=2, block=64)
    return out.array(symbol)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_uniform_numbers(device: Device, dtype: DType) -> None:
    """The upper bits of each lane as a fraction; scaled and shifted with two roundings; aligned or not."""
    digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[dtype.short]
    for n in SIZES:
        bits = lanes(dtype, n)
        want = (bits >> bits.dtype.type(8 * bits.itemsize - digits)).astype(np.float64) * 2.0**-digits
        got = drawn(device, f"random_uniform_{dtype.short}", dtype.numpy, n, 1.0, 0.0, shift=dtype.itemsize)
        np.testing.assert_array_equal(got.astype(np.float64), want)
        work = np.float64 if dtype.itemsize == 8 else np.float32
        moved = (want.astype(work) * work(3.7) + work(-1.2)).astype(dtype.numpy)
        np.testing.assert_array_equal(drawn(device, f"random_uniform_{dtype.short}", dtype.numpy, n, 3.7, -1.2), moved)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_normal_numbers(device: Device, dtype: DType) -> None:
    """Box and Muller's pairs of each two lanes, worked out in extended precision."""
    n = 1030
    bits = lanes(dtype, n)
    scale = np.longdouble(2.0) ** (-8 * bits.itemsize)
    distance, direction = (bits.astype(np.longdouble)[i::2] for i in (0, 1))
    radius = np.sqrt(-2 * np.log((distance + 1) * scale))
    pi = np.longdouble("3.14159265358979323846264338327950288")
    want = np.stack([radius * np.cos(2 * pi * direction * scale), radius * np.sin(2 * pi * direction * scale)], 1)
    got = drawn(device, f"random_normal_{dtype.short}", dtype.numpy, n, 2.0, 0.5).astype(np.longdouble)
    eps = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}[dtype.short]
    assert np.abs(got - (2 * want.reshape(-1) + 0.5)).max() < 16 * eps
    assert np.abs(want).max() > 3


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_integers(device: Device, size: int) -> None:
    """low + floor(word·count / 2⁶⁴), wrapped to the size, for counts up to all of 2⁶⁴."""
    dtype = np.dtype(f"u{size}")
    for n in SIZES:
        for low, count in ((0, 2), (7, 200), ((1 << 64) - 5, 10), (0, 1 << 63), (3, 1 << 64)):
            want = [(low + (int(w) * count >> 64)) % (1 << 8 * size) for w in words(n)]
            got = drawn(device, f"random_integers_u{8 * size}", dtype, n, low, count % (1 << 64))
            np.testing.assert_array_equal(got, np.array(want, dtype))


def test_counters_beyond_32_bits(device: Device) -> None:
    """A draw may begin at any counter, the last of 2⁶⁴ among them: the next is 0."""
    for first in ((1 << 33) + 3, (1 << 64) - 1):
        counters = (first, (first + 1) % (1 << 64))
        generators = [np.random.Philox(key=KEY[0] | KEY[1] << 64, counter=(c - 1) % (1 << 256)) for c in counters]
        got = drawn(device, "random_integers_u64", np.uint64, 8, 0, 0, first=first)
        np.testing.assert_array_equal(got, np.concatenate([g.random_raw(4) for g in generators]))
