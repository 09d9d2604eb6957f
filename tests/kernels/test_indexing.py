"""Reading, writing and adding by index tensors; checked indices; positions of non-zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.dtypes import BY_SHORT, REAL, DType
from rocmkern.kernels import plans_indexing
from rocmkern.kernels.cache import get_kernel
from rocmkern.kernels.catalogue import INTEGERS
from rocmkern.kernels.families.indexing import FAMILY, ids_for
from rocmkern.runtime import Device
from tests.kernels.candle import symbols
from tests.kernels.launching import NAMES, Array, bits, layout, root, run, same_bits, small_numbers, unequal

CLEAN = np.full(4, 2**64 - 1, np.uint64)  # a status in which no index was found outside
PAIRS = [(i.short, t.short) for t in REAL for i in ids_for(t)]


def padding(dtype: DType) -> int:
    return int(np.iinfo(dtype.numpy).max)


def random_ids(rng: np.random.Generator, dtype: DType, bound: int, shape: Any) -> Array:
    """Indices of which some are the padding mark, some just outside, some negative where the type is signed."""
    ids = rng.integers(0, bound, shape)
    outside = [padding(dtype), min(bound, padding(dtype))] + ([-1] if dtype.kind == "signed" else [])
    return np.where(rng.random(shape) < 0.2, rng.choice(outside, shape), ids).astype(dtype.numpy)


def valid(ids: Array, bound: int) -> Array:
    """Which indices lead somewhere: Candle's padding mark doesn't, nor does one outside."""
    return (ids != np.iinfo(ids.dtype).max) & (ids >= 0) & (ids.astype(np.int64) < bound)


def add(old: Any, new: Any) -> Any:
    """One addition as the kernels do it: wrapping, or rounded once."""
    with np.errstate(over="ignore", invalid="ignore"):
        return old | new if old.dtype == np.bool_ else old + new


@pytest.mark.parametrize(("i", "short"), PAIRS)
def test_select_and_gather_read_by_index(device: Device, i: str, short: str) -> None:
    """out[l, j, r] is inp[l, ids[j], r] and inp[l, ids[l, j, r], r]; padding and indices outside read as zero."""
    rng = np.random.default_rng(7)
    index, dtype, left, bound, right = BY_SHORT[i], BY_SHORT[short], 3, 9, 5
    inp = bits(rng, dtype, (left, bound, right))
    ids = random_ids(rng, index, bound, 21)
    out = np.zeros((left, 21, right), dtype.numpy)
    run(device, f"is_{i}_{short}", out.size, 1, None, ids, inp, out, left, bound, 21, right, grid=2)
    kept = valid(ids, bound)
    want = np.where(kept[:, None], inp[:, np.where(kept, ids, 0)], np.zeros((), dtype.numpy))
    assert same_bits(out, want)

    ids = random_ids(rng, index, bound, (left, 4, right))
    out = np.zeros(ids.shape, dtype.numpy)
    run(device, f"gather_{i}_{short}", ids.size, ids, inp, out, left, bound, 4, right, grid=1)
    kept = valid(ids, bound)
    want = np.where(kept, np.take_along_axis(inp, np.where(kept, ids, 0).astype(np.int64), 1), np.zeros((), out.dtype))
    assert same_bits(out, want)


@pytest.mark.parametrize("short", ["u8", "f16", "f32", "i64"])
@pytest.mark.parametrize("right", [1, 16, 24, 1024])
def test_select_moves_whole_rows(device: Device, short: str, right: int) -> None:
    """Rows that divide into 16-byte vectors move as such, others by element."""
    rng = np.random.default_rng(8)
    dtype = BY_SHORT[short]
    inp = bits(rng, dtype, (7, right))
    ids = rng.integers(0, 7, 5).astype(np.uint32)
    out = np.zeros((5, right), dtype.numpy)
    run(device, f"is_u32_{short}", out.size, 1, None, ids, inp, out, 1, 7, 5, right, grid=3)
    assert same_bits(out, inp[ids])


@pytest.mark.parametrize("short", ["u8", "f32", "f64"])
@pytest.mark.parametrize("right", [3, 4, 64, 1000, 4096])
def test_select_takes_any_geometry(device: Device, short: str, right: int) -> None:
    """Rows by lines of threads, by a thread an access, as the plan has it; ids outside read as zeros."""
    rng = np.random.default_rng(right)
    dtype = BY_SHORT[short]
    inp = bits(rng, dtype, (2, 7, right))
    ids = random_ids(rng, BY_SHORT["i64"], 7, 9)
    kept = valid(ids, 7)
    want = np.where(kept[:, None], inp[:, np.where(kept, ids, 0)], np.zeros((), dtype.numpy))
    plan = plans_indexing.index_select(18, right, dtype.itemsize, device.info)
    for grid, block in ((3, 64), (2, (4, 16)), (1, (1, 64)), (5, (64, 2)), (plan.grid[0], plan.block)):
        out = np.zeros((2, 9, right), dtype.numpy)
        run(device, f"is_i64_{short}", out.size, 0, None, ids, inp, out, 2, 7, 9, right, grid=grid, block=block)
        assert same_bits(out, want)


def test_select_reads_strided_ids_by_their_strides(device: Device) -> None:
    """Ids that are every second element, or reversed in a broadcast, choose the rows that they say (Candle's L2)."""
    rng = np.random.default_rng(9)
    inp = bits(rng, BY_SHORT["f32"], (6, 4))
    base = rng.integers(0, 6, 20).astype(np.int64)
    for view in (base[::2], np.broadcast_to(base[:3, None], (3, 2))):
        out = np.zeros((view.size, 4), np.float32)
        run(
            device, "is_i64_f32", out.size, view.ndim, layout(view), view, inp, out, 1, 6, view.size, 4, grid=1
        )  # fmt: skip
        assert same_bits(out, inp[view.reshape(-1)])


def test_select_with_more_ids_than_rows(device: Device) -> None:
    """The output is as long as the ids, not as the source (candle 1022)."""
    t = np.arange(12, dtype=np.float32).reshape(4, 3)
    ids = np.array([0, 2, 1, 0, 2, 1], np.uint32)
    out = np.full((6, 3), -1, np.float32)
    run(device, "is_u32_f32", 18, 1, None, ids, t, out, 1, 4, 6, 3, grid=1)
    assert (out == t[ids]).all()
    t, ids, out = np.array([[1, 2], [3, 4]], np.float32), np.array([1, 0, 1], np.uint32), np.zeros((2, 3), np.float32)
    run(device, "is_u32_f32", 6, 1, None, ids, t, out, 2, 2, 3, 1, grid=1)
    assert out.tolist() == [[2, 1, 2], [4, 3, 4]]


def test_largest_u8_id_is_padding_even_when_the_axis_has_it(device: Device) -> None:
    """Row 255 can't be selected by u8 ids in Candle's kernels; check_ids gives i64 ids that can."""
    inp = np.arange(300, dtype=np.float32)
    ids = np.array([254, 255], np.uint8)
    out = np.ones(2, np.float32)
    run(device, "is_u8_f32", 2, 1, None, ids, inp, out, 1, 300, 2, 1, grid=1)
    assert out.tolist() == [254, 0]
    wide = np.zeros(2, np.int64)
    run(device, "check_ids_u8", 2, 1, None, ids, wide, 300, CLEAN.copy(), grid=1)
    run(device, "is_i64_f32", 2, 1, None, wide, inp, out, 1, 300, 2, 1, grid=1)
    assert out.tolist() == [254, 255]


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_gather_of_any_layout_follows_torch(device: Device, data: st.DataObject) -> None:
    """Ids smaller than the source off the axis, permuted or broadcast sources and ids (Candle's L3)."""
    rng = np.random.default_rng(10)
    nd = data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(0, nd - 1))
    shape = data.draw(st.tuples(*[st.integers(1, 6)] * nd))
    ids_shape = tuple(data.draw(st.integers(1, 9 if d == axis else n)) for d, n in enumerate(shape))
    order = data.draw(st.permutations(range(nd)))
    source = bits(rng, BY_SHORT["u32"], tuple(shape[d] for d in order)).transpose(np.argsort(order))
    ids = rng.integers(0, shape[axis], tuple(ids_shape[d] for d in order)).astype(np.int64).transpose(np.argsort(order))
    if data.draw(st.booleans()):
        ids = np.broadcast_to(ids[:1], ids_shape)
    part = source[tuple(slice(None) if d == axis else slice(0, n) for d, n in enumerate(ids_shape))]
    out = np.zeros(ids_shape, np.uint32)
    info = layout(ids, part)
    info[2 * nd + axis] = 0
    stride = part.strides[axis] // 4
    run(
        device, "gather_strided_u32", out.size, nd, info, -8, memory_of(ids), source, out, shape[axis], stride, None,
        grid=1, block=16,
    )  # fmt: skip
    assert same_bits(out, np.take_along_axis(part, ids, axis))


