"""Launch plans of factorizations and of what applies them: a block a matrix, or a block up to 64 of its columns."""

from __future__ import annotations

from typing import Final

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.families.linalg import PANEL, THREADS
from rocmkern.kernels.plans import WORK_ITEMS, LaunchPlan, power_of_two

_FEW: Final = 64  # rows or elements that one wave has done with as soon as several, which wait for one another


def matrices(batch: int, length: int, device: DeviceInfo) -> LaunchPlan:
    """A block a matrix of that many rows."""
    return _blocks(batch, length, device, variant="matrices", why="a block a matrix")


def rows(count: int, width: int, device: DeviceInfo) -> LaunchPlan:
    """A block a row of that many elements."""
    return _blocks(count, width, device, variant="rows", why="a block a row")


def columns(batch: int, length: int, width: int, device: DeviceInfo) -> LaunchPlan:
    """A block as many columns of a matrix as it has in a row of threads."""
    across = min(power_of_two(width), PANEL)
    return _blocks(batch * -(-width // across), length, device, variant="columns", why=f"a block {across} columns")


def _blocks(count: int, length: int, device: DeviceInfo, *, variant: str, why: str) -> LaunchPlan:
    block = PANEL if length <= _FEW else THREADS
    grid = min(count, device.max_grid[0], WORK_ITEMS // block)
    return LaunchPlan((grid, 1, 1), (block, 1, 1), 0, variant, why)
