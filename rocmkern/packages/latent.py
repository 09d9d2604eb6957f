"""Decoding with compressed keys, which all heads share: a package's kernels, or our own where it has none."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from rocmkern.dtypes import bfloat16, float32, int32
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.creation import empty, full, ones, zeros
from rocmkern.ops.elementwise import as_tensor, real_float
from rocmkern.ops.indexing import take
from rocmkern.ops.manipulation import concat, expand_dims
from rocmkern.ops.nn import softmax
from rocmkern.ops.reduction import sum as sum_of
from rocmkern.ops.rows_binary import multiply
from rocmkern.packages.attention import composed
from rocmkern.packages.attention_kinds import MLA_DECODE, MlaDecodeArgs
from rocmkern.packages.choice import Choice
from rocmkern.packages.operations import decide, launch, one_device
from rocmkern.packages.package import KernelPackage
from rocmkern.tensor import Tensor

VALUES: Final = 512  # features of a key that are its value too
FEATURES: Final = 576
_NAME: Final = "mla_decode_fwd"


def mla_decode_fwd(
    q: Tensor,
    kv: Tensor,
    kv_indptr: Tensor,
    kv_indices: Tensor,
    *,
    sm_scale: float | None = None,
    package: KernelPackage | None = None,
) -> Tensor:
    """softmax(q · keysᵀ · scale) · keys[:, :512] of one query for each sequence, (sequences, heads, 512) in bfloat16.

    `q` is (sequences, heads, 576), `kv` (rows, 576); sequence i has the rows `kv_indices` names from its element
    `kv_indptr[i]` on to `kv_indptr[i + 1]`, both int32, one at least. The scale is 1/√576 by default.
    """
    for label, t, dimensions in (
        ("q", q, 3),
        ("kv", kv, 2),
        ("kv_indptr", kv_indptr, 1),
        ("kv_indices", kv_indices, 1),
    ):
        if as_tensor(_NAME, t).ndim != dimensions or (dimensions > 1 and t.shape[-1] != FEATURES):
            raise ShapeError(
                f"{_NAME}: {label} has shape {t.shape}; q of (sequences, heads, {FEATURES}), kv of (rows, {FEATURES})"
                " and the others of one dimension are wanted"
            )
        wanted = bfloat16 if dimensions > 1 else int32
        if t.dtype is not wanted:
            raise DTypeError(f"{_NAME}: {label} is {t.dtype}; {wanted} is wanted")
    one_device(_NAME, q, kv, kv_indptr, kv_indices)
    if kv_indptr.shape[0] != q.shape[0] + 1:
        raise ShapeError(f"{_NAME}: {q.shape[0]} queries, {kv_indptr.shape[0]} elements of kv_indptr; give one more")
    scale = FEATURES**-0.5 if sm_scale is None else real_float(_NAME, sm_scale, "sm_scale")
    choice = decide(MLA_DECODE, package if q.size else None, q.device, Gqa=q.shape[1], batch=q.shape[0]).choice
    if choice is not None:
        return attend_latent(choice, q, kv, kv_indptr, kv_indices, scale)
    parts = []
    for i, (a, b) in enumerate(pairwise(kv_indptr.numpy().tolist())):
        keys = expand_dims(take(kv, kv_indices[a:b], axis=0), axis=(0, 2))
        query = expand_dims(q[i : i + 1], axis=0)
        parts.append(composed(query, keys, keys[..., :VALUES], scale, False)[0][0])
    return concat(parts) if parts else empty((0, q.shape[1], VALUES), dtype=bfloat16, device=q.device)


def attend_latent(choice: Choice, q: Tensor, kv: Tensor, kv_indptr: Tensor, kv_indices: Tensor, scale: float) -> Tensor:
    """Run the kernel that was chosen, and put together what its workgroups found."""
    (batch, heads, _), splits, device, size = q.shape, choice.splits, q.device, q.dtype.itemsize
    out = zeros((batch, splits, heads, VALUES), dtype=float32, device=device)
    lse = full((batch, splits, heads), float("-inf"), dtype=float32, device=device)
    args = MlaDecodeArgs(
        out=out, lse=lse, q=packed(q), kv=packed(kv), starts=packed(kv_indptr), rows=packed(kv_indices),
        last_rows=ones((batch,), dtype=int32, device=device), scale=scale, heads=heads, splits=splits,
        q_batch=heads * FEATURES * size, kv_row=FEATURES * size,
    )  # fmt: skip
    launch(choice, args, device)
    return cast(sum_of(multiply(out, expand_dims(softmax(lse, axis=1), axis=-1)), axis=1), bfloat16)
