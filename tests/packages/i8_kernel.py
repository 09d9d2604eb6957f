"""An int8 product of our own in the shape of AITER's: its arguments, its reordered weights, its results cut to bf16."""

from __future__ import annotations

from pathlib import Path

from tests import samples

SYMBOL = "product"
_BODY = """
typedef int Sums __attribute__((ext_vector_type(SUMS)));

KERNEL __attribute__((amdgpu_flat_work_group_size(256, 256))) void product(
    unsigned short *out, long pad0, const long *a, long pad1, const long *b, long pad2,
    const float *scale_a, long pad3, const float *scale_b, long pad4, const float *bias, long pad5,
    unsigned m, int pad6, int pad7, int pad8, unsigned n, int pad9, int pad10, int pad11,
    unsigned k, int pad12, int pad13, int pad14, unsigned lda, int pad15, int pad16, int pad17,
    unsigned ldb, int pad18, int pad19, int pad20, unsigned ldc, int pad21, int pad22, int pad23, unsigned splits
) {
    unsigned lane = __builtin_amdgcn_workitem_id_x() % 64, wave = __builtin_amdgcn_workitem_id_x() / 64;
    unsigned line = lane % ROWS, part = lane / ROWS;
    unsigned row = __builtin_amdgcn_workgroup_id_y() * ROWS;
    unsigned column = (__builtin_amdgcn_workgroup_id_x() * 4 + wave) * ROWS + line;
    unsigned mine = row + line < m ? row + line : m - 1;
    Sums sums = {};
    for (unsigned at = 0; at < k; at += DEPTH) {
        unsigned pack = (at + 8 * part) / 8;
        sums = MULTIPLY(
            a[(unsigned long)mine * lda / 8 + pack],
            b[(((unsigned long)(column / ROWS) * (k / 16) + pack / 2) * ROWS + line) * 2 + pack % 2], sums, 0, 0, 0);
    }
    for (unsigned i = 0; i < SUMS; i++) {
        unsigned y = row + i / 4 * (256 / ROWS) + 4 * part + i % 4;
        if (y >= m) continue;
        union { float value; unsigned bits; } cut = { (float)sums[i] * scale_b[column] * scale_a[y] + bias[column] };
        out[(unsigned long)y * ldc / 2 + column] = cut.bits >> 16;
    }
}
"""


def product(rows: int) -> bytes:
    """Its code object for weights in tiles of 16 or 32 rows; a workgroup makes `rows` × 4 · `rows` elements."""
    values = {"ROWS": rows, "SUMS": rows * rows // 64, "DEPTH": 512 // rows}
    shape = f"{rows}x{rows}x{values['DEPTH']}"
    lines = [f"#define {name} {value}" for name, value in values.items()]
    source = "\n".join([*lines, f"#define MULTIPLY __builtin_amdgcn_mfma_i32_{shape}_i8", _BODY])
    made = samples.compile_hip(source, flags=("-Xclang", "-cl-kernel-arg-info"))
    return made.replace(b".type_name", b".type_none")  # files written by hand tell names alone


def install(root: Path, *rows: int) -> Path:
    """A package of these products with their table, for gfx942."""
    folder = root / "gfx942/i8gemm"
    folder.mkdir(parents=True)
    lines = ["tile_m,tile_n,splitK,bpreshuffle,knl_name,co_name"]
    for side in rows:
        (folder / f"{side}.co").write_bytes(product(side))
        lines.append(f"{side},{4 * side},0,1,{SYMBOL},{side}.co")
    (folder / "i8gemm.csv").write_text("\n".join(lines) + "\n")
    return root