def memory_of(ids: Array) -> Array:
    """The bytes of indices of any layout, as kernels take them that have no type for each."""
    return root(ids).reshape(-1).view(np.uint8)


def reported(ids: Array, bound: int) -> tuple[Array, list[int]]:
    """Where each index leads, none below 0, and what a status holds of the first that leads nowhere."""
    at = [n + bound if n < 0 else n for n in map(int, ids.reshape(-1))]
    outside = [i for i, n in enumerate(at) if not 0 <= n < bound]
    places = np.reshape([n if 0 <= n < bound else -1 for n in at], ids.shape)
    return places, [outside[0], int(ids.reshape(-1)[outside[0]]) % 2**64] if outside else CLEAN[:2].tolist()


@pytest.mark.parametrize("i", [d.short for d in INTEGERS])
@pytest.mark.parametrize("short", ["u8", "u16", "u32", "u64"])
def test_reading_reports_the_first_index_outside(device: Device, i: str, short: str) -> None:
    """Of any type, layout and geometry; negative indices count from the end, those outside read as zero."""
    rng = np.random.default_rng(11)
    index, dtype = BY_SHORT[i], BY_SHORT[short]
    kind = index.itemsize * (-1 if index.kind == "signed" else 1)
    right, bound = 16, 6
    inp = bits(rng, dtype, (2, bound, right))
    for outside in ([], [31], [20, 9, 40], list(range(42))):
        flat = rng.integers(-bound if index.kind == "signed" else 0, bound, 42).astype(index.numpy)
        flat[outside] = rng.choice([6, 100, *([-7] if index.kind == "signed" else [])], len(outside))
        for ids, info in ((flat, None), (flat.reshape(6, 7).T, layout(flat.reshape(6, 7).T))):
            places, told = reported(ids, bound)
            found = np.where(places[..., None] < 0, 0, inp[:, places]).astype(dtype.numpy)
            for grid, block in ((7, 64), (3, (4, 16))):
                out, status = np.zeros(found.shape, dtype.numpy), CLEAN.copy()
                run(
                    device, f"select_{short}", out.size, ids.ndim, info, kind, memory_of(ids), inp, out, 2, bound,
                    ids.size, right, status, grid=grid, block=block,
                )  # fmt: skip
                assert same_bits(out, found) and status[:2].tolist() == told
        ids = flat[:36].reshape(6, 6).T
        places, told = reported(ids, bound)
        chosen = np.take_along_axis(inp[0, :, :6], np.where(places < 0, 0, places), 0)
        out, status = np.zeros((6, 6), dtype.numpy), CLEAN.copy()
        info = np.concatenate([layout(ids), np.array([0, 1], np.uint64)])
        run(
            device, f"gather_strided_{short}", 36, 2, info, kind, memory_of(ids), inp[0].copy(), out, 6, right, status,
            grid=2, block=5,
        )  # fmt: skip
        assert same_bits(out, np.where(places < 0, 0, chosen).astype(dtype.numpy)) and status[:2].tolist() == told


