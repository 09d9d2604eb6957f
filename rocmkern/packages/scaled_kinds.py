"""AITER's products of matrices whose blocks have scales: eight-bit floats by 128, four-bit ones by 32."""

from __future__ import annotations

from typing import Any, Final

from attrs import define

from rocmkern.drivers.protocol import Dims
from rocmkern.dtypes import bfloat16, float8_e4m3, float32, uint8, uint32
from rocmkern.packages.args import KernelArgs, pointer, scalar
from rocmkern.packages.kind import Kind, Problem, Rule, ceil_div, equal, multiple, rounds
from rocmkern.packages.tables import KernelRow

BLOCK: Final = 128  # elements of k, and rows of B, that share a scale
GROUP: Final = 32  # four-bit elements of k that share a scale
_FOUR_BIT_STEP: Final = 256


@define(kw_only=True, eq=False)
class BlockScaleGemmArgs(KernelArgs):
    out: Any = pointer(bfloat16, out=True)
    a: Any = pointer(float8_e4m3)
    b: Any = pointer(float8_e4m3)
    scale_a: Any = pointer(float32)
    scale_b: Any = pointer(float32)
    bias: Any = pointer(float32, optional=True)
    m: int = scalar(uint32)
    n: int = scalar(uint32)
    k: int = scalar(uint32)
    lda: int = scalar(uint32, "elements")
    ldb: int = scalar(uint32, "elements")
    ldc: int = scalar(uint32, "bytes")
    splits: int = scalar(uint32)
    scale_m: int = scalar(uint32)
    scale_n: int = scalar(uint32)
    scale_k: int = scalar(uint32)


@define(kw_only=True, eq=False)
class F4GemmArgs(KernelArgs):
    out: Any = pointer(bfloat16, out=True)
    c: Any = pointer(bfloat16, optional=True)
    a: Any = pointer(uint8)
    b: Any = pointer(uint8)
    alpha: float = scalar(float32, default=1.0)
    beta: float = scalar(float32, default=0.0)
    stride_d0: int = scalar(uint32, default=0)
    stride_d1: int = scalar(uint32, default=0)
    stride_c0: int = scalar(uint32, "elements")
    stride_c1: int = scalar(uint32, default=0)
    stride_a0: int = scalar(uint32, "elements")
    stride_a1: int = scalar(uint32, default=0)
    stride_b0: int = scalar(uint32, "elements")
    stride_b1: int = scalar(uint32, default=0)
    m: int = scalar(uint32)
    n: int = scalar(uint32)
    k: int = scalar(uint32)
    scale_a: Any = pointer(uint8)
    scale_b: Any = pointer(uint8)
    stride_scale_a0: int = scalar(uint32, "elements")
    stride_scale_a1: int = scalar(uint32, default=0)
    stride_scale_b0: int = scalar(uint32, "elements")
    stride_scale_b1: int = scalar(uint32, default=0)
    splits_log2: int = scalar(uint32, default=0)


def _tile(row: KernelRow, side: str) -> int:
    """A table of the public repository writes these columns with a capital."""
    return row.number(f"tile_{side}") or row.number(f"tile_{side.upper()}")


def _grid(row: KernelRow, given: Problem, splits: int) -> Dims:
    return ceil_div(given["n"], _tile(row, "n")), ceil_div(given["m"], _tile(row, "m")), 1


def _tile_rule(row: KernelRow, given: Problem) -> str | None:
    tile = _tile(row, "n")
    if not (tile and _tile(row, "m")):
        return "its tile is not told"
    return f"n={given['n']} is no multiple of its tile of {tile}" if given["n"] % tile else None


def _score(row: KernelRow, given: Problem, units: int) -> tuple[float, ...]:
    x, y, _ = _grid(row, given, 1)
    return rounds(x * y, _tile(row, "m"), _tile(row, "n"), units)


BLOCKSCALE_GEMM: Final = Kind(
    name="fp8gemm_blockscale",
    needs=("m", "n", "k", "bpreshuffle"),
    tiles=(),
    arguments=(BlockScaleGemmArgs,),
    rules=(equal("bpreshuffle", 0), multiple("n", BLOCK), multiple("k", BLOCK), Rule("tile", _tile_rule)),
    score=_score,
    splits=lambda row, given, units: 1,
    grid=_grid,
)
F4GEMM: Final = Kind(
    name="f4gemm",
    needs=("m", "n", "k", "bpreshuffle"),
    tiles=(),
    arguments=(F4GemmArgs,),
    rules=(equal("bpreshuffle", 0), multiple("k", _FOUR_BIT_STEP), Rule("tile", _tile_rule)),
    score=_score,
    splits=lambda row, given, units: 1,
    grid=_grid,
)
