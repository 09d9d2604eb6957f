"""matmul: products of strided matrices, in a tile size for each range of sizes, and of matrices with a few vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import astuple, frozen

from rocmkern.dtypes import BY_SHORT, DType, bfloat16, float16, float32, float64, int8, int32, uint64
from rocmkern.kernels.catalogue import INTEGERS, Family, KernelSpec, Parameter, result, scalar, source
from rocmkern.kernels.tunable import Tunable, Values, setting_name

Pair = tuple[DType, DType]


@frozen
class Tile:
    """m × n results of one block, in steps of k where threads multiply for themselves, each its own share of them."""

    m: int
    n: int
    k: int
    thread_m: int
    thread_n: int

    @property
    def threads(self) -> int:
        return (self.m // self.thread_m) * (self.n // self.thread_n)

    def __str__(self) -> str:
        return f"{self.m}, {self.n}, {self.k}, {self.thread_m}, {self.thread_n}"


SHORT: Final = (float16, bfloat16)
WIDE: Final[tuple[Pair, ...]] = tuple((t, t) for t in (*SHORT, float32))
SAME: Final[tuple[Pair, ...]] = tuple((t, t) for t in (*SHORT, float32, float64, *INTEGERS))
WIDENING: Final[tuple[Pair, ...]] = ((int8, int32),)

# The tiles of `matmul_*` by kind, with the dtypes of operands and result that each is compiled for.
TILES: Final[dict[str, tuple[Tile, tuple[Pair, ...]]]] = {
    "matmul_little": (Tile(32, 64, 16, 4, 4), WIDE),
    "matmul": (Tile(64, 64, 16, 4, 4), (*SAME, *WIDENING)),
    "matmul_tall": (Tile(128, 64, 16, 8, 4), WIDE),
    "matmul_broad": (Tile(64, 128, 16, 4, 8), WIDE),
    "matmul_wide": (Tile(128, 128, 8, 8, 8), (*WIDE, *WIDENING)),
    "matmul_large": (Tile(256, 128, 8, 16, 8), ((float32, float32),)),
}

# Products with scales and a bias: the dtypes of operands, sums and results.
SCALED: Final[tuple[tuple[DType, DType, DType], ...]] = (
    *((int8, int32, out) for out in (float32, *SHORT)),
    *((t, float32, float32) for t in SHORT),
)
SCALED_TILES: Final = {"gemm": TILES["matmul"][0], "gemm_wide": TILES["matmul_wide"][0]}

# Products with one vector and with up to VECTORS, of a matrix whose k is contiguous (rows) or its other axis (bands).
# f16 and bf16 give their sums too, for parts of a long inner axis.
VECTORS: Final = 8
VECTOR_KINDS: Final = {
    f"{name}_{way.lower()}": (f"By{way}", count)
    for name, count in (("matvec", 1), ("matvecs", VECTORS)) for way in ("Rows", "Bands")
}  # fmt: skip
VECTOR_PAIRS: Final[tuple[Pair, ...]] = (
    *((t, t) for t in (*SHORT, float32, float64)), *((t, float32) for t in SHORT),
)  # fmt: skip
VECTOR_THREADS: Final = 256

# What the parts of a split product are added from, and rounded to.
SUMS: Final[tuple[Pair, ...]] = (
    *((float32, t) for t in (float32, *SHORT)), *((int32, t) for t in (float32, *SHORT)),
)  # fmt: skip
PLAIN_SUMS: Final[tuple[Pair, ...]] = ((float64, float64), (int32, int32))

_SIZES: Final = (
    "m", "n", "k", "part", "batch", "lhs_batch", "lhs_row", "lhs_col", "rhs_batch", "rhs_row", "rhs_col", "num_dims",
)  # fmt: skip
_FINISH: Final = tuple(source(name, float32, nullable=True) for name in ("scale_lhs", "scale_rhs", "bias"))


def symbol(kind: str, t: DType, out: DType) -> str:
    """`matmul_f32`, `matmul_i8_i32`: the result's dtype is named where it differs."""
    return f"{kind}_{t.short}" if t == out else f"{kind}_{t.short}_{out.short}"


