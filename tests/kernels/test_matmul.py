"""Matrix products: every dtype and tile, any strides and batches, against NumPy's product in wide arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import families, plans_matmul
from rocmkern.kernels.families.matmul import (
    PLAIN_SUMS,
    SCALED,
    SCALED_TILES,
    SHORT,
    SUMS,
    TILES,
    VECTOR_KINDS,
    VECTOR_PAIRS,
    symbol,
)
from rocmkern.runtime import Device
from tests.kernels.launching import layout, run
from tests.kernels.reduce_reference import epsilon, ulp

Array = npt.NDArray[Any]
KERNELS = [(kind, t, out) for kind, (_, pairs) in TILES.items() for t, out in pairs]
F32 = (dtypes.float32, dtypes.float32)


def numbers(rng: np.random.Generator, t: DType, shape: tuple[int, ...]) -> Array:
    if t.is_float:
        return rng.standard_normal(shape).astype(t.numpy)
    limits = np.iinfo(t.numpy)
    return rng.integers(limits.min, limits.max, shape, dtype=limits.dtype, endpoint=True)


def strides(view: Array) -> list[int]:
    return [s // view.itemsize for s in view.strides]


def multiply(
    device: Device, kind: str, t: DType, out: DType, a: Array, b: Array, *, grid: int = 2, part: int | None = None,
    bias: Array | None = None,
) -> Array:  # fmt: skip
    """(batch, m, k) · (batch, k, n) of any strides through the single-stride batch; with `part` a result for each."""
    batch, m, k = a.shape
    n = b.shape[2]
    part = part or max(k, 1)
    parts = max(-(-k // part), 1)
    dst = np.full((parts * batch, m, n), 77, out.numpy)
    sizes = m, n, k, part, batch, *strides(a), *strides(b)
    finish = (None,) * 3 if kind in SCALED_TILES else (bias,) if kind in VECTOR_KINDS else ()
    block = (TILES[kind][0] if kind in TILES else SCALED_TILES[kind]).threads if kind not in VECTOR_KINDS else 256
    run(device, symbol(kind, t, out), *sizes, 0, None, a, b, *finish, dst, grid=grid, block=block)
    return dst


def assert_product(a: Array, b: Array, t: DType, out: DType, came: Array) -> None:
    if not t.is_float:
        want = np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(out.numpy)
        np.testing.assert_array_equal(came, want)
        return
    wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
    want = np.matmul(wide_a, wide_b)
    bound = ulp(want, out) / 2 + np.matmul(np.abs(wide_a), np.abs(wide_b)) * epsilon(t) * (a.shape[-1] + 1)
    assert (np.abs(came.astype(np.longdouble) - want) <= bound).all()


def arranged(rng: np.random.Generator, t: DType, shape: tuple[int, int, int], how: str) -> Array:
    """A view of that shape: rows or columns contiguous, sliced both ways, or one matrix for all."""
    batch, rows, columns = shape
    if how == "transposed":
        return numbers(rng, t, (batch, columns, rows)).transpose(0, 2, 1)
    if how == "sliced":
        return numbers(rng, t, (batch, 2 * rows, 3 * columns))[:, ::2, ::3]
    if how == "padded":
        return numbers(rng, t, (batch, rows, columns + 5))[:, :, :columns]
    if how == "shared":
        return np.broadcast_to(numbers(rng, t, (rows, columns)), shape)
    return numbers(rng, t, shape)


@pytest.mark.parametrize(("kind", "t", "out"), KERNELS, ids=lambda x: str(x))
def test_every_kernel_multiplies(device: Device, kind: str, t: DType, out: DType) -> None:
    """Tiles that are whole and tiles that are cut, both orders of both operands, more tiles than blocks."""
    rng = np.random.default_rng(1)
    tile = TILES[kind][0]
    for m, n, k, hows in (
        (tile.m, tile.n, 32, ("contiguous", "contiguous")),
        (tile.m, tile.n, 144, ("transposed", "transposed")),
        (tile.m + 4, tile.n + 8, 20, ("contiguous", "transposed")),
        (tile.m + 3, 5, 33, ("transposed", "contiguous")),
        (1, tile.n + 1, 7, ("sliced", "padded")),
    ):
        a, b = arranged(rng, t, (2, m, k), hows[0]), arranged(rng, t, (2, k, n), hows[1])
        assert_product(a, b, t, out, multiply(device, kind, t, out, a, b))


HOW = st.sampled_from(["contiguous", "transposed", "sliced", "padded", "shared"])


@pytest.mark.parametrize(("kind", "t"), [(kind, t) for kind, t, out in KERNELS if t in (*SHORT, *F32) and t == out])
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    batch=st.integers(1, 3),
    m=st.integers(1, 140),
    n=st.integers(1, 140),
    k=st.integers(1, 70),
    how=st.tuples(HOW, HOW),
    grid=st.integers(1, 9),
)
@example(seed=0, batch=1, m=64, n=64, k=16, how=("transposed", "transposed"), grid=1)
def test_any_strides_multiply_without_a_copy(
    device: Device, kind: str, t: DType, seed: int, batch: int, m: int, n: int, k: int, how: tuple[str, str], grid: int
) -> None:
    """Transposed, sliced, padded and shared operands of any size; any grid covers all tiles."""
    rng = np.random.default_rng(seed)
    a, b = arranged(rng, t, (batch, m, k), how[0]), arranged(rng, t, (batch, k, n), how[1])
    assert_product(a, b, t, t, multiply(device, kind, t, t, a, b, grid=grid))


def test_batches_broadcast_by_strides(device: Device) -> None:
    """Several batch axes, broadcast crosswise, by dims and strides in device memory."""
    rng = np.random.default_rng(4)
    a = np.broadcast_to(rng.standard_normal((3, 1, 5, 6)).astype(np.float32), (3, 4, 5, 6))
    b = np.broadcast_to(rng.standard_normal((4, 6, 7)).astype(np.float32), (3, 4, 6, 7))
    info = layout(a, b)
    dims, left, right = info.reshape(3, 4)
    batch_info = np.concatenate([dims[:2], left[:2], right[:2]])
    out = np.zeros((3, 4, 5, 7), np.float32)
    sizes = 5, 7, 6, 6, 12, 0, *left[2:].tolist(), 0, *right[2:].tolist()
    run(device, "matmul_f32", *sizes, 2, batch_info, a, b, out, grid=5)
    assert_product(a, b, *F32, out)


@pytest.mark.parametrize("kind", TILES)
def test_empty_inner_axis_gives_zeros(device: Device, kind: str) -> None:
    """k = 0 sums nothing."""
    came = multiply(device, kind, *F32, np.empty((1, 3, 0), np.float32), np.empty((1, 0, 4), np.float32))
    assert (came == 0).all()


@pytest.mark.parametrize("kind", TILES)
def test_nan_and_infinity_stay_in_their_row_and_column(device: Device, kind: str) -> None:
    """What pads a cut tile is zero on both sides, so no NaN leaks; inf · 0 is NaN as in NumPy."""
    a, b = np.ones((1, 5, 3), np.float32), np.ones((1, 3, 6), np.float32)
    a[0, 1, 2], a[0, 2, 0], b[0, 0, 4] = np.nan, np.inf, 0
    came = multiply(device, kind, *F32, a, b)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(came, a @ b)


def test_same_bits_on_every_run_and_grid(device: Device) -> None:
    """The order of the sum over k depends on nothing but k."""
    rng = np.random.default_rng(8)
    a, b = numbers(rng, dtypes.float32, (1, 70, 90)), numbers(rng, dtypes.float32, (1, 90, 65))
    results = {multiply(device, "matmul", *F32, a, b, grid=grid).tobytes() for grid in (1, 2, 4, 4)}
    assert len(results) == 1


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize(("t", "out"), VECTOR_PAIRS, ids=lambda x: str(x))
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    batch=st.integers(1, 2),
    few=st.integers(1, 8),
    many=st.integers(8, 300),
    k=st.integers(1, 300),
    how=st.tuples(HOW, HOW),
    tall=st.booleans(),
    grid=st.integers(1, 9),
)
@example(seed=1, batch=1, few=8, many=256, k=512, how=("contiguous", "contiguous"), tall=False, grid=4)
@example(seed=1, batch=1, few=8, many=256, k=512, how=("contiguous", "transposed"), tall=True, grid=4)
def test_vectors_times_a_matrix(
    device: Device, kind: str, t: DType, out: DType, seed: int, batch: int, few: int, many: int, k: int,
    how: tuple[str, str], tall: bool, grid: int,
) -> None:  # fmt: skip
    """One vector or up to eight, on either side of a matrix of any strides: every way is right for all of them."""
    rng = np.random.default_rng(seed)
    few = min(few, VECTOR_KINDS[kind][1])
    m, n = (many, few) if tall else (few, many)
    a, b = arranged(rng, t, (batch, m, k), how[0]), arranged(rng, t, (batch, k, n), how[1])
    assert_product(a, b, t, out, multiply(device, kind, t, out, a, b, grid=grid))


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize("t", [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64], ids=str)
def test_vectors_add_a_bias_to_each_column(device: Device, kind: str, t: DType) -> None:
    """As one more product of each sum, rounded once with it; of rows that are columns of the result, and of vectors."""
    rng = np.random.default_rng(6)
    few = VECTOR_KINDS[kind][1]
    for m, n in ((few, 40), (40, few), (1, 1), (3, 1)):
        if min(m, n) > few:
            continue
        a, b, bias = numbers(rng, t, (2, m, 20)), numbers(rng, t, (2, 20, n)), numbers(rng, t, (n,))
        ones, rows = np.ones((2, m, 1), t.numpy), np.broadcast_to(bias, (2, 1, n))
        came = multiply(device, kind, t, t, a, b, bias=bias)
        assert_product(np.concatenate([a, ones], 2), np.concatenate([b, rows], 1), t, t, came)


@pytest.mark.parametrize(
    ("kind", "t", "out"),
    [
        ("matmul", dtypes.float32, dtypes.float32),
        ("matmul_wide", dtypes.int8, dtypes.int32),
        ("gemm", dtypes.bfloat16, dtypes.float32),
        ("matvec_bands", dtypes.float16, dtypes.float32),
        ("matvecs_rows", dtypes.float64, dtypes.float64),
    ],
)
def test_parts_of_the_inner_axis_add_up(device: Device, kind: str, t: DType, out: DType) -> None:
    """Each part's batch of results is the product of a slice of both operands, the last of a shorter one."""
    rng = np.random.default_rng(2)
    a, b = numbers(rng, t, (2, 1, 150)), numbers(rng, t, (2, 150, 70))
    came = multiply(device, kind, t, out, a, b, grid=3, part=64).reshape(3, 2, 1, 70)
    for i, first in enumerate((0, 64, 128)):
        assert_product(a[:, :, first : first + 64], b[:, first : first + 64], t, out, came[i])


