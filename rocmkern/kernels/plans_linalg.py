"""Launch plans of factorizations and of what applies them: a block a matrix or up to 64 of its columns, a thread a
matrix or a column where there are few rows. A plan's variant is the kernel's symbol.
"""

from __future__ import annotations

from typing import Final

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.families.linalg import PANEL, THREADS
from rocmkern.kernels.plans import WORK_ITEMS, LaunchPlan, over_units, power_of_two

_FEW: Final = 64  # rows or elements that one wave has done with as soon as several, which wait for one another
_TINY: Final = 8  # rows of a matrix that a thread has done with as soon as a wave, whose lanes would find little to do
_SMALL: Final = 32  # the same on the emulator, where a wave costs the same however many lanes wait


def matrices(name: str, short: str, batch: int, length: int, device: DeviceInfo) -> LaunchPlan:
    """A block or a thread for each of that many matrices of `length` rows."""
    if _is_for_threads(batch, length, device):
        return _threads(name, short, batch, device, "a thread a matrix")
    return _blocks(f"{name}_{short}", batch, length, device, "a block a matrix")


def columns(name: str, short: str, batch: int, length: int, width: int, device: DeviceInfo) -> LaunchPlan:
    """A thread for each of `width` columns of each matrix, or a block for as many as it has in a row of threads."""
    if _is_for_threads(batch * width, length, device):
        return _threads(name, short, batch * width, device, "a thread a column")
    across = min(power_of_two(width), PANEL)
    return _blocks(f"{name}_{short}", batch * -(-width // across), length, device, f"a block {across} columns")


def rows(symbol: str, count: int, width: int, device: DeviceInfo) -> LaunchPlan:
    """A block a row of that many elements."""
    return _blocks(symbol, count, width, device, "a block a row")


def waves(count: int, bits: int, device: DeviceInfo) -> LaunchPlan:
    """A wave for as many matrices as it has 2^bits lanes for each."""
    return _waves(count, device.wave_size >> bits, 1 << bits, device)


def a_wave_each(count: int, lanes: int, device: DeviceInfo) -> LaunchPlan:
    """A wave for each of that many matrices, for which so many lanes are enough."""
    return _waves(count, 1, lanes, device)


def _waves(count: int, each: int, lanes: int, device: DeviceInfo) -> LaunchPlan:
    grid = min(-(-count // each), device.max_grid[0], WORK_ITEMS // device.wave_size)
    threads = min(power_of_two(min(count, each) * lanes), device.wave_size)  # none without a matrix
    return LaunchPlan((grid, 1, 1), (threads, 1, 1), 0, "waves", f"{each} a wave")


def _is_for_threads(count: int, length: int, device: DeviceInfo) -> bool:
    return length <= _TINY or (device.unified and length <= _SMALL and count >= length)


def _threads(name: str, short: str, count: int, device: DeviceInfo, why: str) -> LaunchPlan:
    return over_units(count, device, variant=f"{name}_each_{short}", why=f"{why} of a few rows")


def _blocks(symbol: str, count: int, length: int, device: DeviceInfo, why: str) -> LaunchPlan:
    block = PANEL if length <= _FEW else THREADS
    grid = min(count, device.max_grid[0], WORK_ITEMS // block)
    return LaunchPlan((grid, 1, 1), (block, 1, 1), 0, symbol, why)
