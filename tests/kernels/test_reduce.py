"""Reductions of rows: every operation and dtype, any layout, any launch geometry, in one pass and in two."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import plans_rows
from rocmkern.kernels.families.reduce import DTYPES, EVERY, FLOATS, INDEXED, compared, output, state_bytes
from rocmkern.runtime import Device
from rocmkern.runtime.dim3 import DimLike
from tests.kernels.launching import layout, run, small_numbers
from tests.kernels.reduce_reference import assert_reduced, expected

Array = npt.NDArray[Any]
Geometry = tuple[int, int | tuple[int, int]]
SIZES = (1, 2, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 1023, 1024, 1025, 8191, 8193)
BLOCKS = (1, 32, 64, 100, 256, 1000, 1024, (1, 32), (3, 5), (8, 32), (32, 8), (48, 2), (128, 2), (1, 256))


def numbers(rng: np.random.Generator, t: DType, shape: tuple[int, ...]) -> Array:
    """Finite numbers whose sums and products stay inside the dtype for some hundred of them."""
    if t.is_float:
        return (rng.standard_normal(shape) * 0.5 + np.sign(rng.standard_normal(shape))).astype(t.numpy)
    low, high = (0, 2) if t.kind == "bool" else (np.iinfo(t.numpy).min, np.iinfo(t.numpy).max)
    return rng.integers(low, high, shape, dtype=np.int64 if t.kind != "unsigned" else np.uint64).astype(t.numpy)


def data_for(op: str, rng: np.random.Generator, t: DType, shape: tuple[int, ...]) -> Array:
    if op in ("sum", "mean", "prod"):
        return numbers(rng, t, shape)
    return small_numbers(rng, t, shape)


def fast(device: Device, op: str, t: DType, view: Array, cols: int, *, grid: int, block: DimLike) -> Array:
    rows = view.size // cols if cols else grid
    out = np.zeros(rows, output(op, t).numpy)
    info = layout(view)
    run(device, f"fast_{op}_{t.short}", view.size, cols, view.ndim, info, view, out, grid=grid, block=block)
    return out


def planned(device: Device, op: str, t: DType, x: Array) -> Array:
    """One pass over contiguous rows as the plan has it."""
    plan = plans_rows.reduction(*x.shape, t.itemsize, device.info)
    return fast(device, op, t, x, x.shape[1], grid=plan.first.grid[0], block=plan.first.block)


def split(device: Device, op: str, t: DType, x: Array, part: int, *, grid: int = 5, block: int = 64) -> Array:
    rows, cols = x.shape
    per_row = -(-cols // part)
    states = np.zeros(rows * per_row * state_bytes(op, t), np.uint8)
    symbols = f"split_{op}_{t.short}", f"merge_{op}_{t.short}"
    run(device, symbols[0], x.size, cols, part, 2, layout(x), x, states, grid=grid, block=block)
    out = np.zeros(rows, output(op, t).numpy)
    run(device, symbols[1], rows, cols, per_row, states, out, grid=grid, block=block)
    return out


@pytest.mark.parametrize("op", DTYPES)
def test_every_dtype_equals_numpy(device: Device, op: str) -> None:
    """Packed, evenly strided and uneven rows of every dtype, in one pass and in two, from the shipped file."""
    rng = np.random.default_rng(1)
    for t in DTYPES[op]:
        x = data_for(op, rng, t, (5, 83))
        assert_reduced(op, x, t, planned(device, op, t, x))
        assert_reduced(op, x, t, split(device, op, t, x, 48))
        columns = x.T
        assert_reduced(op, columns, t, fast(device, op, t, columns, 5, grid=1, block=(1, 64)))
        uneven = data_for(op, rng, t, (3, 4, 5)).transpose(1, 0, 2)
        cols = uneven.reshape(4, 15)
        assert_reduced(op, cols, t, fast(device, op, t, uneven, 15, grid=4, block=16))


@pytest.mark.parametrize("op", ["sum", "max", "argmin"])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    t=st.sampled_from([dtypes.float32, dtypes.bfloat16, dtypes.uint8, dtypes.int64]),
    rows=st.integers(1, 9),
    cols=st.sampled_from(SIZES) | st.integers(1, 300),
    offset=st.integers(0, 17),
    grid=st.integers(1, 7),
    block=st.sampled_from(BLOCKS),
)
@example(seed=0, t=dtypes.float32, rows=2, cols=8193, offset=1, grid=1, block=1024)
def test_any_geometry_gives_the_same(
    device: Device, op: str, seed: int, t: DType, rows: int, cols: int, offset: int, grid: int,
    block: int | tuple[int, int],
) -> None:  # fmt: skip
    """Any block, any grid, rows that start anywhere between 16-byte boundaries."""
    rng = np.random.default_rng(seed)
    whole = data_for(op, rng, t, (rows * cols + offset,))
    x = whole[offset:].reshape(rows, cols)
    out = np.zeros(rows, output(op, t).numpy)
    strided = np.lib.stride_tricks.as_strided(whole, (rows, cols), (cols * t.itemsize, t.itemsize))
    assert_reduced(op, np.ascontiguousarray(strided), t, fast(device, op, t, strided, cols, grid=grid, block=block))
    run(device, f"fast_{op}_{t.short}", x.size, cols, 2, layout(x), x, out, grid=grid, block=block)
    assert_reduced(op, x, t, out)


@pytest.mark.parametrize("op", ["sum", "mean", "prod", "logsumexp"])
def test_equal_rows_have_equal_results(device: Device, op: str) -> None:
    """To the last bit, wherever a row lies: whole or in parts, off the bounds of packs, side by side or apart."""
    rng = np.random.default_rng(4)
    for t in [t for t in DTYPES[op] if t.is_float]:
        for cols in (7, 37, 100):
            apart = np.zeros((6, 2 * cols + 1), t.numpy)
            apart[:, ::2] = np.append(rng.uniform(0.5, 1.5, cols), 0).astype(t.numpy)
            packed = np.ascontiguousarray(apart[:, ::2])
            near = [packed[:, :cols], np.ascontiguousarray(packed[:, :cols]), apart[:, ::2][:, :cols]]
            whole = [fast(device, op, t, x, cols, grid=2, block=(16, 2)) for x in near]
            parts = [split(device, op, t, x, 24) for x in near]
            for came in (whole, parts):
                assert len({value.tobytes() for results in came for value in results}) == 1, (t, cols, came)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), op=st.sampled_from(["sum", "min", "argmax", "any"]))
def test_any_layout_reduces_without_a_copy(device: Device, data: st.DataObject, op: str) -> None:
    """Axes in any order, sliced or broadcast, any number of them reduced."""
    t = data.draw(st.sampled_from([dtypes.float32, dtypes.int16]))
    shape = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    steps = [data.draw(st.sampled_from([1, 1, 2, 3])) for _ in shape]
    base = data_for(op, np.random.default_rng(data.draw(st.integers(0, 99))), t, tuple(shape))
    view = base[tuple(slice(None, None, step) for step in steps)]
    view = view.transpose(data.draw(st.permutations(range(view.ndim))))
    repeat = data.draw(st.sampled_from([0, 1, 3]))
    if repeat:
        view = np.broadcast_to(view, (repeat, *view.shape))
        view = view.transpose(data.draw(st.permutations(range(view.ndim))))
    reduced = data.draw(st.integers(0, view.ndim))
    cols = int(np.prod(view.shape[view.ndim - reduced :]))
    grid, block = data.draw(st.sampled_from([(1, 64), (3, 16), (2, (1, 32)), (1, (4, 8))]))
    came = fast(device, op, t, view, cols, grid=grid, block=block)
    assert_reduced(op, np.ascontiguousarray(view).reshape(-1, cols), t, came)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    op=st.sampled_from(["sum", "argmax", "logsumexp", "all"]),
    cols=st.integers(1, 3000),
    part=st.integers(1, 900),
    block=st.sampled_from([1, 48, 64, 256]),
)
def test_two_passes_equal_one(device: Device, seed: int, op: str, cols: int, part: int, block: int) -> None:
    """A row in parts of any length, the last one shorter."""
    x = data_for(op, np.random.default_rng(seed), dtypes.float32, (2, cols))
    came = split(device, op, dtypes.float32, x, part, block=block)
    assert_reduced(op, x, dtypes.float32, came)


def test_rows_beyond_a_16_bit_grid(device: Device) -> None:
    """G2: 65537 rows on grid.x, one block each as Candle launches them, and as the plan has it."""
    x = np.tile(np.array([3, 1, 2, 0], np.float32), (65537, 1))
    x[-1] = [0, 5, 5, 1]
    t = dtypes.float32
    candle = fast(device, "argmax", t, x, 4, grid=65537, block=4)
    assert (candle[:-1] == 0).all() and candle[-1] == 1
    assert (planned(device, "argmax", t, x) == candle).all()


@pytest.mark.parametrize("cols", [31, 64, 1025, 4096])
def test_ties_give_the_first_occurrence(device: Device, cols: int) -> None:
    """L4: of equal values the first wins, whichever thread meets it."""
    x = np.zeros((3, cols), np.float32)
    x[1, 7 % cols :] = 1
    x[2] = -0.0
    x[2, cols // 2 :] = 0.0
    t = dtypes.float32
    for block in (1024, 64, (4, 16)):
        assert fast(device, "argmax", t, x, cols, grid=3, block=block).tolist() == [0, 7 % cols, 0]
        assert fast(device, "argmin", t, x, cols, grid=3, block=block).tolist() == [0, 0, 0]
        assert split(device, "argmax", t, x, 50).tolist() == [0, 7 % cols, 0]


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_nan_is_kept_and_found(device: Device, t: DType) -> None:
    """min, max, sum and logsumexp are NaN with a NaN anywhere; argmin and argmax name the first one."""
    for place in (0, 1, 40, 99):
        x = np.linspace(-1, 1, 100).astype(t.numpy)[None].repeat(2, 0)
        x[0, place] = np.nan
        x[0, 99] = np.nan
        for op in ("min", "max", "sum", "mean", "prod", "logsumexp"):
            came = planned(device, op, t, x).astype(np.float64)
            assert np.isnan(came[0]) and not np.isnan(came[1]), op
        for op in ("argmin", "argmax"):
            assert planned(device, op, t, x)[0] == place
        assert planned(device, "any", t, np.full((1, 5), np.nan, t.numpy))[0]


@pytest.mark.parametrize("cols", [37, 2048])
@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_infinities_are_values(device: Device, t: DType, cols: int) -> None:
    """Rows of one infinity: argmax of all -inf is 0, logsumexp and softmax's sums don't turn them into NaN."""
    x = np.full((2, cols), -np.inf, t.numpy)
    x[1] = np.inf
    assert planned(device, "max", t, x).astype(float).tolist() == [-np.inf, np.inf]
    assert planned(device, "argmax", t, x).tolist() == [0, 0]
    assert planned(device, "argmin", t, x).tolist() == [0, 0]
    assert planned(device, "logsumexp", t, x).astype(float).tolist() == [-np.inf, np.inf]


def test_integers_reduce_exactly(device: Device) -> None:
    """G7: no identity of another dtype shows; values beyond 2^53 are kept."""
    rows = np.array([[-5, -7, -3]], np.int64)
    results = {op: planned(device, op, dtypes.int64, rows)[0] for op in ("max", "min", "argmax", "argmin")}
    assert results == {"max": -3, "min": -7, "argmax": 2, "argmin": 1}
    for zeros in np.zeros((1, 3), np.uint8), np.zeros((1, 1600), np.uint8):
        assert planned(device, "max", dtypes.uint8, zeros)[0] == planned(device, "argmax", dtypes.uint8, zeros)[0] == 0
    big = np.array([[2**62, -(2**62)]], np.int64)
    assert planned(device, "max", dtypes.int64, big)[0] == 2**62
    assert planned(device, "min", dtypes.int64, big)[0] == -(2**62)
    assert planned(device, "sum", dtypes.uint8, np.array([[200, 100]], np.uint8))[0] == 44


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_short_floats_accumulate_in_f32(device: Device, t: DType) -> None:
    """The mean of 100000 ones is 1, which f16 and bf16 could not count to."""
    x = np.ones((1, 100_000), t.numpy)
    assert planned(device, "mean", t, x)[0] == 1
    with np.errstate(over="ignore"):
        assert planned(device, "sum", t, x)[0] == np.float64(100_000).astype(t.numpy)


def test_same_bits_on_every_run(device: Device) -> None:
    """A sum's order depends on sizes and geometry alone."""
    x = np.random.default_rng(3).standard_normal((4, 5000)).astype(np.float32)
    first = [planned(device, "sum", dtypes.float32, x), split(device, "sum", dtypes.float32, x, 512)]
    for _ in range(3):
        again = [planned(device, "sum", dtypes.float32, x), split(device, "sum", dtypes.float32, x, 512)]
        assert [a.tobytes() for a in again] == [a.tobytes() for a in first]


