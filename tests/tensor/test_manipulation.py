"""Shape operations against NumPy's: same values, same errors, views where NumPy has views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.dtypes import ALL, DType, part_of
from rocmkern.errors import AxisError, DTypeError, ShapeError
from tests.tensor.arrays import FULL_SHAPES, SHAPES, arrays, assert_same, laid_out, relaid

DTYPES = st.sampled_from(ALL)


@settings(max_examples=40)
@given(st.data())
def test_concat_and_stack(data: st.DataObject) -> None:
    """Tensors of any layouts one after another, along an axis, flat, or along a new axis."""
    dtype, shape = data.draw(DTYPES), data.draw(FULL_SHAPES)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    shapes = [tuple(n if i == axis % len(shape) else m for i, m in enumerate(shape)) for n in lengths]
    pairs = [data.draw(laid_out(dtype, s)) for s in shapes]
    tensors, values = [p[0] for p in pairs], [p[1] for p in pairs]
    assert_same(rk.concat(tensors, axis=axis), np.concatenate(values, axis), dtype)
    assert_same(rk.concat(tensors, axis=None), np.concatenate(values, None), dtype)
    at = data.draw(st.integers(-len(shape) - 1, len(shape)))
    same = [pairs[0][0], data.draw(relaid(pairs[0][1]))[0]]
    assert_same(rk.stack(same, axis=at), np.stack([values[0]] * 2, at), dtype)
    if shape[0]:
        stacked, wanted = data.draw(laid_out(dtype, shape))
        assert_same(rk.stack(stacked, axis=-1), np.stack(wanted, -1), dtype)
        assert_same(rk.concat(stacked, axis=None), np.concatenate(wanted, None), dtype)


@settings(max_examples=40)
@given(st.data())
def test_roll_tile_repeat_flip(data: st.DataObject) -> None:
    """Each equals NumPy's for any shape, layout and axis."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    shift = data.draw(st.integers(-7, 7))
    assert_same(rk.roll(t, shift), np.roll(x, shift), dtype)
    times = data.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple))
    assert_same(rk.tile(t, times), np.tile(x, times), dtype)
    assert_same(rk.repeat(t, 2), np.repeat(x, 2), dtype)
    assert_same(rk.flip(t), np.flip(x), dtype)
    if not x.ndim:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    assert_same(rk.roll(t, shift, axis=axis), np.roll(x, shift, axis), dtype)
    assert_same(rk.roll(t, (1, shift), axis=(axis, 0)), np.roll(x, (1, shift), (axis, 0)), dtype)
    assert_same(rk.repeat(t, 3, axis=axis), np.repeat(x, 3, axis), dtype)
    counts = data.draw(arrays(rk.int64, (x.shape[axis],), low=0, high=3))
    assert_same(rk.repeat(t, rk.asarray(counts), axis=axis), np.repeat(x, counts, axis), dtype)
    assert_same(rk.flip(t, axis=axis), np.flip(x, axis), dtype)


@settings(max_examples=40)
@given(st.data())
def test_axes_moved_added_dropped(data: st.DataObject) -> None:
    """permute_dims, moveaxis, expand_dims, squeeze, broadcast_to, unstack: NumPy's values, no copies."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    order = data.draw(st.permutations(range(x.ndim)))
    moved = rk.permute_dims(t, tuple(order))
    assert moved.memory is t.memory
    assert_same(moved, x.transpose(order), dtype)
    at = data.draw(st.integers(-x.ndim - 1, x.ndim))
    grown = rk.expand_dims(t, axis=at)
    assert_same(grown, np.expand_dims(x, at), dtype)
    assert_same(rk.squeeze(grown, at), x, dtype)
    wide = (2, *x.shape)
    assert rk.broadcast_to(t, wide).memory is t.memory
    assert_same(rk.broadcast_to(t, wide), np.broadcast_to(x, wide), dtype)
    assert [a.shape for a in rk.broadcast_arrays(t, rk.expand_dims(t, axis=0))] == [(1, *x.shape)] * 2
    if not x.ndim:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    assert_same(rk.moveaxis(t, axis, 0), np.moveaxis(x, axis, 0), dtype)
    for got, expected in zip(rk.unstack(t, axis=axis), np.moveaxis(x, axis, 0), strict=True):
        assert_same(got, expected, dtype)
    if x.ndim > 1:
        assert_same(rk.matrix_transpose(t), np.swapaxes(x, -1, -2), dtype)
        assert_same(t.mT, np.swapaxes(x, -1, -2), dtype)


@settings(max_examples=40)
@given(st.data())
def test_reshape_copies_only_where_numpy_does(data: st.DataObject) -> None:
    """A view where strides allow; copy=False refuses where they don't, copy=True always copies."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    shape = data.draw(st.permutations(x.shape).map(tuple) | st.just((-1,)) | st.just((1, *x.shape)))
    if x.size == 0 and -1 in shape:
        shape = (0,)
    got = rk.reshape(t, shape)
    assert_same(got, x.reshape(shape), dtype)
    if got.memory is t.memory:
        assert rk.reshape(t, shape, copy=False).memory is t.memory
    else:
        with pytest.raises(ValueError, match="take a copy"):
            rk.reshape(t, shape, copy=False)
    copied = rk.reshape(t, shape, copy=True)
    assert copied.memory is not t.memory
    assert_same(copied, x.reshape(shape), dtype)


