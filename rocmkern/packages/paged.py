"""Attention of one query for each sequence to keys that lie in blocks: decoding, by a package's kernels or our own."""

from __future__ import annotations

from math import e, log2
from typing import Any, Final

from rocmkern.dtypes import DType, bfloat16, float16, int32
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.ops.casting import packed
from rocmkern.ops.creation import empty
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.indexing import take
from rocmkern.ops.manipulation import concat, expand_dims, permute_dims, reshape
from rocmkern.packages.attention import composed
from rocmkern.packages.attention_kinds import PAGED
from rocmkern.packages.choice import Choice
from rocmkern.packages.operations import decide, launch, one_device, seen_as
from rocmkern.packages.package import KernelPackage
from rocmkern.tensor import Tensor

HDIM: Final = 128
_DTYPES: Final[dict[DType, str]] = {bfloat16: "bf16", float16: "fp16"}
_NAME: Final = "pa_fwd_asm"


def pa_fwd_asm(
    q: Tensor, k: Tensor, v: Tensor, block_tables: Tensor, context_lens: Tensor, *, package: KernelPackage | None = None
) -> Tensor:
    """softmax(q · kᵀ / √128) · v of one query for each sequence, (sequences, heads, 128), keys and values in blocks.

    With packs of 16 bytes, x elements, `k` is (blocks, key heads, 128/x, rows of a block, x) and `v` (blocks, key
    heads, rows/x, 128, x). A row of `block_tables` (int32) names the blocks of a sequence, `context_lens` (int32)
    counts its keys, one at least.
    """
    _check(q, k, v, block_tables, context_lens)
    heads, kv_heads = q.shape[1], k.shape[1]
    choice = decide(
        PAGED, package if q.size else None, q.device, qType=_DTYPES[q.dtype], kvType=_DTYPES[k.dtype],
        gqa=heads // kv_heads, blkSz=k.shape[3], batch=q.shape[0], kv_heads=kv_heads,
    ).choice  # fmt: skip
    if choice is not None:
        return attend_pages(choice, q, k, v, block_tables, context_lens)
    return _own(q, k, v, block_tables, context_lens)


def attend_pages(choice: Choice, q: Tensor, k: Tensor, v: Tensor, block_tables: Tensor, context_lens: Tensor) -> Tensor:
    """Run the kernel that was chosen."""
    out, kind = empty(q.shape, dtype=q.dtype, device=q.device), choice.arguments
    size, (_, heads, hdim), (_, kv_heads, _, rows, _) = q.dtype.itemsize, q.shape, k.shape
    tensors = {label: seen_as(packed(t), bfloat16) for label, t in (("q", q), ("k", k), ("v", v))}
    values: dict[str, Any] = {
        "out": seen_as(out, bfloat16), **tensors, "block_tables": packed(block_tables),
        "lengths": packed(context_lens), "scale_log2": log2(e) / hdim**0.5, "table_row": block_tables.shape[1],
        "kv_heads": kv_heads, "q_row": heads * hdim * size, "block": kv_heads * rows * hdim * size,
        "kv_head": rows * hdim * size, "heads_per_kv": heads // kv_heads,
    }  # fmt: skip
    launch(choice, kind(**values), q.device)
    return out


def _check(q: Tensor, k: Tensor, v: Tensor, block_tables: Tensor, context_lens: Tensor) -> None:
    given = {
        "q": (q, 3),
        "k": (k, 5),
        "v": (v, 5),
        "block_tables": (block_tables, 2),
        "context_lens": (context_lens, 1),
    }
    for label, (t, dimensions) in given.items():
        if as_tensor(_NAME, t).ndim != dimensions:
            raise ShapeError(f"{_NAME}: {label} has shape {t.shape}; {dimensions} dimensions are wanted")
    one_device(_NAME, q, k, v, block_tables, context_lens)
    for label, t in (("q", q), ("k", k), ("v", v)):
        if t.dtype not in _DTYPES or t.dtype is not q.dtype:
            raise DTypeError(f"{_NAME}: {label} is {t.dtype}; bfloat16 or float16 is wanted, and one dtype for all")
    for label, t in (("block_tables", block_tables), ("context_lens", context_lens)):
        if t.dtype is not int32:
            raise DTypeError(f"{_NAME}: {label} is {t.dtype}; int32 is wanted")
    x = 16 // q.dtype.itemsize
    blocks, kv_heads, _, rows, _ = k.shape
    fits = kv_heads > 0 and q.shape[1] % kv_heads == 0 and q.shape[2] == HDIM and rows % x == 0
    wanted = ((blocks, kv_heads, HDIM // x, rows, x), (blocks, kv_heads, rows // x, HDIM, x))
    if not fits or (k.shape, v.shape) != wanted:
        raise ShapeError(
            f"{_NAME}: shapes {q.shape}, {k.shape} and {v.shape}; (sequences, heads, {HDIM}), (blocks, key heads,"
            f" {HDIM // x}, rows, {x}) and (blocks, key heads, rows/{x}, {HDIM}, {x}) are wanted"
        )
    if not q.shape[0] == block_tables.shape[0] == context_lens.shape[0]:
        raise ShapeError(
            f"{_NAME}: {q.shape[0]} queries, {block_tables.shape[0]} rows of block_tables, {context_lens.shape[0]} of"
            " context_lens; give as many"
        )


def _own(q: Tensor, k: Tensor, v: Tensor, block_tables: Tensor, context_lens: Tensor) -> Tensor:
    kv_heads, rows = k.shape[1], k.shape[3]
    keys = reshape(permute_dims(k, (0, 3, 1, 2, 4)), (-1, rows, kv_heads, HDIM))
    values = reshape(permute_dims(v, (0, 2, 4, 1, 3)), (-1, rows, kv_heads, HDIM))
    parts = []
    for i, length in enumerate(context_lens.numpy().tolist()):
        blocks = block_tables[i, : -(-length // rows)]
        mine = [reshape(take(t, blocks, axis=0), (1, -1, kv_heads, HDIM))[:, :length] for t in (keys, values)]
        parts.append(composed(expand_dims(q[i : i + 1], axis=0), mine[0], mine[1], HDIM**-0.5, False)[0][0])
    return concat(parts) if parts else empty(q.shape, dtype=q.dtype, device=q.device)
