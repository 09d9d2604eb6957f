"""Attention by a package's kernels, and by our own where it has none: prefill of whole sequences and of ragged ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from attrs import frozen

from rocmkern.dtypes import bfloat16, float32, int32
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import normal_integer
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.creation import arange, empty
from rocmkern.ops.elementwise import as_tensor, real_float
from rocmkern.ops.indexing import repeat, where
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import concat, expand_dims, matrix_transpose, permute_dims
from rocmkern.ops.nn import softmax
from rocmkern.ops.reduction import logsumexp
from rocmkern.ops.rows_binary import less_equal, multiply, subtract
from rocmkern.packages.attention_kinds import FMHA_FORWARD, ROUNDINGS, FmhaForwardArgs, tile_rows
from rocmkern.packages.choice import Choice
from rocmkern.packages.operations import Decision, decide, launch, one_device
from rocmkern.packages.package import KernelPackage
from rocmkern.tensor import Tensor

_BEST_OPTIONS: Final = 5  # how causal workgroups are put in order; one bit is for eight heads at a time
_HEADS_AT_A_TIME: Final = 2
_STAGGERED_HEADS: Final = 8


@frozen(eq=False)
class Sequences:
    """Queries, keys and values whose rows are (…, heads, features): of one length, or one after another."""

    q: Tensor
    k: Tensor
    v: Tensor
    starts_q: Tensor | None = None  # int32, one more than there are sequences
    starts_k: Tensor | None = None
    longest_q: int = 0
    longest_k: int = 0

    @property
    def batch(self) -> int:
        return self.q.shape[0] if self.starts_q is None else self.starts_q.shape[0] - 1

    @property
    def heads(self) -> int:
        return self.q.shape[-2]

    @property
    def seqlen_q(self) -> int:
        return self.longest_q if self.starts_q is not None else self.q.shape[1]

    @property
    def seqlen_k(self) -> int:
        return self.longest_k if self.starts_k is not None else self.k.shape[1]

    @property
    def lse_shape(self) -> tuple[int, ...]:
        rows = self.q.shape[-3]
        return (self.heads, rows) if self.starts_q is not None else (self.batch, self.heads, rows)

    def decide(self, package: KernelPackage | None, causal: bool, rounding: str) -> Decision:
        """Which kernel does it."""
        is_empty = 0 in (*self.q.shape, *self.k.shape, *self.v.shape)
        dtype = {bfloat16: "bf16"}.get(self.q.dtype, self.q.dtype.name)
        return decide(
            FMHA_FORWARD, None if is_empty else package, self.q.device,
            arch=self.q.device.info.arch.partition(":")[0], dtype=dtype, hdim_q=self.q.shape[-1],
            hdim_v=self.v.shape[-1], causal=int(causal), group=int(self.starts_q is not None), rounding=rounding,
            batch=self.batch, heads=self.heads, seqlen_q=self.seqlen_q,
        )  # fmt: skip


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, *, softmax_scale: float | None = None, causal: bool = False,
    rounding: str = "rtne", package: KernelPackage | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """softmax(q · kᵀ · scale) · v for (batch, length, heads, features), and the logarithms of its sums.

    k and v may have fewer heads, each for as many of q's. With `causal` the last query sees all keys, each one before
    it one less. The logarithms are float32 (batch, heads, length). `rounding`: how a package's kernel for an MI300
    makes bfloat16 of its weights: to nearest even, to nearest away from zero, or toward zero (rtne, rtna, rtz).
    """
    _check("flash_attn_func", q, k, v, 4)
    if k.shape[0] != q.shape[0]:
        raise ShapeError(f"flash_attn_func: q has {q.shape[0]} sequences, k {k.shape[0]}; give as many")
    return _attend("flash_attn_func", Sequences(q, k, v), softmax_scale, causal, rounding, package)


def flash_attn_varlen_func(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int, max_seqlen_k: int,
    *, softmax_scale: float | None = None, causal: bool = False, rounding: str = "rtne",
    package: KernelPackage | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`flash_attn_func` of sequences that follow each other: q, k and v are (all rows, heads, features).

    `cu_seqlens` are int32: where each sequence begins, and where the last one ends. The logarithms are (heads, rows).
    """
    name = "flash_attn_varlen_func"
    _check(name, q, k, v, 3)
    for label, starts in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if as_tensor(name, starts).ndim != 1 or starts.dtype is not int32 or not starts.size:
            raise ShapeError(
                f"{name}: {label} is {starts.dtype} of shape {starts.shape}; int32 of one dimension is wanted"
            )
    if cu_seqlens_q.shape != cu_seqlens_k.shape:
        raise ShapeError(f"{name}: cu_seqlens of shapes {cu_seqlens_q.shape} and {cu_seqlens_k.shape}; give equal ones")
    longest = [
        normal_integer(n, name, label) for n, label in ((max_seqlen_q, "max_seqlen_q"), (max_seqlen_k, "max_seqlen_k"))
    ]
    sequences = Sequences(q, k, v, packed(cu_seqlens_q), packed(cu_seqlens_k), *longest)
    return _attend(name, sequences, softmax_scale, causal, rounding, package)


