"""Shapes: views where strides allow, copies on the device where not."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from rocmkern.dtypes import DType
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.engine.operation import planned
from rocmkern.errors import ShapeError
from rocmkern.layout import (
    Axes,
    Shape,
    complete_shape,
    normal_axes,
    normal_axis,
    normal_integer,
    normal_shape,
    transposed,
)
from rocmkern.layout import broadcast_shapes as common_shape
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.creation import asarray
from rocmkern.ops.elementwise import as_tensor, as_tensors, broadcast, device_and_dtype
from rocmkern.ops.launch import empty
from rocmkern.ops.movement import write
from rocmkern.runtime.device import DeviceLike
from rocmkern.tensor import Tensor

MOST_BYTES: Final = (1 << 63) - 1


def copy(x: Tensor, /) -> Tensor:
    """A contiguous tensor of its own memory with the same values."""
    return duplicate(as_tensor("copy", x))


def contiguous(x: Tensor, /) -> Tensor:
    """The tensor itself where its elements lie one after the other, else a contiguous copy."""
    return x if as_tensor("contiguous", x).is_contiguous else duplicate(x)


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: DeviceLike = None) -> Tensor:
    """The values in another dtype: floats truncate to integers and saturate, NaN becomes 0, integers wrap."""
    moved = as_tensor("astype", x) if device is None else asarray(x, device=device)
    return cast(moved, as_dtype(dtype), copy=copy and moved is x)


def reshape(x: Tensor, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape; one length may be -1. Raises ValueError where `copy=False` can't be kept."""
    target = complete_shape(shape, as_tensor("reshape", x).size)
    if copy:
        return _reshaped(duplicate(x), target)
    layout = x.layout.reshape(target)
    if layout is not None:
        return x.view(layout)
    if copy is False:
        raise ShapeError(f"reshape: strides {x.strides} of shape {x.shape} as {target} take a copy; leave copy out")
    return _reshaped(duplicate(x), target)


def _reshaped(x: Tensor, shape: Shape) -> Tensor:
    layout = x.layout.reshape(shape)
    assert layout is not None
    return x.view(layout)


