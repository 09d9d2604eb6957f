"""Attention to keys in blocks: AITER's files of the PyPI package on the emulator, and our own, against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.packages import pa_fwd_asm
from rocmkern.packages.references import Array, in_packs, paged_attention
from rocmkern.packages.verify import verify
from tests.packages.installed import package


def drawn(dtype: Any, heads: int, kv_heads: int) -> tuple[list[Array], Array, Array]:
    """Queries of three sequences with their blocks of 16; results, and how large what these are sums of is."""
    rng, lengths = np.random.default_rng(heads), np.array([1, 37, 100], np.int32)
    tables = rng.permutation(21).reshape(3, 7).astype(np.int32)
    q = rng.standard_normal((3, heads, 128)).astype(dtype)
    keys, values = (rng.standard_normal((21, 16, kv_heads, 128)).astype(dtype) for _ in "kv")
    size = paged_attention(q, keys, np.abs(values), tables, lengths)
    arrays = [q, *in_packs(keys, values), tables, lengths]
    return arrays, paged_attention(q, keys, values, tables, lengths), size


def on(target: str, arrays: list[Array]) -> list[rk.Tensor]:
    return [rk.asarray(x, device=rk.Device(f"emulator:{target}")) for x in arrays]


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_installed_kernels_are_right(target: str) -> None:
    """Those that take a cache as it is and one query of a sequence, whole groups of heads and fewer."""
    found = list(verify(package(), rk.Device(f"emulator:{target}"), ("pa",)))
    judged = [v for v in found if v.status != "not judged"]
    assert {v.file: (v.status, v.reason) for v in judged if v.status != "right"} == {}
    names = {f"pa_{dtype}_noquant_gqa{heads}_1tg_4w.co" for dtype in ("bf16", "fp16") for heads in (8, 16)}
    assert {v.file.rpartition("/")[2] for v in judged} == names
    assert len(judged) == 2 * len(names)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize(("heads", "kv_heads"), [(16, 2), (12, 1), (5, 5)])
def test_decoding_with_a_package_and_without(dtype: Any, heads: int, kv_heads: int) -> None:
    """The same contract: a key at least, tables that are longer than a sequence, heads that share keys."""
    arrays, expected, size = drawn(dtype, heads, kv_heads)
    q, k, v, tables, lengths = on("gfx942", arrays)
    for theirs in (package(), None):
        got = pa_fwd_asm(q, k, v, tables, lengths, package=theirs).numpy()
        allowed = 2.0**-6 if dtype is ml_dtypes.bfloat16 else 2.0**-8
        assert (np.abs(got.astype(np.float64) - expected) <= allowed * size).all()


def test_what_decoding_refuses() -> None:
    """Shapes and dtypes that do not belong together."""
    q, k, v, tables, lengths = on("gfx942", drawn(np.float16, 4, 2)[0])
    with pytest.raises(ShapeError, match=r"q has shape \(4, 128\); 3 dimensions are wanted"):
        pa_fwd_asm(q[0], k, v, tables, lengths)
    with pytest.raises(ShapeError, match=r"\(blocks, key heads, 16, rows, 8\) and .* are wanted"):
        pa_fwd_asm(q, v, k, tables, lengths)
    with pytest.raises(ShapeError, match="3 queries, 3 rows of block_tables, 2 of context_lens; give as many"):
        pa_fwd_asm(q, k, v, tables, lengths[:2])
    with pytest.raises(DTypeError, match="k is float32; bfloat16 or float16 is wanted"):
        pa_fwd_asm(q, rk.astype(k, rk.float32), v, tables, lengths)
    with pytest.raises(DTypeError, match="block_tables is int64; int32 is wanted"):
        pa_fwd_asm(q, k, v, rk.astype(tables, rk.int64), lengths)
