"""Plans of reading and writing by index: no block without work, none missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocmkern.kernels import plans_indexing
from tests.kernels.test_plans import device, threads


def test_rows_of_whole_vectors_take_a_line_of_threads() -> None:
    """2^17 rows of 1024 f32 are 256 accesses of 16 bytes each: 64 threads with four in flight, four rows a block."""
    plan = plans_indexing.index_select(1 << 17, 1024, 4, device())
    assert plan.grid == (1 << 15, 1, 1) and plan.block == (64, 4, 1) and plan.variant == "runs"
    assert plans_indexing.index_select(1 << 17, 1024, 2, device()).block == (32, 8, 1)


@given(st.integers(0, 5000), st.integers(0, 3000), st.sampled_from([1, 2, 4, 8]), st.sampled_from([64, 1024]))
def test_every_access_has_its_thread(slices: int, right: int, itemsize: int, max_threads: int) -> None:
    """Elements where runs end between 16-byte boundaries; a thread has at most four accesses of a run in flight."""
    plan = plans_indexing.index_select(slices, right, itemsize, device(max_threads=max_threads))
    accesses = right * itemsize // 16 if right * itemsize % 16 == 0 else right
    assert plan.block[0] * plan.block[1] <= max_threads and plan.is_empty == (slices * right == 0)
    if plan.variant == "runs":
        assert slices <= plan.grid[0] * plan.block[1] < slices + plan.block[1]
        assert plan.block[0] <= accesses
    else:
        assert accesses < 4 or not slices * right
        assert slices * accesses <= threads(plan) < slices * accesses + 256


@given(st.integers(1, 1 << 20), st.integers(1, 40000), st.sampled_from([1, 2, 4, 8]))
def test_tiles_hold_columns_that_fit_lds(columns: int, bound: int, itemsize: int) -> None:
    """A power of two of columns, whose places are within 32 KiB; where those of one are not, there is no plan."""
    found = plans_indexing.scatter_tiles(columns, 1, bound, 1, itemsize, device())
    assert (found is None) == (bound * itemsize > 32768)
    if found is not None:
        plan, wide = found
        assert wide in (1, 2, 4, 8, 16, 32) and wide * bound * itemsize <= 32768
        assert plan.block == (256, 1, 1) and columns <= plan.grid[0] * wide < columns + wide


def test_tiles_are_as_wide_as_memory_gives_at_once() -> None:
    """Eight columns of 1024 f32 fill LDS; of few places they are as many as leave blocks for all compute units."""
    cases = ((1 << 16, 1024, 8), (1 << 16, 9, 32), (4096, 9, 8))
    for columns, bound, wide in cases:
        found = plans_indexing.scatter_tiles(1, 1, bound, columns, 4, device())
        assert found is not None and found[1] == wide


def test_few_values_do_not_read_columns_whole() -> None:
    """A line of memory holds eight columns, LDS one of 8192 f32: 1024 values take less one by one, 8192 do not."""
    taken = [plans_indexing.scatter_tiles(1, n, 8192, 1 << 16, 4, device()) is not None for n in (1024, 8192)]
    assert taken == [False, True]
    assert plans_indexing.scatter_tiles(1 << 16, 1024, 8192, 1, 4, device()) is not None
