"""Shape and stride algebra: pure functions and one value, `Layout`.

Strides and offsets count elements, outermost axis first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from operator import index as as_index
from typing import Any, Final

import numpy as np
from attrs import field, frozen

from rocmkern.errors import AxisError, IndexOutOfRange, ShapeError

MOST_ELEMENTS: Final = (1 << 63) - 1  # along an axis
Shape = tuple[int, ...]
Axes = int | Sequence[int] | None  # None: all of them


@frozen(cache_hash=True)
class Layout:
    """Where the elements of a tensor lie: element `i` is at `offset + sum(i[k] * strides[k])`."""

    shape: Shape
    strides: Shape
    offset: int = 0
    size: int = field(init=False, eq=False)
    is_contiguous: bool = field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "size", prod(self.shape))
        object.__setattr__(self, "is_contiguous", is_contiguous(self.shape, self.strides))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def extent(self) -> tuple[int, int]:
        """The lowest and one past the highest element position that the layout touches."""
        if self.size == 0:
            return self.offset, self.offset
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(r for r in reach if r < 0), self.offset + sum(r for r in reach if r > 0) + 1

    def permute(self, axes: Sequence[int] | None) -> Layout:
        """The axes in a new order, by default reversed. Raises ShapeError unless `axes` names each axis once."""
        order = normal_axes(range(self.ndim)[::-1] if axes is None else axes, self.ndim, "permute_dims")
        if len(order) != self.ndim:
            raise ShapeError(f"permute_dims: axes {axes} for {self.ndim} dimensions; name each axis once")
        return made(tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order), self.offset)

    def broadcast_to(self, shape: Shape) -> Layout:
        """Stride 0 where an axis of length 1 is repeated. Raises ShapeError where the shapes don't fit."""
        new = len(shape) - self.ndim
        if new < 0 or any(n not in (1, m) for n, m in zip(self.shape, shape[max(new, 0) :], strict=False)):
            raise ShapeError(f"broadcast_to: shape {self.shape} does not broadcast to {shape}")
        strides = tuple(
            0 if n == 1 and m != 1 else s for n, m, s in zip(self.shape, shape[new:], self.strides, strict=True)
        )
        return made(shape, (0,) * new + strides, self.offset)

    def expand(self, axis: int) -> Layout:
        """A new axis of length 1 before position `axis` of the result."""
        at = normal_axis(axis, self.ndim + 1, "expand_dims")
        shape, strides = self.shape, self.strides
        return made((*shape[:at], 1, *shape[at:]), (*strides[:at], 0, *strides[at:]), self.offset)

    def squeeze(self, axes: Sequence[int]) -> Layout:
        """Without the named axes of length 1. Raises ShapeError where one is longer."""
        drop = set(normal_axes(axes, self.ndim, "squeeze"))
        long = [(a, self.shape[a]) for a in sorted(drop) if self.shape[a] != 1]
        if long:
            raise ShapeError(f"squeeze: axis {long[0][0]} has length {long[0][1]}; only axes of length 1 can go")
        keep = [a for a in range(self.ndim) if a not in drop]
        return made(tuple(self.shape[a] for a in keep), tuple(self.strides[a] for a in keep), self.offset)

    def flip(self, axes: Iterable[int]) -> Layout:
        """The named axes (already normal) run backwards."""
        strides, offset = list(self.strides), self.offset
        for a in axes:
            offset += max(self.shape[a] - 1, 0) * strides[a]
            strides[a] = -strides[a]
        return made(self.shape, tuple(strides), offset)

    def narrow(self, axis: int, start: int, length: int) -> Layout:
        """`length` entries of `axis` from `start` on, both already in range."""
        shape = (*self.shape[:axis], length, *self.shape[axis + 1 :])
        return made(shape, self.strides, self.offset + start * self.strides[axis])

    def of_items(self, size: int, other: int) -> Layout:
        """The bytes of items of one size as items of another along the last axis. Raises ShapeError where they are not
        side by side there, or no whole number of the others.
        """
        if size == other:
            return self
        many, of = max(size, other) // min(size, other), (*self.strides[:-1], self.offset)
        fits = size > other or not any(n % many for n in (*self.shape[-1:], *of))
        if not self.shape or (self.strides[-1] != 1 and self.shape[-1] > 1) or not fits:
            raise ShapeError(f"view: items of {other} bytes in {self.shape} of {size}, strides {self.strides}; copy it")
        scaled = [n * many if size > other else n // many for n in (self.shape[-1], *of)]
        return Layout((*self.shape[:-1], scaled[0]), (*scaled[1:-1], 1), scaled[-1])

    def reshape(self, shape: Shape) -> Layout | None:
        """The same elements under another shape, or None where that takes a copy."""
        if self.is_contiguous:
            whole = contiguous(shape)
            return made(shape, whole.strides, self.offset) if self.offset else whole
        strides = _reshaped_strides(self.shape, self.strides, shape)
        return None if strides is None else Layout(shape, strides, self.offset)

    def index(self, key: Sequence[int | slice | None]) -> Layout:
        """Basic indexing: integers drop an axis, slices step along it, None adds one. The key covers every axis."""
        shape: list[int] = []
        strides: list[int] = []
        offset, axis = self.offset, 0
        for entry in key:
            if entry is None:
                shape.append(1)
                strides.append(0)
                continue
            length, stride = self.shape[axis], self.strides[axis]
            if isinstance(entry, slice):
                start, stop, step = entry.indices(length)
                count = len(range(start, stop, step))
                shape.append(count)
                strides.append(stride * step)
                offset += start * stride if count else 0
            else:
                offset += normal_index(entry, length, axis) * stride
            axis += 1
        return made(tuple(shape), tuple(strides), offset)


@lru_cache(maxsize=4096)
def made(shape: Shape, strides: Shape, offset: int = 0) -> Layout:
    """A layout, made once: views are made again and again."""
    return Layout(shape, strides, offset)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """True where the elements lie one after the other; axes of length 1 and empty tensors don't matter."""
    if strides == _row_major(shape) or 0 in shape:
        return True
    step = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if s != step:
                return False
            step *= n
    return True


@lru_cache(maxsize=4096)
def contiguous(shape: Shape) -> Layout:
    """The row-major layout of a shape."""
    return made(shape, _row_major(shape))


@lru_cache(maxsize=4096)
def _row_major(shape: Shape) -> Shape:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def transposed(layout: Layout) -> Layout:
    """The last two axes exchanged, made once."""
    return layout.permute((*range(layout.ndim - 2), layout.ndim - 1, layout.ndim - 2))


def _reshaped_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """Match groups of axes with equal products from the left; each old group must merge into one run."""
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result: list[int] = []
    i = j = 0
    while j < len(wanted):
        if wanted[j] == 1:
            result.append(0)
            j += 1
            continue
        first_old, first_new = i, j
        if i >= len(old):
            return None
        have, want = old[i][0], wanted[j]
        i, j = i + 1, j + 1
        while have != want:
            if have < want:
                have *= old[i][0]
                i += 1
            else:
                want *= wanted[j]
                j += 1
        group = old[first_old:i]
        if any(s != n_inner * s_inner for (_, s), (n_inner, s_inner) in pairwise(group)):
            return None
        step, run = group[-1][1], []
        for n in reversed(wanted[first_new:j]):
            run.append(step)
            step *= n
        result += reversed(run)
    return tuple(result)


@lru_cache(maxsize=4096)
def broadcast_layout(layout: Layout, shape: Shape) -> Layout:
    """`layout.broadcast_to(shape)`, made once."""
    return layout.broadcast_to(shape)


@lru_cache(maxsize=4096)
def collapse(shape: Shape, *strides: Shape) -> tuple[Shape, tuple[Shape, ...]]:
    """Drop axes of length 1 and merge neighbours that every stride list runs through in one step."""
    dims: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[axis] for s in strides]
        if dims and all(run[-1] == n * s for run, s in zip(steps, here, strict=True)):
            dims[-1] *= n
            for run, s in zip(steps, here, strict=True):
                run[-1] = s
        else:
            dims.append(n)
            for run, s in zip(steps, here, strict=True):
                run.append(s)
    return tuple(dims), tuple(tuple(run) for run in steps)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of several. Raises ShapeError where an axis has two lengths other than 1."""
    result: list[int] = []
    for position in range(1, max((len(s) for s in shapes), default=0) + 1):
        lengths = {s[-position] for s in shapes if len(s) >= position}
        wide = lengths - {1}
        if len(wide) > 1:
            given = ", ".join(map(str, shapes))
            raise ShapeError(f"broadcast: shapes {given} can not be broadcast, they differ at axis {-position}")
        result.append(wide.pop() if wide else 1)
    return tuple(reversed(result))


def normal_axis(axis: int, ndim: int, operation: str) -> int:
    """An axis counted from the front. Raises AxisError (a ValueError and an IndexError) out of range."""
    at = axis if axis.__class__ is int else normal_integer(axis, operation, "axis")
    if not -ndim <= at < ndim:
        remedy = f"use {-ndim}..{ndim - 1}" if ndim else "there is no axis to name"
        raise AxisError(f"{operation}: axis {at} of {ndim} dimensions is out of range; {remedy}")
    return at + ndim if at < 0 else at


def normal_integer(value: object, operation: str, what: str) -> int:
    """A Python int of anything that counts: NumPy's integers, integer tensors without axes. Raises TypeError.

    What sizes are kept under must be an int: 2.0 and True are equal to one, and no size.
    """
    try:
        return int(as_index(value))  # type: ignore[arg-type]  # raises for what does not count
    except TypeError:
        raise TypeError(f"{operation}: {what} {value!r} is no integer") from None


def normal_axes(axes: Axes, ndim: int, operation: str) -> tuple[int, ...]:
    """Axes counted from the front, in the order given; None is all of them. Raises ShapeError on a repetition."""
    if axes is None:
        return tuple(range(ndim))
    if axes.__class__ is int:
        return (normal_axis(axes, ndim, operation),)
    given = axes if axes.__class__ is tuple else listed(axes)
    result = tuple(normal_axis(a, ndim, operation) for a in given)
    if len(set(result)) != len(result):
        raise ShapeError(f"{operation}: axes {given} name an axis twice")
    return result


def normal_index(index: int, length: int, axis: int) -> int:
    """An index counted from the front. Raises IndexOutOfRange (an IndexError) beyond the axis."""
    if not -length <= index < length:
        raise IndexOutOfRange(f"index: {index} on axis {axis} of length {length}; use {-length}..{length - 1}")
    return index + length if index < 0 else index


def normal_shape(shape: int | Sequence[int], operation: str) -> Shape:
    """A shape as a tuple of lengths ≥ 0. Raises ShapeError on a negative or too large one, TypeError on no integer."""
    lengths = _integers(shape, operation)
    if any(n < 0 for n in lengths):
        raise ShapeError(f"{operation}: shape {lengths} has a negative length")
    if any(n > MOST_ELEMENTS for n in lengths):
        raise ShapeError(f"{operation}: shape {lengths} has a length beyond {MOST_ELEMENTS}; no index reaches so far")
    return lengths


def listed(value: Any) -> tuple[Any, ...]:
    """A sequence, or a vector of NumPy's, as a tuple; anything else is the one thing in it."""
    is_several = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim == 1)
    return tuple(value) if is_several else (value,)


def _integers(shape: int | Sequence[int], operation: str) -> Shape:
    if shape.__class__ is int:
        return (shape,)
    if shape.__class__ is tuple and all(n.__class__ is int for n in shape):
        return shape
    try:
        return tuple(int(as_index(n)) for n in listed(shape))
    except TypeError:
        raise TypeError(f"{operation}: shape {shape!r} is no tuple of integers") from None


def complete_shape(shape: int | Sequence[int], size: int) -> Shape:
    """The target of a reshape: one -1 stands for what is left. Raises ShapeError where the sizes differ."""
    return _completed(_integers(shape, "reshape"), size)


@lru_cache(maxsize=4096)
def _completed(given: Shape, size: int) -> Shape:
    unknown = [i for i, n in enumerate(given) if n == -1]
    if len(unknown) > 1 or any(n < -1 for n in given):
        raise ShapeError(f"reshape: shape {given}; at most one length may be -1")
    if unknown:
        known = prod(n for n in given if n != -1)
        if known == 0 or size % known:
            raise ShapeError(f"reshape: {size} elements do not fill shape {given}")
        given = tuple(size // known if n == -1 else n for n in given)
    if prod(given) != size:
        raise ShapeError(f"reshape: {size} elements do not fill shape {given}")
    return given
