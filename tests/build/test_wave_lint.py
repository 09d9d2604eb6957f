"""The lint for what sources take for granted of 32 lanes: it finds planted faults, mends the safe ones, and is quiet on
what is right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.build import hipify, wave_lint
from rocmkern.cli.lint_waves import lint_waves

ROOT = Path(__file__).parents[2]
LANE = "int lane = threadIdx.x;\n"

# What is planted, the rule that finds it, and what the fix makes of it; None where nothing is rewritten.
PLANTED: tuple[tuple[str, str, str | None], ...] = (
    ("v += __shfl_down_sync(0xffffffff, v, 8);", "mask", "v += __shfl_down_sync(~0ull, v, 8);"),
    ("v = __shfl_sync(0xFFFFFFFFu, v, 0);", "mask", "v = __shfl_sync(~0ull, v, 0);"),
    ("v = __shfl_xor_sync(-1, v, 1);", "mask", "v = __shfl_xor_sync(~0ull, v, 1);"),
    ("bool b = __any_sync(~0u, p);", "mask", "bool b = __any_sync(~0ull, p);"),
    ("bool b = __all_sync(UINT_MAX, p);", "mask", "bool b = __all_sync(~0ull, p);"),
    ("int s = __reduce_add_sync(0xffffffff, v);", "mask", "int s = __reduce_add_sync(~0ull, v);"),
    ("#define FULL 0xffffffff\nv = __shfl_sync(FULL, v, 0);",
     "mask", "#define FULL ~0ull\nv = __shfl_sync(FULL, v, 0);"),
    ("unsigned m = 0xffffffff;\nv = __shfl_sync(m, v, 0);",
     "mask", "unsigned long long m = ~0ull;\nv = __shfl_sync(m, v, 0);"),
    ("int l = threadIdx.x % 32;", "lane", "int l = threadIdx.x % warpSize;"),
    ("int l = threadIdx.x & 31;", "lane", "int l = threadIdx.x & (warpSize - 1);"),
    ("int l = threadIdx.x & 0x1f;", "lane", "int l = threadIdx.x & (warpSize - 1);"),
    ("int w = threadIdx.x / 32;", "lane", "int w = threadIdx.x / warpSize;"),
    ("int w = threadIdx.x >> 5;", "lane", None),
    (LANE + "int w = lane / 32;", "lane", LANE + "int w = lane / warpSize;"),
    ("int t = threadIdx.y * 8 + threadIdx.x;\nint w = t % 32;",
     "lane", "int t = threadIdx.y * 8 + threadIdx.x;\nint w = t % warpSize;"),
    (LANE + "for (int i = lane; i < n; i += 32) { s += x[i]; }",
     "lane", LANE + "for (int i = lane; i < n; i += warpSize) { s += x[i]; }"),
    ("for (i = threadIdx.x; i < n; i = i + 32) s += x[i];",
     "lane", "for (i = threadIdx.x; i < n; i = i + warpSize) s += x[i];"),
    ("int n = (blockDim.x + 31) / 32;", "lane", None),
    ("int n = blockDim.x / 32;", "lane", "int n = blockDim.x / warpSize;"),
    ("#define WARP_SIZE 32", "constant", None),
    ("constexpr int kWarpSize = 32;", "constant", None),
    ("static_assert(warpSize == 32);", "constant", None),
    ("const unsigned warp_size = 32u;", "constant", None),
    ("unsigned m = __ballot_sync(k, p);", "ballot", "unsigned long long m = __ballot_sync(k, p);"),
    ("uint32_t m = __match_any_sync(k, v);", "ballot", "unsigned long long m = __match_any_sync(k, v);"),
    ("int n = __popc(__ballot_sync(k, p));", "ballot", "int n = __popcll(__ballot_sync(k, p));"),
    ("auto m = __ballot(p); int f = __ffs(m);", "ballot", "auto m = __ballot(p); int f = __ffsll(m);"),
    ("f((unsigned)__ballot(p));", "ballot", "f(__ballot(p));"),
    ("f(static_cast<uint32_t>(__ballot(p)));", "ballot", "f(static_cast<unsigned long long>(__ballot(p)));"),
    ("auto bit = 1u << lane;", "ballot", "auto bit = 1ull << lane;"),
    ("auto before = (1 << lane_id) - 1;", "ballot", "auto before = (1ull << lane_id) - 1;"),
    ("for (int o = 16; o > 0; o >>= 1) v += __shfl_down(v, o);",
     "shuffle", "for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_down(v, o);"),
    ("for (int o = 16; o; o /= 2) { v += __shfl_xor(v, o); }",
     "shuffle", "for (int o = warpSize / 2; o; o /= 2) { v += __shfl_xor(v, o); }"),
    ("for (int o = 1; o < 32; o *= 2) { v += __shfl_up(v, o); }",
     "shuffle", "for (int o = 1; o < warpSize; o *= 2) { v += __shfl_up(v, o); }"),
    ("v = __shfl(v, 0, 32);", "shuffle", None),
    ("v += __shfl_down_sync(k, v, 16);", "shuffle", None),
    ("s[t] += s[t + 16];\ns[t] += s[t + 8];", "barrier", None),
    ("if (threadIdx.x < 32) { s[i] += s[i + 32]; s[i] += s[i + 16]; }", "barrier", None),
    ("void last(volatile float *sdata, int t) {}", "barrier", None),
    ("auto m = __activemask();", "active", None),
    ('asm("mov.u32 %0, %laneid;" : "=r"(l));', "ptx", None),
    ('asm volatile("bar.sync 0;");', "ptx", None),
    ('asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\\n" :: "r"(a), "l"(b));', "ptx", None),
    ('asm("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(p));', "ptx", None),
)  # fmt: skip

QUIET = (
    "int x = total / 32;", "// threadIdx.x % 32\n", 'const char *text = "__activemask()";', "int hash = key & 31;",
    "unsigned long long m = __ballot(p);", "int n = __popcll(__ballot(p));", "v += __shfl_down(v, 8);",
    "int l = threadIdx.x % warpSize;", "int n = __popc(word);", "for (int i = 16; i > 0; --i) { s += x[i]; }",
    'asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");', 'asm("v_add_f32 %0, %1, %2" : "=v"(d) : "v"(a), "v"(b));',
    "void f() { int i = threadIdx.x; }\nvoid g(int i) { int block = i / 32; }",
    "for (i = row; i < n; i += 32) s += x[i];",
    "float4 x = v[threadIdx.x]; x.x /= 32;", "__shared__ float tile[32][33];", "s[t] += s[t + 16];\n__syncthreads();",
    "tile[threadIdx.x] = 1u << bits;", "auto g = tiled_partition<32>(block);", "v = __shfl_sync(mask, v, 0);",
)  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "mended"), PLANTED)
def test_planted_fault_is_found(text: str, rule: str, mended: str | None) -> None:
    """By its rule, with a reason; what is safe is rewritten, and nothing else."""
    found = wave_lint.findings(text)
    assert rule in {each.rule for each in found}, found
    assert all(each.reason and text[each.start : each.end] for each in found)
    assert wave_lint.fixed(text) == (text if mended is None else mended)


@pytest.mark.parametrize("text", QUIET)
def test_right_code_is_left_alone(text: str) -> None:
    """Numbers that are no lanes, what is written for any wave, AMD's assembly, comments and strings."""
    assert wave_lint.findings(text) == []


