"""What is known of AITER's kinds of kernels, from reading its host code. Attention has a module of its own."""

from __future__ import annotations

import re
from typing import Any, Final

from attrs import define

from rocmkern.dtypes import bfloat16, float32, int8, int32, uint32
from rocmkern.packages.args import KernelArgs, pointer, scalar
from rocmkern.packages.attention_kinds import FMHA_FORWARD, MLA_DECODE, PAGED
from rocmkern.packages.kind import Kind, Problem, Rule, ceil_div, divides, equal, multiple, rounds
from rocmkern.packages.scaled_kinds import BLOCKSCALE_GEMM, F4GEMM
from rocmkern.packages.tables import KernelRow

_SPLIT_STEP: Final = 128  # K per split of an i8 GEMM
_MOST_SPLITS: Final = 16
_FEW_TOKENS: Final = 10_000
_LARGEST_SUBM: Final = 12
_MOST_SEMAPHORES: Final = 1024


@define(kw_only=True, eq=False)
class TopKSoftmaxArgs(KernelArgs):
    indices: Any = pointer(int32, out=True)
    weights: Any = pointer(float32, out=True)
    gating: Any = pointer(float32)
    tokens: int = scalar(uint32)
    experts: int = scalar(uint32)
    topk: int = scalar(uint32)
    renormalize: int = scalar(uint32)
    out_stride: int = scalar(uint32, "bytes")


def _subm_rule(row: KernelRow, given: Problem) -> str | None:
    most = 4 if given["tokens"] < _FEW_TOKENS else _LARGEST_SUBM
    subm = row.number("subm")
    return None if subm <= most else f"subm={subm} is for {_FEW_TOKENS} tokens and more, {given['tokens']} are given"


TOPKSOFTMAX: Final = Kind(
    name="topksoftmax",
    needs=("tokens", "num_experts", "topk", "dtype"),
    tiles=("subm",),
    arguments=(TopKSoftmaxArgs,),
    rules=(equal("dtype", "fp32"), equal("num_experts"), equal("topk"), Rule("subm suits the tokens", _subm_rule)),
    score=lambda row, given, units: (-row.number("subm"),),
    splits=lambda row, given, units: 1,
    grid=lambda row, given, splits: (ceil_div(given["tokens"], row.number("subm")), 1, 1),
    file_name=re.compile(r"topksoftmax_(?P<subm>\d+)x(?P<num_experts>\d+)x(?P<topk>\d+)(?:_(?P<dtype>\w+))?\.co"),
)


@define(kw_only=True, eq=False)
class I8GemmArgs(KernelArgs):
    out: Any = pointer(bfloat16, out=True)
    a: Any = pointer(int8)
    b: Any = pointer(int8)
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


