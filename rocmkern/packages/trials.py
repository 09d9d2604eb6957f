"""How each kind's kernels are tried: sizes that a row serves, random data, and how far off a result may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np
from attrs import frozen
from numpy.random import Generator

from rocmkern.ops.creation import asarray
from rocmkern.packages import references
from rocmkern.packages.attention import Sequences, forward
from rocmkern.packages.attention_kinds import FMHA_FORWARD, MLA_DECODE, PAGED, ROUNDINGS
from rocmkern.packages.choice import Choice
from rocmkern.packages.kind import Kind, Problem
from rocmkern.packages.kinds import BF16GEMM, I8GEMM, TOPKSOFTMAX
from rocmkern.packages.latent import attend_latent
from rocmkern.packages.operations import choose_experts, multiply_halves, multiply_integers
from rocmkern.packages.paged import attend_pages
from rocmkern.packages.references import Array
from rocmkern.packages.scaled_gemm import multiply_blocks, multiply_groups
from rocmkern.packages.scaled_kinds import BLOCKSCALE_GEMM, F4GEMM
from rocmkern.packages.tables import KernelRow
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

_BF16: Final = ml_dtypes.bfloat16
_ROUNDED_TO_BF16: Final = 2.0**-7  # a step of bfloat16: some kernels cut float32 off
_WEIGHTS: Final = 1e-6
_SUMS: Final = 1e-6  # of float32, for each root of how many are summed
_LOGARITHMS: Final = 1e-5


@frozen(eq=False)
class Trial:
    """`problems` are a small one and a ragged one for a row; `run` gives the largest error over what is allowed."""

    kind: Kind
    problems: Callable[[KernelRow, str], tuple[Problem, ...]]
    run: Callable[[Choice, Device, Generator], float]


def _worst(got: Array, expected: Array, allowed: float | Array) -> float:
    """NaN where a result is none."""
    return float((np.abs(got.astype(np.float64) - expected) / allowed).max())


def _on(device: Device, *arrays: Array) -> list[Tensor]:
    return [asarray(x, device=device) for x in arrays]


def _experts(choice: Choice, device: Device, rng: Generator) -> float:
    given = choice.problem
    gating = rng.standard_normal((given["tokens"], given["num_experts"])).astype(
        _BF16 if given["dtype"] == "bf16" else np.float32
    )
    weights, columns = choose_experts(choice, asarray(gating, device=device), given["topk"], False)
    expected, best = references.best_of_softmax(gating.astype(np.float32), given["topk"])
    chosen, scores = columns.numpy().astype(np.int64), gating.astype(np.float64)
    if ((chosen < 0) | (chosen >= scores.shape[1])).any():
        return float("inf")
    is_best = np.take_along_axis(scores, chosen, 1) == np.take_along_axis(scores, best, 1)  # equal ones in any order
    return _worst(weights.numpy(), expected, _WEIGHTS) if is_best.all() else float("inf")


def _sizes(given: Problem) -> tuple[int, int, int]:
    return given["m"], given["n"], given["k"]


def _integers(choice: Choice, device: Device, rng: Generator) -> float:
    m, n, k = _sizes(choice.problem)
    a, b = (rng.integers(-128, 128, (rows, k), np.int8) for rows in (m, n))
    scale_a, scale_b, bias = (rng.random(size, np.float32) for size in (m, n, n))
    expected = a.astype(np.float64) @ b.astype(np.float64).T * scale_a[:, None] * scale_b + bias
    got = multiply_integers(choice, *_on(device, a, b, scale_a, scale_b, bias)).numpy()
    return _worst(got, expected, _ROUNDED_TO_BF16 * np.abs(expected) + 1e-3)


def _halves(choice: Choice, device: Device, rng: Generator) -> float:
    m, n, k = _sizes(choice.problem)
    a, b = (rng.standard_normal((rows, k)).astype(_BF16) for rows in (m, n))
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    return _worst(
        multiply_halves(choice, *_on(device, a, b)).numpy(), expected, _SUMS * np.abs(expected).max() * k**0.5
    )


def _blocks(choice: Choice, device: Device, rng: Generator) -> float:
    m, n, k = _sizes(choice.problem)
    a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (m, n))
    scale_a, scale_b = (rng.random((rows, k // 128), np.float32) for rows in (m, n // 128))
    expected = references.block_values(a, scale_a) @ references.block_values(b, scale_b).T
    got = multiply_blocks(choice, *_on(device, a, b, scale_a, scale_b)).numpy()
    return _worst(got, expected, _ROUNDED_TO_BF16 * np.abs(expected).max())


def _groups(choice: Choice, device: Device, rng: Generator) -> float:
    m, n, k = _sizes(choice.problem)
    a, b = (rng.integers(0, 256, (rows, k // 2), np.uint8) for rows in (m, n))
    scale_a, scale_b = (rng.integers(124, 130, (rows, k // 32), np.uint8) for rows in (m, n))
    expected = references.four_bit_values(a, scale_a) @ references.four_bit_values(b, scale_b).T
    got = multiply_groups(choice, *_on(device, a, b, scale_a, scale_b)).numpy()
    return _worst(got, expected, _ROUNDED_TO_BF16 * np.abs(expected).max())


def _attention(choice: Choice, device: Device, rng: Generator) -> float:
    """Sequences of one length also where the kernel takes any: each is compared on its own."""
    given = choice.problem
    batch, heads, queries, causal = given["batch"], given["heads"], given["seqlen_q"], bool(given["causal"])
    keys, hdim = queries + 33, given["hdim_q"]
    shapes = ((queries, heads, hdim), (keys, heads // 2, hdim), (keys, heads // 2, given["hdim_v"]))
    q, k, v = (rng.standard_normal((batch, *shape)).astype(_BF16) for shape in shapes)
    if given["group"]:
        flat = [x.reshape(-1, *x.shape[2:]) for x in (q, k, v)]
        starts = [np.arange(batch + 1, dtype=np.int32) * rows for rows in (queries, keys)]
        tensors = _on(device, *flat, *starts)
        sequences = Sequences(tensors[0], tensors[1], tensors[2], tensors[3], tensors[4], queries, keys)
    else:
        tensors = _on(device, q, k, v)
        sequences = Sequences(tensors[0], tensors[1], tensors[2])
    out, lse = (x.numpy() for x in forward(choice, sequences, hdim**-0.5))
    out = out.reshape(batch, queries, heads, -1)
    lse = lse.reshape(heads, batch, queries).transpose(1, 0, 2) if given["group"] else lse
    steps, worst = 4 if given["rounding"] == "rtz" else 2, 0.0
    for i in range(batch):
        expected, sums = references.attention(q[i], k[i], v[i], hdim**-0.5, causal=causal)
        size, _ = references.attention(q[i], k[i], np.abs(v[i]), hdim**-0.5, causal=causal)
        worst = np.maximum(worst, _worst(out[i], expected, 1.02 * steps * 2.0**-8 * size))
        worst = np.maximum(worst, _worst(lse[i], sums, _LOGARITHMS))
    return float(worst)


def _pages(choice: Choice, device: Device, rng: Generator) -> float:
    given = choice.problem
    dtype, rows = {"bf16": _BF16, "fp16": np.float16}[given["qType"]], given["blkSz"]
    batch, kv_heads, most = given["batch"], given["kv_heads"], -(-200 // given["blkSz"])
    lengths = rng.integers(1, 200, batch, np.int32)
    tables = rng.permutation(batch * most).reshape(batch, most).astype(np.int32)
    q = rng.standard_normal((batch, kv_heads * given["gqa"], 128)).astype(dtype)
    keys, values = (rng.standard_normal((batch * most, rows, kv_heads, 128)).astype(dtype) for _ in "kv")
    on = _on(device, q, *references.in_packs(keys, values), tables, lengths)
    got = attend_pages(choice, on[0], on[1], on[2], on[3], on[4]).numpy()
    expected = references.paged_attention(q, keys, values, tables, lengths)
    size = references.paged_attention(q, keys, np.abs(values), tables, lengths)
    return _worst(got, expected, (4 if dtype is _BF16 else 1) * 2.0**-8 * size)


def _latent(choice: Choice, device: Device, rng: Generator) -> float:
    batch, heads = choice.problem["batch"], choice.problem["Gqa"]
    lengths = rng.integers(1, 300, batch)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    rows = rng.permutation(int(starts[-1])).astype(np.int32)
    q, kv = (
        rng.standard_normal((n, *shape)).astype(_BF16) for n, shape in ((batch, (heads, 576)), (len(rows), (576,)))
    )
    on = _on(device, q, kv, starts, rows)
    got = attend_latent(choice, on[0], on[1], on[2], on[3], 576**-0.5).numpy()
    worst = 0.0
    for i in range(batch):
        keys = kv[rows[starts[i] : starts[i + 1]]][:, None]
        expected, _ = references.attention(q[i : i + 1], keys, keys[..., :512], 576**-0.5)
        size, _ = references.attention(q[i : i + 1], keys, np.abs(keys[..., :512]), 576**-0.5)
        worst = np.maximum(worst, _worst(got[i : i + 1], expected, 2.0**-6 * size))
    return float(worst)


def _latent_problems(row: KernelRow, arch: str) -> tuple[Problem, ...]:
    return {"Gqa": row["Gqa"], "batch": 1}, {"Gqa": row["Gqa"], "batch": 5}


def _page_problems(row: KernelRow, arch: str) -> tuple[Problem, ...]:
    fixed, gqa = {key: row.values.get(key) for key in ("qType", "kvType", "blkSz")}, row.number("Gqa")
    return {**fixed, "gqa": gqa, "batch": 1, "kv_heads": 1}, {
        **fixed,
        "gqa": max(gqa - 3, 1),
        "batch": 5,
        "kv_heads": 2,
    }


def _products(
    *ks: int, n_of: Callable[[KernelRow], int], **more: Any
) -> Callable[[KernelRow, str], tuple[Problem, ...]]:
    """A few rows and many that no tile divides."""

    def problems(row: KernelRow, arch: str) -> tuple[Problem, ...]:
        columns = {key: row.number(column) for key, column in more.items() if isinstance(column, str)}
        fixed = {key: value for key, value in more.items() if not isinstance(value, str)}
        return tuple({"m": m, "n": n_of(row), "k": k, **columns, **fixed} for m, k in zip((5, 293), ks, strict=True))

    return problems


def _attentions(row: KernelRow, arch: str) -> tuple[Problem, ...]:
    rounding = row.values.get("bf16_cvt")
    fixed = {
        "arch": arch, "dtype": row["dtype"], "hdim_q": row["hdim_q"],
        "hdim_v": row.values.get("hdim_v") or row["hdim_q"],
        "causal": int(bool(row.values.get("mask") or row.values.get("causal"))),
        "group": int(bool(row.values.get("mode") or row.values.get("group"))),
        "rounding": rounding if isinstance(rounding, str) else ROUNDINGS[int(rounding or 0)], "batch": 2,
    }  # fmt: skip
    return {**fixed, "heads": 8, "seqlen_q": 64}, {**fixed, "heads": 6, "seqlen_q": 293}


def _choices_of_experts(row: KernelRow, arch: str) -> tuple[Problem, ...]:
    fixed = {
        "num_experts": row["num_experts"], "topk": row["topk"], "dtype": row.values.get("dtype") or "fp32",
    }  # fmt: skip
    few = row.number("subm") <= 4
    return tuple({"tokens": tokens, **fixed} for tokens in ((1, 37) if few else (10_000, 10_001)))


TRIALS: Final[dict[str, Trial]] = {
    trial.kind.name: trial
    for trial in (
        Trial(TOPKSOFTMAX, _choices_of_experts, _experts),
        Trial(
            I8GEMM, _products(128, 384, n_of=lambda row: 2 * row.number("tile_n"), bpreshuffle="bpreshuffle", splits=1),
            _integers,
        ),
        Trial(
            BF16GEMM, _products(64, 192, n_of=lambda row: 2 * row.number("tileN"), bPreshuffle="bPreshuffle"), _halves
        ),
        Trial(
            BLOCKSCALE_GEMM,
            _products(128, 384, n_of=lambda row: 2 * row.number("tile_n"), bpreshuffle="bpreshuffle"), _blocks,
        ),
        Trial(
            F4GEMM,
            _products(
                256, 512, n_of=lambda row: 2 * (row.number("tile_n") or row.number("tile_N")), bpreshuffle="bpreshuffle"
            ),
            _groups,
        ),
        Trial(FMHA_FORWARD, _attentions, _attention),
        Trial(PAGED, _page_problems, _pages),
        Trial(MLA_DECODE, _latent_problems, _latent),
    )
}  # fmt: skip
