"""The kernels that fuzzing starts from: small ones for each part of the emulator, and some of the shipped files.

`python -m tests.fuzz.sources` compiles and writes them to kernels.json. They are kept there, compiled, so that a seed
means the same bytes after the next build.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rocmkern import codeobject
from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.codeobject.metadata import image_bytes
from rocmkern.targets import TARGETS
from tests import samples

KERNELS: Final = Path(__file__).with_name("kernels.json")
FUZZED: Final = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
SHIPPED: Final = (
    ("array", "put_u64"), ("array", "ramp_f32"), ("fused", "is_among_f32"), ("indexing", "nonzero_unravel"),
    ("quantized", "get_rows_f32"), ("reduce", "rope_i_f16"), ("sort", "sort_keys_u8"),
    ("statistics", "merge_nanmean_f32"),
)  # fmt: skip

EVERYWHERE: Final = """
typedef unsigned u32;
typedef unsigned long u64;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x8 __attribute__((ext_vector_type(8)));
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

KERNEL void scale(const u32 *a, u32 *b, u32 n) {
    u32 i = GROUP * 64 + LANE;
    if (i < n) b[i] = a[i] * n + i;
}
KERNEL void exchange(const u32 *a, u32 *b, u32 n) {
    __attribute__((shared)) static u32 kept[128];
    u32 i = LANE & 63;
    kept[i] = a[i];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    __atomic_fetch_add(&kept[64 + (i & 7)], n, __ATOMIC_RELAXED);
    b[i] = kept[63 - i] + kept[i ^ 1];
}
KERNEL void histogram(const u32 *a, u32 *b, u32 n) {
    u32 old = __atomic_fetch_add(&b[a[LANE & 63] & 15], n, __ATOMIC_RELAXED);
    u64 wanted = old;
    __atomic_compare_exchange_n((u64 *)b + 16, &wanted, 7ul, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
KERNEL void stack(const u32 *a, u32 *b, u32 n) {
    volatile u32 local[16];
    for (u32 i = 0; i < 16; i++) local[i] = a[i] + LANE;
    u32 sum = 0;
    for (u32 i = 0; i < n % 16; i++) sum += local[(a[i] + LANE) & 15];
    b[LANE & 63] = sum;
}
KERNEL void divide(const double *a, double *b, u32 n) {
    double x = a[LANE & 7];
    for (u32 i = 0; i < (n & 3); i++) x = x * x + a[i];
    b[LANE & 7] = x / a[0];
}
KERNEL void hash(const u32 *a, u32 *b, u32 n) {
    u32 sum = 0;
    for (u32 i = LANE & 15; i < n; i += 16) sum = sum * 31 + a[i];
    b[LANE & 63] = sum;
}
KERNEL void root(const float *a, float *b, u32 n) {
    float x = a[LANE & 63];
    b[LANE & 63] = __builtin_sqrtf(x) + __builtin_floorf(x) * __builtin_fmaf(x, x, 1.f) + __builtin_exp2f(x);
}
KERNEL void wide(const u32x4 *a, u32x4 *b, u32 n) {
    const u32x8 uniform = *(const u32x8 *)a;
    b[LANE & 15] = a[LANE & 15] * n + uniform.lo + uniform.hi;
}
KERNEL void halves(const half2 *a, half2 *b, u32 n) {
    half2 x = a[LANE & 63], y = a[n & 63];
    b[LANE & 63] = x * y + x - __builtin_elementwise_max(x, y);
}
KERNEL void lanes(const u32 *a, u32 *b, u32 n) {
    u32 x = a[LANE & 63];
    u32 y = __builtin_amdgcn_ds_bpermute(x << 2, x) + __builtin_amdgcn_ds_swizzle(x, 0x401F);
    y += __builtin_amdgcn_update_dpp(n, x, 0xB1, 0xF, 0xF, false) + __builtin_amdgcn_readlane(x, n & 31);
    b[LANE & 63] = y + __builtin_amdgcn_readfirstlane(x) + __builtin_amdgcn_mbcnt_lo(~0u, n);
}
KERNEL void resource(const u32 *a, u32 *b, u32 n) {
    __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc((void *)a, 0, 256, WORD3);
    __amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(b, 0, 256, WORD3);
    u32x4 x = __builtin_amdgcn_raw_buffer_load_b128(from, LANE * 16, n & 15, 0);
    __builtin_amdgcn_raw_buffer_store_b128(x * 3u, to, LANE * 16, 0, 0);
    __builtin_amdgcn_raw_buffer_store_b8(x[0], to, LANE, n, 0);
}
__attribute__((device, noinline)) u32 twice(u32 x) { return x * 2 + 1; }
__attribute__((device, noinline)) u32 thrice(u32 x) { return x * 3; }
KERNEL void call(const u32 *a, u32 *b, u32 n) {
    u32 (*chosen)(u32) = n & 1 ? twice : thrice;
    b[LANE & 63] = chosen(a[LANE & 63]);
}
"""
MATRIX: Final = {
    "CDNA": """
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
KERNEL void matrix(const float *a, float *b, u32 n) {
    f32x16 sum = {0};
    f32x4 small = {0};
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[LANE], a[LANE ^ 1], sum, 0, 0, 0);
    small = __builtin_amdgcn_mfma_f32_16x16x4f32(a[LANE], sum[0], small, 0, 0, 0);
    for (int i = 0; i < 16; i++) b[(LANE + i * 8) & 127] = sum[i] + small[i & 3];
}
""",
    "RDNA": """
typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
KERNEL void matrix(const IN *a, f32x8 *b, u32 n) {
    f32x8 sum = {0};
    b[LANE & 7] = WMMA(a[LANE & 7], a[n & 7], sum);
}
""",
}
WORD3: Final = {9: "0x00020000", 10: "0x31014000", 11: "0x31004000", 12: "0x31004000"}
WMMA: Final = {
    "gfx11": ("-DIN=f16x16", "-DWMMA=__builtin_amdgcn_wmma_f32_16x16x16_f16_w32"),
    "gfx12": ("-DIN=f16x8", "-DWMMA=__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12"),
}

CALLER, CALLED = "call", "_Z"
SIZES: Final = (
    ".kernarg_segment_size", ".kernarg_segment_align", ".group_segment_fixed_size", ".private_segment_fixed_size",
    ".wavefront_size", ".sgpr_count", ".vgpr_count", ".max_flat_workgroup_size", ".uses_dynamic_stack",
)  # fmt: skip


@frozen
class KernelCode:
    """A kernel to mutate. `note` is the row of the metadata that describes it."""

    name: str
    code: bytes
    entry: int  # byte of the code that execution begins at: what it calls may lie before it
    descriptor: bytes
    note: dict[str, Any]


def compiled(target: str) -> bytes:
    """The code object of the small kernels."""
    isa = TARGETS[target].isa
    generation = int(isa[3:]) if isa in ("gfx10", "gfx11", "gfx12") else 9
    source, flags = EVERYWHERE, (f"-DWORD3={WORD3[generation]}",)
    if generation == 9:
        source += MATRIX["CDNA"]
    elif isa in WMMA:
        source, flags = source + MATRIX["RDNA"], (*flags, *WMMA[isa])
    return samples.compile_hip(source, target, flags=flags)


def taken(code: CodeObject, kernel: Kernel) -> dict[str, Any]:
    """What kernels.json keeps of a kernel."""
    called = [address for name, (address, _) in code.symbols.items() if name.startswith(CALLED)]
    first = min(called) if kernel.name == CALLER else kernel.entry_address
    last = kernel.entry_address + code.symbols[kernel.name][1]
    return {
        "code": _text(image_bytes(code.segments, first, last - first)),
        "entry": kernel.entry_address - first,
        "descriptor": _text(kernel.descriptor),
        "sizes": [
            kernel.kernarg_size, kernel.kernarg_align, kernel.lds_size, kernel.private_size, kernel.wave_size,
            kernel.sgprs, kernel.vgprs, kernel.max_threads_per_block, kernel.uses_dynamic_stack,
        ],
        "arguments": [[a.offset, a.size, a.kind] for a in kernel.arguments],
    }  # fmt: skip


def note(name: str, sizes: list[Any], arguments: list[list[Any]]) -> dict[str, Any]:
    """The row of the metadata."""
    listed = [dict(zip((".offset", ".size", ".value_kind"), argument, strict=True)) for argument in arguments]
    return {".name": name, ".symbol": f"{name}.kd", ".args": listed, **dict(zip(SIZES, sizes, strict=True))}


def _text(data: bytes) -> str:
    return base64.b85encode(data).decode()


def rendered() -> str:
    """kernels.json: target → kernel → what is kept of it, a line for each kernel."""
    targets = []
    for target in FUZZED:
        code = codeobject.read(compiled(target))
        rows = {name: taken(code, kernel) for name, kernel in sorted(code.kernels.items())}
        for family, name in SHIPPED:
            code = codeobject.read(Path("hsaco", f"{family}.hsaco").read_bytes(), target)
            rows[name] = taken(code, code.kernels[name])
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        targets.append(f"{json.dumps(target)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(targets) + "\n}\n"


@cache
def kernels(target: str) -> tuple[KernelCode, ...]:
    """The kernels of a device's target."""
    return tuple(
        KernelCode(
            name,
            base64.b85decode(row["code"]),
            row["entry"],
            base64.b85decode(row["descriptor"]),
            note(name, row["sizes"], row["arguments"]),
        )
        for name, row in json.loads(KERNELS.read_text("utf-8"))[target].items()
    )


if __name__ == "__main__":
    KERNELS.write_text(rendered(), "utf-8")
