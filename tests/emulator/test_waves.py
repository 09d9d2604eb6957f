"""Wave intrinsics and arithmetic that clang spreads over many instructions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.device import Array, Bench, bench

SOURCE = """
typedef unsigned u32;
typedef unsigned long u64;
#define DEVICE static __attribute__((device)) inline
#ifdef __AMDGCN_WAVEFRONT_SIZE__
#define WAVE __AMDGCN_WAVEFRONT_SIZE__
#elif defined(__GFX9__)
#define WAVE 64
#else
#define WAVE 32
#endif
DEVICE u32 tid() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 gid() { return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + tid(); }
DEVICE u32 lane() {
    u32 low = __builtin_amdgcn_mbcnt_lo(~0u, 0);
    return WAVE == 64 ? __builtin_amdgcn_mbcnt_hi(~0u, low) : low;
}
DEVICE float shuffle(float x, u32 from) {
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(from << 2, __builtin_bit_cast(int, x)));
}

KERNEL void scan(const float *x, float *out) {
    float total = x[gid()];
    for (u32 step = 1; step < WAVE; step *= 2) {
        float below = shuffle(total, lane() - step);
        if (lane() >= step) total += below;
    }
    out[gid()] = total;
}
KERNEL void butterfly(const float *x, float *out) {
    float total = x[gid()];
    for (u32 step = WAVE / 2; step; step /= 2) total += shuffle(total, lane() ^ step);
    out[gid()] = total;
}
KERNEL void rotate(const int *x, int *out) {
    int a = __builtin_amdgcn_update_dpp(-1, x[gid()], 0x111, 0xF, 0xF, false);  // row_shr:1
    int b = __builtin_amdgcn_mov_dpp(x[gid()], 0x128, 0xF, 0xF, true);          // row_ror:8
    int c = __builtin_amdgcn_mov_dpp(x[gid()], 0x4E, 0xF, 0xF, true);           // quad_perm:[2,3,0,1]
    int d = __builtin_amdgcn_mov_dpp(x[gid()], 0x140, 0xF, 0x5, true);          // row_mirror, two banks of four
    out[4 * gid()] = a;
    out[4 * gid() + 1] = b;
    out[4 * gid() + 2] = c;
    out[4 * gid() + 3] = d;
}
KERNEL void elect(const u32 *x, u32 *out) {
    u32 mine = x[gid()] & 7, seen = 0;
    for (bool waiting = true; waiting;) {
        u32 chosen = __builtin_amdgcn_readfirstlane(mine);
        if (mine == chosen) {
            out[gid()] = 100 * seen + chosen;
            waiting = false;
        }
        ++seen;
    }
}
KERNEL void mandelbrot(u32 *out) {
    float a = -2.0f + gid() % 32 * 0.09375f, b = -1.2f + gid() / 32 * 0.15f, x = 0, y = 0;
    u32 n = 0;
    while (n < 200 && x * x + y * y < 4) {
        float next = x * x - y * y + a;
        y = 2 * x * y + b;
        x = next;
        ++n;
    }
    out[gid()] = n;
}
KERNEL void bodies(const float *place, float *force, u32 n) {
    __attribute__((shared)) static float tile[64];
    float sum = 0, me = place[gid()];
    for (u32 start = 0; start < n; start += 64) {
        tile[tid()] = place[start + tid()];
        __builtin_amdgcn_s_barrier();
        for (u32 i = 0; i < 64; ++i) {
            float r = tile[i] - me;
            sum += r / (r * r + 0.25f);
        }
        __builtin_amdgcn_s_barrier();
    }
    force[gid()] = sum;
}
KERNEL void transpose(const u32 *x, u32 *out, u32 width, u32 height) {
    __attribute__((shared)) static u32 tile[16][17];
    u32 tx = __builtin_amdgcn_workitem_id_x(), ty = __builtin_amdgcn_workitem_id_y();
    u32 bx = __builtin_amdgcn_workgroup_id_x() * 16, by = __builtin_amdgcn_workgroup_id_y() * 16;
    if (bx + tx < width && by + ty < height) tile[ty][tx] = x[(by + ty) * width + bx + tx];
    __builtin_amdgcn_s_barrier();
    if (bx + ty < width && by + tx < height) out[(bx + ty) * height + by + tx] = tile[tx][ty];
}
"""

VARIANTS = [(t, c) for t in ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201") for c in (False, True)]


@pytest.fixture(params=VARIANTS, ids=lambda p: f"{p[0]}-tier{int(p[1])}")
def gpu(request: pytest.FixtureRequest) -> Bench:
    target, compiled = request.param
    return bench(SOURCE, target, (), compiled)


def wave_size(gpu: Bench) -> int:
    return gpu.module.kernel("scan").kernel.wave_size


def integers(n: int, high: int = 100) -> Array:
    return np.random.default_rng(n).integers(0, high, n)


def test_scan_and_butterfly(gpu: Bench) -> None:
    """Prefix sums and an all-to-all sum through ds_bpermute, exact on small integers."""
    size = wave_size(gpu)
    x = integers(4 * 64).astype(np.float32)
    out = np.zeros_like(x)
    gpu.run("scan", x, out, grid=2, block=128)
    assert np.array_equal(out.reshape(-1, size), np.cumsum(x.reshape(-1, size), 1))
    gpu.run("butterfly", x, out, grid=2, block=128)
    assert np.array_equal(out.reshape(-1, size), np.repeat(x.reshape(-1, size).sum(1)[:, None], size, 1))


def test_dpp(gpu: Bench) -> None:
    """Row shifts, rotations, quad permutations, mirrors; lanes without a source, banks that are off."""
    x = integers(128, 1000).astype(np.int32)
    out = np.zeros((128, 4), np.int32)
    gpu.run("rotate", x, out, grid=2)
    rows = x.reshape(-1, 16)
    shifted = np.concatenate([np.full((8, 1), -1), rows[:, :-1]], 1)
    quads = x.reshape(-1, 4)[:, [2, 3, 0, 1]]
    assert np.array_equal(out[:, 0].reshape(-1, 16), shifted)
    assert np.array_equal(out[:, 1].reshape(-1, 16), np.roll(rows, 8, 1))
    assert np.array_equal(out[:, 2].reshape(-1, 4), quads)
    banks = np.isin(np.arange(16) // 4, (0, 2))
    assert np.array_equal(out[:, 3].reshape(-1, 16)[:, banks], rows[:, ::-1][:, banks])


def test_readfirstlane_loop(gpu: Bench) -> None:
    """Each round serves the lanes that agree with the first one left: values come in order of first appearance."""
    size = wave_size(gpu)
    x = integers(128, 8).astype(np.uint32)
    out = np.zeros_like(x)
    gpu.run("elect", x, out, grid=2)
    expected = []
    for wave in x.reshape(-1, size):
        order = list(dict.fromkeys(wave.tolist()))
        expected += [100 * order.index(v) + v for v in wave.tolist()]
    assert out.tolist() == expected


def test_mandelbrot(gpu: Bench) -> None:
    """A divergent loop of f32 arithmetic takes as many rounds as in NumPy, where no rounding decides."""
    out = np.zeros(512, np.uint32)
    gpu.run("mandelbrot", out, grid=8)
    i = np.arange(512)
    c = (-2 + i % 32 * 0.09375) + 1j * (-1.2 + i // 32 * 0.15)
    z, n = np.zeros_like(c), np.zeros(512, int)
    for _ in range(200):
        inside = abs(z) < 2
        n += inside
        z = np.where(inside, z * z + c, z)
    assert np.mean(out == n) > 0.97
    assert out.max() == 200


def test_n_body_step(gpu: Bench) -> None:
    """Tiles in LDS, division, a barrier at either end of the loop."""
    x = np.random.default_rng(1).normal(size=256).astype(np.float32)
    out = np.zeros_like(x)
    gpu.run("bodies", x, out, np.uint32(256), grid=4)
    r = x[None].astype(float) - x[:, None]
    np.testing.assert_allclose(out, (r / (r * r + 0.25)).sum(1), rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(16, 16), (33, 70), (64, 48)])
def test_tiled_transpose(gpu: Bench, shape: tuple[int, int]) -> None:
    """A transpose through padded LDS tiles, with ragged edges and a two-dimensional block."""
    height, width = shape
    x = np.arange(height * width, dtype=np.uint32).reshape(shape)
    out = np.zeros((width, height), np.uint32)
    grid = (-(-width // 16), -(-height // 16), 1)
    gpu.run("transpose", x, out, np.uint32(width), np.uint32(height), grid=grid, block=(16, 16, 1))
    assert np.array_equal(out, x.T)
