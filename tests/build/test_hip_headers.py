"""The headers for HIP and CUDA sources: what kernels get by them is what NumPy says."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import rocmkern as rk
from rocmkern.build import jit
from rocmkern.errors import KernelAborted

SOURCE = Path(__file__).parents[1] / "data" / "device_functions.hip"
N = 64
X = (np.arange(N, dtype=np.int32) * 37 + 5) % 101


@pytest.fixture(scope="module", params=["gfx942", "gfx1100"])
def module(request: pytest.FixtureRequest) -> rk.Module:
    device = rk.Device(f"emulator:{request.param}")
    return rk.Module.load_data(jit.compiled(SOURCE, request.param), device)


def launched(module: rk.Module, name: str, *arrays: NDArray, grid: int = 1, block: int = N) -> list[NDArray]:
    """The arrays after the kernel ran with them."""
    held = []
    for array in arrays:
        memory = module.device.alloc(array.nbytes)
        memory.copy_from_host(array)
        held.append(memory)
    module.get_function(name)(*held, grid=grid, block=block)
    return [memory.copy_to_host(np.empty_like(array)) for memory, array in zip(held, arrays, strict=True)]


def test_waves(module: rk.Module) -> None:
    """Shuffles, votes and matches go over a wave of 64 or 32 lanes; counts over the block."""
    wave = module.device.info.wave_size
    lane, first = np.arange(N) % wave, np.arange(N) // wave * wave
    _, out = launched(module, "waves", X, np.zeros((14, N), np.int64))
    up = np.where(lane % 8 < 2, lane, lane - 2)
    down = np.where(lane % 16 + 3 >= 16, lane, lane + 3)
    for row, source in enumerate((3, up, down, lane ^ 5, lane ^ 1)):
        assert np.array_equal(out[row], X[first + source])
    per_wave = X.reshape(-1, wave)
    bits = 1 << np.arange(wave, dtype=np.uint64)

    def mask(rows: NDArray) -> NDArray:
        return (rows * bits).sum(axis=-1, dtype=np.uint64)

    assert np.array_equal(out[5].view(np.uint64), np.repeat(mask(per_wave % 3 == 0), wave))
    assert np.array_equal(out[6], np.repeat((per_wave == 7).any(1) * 2 + 1, wave))
    equal = per_wave[:, None, :] % 4 == per_wave[:, :, None] % 4
    assert np.array_equal(out[7].view(np.uint64), mask(equal).ravel())
    assert (out[8] == 1).all()
    assert np.array_equal(out[9], np.repeat(per_wave.sum(1), wave))
    assert np.array_equal(out[10], np.repeat(per_wave.max(1), wave))
    assert (out[11] == (X & 1).sum() * 4 + (X == 5).any() * 2 + (X > 5).all()).all()
    assert np.array_equal(out[12], X.astype(np.int8)[first + 1])
    assert np.array_equal(out[13], lane + 100 * wave)


def test_cooperative_groups(module: rk.Module) -> None:
    """Tiles reduce and rank by themselves, coalesced lanes count the active ones."""
    _, out = launched(module, "groups", X, np.zeros((5, N), np.int32))
    tiles, wave = X.reshape(-1, 16), module.device.info.wave_size
    assert np.array_equal(out[0], np.repeat(tiles.sum(1), 16))
    assert np.array_equal(out[1], np.repeat(tiles.max(1), 16))
    assert np.array_equal(out[2], np.arange(N) // 16 * 100 + np.arange(N) % 16)
    assert np.array_equal(out[3], np.repeat(((tiles & 1) << np.arange(16)).sum(1), 16))
    odd = (X & 1).reshape(-1, wave)
    ranks = np.cumsum(odd, axis=1) - 1
    assert np.array_equal(out[4], np.where(odd, ranks * 100 + odd.sum(1)[:, None], -1).ravel())


def test_grid_waits_for_all_blocks(module: rk.Module) -> None:
    """What is read behind the barrier has the arrivals of every block, round by round."""
    _, out = launched(module, "after_all", np.zeros(1, np.int32), np.zeros(5 * N, np.int32), grid=5)
    assert (out == 5 * N + 2 * 10 * N).all()


def test_atomics(module: rk.Module) -> None:
    """Every operation, type and scope; numbers of 16 bits too."""
    words = np.zeros(13, np.uint32)
    words[9], words[12] = 0xFFFF, 4
    fives = [np.full(8, 5, np.int32), words, np.full(8, 5, np.uint64)]
    floats = [np.full(2, 5, np.float32), np.full(2, 5, np.float64)]
    shorts = [np.full(2, 5, np.float16), np.full(2, 5, ml_dtypes.bfloat16)]
    i32, u32, u64, f32, f64, f16, bf16 = launched(module, "atomics", *fives, *floats, *shorts)
    total = int((np.arange(N) - 30).sum())
    assert np.array_equal(i32[:6], [5 + total, 5 + total, 5 + total, 5 - total, 33, -30])
    assert i32[7] == 5
    assert -30 <= i32[6] <= 33
    unsigned = N * (N - 1) // 2
    assert np.array_equal(u32[:3], [unsigned] * 3)
    assert u32[4:6].tolist() == [N - 1, 0]
    assert u32[8:11].tolist() == [0xFFFFFFFF, 0, 0]
    assert u32[11:].tolist() == [N % 10, (4 - N) % 10]
    assert u64[0] == 5 + (unsigned << 33)
    assert np.array_equal(f32, [5 + unsigned / 2, N - 1])
    assert np.array_equal(f64, [5 + unsigned / 4, 1 - N])
    assert f16.tolist() == [5, 5 + N]
    assert float(bf16[0]) == 5 + 2 * N and float(bf16[1]) == 5


def test_maths(module: rk.Module) -> None:
    """C's names, C++'s and CUDA's fast ones, of floats and doubles."""
    x = np.linspace(0.3, 3.7, N).astype(np.float32)
    y = np.linspace(0.2, 4.5, N)
    *_, out = launched(module, "maths", x, y, np.zeros((30, N), np.float64))
    wide = x.astype(np.float64)
    wanted = [
        np.sin(wide), np.sin(wide), np.cos(wide), np.exp(wide), np.log(wide), np.sqrt(wide), np.tanh(wide),
        np.vectorize(math.erf)(wide), wide**1.5, wide**2, wide * wide + 1, wide, np.floor(wide), wide**-0.5,
        np.minimum(wide, 1), np.maximum(wide, 1), np.maximum(wide, 1), np.exp(wide), wide / 3,
        np.cbrt(wide), wide, wide,
        np.sin(wide), np.hypot(wide, 2), np.full(N, np.finfo(np.float32).max),
    ]  # fmt: skip
    for row, right in enumerate(wanted):
        np.testing.assert_allclose(out[row], right, rtol=1e-6, atol=1e-7, err_msg=str(row))
    exact = [np.log1p(y), y**0.3, np.arctan2(y, 2), np.vectorize(math.gamma)(y), np.full(N, np.sin(3) + 4)]
    np.testing.assert_allclose(out[25:], exact, rtol=1e-13)


