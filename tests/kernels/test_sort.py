"""Stable sorting of rows of any length; search and comparison in sorted data."""

from __future__ import annotations

import numpy as np
import pytest

from rocmkern.dtypes import BY_SHORT, DType
from rocmkern.kernels import plans_sort
from rocmkern.kernels.families.sort import FAMILY, GATED
from rocmkern.ops.creation import asarray
from rocmkern.ops.sorting import argsort, sort, top_k
from rocmkern.runtime import Device
from tests.kernels.candle import symbols
from tests.kernels.launching import NAMES, Array, bits, run, same_bits, small_numbers


def order(x: Array, *, descending: bool = False) -> Array:
    """The stable order of rows: NaN largest, -0 equal to +0; in descending order too equals keep their places."""
    with np.errstate(invalid="ignore"):
        wide = x if x.dtype.kind in "biu" else x.astype(np.float64) + 0.0
    if not descending:
        return np.argsort(wide, axis=-1, kind="stable")
    return wide.shape[-1] - 1 - np.argsort(wide[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def sorted_by_device(device: Device, x: Array, *, descending: bool = False, kept: int | None = None) -> list[Array]:
    """Values and positions, by the tensor operations that follow the plans."""
    tensor = asarray(x, device=device)
    if kept is None:
        pair = sort(tensor, descending=descending), argsort(tensor, descending=descending)
    else:
        pair = top_k(tensor, kept, largest=descending)
    return [np.asarray(t.numpy()) for t in pair]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("short", NAMES)
def test_rows_in_registers(device: Device, short: str, descending: bool) -> None:
    """Rows of one element, of a lane, of a wave and of several waves, many and few, with many equal elements."""
    rng = np.random.default_rng(14)
    dtype = BY_SHORT[short]
    for rows, ncols in ((300, 1), (37, 7), (9, 65), (3, 1023), (2, 4096)):
        x = small_numbers(rng, dtype, (rows, ncols)) if ncols > 7 else bits(rng, dtype, (rows, ncols))
        values, indices = sorted_by_device(device, x, descending=descending)
        want = order(x, descending=descending)
        assert (indices == want).all(), (rows, ncols)
        assert same_bits(values, np.take_along_axis(x, want, -1))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("short", NAMES)
def test_rows_by_radix_passes(device: Device, short: str, descending: bool) -> None:
    """Rows longer than a block holds, the last tile partial, all bytes of the keys in use."""
    rng = np.random.default_rng(15)
    dtype = BY_SHORT[short]
    for make in (bits, small_numbers):
        x = make(rng, dtype, (2, 9001))
        values, indices = sorted_by_device(device, x, descending=descending)
        want = order(x, descending=descending)
        assert (indices == want).all()
        assert same_bits(values, np.take_along_axis(x, want, -1))


@pytest.mark.parametrize("ncols", [100, 4096, 9001])
def test_every_access_is_to_live_and_written_memory(ncols: int) -> None:
    """Scratch memory outlives its launches, and no lane meets another in LDS without a barrier between."""
    x = bits(np.random.default_rng(25), BY_SHORT["f32"], (2, ncols))
    values, indices = sorted_by_device(Device("emulator:gfx942", checked=True), x)
    assert (indices == order(x)).all()
    assert same_bits(values, np.take_along_axis(x, indices, -1))


@pytest.mark.parametrize("ncols", [1025, 8192, 8193, 32000])
def test_reversed_rows_of_every_length(device: Device, ncols: int) -> None:
    """G1: [n, …, 1] is [n-1, …, 0] in ascending, [0, …, n-1] in descending order (candle 2361)."""
    x = np.arange(ncols, 0, -1, dtype=np.float32)[None]
    assert (sorted_by_device(device, x)[1] == np.arange(ncols)[::-1]).all()
    assert (sorted_by_device(device, x, descending=True)[1] == np.arange(ncols)).all()


def test_more_rows_than_a_grid_axis_of_65535(device: Device) -> None:
    """G2: rows are not counted on gridDim.y (candle-vllm 237)."""
    x = np.tile(np.array([3, 1, 2, 0], np.float32), (65537, 1))
    assert (sorted_by_device(device, x)[1] == [3, 1, 2, 0]).all()


@pytest.mark.parametrize("ncols", [50, 6000])
def test_top_k_is_the_head_of_the_order(device: Device, ncols: int) -> None:
    """Only the first `kept` columns are written, from either kind of plan."""
    x = small_numbers(np.random.default_rng(16), BY_SHORT["f16"], (5, ncols))
    values, indices = sorted_by_device(device, x, descending=True, kept=7)
    want = order(x, descending=True)[:, :7]
    assert (indices == want).all()
    assert same_bits(values, np.take_along_axis(x, want, -1))


@pytest.mark.parametrize("short", NAMES)
def test_candle_argsort_with_its_own_launch(device: Device, short: str) -> None:
    """A block a row, positions in dynamic LDS, any block size; stable, NaN last in ascending order."""
    rng = np.random.default_rng(17)
    dtype = BY_SHORT[short]
    for rows, ncols, block in ((3, 1, 1), (5, 33, 64), (2, 1025, 1024), (2, 1025, 128)):
        x = small_numbers(rng, dtype, (rows, ncols))
        pad = 1 << (ncols - 1).bit_length()
        for name, descending in (("asc", False), ("desc", True)):
            out = np.zeros((rows, ncols), np.uint32)
            symbol = f"asort_{name}_{short}"
            run(device, symbol, x, out, ncols, pad, grid=rows, block=block, shared_bytes=4 * pad)
            assert (out == order(x, descending=descending)).all(), (rows, ncols, block, name)


def test_argsort_of_a_narrowed_row(device: Device) -> None:
    """G12: the row that starts inside the memory is sorted, not the first (candle 3875)."""
    x = asarray(np.array([[1, 2, 3], [30, 10, 20]], np.float32), device=device)
    assert argsort(x[1]).numpy().tolist() == [1, 2, 0]
    assert argsort(x[1], descending=True).numpy().tolist() == [0, 2, 1]


@pytest.mark.parametrize("short", NAMES)
def test_searchsorted_finds_either_side(device: Device, short: str) -> None:
    """The number of elements below (or not above) each value; NaN is above all others."""
    rng = np.random.default_rng(18)
    dtype = BY_SHORT[short]
    x = small_numbers(rng, dtype, (1, 77))
    ordered = np.ascontiguousarray(np.take_along_axis(x, order(x), -1)[0])
    values = small_numbers(rng, dtype, 130)
    wide, wanted = (a.astype(np.float64) + 0.0 for a in (ordered, values))
    for right in (False, True):
        out = np.zeros(130, np.int64)
        run(device, f"searchsorted_{short}", 77, 130, ordered, values, out, right, grid=1)
        assert (out == np.searchsorted(wide, wanted, side="right" if right else "left")).all()


@pytest.mark.parametrize("short", NAMES)
def test_changes_mark_the_first_of_equals(device: Device, short: str) -> None:
    """-0.0 equals 0.0; each NaN is another value, as the array API's unique functions want."""
    x = small_numbers(np.random.default_rng(19), BY_SHORT[short], 500)
    out = np.zeros(500, np.bool_)
    run(device, f"changes_{short}", 500, x, out, grid=1)
    wide = x.astype(np.float64)
    assert (out == np.concatenate([[True], wide[1:] != wide[:-1]])).all()


@pytest.mark.parametrize("t", GATED, ids=str)
@pytest.mark.parametrize("experts", [1, 3, 8, 60, 128, 129, 512, 1000, 1024])
def test_largest_of_a_softmax(device: Device, t: DType, experts: int) -> None:
    """Of equal values the lower column comes first; rows that begin anywhere, any k, more rows than a block takes."""
    rng = np.random.default_rng(experts)
    gating = rng.integers(-3, 4, (37, experts)).astype(t.numpy)
    power = np.exp(gating.astype(np.float64) - 3)
    softmax = power / power.sum(axis=1, keepdims=True)
    plan = plans_sort.top_k_softmax(37, experts, device.info)
    for k in {1, min(experts, 6), experts if experts < 200 else 9}:
        best = np.argsort(-gating.astype(np.float64), axis=1, kind="stable")[:, :k]
        want = np.take_along_axis(softmax, best, 1)
        for renormalize, grid in ((False, plan.grid[0]), (True, 1)):
            weights, columns = np.zeros((37, k), np.float32), np.zeros((37, k), np.int32)
            sizes = (37, experts, k, renormalize)
            run(device, f"topk_softmax_{t.short}", gating, weights, columns, *sizes, grid=grid, block=plan.block)
            np.testing.assert_array_equal(columns, best)
            scale = want.sum(axis=1, keepdims=True) if renormalize else 1
            np.testing.assert_allclose(weights, want / scale, rtol=1e-6, atol=1e-7)


def test_largest_of_special_rows(device: Device) -> None:
    """A NaN makes its row NaN, in the order of columns; -inf gets nothing, and comes after the smallest probability."""
    gating = np.zeros((3, 9), np.float32)
    gating[0, 4] = np.nan
    gating[1, :7] = -np.inf
    gating[2] = [0, -200, 1, -np.inf, -200, 0, 0, 0, 0]
    weights, columns = np.zeros((3, 9), np.float32), np.zeros((3, 9), np.int32)
    run(device, "topk_softmax_f32", gating, weights, columns, 3, 9, 9, False, grid=1, block=(2, 16))
    assert np.isnan(weights[0]).all() and columns[0].tolist() == list(range(9))
    assert weights[1].tolist() == [0.5, 0.5] + [0] * 7 and columns[1].tolist() == [7, 8, 0, 1, 2, 3, 4, 5, 6]
    assert columns[2].tolist() == [2, 0, 5, 6, 7, 8, 1, 3, 4]


def test_candle_symbols_are_there() -> None:
    """All 14 of Candle's."""
    assert len(symbols("sort")) == 14
    assert symbols("sort") <= set(FAMILY.by_symbol)


def test_plan_tiles_are_what_the_kernels_move() -> None:
    """A tile of a plan is a block of the kernel: 4096 keys, of 8 bytes 2048."""
    assert [plans_sort.radix_tile(n) for n in (1, 2, 4, 8)] == [4096, 4096, 4096, 2048]
