"""Launch plans of convolutions: as a matrix product in tiles where that pays, else one thread an output."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.dtypes import DType
from rocmkern.kernels.families import instances
from rocmkern.kernels.families.conv import TILED
from rocmkern.kernels.plans import WORK_ITEMS, LaunchPlan, over_units
from rocmkern.kernels.tunable import Instance
from rocmkern.targets import is_ptx

FEWEST_CHANNELS: Final = 8  # per group: with fewer, most of a tile's rows are empty
MOST_PIXELS: Final = 1 << 30
DEEP: Final = 256  # steps along channels × kernel from which the second tile is the faster


def windows(length: int, reach: int, step: int, pad: int, ceil: bool = False) -> int:
    """How many windows an axis has: whole ones, or with `ceil` also one that begins inside the image or before it."""
    room = length + 2 * pad - reach
    count = (-(-room // step) if ceil else room // step) + 1
    return count - 1 if ceil and (count - 1) * step >= length + pad else count


def convolution(
    batch: int,
    channels_out: int,
    pixels_in: int,
    pixels_out: int,
    groups: int,
    t: DType,
    device: DeviceInfo,
    *,
    contiguous_weights: bool = True,
    depth: int = 0,
    tuned: Instance | None = None,
) -> LaunchPlan:
    """A plan for conv2d_tiles or conv2d_axes, the two that take any geometry; its variant is the symbol.

    `pixels_in` and `pixels_out` are heights times widths; `contiguous_weights` says that the weights of one output
    channel lie side by side, `depth` how many those are. Deep steps pay on NVIDIA, and would leave few blocks in AMD's
    LDS; a `tuned` instance has a tile of its own.
    """
    per_group = channels_out // groups
    reasons = {
        f"{t} has no tiles": t not in TILED,
        f"{per_group} channels a group fill no tile": per_group < FEWEST_CHANNELS,
        "the weights of a channel are strided": not contiguous_weights,
        "the image has 2³⁰ pixels or more": max(pixels_in, pixels_out) >= MOST_PIXELS,
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    if why is not None:
        symbol = f"conv2d_axes_{t.short}"
        return over_units(batch * channels_out * pixels_out, device, variant=symbol, why=f"{why}: a thread an output")
    is_deep = is_ptx(device.target) and depth >= DEEP
    tile = instances("conv2d", t.short)[int(is_deep)] if tuned is None else tuned
    channels, pixels = tile["channels"], tile["pixels"]
    tiles = batch * groups * -(-per_group // channels) * -(-pixels_out // pixels)
    threads = channels // tile["thread_channels"] * pixels // tile["thread_pixels"]
    grid = min(tiles, device.max_grid[0], WORK_ITEMS // threads)
    why = f"{tiles} tiles of {channels} channels × {pixels} pixels"
    plan = LaunchPlan((grid, 1, 1), (threads, 1, 1), 0, tile.kernels[0].symbol, why)
    return evolve(plan, why="there is nothing to do") if tiles == 0 else plan


def planned(
    shape: tuple[int, ...],
    pixels_in: int,
    groups: int,
    t: DType,
    contiguous_weights: bool,
    depth: int,
    device: DeviceInfo,
    *,
    tuned: Instance | None = None,
) -> LaunchPlan:
    """`convolution` for a result of that shape (b, c, h, w)."""
    batch, channels, height, width = shape
    sizes = batch, channels, pixels_in, height * width, groups
    return convolution(*sizes, t, device, contiguous_weights=contiguous_weights, depth=depth, tuned=tuned)
