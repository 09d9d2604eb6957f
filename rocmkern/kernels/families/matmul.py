"""matmul: products of strided matrices, in a tile size for each range of sizes."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType, uint64
from rocmkern.kernels.catalogue import INTEGERS, Family, KernelSpec, result, scalar, source

SHORT_AND_SINGLE: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32)
SAME: Final[tuple[tuple[DType, DType], ...]] = tuple(
    (t, t) for t in (*SHORT_AND_SINGLE, dtypes.float64, *INTEGERS)
)  # fmt: skip
WIDENING: Final = ((dtypes.int8, dtypes.int32),)
TILES: Final[dict[str, tuple[tuple[int, int, int], tuple[tuple[DType, DType], ...]]]] = {
    "matmul": ((64, 64, 16), (*SAME, *WIDENING)),
    "matmul_wide": ((128, 128, 8), tuple((t, t) for t in SHORT_AND_SINGLE)),
}
THREADS: Final = 256
_SIZES: Final = (
    "m", "n", "k", "batch", "lhs_batch", "lhs_row", "lhs_col", "rhs_batch", "rhs_row", "rhs_col", "num_dims",
)  # fmt: skip


def symbol(kind: str, t: DType, out: DType) -> str:
    """`matmul_f32`, `matmul_i8_i32`: the result's dtype is named where it differs."""
    return f"{kind}_{t.short}" if t == out else f"{kind}_{t.short}_{out.short}"


def _kernel(kind: str, tile: tuple[int, int, int], t: DType, out: DType) -> KernelSpec:
    name = symbol(kind, t, out)
    operands = source("info", uint64, nullable=True), source("lhs", t), source("rhs", t), result("dst", out)
    instance = f"{kind.upper()}({name}, {', '.join(map(str, tile))}, {t.short}, {out.short})"
    return KernelSpec(name, "matmul", (*map(scalar, _SIZES), *operands), instance)


FAMILY: Final = Family(
    "matmul",
    "products of batches of strided matrices",
    tuple(_kernel(kind, tile, t, out) for kind, (tile, pairs) in TILES.items() for t, out in pairs),
)
