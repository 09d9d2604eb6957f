"""affine: x * mul + add, for every dtype, layout and launch geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import FLOATS, INTEGERS, NUMBERS
from rocmkern.kernels.families import affine
from rocmkern.runtime import Device
from tests.kernels import numerics
from tests.kernels.launching import elementwise, run, views


def _run(device: Device, dtype: DType, x: Any, mul: Any, add: Any, **how: Any) -> Any:
    return elementwise(device, f"affine_{dtype.short}", [x], after=(mul, add), **how)


def test_every_number_type_has_a_kernel() -> None:
    """Candle's ten, and the array API's integers."""
    assert {k.symbol for k in affine.FAMILY.kernels} == {f"affine_{d.short}" for d in NUMBERS}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_round_once(device: Device, dtype: DType) -> None:
    """The product is not rounded before the sum; f16, bf16 and f8 go through f32, which may round a tie twice."""
    x = numerics.floats(dtype)
    with np.errstate(all="ignore"):
        wanted = numerics.rounded(numerics.exact(x, dtype) * 1.5 - 0.25, dtype)
    numerics.assert_close(_run(device, dtype, x, 1.5, -0.25), wanted, 1, (x,))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap(device: Device, dtype: DType) -> None:
    """Overflow wraps, as in NumPy."""
    x = numerics.integers(dtype)
    mul, add = (113, 57) if dtype.kind == "unsigned" else (-113, 57)
    wanted = (x * dtype.numpy.type(mul) + dtype.numpy.type(add)).astype(dtype.numpy)
    assert np.array_equal(_run(device, dtype, x, mul, add), wanted)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025])
@pytest.mark.parametrize("dtype", [dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64], ids=str)
def test_any_size_and_grid(device: Device, dtype: DType, size: int) -> None:
    """Packs, the odd end, a grid too small for the work, any alignment: nothing is missed or overrun."""
    owner = (np.arange(size + 1) % 100).astype(dtype.numpy)
    candle = (-(-max(size, 1) // 1024), 1024)
    for x in (owner[:size], owner[1:]):
        for geometry in ((1, 1), (1, 64), (3, 96), (7, 256), candle):
            for offset in (0, dtype.itemsize):
                got = _run(device, dtype, x, 2, 3, geometry=geometry, offset_bytes=offset)
                assert np.array_equal(got, x * dtype.numpy.type(2) + dtype.numpy.type(3)), (geometry, offset)


def test_null_input_works_in_place(device: Device) -> None:
    """Candle passes a null input for x = x * mul + add."""
    x = np.linspace(-3, 3, 77, dtype=np.float32)
    came = x.copy()
    run(device, "affine_f32", x.size, 1, None, None, came, 2.0, 1.0, grid=1, block=64)
    assert np.array_equal(came, x * 2 + 1)


@settings(max_examples=25, deadline=None)
@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=5), data=st.data())
def test_strided_views_equal_their_copies(device: Device, shape: list[int], data: st.DataObject) -> None:
    """Transposed, stepped, reversed, broadcast and offset views give what a contiguous copy gives."""
    x = data.draw(views(tuple(shape), np.int32))
    assert np.array_equal(_run(device, dtypes.int32, x, 3, -5), x * np.int32(3) - np.int32(5))


def test_scalar_broadcast_over_one_axis(device: Device) -> None:
    """A one-axis view of stride 0 repeats its only element through the packed path."""
    x = np.broadcast_to(np.array([7], np.float32), (100,))
    assert np.array_equal(_run(device, dtypes.float32, x, 2.0, 1.0), np.full(100, 15, np.float32))
