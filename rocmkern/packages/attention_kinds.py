"""AITER's attention kernels: the arguments of prefill, of decode from pages, and of decode with compressed keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from attrs import define

from rocmkern.drivers.protocol import Dims
from rocmkern.dtypes import bfloat16, float32, int32, uint32
from rocmkern.kernels.csv_table import Cell
from rocmkern.packages.args import KernelArgs, pointer, scalar
from rocmkern.packages.kind import Kind, Problem, Rule, ceil_div, equal
from rocmkern.packages.tables import KernelRow

ROUNDINGS: Final = ("rtne", "rtna", "rtz")  # of float32 to bfloat16: by number in tables, by name in names
_FEW_UNITS: Final = 80  # of an MI308
_WIDE: Final = 192


@define(kw_only=True, eq=False)
class FmhaForwardArgs(KernelArgs):
    out: Any = pointer(bfloat16, out=True)
    q: Any = pointer(bfloat16)
    k: Any = pointer(bfloat16)
    v: Any = pointer(bfloat16)
    lse: Any = pointer(float32, out=True)
    scale: float = scalar(float32)
    seqlen_q: int = scalar(uint32)
    q_row: int = scalar(uint32, "bytes")
    q_tile: int = scalar(uint32, "bytes")
    q_head: int = scalar(uint32, "bytes")
    q_batch: int = scalar(uint32, "bytes")
    heads_per_kv: int = scalar(uint32)
    k_row: int = scalar(uint32, "bytes")
    k_head: int = scalar(uint32, "bytes")
    k_batch: int = scalar(uint32, "bytes")
    options: int = scalar(uint32)
    has_lse: int = scalar(uint32, default=1)
    seqlen_k: int = scalar(uint32)
    hdim_q: int = scalar(uint32)
    hdim_v: int = scalar(uint32)
    heads: int = scalar(uint32)
    v_row: int = scalar(uint32, "bytes")
    v_head: int = scalar(uint32, "bytes")
    v_batch: int = scalar(uint32, "bytes")
    out_row: int = scalar(uint32, "bytes")
    out_head: int = scalar(uint32, "bytes")
    out_batch: int = scalar(uint32, "bytes")
    starts_q: Any = pointer(int32, optional=True)
    starts_k: Any = pointer(int32, optional=True)
    lse_head: int = scalar(uint32, "bytes")
    padded_starts_q: Any = pointer(int32, optional=True)
    padded_starts_k: Any = pointer(int32, optional=True)


def _same(name: str, of: Callable[[KernelRow], Cell]) -> Rule:
    """The row has the problem's value of something that tables and names say differently."""

    def test(row: KernelRow, given: Problem) -> str | None:
        have, want = of(row), given[name]
        return None if have == want else f"{name} is {have}, {want} is wanted"

    return Rule(f"{name} equal", test)


def _rounding_rule(row: KernelRow, given: Problem) -> str | None:
    """An MI350 has an instruction that rounds to nearest even; for an MI300 there are files that do it in each way."""
    found = row.values.get("bf16_cvt")
    if found is None and given["arch"] == "gfx942":
        return "it does not say how it rounds: it is of an older build, which takes other arguments"
    have = ROUNDINGS[found or 0] if found is None or isinstance(found, int) else found
    return None if have == given["rounding"] else f"rounding is {have}, {given['rounding']} is wanted"


def tile_rows(row: KernelRow) -> int:
    """The queries that a workgroup takes at a time."""
    return row.number("ts_qo") or (_WIDE - 64 if row["hdim_q"] == _WIDE else 256)


def _threads(row: KernelRow) -> Dims:
    return (256 if row["hdim_q"] == _WIDE else 512, 1, 1)


def _forward_grid(row: KernelRow, given: Problem, splits: int) -> Dims:
    """A workgroup of a causal kernel takes a tile from the beginning and one from the end."""
    is_wide_942 = row["hdim_q"] == _WIDE and given["arch"] == "gfx942"
    tiles = ceil_div(given["seqlen_q"], tile_rows(row))
    pairs = tiles if is_wide_942 and given["group"] else ceil_div(tiles, 2 if given["causal"] else 1)
    heads, batch = given["heads"], given["batch"]
    if given["group"]:
        return heads, batch, pairs
    return (heads, tiles, batch) if is_wide_942 else (pairs, heads, batch)


FMHA_FORWARD: Final = Kind(
    name="fmha_v3_fwd",
    needs=("arch", "dtype", "hdim_q", "hdim_v", "causal", "group", "rounding", "batch", "heads", "seqlen_q"),
    tiles=(),
    arguments=(FmhaForwardArgs,),
    rules=(
        _same("dtype", lambda row: row["dtype"]),
        _same("hdim_q", lambda row: row["hdim_q"]),
        _same("hdim_v", lambda row: row.values.get("hdim_v") or row["hdim_q"]),
        _same("causal", lambda row: int(bool(row.values.get("mask") or row.values.get("causal")))),
        _same("group", lambda row: int(bool(row.values.get("mode") or row.values.get("group")))),
        Rule("rounding equal", _rounding_rule),
    ),
    score=lambda row, given, units: (
        int(row.values.get("chip") not in (None, "MI308" if units == _FEW_UNITS else "MI300")),
    ),
    splits=lambda row, given, units: 1,
    grid=_forward_grid,
    block=_threads,
    file_name=re.compile(
        r"fwd_hd(?P<hdim_q>\d+)(?:_hd(?P<hdim_v>\d+))?_(?P<dtype>bf16)(?P<causal>_causal)?"
        rf"(?:_(?P<bf16_cvt>{'|'.join(ROUNDINGS)}))?(?P<group>_group)?\.co"
    ),
)


