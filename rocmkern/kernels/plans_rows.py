"""Launch plans of the kernels that work on rows: reductions in one or two passes, softmax, norms, running totals.

A block's x axis is the team of threads that shares a row, its y axis counts the teams.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.families.reduce import NORM_PACKS, NORM_THREADS, PACKS, TEAM
from rocmkern.kernels.plans import BLOCK, RESIDENT, WORK_ITEMS, LaunchPlan, pack_width, power_of_two, round_up
from rocmkern.kernels.tunable import Instance

SCANNED: Final = 4  # elements that a thread scans at a time
FEW_ROUNDS: Final = 4  # of the threads in flight: fewer leave compute units idle at the end, and rows are split
ROUNDS: Final = 8  # that splitting aims at
SHORTEST_PART_BYTES: Final = 1 << 15  # a shorter part costs more in its second pass than it gains
COLUMN_PART: Final = 128  # the same for the parts of strided rows, in elements
NARROW_ROW: Final = (1 << 32) - 1  # elements of a row that are counted in 32 bits; longer ones always take parts
LONG_PART: Final = 1 << 15  # elements of a part of a running total along the last axis


@frozen
class RowPlan:
    """One launch that finishes rows, or one over parts of `part` elements and one, `merge`, over their states."""

    first: LaunchPlan
    part: int = 0
    parts_per_row: int = 1
    merge: LaunchPlan | None = None


def teams(rows: int, width: int, device: DeviceInfo, *, variant: str, why: str) -> LaunchPlan:
    """A team of `width` threads a row, and as many rows a block as a block of the usual size holds."""
    if rows < 0:
        raise ValueError(f"plan: {rows} rows; a size can't be negative")
    width = min(width, device.max_threads_per_block)
    few = round_up(max(rows, 1) * width, device.wave_size)
    per_block = max(1, min(BLOCK, device.max_threads_per_block, few) // width)
    wanted = -(-rows // per_block)
    grid = min(wanted, device.max_grid[0], WORK_ITEMS // width)
    plan = LaunchPlan((grid, 1, 1), (width, per_block, 1), 0, variant, why)
    if rows == 0:
        return evolve(plan, why="there is nothing to do")
    if grid < wanted:
        return evolve(plan, variant=f"{variant}, striding", why=f"{why}; {wanted} blocks' work strided over")
    return plan


def reduction(
    rows: int,
    cols: int,
    itemsize: int,
    device: DeviceInfo,
    *,
    contiguous: bool = True,
    tuned: Instance | None = None,
) -> RowPlan:
    """A plan for fast_* and, where few rows are long, for split_* and merge_*.

    `contiguous` rows have their elements side by side. Where they have not, neighbouring rows are taken to be
    neighbours in memory: a thread takes a row, or a part of one. A `tuned` instance has its own widest team and packs a
    thread.
    """
    widest, packs = (TEAM, PACKS) if tuned is None else (tuned["widest"], tuned["packs"])
    if contiguous:
        width = min(widest, power_of_two(-(-cols // (packs * pack_width(itemsize)))))
        why = f"{width} thread{'s' if width > 1 else ''} a row of {cols} contiguous elements"
    else:
        width, why = 1, "a thread a row: neighbouring rows are neighbours in memory"
    width = min(width, device.max_threads_per_block)
    threads, in_flight = rows * width, RESIDENT * device.compute_units
    shortest = SHORTEST_PART_BYTES // itemsize if contiguous else COLUMN_PART
    parts = min(-(-ROUNDS * in_flight // max(threads, 1)), cols // shortest)
    parts = max(parts, -(-cols // NARROW_ROW))
    if rows == 0 or parts < 2 or (threads >= FEW_ROUNDS * in_flight and cols <= NARROW_ROW):
        return RowPlan(teams(rows, width, device, variant="rows", why=why))
    step = width * packs * pack_width(itemsize)  # of a team at a time
    steps = max(cols // parts // step, 1)
    if contiguous:
        steps = power_of_two(steps // 2 + 1)  # the power of two that is not above: other parts are slower to read
    part = steps * step
    per_row = -(-cols // part)
    why = f"{why}; {rows} row{'s' if rows > 1 else ''} leave the device idle: {per_row} parts of {part} each"
    first = teams(rows * per_row, width, device, variant="parts", why=why)
    most = device.max_threads_per_block
    merge = teams(
        rows, min(most, power_of_two(-(-per_row // PACKS))), device, variant="merge", why=f"{per_row} states a row"
    )
    return RowPlan(first, part, per_row, merge)


def normalization(rows: int, cols: int, itemsize: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for softmax, log_softmax, rmsnorm and layernorm of whole rows."""
    values = NORM_PACKS * pack_width(itemsize)
    width = min(power_of_two(-(-cols // values)), NORM_THREADS[itemsize], device.max_threads_per_block)
    fits = cols % pack_width(itemsize) == 0 and cols <= width * values
    why = f"rows of {cols} are {'kept in registers, read once' if fits else 'read once a pass'}"
    return teams(rows, width, device, variant="rows", why=why)


def attention(rows: int, keys: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for attention_*: a team of threads a query, a thread for one key or a few."""
    width = min(BLOCK, power_of_two(keys))
    return teams(rows, width, device, variant="rows", why=f"{width} thread{'s' if width > 1 else ''} for {keys} keys")


def running_total(left: int, n: int, right: int, device: DeviceInfo) -> RowPlan:
    """A plan for cumsum and cumprod along the middle axis of (left, n, right).

    With parts, split_* along n comes first, then the same scan over each row of states, then `first` with their carry.
    """
    lines = left * right
    width = min(BLOCK, power_of_two(-(-n // SCANNED))) if right == 1 else 1
    width = min(width, device.max_threads_per_block)
    shortest = LONG_PART if right == 1 else COLUMN_PART
    parts = min(-(-RESIDENT * device.compute_units // max(lines * width, 1)), n // shortest)
    part = n if parts < 2 else -(-n // parts)
    per_line = -(-n // part) if n else 1
    why = f"{width} threads a row" if right == 1 else "a thread a column, neighbours side by side"
    if per_line > 1:
        why = f"{why}; {per_line} parts of {part} elements"
    return RowPlan(teams(lines * per_line if n else 0, width, device, variant="scan", why=why), part, per_line)


def teams_of_parts(parts: int, part: int, itemsize: int, device: DeviceInfo, *, contiguous: bool) -> LaunchPlan:
    """A plan for split_* ahead of a running total: a team a part, a thread where its elements are not adjacent."""
    whole = min(TEAM, power_of_two(-(-part // (PACKS * pack_width(itemsize)))), device.max_threads_per_block)
    width = whole if contiguous else 1
    return teams(parts, width, device, variant="parts", why=f"{width} threads a part of {part}")
