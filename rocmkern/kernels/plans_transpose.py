"""Plans of copies and casts of strided inputs: a block a tile where the layout is a transposition.

The rule and the figures are those of kernels_hip/include/transpose.hpp; a test holds them together.
"""

from __future__ import annotations

from math import prod
from typing import Final

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels import plans

WORTHWHILE: Final = 16  # a shorter axis would leave most of a tile empty
TILE_BLOCKS: Final = 256  # a thread turns one or two
_BLOCK: Final = 128


def tile_shape(widest: int) -> tuple[int, int]:
    """Elements along the axis that lies side by side in the input and along the output's last; by the wider type."""
    edge = {1: 8, 8: 2}.get(widest, 4)
    words = 8 if widest == 1 else 16
    return TILE_BLOCKS // words * edge, words * edge


def tiles(dims: plans.Axes, strides: plans.Axes, widest: int) -> int:
    """How many tiles a copy of that layout has, axes that merge merged; 0 where it is no transposition."""
    *outer, columns = dims
    if columns < WORTHWHILE or strides[-1] in (0, 1):
        return 0
    units = [n for n, stride in zip(outer, strides, strict=False) if stride == 1 and n >= WORTHWHILE]
    if not units:
        return 0
    rows = units[-1]
    tile_rows, tile_columns = tile_shape(widest)
    return prod(outer) // rows * -(-rows // tile_rows) * -(-columns // tile_columns)


def copy(
    dims: plans.Axes, strides: plans.Axes, itemsize: int, out_itemsize: int, device: DeviceInfo
) -> plans.LaunchPlan:
    """A plan for ucopy, and for cast where it has tiles, of a strided input."""
    widest = max(itemsize, out_itemsize)
    count = tiles(dims, strides, widest)
    if not count:
        return plans.strided(dims, (strides,), (itemsize, out_itemsize), device)
    block = min(_BLOCK, device.max_threads_per_block)
    grid = min(count, device.max_grid[0], plans.WORK_ITEMS // block)
    rows, columns = tile_shape(widest)
    why = f"a transposition: {rows}×{columns} elements a block"
    return plans.LaunchPlan((grid, 1, 1), (block, 1, 1), 0, "tiles", why)
