"""Indexing, read and write, against NumPy: basic keys, index tensors, masks, all of them together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.dtypes import ALL, DType
from rocmkern.errors import DTypeError, IndexOutOfRange, KernelIndexError, ShapeError
from tests.tensor.arrays import FULL_SHAPES, INTEGERS, SHAPES, arrays, assert_same, laid_out

DTYPES = st.sampled_from(ALL)


def as_key(key: Any) -> Any:
    """NumPy's key with tensors for arrays."""
    if isinstance(key, tuple):
        return tuple(map(as_key, key))
    return rk.asarray(key) if isinstance(key, np.ndarray) else key


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """A key with an entry of any kind for each axis, in NumPy's terms."""
    broadcast = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)]))
    entries: list[Any] = []
    axis = 0
    while axis < len(shape):
        kind = draw(st.sampled_from(["integer", "slice", "ids", "mask", "new", "stop"]))
        n = shape[axis]
        if kind == "stop":
            break
        if kind == "new":
            entries.append(None)
            continue
        if kind == "integer" and n:
            entries.append(draw(st.integers(-n, n - 1)))
        elif kind == "ids" and n:
            dtype = draw(st.sampled_from([np.int8, np.uint8, np.int32, np.int64, np.uint16]))
            lowest = -n if np.issubdtype(dtype, np.signedinteger) else 0
            entries.append(draw(hnp.arrays(dtype, broadcast, elements=st.integers(lowest, n - 1))))
        elif kind == "mask" and not any(isinstance(e, np.ndarray) for e in entries):
            entries.append(draw(hnp.arrays(bool, (n,))))
            broadcast = (int(entries[-1].sum()),)
        else:
            entries.append(draw(st.slices(n)))
        axis += 1
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), Ellipsis) if axis == len(shape) else entries.append(Ellipsis)
    return tuple(entries)


@settings(max_examples=150)
@given(st.data())
def test_reading_equals_numpy(data: st.DataObject) -> None:
    """Any key on any layout of any dtype gives NumPy's shape and values."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    key = data.draw(keys(x.shape))
    assert_same(t[as_key(key)], x[key], dtype)


@settings(max_examples=150)
@given(st.data())
def test_writing_equals_numpy(data: st.DataObject) -> None:
    """A value that broadcasts to what any key selects; the last of equal indices stays; nothing else changes."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    key = data.draw(keys(x.shape))
    selected = np.asarray(x[key]).shape
    masks = any(isinstance(e, np.ndarray) and e.dtype == bool for e in key)  # NumPy wants one dimension for those
    longer = [(1, *selected)] if selected and not masks else []
    shape = data.draw(st.sampled_from([selected, (), tuple(1 for _ in selected), *longer]))
    value, v = data.draw(laid_out(dtype, st.just(shape)))
    expected = x.copy()
    expected[key] = v
    t = rk.copy(t) if data.draw(st.booleans()) else t
    t[as_key(key)] = value
    assert_same(t, expected, dtype)


@settings(max_examples=30)
@given(st.data())
def test_masks_of_the_whole_shape(data: st.DataObject) -> None:
    """A mask reads the true elements in order and writes a number or as many values."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    mask = data.draw(hnp.arrays(bool, x.shape))
    assert_same(t[rk.asarray(mask)], x[mask], dtype)
    expected = x.copy()
    expected[mask] = 1
    t[rk.asarray(mask)] = True if dtype.kind == "bool" else 1
    assert_same(t, expected, dtype)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (0, 0)])
def test_a_mask_of_no_elements_selects_nothing_of_axes_of_any_length(shape: tuple[int, ...]) -> None:
    """A mask's axis is as long as the tensor's, or of length 0."""
    x, mask = np.arange(6).reshape(2, 3), np.zeros(shape, bool)
    t = rk.asarray(x)
    assert_same(t[rk.asarray(mask)], x[mask])
    t[rk.asarray(mask)] = 7
    assert_same(t, x)


@settings(max_examples=30)
@given(st.data())
def test_nonzero_counts_and_places(data: st.DataObject) -> None:
    """Coordinates in row-major order for any dtype and layout; no axes is an error."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype))
    if not x.ndim:
        with pytest.raises(ShapeError, match="one or more"):
            rk.nonzero(t)
        return
    wide = x.astype(np.float64) if dtype.is_float else x
    for got, expected in zip(rk.nonzero(t), np.nonzero(wide), strict=True):
        assert_same(got, expected)


def test_many_non_zeros_cross_the_tiles() -> None:
    """20,000 flags over several tiles of the counting kernel."""
    x = (np.arange(20000) * 7919 % 13) < 4
    assert_same(rk.nonzero(rk.asarray(x))[0], np.nonzero(x)[0])
    big = np.arange(20000, dtype=np.float32)
    assert_same(rk.asarray(big)[rk.asarray(x)], big[x])