@pytest.mark.parametrize(("i", "short"), PAIRS)
def test_writes_by_index_keep_the_order_of_the_source(device: Device, i: str, short: str) -> None:
    """The last write wins; additions go in the order of j, each rounded; padding and indices outside are skipped."""
    rng = np.random.default_rng(12)
    index, dtype, left, count, bound, right = BY_SHORT[i], BY_SHORT[short], 2, 30, 7, 3
    inp = small_numbers(rng, dtype, (left, count, right))
    before = small_numbers(rng, dtype, (left, bound, right))
    row_ids = random_ids(rng, index, bound, count)
    ids = random_ids(rng, index, bound, inp.shape)
    spread = np.broadcast_to(row_ids[:, None], inp.shape)
    extents = (left, count, bound, right)
    for symbol, chosen, adds in (("ia", spread, True), ("s", ids, False), ("sa", ids, True)):
        out = before.copy()
        given_ids = (row_ids, count) if chosen is spread else (ids,)
        run(device, f"{symbol}_{i}_{short}", *given_ids, inp, out, *extents, grid=1, block=64)
        places = np.where(valid(chosen, bound), chosen.astype(np.int64), -1)
        assert not unequal(out, written(before, places, inp, adds=adds)), symbol


def written(before: Array, places: Array, inp: Array, *, adds: bool) -> Array:
    """What becomes of a (left, axis, right) with values written or added along the axis in order; none at -1."""
    result = before.copy()
    for left, j, r in zip(*np.nonzero(places >= 0), strict=True):
        slot = (left, int(places[left, j, r]), r)
        result[slot] = add(result[slot], inp[left, j, r]) if adds else inp[left, j, r]
    return result