@pytest.mark.parametrize(("kind", "t", "out"), [(kind, t, out) for kind in SCALED_TILES for t, _, out in SCALED])
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True), (False, False)], ids=str)
def test_scales_and_bias_are_applied_to_the_sum(
    device: Device, kind: str, t: DType, out: DType, given: tuple[bool, bool]
) -> None:
    """Factors by row and column, then a bias by column, in f32, rounded once; each may be missing."""
    rng = np.random.default_rng(5)
    m, n, k = SCALED_TILES[kind].m + 3, 67, 80
    a = rng.integers(-8, 8, (1, m, k)).astype(t.numpy)
    b = rng.integers(-8, 8, (1, n, k)).astype(t.numpy).transpose(0, 2, 1)
    rows, columns, bias = (rng.standard_normal(size).astype(np.float32) for size in (m, n, n))
    dst = np.zeros((1, m, n), out.numpy)
    finish = (*((rows, columns) if given[0] else (None, None)), bias if given[1] else None)
    sizes = m, n, k, k, 1, *strides(a), *strides(b)
    run(device, symbol(kind, t, out), *sizes, 0, None, a, b, *finish, dst, grid=3)
    want = np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(np.float32)
    want = want * columns * rows[:, None] if given[0] else want
    want = want + bias if given[1] else want
    np.testing.assert_array_equal(dst, want.astype(out.numpy))