def _product(name: str, t: DType, out: DType, instance: str, *finish: Parameter) -> KernelSpec:
    operands = source("info", uint64, nullable=True), source("lhs", t), source("rhs", t)
    return KernelSpec(
        name, "matmul", (*map(scalar, _SIZES), *operands, *finish, result("dst", out, "batch", "m", "n")), instance
    )


def _sum(name: str, acc: DType, out: DType, instance: str, *finish: Parameter) -> KernelSpec:
    sizes = map(scalar, ("m", "n", "batch", "parts"))
    return KernelSpec(
        name,
        "matmul",
        (*sizes, *finish, source("src", acc, "parts", "batch", "m", "n"), result("dst", out, "batch", "m", "n")),
        instance,
    )


def _kernels() -> Iterator[KernelSpec]:
    for kind, (tile, pairs) in TILES.items():
        for t, out in pairs:
            name = symbol(kind, t, out)
            yield _product(name, t, out, f"MATMUL({name}, {t.short}, {out.short}, {tile})")
    for kind, tile in SCALED_TILES.items():
        for t, acc, out in SCALED:
            name = symbol(kind, t, out)
            yield _product(name, t, out, f"GEMM({name}, {t.short}, {acc.short}, {out.short}, {tile})", *_FINISH)
    for kind, (way, count) in VECTOR_KINDS.items():
        for t, out in VECTOR_PAIRS:
            name = symbol(kind, t, out)
            bias = source("bias", out, nullable=True)
            yield _product(name, t, out, f"MATVEC({name}, {way}, {count}, {t.short}, {out.short})", bias)
    for acc, out in SUMS:
        name = symbol("matmul_sum", acc, out)
        yield _sum(name, acc, out, f"MATMUL_SUM({name}, {acc.short}, {out.short})", *_FINISH)
    for acc, out in PLAIN_SUMS:
        name = symbol("matmul_sum", acc, out)
        yield _sum(name, acc, out, f"MATMUL_SUM_PLAIN({name}, {acc.short}, {out.short})")


FAMILY: Final = Family("matmul", "products of batches of strided matrices", tuple(_kernels()))


def _setting(dtype: str, values: Values) -> tuple[KernelSpec, ...]:
    """A tile's kernel, the shipped one where there is one; for parts, that of f32 results and that of their sum."""
    t, tile, splits = BY_SHORT[dtype], Tile(*values[:5]), values[5]
    if splits > 1:
        kinds = SCALED_TILES if t in SHORT else {kind: shipped for kind, (shipped, _) in TILES.items()}
        first = symbol(next(kind for kind, shipped in kinds.items() if shipped == tile), t, float32)
        return FAMILY.by_symbol[first], FAMILY.by_symbol[symbol("matmul_sum", float32, t)]
    kind = next((kind for kind, (shipped, pairs) in TILES.items() if shipped == tile and (t, t) in pairs), None)
    if kind is not None:
        return (FAMILY.by_symbol[symbol(kind, t, t)],)
    name = f"matmul_{dtype}_{setting_name(values[:5])}"
    return (_product(name, t, t, f"MATMUL({name}, {dtype}, {dtype}, {tile})"),)


# Tiles and numbers of parts; a setting's place is its number in tuned tables.
_SETTINGS: Final = (
    (TILES["matmul"][0], 1), (TILES["matmul_little"][0], 1), (Tile(64, 64, 32, 4, 4), 1),
    (TILES["matmul_broad"][0], 1), (TILES["matmul_tall"][0], 1), (TILES["matmul_wide"][0], 1),
    (Tile(128, 128, 16, 8, 8), 1), (TILES["matmul_large"][0], 1),
    *((TILES["matmul"][0], splits) for splits in (2, 4, 8)), *((TILES["matmul_wide"][0], splits) for splits in (2, 4)),
)  # fmt: skip

TUNABLES: Final = (
    Tunable(
        "matmul",
        "matmul",
        tuple(t.short for t, _ in WIDE),
        ("m", "n", "k", "thread_m", "thread_n", "splits"),
        tuple((*astuple(tile), splits) for tile, splits in _SETTINGS),
        _setting,
    ),
)
