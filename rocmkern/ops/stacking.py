"""Tensors joined, cut and turned in NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rocmkern.errors import IndexOutOfRange, ShapeError
from rocmkern.layout import normal_axes, normal_axis, normal_integer
from rocmkern.ops.creation import asarray, upload
from rocmkern.ops.elementwise import as_tensor, as_tensors
from rocmkern.ops.familiar import MOST_PIECES, split, swapaxes
from rocmkern.ops.indexing import take
from rocmkern.ops.manipulation import broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, reshape
from rocmkern.tensor import Operand, Tensor

Places = int | slice | Sequence[int] | np.ndarray[Any, Any] | Tensor


def atleast_1d(*arrays: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Each tensor with one axis at least, a view; a tuple of several."""
    return _each([x if x.ndim else reshape(x, (1,)) for x in as_tensors("atleast_1d", arrays)])


def atleast_2d(*arrays: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Each tensor with two axes at least, a view: a vector is a row; a tuple of several."""
    return _each([x if x.ndim > 1 else reshape(x, (1, -1)) for x in as_tensors("atleast_2d", arrays)])


def atleast_3d(*arrays: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Each tensor with three axes at least, a view: a vector lies along the middle one, a matrix along the first two;
    a tuple of several.
    """
    return _each([_deep(x) for x in as_tensors("atleast_3d", arrays)])


def _each(found: list[Tensor]) -> Tensor | tuple[Tensor, ...]:
    return found[0] if len(found) == 1 else tuple(found)


def _deep(x: Tensor) -> Tensor:
    return x if x.ndim > 2 else expand_dims(x if x.ndim == 2 else reshape(x, (1, -1)), axis=2)


def column_stack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 1; vectors are columns."""
    return concat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in as_tensors("column_stack", arrays)], axis=1)


def dstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 2, where each has three as `atleast_3d` gives them."""
    return concat([_deep(x) for x in as_tensors("dstack", arrays)], axis=2)


def array_split(x: Tensor, parts: int | Sequence[int], /, axis: int = 0) -> tuple[Tensor, ...]:
    """As `split`, where pieces that are as many as named need not be equal: the first ones are longer by one."""
    at = normal_axis(axis, as_tensor("array_split", x).ndim, "array_split")
    if isinstance(parts, Sequence):
        return split(x, parts, axis=at)
    count = normal_integer(parts, "array_split", "number of pieces")
    if not 1 <= count <= MOST_PIECES:
        raise ShapeError(f"array_split: {count} pieces; use 1 to {MOST_PIECES}")
    each, longer = divmod(x.shape[at], count)
    return split(x, [i * each + min(i, longer) for i in range(1, count)], axis=at)


def hsplit(x: Tensor, parts: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """`split` along axis 1, of a vector along its only one."""
    return split(x, parts, axis=1 if as_tensor("hsplit", x).ndim > 1 else 0)


def vsplit(x: Tensor, parts: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """`split` along axis 0."""
    return split(x, parts)


def dsplit(x: Tensor, parts: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """`split` along axis 2."""
    return split(x, parts, axis=2)


def append(x: Tensor, values: Operand | Sequence[Any], /, axis: int | None = None) -> Tensor:
    """The values behind those of x along an axis; without one both flat."""
    more = asarray(values, device=as_tensor("append", x).device)
    return concat([x, more], axis=axis)


def insert(x: Tensor, places: Places, values: Operand | Sequence[Any], /, axis: int | None = None) -> Tensor:
    """Values put in ahead of those places along an axis, which count in x; without an axis in the flat tensor. Of one
    place all values go there, of several each goes to its own.
    """
    source, at = _line("insert", x, axis)
    n = source.shape[at]
    where = _on_host("insert", places, n)
    new = asarray(values, source.dtype, device=x.device)
    new = reshape(new, (1,) * (source.ndim - new.ndim) + new.shape)
    if isinstance(where, int):
        new = moveaxis(new, 0, at)
        count = new.shape[at]
    else:
        count = len(range(n)[where]) if isinstance(where, slice) else len(where)
    shape = (*source.shape[:at], count, *source.shape[at + 1 :])
    index = _indices("insert", n, where, lambda line: np.insert(line, where, np.arange(n, n + count)))
    return take(concat([source, broadcast_to(new, shape)], axis=at), upload(index, x.device), axis=at)


def delete(x: Tensor, places: Places, /, axis: int | None = None) -> Tensor:
    """Without the slices at those places along an axis; without an axis of the flat tensor."""
    source, at = _line("delete", x, axis)
    where = _on_host("delete", places, source.shape[at])
    index = _indices("delete", source.shape[at], where, lambda line: np.delete(line, where))
    return take(source, upload(index, x.device), axis=at)


def _line(operation: str, x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    if axis is None:
        return reshape(as_tensor(operation, x), -1), 0
    return x, normal_axis(axis, as_tensor(operation, x).ndim, operation)


def _on_host(operation: str, places: Places, n: int) -> Any:
    """Places in an axis of that length as NumPy takes them: a number, a slice, or a vector of integers."""
    if isinstance(places, slice):
        return places
    if not (isinstance(places, Sequence) or (isinstance(places, np.ndarray | Tensor) and places.ndim)):
        return normal_integer(places, operation, "place")
    found = asarray(places).numpy()
    if found.ndim > 1 or (found.size and found.dtype.kind not in "iub"):
        raise ShapeError(f"{operation}: places {found.dtype} of shape {found.shape}; give a line of integers")
    if found.dtype != np.bool_:
        return found.astype(np.int64)
    if found.size != n:
        raise IndexOutOfRange(f"{operation}: a mask of {found.size} for an axis of length {n}; give one of that length")
    return np.flatnonzero(found)


def _indices(operation: str, n: int, places: Any, found: Any) -> np.ndarray[Any, Any]:
    try:
        result: np.ndarray[Any, Any] = found(np.arange(n))
    except IndexError:
        raise IndexOutOfRange(f"{operation}: {places} on an axis of length {n}; use places within it") from None
    return result


def fliplr(x: Tensor, /) -> Tensor:
    """Axis 1 run backwards, a view."""
    return flip(x, axis=1)


def flipud(x: Tensor, /) -> Tensor:
    """Axis 0 run backwards, a view."""
    return flip(x, axis=0)


def rot90(x: Tensor, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned k times by a right angle, from the first of two axes towards the second; a view."""
    pair = normal_axes(axes, as_tensor("rot90", x).ndim, "rot90")
    if len(pair) != 2:
        raise ShapeError(f"rot90: axes {axes}; name two")
    first, second = pair
    turns = normal_integer(k, "rot90", "k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, axis=pair)
    return (
        swapaxes(flip(x, axis=second), first, second) if turns == 1 else flip(swapaxes(x, first, second), axis=second)
    )


def transpose(x: Tensor, /, axes: Sequence[int] | None = None) -> Tensor:
    """`permute_dims`: the axes in a new order, or all reversed; a view."""
    return permute_dims(x, axes)
