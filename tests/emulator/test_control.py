"""Control flow, LDS, barriers, atomics, scratch, calls: kernels as clang compiles them, at -O3 and -O0."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.device import TARGETS, Array, Bench, bench

LEVELS = ((), ("-O0",))

SOURCE = """
#define SHARED __attribute__((shared))
#define NOINLINE __attribute__((noinline, device))
#define DEVICE __attribute__((device))
typedef unsigned u32;
typedef unsigned long u64;
DEVICE static inline u32 tid() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE static inline u32 gid() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE static inline u32 global_id() { return gid() * __builtin_amdgcn_workgroup_size_x() + tid(); }
DEVICE static inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL void collatz(const u32 *x, u32 *out) {
    u64 n = x[global_id()];
    u32 steps = 0;
    while (n > 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++steps; if (steps > 400) break; }
    out[global_id()] = steps;
}

KERNEL void block_sum(const float *x, float *out) {
    SHARED static float part[1024];
    u32 t = tid(), n = __builtin_amdgcn_workgroup_size_x();
    part[t] = x[global_id()];
    barrier();
    for (u32 step = n / 2; step; step /= 2) {
        if (t < step) part[t] += part[t + step];
        barrier();
    }
    if (t == 0) out[gid()] = part[0];
}

extern SHARED u32 dynamic[];
KERNEL void reverse(u32 *x) {
    u32 t = tid(), n = __builtin_amdgcn_workgroup_size_x();
    dynamic[t] = x[global_id()];
    barrier();
    x[global_id()] = dynamic[n - 1 - t];
}

KERNEL void histogram(const u32 *x, u32 *out) {
    SHARED static u32 bins[64];
    if (tid() < 64) bins[tid()] = 0;
    barrier();
    __atomic_fetch_add(&bins[x[global_id()] & 63], 1u, __ATOMIC_RELAXED);
    barrier();
    if (tid() < 64) __atomic_fetch_add(&out[tid()], bins[tid()], __ATOMIC_RELAXED);
}