@pytest.mark.parametrize(("op", "identity"), [("sum", 0), ("prod", 1), ("any", False), ("all", True)])
def test_empty_rows_give_the_identity(device: Device, op: str, identity: float) -> None:
    """Rows without elements, one block each."""
    for t in (dtypes.float32, dtypes.int8):
        came = fast(device, op, t, np.empty((3, 0), t.numpy), 0, grid=3, block=1)
        assert came.tolist() == [identity] * 3


@pytest.mark.parametrize("t", [*FLOATS, dtypes.uint32], ids=str)
def test_older_sum_adds_to_what_is_there(device: Device, t: DType) -> None:
    """Candle's sum_*: any axes by length and stride, of any layout, added to out; one writer an output."""
    base = np.arange(2 * 3 * 5 * 4).reshape(4, 5, 3, 2).astype(t.numpy)
    for view in (base, base.transpose(2, 0, 3, 1), base[::2]):
        dims = view.shape
        contiguous = [int(np.prod(dims[axis + 1 :])) for axis in range(4)]
        for axes in ((0,), (1, 3), (0, 1, 2, 3)):
            lengths, strides = [dims[a] for a in axes], [contiguous[a] for a in axes]
            info = np.concatenate([layout(view), np.array(lengths + strides, np.uint64)])
            want = view.astype(np.float64).sum(axis=axes).reshape(-1) + 1
            for block in (64, 100):
                out = np.ones(want.size, t.numpy)
                run(device, f"sum_{t.short}", view.size, 4, len(axes), info, view, out, grid=2, block=block)
                np.testing.assert_array_equal(out, want.astype(t.numpy))


