"""Plans of reading by index tensors."""

from __future__ import annotations

from typing import Final

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.plans import BLOCK, VECTOR_BYTES, WORK_ITEMS, LaunchPlan, over_units

MOVES: Final = 4  # accesses that a thread has in flight


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
