"""Plans of reading by index: no block without work, none missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocmkern.kernels import plans_indexing
from tests.kernels.test_plans import device, threads


def test_rows_of_whole_vectors_take_a_thread_for_each() -> None:
    """2^17 rows of 1024 f32 are 2^25 accesses of 16 bytes: 2^17 blocks, not four times as many that would idle."""
    plan = plans_indexing.index_select(1 << 17, 1024, 4, device())
    assert plan.grid == (1 << 17, 1, 1) and plan.block == (256, 1, 1) and plan.variant == "packs"
    assert plans_indexing.index_select(1 << 17, 1024, 2, device()).grid == (1 << 16, 1, 1)


@given(st.integers(0, 5000), st.integers(0, 300), st.sampled_from([1, 2, 4, 8]))
def test_every_unit_has_its_thread(slices: int, right: int, itemsize: int) -> None:
    """Elements where runs end between 16-byte boundaries."""
    plan = plans_indexing.index_select(slices, right, itemsize, device())
    width = 16 // itemsize if right * itemsize % 16 == 0 else 1
    units = slices * right // width
    assert units <= threads(plan) < units + 256
