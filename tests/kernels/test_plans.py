"""Launch plans cover the work and keep to the limits of the device, for sizes that no test machine could hold."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels import plans

SIZES = st.integers(0, 1 << 34) | st.integers(0, 5000)


def device(wave_size: int = 64, max_threads: int = 1024, max_grid: int = (1 << 31) - 1) -> DeviceInfo:
    return DeviceInfo(
        name="test:0",
        marketing="test",
        arch="gfx942",
        wave_size=wave_size,
        compute_units=304,
        max_threads_per_block=max_threads,
        max_block=(max_threads, max_threads, max_threads),
        max_grid=(max_grid, 65535, 65535),
        lds_bytes=65536,
        total_memory=1 << 38,
        unified=False,
    )


def threads(plan: plans.LaunchPlan) -> int:
    return plan.grid[0] * plan.block[0]


@given(SIZES, st.sampled_from([1, 2, 4, 8]), st.booleans(), st.sampled_from([32, 64]), st.sampled_from([64, 256, 1024]))
@example(1 << 32, 4, False, 64, 1024)
@example((1 << 32) + 7, 1, False, 32, 1024)
@example(1 << 33, 1, False, 64, 1024)
def test_every_unit_has_a_thread_unless_the_grid_is_full(
    numel: int, itemsize: int, contiguous: bool, wave_size: int, max_threads: int
) -> None:
    """G3, G14: no plan has more work-items than 32 bits count, none is short of threads in silence."""
    where = device(wave_size, max_threads)
    width = 16 // itemsize
    if contiguous:
        plan = plans.elementwise(numel, (itemsize, itemsize), where)
        units = -(-(numel // width) // 2) + numel % width  # two packs a thread
    else:
        plan = plans.strided((numel,), ((2,),), (itemsize, itemsize), where)
        units = numel
    assert threads(plan) <= (1 << 32) - 1
    assert plan.block[0] <= max_threads and plan.block[0] % wave_size == 0
    assert plan.is_empty == (numel == 0)
    if "striding" in plan.variant:
        assert threads(plan) > (1 << 32) - 1 - plan.block[0]
    else:
        assert units <= threads(plan) < units + plan.block[0]


def test_four_billion_elements_stride_over_a_full_grid() -> None:
    """G3: 2³² strided elements would wrap a 32-bit count to an empty grid; the plan fills the grid and says so."""
    plan = plans.strided((1 << 32,), ((2,),), (4,), device())
    assert plan.grid == (16777215, 1, 1) and plan.block == (256, 1, 1)
    assert str(plan) == (
        "elements, striding: grid 16777215×1×1, block 256×1×1; an operand is strided: one element a thread; "
        "4294967296 units are more than one grid holds"
    )


def test_contiguous_elements_take_sixteen_bytes_at_a_time() -> None:
    """2²⁰ f32 are 2¹⁸ accesses of 16 bytes: of one operand, a thread has two under way."""
    plan = plans.elementwise(1 << 20, (4, 4), device())
    assert plan.grid == (512, 1, 1) and plan.variant == "packs"
    assert plan.why == "all operands are contiguous: 4 elements in one 16-byte access, two of them a thread"
    plan = plans.elementwise(1 << 20, (4, 4, 4), device())
    assert plan.grid == (1024, 1, 1)
    assert plan.why == "all operands are contiguous: 4 elements in one 16-byte access a thread"


def test_threads_take_more_where_the_device_stays_full() -> None:
    """304 compute units hold 622592 threads: 2²⁸ f32 of a long function, and rows of packs, leave threads enough."""
    plan = plans.long_elementwise(1 << 28, (4, 4), device())
    assert plan.grid == (131072, 1, 1) and plan.block == (128, 1, 1)
    assert plan.why.endswith("in one 16-byte access, two of them a thread at a time, four in all")
    assert plans.long_elementwise(1 << 23, (4, 4), device()) == plans.elementwise(1 << 23, (4, 4), device())
    broadcast = plans.strided((16384, 16384), ((16384, 1), (0, 1)), (2, 2, 2), device())
    assert broadcast.grid == (65536, 1, 1) and broadcast.why.endswith("a thread, and once more")


def test_rows_take_packs_where_packs_fill_them() -> None:
    """A row broadcast to a matrix, a column, a narrowed matrix; rows of odd lengths or begins go by element."""
    broadcast = plans.strided((512, 1024), ((1024, 1), (0, 1)), (4, 4, 4), device())
    assert broadcast.variant == "rows" and broadcast.grid == (512, 1, 1)
    assert broadcast.why == "packs fill the rows: 4 elements in one 16-byte access a thread"
    assert plans.strided((512, 1024), ((1024, 1), (1, 0)), (4, 4, 4), device()).variant == "rows"
    assert plans.strided((7, 8), ((100, 1),), (4, 4), device()).variant == "rows"
    assert plans.strided((9,), ((0,), (1,)), (4, 4, 4), device()).variant == "rows"
    for dims, strides in (((7, 9), (100, 1)), ((7, 8), (101, 1)), ((8, 8), (1, 8)), ((8,), (2,)), ((8,), (-1,))):
        assert plans.strided(dims, (strides,), (4, 4), device()).variant == "elements"


def test_widest_operand_sets_the_pack() -> None:
    """A comparison of f64 into u8 takes two elements at a time."""
    assert plans.elementwise(512, (8, 8, 1), device()).grid == (1, 1, 1)
    assert plans.elementwise(514, (8, 8, 1), device()).grid == (2, 1, 1)


def test_small_work_takes_whole_waves() -> None:
    """Ten elements take one wave, not a block of 256."""
    assert plans.elementwise(10, (8,), device(wave_size=32)).block == (32, 1, 1)
    assert plans.elementwise(10, (8,), device(wave_size=64)).block == (64, 1, 1)


def test_grid_limit_of_the_device_is_kept() -> None:
    """A device that takes 1000 blocks gets 1000, and the plan strides."""
    plan = plans.elementwise(1 << 30, (4,), device(max_grid=1000))
    assert plan.grid == (1000, 1, 1) and plan.variant == "packs, striding"


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 100), st.integers(0, 100))
def test_copy2d_covers_the_block(rows: int, columns: int, more_src: int, more_dst: int) -> None:
    """Packs only where both row strides keep 16-byte boundaries."""
    plan = plans.copy2d(rows, columns, columns + more_src, columns + more_dst, 4, device())
    packs = columns % 4 == 0 and more_src % 4 == 0 and more_dst % 4 == 0
    assert plan.variant == ("packs" if packs else "elements")
    units = rows * columns // (4 if packs else 1)
    assert units <= threads(plan) < units + 256


def test_negative_size_is_refused() -> None:
    """A negative count is a caller's mistake, not an empty launch."""
    with pytest.raises(ValueError, match="-1 units of work; a size can't be negative"):
        plans.over_units(-1, device(), variant="elements", why="")
