"""Plans of copies and casts of strided inputs: a block a tile where the layout is a transposition.

The rule and the figures are those of kernels_hip/include/transpose.hpp; a test holds them together.
"""

from __future__ import annotations

from typing import Final

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.plans import BLOCK, WORK_ITEMS, LaunchPlan, elementwise

_WORTHWHILE: Final = 16  # a shorter axis would leave most of a tile empty
Axes = tuple[int, ...]


def tile_edge(out_itemsize: int) -> int:
    """Elements along either side of a tile."""
    return 32 if out_itemsize >= 4 else 64


def tiles(dims: Axes, strides: Axes, out_itemsize: int) -> int:
    """How many tiles a copy of that layout has, axes that merge merged; 0 where it is no transposition."""
    *outer, columns = dims
    if columns < _WORTHWHILE or strides[-1] in (0, 1):
        return 0
    units = [n for n, stride in zip(outer, strides, strict=False) if stride == 1 and n >= _WORTHWHILE]
    if not units:
        return 0
    rows, edge = units[-1], tile_edge(out_itemsize)
    slices = 1
    for n in outer:
        slices *= n
    return slices // rows * -(-rows // edge) * -(-columns // edge)


def copy(dims: Axes, strides: Axes, itemsize: int, out_itemsize: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for ucopy, and for cast where it has tiles, of a strided input."""
    count = tiles(dims, strides, out_itemsize)
    if not count:
        numel = 1
        for n in dims:
            numel *= n
        return elementwise(numel, (itemsize, out_itemsize), device, contiguous=False)
    block = min(BLOCK, device.max_threads_per_block)
    grid = min(count, device.max_grid[0], WORK_ITEMS // block)
    edge = tile_edge(out_itemsize)
    return LaunchPlan((grid, 1, 1), (block, 1, 1), 0, "tiles", f"a transposition: {edge}×{edge} elements a block")
