"""Rows of byte dot products against integer arithmetic in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rocmkern.emulator.meaning import ROWS
from tests.emulator.rows import run

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)
A, B, C = (RNG.integers(0, 2**32, 4000, dtype=np.uint32) for _ in range(3))
A[:3], B[:3], C[:3] = 0x80808080, [0x80808080, 0x7F7F7F7F, 0x80808080], [0x7FFFFFFF, 0x80000000, 0]


def exact(kind: type[np.integer[Any]]) -> Array:
    """Sum of the products of the four bytes, and C, without wrapping."""
    a, b = (x.view(kind).reshape(-1, 4).astype(np.int64) for x in (A, B))
    return (a * b).sum(1) + (C.view(np.int32) if kind is np.int8 else C).astype(np.int64)


@pytest.mark.parametrize(
    ("name", "kind"), [("v_dot4_i32_i8", np.int8), ("v_dot4c_i32_i8", np.int8), ("v_dot4_u32_u8", np.uint8)]
)
def test_dot_products_wrap(name: str, kind: type[np.integer[Any]]) -> None:
    """Without clamp the sum is taken modulo 2³²."""
    assert np.array_equal(run(name, A, B, C), exact(kind).astype(np.uint64).astype(np.uint32))


def test_every_dot_row_has_a_saturating_form() -> None:
    """The clamp bit is never dropped in silence."""
    rows: list[Callable[..., Any] | None] = [row.integer_clamp for name, row in ROWS.items() if "_dot4" in name]
    assert len(rows) >= 4
    assert None not in rows
