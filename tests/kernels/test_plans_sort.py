"""Plans of sorting keep to every limit, for rows and lengths that no test machine could hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_sort
from rocmkern.kernels.plans import WORK_ITEMS
from tests.kernels.test_plans import device

ROWS = st.integers(1, 1 << 33) | st.integers(1, 300)
COLUMNS = st.integers(1, (1 << 32) - 1) | st.integers(1, 9000)


@given(ROWS, COLUMNS, st.sampled_from([1, 2, 4, 8]), st.sampled_from([32, 64]))
def test_every_row_is_sorted_within_the_limits(rows: int, ncols: int, itemsize: int, wave_size: int) -> None:
    """G1, G2: blocks of at most 512 threads, no dynamic LDS, rows on grid.x, and every entry has its thread."""
    plan = plans_sort.sort(rows, ncols, itemsize, device(wave_size))
    for launch in (plan.sort, plan.scan, plan.keys):
        assert launch.block[0] <= 512 and launch.block[0] % wave_size == 0 and launch.shared_bytes == 0
        assert launch.grid[0] * launch.block[0] <= WORK_ITEMS and launch.grid[1:] == (1, 1)
    if plan.is_radix:
        tile = plans_sort.radix_tile(itemsize)
        assert ncols > 4096 and (plan.tiles - 1) * tile < ncols <= plan.tiles * tile
        assert (plan.passes, plan.totals, plan.counts) == (itemsize, rows * 256, rows * 256 * plan.tiles)
    else:
        assert ncols <= 8 * plan.lanes < 2 * ncols + 16
        assert plan.lanes & (plan.lanes - 1) == 0 and plan.sort.block[0] % plan.lanes == 0


@pytest.mark.parametrize("ncols", [1025, 8192, 8193, 32000, 128256])
def test_candle_launch_fits_lds_or_says_so(ncols: int) -> None:
    """G1: never more than 1024 threads or the LDS of the device; longer rows get a reason (candle 2361)."""
    if ncols <= 16384:
        plan = plans_sort.candle_argsort(3, ncols, device())
        assert plan.block == (1024, 1, 1) and plan.shared_bytes <= 65536
        assert plan.grid == (3, 1, 1)
    else:
        with pytest.raises(ShapeError, match=rf"3 rows of {ncols} elements need \d+ bytes of LDS, test:0 has 65536"):
            plans_sort.candle_argsort(3, ncols, device())


def test_rows_beyond_32_bit_positions_are_refused() -> None:
    """Positions are u32."""
    with pytest.raises(ShapeError, match="rows of 4294967296 elements; positions are 32 bits"):
        plans_sort.sort(1, 1 << 32, 4, device())


def test_plans_say_what_they_do() -> None:
    """A plan reads as its geometry and its reason."""
    assert str(plans_sort.sort(65536, 1024, 4, device())) == (
        "registers: grid 32768×1×1, block 256×1×1; a row fits 128 threads of 8 entries"
    )
    assert str(plans_sort.sort(1, 1 << 24, 4, device())) == (
        "radix: grid 4096×1×1, block 256×1×1; a row of 16777216 is longer than 4096: 4096 tiles of 4096 keys; 4 passes"
    )


def test_nothing_to_sort_is_not_launched() -> None:
    """No rows or empty rows: an empty grid."""
    assert plans_sort.sort(0, 5, 4, device()).sort.is_empty
    assert plans_sort.sort(5, 0, 4, device()).sort.is_empty