@pytest.mark.parametrize("short", NAMES)
def test_writing_reports_the_first_index_outside(device: Device, short: str) -> None:
    """As reading does; what the other indices name is written."""
    rng = np.random.default_rng(14)
    dtype, left, count, bound, right = BY_SHORT[short], 2, 9, 7, 3
    inp, before = (small_numbers(rng, dtype, (left, n, right)) for n in (count, bound))
    for outside in ([], [40, 22, 31]):
        flat = rng.integers(-bound, bound, inp.size)
        flat[outside] = [bound, -bound - 1, 2**40][: len(outside)]
        places, told = reported(flat.reshape(inp.shape), bound)
        out, status = before.copy(), CLEAN.copy()
        extents = (left, count, bound, right)
        run(device, f"scatter_add_{short}", flat, inp, out, *extents, status, grid=1, block=64)
        assert not unequal(out, written(before, places, inp, adds=True)) and status[:2].tolist() == told
        if short not in ("u8", "u16", "u32", "u64"):
            continue
        out, status = before.copy(), CLEAN.copy()
        run(device, f"scatter_{short}", flat, inp, out, *extents, status, grid=1, block=64)
        assert not unequal(out, written(before, places, inp, adds=False)) and status[:2].tolist() == told
        lines = flat[20 : 20 + count].copy()
        places, told = reported(lines, bound)
        out, status = before.copy(), CLEAN.copy()
        run(device, f"index_copy_{short}", lines, count, inp, out, *extents, status, grid=1, block=64)
        places = np.broadcast_to(places[:, None], inp.shape)
        assert not unequal(out, written(before, places, inp, adds=False)) and status[:2].tolist() == told


@pytest.mark.parametrize("short", NAMES)
def test_tiles_in_lds_are_written_in_order(device: Device, short: str) -> None:
    """Columns side by side or one a row, more positions than a block holds; what is outside is told of and skipped."""
    rng, dtype = np.random.default_rng(15), BY_SHORT[short]
    columns = 16
    for left, right, count, bound in ((1, 37, 150, 40), (5, 3, 270, 7)):
        inp, before = (small_numbers(rng, dtype, (left, n, right)) for n in (count, bound))
        flat = rng.integers(-bound, bound, inp.size)
        flat[[405, 220, 311]] = bound, -bound - 1, 2**40
        places, told = reported(flat.reshape(inp.shape), bound)
        for symbol, adds in (("scatter_add_tiles", True), ("scatter_tiles", False)):
            if adds or short in ("u8", "u16", "u32", "u64"):
                out, status = np.empty_like(before), CLEAN.copy()
                extents = (left, count, bound, right)
                run(device, f"{symbol}_{short}", columns, flat, inp, before, out, *extents, status, grid=2, block=256)
                assert not unequal(out, written(before, places, inp, adds=adds)) and status[:2].tolist() == told


