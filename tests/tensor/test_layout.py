"""Layouts against NumPy's own views: same shape, same elements, same errors."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rocmkern.errors import AxisError, IndexOutOfRange, ShapeError
from rocmkern.layout import (
    Layout,
    broadcast_shapes,
    collapse,
    complete_shape,
    contiguous,
    normal_axes,
    normal_axis,
    normal_index,
    normal_shape,
)

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def layout_of(view: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> Layout:
    """NumPy's view of an int64 base, in elements."""
    distance = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return Layout(view.shape, tuple(s // 8 for s in view.strides), distance // 8)


def elements(layout: Layout, base: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What the layout reads from the base, position by position."""
    flat = base.reshape(-1)
    result = np.empty(layout.shape, flat.dtype)
    for i in np.ndindex(*layout.shape):
        result[i] = flat[layout.offset + sum(a * s for a, s in zip(i, layout.strides, strict=True))]
    return result


@st.composite
def views(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Layout]:
    """A base, a strided view of it by slicing and transposing, and the view's layout."""
    shape = draw(SHAPES)
    base = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    key = draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=5))
    entries = key if isinstance(key, tuple) else (key,)
    view = base[entries if Ellipsis in entries else (*entries, Ellipsis)]
    view = view.transpose(draw(st.permutations(range(np.ndim(view)))))
    return base, view, layout_of(view, base) if view.size else Layout(view.shape, (1,) * view.ndim)


def full_key(key: Any, ndim: int) -> list[Any]:
    """The key without an ellipsis, one entry per axis."""
    entries = list(key) if isinstance(key, tuple) else [key]
    used = sum(e is not None and e is not Ellipsis for e in entries)
    rest = [slice(None)] * (ndim - used)
    if Ellipsis in entries:
        at = entries.index(Ellipsis)
        return entries[:at] + rest + entries[at + 1 :]
    return entries + rest


@given(st.data())
def test_basic_indexing_reads_what_numpy_reads(data: st.DataObject) -> None:
    """Integers, slices with any step and new axes give NumPy's shape and elements."""
    shape = data.draw(SHAPES)
    base = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    expected = np.asarray(base[key])
    layout = contiguous(shape).index(full_key(key, len(shape)))
    assert layout.shape == expected.shape
    np.testing.assert_array_equal(elements(layout, base), expected)


@given(views())
def test_contiguity_is_numpys(case: tuple[Any, Any, Layout]) -> None:
    """`is_contiguous` equals NumPy's C_CONTIGUOUS flag."""
    _, view, layout = case
    assert layout.is_contiguous == view.flags.c_contiguous
    assert layout.size == view.size


@given(views())
def test_extent_bounds_every_element(case: tuple[Any, Any, Layout]) -> None:
    """No element lies outside the extent and both ends are reached."""
    base, view, layout = case
    low, high = layout.extent()
    if view.size:
        positions = elements(layout, np.arange(base.size))
        assert (positions.min(), positions.max() + 1) == (low, high)
    else:
        assert low == high


@given(views(), st.data())
def test_reshape_is_a_view_exactly_where_numpy_makes_one(case: tuple[Any, Any, Layout], data: st.DataObject) -> None:
    """A reshape without a copy reads the same elements; None comes only where NumPy copies too."""
    base, view, layout = case
    factors = data.draw(st.permutations(list(view.shape)))
    target: tuple[int, ...] = tuple(factors)
    if factors and data.draw(st.booleans()):
        cut = data.draw(st.integers(0, len(factors)))
        target = (prod(factors[:cut]), *factors[cut:])
    expected = view.reshape(target)
    result = layout.reshape(target)
    if result is None:
        assert not np.shares_memory(expected, base)
    else:
        np.testing.assert_array_equal(elements(result, base), expected)


@given(views(), st.data())
def test_permute_expand_squeeze_flip_and_broadcast(case: tuple[Any, Any, Layout], data: st.DataObject) -> None:
    """Each view operation reads what NumPy's reads."""
    base, view, layout = case
    axes = data.draw(st.permutations(range(view.ndim)))
    np.testing.assert_array_equal(elements(layout.permute(axes), base), view.transpose(axes))
    at = data.draw(st.integers(-view.ndim - 1, view.ndim))
    np.testing.assert_array_equal(elements(layout.expand(at), base), np.expand_dims(view, at))
    ones = [a for a, n in enumerate(view.shape) if n == 1]
    np.testing.assert_array_equal(elements(layout.squeeze(ones), base), view.squeeze(tuple(ones)))
    flipped = data.draw(st.lists(st.sampled_from(range(view.ndim)), unique=True)) if view.ndim else []
    np.testing.assert_array_equal(elements(layout.flip(flipped), base), np.flip(view, tuple(flipped)))
    wide = (2, *(3 if n == 1 else n for n in view.shape))
    np.testing.assert_array_equal(elements(layout.broadcast_to(wide), base), np.broadcast_to(view, wide))


@given(views())
def test_collapse_keeps_the_order_of_elements(case: tuple[Any, Any, Layout]) -> None:
    """The merged axes visit the same positions in the same order, and no two neighbours can merge further."""
    base, view, layout = case
    shape, (strides,) = collapse(layout.shape, layout.strides)
    np.testing.assert_array_equal(elements(Layout(shape, strides, layout.offset), base).ravel(), view.ravel())
    assert 1 not in shape
    if view.size and layout.is_contiguous:
        assert len(shape) <= 1


def test_collapse_of_two_layouts_merges_only_where_both_agree() -> None:
    """A transposed operand keeps the other's axes apart."""
    assert collapse((2, 3, 4), (12, 4, 1), (12, 4, 1)) == ((24,), ((1,), (1,)))
    assert collapse((2, 3, 4), (12, 4, 1), (0, 4, 1)) == ((2, 12), ((12, 1), (0, 1)))
    assert collapse((2, 1, 4), (4, 9, 1), (1, 7, 2)) == ((2, 4), ((4, 1), (1, 2)))


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4))
def test_broadcast_shapes_is_numpys(case: Any) -> None:
    """Three shapes that fit give NumPy's result."""
    assert broadcast_shapes(*case.input_shapes) == case.result_shape


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((2, 1), (3, 4)), ((0,), (2,))])
def test_broadcast_of_shapes_that_differ_is_refused(shapes: Any) -> None:
    """The error names both shapes, as a ValueError."""
    with pytest.raises(ShapeError, match=r"shapes \(.*\) can not be broadcast, they differ at axis"):
        broadcast_shapes(*shapes)
    with pytest.raises(ShapeError, match="does not broadcast"):
        contiguous(shapes[0]).broadcast_to(shapes[1])


