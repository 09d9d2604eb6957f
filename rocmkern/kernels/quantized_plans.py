"""Launch plans of the quantized kernels. Every kernel is right for any grid; these are the fast ones.

The waves of a block and the rows of a wave follow from the device's wave size and the constants that the kernels are
compiled with, so that host and device can't disagree: a different grid changes the time and not the result.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.block_formats import Q8_1, BlockFormat
from rocmkern.kernels.families.quantized import MAX_VECTORS, ROWS, SLAB_VALUES, UNITS, VECTOR_BLOCK, rows_and_units
from rocmkern.kernels.plans import WORK_ITEMS, LaunchPlan, over_units
from rocmkern.kernels.tunable import Instance
from rocmkern.targets import is_ptx

TILE_THREADS: Final = 128
TILE_ROWS: Final = 64
TILE_VECTORS: Final = 32
BAND_ROWS: Final = 16
BAND_THREADS: Final = 256
BAND_BLOCKS: Final = 2  # of a multiprocessor
MAX_GRID_ROWS: Final = 65535  # of the y axis, for kernels whose row count is the grid's
_DEQUANTIZE_BLOCK: Final = 64
_ROW_BLOCK: Final = 128
_RESIDENT_THREADS: Final = 512  # on a compute unit, of blocks that hold several vectors
_EMULATED_BLOCKS: Final = 16  # of a matrix: no more run side by side, and each quantizes the vectors anew
_SLAB_BLOCK: Final = 128
_STREAMING_BLOCKS: Final = 64  # of a multiprocessor: few enough to quantize the vector seldom, enough to end together


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@frozen
class RowRange:
    """Rows `first` to `first + count` of a launch that takes its row count from the grid."""

    first: int
    count: int
    plan: LaunchPlan


def activations(rows: int, padded: int, device: DeviceInfo) -> tuple[RowRange, ...]:
    """Quantization of `rows` rows to q8_1: a thread takes four values, the grid's y axis is the row.

    More rows than that axis holds are taken in several launches.
    """
    block = 256
    grid_x = max(1, min(_ceil_div(padded // 4, block), WORK_ITEMS // block))
    ranges = []
    for first in range(0, rows, MAX_GRID_ROWS):
        count = min(MAX_GRID_ROWS, rows - first)
        why = f"four values a thread, rows {first} to {first + count} on the y axis"
        ranges.append(RowRange(first, count, LaunchPlan((grid_x, count, 1), (block, 1, 1), 0, "q8_1", why)))
    return tuple(ranges)


def dequantize(blocks: int, row: BlockFormat, device: DeviceInfo) -> LaunchPlan:
    """Four values a thread. Kernels of 256-value blocks count blocks by the grid, so that is exact there."""
    if row.values == Q8_1.values:
        return over_units(blocks * row.values // 4, device, variant="blocks of 32", why="four values a thread")
    why = "one block of 256 for each block of the grid, four values a thread"
    return LaunchPlan((blocks, 1, 1), (_DEQUANTIZE_BLOCK, 1, 1), 0, "blocks of 256", why)


def quantize(blocks: int, row: BlockFormat, device: DeviceInfo) -> LaunchPlan:
    """Eight lanes a block, or one for each of the 16 scales of q6_k."""
    lanes = 16 if row.name == "q6_k" else 8
    return over_units(
        blocks * lanes, device, variant=f"{lanes} lanes a block", why="one lane for each share of a block"
    )


def rows(ids: int, columns: int, device: DeviceInfo) -> LaunchPlan:
    """Selected rows: the grid's x axis is the id, its y axis shares the row in fours."""
    shares = max(1, min(_ceil_div(columns // 4, _ROW_BLOCK), MAX_GRID_ROWS))
    return LaunchPlan((ids, shares, 1), (_ROW_BLOCK, 1, 1), 0, "rows", "one id for each column of the grid")


def slabs(count: int, device: DeviceInfo) -> LaunchPlan:
    """Quantization of up to eight vectors to slabs: a thread takes 16 values of one."""
    threads = count * SLAB_VALUES // 16 * MAX_VECTORS
    return over_units(threads, device, variant="slabs", why="16 values a thread", block=_SLAB_BLOCK)


def bands(matrix_rows: int, slabs: int, device: DeviceInfo) -> LaunchPlan:
    """Up to eight vectors on NVIDIA's devices: a block takes bands of 16 rows, whose slabs its waves share. There are
    no more blocks than run side by side. They begin to copy rows while slabs are still made.
    """
    threads = min(BAND_THREADS, slabs * device.wave_size)
    grid = min(_ceil_div(matrix_rows, BAND_ROWS), BAND_BLOCKS * BAND_THREADS // threads * device.compute_units)
    why = f"{BAND_ROWS} rows a block at a time, a wave for each slab or several of {slabs}"
    return LaunchPlan((grid, 1, 1), (threads, 1, 1), 0, "bands", why, early=True)


def vectors(matrix_rows: int, most: int, name: str, device: DeviceInfo, *, tuned: Instance | None = None) -> LaunchPlan:
    """Up to `most` vectors by a matrix of the format of that name. A block takes the vectors to LDS once and then rows
    with the grid as stride; where that is much work, as it is for more than two vectors, there are no more blocks than
    run side by side. The emulator has few processors, so few blocks.
    """
    setting = {"rows": ROWS, "units": UNITS, "threads": VECTOR_BLOCK} if tuned is None else tuned.values
    threads = setting["threads"]
    per_wave, _ = rows_and_units(name, most, setting["rows"], setting["units"])
    largest = WORK_ITEMS // threads if most <= 2 else device.compute_units * _RESIDENT_THREADS // threads
    if device.unified:
        largest = min(largest, _EMULATED_BLOCKS)
    if is_ptx(device.target) and tuned is None:
        per_wave = ROWS
        if most == 1:
            largest = device.compute_units * _STREAMING_BLOCKS
    per_block = threads // device.wave_size * per_wave
    shares = max(1, _ceil_div(matrix_rows, per_block))
    grid = _ceil_div(shares, _ceil_div(shares, largest)) if most == 1 else min(shares, largest)
    why = f"{per_block} rows a block: {per_wave} for each wave of {device.wave_size}"
    return LaunchPlan((grid, 1, 1), (threads, 1, 1), 0, "vectors", why)


def matrices(matrix_rows: int, count: int, device: DeviceInfo) -> LaunchPlan:
    """More vectors: a block takes a tile of 64 rows by 32 vectors through LDS."""
    grid = (_ceil_div(matrix_rows, TILE_ROWS), min(_ceil_div(count, TILE_VECTORS), MAX_GRID_ROWS), 1)
    why = f"tiles of {TILE_ROWS} rows × {TILE_VECTORS} vectors"
    return LaunchPlan(grid, (TILE_THREADS, 1, 1), 0, "tiles", why)


def experts(matrix_rows: int, tokens: int, slots: int, device: DeviceInfo) -> LaunchPlan:
    """As for one vector, for each token (y) and slot (z)."""
    one = vectors(matrix_rows, 1, "", device)
    grid = (one.grid[0], min(tokens, MAX_GRID_ROWS), min(slots, MAX_GRID_ROWS))
    return LaunchPlan(grid, one.block, 0, "experts", one.why)