@define(kw_only=True, eq=False)
class _PagedStartArgs(KernelArgs):
    """What all builds have first."""

    out: Any = pointer(bfloat16, out=True)
    q: Any = pointer(bfloat16)
    k: Any = pointer(bfloat16)
    v: Any = pointer(bfloat16)
    block_tables: Any = pointer(int32)
    lengths: Any = pointer(int32)
    scale_k: Any = pointer(float32, optional=True)
    scale_v: Any = pointer(float32, optional=True)
    scale_log2: float = scalar(float32)
    table_row: int = scalar(uint32, "elements")
    kv_heads: int = scalar(uint32)
    q_row: int = scalar(uint32, "bytes")
    block: int = scalar(uint32, "bytes")
    kv_head: int = scalar(uint32, "bytes")


@define(kw_only=True, eq=False)
class PagedArgs(_PagedStartArgs):
    """16 slots: the files of PyPI."""

    heads_per_kv: int = scalar(uint32)
    starts_q: Any = pointer(int32, optional=True)


@define(kw_only=True, eq=False)
class PagedMoreTokensArgs(_PagedStartArgs):
    """17 slots: those of the public repository, which say how many queries of a sequence there are beyond one."""

    more_tokens: int = scalar(uint32, default=0)
    heads_per_kv: int = scalar(uint32)
    starts_q: Any = pointer(int32, optional=True)


def _shared_heads_rule(row: KernelRow, given: Problem) -> str | None:
    """A kernel for eight serves fewer."""
    have, want = row.number("Gqa"), given["gqa"]
    return None if have in (want, ceil_div(want, 8) * 8) else f"it is for {have} heads to a key's, {want} are there"


def _plain_rule(row: KernelRow, given: Problem) -> str | None:
    """Neither several queries of a sequence, nor precision that is asked for, nor persistent workgroups."""
    more = [column for column in ("Mtp", "Msk", "Hp", "ps", "quant_type") if row.number(column)]
    return f"{', '.join(more)} is set, which takes other arguments" if more else None


PAGED: Final = Kind(
    name="pa",
    needs=("qType", "kvType", "gqa", "blkSz", "batch", "kv_heads"),
    tiles=(),
    arguments=(PagedArgs, PagedMoreTokensArgs),
    rules=(
        equal("qType"), equal("kvType"), equal("blkSz"), Rule("shared heads", _shared_heads_rule),
        Rule("plain", _plain_rule),
    ),
    score=lambda row, given, units: (row.number("Gqa"),),
    splits=lambda row, given, units: 1,
    grid=lambda row, given, splits: (given["kv_heads"], given["batch"], 1),
)  # fmt: skip


@define(kw_only=True, eq=False)
class MlaDecodeArgs(KernelArgs):
    """13 slots: one query for each sequence, keys split among workgroups, whose results are put together later."""

    out: Any = pointer(float32, out=True)
    lse: Any = pointer(float32, out=True)
    q: Any = pointer(bfloat16)
    kv: Any = pointer(bfloat16)
    starts: Any = pointer(int32)
    rows: Any = pointer(int32)
    last_rows: Any = pointer(int32)
    scale: float = scalar(float32)
    heads: int = scalar(uint32)
    splits: int = scalar(uint32)
    q_batch: int = scalar(uint32, "bytes")
    kv_row: int = scalar(uint32, "bytes")
    page_log2: int = scalar(uint32, default=0)


def _latent_rule(row: KernelRow, given: Problem) -> str | None:
    """Tables say of kernels what names of the first builds do not."""
    types = [row.values.get(column, "bf16") for column in ("qType", "kvType")]
    more = [column for column in ("ps", "prefill") if row.number(column)]
    if types != ["bf16", "bf16"] or more or row.number("qSeqLen", 1) != 1:
        return "it is for other dtypes, prefill, persistent workgroups or several queries of a sequence"
    return None


MLA_DECODE: Final = Kind(
    name="mla",
    needs=("Gqa", "batch"),
    tiles=(),
    arguments=(MlaDecodeArgs,),
    rules=(equal("Gqa"), Rule("plain decoding", _latent_rule)),
    score=lambda row, given, units: (0,),
    splits=lambda row, given, units: max(1, min(16, units // max(1, given["batch"]))),
    grid=lambda row, given, splits: (1, given["batch"], splits),
    file_name=re.compile(r"mla_dec_stage1_bf16_a16w16_subQ16_mqa(?P<Gqa>\d+)\.co"),
)
