"""Five kernels of your own: a transpose through LDS, a histogram with atomics, a scan with wave intrinsics, a divergent
Mandelbrot loop and an n-body step. Compiled here (needs the `build` extra), each compared with NumPy.
"""

import numpy as np

import rocmkern as rk

TRANSPOSE = """
#include "include/device.hpp"
RK_KERNEL transpose(unsigned n, const float *in, float *out) {
    __shared__ float tile[16][17];
    const unsigned x = rk::block_x() * 16 + rk::thread_x(), y = rk::block_y() * 16 + rk::thread_y();
    if (x < n && y < n) tile[rk::thread_y()][rk::thread_x()] = in[y * n + x];
    rk::barrier();
    const unsigned tx = rk::block_y() * 16 + rk::thread_x(), ty = rk::block_x() * 16 + rk::thread_y();
    if (tx < n && ty < n) out[ty * n + tx] = tile[rk::thread_x()][rk::thread_y()];
}
"""
HISTOGRAM = """
#include "include/device.hpp"
RK_KERNEL histogram(unsigned n, const unsigned char *in, unsigned *bins) {
    __shared__ unsigned local[256];
    local[rk::thread_x()] = 0;
    rk::barrier();
    for (unsigned i = rk::global_thread(); i < n; i += rk::global_threads())
        __atomic_fetch_add(&local[in[i]], 1u, __ATOMIC_RELAXED);
    rk::barrier();
    __atomic_fetch_add(&bins[rk::thread_x()], local[rk::thread_x()], __ATOMIC_RELAXED);
}
"""
SCAN = """
#include "include/device.hpp"
RK_KERNEL wave_scan(const int *in, int *out) {
    const unsigned i = rk::global_thread(), lane = rk::lane();
    int sum = in[i];
    for (unsigned step = 1; step < rk::wave_size; step *= 2) {
        const int below = rk::shuffle(sum, (lane - step) % rk::wave_size);
        sum += lane >= step ? below : 0;
    }
    out[i] = sum;
}
"""
MANDELBROT = """
#include "include/device.hpp"
RK_KERNEL mandelbrot(unsigned side, unsigned *rounds) {
    const unsigned i = rk::global_thread();
    if (i >= side * side) return;
    const float a = -2.0f + 3.0f * (i % side) / side, b = -1.5f + 3.0f * (i / side) / side;
    float x = 0, y = 0;
    unsigned n = 0;
    while (n < 100 && x * x + y * y <= 4) {
        const float next = x * x - y * y + a;
        y = 2 * x * y + b;
        x = next;
        ++n;
    }
    rounds[i] = n;
}
"""
NBODY = """
#include "include/device.hpp"
#include "include/math.hpp"
RK_KERNEL step(unsigned n, float dt, const float *at, float *speed) {
    const unsigned i = rk::global_thread();
    if (i >= n) return;
    float force[3] = {};
    for (unsigned j = 0; j < n; ++j) {
        float d[3], square = 0.01f;
        for (unsigned k = 0; k < 3; ++k) {
            d[k] = at[3 * j + k] - at[3 * i + k];
            square += d[k] * d[k];
        }
        const float pull = 1 / (square * rk::sqrt(square));
        for (unsigned k = 0; k < 3; ++k) force[k] += pull * d[k];
    }
    for (unsigned k = 0; k < 3; ++k) speed[3 * i + k] += dt * force[k];
}
"""

device = rk.Device()
rng = np.random.default_rng(0)


def on_device(array: np.ndarray) -> rk.Tensor:
    return rk.asarray(array, device=device)


def kernel(source: str, name: str) -> rk.Function:
    return rk.compile(source, device=device, name=name).get_function(name)


def report(name: str, right: bool) -> None:
    print(f"{name:12} {'equals NumPy' if right else 'DIFFERS FROM NUMPY'}")
    assert right


n = 100
square, out = rng.random((n, n), np.float32), rk.zeros((n, n), dtype=rk.float32, device=device)
kernel(TRANSPOSE, "transpose")(np.uint32(n), on_device(square), out, grid=(7, 7), block=(16, 16))
report("transpose", np.array_equal(out.numpy(), square.T))

letters, bins = rng.integers(0, 256, 50_000, np.uint8), rk.zeros((256,), dtype=rk.uint32, device=device)
kernel(HISTOGRAM, "histogram")(np.uint32(letters.size), on_device(letters), bins, grid=8, block=256)
report("histogram", np.array_equal(bins.numpy(), np.bincount(letters, minlength=256)))

numbers, sums = rng.integers(-9, 9, 512, np.int32), rk.zeros((512,), dtype=rk.int32, device=device)
kernel(SCAN, "wave_scan")(on_device(numbers), sums, grid=2, block=256)
waves = numbers.reshape(-1, device.info.wave_size)
report("wave scan", np.array_equal(sums.numpy().reshape(waves.shape), waves.cumsum(1)))

side = 64
rounds = rk.zeros((side, side), dtype=rk.uint32, device=device)
kernel(MANDELBROT, "mandelbrot")(np.uint32(side), rounds, grid=side * side // 256, block=256)
steps = np.arange(side, dtype=np.float32)
across = np.float32(-2) + np.float32(3) * steps / np.float32(side)
down = np.float32(-1.5) + np.float32(3) * steps / np.float32(side)
x, y = (np.zeros((side, side), np.float32) for _ in range(2))
expected = np.zeros((side, side), np.uint32)
for _ in range(100):
    inside = x * x + y * y <= 4
    expected += inside
    x, y = np.where(inside, x * x - y * y + across, x), np.where(inside, 2 * x * y + down[:, None], y)
report("mandelbrot", np.mean(rounds.numpy() == expected) > 0.99)  # the compiler fuses products and sums

places = rng.standard_normal((200, 3), np.float32)
speeds = rk.zeros((200, 3), dtype=rk.float32, device=device)
kernel(NBODY, "step")(np.uint32(200), np.float32(0.1), on_device(places), speeds, grid=1, block=256)
between = places[None].astype(np.float64) - places[:, None]
pulls = between / ((between**2).sum(-1, keepdims=True) + 0.01) ** 1.5
report("n-body", np.allclose(speeds.numpy(), 0.1 * pulls.sum(1), rtol=1e-4, atol=1e-4))