def permute_dims(x: Tensor, /, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in a new order, or all reversed where none is named; a view."""
    return as_tensor("permute_dims", x).view(x.layout.permute(axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged, a view. Raises ShapeError below two dimensions."""
    if as_tensor("matrix_transpose", x).ndim < 2:
        raise ShapeError(f"matrix_transpose: {x.ndim} dimensions; it takes 2 or more")
    return x.view(transposed(x.layout))


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """Axes moved to new places, the others in their order; a view."""
    sources = normal_axes(source, as_tensor("moveaxis", x).ndim, "moveaxis")
    destinations = normal_axes(destination, x.ndim, "moveaxis")
    if sources == destinations:
        return x
    if len(sources) != len(destinations):
        raise ShapeError(f"moveaxis: {len(sources)} axes to {len(destinations)} places; name as many")
    order = [a for a in range(x.ndim) if a not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return permute_dims(x, order)


def expand_dims(x: Tensor, /, axis: int | Sequence[int]) -> Tensor:
    """New axes of length 1 at the named places of the result; a view."""
    layout = as_tensor("expand_dims", x).layout
    if axis.__class__ is int:
        return x.view(layout.expand(axis))
    places = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    for at in sorted(normal_axes(places, x.ndim + len(places), "expand_dims")):
        layout = layout.expand(at)
    return x.view(layout)


def squeeze(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """Without the named axes, each of length 1, or without all such where none is named; a view."""
    as_tensor("squeeze", x)
    ones = [a for a, n in enumerate(x.shape) if n == 1] if axis is None else axis
    return x.view(x.layout.squeeze(normal_axes(ones, x.ndim, "squeeze")))


def broadcast_to(x: Tensor, /, shape: int | Sequence[int]) -> Tensor:
    """The tensor repeated to a shape without copying: a view to read, since elements share memory."""
    lengths = normal_shape(shape, "broadcast_to")
    if prod(lengths) * as_tensor("broadcast_to", x).dtype.itemsize > MOST_BYTES:
        raise ShapeError(f"broadcast_to: shape {lengths} has more than {MOST_BYTES} bytes; no address reaches them")
    return broadcast(x, lengths)


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Each tensor as a view of the common shape."""
    shape = common_shape(*[as_tensor("broadcast_arrays", a).shape for a in arrays])
    return tuple(broadcast(a, shape) for a in arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The shape that tensors of these shapes broadcast to."""
    return common_shape(*[normal_shape(s, "broadcast_shapes") for s in shapes])


def flip(x: Tensor, /, axis: Axes = None) -> Tensor:
    """The named axes, by default all, run backwards; a view."""
    return as_tensor("flip", x).view(x.layout.flip(normal_axes(axis, x.ndim, "flip")))


@planned
def concat(arrays: Sequence[Tensor], /, axis: int | None = 0) -> Tensor:
    """Tensors one after another along an axis; flat ones of all elements where the axis is None."""
    given = as_tensors("concat", arrays)
    device, dtype = device_and_dtype("concat", *given)
    parts = [reshape(a, -1) for a in given] if axis is None else given
    at = normal_axis(0 if axis is None else axis, parts[0].ndim, "concat")
    rest = [(*p.shape[:at], *p.shape[at + 1 :]) for p in parts]
    if len({p.ndim for p in parts}) > 1 or len(set(rest)) > 1:
        raise ShapeError(f"concat: shapes {', '.join(str(p.shape) for p in parts)} differ off axis {at}")
    length = sum(p.shape[at] for p in parts)
    result = empty((*parts[0].shape[:at], length, *parts[0].shape[at + 1 :]), dtype, device)
    start = 0
    for p in parts:
        write(cast(p, dtype), result.view(result.layout.narrow(at, start, p.shape[at])))
        start += p.shape[at]
    return result


@planned
def stack(arrays: Sequence[Tensor], /, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    given = as_tensors("stack", arrays)
    if len({a.shape for a in given}) > 1:
        raise ShapeError(f"stack: shapes {', '.join(str(a.shape) for a in given)} differ")
    at = normal_axis(axis, given[0].ndim + 1, "stack")
    return concat([expand_dims(a, axis=at) for a in given], axis=at)


def unstack(x: Tensor, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, views without it."""
    at = normal_axis(axis, as_tensor("unstack", x).ndim, "unstack")
    return tuple(x.view(x.layout.narrow(at, i, 1).squeeze((at,))) for i in range(x.shape[at]))


@planned
def roll(x: Tensor, /, shift: int | Sequence[int], axis: Axes = None) -> Tensor:
    """Elements moved along axes, those beyond the end to the front; over the flat tensor where the axis is None."""
    if axis is None:
        return reshape(roll(reshape(as_tensor("roll", x), -1), shift, axis=0), x.shape)
    axes = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    shifts = tuple(shift) if isinstance(shift, Sequence) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        if len(axes) != 1 and len(shifts) != 1:
            raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes; give as many")
        axes, shifts = (axes * len(shifts), shifts) if len(axes) == 1 else (axes, shifts * len(axes))
    result = as_tensor("roll", x)
    for at, by in zip((normal_axis(a, x.ndim, "roll") for a in axes), shifts, strict=True):
        n = result.shape[at]
        cut = -normal_integer(by, "roll", "shift") % n if n else 0
        if cut:
            low, high = result.layout.narrow(at, 0, cut), result.layout.narrow(at, cut, n - cut)
            result = concat([result.view(high), result.view(low)], axis=at)
    return duplicate(x) if result is x else result


@planned
def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The tensor laid side by side with itself that many times along each axis."""
    times = normal_shape(repetitions, "tile")
    ndim = max(len(times), as_tensor("tile", x).ndim)
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    apart = reshape(x, [n for length in shape for n in (1, length)])
    wide = broadcast_to(apart, [n for pair in zip(times, shape, strict=True) for n in pair])
    return reshape(duplicate(wide), [t * n for t, n in zip(times, shape, strict=True)])
