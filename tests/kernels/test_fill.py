"""fill, const_set and copy2d, for every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import plans
from rocmkern.runtime import Device
from tests.kernels.launching import Guarded, distance, layout, run

EVERY = pytest.mark.parametrize("dtype", dtypes.REAL, ids=str)


def _value(dtype: DType) -> Any:
    return True if dtype.kind == "bool" else -1.5 if dtype.is_float else 93


@EVERY
@pytest.mark.parametrize("size", [0, 1, 3, 16, 17, 255, 1025])
def test_fill_sets_every_element(device: Device, dtype: DType, size: int) -> None:
    """All elements and nothing around them, aligned or not, with a grid of any size."""
    for offset in (0, dtype.itemsize):
        for grid in (1, 5):
            result = Guarded(device, (size,), dtype.numpy, offset)
            run(device, f"fill_{dtype.short}", result.pointer, _value(dtype), size, grid=grid, block=64)
            assert np.array_equal(result.array(), np.full(size, _value(dtype), dtype.numpy))


@EVERY
def test_const_set_through_a_view(device: Device, dtype: DType) -> None:
    """Candle's test: a matrix of 42, its third column set, then its third row."""
    matrix, name = Guarded(device, (3, 4), dtype.numpy), f"const_set_{dtype.short}"
    first, second, third = (True, False, True) if dtype.kind == "bool" else (42, 13, 1)
    column, row = np.array([3, 4], np.uint64), np.array([4, 1], np.uint64)
    run(device, name, 12, 2, None, first, matrix.pointer, grid=1, block=64)
    run(device, name, 3, 1, column, second, matrix.at(2 * dtype.itemsize), grid=1, block=64)
    run(device, name, 4, 1, row, third, matrix.at(8 * dtype.itemsize), grid=1, block=64)
    wanted = [[first, first, second, first]] * 2 + [[third] * 4]
    assert np.array_equal(matrix.array(), np.array(wanted).astype(dtype.numpy))


@settings(max_examples=20, deadline=None)
@given(shape=st.lists(st.integers(1, 7), min_size=1, max_size=4), data=st.data())
def test_const_set_keeps_what_the_view_leaves_out(device: Device, shape: list[int], data: st.DataObject) -> None:
    """Any stepped, reversed or transposed view: the elements between stay."""
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=len(shape), max_size=len(shape)))
    owner = np.arange(int(np.prod(shape)) or 1, dtype=np.float32).reshape(shape)
    view = owner.transpose(order)[tuple(slice(None, None, step) for step in steps)]
    held = Guarded.holding(device, owner)
    where = held.at(distance(owner, view))
    run(device, "const_set_f32", view.size, view.ndim, layout(view), -7.0, where, grid=2, block=64)
    view[...] = -7.0
    assert np.array_equal(held.array(), owner)


@EVERY
@pytest.mark.parametrize(("rows", "columns"), [(0, 5), (5, 0), (1, 1), (3, 16), (7, 33), (16, 64)])
def test_copy2d_moves_a_block_of_rows(device: Device, dtype: DType, rows: int, columns: int) -> None:
    """Rows of any length between any two strides; what lies between the rows of the target stays."""
    rng = np.random.default_rng(rows * 100 + columns)
    for gap_from, gap_to in ((0, 0), (3, 1), (16, 32)):
        source = rng.integers(0, 2, (rows, columns + gap_from)).astype(dtype.numpy)
        target = rng.integers(0, 2, (rows, columns + gap_to)).astype(dtype.numpy)
        wanted = target.copy()
        wanted[:, :columns] = source[:, :columns]
        strides = (columns + gap_from, columns + gap_to)
        plan = plans.copy2d(rows, columns, *strides, dtype.itemsize, device.info)
        grid = plan.grid[0] or 1
        run(device, f"copy2d_{dtype.short}", source, target, rows, columns, *strides, grid=grid, block=plan.block)
        assert np.array_equal(target, wanted)
