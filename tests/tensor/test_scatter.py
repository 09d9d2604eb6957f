"""Writing and adding by index tensors equals a loop over the values in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk

Array = npt.NDArray[Any]
WRITES = ("index_add", "index_copy", "scatter", "scatter_add")
DTYPES = ("float32", "float16", "int32", "uint8", "float64")


def loop(name: str, x: Array, ids: Array, values: Array, axis: int) -> Array:
    """One write or addition after the other."""
    out = np.moveaxis(x.copy(), axis, 0)
    source, columns = np.moveaxis(values, axis, 0), np.moveaxis(ids, axis, 0) if ids.ndim == x.ndim else ids
    for j in range(len(source)):
        places = [()] if name.startswith("index") else list(np.ndindex(out.shape[1:]))
        for c in places:
            slot = (int(columns[(j, *c)]), *c)
            out[slot] = out[slot] + source[(j, *c)] if name.endswith("add") else source[(j, *c)]
    return np.moveaxis(out, 0, axis)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(WRITES), dtype=st.sampled_from(DTYPES))
def test_equals_a_loop_in_order(data: st.DataObject, name: str, dtype: str) -> None:
    """Duplicates, negative indices, any axis; small integers, so that sums are exact in every dtype."""
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.integers(0, 9))
    x = rng.integers(0, 9, shape).astype(dtype)
    values_shape = list(shape)
    values_shape[axis] = count
    values = rng.integers(0, 9, values_shape).astype(dtype)
    ids = rng.integers(-shape[axis], shape[axis], count if name.startswith("index") else values_shape)
    tensor = rk.asarray(x)
    result = getattr(rk, name)(tensor, rk.asarray(ids), rk.asarray(values), axis=axis)
    assert (result.numpy() == loop(name, x, ids, values, axis)).all()
    assert (tensor.numpy() == x).all()


def test_float_sums_are_the_same_bits_on_every_run() -> None:
    """Additions to one place happen in the order of the values, however many there are."""
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 3, 5000)
    values = rng.standard_normal(5000).astype(np.float32)
    want = np.zeros(3, np.float32)
    np.add.at(want, ids, values)
    for name in ("scatter_add", "index_add"):
        sums = [getattr(rk, name)(rk.zeros(3), rk.asarray(ids), rk.asarray(values)).numpy() for _ in range(2)]
        assert sums[0].tobytes() == sums[1].tobytes() == want.tobytes()


@pytest.mark.parametrize(("shape", "axis"), [((5, 4100), 0), ((2100, 7, 2), 1), ((4097, 6), -1)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_many_columns_are_written_in_order(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    """What holds columns at once takes each one's values in order, from indices and a tensor of any layout."""
    rng = np.random.default_rng(2)
    count, bound = 70, shape[axis]
    x = rng.standard_normal(shape[::-1]).astype(dtype).T
    lines = [count if a == axis % len(shape) else n for a, n in enumerate(shape)]
    ids, values = rng.integers(-bound, bound, lines[::-1]).T, rng.standard_normal(lines).astype(dtype)
    for name in ("scatter_add", "scatter"):
        want = np.moveaxis(x.copy(), axis, 0)
        columns = np.indices(want.shape[1:])
        for id, value in zip(np.moveaxis(ids, axis, 0), np.moveaxis(values, axis, 0), strict=True):
            at = (id, *columns)
            want[at] = want[at] + value if name == "scatter_add" else value
        found = getattr(rk, name)(rk.asarray(x), rk.asarray(ids), rk.asarray(values), axis=axis).numpy()
        assert found.tobytes() == np.ascontiguousarray(np.moveaxis(want, 0, axis)).tobytes()


def test_index_outside_in_many_columns_is_an_index_error() -> None:
    """The first in the order of the indices is told of."""
    ids = np.zeros((3, 5000), np.int64)
    ids[1, 17], ids[2, 3] = 4, -6
    for name in ("scatter_add", "scatter"):
        with pytest.raises(IndexError, match=rf"{name}: index 4 at position 5017 on axis 0 of length 4; use -4..3"):
            getattr(rk, name)(rk.zeros((4, 5000)), rk.asarray(ids), 1.0, axis=0).numpy()


@pytest.mark.parametrize("name", WRITES)
def test_index_outside_is_an_index_error(name: str) -> None:
    """The error names the operation, the value, its position and the bound; later calls work."""
    x, values = rk.zeros((4,)), rk.ones((3,))
    with pytest.raises(IndexError, match=rf"{name}: index 4 at position 1 on axis 0 of length 4; use -4..3"):
        getattr(rk, name)(x, rk.asarray([0, 4, 9]), values).numpy()
    assert getattr(rk, name)(x, rk.asarray([0, 3, 1]), values).numpy().tolist() == [1, 1, 0, 1]


def test_shapes_that_do_not_fit_are_shape_errors() -> None:
    """Each says what came and what is wanted."""
    with pytest.raises(ValueError, match="index_add: 2 dimensions of indices; use one"):
        rk.index_add(rk.zeros((2, 2)), rk.asarray([[0]]), 1.0)
    with pytest.raises(ValueError, match=r"scatter: indices of shape \(1, 3\) for \(2, 2\); they may differ on axis 1"):
        rk.scatter(rk.zeros((2, 2)), rk.asarray([[0, 1, 1]]), 1.0)