@settings(max_examples=40)
@given(st.data())
def test_take_and_take_along_axis(data: st.DataObject) -> None:
    """Slices and single values along an axis, with indices of any dtype, layout and sign."""
    dtype = data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    ids_dtype = data.draw(st.sampled_from(INTEGERS))
    low = 0 if ids_dtype.kind == "unsigned" else -n
    ids, i = data.draw(
        laid_out(ids_dtype, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4), low=low, high=n - 1)
    )
    assert_same(rk.take(t, ids, axis=axis), np.take(x, i.astype(np.int64), axis), dtype)
    shape = tuple(data.draw(st.integers(0, 3)) if a == axis % x.ndim else m for a, m in enumerate(x.shape))
    along, j = data.draw(laid_out(ids_dtype, st.just(shape), low=low, high=n - 1))
    assert_same(rk.take_along_axis(t, along, axis=axis), np.take_along_axis(x, j.astype(np.int64), axis), dtype)


@settings(max_examples=40)
@given(st.data())
def test_where_equals_numpy(data: st.DataObject) -> None:
    """Conditions of any dtype, tensors of two dtypes and numbers broadcast together."""
    dtype, other = data.draw(DTYPES), data.draw(DTYPES)
    t, x = data.draw(laid_out(dtype, st.just((3, 4))))
    kind = data.draw(st.sampled_from([rk.bool_, rk.int64, rk.float32]))
    c, condition = data.draw(laid_out(kind, st.sampled_from([(3, 4), (4,), (3, 1), ()])))
    u, y = data.draw(laid_out(dtype, st.sampled_from([(3, 4), (1, 4), ()])))
    assert_same(rk.where(c, t, u), np.where(condition, x, y), dtype)
    number = True if dtype.kind == "bool" else 1
    assert_same(rk.where(c, t, number), np.where(condition, x, np.array(number).astype(x.dtype)), dtype)
    v = rk.zeros((4,), dtype=other)
    try:
        expected = rk.result_type(dtype, other)
    except DTypeError:
        return
    assert rk.where(c, t, v).dtype is expected


@pytest.mark.parametrize("dtype", [d for d in ALL if d.kind != "bool" and not d.is_complex], ids=lambda d: d.short)
@settings(max_examples=8)
@given(data=st.data())
def test_searchsorted_equals_numpy(dtype: DType, data: st.DataObject) -> None:
    """Left and right, with NaN as the largest value, and through a sorter."""
    x = np.sort(data.draw(arrays(dtype, hnp.array_shapes(max_dims=1, max_side=9))).astype(dtype.numpy))
    v, values = data.draw(laid_out(dtype))
    wide = (lambda a: a.astype(np.float64)) if dtype.is_float else (lambda a: a)
    x = x[np.argsort(wide(x), kind="stable")]
    for side in ("left", "right"):
        got = rk.searchsorted(rk.asarray(x), v, side=side)
        assert_same(got, np.searchsorted(wide(x), wide(values), side), rk.int64)
    order = np.argsort(wide(x[::-1]), kind="stable")
    got = rk.searchsorted(rk.asarray(x[::-1].copy()), v, sorter=rk.asarray(order))
    assert_same(got, np.searchsorted(wide(x), wide(values)), rk.int64)


@pytest.mark.parametrize("ids_dtype", INTEGERS, ids=lambda d: d.short)
def test_an_index_outside_is_an_index_error_and_the_device_goes_on(ids_dtype: DType) -> None:
    """The error names operation, value, position and bound; the next operation is right."""
    t = rk.asarray(np.arange(6.0).reshape(2, 3))
    bad = rk.asarray(np.array([1, 3], ids_dtype.numpy))
    with pytest.raises(KernelIndexError, match=r"take: index 3 at position 1 on axis 1 of length 3; use -3\.\.2"):
        rk.take(t, bad, axis=1).numpy()
    for call in (
        lambda: t[:, bad],
        lambda: rk.embedding(t, rk.asarray(np.array([2], ids_dtype.numpy))),
        lambda: rk.take_along_axis(t, rk.asarray(np.full((2, 1), 3, ids_dtype.numpy)), axis=1),
        lambda: rk.one_hot(bad, 3),
    ):
        with pytest.raises(IndexError):
            call().numpy()
    if ids_dtype.kind == "signed":
        with pytest.raises(IndexError, match="index -4 at position 0"):
            rk.take(t, rk.asarray(np.array([-4, 0], ids_dtype.numpy)), axis=1).numpy()
    assert (t + 1).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_the_largest_u8_index_is_an_index() -> None:
    """255 selects row 255: no user's index means padding."""
    t = rk.arange(256)
    assert rk.take(t, rk.asarray(np.array([255], np.uint8))).tolist() == [255]