@pytest.mark.parametrize("right", [3, 8])
@pytest.mark.parametrize("short", NAMES)
def test_sorted_index_add_sums_each_row_in_order(device: Device, short: str, right: int) -> None:
    """With the ids' order at hand each row of the result is a thread's own: added in the order of j, rounded once."""
    rng = np.random.default_rng(24)
    dtype, left, count, bound = BY_SHORT[short], 2, 40, 7
    inp = small_numbers(rng, dtype, (left, count, right))
    out = small_numbers(rng, dtype, (left, bound, right))
    ids = random_ids(rng, BY_SHORT["i64"], bound, count)
    wide = out.astype(np.float32) if dtype.is_float and dtype.itemsize < 4 else out.copy()
    for j in np.flatnonzero(valid(ids, bound)):
        wide[:, ids[j]] = add(wide[:, ids[j]], inp[:, j].astype(wide.dtype))
    order = np.argsort(ids, kind="stable").astype(np.int64)
    run(device, f"ia_sorted_{short}", order, ids, count, inp, out, left, bound, right, grid=3, block=64)
    assert same_bits(out, wide.astype(out.dtype))


def test_scatter_and_add_with_duplicates(device: Device) -> None:
    """Candle's own cases: ids [0, 1, 1] accumulate; of three writes to one place the last stays."""
    out = np.ones((4, 2), np.float32)
    inp = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    run(device, "ia_u32_f32", np.array([0, 1, 1], np.uint32), 3, inp, out, 4, 3, 2, 1, grid=4)
    assert out.tolist() == [[2, 6], [5, 12], [8, 18], [11, 24]]
    row = np.zeros((1, 5), np.float32)
    run(device, "s_u32_f32", np.array([[3, 3, 1]], np.uint32), np.float32([[6, 7, 8]]), row, 1, 3, 5, 1, grid=1)
    assert row.tolist() == [[0, 8, 0, 7, 0]]
    run(device, "sa_u32_f32", np.array([[3, 3, 1]], np.uint32), np.float32([[6, 7, 8]]), row, 1, 3, 5, 1, grid=1)
    assert row.tolist() == [[0, 16, 0, 20, 0]]


@pytest.mark.parametrize("i", [d.short for d in INTEGERS])
def test_checked_ids_report_the_first_outside(device: Device, i: str) -> None:
    """Negative indices count from the end; the first outside is reported with its value, and replaced by padding."""
    dtype = BY_SHORT[i]
    ids = (np.arange(3000) % 50).astype(dtype.numpy)
    expected = ids.astype(np.int64)
    if dtype.kind == "signed":
        ids[10], expected[10] = -50, 0
    out, status = np.zeros(3000, np.int64), CLEAN.copy()
    run(device, f"check_ids_{i}", 3000, 1, None, ids, out, 50, status, grid=7)
    assert (out == expected).all()
    assert (status == CLEAN).all()
    for position, value in ((2999, 50), (1500, padding(dtype)), (700, 51 if dtype.kind == "unsigned" else -51)):
        ids[position], expected[position] = value, 2**63 - 1
        run(device, f"check_ids_{i}", 3000, 1, None, ids, out, 50, status := CLEAN.copy(), grid=7)
        assert (out == expected).all()
        assert status[:2].tolist() == [position, value % 2**64]
        assert (status[2:] == CLEAN[2:]).all()


