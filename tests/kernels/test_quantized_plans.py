"""Launch plans of the quantized kernels: data, within the device's limits, from the constants the kernels have."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels import families
from rocmkern.kernels import quantized_plans as plans
from rocmkern.kernels.block_formats import BY_NAME
from rocmkern.kernels.families.quantized import VECTOR_COUNTS, rows_and_units
from rocmkern.kernels.plans import WORK_ITEMS

CDNA = DeviceInfo(
    "test", "test", "gfx942", 64, 304, 1024, (1024, 1024, 1024), (2**31 - 1, 65535, 65535), 65536, 2**36, False
)
DEVICES = [CDNA, evolve(CDNA, arch="gfx1100", wave_size=32)]


def test_the_emulator_gets_few_blocks() -> None:
    """Each of which takes the vector once, however many rows it goes through."""
    grids = [plans.vectors(49152, 1, "q8_0", evolve(CDNA, unified=unified)).grid[0] for unified in (True, False)]
    assert grids[0] == 16 < grids[1]


@pytest.mark.parametrize("info", DEVICES, ids=lambda d: d.arch)
@given(rows=st.integers(1, 2**31 - 1), count=st.sampled_from(VECTOR_COUNTS), name=st.sampled_from(("q4_k", "q8_0")))
def test_vectors_cover_all_rows(info: DeviceInfo, rows: int, count: int, name: str) -> None:
    """Blocks reach the last row and no further than one block, or fill the device."""
    plan = plans.vectors(rows, count, name, info)
    per_block = plan.block[0] // info.wave_size * rows_and_units(name, count)[0]
    assert plan.grid[0] * plan.block[0] <= WORK_ITEMS
    assert plan.grid[0] * per_block >= rows or plan.grid[0] >= info.compute_units
    assert (plan.grid[0] - 1) * per_block < rows


def test_a_setting_has_its_own_rows_and_threads() -> None:
    """What a tuned instance says shapes the launch: 4 rows a wave, where the default has 2 for few vectors."""
    instance = next(
        i for i in families.instances("mat_vec", "q4_k") if i.values == {"rows": 4, "units": 1, "threads": 256}
    )
    assert plans.vectors(4096, 1, "q4_k", CDNA, tuned=instance).grid == (256, 1, 1)
    assert plans.vectors(4096, 8, "q4_k", CDNA, tuned=instance).grid == (256, 1, 1)
    assert plans.vectors(4096, 1, "q4_k", CDNA).grid == (512, 1, 1)
    assert plans.vectors(4096, 1, "q8_0", CDNA).grid == (1024, 1, 1)
    assert plans.vectors(4096, 8, "q8_0", CDNA) == plans.vectors(4096, 8, "q4_k", CDNA)


def test_nvidias_blocks_are_fewer() -> None:
    """One vector: blocks that end together, each with as many rows. Slabs: what runs side by side, a wave a slab."""
    h100 = evolve(CDNA, arch="sm_90", wave_size=32, compute_units=132)
    assert [plans.vectors(rows, 1, "q4_k", h100).grid[0] for rows in (4096, 131072, 262144)] == [256, 8192, 8192]
    assert plans.slabs(16, h100).grid == (16, 1, 1)
    assert [plans.bands(rows, 16, h100).grid[0] for rows in (17, 4096, 14336)] == [2, 256, 264]
    assert plans.bands(4096, 16, h100).block == (256, 1, 1)
    assert plans.bands(4096, 16, h100).early and not plans.slabs(16, h100).early
    assert (plans.bands(131072, 2, h100).grid, plans.bands(131072, 2, h100).block) == ((1056, 1, 1), (64, 1, 1))


@given(rows=st.integers(0, 200_000), padded=st.integers(1, 2**20).map(lambda n: 32 * n))
def test_activations_split_rows_at_the_grid_limit(rows: int, padded: int) -> None:
    """Case G13: every row is in exactly one launch, and none has more than 65535 on its y axis."""
    ranges = plans.activations(rows, padded, CDNA)
    assert [r.first for r in ranges] == list(range(0, rows, 65535))
    assert sum(r.count for r in ranges) == rows
    assert all(r.plan.grid[1] == r.count <= CDNA.max_grid[1] for r in ranges)
    assert all(r.plan.grid[0] * r.plan.block[0] * 4 >= padded for r in ranges)


@given(blocks=st.integers(1, 2**26))
def test_blocks_of_256_are_counted_by_the_grid(blocks: int) -> None:
    """These kernels have no count, so the grid must be exact; those of 32 may stride."""
    assert plans.dequantize(blocks, BY_NAME["q4_k"], CDNA).grid == (blocks, 1, 1)
    plan = plans.dequantize(blocks, BY_NAME["q4_0"], CDNA)
    assert plan.grid[0] * plan.block[0] * 4 >= blocks * 32


@given(rows=st.integers(1, 10**6), count=st.integers(1, 10**7))
def test_tiles_stay_within_the_grid(rows: int, count: int) -> None:
    """The y axis holds 65535 tiles; the kernel strides over more."""
    grid = plans.matrices(rows, count, CDNA).grid
    assert grid[0] * plans.TILE_ROWS >= rows
    assert grid[1] <= 65535


def test_a_plan_says_why() -> None:
    """Printed, a plan names its geometry and the reason."""
    plan = plans.vectors(4096, 1, "q4_k", CDNA)
    assert str(plan) == "vectors: grid 512×1×1, block 256×1×1; 8 rows a block: 2 for each wave of 64"
