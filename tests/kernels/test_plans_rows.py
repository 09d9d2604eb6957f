"""Plans of row kernels cover every row and element, and keep to the device's limits."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rocmkern.kernels import plans_rows
from rocmkern.kernels.families.reduce import NORM_THREADS
from rocmkern.kernels.plans import LaunchPlan
from tests.kernels.test_plans import device

ROWS = st.integers(0, 1 << 33) | st.integers(0, 300)
COLUMNS = st.integers(0, 1 << 31) | st.integers(0, 9000)
ITEMSIZE = st.sampled_from([1, 2, 4, 8])


def assert_launchable(plan: LaunchPlan, max_threads: int = 1024) -> None:
    assert plan.block[0] * plan.block[1] * plan.block[2] <= max_threads
    for grid, block in zip(plan.grid, plan.block, strict=True):
        assert grid * block < 1 << 32


@given(ROWS, COLUMNS, ITEMSIZE, st.booleans(), st.sampled_from([32, 64]), st.sampled_from([64, 256, 1024]))
@example(1, 1 << 30, 4, True, 64, 1024)
@example(1 << 33, 4, 4, True, 32, 1024)
@example(65537, 4, 4, True, 64, 1024)
def test_parts_cover_rows_exactly(
    rows: int, cols: int, itemsize: int, contiguous: bool, wave_size: int, max_threads: int
) -> None:
    """Two passes: the parts of a row reach its end and none begins beyond it; rows are on grid.x."""
    plan = plans_rows.reduction(rows, cols, itemsize, device(wave_size, max_threads), contiguous=contiguous)
    assert_launchable(plan.first, max_threads)
    assert plan.first.is_empty == (rows == 0)
    if plan.merge is None:
        assert plan.parts_per_row == 1
    else:
        assert_launchable(plan.merge, max_threads)
        assert (plan.parts_per_row - 1) * plan.part < cols <= plan.parts_per_row * plan.part
        assert plan.part % (16 // itemsize) == 0


@given(st.integers(1, 1 << 12), st.integers((1 << 32) - 2, 1 << 40), ITEMSIZE, st.booleans())
@example(1 << 12, 1 << 32, 1, True)
def test_rows_of_more_than_32_bits_take_parts(rows: int, cols: int, itemsize: int, contiguous: bool) -> None:
    """Their indices need the second pass's 64 bits, however many rows there are; a part is counted in 32."""
    plan = plans_rows.reduction(rows, cols, itemsize, device(), contiguous=contiguous)
    if cols > plans_rows.NARROW_ROW:
        assert plan.merge is not None and plan.part <= plans_rows.NARROW_ROW


def test_one_row_of_a_billion_fills_the_device() -> None:
    """1×2³⁰ takes as many blocks as the device keeps in flight, and merges their states."""
    plan = plans_rows.reduction(1, 1 << 30, 4, device())
    assert plan.merge is not None
    assert plan.first.grid[0] * plan.first.block[0] >= 304 * 2048
    assert plan.first.variant == "parts" and "leave the device idle" in plan.first.why


def test_short_rows_share_a_block() -> None:
    """2²⁰ rows of 256 f32: 16 threads a row, 16 rows a block, and a block for all of them."""
    plan = plans_rows.reduction(1 << 20, 256, 4, device())
    assert plan.merge is None and plan.first.block == (16, 16, 1) and plan.first.grid == (1 << 16, 1, 1)


def test_a_few_long_rows_are_split_and_many_are_not() -> None:
    """256 rows of 2²⁰ take parts for eight rounds of the threads in flight or more; 16384 rows fill more by themselves.

    A team of 512 takes 8192 f32 at a time, and a part is the power of two of them below three.
    """
    plan = plans_rows.reduction(256, 1 << 20, 4, device())
    assert plan.merge is not None and plan.part == 2 * 8192
    assert 8 * 304 * 2048 <= plan.first.grid[0] * 512 < 16 * 304 * 2048
    assert plans_rows.reduction(16384, 16384, 4, device()).merge is None


@given(ROWS, COLUMNS, st.sampled_from([2, 4, 8]), st.sampled_from([64, 1024]))
def test_normalization_fits_any_device(rows: int, cols: int, itemsize: int, max_threads: int) -> None:
    """The block exceeds neither the device nor its kernel; a row that is kept in registers fits four packs a thread."""
    plan = plans_rows.normalization(rows, cols, itemsize, device(max_threads=max_threads))
    assert_launchable(plan, max_threads)
    assert plan.block[0] * plan.block[1] <= NORM_THREADS[itemsize]
    if "kept in registers" in plan.why:
        assert cols * itemsize <= plan.block[0] * 64 and cols * itemsize % 16 == 0


def test_rows_of_16384_are_read_once() -> None:
    """As f32 by 1024 threads, as f16 by 512."""
    for itemsize, threads in ((4, 1024), (2, 512)):
        plan = plans_rows.normalization(16384, 16384, itemsize, device())
        assert plan.block == (threads, 1, 1) and "read once" in plan.why
    assert plans_rows.normalization(16384, 1024, 4, device()).block == (64, 4, 1)


@given(st.integers(0, 1 << 20), COLUMNS, st.integers(1, 1 << 10))
def test_running_total_parts_cover_the_axis(left: int, n: int, right: int) -> None:
    """Every element is in one part."""
    plan = plans_rows.running_total(left, n, right, device())
    assert_launchable(plan.first)
    assert n == 0 or (plan.parts_per_row - 1) * plan.part < n <= plan.parts_per_row * plan.part
