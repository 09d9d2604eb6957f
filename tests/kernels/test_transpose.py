"""Copies of transposed inputs: tiles through LDS, for every element size, layout and geometry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmkern.dtypes import BY_SHORT, REAL
from rocmkern.kernels import plans_transpose
from rocmkern.runtime import Device
from tests.kernels.launching import Array, bits, layout, run, same_bits
from tests.kernels.test_plans import device as device_info


def copied(device: Device, view: Array, short: str, *, grid: int, block: int = 256) -> Array:
    """What ucopy makes of a view that starts at its base's first element."""
    out = np.zeros(view.shape, view.dtype)
    run(device, f"ucopy_{short}", view.size, view.ndim, layout(view), view, out, grid=grid, block=block)
    return out


@pytest.mark.parametrize("short", [d.short for d in REAL])
def test_transposed_copies_of_every_type(device: Device, short: str) -> None:
    """Tiles that are full, cut off on either side, and of odd extents, where words of small types don't fit."""
    rng = np.random.default_rng(20)
    for rows, columns in ((64, 128), (65, 130), (16, 67), (131, 33)):
        base = bits(rng, BY_SHORT[short], (rows, columns))
        assert same_bits(copied(device, base.T, short, grid=3), np.ascontiguousarray(base.T)), (rows, columns)


@settings(max_examples=25, deadline=None)
@given(
    shape=st.lists(st.sampled_from((1, 2, 3, 16, 20, 36, 65)), min_size=2, max_size=4).filter(
        lambda s: np.prod(s) < 60000
    ),
    data=st.data(),
)
@example(shape=[3, 36, 20, 16], data=None)
def test_any_permutation_equals_numpy(device: Device, shape: list[int], data: st.DataObject | None) -> None:
    """Whatever axis lies side by side in the input, and however many axes are around the plane."""
    order = (0, 2, 3, 1) if data is None else data.draw(st.permutations(range(len(shape))))
    short = "u8" if data is None else data.draw(st.sampled_from(("u8", "f16", "f32", "f64")))
    grid, block = (2, 256) if data is None else data.draw(st.sampled_from(((1, 1024), (2, 256), (300, 64))))
    skipped = 0 if data is None else data.draw(st.integers(0, 2))  # elements at the end of each row that are left out
    base = bits(np.random.default_rng(21), BY_SHORT[short], (*shape[:-1], shape[-1] + skipped))
    view = base[..., : shape[-1]].transpose(order)
    assert same_bits(copied(device, view, short, grid=grid, block=block), np.ascontiguousarray(view))


def test_broadcast_and_reversed_inputs_keep_out_of_the_tiles(device: Device) -> None:
    """A stride of 0 or -1 is no transposition."""
    base = bits(np.random.default_rng(22), BY_SHORT["i32"], (1, 40))
    view = np.broadcast_to(base.T, (40, 40))
    assert same_bits(copied(device, view, "i32", grid=1), np.ascontiguousarray(view))
    turned = np.broadcast_to(base, (40, 40))
    assert same_bits(copied(device, turned, "i32", grid=1), np.ascontiguousarray(turned))


def test_plan_has_a_block_a_tile() -> None:
    """Blocks beyond the tiles would only take room: 16384² f32 are 256 by 256 tiles, u8 64 by 256."""
    where = device_info()
    assert plans_transpose.copy((16384, 16384), (1, 16384), 4, 4, where).grid == (256 * 256, 1, 1)
    assert plans_transpose.copy((16384, 16384), (1, 16384), 1, 1, where).grid == (64 * 256, 1, 1)
    assert plans_transpose.copy((64, 65536, 64), (4194304, 1, 65536), 4, 4, where).grid == (64 * 1024, 1, 1)
    assert plans_transpose.copy((65, 33), (1, 65), 4, 2, where).grid == (2, 1, 1)
    assert plans_transpose.copy((64, 64), (1, 64), 8, 8, where).grid == (4, 1, 1)


def test_plan_takes_no_tiles_where_the_kernel_takes_none() -> None:
    """Narrowed rows, broadcasts and short axes go by element."""
    for dims, strides in (
        ((50, 50), (60, 1)),
        ((50, 50), (1, 0)),
        ((15, 50), (1, 15)),
        ((50, 15), (1, 50)),
        ((9,), (2,)),
    ):
        assert plans_transpose.tiles(dims, strides, 4) == 0
        assert plans_transpose.copy(dims, strides, 4, 4, device_info()).variant == "elements"
