"""Launch plans: the geometry of a launch as data, worked out from sizes and the device's limits, without a device.

AMD's dispatch packet counts work-items in 32 bits per axis, so grid × block stays below 2³²; the kernels' loops stride
over the grid and are right for any.
"""

from __future__ import annotations

from math import prod
from typing import Final

from attrs import evolve, frozen

from rocmkern.drivers.protocol import DeviceInfo, Dims

VECTOR_BYTES: Final = 16
BLOCK: Final = 256
RESIDENT: Final = 2048  # threads that a compute unit keeps in flight
WORK_ITEMS: Final = (1 << 32) - 1

Axes = tuple[int, ...]


@frozen
class LaunchPlan:
    """How a kernel is launched, and why so. A plan of no work has an empty grid and is not launched."""

    grid: Dims
    block: Dims
    shared_bytes: int
    variant: str
    why: str
    early: bool = False  # what the launch ahead writes is all that the kernel has to wait for, which it does itself

    @property
    def is_empty(self) -> bool:
        return 0 in self.grid

    def __str__(self) -> str:
        lds = f", {self.shared_bytes} bytes of LDS" if self.shared_bytes else ""
        return f"{self.variant}: grid {_dims(self.grid)}, block {_dims(self.block)}{lds}; {self.why}"


def _dims(dims: Dims) -> str:
    return "×".join(map(str, dims))


def round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def power_of_two(n: int) -> int:
    """The smallest one that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def over_units(units: int, device: DeviceInfo, *, variant: str, why: str, block: int = BLOCK) -> LaunchPlan:
    """One thread a unit in one dimension; where that is more than a grid holds, a full grid that strides."""
    if units < 0:
        raise ValueError(f"plan: {units} units of work; a size can't be negative")
    block = min(block, device.max_threads_per_block, round_up(max(units, 1), device.wave_size))
    wanted = -(-units // block)
    grid = min(wanted, device.max_grid[0], WORK_ITEMS // block)
    plan = LaunchPlan((grid, 1, 1), (block, 1, 1), 0, variant, why)
    if units == 0:
        return evolve(plan, why="there is nothing to do")
    if grid < wanted:
        return evolve(plan, variant=f"{variant}, striding", why=f"{why}; {units} units are more than one grid holds")
    return plan


def one_block(units: int, device: DeviceInfo) -> LaunchPlan:
    """One block of whole waves, whose threads share what they find."""
    threads = min(BLOCK, device.max_threads_per_block, round_up(max(units, 1), device.wave_size))
    return LaunchPlan((1, 1, 1), (threads, 1, 1), 0, "one block", f"{units} units of work are few")


def pack_width(*itemsizes: int) -> int:
    """Elements of one 16-byte access when the widest operand decides."""
    return VECTOR_BYTES // max(itemsizes)


def elementwise(numel: int, itemsizes: tuple[int, ...], device: DeviceInfo) -> LaunchPlan:
    """A plan for affine, unary, binary, ternary, cast, fill and const_set of contiguous operands.

    `itemsizes` are those of all operands, the result included. The launch is right for unaligned memory too, where the
    kernel takes elements.
    """
    width = pack_width(*itemsizes)
    packs, rest = divmod(numel, width)
    why = f"all operands are contiguous: {_accesses(width)}"
    if len(itemsizes) > 2:
        return over_units(packs + rest, device, variant="packs", why=f"{why} a thread")
    return over_units(-(-packs // 2) + rest, device, variant="packs", why=f"{why}, two of them a thread")


def long_elementwise(numel: int, itemsizes: tuple[int, ...], device: DeviceInfo) -> LaunchPlan:
    """The same for functions of one operand that take as long to compute as memory takes to deliver.

    There a thread's own beginning counts: where the device stays full, a thread goes on to as much again.
    """
    width = pack_width(*itemsizes)
    packs, rest = divmod(numel, width)
    threads = -(-packs // 4) + rest
    if threads < RESIDENT * device.compute_units:
        return elementwise(numel, itemsizes, device)
    why = f"all operands are contiguous: {_accesses(width)}, two of them a thread at a time, four in all"
    return over_units(threads, device, variant="packs", why=why, block=BLOCK // 2)


def strided(dims: Axes, strides: tuple[Axes, ...], itemsizes: tuple[int, ...], device: DeviceInfo) -> LaunchPlan:
    """The same for operands of which one at least is not contiguous; axes that merge are merged."""
    numel, width = prod(dims), pack_width(*itemsizes)
    if has_rows_of_packs(dims, strides, width):
        packs, rest = divmod(numel, width)
        why = f"packs fill the rows: {_accesses(width)} a thread"
        if packs < 2 * RESIDENT * device.compute_units:
            return over_units(packs + rest, device, variant="rows", why=why)
        return over_units(-(-packs // 2) + rest, device, variant="rows", why=f"{why}, and once more")
    return over_units(numel, device, variant="elements", why="an operand is strided: one element a thread")


def has_rows_of_packs(dims: Axes, strides: tuple[Axes, ...], width: int) -> bool:
    """Whether every operand's rows lie side by side, or are of one element, and packs fill them.

    The rule is that of kernels_hip/include/elementwise.hpp; a test holds them together.
    """
    if len(dims) > 1 and dims[-1] % width:
        return False
    return all(s[-1] == 0 or (s[-1] == 1 and all(n % width == 0 for n in s[:-1])) for s in strides)


def _accesses(width: int) -> str:
    return f"{width} element{'s' if width > 1 else ''} in one 16-byte access"


def copy2d(rows: int, columns: int, src_stride: int, dst_stride: int, itemsize: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for copy2d, sizes in elements: packs where rows begin and end on 16 bytes."""
    width = pack_width(itemsize)
    if all(size % width == 0 for size in (columns, src_stride, dst_stride)):
        why = f"rows begin and end on 16 bytes: {width} elements a thread"
        return over_units(rows * columns // width, device, variant="packs", why=why)
    return over_units(rows * columns, device, variant="elements", why="rows begin between 16-byte boundaries")