def test_keys_that_are_wrong_are_index_errors() -> None:
    """Too many axes, a position outside, floats, masks of another shape: NumPy's class, our words."""
    t = rk.zeros((2, 3))
    for key, words in (
        ((0, 0, 0), "3 indices for 2 dimensions"),
        (2, "2 on axis 0 of length 2"),
        ((0, -4), "-4 on axis 1"),
        (1.0, "float; use integers"),
        ((..., ...), "more than one ellipsis"),
        (rk.asarray([True, False, True]), r"mask of shape \(3,\)"),
        (rk.zeros((0, 1), dtype=rk.bool_), r"mask of shape \(0, 1\)"),
        (rk.zeros((2, 3, 0), dtype=rk.bool_), "3 indices for 2 dimensions"),
        (rk.asarray([1.0]), "tensor of float32"),
    ):
        with pytest.raises(IndexOutOfRange, match=words):
            t[key]
    with pytest.raises(ShapeError, match="does not broadcast"):
        t[0] = rk.zeros((2,))
    with pytest.raises(DTypeError, match="a float number into a int32 tensor"):
        rk.zeros((2,), dtype=rk.int32)[0] = 2.5


def test_an_ellipsis_of_no_axes_still_parts_index_tensors() -> None:
    """Index tensors on both sides of it move their axes to the front, as in NumPy."""
    x = np.arange(10).reshape(1, 2, 5)
    ids = np.array([0, 1, 0])
    for key in ((None, 0, ..., ids, slice(1, 3)), (0, ids, ..., slice(0, 2)), (..., 0, ids, slice(None))):
        assert_same(rk.asarray(x)[as_key(key)], x[key])


def test_overlapping_views_are_copied_as_if_through_a_copy() -> None:
    """x[1:] = x[:-1] shifts; an in-place operation with a transposed view of itself reads the old values."""
    x = np.arange(6)
    t = rk.asarray(x)
    t[1:] = t[:-1]
    assert t.tolist() == [0, 0, 1, 2, 3, 4]
    square = np.arange(3600.0).reshape(60, 60)  # more than a wave reads at once
    m = rk.asarray(square)
    m += m.T
    assert np.array_equal(m.numpy(), square + square.T)
    line = rk.asarray(np.arange(3000))
    rk.add(line[:-1], line[:-1], out=line[1:])
    assert np.array_equal(line.numpy()[1:], 2 * np.arange(2999))


def test_the_last_of_many_equal_indices_stays() -> None:
    """5,000 writes to 10 places."""
    places = np.arange(5000) % 10
    values = np.arange(5000)
    t = rk.zeros((10,), dtype=rk.int64)
    t[rk.asarray(places)] = rk.asarray(values)
    assert t.tolist() == list(range(4990, 5000))


def test_views_share_memory_and_copies_do_not() -> None:
    """Basic keys write through; index tensors don't."""
    t = rk.zeros((3, 3))
    t[1:, ::2][...] = 5
    assert t.tolist() == [[0, 0, 0], [5, 0, 5], [5, 0, 5]]
    chosen = t[rk.asarray([1])]
    chosen[...] = 7
    assert t[1].tolist() == [5, 0, 5]


@settings(max_examples=10)
@given(data=st.data())
def test_one_hot(data: st.DataObject) -> None:
    """A row of zeros with a one at each index, float32."""
    ids, i = data.draw(laid_out(rk.int64, SHAPES, low=0, high=4))
    assert_same(rk.one_hot(ids, 5), np.eye(5, dtype=np.float32)[i])


@pytest.mark.parametrize("shift", [1, -1])
def test_a_masked_write_from_a_view_of_itself(shift: int) -> None:
    """x[mask] = x[…] writes the old values, over more elements than a wave reads at once."""
    x = np.arange(3000)
    t, mask = rk.asarray(x), np.ones(3000, bool)
    mask[0 if shift > 0 else -1] = False
    source = slice(None, -1) if shift > 0 else slice(1, None)
    t[rk.asarray(mask)] = t[source]
    x[mask] = x[source].copy()
    assert np.array_equal(t.numpy(), x)


def test_keys_that_are_equal_and_not_the_same() -> None:
    """True and 1, and 1 after 1.0 was refused: what a key selected before is not taken for another."""
    x = rk.asarray([[1, 2], [3, 4]])
    for _ in range(2):
        assert x[1].tolist() == x[np.int64(1)].tolist() == [3, 4]
        assert x[True].tolist() == [[[1, 2], [3, 4]]]
        assert x[0:1, None, ...].tolist() == [[[1, 2]]]
        assert x[1:][:, 1:].tolist() == [[4]]  # the same key behind another offset
        for key in (1.0, slice(0, 1.0), (1.0, 0)):
            with pytest.raises((TypeError, IndexError)):
                x[key]
