"""Faults that people reported, rebuilt as small kernels of our own, each beside one that is right.

`RUN` are kernels of `launches.Case`; `READ` are in assembly, for `spelling.said`, and are looked at without running.
"""

from __future__ import annotations

from typing import Final

from tests.checking.corpus.launches import (
    DIVERGENT,
    PAST,
    RAW,
    RDNA,
    SKIPPED,
    UNSET,
    WAR,
    Case,
    on,
)
from tests.checking.corpus.waits import Case as Static
from tests.checking.kernels import CDNA

# github.com/…
RUN: Final = {
    # warpfront/hipfire/issues/574: the slot of a reduction is used again before all have read it
    "hipfire_574": Case(
        "SHARED u32 s[4]; for (u32 r = 0; r < 3; ++r) { if (T % 32 == 0) V(s)[T / 32] = V(x)[T] + r; barrier();"
        "u32 sum = 0; for (u32 i = 0; i < 4; ++i) sum += V(s)[i]; V(y)[T] = sum; }",
        (WAR,), block=128),
    "hipfire_574_mended": Case(
        "SHARED u32 s[4]; for (u32 r = 0; r < 3; ++r) { if (T % 32 == 0) V(s)[T / 32] = V(x)[T] + r; barrier();"
        "u32 sum = 0; for (u32 i = 0; i < 4; ++i) sum += V(s)[i]; barrier(); V(y)[T] = sum; }",
        block=128),
    # kokkos/kokkos/pull/8648: a scan has a fence where a barrier is needed
    "kokkos_8648": Case(
        'SHARED u32 s[128]; V(s)[T] = x[T]; __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");'
        "y[T] = V(s)[T] + V(s)[(T + 64) & 127];", (RAW,), block=128),
    "kokkos_8648_mended": Case(
        "SHARED u32 s[128]; V(s)[T] = x[T]; barrier(); y[T] = V(s)[T] + V(s)[(T + 64) & 127];", block=128),
    # ROCm/rocm-libraries/pull/10893: stores sink below a barrier that is no fence
    "rocm_libraries_10893": Case(
        "SHARED u32 s[128]; V(s)[T] = 0; barrier(); u32 v = x[T]; __builtin_amdgcn_s_barrier(); V(s)[T] = v;"
        "y[T] = V(s)[127 - T];", (WAR, RAW), block=128),
    # ROCm/rocm-libraries/pull/11654: with three buffers and a barrier in every other round, the fast wave overtakes
    "rocm_libraries_11654": Case(
        "SHARED u32 s[384]; for (u32 i = 0; i < 8; ++i) { V(s)[i % 3 * 128 + T] = i; if (i < 2 || i & 1) barrier();"
        "if (i) V(y)[T] = V(s)[(i - 1) % 3 * 128 + 127 - T]; }", (WAR,), block=128),
    # ROCm/rocm-libraries/issues/7992: a wide load of the last rows reads past the operand
    "rocm_libraries_7992": Case(
        "v4 v = *(const v4 *)(x + 4 * T + 1); y[T] = v[0] + v[1] + v[2] + v[3];", (PAST,)),
    "rocm_libraries_7992_mended": Case(
        "v4 v = *(const v4 *)(x + 4 * T); y[T] = v[0] + v[1] + v[2] + v[3];"),
    # ROCm/MIOpen/pull/1040: one load of several has no guard
    "miopen_1040": Case("u32 i = T + 192, v = 0; if (i < 250) v = x[i]; v += x[i + 8]; y[T] = v;", (PAST,)),
    "miopen_1040_mended": Case("u32 i = T + 192, v = 0; if (i < 250) v = x[i]; if (i < 248) v += x[i + 8]; y[T] = v;"),
    # ORNL/HeCBench/pull/251: off by one in a local array
    "hecbench_251": Case(
        "volatile u32 a[5]; for (u32 i = 0; i < 4; ++i) a[i] = i; y[T] = a[n / 16];", (UNSET,)),
    # ORNL/HeCBench/pull/169: a size is read before it is set
    "hecbench_169": Case("SHARED u32 size; u32 k = V(&size)[0]; if (T == 0) V(&size)[0] = n; y[T] = k;",
                         (UNSET,), on(RDNA, UNSET, RAW)),
    # paranumal/hipBone/pull/46: idle threads don't fill their part of a tile that all of a matrix product reads
    "hipbone_46": Case(
        "SHARED u32 s[64]; if (T < 49) V(s)[T] = x[T]; barrier(); u32 v = 0; for (u32 i = 0; i < 64; ++i)"
        "v += V(s)[i] * (i < 49); y[T] = v;", (UNSET,)),
    "hipbone_46_mended": Case(
        "SHARED u32 s[64]; V(s)[T] = T < 49 ? x[T] : 0; barrier(); u32 v = 0; for (u32 i = 0; i < 64; ++i)"
        "v += V(s)[i] * (i < 49); y[T] = v;"),
    # ROCm/rocSOLVER/pull/956: a workspace that nobody clears is added to
    "rocsolver_956": Case("V(y)[T] += x[T];", (UNSET,)),
    # LeelaChessZero/lc0/pull/2420: half of a wave of 64 returns ahead of a barrier
    "lc0_2420": Case("if (T >= 32) return; V(y)[T] = 1; barrier(); V(y)[64 + T] = V(y)[31 - T];",
                     (DIVERGENT,), on(RDNA, SKIPPED)),
    # ggml-org/llama.cpp/pull/13469: a part of the warps comes to a barrier
    "llama_cpp_13469": Case("if (T / 64 < V(x)[1]) barrier(); y[T] = 1;", (SKIPPED,), block=128),
    # turboderp-org/exllamav2/issues/143: a literal 32 where waves have 64 lanes, or the other way round
    "exllamav2_143": Case(
        "SHARED u32 s[2]; if (T % 64 == 0) V(s)[T / 64] = T; if (T == 0) V(s)[1] = 0; y[T] = V(s)[T / 64];",
        (), on(RDNA, RAW)),
}  # fmt: skip

