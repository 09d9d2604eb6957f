"""Plans of row kernels cover every row and element, and keep to the device's limits."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rocmkern.kernels import plans_rows
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


def test_one_row_of_a_billion_fills_the_device() -> None:
    """1×2³⁰ takes as many blocks as the device keeps in flight, and merges their states."""
    plan = plans_rows.reduction(1, 1 << 30, 4, device())
    assert plan.merge is not None
    assert plan.first.grid[0] * plan.first.block[0] >= 304 * 2048
    assert plan.first.variant == "parts" and "leave the device idle" in plan.first.why


def test_short_rows_share_a_block() -> None:
    """2²⁰ rows of 256 f32: 16 threads a row, 16 rows a block, and each block several times that."""
    plan = plans_rows.reduction(1 << 20, 256, 4, device())
    assert plan.merge is None and plan.first.block == (16, 16, 1) and plan.first.grid == (8 * 304 * 8, 1, 1)
    assert plan.first.variant == "rows, striding" and "65536 blocks' work" in plan.first.why


@given(ROWS, COLUMNS, ITEMSIZE, st.sampled_from([64, 1024]))
def test_normalization_fits_any_device(rows: int, cols: int, itemsize: int, max_threads: int) -> None:
    """The block never exceeds the device; a row that is kept in registers fits those of its kernel."""
    plan = plans_rows.normalization(rows, cols, itemsize, device(max_threads=max_threads))
    assert_launchable(plan, max_threads)
    values = {"rows": 16, "long_rows": 32}[plan.variant]
    assert plan.variant == "rows" or plan.block[0] * plan.block[1] <= 512
    if "kept in registers" in plan.why:
        assert cols <= plan.block[0] * values and cols * itemsize % 16 == 0


def test_rows_that_fill_a_block_take_half_of_it() -> None:
    """16384 f32: 512 threads of 32 values, of which a compute unit holds two blocks."""
    plan = plans_rows.normalization(16384, 16384, 4, device())
    assert plan.variant == "long_rows" and plan.block == (512, 1, 1)
    assert plans_rows.normalization(16384, 1024, 4, device()).block == (64, 4, 1)
    assert plans_rows.norm(16384, 16384, 4, device()).block == (1024, 1, 1)
    assert plans_rows.norm(16384, 16384, 2, device()).variant == "long_rows"


@given(st.integers(0, 1 << 20), COLUMNS, st.integers(1, 1 << 10))
def test_running_total_parts_cover_the_axis(left: int, n: int, right: int) -> None:
    """Every element is in one part."""
    plan = plans_rows.running_total(left, n, right, device())
    assert_launchable(plan.first)
    assert n == 0 or (plan.parts_per_row - 1) * plan.part < n <= plan.parts_per_row * plan.part