@pytest.mark.parametrize(("acc", "out"), [*SUMS, *PLAIN_SUMS], ids=lambda x: str(x))
def test_sums_of_parts(device: Device, acc: DType, out: DType) -> None:
    """Parts are added in their order, then scaled and rounded as in one launch."""
    rng = np.random.default_rng(6)
    batch, m, n, parts = 2, 9, 35, 7
    src = rng.integers(-99, 99, (parts, batch, m, n)).astype(acc.numpy)
    rows, columns, bias = (rng.standard_normal(size).astype(np.float32) for size in (m, n, n))
    dst = np.zeros((batch, m, n), out.numpy)
    plain = (acc, out) in PLAIN_SUMS
    finish = () if plain else (rows, columns, bias)
    run(device, symbol("matmul_sum", acc, out), m, n, batch, parts, *finish, src, dst, grid=2)
    want = src.sum(0) if plain else src.sum(0).astype(np.float32) * columns * rows[:, None] + bias
    np.testing.assert_array_equal(dst, want.astype(out.numpy))


def planned(batch: int, m: int, n: int, k: int, *how: Any, units: int, by_rows: bool = True) -> Any:
    info = evolve(Device("emulator:gfx942").info, compute_units=units)
    return plans_matmul.product(batch, m, n, k, *how, by_rows, False, info)