READ: Final = {
    # ROCm/rocm-libraries/pull/3635: a wait for four where three are under way
    "rocm_libraries_3635": Static(
        "{read} v2, v0; {read} v3, v0; {read} v4, v0; wait lds 4; v_mov_b32 v5, v2; wait lds 0", 1),
    "rocm_libraries_3635_mended": Static(
        "{read} v2, v0; {read} v3, v0; {read} v4, v0; wait lds 2; v_mov_b32 v5, v2; wait lds 0", 0),
    # ROCm/rocm-libraries/pull/3003: one path of a loop lacks the wait that the others have
    "rocm_libraries_3003": Static(
        "again_{{}}:; {load} v2, v0, s[4:5]; s_cbranch_scc1 odd_{{}}; wait loads 0; odd_{{}}:; v_mov_b32 v3, v2;"
        "s_cbranch_scc0 again_{{}}",
        1,
        {"gfx1201": 2},
    ),
    # ROCm/hipBLASLt/pull/559: arguments are used before they are there
    "hipblaslt_559": Static("{scalar2} s[8:9], s[4:5], 0x0; {load} v2, v0, s[8:9]; wait loads 0", 1),
    # ROCm/rocm-libraries/pull/1092: an instruction between is not as many states as two
    "rocm_libraries_1092": Static(
        "v_mov_b32 v2, 0; s_mov_b64 s[8:9], 0; v_mfma_f32_16x16x4f32 v[4:7], v2, v3, v[4:7]", 1, targets=CDNA),
    "rocm_libraries_1092_mended": Static(
        "v_mov_b32 v2, 0; s_mov_b64 s[8:9], 0; s_nop 0; v_mfma_f32_16x16x4f32 v[4:7], v2, v3, v[4:7]", 0,
        targets=CDNA),
    # llvm/llvm-project/issues/197267: a wide store with an offset in a scalar register, and its data overwritten
    "llvm_197267": Static(
        "buffer_store_dwordx4 v[4:7], off, s[8:11], s4; v_mov_b32 v6, 0", 1, {"gfx90a": 0}, targets=CDNA),
}  # fmt: skip