def test_axes_and_indices_out_of_range_are_errors_of_numpys_classes() -> None:
    """Axes: ValueError and IndexError; indices: IndexError; repetition: ValueError."""
    assert normal_axis(-1, 3, "sum") == 2
    assert normal_axes(None, 2, "sum") == (0, 1)
    assert normal_axes((-1, 0), 2, "sum") == (1, 0)
    with pytest.raises(AxisError, match=r"sum: axis 3 of 3 dimensions is out of range; use -3\.\.2"):
        normal_axis(3, 3, "sum")
    with pytest.raises(ShapeError, match="name an axis twice"):
        normal_axes((0, -2), 2, "sum")
    with pytest.raises(TypeError, match="is no integer"):
        normal_axis(1.0, 2, "sum")
    assert normal_index(-1, 4, 0) == 3
    with pytest.raises(IndexOutOfRange, match=r"index: 4 on axis 1 of length 4; use -4\.\.3"):
        normal_index(4, 4, 1)
    with pytest.raises(ShapeError, match="negative length"):
        normal_shape((2, -1), "zeros")
    with pytest.raises(ShapeError, match="each axis once"):
        contiguous((2, 3)).permute((0,))
    with pytest.raises(ShapeError, match="axis 1 has length 3"):
        contiguous((2, 3)).squeeze((1,))


def test_reshape_completes_one_unknown_length() -> None:
    """-1 stands for what is left; anything else that does not fit is a ValueError."""
    assert complete_shape((2, -1), 6) == (2, 3)
    assert complete_shape(-1, 6) == (6,)
    for shape in ((-1, -1), (4, -1), (5,), (-2, 3), (0, -1)):
        with pytest.raises(ShapeError, match="reshape"):
            complete_shape(shape, 6)
