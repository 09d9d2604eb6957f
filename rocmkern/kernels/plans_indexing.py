"""Plans of reading and writing by index tensors."""

from __future__ import annotations

from typing import Final

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.plans import BLOCK, VECTOR_BYTES, WORK_ITEMS, LaunchPlan, over_units

MOVES: Final = 4  # accesses that a thread has in flight
TILE_BYTES: Final = 1 << 15  # of a block's places in LDS
TILE_COLUMNS: Final = 32  # the most of a block
_TILES: Final = 4  # of a compute unit, to fill it
_SECTOR: Final = 32  # bytes that memory gives at once
_PLACES_A_VALUE: Final = 16  # that are read and written whole in the time that a value takes on its own


def index_select(slices: int, right: int, itemsize: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for is_I_T that moves `slices` runs of `right` elements, in 16 bytes where runs divide into such.

    A run of several accesses takes a line of threads along the block's x axis, a shorter one a thread an access. A
    launch for packs is right for unaligned memory too, where the kernel takes elements.
    """
    numel, run_bytes = slices * right, right * itemsize
    packs = run_bytes % VECTOR_BYTES == 0
    accesses = run_bytes // VECTOR_BYTES if packs else right
    unit = "16 bytes" if packs else f"{itemsize} byte{'s' if itemsize > 1 else ''}"
    if accesses < MOVES or not numel:
        return over_units(slices * accesses, device, variant="units", why=f"{unit} a thread")
    most = min(BLOCK, device.max_threads_per_block)
    line = min(most, 1 << (-(-accesses // MOVES) - 1).bit_length())
    lines = most // line
    grid = min(-(-slices // lines), device.max_grid[0], WORK_ITEMS // line)
    why = f"{line} thread{'s' if line > 1 else ''} a run of {accesses} times {unit}, {MOVES} in flight"
    return LaunchPlan((grid, 1, 1), (line, lines, 1), 0, "runs", why)


def scatter_tiles(
    left: int, count: int, bound: int, right: int, itemsize: int, device: DeviceInfo
) -> tuple[LaunchPlan, int] | None:
    """A plan for (scatter_|scatter_add_)tiles_T and the columns of a tile. There is none where the `bound` places of a
    column do not fit LDS, or so few columns fit that reading their lines of memory takes longer than `count` values.
    """
    columns = left * right
    wide = min(TILE_COLUMNS, TILE_BYTES // (bound * itemsize))
    if not wide:
        return None
    wide = 1 << (wide.bit_length() - 1)
    while wide * itemsize > _SECTOR and columns // wide < _TILES * device.compute_units:
        wide //= 2
    used = wide * itemsize if right > 1 else _SECTOR
    if used < _SECTOR and _PLACES_A_VALUE * count * used < bound * _SECTOR:
        return None
    grid = min(-(-columns // wide), WORK_ITEMS // BLOCK)
    why = f"{wide} column{'s' if wide > 1 else ''} of {bound} places in LDS"
    return LaunchPlan((grid, 1, 1), (BLOCK, 1, 1), 0, "tiles", why), wide
