"""Device functions that no packaged kernel shows alone, compiled here and run on the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.build import toolchain
from rocmkern.errors import BuildError
from rocmkern.kernels import files
from rocmkern.runtime import Device, Function, Module
from tests.kernels.launching import Guarded

SOURCE = """
#include "{include}/index.hpp"
#include "{include}/device.hpp"
namespace rk {{
RK_KERNEL quotients(u64 count, const u64 *n, const u64 *divisor, u64 *out, bool fits_32_bits) {{
    for (u64 i = global_thread(); i < count; i += global_threads()) {{
        out[i] = divide(n[i], divisor[i], fits_32_bits);
    }}
}}
RK_KERNEL offsets(u64 count, const u64 *linear, u64 numel, u64 num_dims, const u64 *info, u64 *out) {{
    for (u64 i = global_thread(); i < count; i += global_threads()) {{
        out[i] = strided_offset(linear[i], numel, num_dims, info, info + num_dims);
    }}
}}
}}
"""
PAIRS = st.lists(st.tuples(st.integers(0, (1 << 53) - 1), st.integers(1, (1 << 53) - 1)), min_size=1, max_size=200)


@pytest.fixture(scope="module")
def probe(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Module:
    folder = tmp_path_factory.mktemp("probe")
    (folder / "probe.hip").write_text(SOURCE.format(include=files.sources() / "include"))
    target = device.info.arch.split(":")[0]
    try:
        compiler = toolchain.detect("zig")
    except BuildError as error:
        if device.info.name.startswith("emulator"):
            raise
        pytest.skip(f"only a GPU here: {error}")
    compiler.compile(folder, "probe.hip", target, folder / "probe.hsaco")
    return Module.load(folder / "probe.hsaco", device)


def _quotients(device: Device, kernel: Function, n: list[int], divisor: list[int], fits: bool) -> list[int]:
    result = Guarded(device, (len(n),), np.uint64)
    pointers = [Guarded.holding(device, np.array(words, np.uint64)).pointer for words in (n, divisor)]
    kernel(np.uint64(len(n)), *pointers, result.pointer, np.bool_(fits), grid=1, block=64)
    return [int(q) for q in result.array()]


@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_quotients_below_two_to_the_53_are_exact(device: Device, probe: Module, pairs: list[tuple[int, int]]) -> None:
    """The f64 quotient of integers never rounds up to the next one: also for n = q d - 1, the closest below it."""
    n = [n for n, _ in pairs] + [max((n // d) * d - 1, 0) for n, d in pairs]
    divisor = [d for _, d in pairs] * 2
    got = _quotients(device, probe.get_function("quotients"), n, divisor, False)
    assert got == [a // b for a, b in zip(n, divisor, strict=True)]


@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_quotients_of_32_bits_are_exact(device: Device, probe: Module, pairs: list[tuple[int, int]]) -> None:
    """The short division behind the range test."""
    n, divisor = [n & 0xFFFFFFFF for n, _ in pairs], [(d & 0xFFFFFFFF) or 1 for _, d in pairs]
    got = _quotients(device, probe.get_function("quotients"), n, divisor, True)
    assert got == [a // b for a, b in zip(n, divisor, strict=True)]


def test_offsets_of_tensors_beyond_32_bits(device: Device, probe: Module) -> None:
    """L8: in a tensor of 2³² + elements every element finds its offset, strides of any sign included."""
    dims, strides = [5, 65537, 1 << 17], [1 << 40, -3, 7]
    numel = int(np.prod(dims, dtype=np.int64))
    rng = np.random.default_rng(0)
    linear = np.concatenate([rng.integers(0, numel, 200), [0, numel - 1, 1 << 32, (1 << 32) - 1]])
    layout = Guarded.holding(device, np.array(dims + strides, np.int64)).pointer
    positions = Guarded.holding(device, linear).pointer
    result = Guarded(device, linear.shape, np.int64)
    kernel = probe.get_function("offsets")
    words = (np.uint64(w) for w in (numel, 3))
    kernel(np.uint64(linear.size), positions, *words, layout, result.pointer, grid=2, block=64)
    wanted = sum(i * s for i, s in zip(np.unravel_index(linear, dims), strides, strict=True))
    assert np.array_equal(result.array(), wanted)