def test_intrinsics(module: rk.Module) -> None:
    """Bits, bytes in words, high halves, dot products."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 1 << 32, N, np.uint32) for _ in range(2))
    *_, out = launched(module, "intrinsics", a, b, np.zeros((19, N), np.uint32))
    x, y = a.astype(object), b.astype(object)
    both, u8 = [(int(hi) << 32 | int(lo)) for lo, hi in zip(a, b, strict=True)], np.uint8
    bx, by = a.view(u8).reshape(-1, 4), b.view(u8).reshape(-1, 4)
    sx, sy = bx.view(np.int8).astype(int), by.view(np.int8).astype(int)
    ux, uy = bx.astype(int), by.astype(int)
    high = [int(p) * int(q) >> 32 for p, q in zip(a.view(np.int32), b.view(np.int32), strict=True)]

    def word(each: NDArray) -> NDArray:
        return np.ascontiguousarray((each & 255).astype(u8)).view(np.uint32).ravel()

    wanted = [
        [int(v).bit_count() for v in a], [32 - (int(v) >> 5).bit_length() for v in a],
        [(int(v) & -int(v)).bit_length() for v in a & b], [int(f"{v:032b}"[::-1], 2) for v in a], x * y >> 32,
        [v & 0xFFFFFFFF for v in high], word(np.stack([bx[:, 0], by[:, 1], bx[:, 2], by[:, 3]], axis=1)),
        [(v << 7 >> 32) & 0xFFFFFFFF for v in both], [v >> 7 & 0xFFFFFFFF for v in both],
        (sx * sy).sum(1) + 5 & 0xFFFFFFFF, (ux * uy).sum(1) + 5, word(ux + uy), word(np.maximum(ux, uy)),
        word(np.where(sx > sy, 255, 0)), abs(x - y) + 1 & 0xFFFFFFFF, (x + y) // 2, x, [2] * N,
        word(np.clip(sx - sy, -128, 127)),
    ]  # fmt: skip
    for row, right in enumerate(wanted):
        assert out[row].tolist() == [int(v) for v in right], row


def test_numbers_of_16_bits(module: rk.Module) -> None:
    """Each operation rounds once; floats met on the way stay floats."""
    x = np.linspace(-2, 2, N).astype(np.float16)
    y = np.linspace(-3, 3, N).astype(ml_dtypes.bfloat16)
    *_, out = launched(module, "short_floats", x, y, np.zeros((9, N), np.float32))
    f16, wide, single = np.float16, x.astype(np.float64), x.astype(np.float32)
    third = (np.maximum(y.astype(np.float32), 1) / np.float32(3)).astype(y.dtype)
    wanted = [
        x * x, (wide * wide + wide).astype(f16), (x + x).astype(float) + 4, np.exp(single).astype(f16),
        (x > 1) + 2 * (x < 1), single * 2.5, (y.astype(np.float32) ** 2).astype(y.dtype), third,
        x.reshape(-1, 2)[:, ::-1].ravel(),
    ]  # fmt: skip
    for row, right in enumerate(wanted):
        assert np.array_equal(out[row], np.asarray(right).astype(np.float32)), row


def test_vectors(module: rk.Module) -> None:
    """Vector types have arithmetic by element, and grid and block sizes convert."""
    x = np.arange(8 * 4, dtype=np.float32).reshape(8, 4)
    _, out = launched(module, "vectors", x, np.zeros_like(x), grid=2, block=4)
    v = x * 2 + np.array([1, 2, 3, 4], np.float32)
    v[:, 0] += 2 + 4
    assert np.array_equal(out, np.stack([-v[:, 1], v[:, 0], v[:, 2], v[:, 3]], axis=1))


def test_printf_and_assert(module: rk.Module, capsys: pytest.CaptureFixture[str]) -> None:
    """What a kernel prints is there when it has ended; a failed assert says where, and the launch fails."""
    says = module.get_function("says")
    says(7, grid=1, block=4)
    assert capsys.readouterr().out == "thread 0 of 7: many 12.35%\nthread 1 of 7: many 12.35%\n"
    with pytest.raises(KernelAborted, match=r"launch: says trapped, at pc 0x\w+; an assert failed"):
        says(13, grid=1, block=1)
    assert (
        "device_functions.hip:151: void says(int): assertion `n != 13' failed in block (0, 0, 0)"
        in capsys.readouterr().out
    )