def test_plan_takes_the_tiles_that_finish_first() -> None:
    """Large tiles where they fill the device, smaller ones where those would leave compute units idle."""
    large = planned(1, 8192, 8192, 64, *F32, units=304)
    assert large.first.variant == "matmul_wide_f32" and large.first.grid == (4096, 1, 1) and large.total is None
    assert planned(1, 1024, 1024, 64, *F32, units=132).first.variant in ("matmul_tall_f32", "matmul_broad_f32")
    little = planned(1, 24, 4096, 64, *F32, units=64).first
    assert little.variant == "matmul_little_f32" and little.grid == (64, 1, 1) and little.block == (128, 1, 1)
    assert planned(4, 8192, 8192, 64, dtypes.int8, dtypes.int32, units=304).first.variant == "matmul_wide_i8_i32"
    assert planned(1 << 26, 64, 64, 64, *F32, units=304).first.grid[0] * 256 < 1 << 32


def test_plan_splits_long_inner_axes_of_small_results() -> None:
    """Parts begin on multiples of 64, cover k, and are taken only for products that leave compute units idle."""
    for t, out, first in (
        (dtypes.float32, dtypes.float32, "matmul"),
        (dtypes.float16, dtypes.float16, "gemm"),
        (dtypes.int8, dtypes.int32, "matmul"),
    ):
        plan = planned(1, 64, 64, 100_000, t, out, units=100)
        assert plan.first.variant.startswith(first) and plan.parts > 40 and plan.part % 64 == 0
        assert (plan.parts - 1) * plan.part < 100_000 <= plan.parts * plan.part
        assert plan.total.variant == symbol("matmul_sum", plan.partial, out)
    assert planned(1, 2048, 2048, 100_000, *F32, units=100).total is None
    assert planned(1, 64, 64, 500, *F32, units=100).total is None
    assert planned(1, 64, 64, 100_000, dtypes.int16, dtypes.int16, units=100).total is None


def test_a_tuned_plan_gives_way_where_k_is_too_short_for_its_parts() -> None:
    """The kernel of parts has f32 results: where there is one part, it is not the kernel of the product."""
    info = Device("emulator:gfx942").info
    split = next(i for i in families.instances("matmul", "f16") if i.splits == 8)
    sizes = (dtypes.float16, dtypes.float16, True, False, info)
    short, long = (plans_matmul.product(1, 64, 64, k, *sizes, tuned=split) for k in (64, 512))
    assert short == plans_matmul.product(1, 64, 64, 64, *sizes)
    assert (long.parts, long.partial, long.first.variant) == (8, dtypes.float32, split.kernels[0].symbol)


def test_plan_multiplies_few_vectors_at_the_memorys_rate() -> None:
    """Up to eight rows or columns: a wave takes rows of the other operand, also strided ones where one block has them
    all and they are short; else a block a band of its columns.
    """
    assert planned(1, 1, 4096, 4096, *F32, units=64).first.variant == "matvec_rows_f32"
    assert planned(1, 4096, 8, 4096, *F32, units=64).first.variant == "matvecs_rows_f32"
    assert planned(1, 9, 4096, 4096, *F32, units=64).first.variant == "matmul_little_f32"
    for n, k, kind in ((16, 256, "rows"), (17, 256, "bands"), (16, 257, "bands")):
        plan = planned(1, 8, n, k, *F32, units=64, by_rows=False)
        assert plan.first.variant == f"matvecs_{kind}_f32" and plan.first.grid == (1, 1, 1)
    bands = planned(1, 1, 4096, 4096, *F32, units=64, by_rows=False)
    assert bands.first.variant == "matvec_bands_f32" and bands.first.grid == (16 * bands.parts, 1, 1)
    assert str(bands).startswith("matvec_bands_f32: grid 256×1×1") and "in 16 parts of 256" in str(bands)
