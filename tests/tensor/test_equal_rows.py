"""Sums depend on the numbers of a row, not on where it lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType

FLOATS = pytest.mark.parametrize(
    "dtype", [rk.float16, rk.bfloat16, rk.float32, rk.float64], ids=lambda d: d.short
)  # fmt: skip
BY_ROWS: Final[dict[str, Callable[[rk.Tensor], rk.Tensor]]] = {
    "sum": lambda x: rk.sum(x, axis=1), "mean": lambda x: rk.mean(x, axis=1), "prod": lambda x: rk.prod(x, axis=1),
    "nansum": lambda x: rk.nansum(x, axis=1), "nanmean": lambda x: rk.nanmean(x, axis=1),
    "nanvar": lambda x: rk.nanvar(x, axis=1), "logsumexp": lambda x: rk.logsumexp(x, axis=1),
    "var": lambda x: rk.var(x, axis=1), "std": lambda x: rk.std(x, axis=1), "softmax": rk.softmax,
    "log_softmax": rk.log_softmax, "layer_norm": rk.layer_norm, "rms_norm": rk.rms_norm, "normalize": rk.normalize,
    "norm": lambda x: rk.linalg.vector_norm(x, axis=1), "cumulative_sum": lambda x: rk.cumulative_sum(x, axis=1),
    "norm of order 3": lambda x: rk.linalg.vector_norm(x, axis=1, ord=3), "vecdot": lambda x: rk.vecdot(x, x),
    "matmul": lambda x: rk.matmul(x, rk.ones((x.shape[1], 3), dtype=x.dtype) / 3),
    "matvec": lambda x: rk.matmul(x, rk.ones((x.shape[1],), dtype=x.dtype) / 3),
}  # fmt: skip
PRODUCTS: Final = ("matmul", "matvec")


def bits(x: rk.Tensor) -> list[bytes]:
    """Of each row."""
    return [row.tobytes() for row in x.numpy()]


def in_layouts(row: np.ndarray[Any, Any], rows: int) -> dict[str, rk.Tensor]:
    """Equal rows: side by side, off the bounds of packs, apart by a stride, backwards, and behind more of each."""
    n = row.size
    wide, padded = np.zeros((rows, 2 * n), row.dtype), np.zeros((rows, n + 3), row.dtype)
    wide[:, ::2], padded[:, 1 : n + 1] = row, row
    return {
        "plain": rk.asarray(np.tile(row, (rows, 1))), "apart": rk.asarray(wide)[:, ::2],
        "padded": rk.asarray(padded)[:, 1 : n + 1],
        "backwards": rk.flip(rk.asarray(np.tile(row[::-1], (rows, 1))), axis=1),
        "later": rk.asarray(np.append(row[:1], np.tile(row, rows)))[1:].reshape((rows, n)),
    }  # fmt: skip


@FLOATS
@pytest.mark.parametrize("name", BY_ROWS)
@settings(max_examples=6)
@given(data=st.data())
def test_equal_rows_give_equal_bits(name: str, dtype: DType, data: st.DataObject) -> None:
    """Within a call; and, but for products, between calls for the same rows elsewhere in memory."""
    n = data.draw(st.integers(2, 40) | st.sampled_from([63, 129, 255, 1025, 5001]))
    rows = data.draw(st.integers(2, 6))
    row = np.random.default_rng(data.draw(st.integers(0, 999))).standard_normal(n).astype(dtype.numpy)
    found = {layout: bits(BY_ROWS[name](x)) for layout, x in in_layouts(row, rows).items()}
    assert all(len(set(rows)) == 1 for rows in found.values()), (n, found)
    assert name in PRODUCTS or len({rows[0] for rows in found.values()}) == 1, (n, found)


@FLOATS
@pytest.mark.parametrize("name", ["sum", "mean", "var", "nanvar", "norm", "logsumexp"])
def test_long_rows_give_equal_bits(name: str, dtype: DType) -> None:
    """Rows that are summed in parts."""
    row = np.random.default_rng(1).standard_normal(40_003).astype(dtype.numpy)
    found = {bits(BY_ROWS[name](x))[at] for x in in_layouts(row, 3).values() for at in range(3)}
    assert len(found) == 1


@FLOATS
def test_a_vector_sums_alike_wherever_it_begins(dtype: DType) -> None:
    """At any of the first 17 elements of the memory behind."""
    row = np.random.default_rng(2).standard_normal(1000).astype(dtype.numpy)
    sums = {rk.sum(rk.asarray(np.append(np.zeros(k, row.dtype), row))[k:]).item() for k in range(17)}
    assert len(sums) == 1