def i8_splits(row: KernelRow, given: Problem, units: int) -> int:
    """Splits of K: the given number, else the one with the fewest rounds; K per split is a multiple of 128."""
    if not row.number("splitK"):
        return 1
    asked = given.get("splits")
    tiles = ceil_div(given["m"], row.number("tile_m")) * (given["n"] // row.number("tile_n"))
    tried = (asked,) if asked else range(1, _MOST_SPLITS + 1)
    best = min(tried, key=lambda s: (ceil_div(tiles * s, units), ceil_div(tiles * s, units) * units - tiles * s, s))
    step = ceil_div(ceil_div(given["k"], best), _SPLIT_STEP) * _SPLIT_STEP
    return ceil_div(given["k"], step)


def _splits_rule(row: KernelRow, given: Problem) -> str | None:
    asked = given.get("splits") or 1
    return None if asked >= 1 else f"{asked} splits are asked for"


def _i8_split_rule(row: KernelRow, given: Problem) -> str | None:
    asked = given.get("splits") or 1
    return None if asked == 1 or row.number("splitK") else f"it can't split K, {asked} splits are asked for"


def _i8_score(row: KernelRow, given: Problem, units: int) -> tuple[float, ...]:
    tile_m, tile_n = row.number("tile_m"), row.number("tile_n")
    tiles = ceil_div(given["m"], tile_m) * (given["n"] // tile_n) * i8_splits(row, given, units)
    return rounds(tiles, tile_m, tile_n, units)


I8GEMM: Final = Kind(
    name="i8gemm",
    needs=("m", "n", "k", "bpreshuffle"),
    tiles=("tile_m", "tile_n"),
    arguments=(I8GemmArgs,),
    rules=(
        equal("bpreshuffle", 0), divides("tile_n", "n"), multiple("k", _SPLIT_STEP), Rule("splits", _splits_rule),
        Rule("splits of K", _i8_split_rule),
    ),
    score=_i8_score,
    splits=i8_splits,
    grid=lambda row, given, splits: (
        given["n"] // row.number("tile_n") * splits, ceil_div(given["m"], row.number("tile_m")), 1,
    ),
    tuned={"q_dtype_w": "torch.int8", "libtype": "asm"},
    multiplies=re.compile(r"v_mfma_i32_\d+x(?P<rows>\d+)x\d+_i8"),
)  # fmt: skip


@define(kw_only=True, eq=False)
class Bf16GemmOutF32Args(KernelArgs):
    """18 slots: the first builds, f32 output."""

    d: Any = pointer(float32, out=True)
    c: Any = pointer(float32, optional=True)
    a: Any = pointer(bfloat16)
    b: Any = pointer(bfloat16)
    alpha: float = scalar(float32, default=1.0)
    beta: float = scalar(float32, default=0.0)
    stride_d0: int = scalar(uint32, "bytes")
    stride_d1: int = scalar(uint32, default=0)
    stride_c0: int = scalar(uint32, "bytes")
    stride_c1: int = scalar(uint32, default=0)
    stride_a0: int = scalar(uint32, "bytes")
    stride_a1: int = scalar(uint32, default=0)
    stride_b0: int = scalar(uint32, "bytes")
    stride_b1: int = scalar(uint32, default=0)
    m: int = scalar(uint32)
    n: int = scalar(uint32)
    k: int = scalar(uint32)
    splits: int = scalar(uint32, default=0)


@define(kw_only=True, eq=False)
class Bf16GemmArgs(Bf16GemmOutF32Args):
    """21 slots: output of either dtype, bias."""

    is_out_b16: int = scalar(uint32, default=0)
    bias: Any = pointer(float32, optional=True)
    add_bias: int = scalar(uint32, default=0)


@define(kw_only=True, eq=False)
class Bf16GemmSplitArgs(Bf16GemmArgs):
    """22 slots: splits of K that count themselves in a zeroed semaphore."""

    semaphore: Any = pointer(uint32, optional=True)


def _bf16_tiles(row: KernelRow, given: Problem) -> int:
    return ceil_div(given["m"], row.number("tileM")) * ceil_div(given["n"], row.number("tileN"))


def bf16_splits(row: KernelRow, given: Problem, units: int) -> int:
    """Splits of K: the given number, else so many that the compute units are filled."""
    if not row.number("splitK"):
        return 1
    most = min(_MOST_SPLITS, max(1, int(given["k"]) // (row.number("subK") or 64)))
    asked = int(given.get("splits") or 0)
    return min(asked, most) if asked else max(min(2, most), min(units // _bf16_tiles(row, given), most))


def _semaphore_rule(row: KernelRow, given: Problem) -> str | None:
    tiles = _bf16_tiles(row, given)
    if not row.number("splitK") or tiles <= _MOST_SEMAPHORES:
        return None
    return f"{tiles} tiles, a split kernel has {_MOST_SEMAPHORES} semaphores"


def _bias_rule(row: KernelRow, given: Problem) -> str | None:
    return None if not given.get("bias") or row.number("bias") else "it adds no bias, one is given"


def _bf16_score(row: KernelRow, given: Problem, units: int) -> tuple[float, ...]:
    tile_m, tile_n = row.number("tileM"), row.number("tileN")
    turns, idle, work = rounds(_bf16_tiles(row, given) * bf16_splits(row, given, units), tile_m, tile_n, units)
    return turns, idle, ceil_div(given["m"], tile_m) * tile_m - given["m"], work


BF16GEMM: Final = Kind(
    name="bf16gemm",
    needs=("m", "n", "k", "bPreshuffle"),
    tiles=("tileM", "tileN"),
    arguments=(Bf16GemmOutF32Args, Bf16GemmArgs, Bf16GemmSplitArgs),
    rules=(
        equal("bPreshuffle", 0), multiple("k", 64), divides("tileN", "n"), Rule("bias", _bias_rule),
        Rule("splits", _splits_rule), Rule("semaphores", _semaphore_rule),
    ),
    score=_bf16_score,
    splits=bf16_splits,
    grid=lambda row, given, splits: (
        ceil_div(given["n"], row.number("tileN")), ceil_div(given["m"], row.number("tileM")), splits,
    ),
    tuned={
        "dtype": "torch.bfloat16", "outdtype": "torch.float32", "libtype": "asm", "bpreshuffle": "False",
        "scaleAB": "False",
    },
)  # fmt: skip

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (TOPKSOFTMAX, I8GEMM, BF16GEMM, BLOCKSCALE_GEMM, F4GEMM, FMHA_FORWARD, PAGED, MLA_DECODE)
}
