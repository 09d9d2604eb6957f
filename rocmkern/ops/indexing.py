"""Elements chosen by index tensors, masks and positions."""

from __future__ import annotations

from math import prod
from typing import Final, overload

import numpy as np

from rocmkern import default_dtypes
from rocmkern.dtypes import bool_, complex128, int64
from rocmkern.engine.operation import planned
from rocmkern.errors import ArgumentError, DTypeError, ShapeError
from rocmkern.kernels import plans_indexing
from rocmkern.kernels.families.ternary import CONDITIONS
from rocmkern.kernels.plans import BLOCK
from rocmkern.layout import broadcast_shapes, contiguous, made, normal_axis, normal_integer
from rocmkern.ops import fused
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import arange, upload
from rocmkern.ops.elementwise import as_tensor, broadcast, device_and_dtype, one_of, operand, same_device
from rocmkern.ops.faults import checked_ids, under_check
from rocmkern.ops.launch import context, elementwise, empty, kernel, layout_info, strided, word
from rocmkern.ops.manipulation import broadcast_to, expand_dims, reshape
from rocmkern.ops.parts import beside_words, from_words, words
from rocmkern.ops.reduction import cumulative_sum
from rocmkern.ops.reduction import min as lowest
from rocmkern.ops.rows_binary import equal
from rocmkern.ops.sorting import require_order, searched
from rocmkern.promotion import common_dtype
from rocmkern.tensor import Operand, Tensor

_TILE: Final = 4096  # elements of a mask that one block counts