def _check(name: str, q: Tensor, k: Tensor, v: Tensor, dimensions: int) -> None:
    for label, t in (("q", q), ("k", k), ("v", v)):
        if as_tensor(name, t).ndim != dimensions:
            raise ShapeError(f"{name}: {label} has shape {t.shape}; {dimensions} dimensions are wanted")
        if t.dtype is not q.dtype or t.dtype.kind != "float":
            raise DTypeError(f"{name}: {label} is {t.dtype}, q {q.dtype}; give floats of one dtype")
    one_device(name, q, k, v)
    if k.shape[:-1] != v.shape[:-1] or k.shape[-1] != q.shape[-1] or not k.shape[-2] or q.shape[-2] % k.shape[-2]:
        raise ShapeError(
            f"{name}: shapes {q.shape}, {k.shape} and {v.shape}; k and v have rows and heads in common, q and k"
            " features, and the heads of k divide those of q"
        )


def _attend(
    name: str, given: Sequences, softmax_scale: float | None, causal: bool, rounding: str, package: KernelPackage | None
) -> tuple[Tensor, Tensor]:
    if rounding not in ROUNDINGS:
        raise ValueError(f"{name}: rounding {rounding!r}; give {', '.join(ROUNDINGS)}")
    scale = given.q.shape[-1] ** -0.5 if softmax_scale is None else real_float(name, softmax_scale, "softmax_scale")
    choice = given.decide(package, causal, rounding).choice
    if choice is not None:
        return forward(choice, given, scale)
    return _own(given, scale, causal)


def forward(choice: Choice, given: Sequences, scale: float) -> tuple[Tensor, Tensor]:
    """Run the kernel that was chosen: the result, and the logarithms of the sums."""
    q, k, v = (packed(t) for t in (given.q, given.k, given.v))
    heads, kv_heads, hdim_q, hdim_v, size = given.heads, k.shape[-2], q.shape[-1], v.shape[-1], q.dtype.itemsize
    out = empty((*q.shape[:-1], hdim_v), dtype=bfloat16, device=q.device)
    lse = empty(given.lse_shape, dtype=float32, device=q.device)
    problem, q_row, out_row = choice.problem, heads * hdim_q * size, heads * hdim_v * size
    options = _BEST_OPTIONS - (_HEADS_AT_A_TIME if problem["causal"] and heads % _STAGGERED_HEADS else 0)
    args = FmhaForwardArgs(
        out=out, q=q, k=k, v=v, lse=lse, scale=scale, seqlen_q=given.seqlen_q, q_row=q_row,
        q_tile=tile_rows(choice.row) * q_row, q_head=hdim_q * size, q_batch=given.seqlen_q * q_row,
        heads_per_kv=heads // kv_heads, k_row=kv_heads * hdim_q * size, k_head=hdim_q * size,
        k_batch=given.seqlen_k * kv_heads * hdim_q * size,
        options=0 if hdim_q != hdim_v and problem["arch"] == "gfx942" else options, seqlen_k=given.seqlen_k,
        hdim_q=hdim_q, hdim_v=hdim_v, heads=heads, v_row=kv_heads * hdim_v * size, v_head=hdim_v * size,
        v_batch=given.seqlen_k * kv_heads * hdim_v * size, out_row=out_row, out_head=hdim_v * size,
        out_batch=given.seqlen_q * out_row, starts_q=given.starts_q, starts_k=given.starts_k,
        lse_head=lse.shape[-1] * lse.dtype.itemsize, padded_starts_q=given.starts_q, padded_starts_k=given.starts_k,
    )  # fmt: skip
    launch(choice, args, q.device)
    return out, lse


def _own(given: Sequences, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    if given.starts_q is None or given.starts_k is None:
        return composed(given.q, given.k, given.v, scale, causal)
    bounds = [pairwise(starts.numpy().tolist()) for starts in (given.starts_q, given.starts_k)]
    parts = []
    for (a, b), (c, d) in zip(*bounds, strict=True):
        if b > a:
            q, k, v = (expand_dims(t, axis=0) for t in (given.q[a:b], given.k[c:d], given.v[c:d]))
            parts.append(composed(q, k, v, scale, causal))
    if not parts:
        return empty((0, given.heads, given.v.shape[-1]), dtype=given.v.dtype, device=given.v.device), empty(
            given.lse_shape, dtype=float32, device=given.v.device
        )
    return concat([out[0] for out, _ in parts]), concat([lse[0] for _, lse in parts], axis=1)


def composed(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """Attention of sequences of one length by our own kernels."""
    shared = q.shape[2] // k.shape[2]
    heads_q = cast(permute_dims(q, (0, 2, 1, 3)), float32)
    heads_k, heads_v = (cast(permute_dims(repeat(t, shared, axis=2), (0, 2, 1, 3)), float32) for t in (k, v))
    scores = multiply(matmul(heads_q, matrix_transpose(heads_k)), scale)
    if causal:
        rows, columns = (arange(n, dtype=int32, device=q.device) for n in scores.shape[-2:])
        ahead = subtract(expand_dims(columns, axis=0), scores.shape[-1] - scores.shape[-2])
        scores = where(less_equal(ahead, expand_dims(rows, axis=1)), scores, float("-inf"))
    out = matmul(softmax(scores), heads_v)
    return cast(permute_dims(out, (0, 2, 1, 3)), v.dtype), logsumexp(scores, axis=-1)
