"""Matrix products: every dtype and tile, any strides and batches, against NumPy's product in wide arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import plans_matmul
from rocmkern.kernels.families.matmul import TILES, symbol
from rocmkern.runtime import Device
from tests.kernels.launching import layout, root, run
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


def multiply(device: Device, kind: str, t: DType, out: DType, a: Array, b: Array, *, grid: int = 2) -> Array:
    """(batch, m, k) · (batch, k, n) of any strides through the single-stride batch."""
    batch, m, k = a.shape
    n = b.shape[2]
    dst = np.full((batch, m, n), 77, out.numpy)
    sizes = m, n, k, batch, *strides(a), *strides(b)
    run(device, symbol(kind, t, out), *sizes, 0, None, root(a), root(b), dst, grid=grid)
    return dst


def assert_product(a: Array, b: Array, t: DType, out: DType, came: Array) -> None:
    if not t.is_float:
        want = np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(out.numpy)
        np.testing.assert_array_equal(came, want)
        return
    wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
    want = np.matmul(wide_a, wide_b)
    bound = ulp(want, t) / 2 + np.matmul(np.abs(wide_a), np.abs(wide_b)) * epsilon(t) * (a.shape[-1] + 1)
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
    tile = TILES[kind][0][0]
    for m, n, k, hows in (
        (tile, tile, 32, ("contiguous", "contiguous")),
        (tile + 4, tile + 8, 20, ("contiguous", "transposed")),
        (tile + 3, 5, 33, ("transposed", "contiguous")),
        (1, tile + 1, 7, ("sliced", "padded")),
    ):
        a, b = arranged(rng, t, (2, m, k), hows[0]), arranged(rng, t, (2, k, n), hows[1])
        assert_product(a, b, t, out, multiply(device, kind, t, out, a, b))


HOW = st.sampled_from(["contiguous", "transposed", "sliced", "padded", "shared"])


@pytest.mark.parametrize("kind", TILES)
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    t=st.sampled_from([dtypes.float32, dtypes.float16]),
    batch=st.integers(1, 3),
    m=st.integers(1, 140),
    n=st.integers(1, 140),
    k=st.integers(1, 70),
    how=st.tuples(HOW, HOW),
    grid=st.integers(1, 9),
)
@example(seed=0, t=dtypes.float32, batch=1, m=64, n=64, k=16, how=("transposed", "transposed"), grid=1)
def test_any_strides_multiply_without_a_copy(
    device: Device, kind: str, seed: int, t: DType, batch: int, m: int, n: int, k: int, how: tuple[str, str], grid: int
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
    sizes = 5, 7, 6, 12, 0, *left[2:].tolist(), 0, *right[2:].tolist()
    run(device, "matmul_f32", *sizes, 2, batch_info, root(a), root(b), out, grid=5)
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


def test_plan_prefers_wide_tiles_that_fill_the_device(device: Device) -> None:
    """A large product takes 128×128 tiles, a small one 64×64; integers have one size."""
    large = plans_matmul.product(1, 8192, 8192, *F32, device.info)
    assert large.variant == "matmul_wide_f32" and large.grid == (4096, 1, 1) and large.block == (256, 1, 1)
    small = plans_matmul.product(1, 128, 384, *F32, device.info)
    assert small.variant == "matmul_f32" and small.grid == (12, 1, 1)
    assert plans_matmul.product(4, 8192, 8192, dtypes.int8, dtypes.int32, device.info).variant == "matmul_i8_i32"
    assert plans_matmul.product(1 << 26, 64, 64, *F32, device.info).grid[0] * 256 < 1 << 32
