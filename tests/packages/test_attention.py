"""Attention by AITER's files of the PyPI package, on the emulator, and by our own kernels, against float64."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.packages import KernelPackage, KernelTable, flash_attn_func, flash_attn_varlen_func
from rocmkern.packages.attention import Sequences
from rocmkern.packages.attention_kinds import FMHA_FORWARD, ROUNDINGS, FmhaForwardArgs
from rocmkern.packages.references import Array, attention
from tests import samples
from tests.packages.installed import package
from tests.packages.test_package import note

BF16 = ml_dtypes.bfloat16
VARIANTS = [("gfx942", 128, rounding) for rounding in ROUNDINGS] + [("gfx950", 128, "rtne"), ("gfx950", 192, "rtne")]
SHAPES = [(256, 256, 8), (70, 333, 4), (300, 300, 3)]  # queries, keys, heads
STEPS = {"rtne": 2, "rtna": 2, "rtz": 4}  # of 2⁻⁸: one rounding of weights, one of results


def tensors(target: str, *arrays: Array) -> list[rk.Tensor]:
    return [rk.asarray(x, device=rk.Device(f"emulator:{target}")) for x in arrays]


def drawn(rows: int, keys: int, heads: int, hdim: int, *batch: int) -> tuple[Array, Array, Array]:
    """Queries, keys and values of bfloat16; two heads of queries share one of keys where their number allows it."""
    rng, shared = np.random.default_rng(rows + keys + heads + hdim), heads // 2 if heads % 2 == 0 else heads
    shapes = ((rows, heads, hdim), (keys, shared, hdim), (keys, shared, 128))
    q, k, v = (rng.standard_normal((*batch, *shape)).astype(BF16) for shape in shapes)
    return q, k, v


def expected_of(q: Array, k: Array, v: Array, causal: bool) -> tuple[Array, Array, Array]:
    """Results, logarithms of sums, and how large what results are sums of is."""
    scale = q.shape[-1] ** -0.5
    return *attention(q, k, v, scale, causal=causal), attention(q, k, np.abs(v), scale, causal=causal)[0]


def check(got: tuple[rk.Tensor, rk.Tensor], expected: tuple[Array, Array, Array], rounding: str) -> None:
    """Results as weights and sums that are rounded to bfloat16 give them, logarithms of sums as float32 does."""
    wrong = np.abs(got[0].numpy().astype(np.float64) - expected[0])
    assert (wrong <= 1.02 * STEPS[rounding] * 2.0**-8 * expected[2]).all(), (wrong / expected[2]).max()
    np.testing.assert_allclose(got[1].numpy(), expected[1], rtol=0, atol=1e-5)


def is_theirs(given: Sequences, causal: bool, rounding: str, found: KernelPackage) -> bool:
    return given.decide(found, causal, rounding).choice is not None


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys", "heads"), SHAPES)
@pytest.mark.parametrize(("target", "hdim", "rounding"), VARIANTS)
def test_attention_of_a_batch(
    target: str, hdim: int, rounding: str, queries: int, keys: int, heads: int, causal: bool
) -> None:
    """Two sequences of one length, whole tiles and ragged ones, as many keys as queries and more."""
    arrays = drawn(queries, keys, heads, hdim, 2)
    q, k, v = tensors(target, *arrays)
    assert is_theirs(Sequences(q, k, v), causal, rounding, package())
    got = flash_attn_func(q, k, v, causal=causal, rounding=rounding, package=package())
    out, lse, size = zip(*[expected_of(*each, causal) for each in zip(*arrays, strict=True)], strict=True)
    check(got, (np.stack(out), np.stack(lse), np.stack(size)), rounding)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("target", "hdim", "rounding"), VARIANTS)
def test_attention_of_ragged_sequences(target: str, hdim: int, rounding: str, causal: bool) -> None:
    """Sequences of any lengths one after another, each on its own."""
    starts_q, starts_k = np.array([0, 37, 293, 300], np.int32), np.array([0, 300, 556, 563], np.int32)
    arrays = drawn(300, 563, 4, hdim)
    q, k, v, cu_q, cu_k = tensors(target, *arrays, starts_q, starts_k)
    assert is_theirs(Sequences(q, k, v, cu_q, cu_k, 256, 300), causal, rounding, package())
    got = flash_attn_varlen_func(q, k, v, cu_q, cu_k, 256, 300, causal=causal, rounding=rounding, package=package())
    check(got, of_each(arrays, starts_q, starts_k, causal), rounding)


def of_each(
    arrays: tuple[Array, Array, Array], starts_q: Array, starts_k: Array, causal: bool
) -> tuple[Array, Array, Array]:
    q, k, v = arrays
    pairs = zip(pairwise(starts_q.tolist()), pairwise(starts_k.tolist()), strict=True)
    out, lse, size = zip(*[expected_of(q[a:b], k[c:d], v[c:d], causal) for (a, b), (c, d) in pairs], strict=True)
    return np.concatenate(out), np.concatenate(lse, axis=1), np.concatenate(size)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_without_a_package(causal: bool) -> None:
    """Our own kernels, in float32 where the tensors are."""
    q, k, v = (x.astype(np.float32) for x in drawn(20, 33, 4, 24, 2))
    out, lse = flash_attn_func(*tensors("gfx1100", q, k, v), causal=causal)
    for i in range(2):
        expected = attention(q[i], k[i], v[i], 24**-0.5, causal=causal)
        np.testing.assert_allclose(out.numpy()[i], expected[0], rtol=0, atol=1e-5)
        np.testing.assert_allclose(lse.numpy()[i], expected[1], rtol=0, atol=1e-5)
    starts_q, starts_k = np.array([0, 0, 13, 20], np.int32), np.array([0, 2, 20, 33], np.int32)
    arrays = q[0], k[0], v[0]
    varlen = flash_attn_varlen_func(*tensors("gfx1100", *arrays, starts_q, starts_k), 13, 18, causal=causal)
    wanted = of_each(arrays, starts_q[1:], starts_k[1:], causal)
    np.testing.assert_allclose(varlen[0].numpy(), wanted[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(varlen[1].numpy(), wanted[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("units", "chip"), [(304, "MI300"), (80, "MI308")])
def test_kernels_of_a_chip_are_found_in_its_folder(tmp_path: Path, units: int, chip: str) -> None:
    """A table names files that lie below folders of chips; the compute units tell which chip it is."""
    folder = tmp_path / "gfx942/fmha_v3_fwd"
    for name in ("MI300", "MI308"):
        (folder / name).mkdir(parents=True)
        (folder / name / "fwd.co").write_bytes(samples.hand_written(note(FmhaForwardArgs)))
    columns = "dtype,hdim_q,hdim_v,mask,mode,bf16_cvt,ts_qo,ts_kv,knl_name,co_name"
    (folder / "fmha_fwd.csv").write_text(f"{columns}\nbf16,128,128,2,0,1,256,64,slots,fwd.co\n")
    problem = {"arch": "gfx942", "dtype": "bf16", "hdim_q": 128, "hdim_v": 128, "causal": 1, "group": 0}
    table = KernelTable.of(KernelPackage.open(tmp_path), FMHA_FORWARD, "gfx942")
    choice = table.select(units, rounding="rtna", batch=2, heads=8, seqlen_q=600, **problem)
    assert choice.path == folder / chip / "fwd.co"
    assert (choice.grid, choice.block) == ((2, 8, 2), (512, 1, 1))
    with pytest.raises(LookupError, match="rounding is rtna, rtz is wanted"):
        table.select(units, rounding="rtz", batch=2, heads=8, seqlen_q=600, **problem)


def test_what_attention_refuses() -> None:
    """Shapes that do not belong together, other dtypes, roundings that are none."""
    q, k, v = tensors("gfx942", *drawn(4, 5, 4, 8, 1))
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ShapeError, "q has shape .*; 4 dimensions are wanted", {"q": q[0]}),
        (ShapeError, "the heads of k divide those of q", {"q": q[:, :, :3]}),
        (ShapeError, "q has 1 sequences, k 0", {"k": k[:0], "v": v[:0]}),
        (DTypeError, "k is float32, q bfloat16", {"k": rk.astype(k, rk.float32)}),
        (ValueError, "rounding 'up'; give rtne, rtna, rtz", {"rounding": "up"}),
    ]
    for error, words, change in cases:
        with pytest.raises(error, match=words):
            flash_attn_func(**{"q": q, "k": k, "v": v} | change)
