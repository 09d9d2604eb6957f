"""Plans of sorting: rows that a block's registers hold take one launch, longer ones radix passes of 8 bits.

The figures here are those of kernels_hip/sort.hip; a test holds them together.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.errors import ShapeError
from rocmkern.kernels.plans import BLOCK, WORK_ITEMS, LaunchPlan, over_units, power_of_two, round_up
from rocmkern.kernels.plans_rows import teams

ENTRIES_PER_THREAD: Final = 8
SORT_BLOCK: Final = 512  # the largest block of sort_rows
LONGEST_REGISTER_ROW: Final = ENTRIES_PER_THREAD * SORT_BLOCK
DIGITS: Final = 256
RADIX_BLOCK: Final = 256
COUNTED: Final = 16  # elements of a thread of histogram_*
LONGEST_ROW: Final = (1 << 32) - 1  # positions are u32


def radix_tile(itemsize: int) -> int:
    """Keys that one block of a radix pass moves."""
    return RADIX_BLOCK * (8 if itemsize == 8 else 16)


@frozen
class SortPlan:
    """How rows are sorted: in registers by `lanes` threads a row, or by `passes` radix passes over tiles."""

    rows: int
    ncols: int
    lanes: int  # 0 for radix passes
    passes: int
    tiles: int  # of a row
    sort: LaunchPlan  # the whole work in registers; else each pass's count and scatter
    keys: LaunchPlan  # of sort_keys
    scan: LaunchPlan  # of radix_scan
    counts: int  # u32 words of scratch for counts, and
    totals: int  # for their sums per digit

    @property
    def is_radix(self) -> bool:
        return self.lanes == 0

    def __str__(self) -> str:
        steps = f"; {self.passes} passes" if self.is_radix else ""
        return f"{self.sort}{steps}"


def _blocks(wanted: int, block: int, device: DeviceInfo) -> int:
    return min(wanted, device.max_grid[0], WORK_ITEMS // block)


def _nothing(why: str) -> LaunchPlan:
    return LaunchPlan((0, 1, 1), (BLOCK, 1, 1), 0, "none", why)


def sort(rows: int, ncols: int, itemsize: int, device: DeviceInfo) -> SortPlan:
    """The plan of a stable sort of `rows` rows of `ncols` elements. Raises ShapeError for rows of 2³² and more."""
    if ncols > LONGEST_ROW:
        raise ShapeError(f"sort: rows of {ncols} elements; positions are 32 bits, sort at most {LONGEST_ROW} at once")
    if rows == 0 or ncols == 0:
        nothing = _nothing("there is nothing to sort")
        return SortPlan(rows, ncols, 1, 0, 0, nothing, nothing, nothing, 0, 0)
    if ncols <= LONGEST_REGISTER_ROW:
        return _in_registers(rows, ncols, device)
    return _by_radix(rows, ncols, itemsize, device)


def _in_registers(rows: int, ncols: int, device: DeviceInfo) -> SortPlan:
    lanes = power_of_two(-(-ncols // ENTRIES_PER_THREAD))
    block = max(lanes, min(BLOCK, power_of_two(max(rows * lanes, device.wave_size))))
    rows_per_block = block // lanes
    grid = _blocks(-(-rows // rows_per_block), block, device)
    why = f"a row fits {lanes} thread{'s' if lanes > 1 else ''} of {ENTRIES_PER_THREAD} entries"
    launch = LaunchPlan((grid, 1, 1), (block, 1, 1), 0, "registers", why)
    unused = _nothing("a row fits a block")
    return SortPlan(rows, ncols, lanes, 0, 0, launch, unused, unused, 0, 0)


def _by_radix(rows: int, ncols: int, itemsize: int, device: DeviceInfo) -> SortPlan:
    tile = radix_tile(itemsize)
    tiles = -(-ncols // tile)
    lines = rows * DIGITS
    why = f"a row of {ncols} is longer than {LONGEST_REGISTER_ROW}: {tiles} tiles of {tile} keys"
    blocks = _blocks(rows * tiles, RADIX_BLOCK, device)
    scan_block = min(RADIX_BLOCK, power_of_two(max(tiles, device.wave_size)))
    scan_why = f"a block a digit of a row, {tiles} counts each"
    return SortPlan(
        rows=rows,
        ncols=ncols,
        lanes=0,
        passes=itemsize,
        tiles=tiles,
        sort=LaunchPlan((blocks, 1, 1), (RADIX_BLOCK, 1, 1), 0, "radix", why),
        keys=over_units(rows * ncols, device, variant="elements", why="one key a thread"),
        scan=LaunchPlan((_blocks(lines, scan_block, device), 1, 1), (scan_block, 1, 1), 0, "scan", scan_why),
        counts=lines * tiles,
        totals=lines,
    )


def counts(elements: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for histogram_* of many elements: a thread has several, so that blocks seldom add their counts."""
    return over_units(-(-elements // COUNTED), device, variant="counts", why=f"{COUNTED} elements a thread")


def row_a_block(rows: int, ncols: int, device: DeviceInfo) -> LaunchPlan:
    """A block for each row of few elements, of which a thread compares two."""
    threads = round_up(power_of_two(ncols) // 2 or 1, device.wave_size)
    block = min(BLOCK, device.max_threads_per_block, threads)
    why = f"the positions of {ncols} elements fit a block's LDS"
    return LaunchPlan((_blocks(rows, block, device), 1, 1), (block, 1, 1), 0, "row a block", why)


def candle_argsort(rows: int, ncols: int, device: DeviceInfo) -> LaunchPlan:
    """Candle's own launch of asort_asc and asort_desc: a block a row, its positions in LDS.

    Raises ShapeError for rows that the device's LDS or grid can't take; `sort` plans those.
    """
    pad = power_of_two(max(ncols, 1))
    if 4 * pad > device.lds_bytes or rows > device.max_grid[0]:
        raise ShapeError(
            f"argsort: {rows} rows of {ncols} elements need {4 * pad} bytes of LDS, {device.name} has "
            f"{device.lds_bytes}; use sort_rows or radix passes"
        )
    block = min(1024, device.max_threads_per_block, pad)
    return LaunchPlan((rows, 1, 1), (block, 1, 1), 4 * pad, "LDS", "a block a row, positions in LDS")


def top_k_softmax(rows: int, experts: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for topk_softmax_*: lanes of one wave for each row, as many as keep about eight values each."""
    lanes = min(device.wave_size, power_of_two(-(-experts // ENTRIES_PER_THREAD)))
    return teams(rows, lanes, device, variant="rows", why=f"{lanes} lane{'s' if lanes > 1 else ''} a row of {experts}")