__all__ = ["nonzero", "one_hot", "repeat", "searchsorted", "take", "take_along_axis", "where"]


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The coordinates of the values other than zero, a tensor of int64 for each axis, in row-major order."""
    if not as_tensor("nonzero", x).ndim:
        raise ShapeError("nonzero: no dimensions; it takes one or more")
    found = fused.nonzero(x, flat=False)
    if found is not None:
        (axes, count), (step, _) = found.shape, found.strides
        return tuple(found.view(made((count,), (1,), axis * step)) for axis in range(axes))
    flat = positions(x)
    if x.ndim == 1:
        return (flat,)
    result = empty((x.ndim, flat.size), int64, x.device)
    if flat.size:
        dims = layout_info(x.device, x.shape)
        kernel(x.device, "nonzero_unravel")(flat.size, flat.size, x.ndim, dims, flat.address, result.address)
    return tuple(result.view(result.layout.narrow(0, a, 1).squeeze((0,))) for a in range(x.ndim))


def positions(x: Tensor) -> Tensor:
    """The flat positions of the values other than zero, in order; their number comes to the host."""
    real = cast(x, bool_) if x.dtype.is_complex else x
    found = fused.nonzero(real, flat=True)
    if found is not None:
        return found.view(contiguous(found.shape[1:]))
    values = packed(real)
    tiles = -(-values.size // _TILE)
    if not tiles:
        return empty((0,), int64, x.device)
    counts = empty((tiles + 1,), int64, x.device)
    sizes = (values.size, _TILE, values.address)
    kernel(x.device, f"nonzero_count_{values.dtype.short}")(tiles * BLOCK, *sizes, counts.address)
    kernel(x.device, "nonzero_scan")(BLOCK, tiles, counts.address)
    total = int(counts.view(counts.layout.narrow(0, tiles, 1)))
    result = empty((total,), int64, x.device)
    if total:
        kernel(x.device, f"nonzero_write_{values.dtype.short}")(tiles * BLOCK, *sizes, counts.address, result.address)
    return result


@overload
def where(condition: Tensor, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor: ...
def where(condition: Tensor, x1: Operand | None = None, x2: Operand | None = None, /) -> Tensor | tuple[Tensor, ...]:
    """x1 where the condition is true, x2 elsewhere; any value but zero is true. The condition alone gives `nonzero`."""
    if x1 is None or x2 is None:
        if x1 is not x2:
            raise ArgumentError("where: one value of two; give what stands where the condition is false too, or none")
        return nonzero(condition)
    return _where(condition, x1, x2)


@planned
def _where(condition: Tensor, x1: Operand, x2: Operand) -> Tensor:
    truth = condition if as_tensor("where", condition).dtype in CONDITIONS else cast(condition, bool_)
    dtype = common_dtype(x.dtype if isinstance(x, Tensor) else x for x in (x1, x2))
    left, right = operand("where", x1, dtype, truth.device), operand("where", x2, dtype, truth.device)
    shape = broadcast_shapes(truth.shape, left.shape, right.shape)
    out, mask = empty(shape, dtype, truth.device), beside_words(broadcast(truth, shape), dtype)
    choices = [words(broadcast(t, shape)) for t in (left, right)]
    target = words(out)
    elementwise(f"where_{truth.dtype.short}_{target.dtype.short}", target, (mask, *choices))
    return out


@planned
def take(x: Tensor, indices: Tensor, /, axis: int | None = None) -> Tensor:
    """The slices of an axis that the indices name; negative ones count from the end.

    One outside the axis is an IndexError: on the emulator at once, on a GPU of the next call that waits for the device.
    """
    if axis is None and as_tensor("take", x).ndim != 1:
        raise ShapeError(f"take: {x.ndim} dimensions; name the axis")
    at = normal_axis(0 if axis is None else axis, as_tensor("take", x).ndim, "take")
    return slices_at(x, index_tensor("take", indices), at, "take")


@planned
def slices_at(x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor:
    """The slices of an axis at ids, which are checked and whose axes take its place."""
    same_device(operation, x.device, ids)
    taken = fused.take(x, ids, axis, operation)
    if taken is not None:
        return taken
    length = x.shape[axis]
    if not ids.size or not x.size:
        return select(x, checked_ids(ids, length, axis, operation), axis)
    return under_check(ids, length, axis, operation, lambda status: _selected(x, ids, axis, status))


@planned
def take_along_axis(x: Tensor, indices: Tensor, /, axis: int = -1) -> Tensor:
    """For each index its value along the axis, the other coordinates being its own; shapes broadcast off the axis."""
    at = normal_axis(axis, as_tensor("take_along_axis", x).ndim, "take_along_axis")
    ids = index_tensor("take_along_axis", indices)
    if ids.ndim != x.ndim:
        raise ShapeError(f"take_along_axis: {ids.ndim} dimensions of indices for {x.ndim}; use as many")
    off = broadcast_shapes(*[tuple(1 if a == at else n for a, n in enumerate(t.shape)) for t in (x, ids)])
    wide_ids = broadcast_to(ids, tuple(ids.shape[at] if a == at else n for a, n in enumerate(off)))
    wide_x = broadcast_to(x, tuple(x.shape[at] if a == at else n for a, n in enumerate(off)))
    return gathered(wide_x, wide_ids, at, "take_along_axis")


def gathered(x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor:
    """`take_along_axis` of ids to check, of x's shape off the axis."""
    same_device(operation, x.device, ids)
    taken = fused.take_along_axis(x, ids, axis, operation)
    if taken is not None:
        return taken
    length = x.shape[axis]
    if x.dtype is complex128:  # two words an index
        checked = beside_words(checked_ids(ids, length, axis, operation), x.dtype)
        return from_words(_gather(words(x), checked, axis), x.dtype)
    if not ids.size:
        return empty(ids.shape, x.dtype, x.device)
    return from_words(
        under_check(ids, length, axis, operation, lambda status: _gather(words(x), ids, axis, status)), x.dtype
    )