KERNEL void atomics(u32 *u, u64 *w, float *f, double *d, int *s) {
    u32 t = global_id();
    __hip_atomic_fetch_add(&u[0], t, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_max(&u[1], t * 7919 % 1000, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_xor(&u[2], t * 2654435761u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_min(&s[0], (int)(500 - t), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_add(&w[0], (u64)t << 33, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_add(&f[0], 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_add(&d[0], 0.5, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    u32 seen = u[3];
    while (!__hip_atomic_compare_exchange_strong(&u[3], &seen, seen + 3, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                 __HIP_MEMORY_SCOPE_AGENT)) {}
}

KERNEL void local_array(const u32 *x, u32 *out) {
    u32 memo[40];
    for (u32 i = 0; i < 40; ++i) memo[i] = i * i + tid();
    u32 k = x[global_id()] % 40;
    memo[k] += 1000;
    u32 total = 0;
    for (u32 i = 0; i < 40; i += 3) total += memo[(i + k) % 40];
    out[global_id()] = total;
}

NOINLINE u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL void recursion(const u32 *x, u32 *out) { out[global_id()] = fibonacci(x[global_id()] % 12); }

NOINLINE u32 triple(u32 n) { return 3 * n; }
NOINLINE u32 square(u32 n) { return n * n; }
KERNEL void pointers(const u32 *x, u32 *out, u32 which) {
    u32 (*const table[2])(u32) = {triple, square};
    u32 i = global_id();
    out[i] = table[(x[i] + which) & 1](x[i]);
}

KERNEL void early_exit(const u32 *x, u32 *out, u32 n) {
    u32 i = global_id();
    if (i >= n) return;
    for (u32 k = 0; k < 100; ++k) {
        if (x[i] % 17 == k) return;
        if (k > x[i] % 23) { out[i] = k; return; }
    }
}

KERNEL void cube(u32 *out) {
    u32 x = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    u32 y = __builtin_amdgcn_workgroup_id_y() * __builtin_amdgcn_workgroup_size_y() + __builtin_amdgcn_workitem_id_y();
    u32 z = __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_z() + __builtin_amdgcn_workitem_id_z();
    u32 w = __builtin_amdgcn_grid_size_x(), h = __builtin_amdgcn_grid_size_y();
    out[(z * h + y) * w + x] = x | y << 8 | z << 16;
}

struct Pair { u64 a, b; };
KERNEL void wide(const u64 *x, const u64 *y, struct Pair *out) {
    u32 i = global_id();
    out[i].a = x[i] / (y[i] | 1);
    out[i].b = x[i] * y[i] + (x[i] % (y[i] | 1));
}
"""


RDNA = ("gfx1030", "gfx1100", "gfx1201")
VARIANTS = [
    *((t, level, False) for t in TARGETS for level in LEVELS),
    *((t, level, False) for t in RDNA for level in LEVELS),
    ("gfx1100", (), True),
    ("gfx90a", (), True),
    ("gfx942", (), True),
    ("gfx942", ("-O0",), True),
]


@pytest.fixture(params=VARIANTS, ids=lambda p: f"{p[0]}{''.join(p[1])}-tier{int(p[2])}")
def gpu(request: pytest.FixtureRequest) -> Bench:
    target, level, compiled = request.param
    return bench(SOURCE, target, level, compiled)


def numbers(n: int, high: int = 1 << 32) -> Array:
    return np.random.default_rng(n).integers(0, high, n, dtype=np.uint32)


def collatz_steps(n: int) -> int:
    steps = 0
    while n > 1 and steps <= 400:
        n = 3 * n + 1 if n & 1 else n // 2
        steps += 1
    return steps


def test_divergent_loops(gpu: Bench) -> None:
    """Each lane leaves the loop in its own round."""
    x = numbers(192, 100_000)
    out = np.zeros_like(x)
    gpu.run("collatz", x, out, grid=3)
    assert out.tolist() == [collatz_steps(int(v)) for v in x]


@pytest.mark.parametrize("block", [64, 128, 256, 1024])
def test_barriers_in_a_loop(gpu: Bench, block: int) -> None:
    """A tree sum over LDS equals the sum: integers in float are exact."""
    x = numbers(3 * block, 1000).astype(np.float32)
    out = np.zeros(3, np.float32)
    gpu.run("block_sum", x, out, grid=3, block=block)
    assert out.tolist() == x.reshape(3, block).sum(1).tolist()


@pytest.mark.parametrize("block", [1, 63, 64, 65, 200, 1024])
def test_dynamic_lds_and_partial_waves(gpu: Bench, block: int) -> None:
    """Dynamic LDS holds what the launch asked for; a last partial wave takes part in barriers."""
    x = numbers(2 * block)
    expected = x.reshape(2, block)[:, ::-1].ravel().copy()
    gpu.run("reverse", x, grid=2, block=block, shared_bytes=4 * block)
    np.testing.assert_array_equal(x, expected)


def test_atomics_in_lds_and_memory(gpu: Bench) -> None:
    """Counts in LDS added up in memory are the histogram."""
    x = numbers(1024)
    out = np.zeros(64, np.uint32)
    gpu.run("histogram", x, out, grid=4, block=256)
    np.testing.assert_array_equal(out, np.bincount(x & 63, minlength=64))


def test_atomics_of_every_width(gpu: Bench) -> None:
    """add, max, xor, signed min, 64-bit and float adds and compare-exchange from many workgroups at once."""
    n = 640
    t = np.arange(n, dtype=np.uint32)
    u, w = np.zeros(4, np.uint32), np.zeros(1, np.uint64)
    f, d, s = np.zeros(1, np.float32), np.zeros(1), np.zeros(1, np.int32)
    gpu.run("atomics", u, w, f, d, s, grid=10)
    assert u.tolist() == [
        t.sum(),
        (t * 7919 % 1000).max(),
        np.bitwise_xor.reduce(t * np.uint32(2654435761)),
        3 * n,
    ]
    assert (w[0], f[0], d[0], s[0]) == (int(t.sum()) << 33, n, n / 2, 500 - (n - 1))


def test_indexed_local_array(gpu: Bench) -> None:
    """An array in scratch, indexed by lane."""
    x = numbers(128)
    out = np.zeros_like(x)
    gpu.run("local_array", x, out, grid=2)
    expected = []
    for i, value in enumerate(x):
        memo = [k * k + i % 64 for k in range(40)]
        memo[value % 40] += 1000
        expected.append(sum(memo[(k + value % 40) % 40] for k in range(0, 40, 3)))
    assert out.tolist() == expected


def test_recursion(gpu: Bench) -> None:
    """Calls, returns and the stack of a recursive function, divergent."""
    x = numbers(64)
    out = np.zeros_like(x)
    gpu.run("recursion", x, out)
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert out.tolist() == [fibonacci[v % 12] for v in x]


@pytest.mark.parametrize("which", [0, 1])
def test_function_pointers(gpu: Bench, which: int) -> None:
    """An indirect call whose callee differs between lanes."""
    x = numbers(64, 60000)
    out = np.zeros_like(x)
    gpu.run("pointers", x, out, np.uint32(which))
    assert out.tolist() == [(v * v if (v + which) & 1 else 3 * v) for v in x.tolist()]


def test_early_exit(gpu: Bench) -> None:
    """Lanes that return early write nothing."""
    x = numbers(128)
    out = np.full(128, 999, np.uint32)
    gpu.run("early_exit", x, out, np.uint32(100), grid=2)
    expected = []
    for i, v in enumerate(x.tolist()):
        k = v % 23 + 1
        expected.append(999 if i >= 100 or v % 17 <= k else k)
    assert out.tolist() == expected


def test_three_dimensional_grid_and_block(gpu: Bench) -> None:
    """Thread and workgroup numbers, block and grid sizes on all three axes."""
    grid, block = (2, 3, 4), (8, 4, 2)
    w, h, d = (g * b for g, b in zip(grid, block, strict=True))
    out = np.zeros((d, h, w), np.uint32)
    gpu.run("cube", out, grid=grid, block=block)
    z, y, x = np.indices(out.shape, dtype=np.uint32)
    np.testing.assert_array_equal(out, x | y << 8 | z << 16)


def test_wide_division(gpu: Bench) -> None:
    """64-bit quotient, remainder and product."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 1 << 63, 128, dtype=np.uint64) >> rng.integers(0, 60, 128).astype(np.uint64)
    y = rng.integers(0, 1 << 63, 128, dtype=np.uint64) >> rng.integers(0, 60, 128).astype(np.uint64)
    out = np.zeros((128, 2), np.uint64)
    gpu.run("wide", x, y, out, grid=2)
    divisor = y | np.uint64(1)
    np.testing.assert_array_equal(out[:, 0], x // divisor)
    np.testing.assert_array_equal(out[:, 1], x * y + x % divisor)


LITERAL_COMPARE = """
KERNEL void differs(unsigned x, unsigned *out) {
    unsigned result;
    asm volatile("s_cmpk_lg_i32 %1, 0x1100\\n s_cselect_b32 %0, 1, 0" : "=s"(result) : "s"(x) : "scc");
    out[__builtin_amdgcn_workitem_id_x()] = result;
}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("x", [0, 0x220, 0x1100])
def test_compare_with_a_16_bit_literal_reads_its_register(target: str, x: int) -> None:
    """s_cmpk's register is an operand, not an old result: loops that count to such a literal take every turn."""
    out = np.full(64, 7, np.uint32)
    bench(LITERAL_COMPARE, target).run("differs", np.uint32(x), out)
    assert (out == (x != 0x1100)).all()


ELECTION = """
KERNEL void elect(unsigned *out, unsigned phases) {
    __attribute__((shared)) static volatile unsigned done;
    unsigned wave = __builtin_amdgcn_workitem_id_x() >> 5, lane = __builtin_amdgcn_workitem_id_x() & 31;
    if (wave == 0) done = 0;
    for (unsigned phase = 0; phase < phases; ++phase) {
        __builtin_amdgcn_s_barrier();
        while (phase % 2 && wave == 0 && done < phase) {}
        bool first = __builtin_amdgcn_s_barrier_signal_isfirst(-1);
        if (wave == 3) done = phase;
        if (lane == 0) out[(__builtin_amdgcn_workgroup_id_x() * phases + phase) * 4 + wave] = first ? 1 : 2;
        __builtin_amdgcn_s_barrier_wait(-1);
    }
}
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_one_wave_is_first_at_a_barrier(compiled: bool) -> None:
    """gfx12 tells the wave that signals first, in every round; the one that waits for others is not."""
    out = np.zeros((3, 6, 4), np.uint32)
    bench(ELECTION, "gfx1201", (), compiled).run("elect", out, np.uint32(6), grid=3, block=128)
    assert (np.sort(out, -1) == [1, 2, 2, 2]).all()
    assert (out[:, 1::2, 0] == 2).all()