def test_checked_ids_of_any_layout_and_none(device: Device) -> None:
    """Strided ids come out dense; no ids at all are fine for every bound."""
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    out, status = np.zeros(24, np.int64), CLEAN.copy()
    run(device, "check_ids_i32", 24, 2, layout(base.T), base, out, 24, status, grid=2)
    assert (out == base.T.reshape(-1)).all()
    run(device, "check_ids_i32", 0, 1, None, base, out, 0, status, grid=1)
    assert (status == CLEAN).all()


@pytest.mark.parametrize("short", NAMES)
def test_nonzero_positions_ascend(device: Device, short: str) -> None:
    """NaN counts as non-zero, -0.0 as zero; positions ascend over tiles and blocks of any size."""
    rng = np.random.default_rng(13)
    x = small_numbers(rng, BY_SHORT[short], 2500)
    want = np.flatnonzero(x.astype(np.float64) != 0)
    for tile, grid, block in ((512, 2, 256), (1000, 9, 64), (99, 3, 64)):
        tiles = -(-x.size // tile)
        counts = np.zeros(tiles + 1, np.uint64)
        run(device, f"nonzero_count_{short}", x.size, tile, x, counts, grid=grid, block=block)
        run(device, "nonzero_scan", tiles, counts, grid=1, block=block)
        assert counts[-1] == want.size
        out = np.zeros(want.size, np.int64)
        run(device, f"nonzero_write_{short}", x.size, tile, x, counts, out, grid=grid, block=block)
        assert (out == want).all()


def test_scan_of_more_tiles_than_threads(device: Device) -> None:
    """The one block walks along the counts."""
    counts = np.arange(1001, dtype=np.uint64)
    run(device, "nonzero_scan", 1000, counts, grid=1, block=128)
    assert (counts == np.concatenate([[0], np.cumsum(np.arange(1000))])).all()


def test_unravel_gives_numpy_coordinates(device: Device) -> None:
    """One row per axis, as NumPy's nonzero returns them."""
    dims = np.array([3, 1, 5, 7], np.uint64)
    flat = np.array([0, 104, 35, 34, 6, 7], np.int64)
    out = np.zeros((4, 6), np.int64)
    run(device, "nonzero_unravel", 6, 4, dims, flat, out, grid=1)
    assert (out == np.array(np.unravel_index(flat, (3, 1, 5, 7)))).all()


def test_candle_symbols_are_there() -> None:
    """All 125 of Candle's."""
    assert len(symbols("indexing")) == 125
    assert symbols("indexing") <= set(FAMILY.by_symbol)


def test_rows_beyond_four_billion_elements(device: Device) -> None:
    """L8: offsets are 64-bit: the last row of 2^33 elements is read, gathered and written, not one that wrapped."""
    rows, right = 1 << 20, 1 << 13
    memory = device.alloc(rows * right)
    last = (rows - 1) * right
    row = bits(np.random.default_rng(23), BY_SHORT["u8"], right)
    memory.copy_from_host(row, offset_bytes=last)
    ids, out = device.alloc(8), device.alloc(right)
    ids.copy_from_host(np.array([rows - 1], np.int64))

    def launch(symbol: str, *args: object) -> None:
        get_kernel("indexing", symbol, device)(*args, grid=8, block=256)
        device.synchronize()

    launch("is_i64_u8", right, 1, None, ids, memory, out, 1, rows, 1, right)
    assert (out.copy_to_host() == row).all()
    launch("index_copy_u8", ids, 1, out, memory.at(0), 1, 1, rows, right, None)
    written = np.empty(right, np.uint8)
    memory.copy_to_host(written, offset_bytes=last)
    assert (written == row).all()
    ids.copy_from_host(np.array([last + 5], np.int64))
    launch("gather_i64_u8", 1, ids, memory, out, 1, rows * right, 1, 1)
    assert out.copy_to_host()[0] == row[5]
    launch("sa_i64_u8", ids, out, memory, 1, 1, rows * right, 1)
    memory.copy_to_host(written, offset_bytes=last)
    assert written[5] == (2 * int(row[5])) % 256