def _gather(x: Tensor, ids: Tensor, axis: int, status: int = 0) -> Tensor:
    """`take_along_axis` for any layouts."""
    result = empty(ids.shape, x.dtype, x.device)
    strides = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    info = layout_info(x.device, ids.shape + ids.strides + strides)
    kernel(x.device, f"gather_strided_u{x.dtype.bits}")(
        -(-result.size // plans_indexing.MOVES), result.size, x.ndim, info, fused.id_type(ids), ids.address, x.address,
        result.address, x.shape[axis], word(x.strides[axis]), status,
    )  # fmt: skip
    return result


def index_tensor(operation: str, indices: object) -> Tensor:
    """The tensor itself if it is of integers. Raises DTypeError."""
    found = as_tensor(operation, indices)
    if not found.dtype.is_integer:
        raise DTypeError(f"{operation}: indices of dtype {found.dtype}; use integers")
    return found


@planned
def select(x: Tensor, ids: Tensor, axis: int) -> Tensor:
    """The slices of an axis at ids that are known to be inside, whose axes take its place."""
    return _selected(x, ids, axis, 0)


def _selected(x: Tensor, ids: Tensor, axis: int, status: int) -> Tensor:
    """The same, with the address for an answer where the ids are to be checked."""
    same_device("select", x.device, ids)
    if x.dtype.is_complex:
        return from_words(_selected(words(x), ids, axis, status), x.dtype)
    source = packed(x)
    result = empty((*x.shape[:axis], *ids.shape, *x.shape[axis + 1 :]), x.dtype, x.device)
    if result.size:
        left, right = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
        plan = context(x.device).plan(plans_indexing.index_select, left * ids.size, right, x.dtype.itemsize)
        kernel(x.device, f"select_u{x.dtype.bits}").run(
            plan, result.size, *strided(ids.shape, ids), fused.id_type(ids), ids.address, source.address,
            result.address, left, x.shape[axis], ids.size, right, status,
        )  # fmt: skip
    return result


@planned
def searchsorted(x1: Tensor, x2: Operand, /, side: str = "left", *, sorter: Tensor | None = None) -> Tensor:
    """Where each value of x2 goes into the sorted x1, as int64: before equal values, or after with side="right"."""
    one_of("searchsorted", side, "side", ("left", "right"))
    if as_tensor("searchsorted", x1).ndim != 1:
        raise ShapeError(f"searchsorted: x1 has {x1.ndim} dimensions; it takes 1")
    device, dtype = device_and_dtype("searchsorted", x1, x2)
    require_order("searchsorted", dtype)
    ordered = cast(x1 if sorter is None else take(x1, sorter), dtype)
    return searched(ordered, operand("searchsorted", x2, dtype, device), side == "right")


def repeat(x: Tensor, repeats: int | Tensor, /, axis: int | None = None) -> Tensor:
    """Each element, or each slice along an axis, several times in a row; `repeats` may say how often for each.

    Raises ShapeError for a negative number of times.
    """
    if axis is None:
        return repeat(reshape(as_tensor("repeat", x), -1), repeats, axis=0)
    at = normal_axis(axis, as_tensor("repeat", x).ndim, "repeat")
    if not isinstance(repeats, Tensor):
        number = normal_integer(repeats, "repeat", "number of times")
        if number < 0:
            raise ShapeError(f"repeat: {number} times; use 0 or more")
        wide = broadcast_to(expand_dims(x, axis=at + 1), (*x.shape[: at + 1], number, *x.shape[at + 1 :]))
        return reshape(duplicate(wide), (*x.shape[:at], x.shape[at] * number, *x.shape[at + 1 :]))
    same_device("repeat", x.device, index_tensor("repeat", repeats))
    if repeats.ndim > 1 or (repeats.ndim and repeats.size not in (1, x.shape[at])):
        raise ShapeError(f"repeat: repeats of shape {repeats.shape} for {x.shape[at]} slices; give one for each")
    times = broadcast_to(repeats, (x.shape[at],))
    counts = times.numpy().tolist() if times.size <= fused.FEW else None  # the host needs their sum anyway
    least = int(lowest(repeats)) if counts is None else min(counts, default=0)
    if least < 0:
        raise ShapeError(f"repeat: {least} times; use 0 or more")
    if counts is not None:
        total = sum(counts)
        if fused.are_few(total * (x.size // max(len(counts), 1))):
            return fused.repeat_each(x, at, times, total)
        if total <= fused.FEW:
            return select(x, upload(np.repeat(np.arange(len(counts)), counts), x.device), at)
    ends = cumulative_sum(cast(times, int64))
    total = int(ends.view(ends.layout.narrow(0, ends.size - 1, 1))) if ends.size else 0
    return select(x, searched(ends, arange(total, device=x.device), right=True), at)


@planned
def one_hot(x: Tensor, depth: int, /) -> Tensor:
    """For each index a row of `depth` zeros with a one at it, in the default float dtype."""
    length = normal_integer(depth, "one_hot", "depth")
    if length < 0:
        raise ShapeError(f"one_hot: depth {length}; use 0 or more")
    found = fused.one_hot(index_tensor("one_hot", x), length)
    if found is not None:
        return cast(found, default_dtypes.floating())
    ids = checked_ids(x, length, -1, "one_hot")
    return cast(equal(expand_dims(ids, axis=-1), arange(length, device=x.device)), default_dtypes.floating())
