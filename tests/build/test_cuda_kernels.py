"""CUDA kernels of every family of a tensor library go through hipify and the lint, compile, and mean the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from attrs import frozen

import rocmkern as rk
from rocmkern.build import hipify, wave_lint

SOURCE = Path(__file__).parents[1] / "data" / "tensor_kernels.cu"
TARGETS = ("gfx942", "gfx1100")
RNG = np.random.default_rng(0)
N = 700
X, Y = RNG.standard_normal((2, 20, 35)).astype(np.float32)
ROWS = RNG.standard_normal((8, 100)).astype(np.float32)
BF16 = ml_dtypes.bfloat16


@frozen
class Launch:
    """A kernel, its arguments, which of them it writes to, what must be there then, and its geometry."""

    kernel: str
    arguments: tuple[Any, ...]
    out: int
    wanted: Any
    grid: int = 3
    block: Callable[[int], int] = lambda wave: 256  # by the size of a wave
    shared_bytes: int = 0
    tolerance: float = 0.0


def sizes(*arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    strides = [s // a.itemsize for a in arrays for s in a.strides]
    return np.array([*arrays[0].shape, *strides], np.uint64)


def launches() -> list[Launch]:
    half_x, half_y = X.astype(np.float16), Y.astype(np.float16)
    out, half = np.zeros_like(X), np.zeros_like(half_x)
    ids, mask = RNG.integers(0, 8, N).astype(np.uint32), (X > 0).astype(np.uint8)
    gelu = X * np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in X.reshape(-1).tolist()]).reshape(X.shape)
    e = np.exp(ROWS - ROWS.max(axis=1, keepdims=True))
    signal, taps = RNG.standard_normal((3, 50)).astype(np.float32), RNG.standard_normal((4, 3, 5)).astype(np.float32)
    met = np.lib.stride_tricks.sliding_window_view(signal, 5, axis=1)[:, ::2]
    quants, scales = RNG.integers(-127, 128, (6, 32)).astype(np.int8), RNG.random((6, 1)).astype(np.float16)
    blocks = np.concatenate([scales.view(np.uint8).reshape(6, 2), quants.view(np.uint8)], axis=1)
    a, b = RNG.integers(-128, 128, (5, 400)).astype(np.int8), RNG.integers(-128, 128, 400).astype(np.int8)
    words, counts = np.zeros(5, np.int32), np.zeros(8, np.float32)
    np.add.at(counts, ids, np.float32(1))
    transposed = np.zeros((35, 20), np.float32)
    return [
        Launch("ugelu_f32", (N, 2, None, X, out), 4, gelu, tolerance=2e-6),
        Launch("usqr_f16", (N, 2, sizes(half_x), half_x, half), 4, half_x * half_x),
        Launch("uneg_bf16", (N, 2, None, X.astype(BF16), out.astype(BF16)), 4, -X.astype(BF16)),
        Launch("badd_f32", (N, 2, sizes(X.T, Y.T), X, Y, transposed), 5, (X + Y).T),
        Launch("bmaximum_f16", (N, 2, None, half_x, half_y, half), 5, np.maximum(half_x, half_y)),
        Launch("affine_f32", (N, X, out, 2.0, 1.0), 2, X * 2 + 1, tolerance=1e-6),
        Launch("fill_u8", (mask, 7, N), 0, np.full_like(mask, 7)),
        Launch("cast_f32_f16", (N, X, half), 2, half_x),
        Launch("where_u8_f32", (N, mask, X, Y, out), 4, np.where(mask, X, Y)),
        Launch("is_u32_f32", (N, ids[:7].copy(), ROWS, np.zeros((7, 100), np.float32), 100), 3,
               ROWS[ids[:7]]),
        Launch("sa_u32_f32", (N, ids, np.ones(N, np.float32), np.zeros(8, np.float32)), 3, counts),
        Launch("row_sum_f32", (ROWS, np.zeros(8, np.float32), 100), 1, ROWS.sum(axis=1), 8,
               tolerance=1e-5),
        Launch("softmax_f32", (ROWS, np.zeros_like(ROWS), 100), 1, e / e.sum(axis=1, keepdims=True), 8,
               lambda wave: wave, tolerance=1e-5),
        Launch("asort_asc_f32", (ROWS, np.zeros((8, 100), np.uint32), 100, 128), 1,
               ROWS.argsort(axis=1), 8, lambda wave: 128, 512),
        Launch("conv1d_f32", (92, signal, taps, np.zeros((4, 23), np.float32), 3, 50, 5, 2), 3,
               np.einsum("clk,ock->ol", met, taps), tolerance=1e-5),
        Launch("dequantize_q8_0", (blocks, np.zeros((6, 32), np.float32), 192), 1,
               scales.astype(np.float32) * quants),
        Launch("dot_i8", (a.view(np.int32), b.view(np.int32), words, 100), 2,
               a.astype(np.int32) @ b.astype(np.int32), 5, lambda wave: wave),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def mended() -> str:
    """The source under HIP's names, with the lint's fixes."""
    converted = hipify.convert(SOURCE.read_text())
    assert converted.count >= 2 and not converted.unknown
    return wave_lint.fixed(converted.text)


@pytest.fixture(scope="module", params=TARGETS)
def module(request: pytest.FixtureRequest, mended: str) -> rk.Module:
    return rk.compile(mended, device=f"emulator:{request.param}")


def test_the_lint_finds_what_counts_on_32_lanes(mended: str) -> None:
    """Masks, lanes, warps and shuffles before its fixes; afterwards what needs a look is named and nothing else."""
    before = {each.rule for each in wave_lint.findings(SOURCE.read_text())}
    assert {"mask", "lane", "shuffle"} <= before
    assert {each.rule for each in wave_lint.findings(mended)} <= {"lane"}


@pytest.mark.parametrize("launch", launches(), ids=lambda launch: launch.kernel)
def test_kernels_mean_the_same(module: rk.Module, launch: Launch) -> None:
    """As NumPy computes, on waves of 64 and of 32 lanes."""
    device = module.device
    arguments = [rk.asarray(v, device=device) if isinstance(v, np.ndarray) else v for v in launch.arguments]
    module.get_function(launch.kernel)(
        *arguments, grid=launch.grid, block=launch.block(device.info.wave_size), shared_bytes=launch.shared_bytes
    )
    found, tolerance = arguments[launch.out].numpy(), launch.tolerance
    np.testing.assert_allclose(
        found.astype(np.float64), np.asarray(launch.wanted, np.float64), rtol=tolerance, atol=tolerance
    )