def test_own_kernels_are_quiet() -> None:
    """At most two places, beside the files that hold NVIDIA's side in PTX."""
    paths = list(ROOT.glob("kernels_hip/**/*.h*"))
    found = {
        f"{path.name}:{each.line}": each.rule
        for path in paths
        if path.name not in ("device_nvidia.hpp", "device_early.hpp")
        for each in wave_lint.findings(path.read_text())
    }
    assert len(paths) > 60 and len(found) <= 2, found


def test_file_is_mended_in_place(tmp_path: Path) -> None:
    """With `--fix`; what is left is listed with its line, and makes the exit status 1."""
    path = tmp_path / "k.cu"
    path.write_text("#define WARP_SIZE 32\nint l = threadIdx.x % 32;\n")
    done = CliRunner().invoke(lint_waves, ["--fix", str(path)])
    assert path.read_text() == "#define WARP_SIZE 32\nint l = threadIdx.x % warpSize;\n"
    assert (
        done.exit_code == 1 and done.output.count("\n") == 1 and ":1: constant: `#define WARP_SIZE 32`" in done.output
    )


SUM = """
#include <cuda_runtime.h>
__global__ void total(const float *x, float *y) {
    __shared__ float parts[32];
    float v = x[threadIdx.x];
    for (int offset = 16; offset > 0; offset >>= 1) {
        v += __shfl_down_sync(0xffffffff, v, offset);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = v;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x / 32; ++i) {
            parts[0] += parts[i];
        }
        *y = parts[0];
    }
}
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_mended_cuda_kernel_sums_right(target: str) -> None:
    """Of 256 threads, on waves of 64 and of 32."""
    device = rk.Device(f"emulator:{target}")
    kernel = rk.compile(wave_lint.fixed(hipify.convert(SUM).text), device=device).get_function("total")
    x, y = rk.arange(256, dtype=rk.float32, device=device), rk.zeros(1, device=device)
    kernel(x, y, grid=1, block=256)
    assert np.asarray(y)[0] == 255 * 128