def test_copies_are_separate_and_contiguous() -> None:
    """copy makes memory of its own; contiguous only where needed."""
    t = rk.asarray(np.arange(6).reshape(2, 3))
    copied = rk.copy(t)
    copied[0, 0] = 9
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]] and copied.tolist()[0] == [9, 1, 2]
    assert rk.contiguous(t) is t
    assert rk.contiguous(t.T).is_contiguous and rk.contiguous(t.T).tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("source", ALL, ids=lambda d: d.short)
@pytest.mark.parametrize("target", ALL, ids=lambda d: d.short)
def test_astype_from_every_dtype_to_every_other(source: DType, target: DType) -> None:
    """Integers wrap, floats truncate and saturate with NaN as 0, all else rounds once to nearest even."""
    numbers = np.array([0, 1, 2, 100, -1, -3, 127, 200, 300, 70000, -70000], np.float64)
    if source.is_float:
        numbers = np.concatenate([numbers, [0.5, -0.7, 2.5, np.inf, -np.inf, np.nan, 1e30]])
    with np.errstate(all="ignore"):
        x = numbers.astype(np.int64).astype(source.numpy) if source.is_integer else numbers.astype(source.numpy)
    if source.is_complex and target.kind not in ("complex", "bool"):
        with pytest.raises(TypeError, match="loses the imaginary part"):
            rk.astype(rk.asarray(x), target)
        return
    assert_same(rk.astype(rk.asarray(x), target), _converted(x, source, target), target)


def _converted(x: Any, source: DType, target: DType) -> Any:
    with np.errstate(all="ignore"):
        if target.kind == "bool":
            return x != 0
        if source.is_float and target.is_integer:
            info = np.iinfo(target.numpy)
            whole = [0 if np.isnan(v) else v for v in x.astype(np.float64).tolist()]
            clipped = [info.max if v >= info.max else info.min if v <= info.min else int(v) for v in whole]
            return np.array(clipped, target.numpy)
        if target.is_complex and not source.is_complex:
            return x.astype(part_of(target).numpy).astype(target.numpy)
        if not source.is_integer or target.is_integer:
            return x.astype(target.numpy)
        return x.astype(np.float64).astype(target.numpy)


def test_astype_copies_unless_told_not_to() -> None:
    """The same dtype gives a copy by default and the tensor itself with copy=False."""
    t = rk.zeros((2,))
    assert rk.astype(t, rk.float32).memory is not t.memory
    assert rk.astype(t, rk.float32, copy=False) is t


def test_shape_errors_are_value_errors_with_the_shapes() -> None:
    """Each names what came."""
    t = rk.zeros((2, 3))
    for call, words in (
        (lambda: rk.concat([t, rk.zeros((3, 2))]), "differ off axis 0"),
        (lambda: rk.concat([]), "no tensors"),
        (lambda: rk.stack([t, rk.zeros((3, 2))]), "differ"),
        (lambda: rk.reshape(t, (4,)), "6 elements do not fill"),
        (lambda: rk.squeeze(t, 0), "axis 0 has length 2"),
        (lambda: rk.broadcast_to(t, (2, 4)), "does not broadcast"),
        (lambda: rk.permute_dims(t, (0, 0)), "twice"),
        (lambda: rk.repeat(t, -1), "use 0 or more"),
        (lambda: rk.repeat(t, rk.asarray([1, -1]), axis=0), "repeat: -1 times"),
        (lambda: rk.repeat(rk.zeros(5000), rk.asarray([-1])), "repeat: -1 times"),
        (lambda: rk.matrix_transpose(rk.zeros((2,))), "2 or more"),
    ):
        with pytest.raises(ShapeError, match=words):
            call()
    with pytest.raises(AxisError, match="flip: axis 2"):
        rk.flip(t, axis=2)
    with pytest.raises(DTypeError, match="is no tensor"):
        rk.reshape([1, 2], (2,))
    with pytest.raises(TypeError, match="no tuple of integers"):
        rk.reshape(t, (2, 3.0))


def test_broadcast_shapes_takes_tuples() -> None:
    """The common shape, or a ValueError."""
    assert rk.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(ValueError, match="differ at axis"):
        rk.broadcast_shapes((2,), (3,))


@settings(max_examples=20)
@given(hnp.arrays(np.int32, SHAPES), st.integers(-3, 3))
def test_triangles(x: Any, k: int) -> None:
    """tril and triu over the last two axes; below two dimensions a ValueError."""
    t = rk.asarray(x)
    if x.ndim < 2:
        with pytest.raises(ShapeError, match="two or more"):
            rk.tril(t)
        return
    assert_same(rk.tril(t, k=k), np.tril(x, k))
    assert_same(rk.triu(t, k=k), np.triu(x, k))