@pytest.mark.parametrize("op", INDEXED)
@pytest.mark.parametrize("t", sorted(set(map(compared, EVERY)), key=EVERY.index), ids=str)
def test_indices_of_long_rows_keep_64_bits(device: Device, op: str, t: DType) -> None:
    """Rows of 2³² elements and more would take 4 GiB each: their second pass runs on states as the first would leave
    them, indices beyond 32 bits; what leads there is the plan's, which always splits such rows."""
    states = np.zeros(3 * 1000, np.dtype({"names": ["value", "index"], "formats": [t.numpy, np.uint64],
                                          "offsets": [0, 8], "itemsize": 16}))  # fmt: skip
    assert states.dtype.itemsize == state_bytes(op, t)
    best, worst = (1, 5) if op == "argmin" else (5, 1)
    states["value"] = worst
    states["index"] = np.arange(3000, dtype=np.uint64) % 1000 << np.uint64(30)
    for row, part in enumerate((4, 5, 999)):
        states["value"][row * 1000 + part :: 7][: (1000 - part + 6) // 7] = best
    out = np.zeros(3, np.int64)
    run(device, f"merge_wide_{op}_{t.short}", 3, 1000 << 30, 1000, states.view(np.uint8), out, grid=2, block=64)
    assert out.tolist() == [4 << 30, 5 << 30, 999 << 30]


def test_reference_agrees_with_small_cases() -> None:
    """The oracle itself, on values worked out by hand."""
    x = np.array([[1, 5, 5], [-2, -2, 0]], np.float32)
    t = dtypes.float32
    assert expected("argmax", x, t).tolist() == [1, 2] and expected("prod", x, t).tolist() == [25, 0]
    assert expected("all", x, t).tolist() == [True, False] and EVERY[0] is dtypes.bool_
    assert abs(expected("logsumexp", np.array([[1000, 999, 1001]], np.float32), t)[0] - 1001.4076) < 1e-4
