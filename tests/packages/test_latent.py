"""Decoding with compressed keys: AITER's files of the PyPI package on the emulator, and our own, against float64."""

from __future__ import annotations

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.packages import KernelPackage, decide, mla_decode_fwd
from rocmkern.packages.attention_kinds import MLA_DECODE
from rocmkern.packages.references import Array, attention
from rocmkern.packages.verify import verify
from tests.packages.installed import package

LENGTHS = (1, 300, 77)


def drawn(heads: int) -> tuple[list[Array], Array, Array]:
    """Queries, keys in any order and whose they are; results, and how large what these are sums of is."""
    rng, starts = np.random.default_rng(heads), np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)
    rows = rng.permutation(400)[: starts[-1]].astype(np.int32)
    q, kv = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((3, heads, 576), (400, 576)))
    keys = [kv[rows[a:b]][:, None] for a, b in pairwise(starts.tolist())]
    sides = [
        [attention(q[i : i + 1], k, of(k[..., :512]), 576**-0.5)[0] for i, k in enumerate(keys)]
        for of in (np.asarray, np.abs)
    ]
    return [q, kv, starts, rows], np.concatenate(sides[0]), np.concatenate(sides[1])


def on(target: str, arrays: list[Array]) -> list[rk.Tensor]:
    return [rk.asarray(x, device=rk.Device(f"emulator:{target}")) for x in arrays]


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_installed_kernels_are_right(target: str) -> None:
    """One sequence and several, their keys split among workgroups, of which some have none."""
    judged = [v for v in verify(package(), rk.Device(f"emulator:{target}"), ("mla",)) if v.status != "not judged"]
    assert [(v.status, v.reason) for v in judged] == [("right", "")] * 2
    assert {v.file for v in judged} == {f"{target}/mla/mla_dec_stage1_bf16_a16w16_subQ16_mqa16.co"}


@pytest.mark.parametrize(("heads", "theirs"), [(16, True), (16, False), (3, True)])
def test_decoding_with_compressed_keys(heads: int, theirs: bool) -> None:
    """A package's kernel where it has one for so many heads, else our own: the same contract."""
    arrays, expected, size = drawn(heads)
    q, kv, starts, rows = on("gfx942", arrays)
    found: KernelPackage | None = package() if theirs else None
    is_theirs = decide(MLA_DECODE, found, q.device, Gqa=heads, batch=3).choice is not None
    assert is_theirs == (theirs and heads == 16)
    got = mla_decode_fwd(q, kv, starts, rows, package=found)
    assert (got.shape, got.dtype) == ((3, heads, 512), rk.bfloat16)
    assert (np.abs(got.numpy().astype(np.float64) - expected) <= 2.0**-6 * size).all()


def test_what_it_refuses() -> None:
    """Shapes and dtypes that do not belong together."""
    q, kv, starts, rows = on("gfx942", drawn(2)[0])
    with pytest.raises(ShapeError, match=r"kv has shape \(400, 500\); .* kv of \(rows, 576\)"):
        mla_decode_fwd(q, kv[:, :500], starts, rows)
    with pytest.raises(ShapeError, match="2 queries, 4 elements of kv_indptr; give one more"):
        mla_decode_fwd(q[:2], kv, starts, rows)
    with pytest.raises(DTypeError, match="kv_indices is int64; int32 is wanted"):
        mla_decode_fwd(q, kv, starts, rk.astype(rows, rk.int64))
