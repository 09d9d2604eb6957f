"""`x[key]` and `x[key] = value` as NumPy has them: integers, slices, new axes, index tensors and masks together."""

from __future__ import annotations

import atexit
from math import prod
from operator import index as as_index
from types import EllipsisType
from typing import Any, Final

import numpy as np
from attrs import frozen

from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import bool_, complex128, int64
from rocmkern.engine.draft import needs_host
from rocmkern.engine.operation import planned, writes
from rocmkern.errors import DTypeError, IndexOutOfRange, ScalarRangeError, ShapeError
from rocmkern.layout import Layout, Shape, broadcast_shapes, normal_integer
from rocmkern.ops import fused
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import arange, asarray, full
from rocmkern.ops.elementwise import as_tensor, broadcast, operand, same_device
from rocmkern.ops.faults import checked_ids
from rocmkern.ops.fused import AtAxis
from rocmkern.ops.indexing import nonzero, positions, select, slices_at, where
from rocmkern.ops.launch import kernel
from rocmkern.ops.manipulation import concat, permute_dims, reshape
from rocmkern.ops.movement import write
from rocmkern.ops.parts import words
from rocmkern.ops.rows_binary import add, multiply, not_equal
from rocmkern.ops.sorting import argsort
from rocmkern.promotion import check_kind, scalar_dtype
from rocmkern.runtime import Device
from rocmkern.tensor import Operand, Tensor

_KEPT_VIEWS: Final = 4096
_views: dict[tuple[Any, ...], Layout] = {}  # by layout and key
_KEPT_LISTS: Final = 256
_SHORT: Final = 16  # numbers of a list that is kept
_lists: dict[tuple[Driver, tuple[int, ...]], Tensor] = {}
atexit.register(_lists.clear)  # memory goes back while the drivers still work
_ARRAYS: Final = (list, np.ndarray)
_NUMBERS: Final = (bool, int, float, complex)
Entry = int | slice | Tensor | EllipsisType | None


@frozen
class Selection:
    """What a key with index tensors selects: slices of `view` at `ids`, whose axes begin at `place` in the result."""

    view: Tensor
    at: tuple[AtAxis, ...]
    ids_shape: Shape  # that they broadcast to
    place: int
    unique: bool  # no element is selected twice

    @property
    def shape(self) -> Shape:
        rest = self.rest
        return (
            *(self.view.shape[a] for a in rest[: self.place]),
            *self.ids_shape,
            *(self.view.shape[a] for a in rest[self.place :]),
        )

    def checked(self) -> tuple[tuple[int, Tensor], ...]:
        """The ids as int64 of one shape. Those that an empty shape leaves out are not looked at, save one without axes,
        as NumPy has it.
        """
        return tuple(
            (a.axis, broadcast(checked_ids(t, self.view.shape[a.axis], a.axis, "index"), self.ids_shape))
            for a, t in ((a, broadcast(a.ids, self.ids_shape) if a.ids.ndim else a.ids) for a in self.at)
        )

    @property
    def rest(self) -> tuple[int, ...]:
        chosen = {each.axis for each in self.at}
        return tuple(a for a in range(self.view.ndim) if a not in chosen)


def get_item(x: Tensor, key: Any, /) -> Tensor:
    """The elements under a key: a view for integers, slices and new axes, a copy with index tensors or masks."""
    if isinstance(key, _ARRAYS):
        key = _entry(as_tensor("index", x), key)
    if isinstance(key, Tensor):
        if key.dtype is bool_ and key.ndim and key.shape == x.shape[: key.ndim]:
            same_device("index", x.device, key)
            found = fused.select_true(x, key)
            return select(reshape(x, (key.size, *x.shape[key.ndim :])), positions(key), 0) if found is None else found
        if key.dtype.is_integer and as_tensor("index", x).ndim:
            return slices_at(x, key, 0, "index")
    elif isinstance(key, tuple):
        dtypes = [e.dtype for e in key if isinstance(e, Tensor)]
        if dtypes and bool_ not in dtypes:
            return _planned_item(x, key)
    return _item(x, key)


def _item(x: Tensor, key: Any) -> Tensor:
    selected = _selected(x, key)
    if isinstance(selected, Tensor):
        return selected
    if len(selected.at) == 1:
        (only,) = selected.at
        found = slices_at(selected.view, only.ids, only.axis, "index")
        return _placed(found, only.axis, only.ids.ndim, selected.place)
    few = _few(selected)
    if few is not None:
        return few
    axes = [each.axis for each in selected.at]
    flat = _linear(selected.checked(), [selected.view.shape[a] for a in axes])
    front = packed(permute_dims(selected.view, (*axes, *selected.rest)))
    merged = reshape(front, (prod(front.shape[: len(axes)]), *front.shape[len(axes) :]))
    return _placed(select(merged, flat, 0), 0, flat.ndim, selected.place)


def _few(selected: Selection) -> Tensor | None:
    """Few elements at indices of two axes or more."""
    shape, at = selected.ids_shape, selected.at
    if len(at) == 2:
        return fused.take_at_two(selected.view, (at[0], at[1]), shape, selected.place)
    led = fused.as_one_axis(selected.view, at, shape)
    return None if led is None else _placed(slices_at(led[0], led[1].ids, 0, "index"), 0, len(shape), selected.place)


_planned_item: Final = planned(_item)  # of a key without masks, whose true values the host counts


def set_item(x: Tensor, key: Any, value: Operand, /) -> None:
    """Write a value, broadcast to what the key selects. Where an index repeats, the last value stays.

    Raises DTypeError for a float into an integer tensor or a complex number into a real one, ShapeError where the value
    does not broadcast.
    """
    source = _value(as_tensor("set_item", x), value)
    if isinstance(key, Tensor) and key.dtype is bool_ and source.ndim == 0 and key.shape == x.shape:
        write(where(key, source, x), x)
        return
    if isinstance(key, Tensor) and key.dtype is bool_ and key.ndim and key.shape == x.shape[: key.ndim]:
        same_device("index", x.device, key)
        told = _planned_true(x, key, source)
        if told is not None:
            if told.size:
                _fit(source, (fused.number_at(x.device, told.address), *x.shape[key.ndim :]))
            return
    given = key if isinstance(key, tuple) else (key,)
    dtypes = [e.dtype for e in given if isinstance(e, Tensor)]
    if dtypes and bool_ not in dtypes:
        _planned_put(x, given, source)
    else:
        _put(x, key, source)


def _put(x: Tensor, key: Any, source: Tensor) -> None:
    selected = _selected(x, key)
    fitting = _fit(source, selected.shape)
    if fitting.memory is x.memory:
        fitting = duplicate(fitting)
    if isinstance(selected, Tensor):
        write(fitting, selected)
    elif not _written(selected, fitting):
        _scatter(selected, packed(fitting), unique=selected.unique or source.size == 1)


_planned_true: Final = writes(0)(fused.write_true)
_planned_put: Final = writes(0)(_put)  # of a key without masks


def _written(selected: Selection, values: Tensor) -> bool:
    """Write few values by a launch that checks the indices, where that can be."""
    view, at = selected.view, selected.at
    if len(at) > 2 and fused.are_few(values.size):
        led = fused.as_one_axis(view, at, selected.ids_shape)
        if led is None:
            return False
        view, at = led[0], led[1:]
    return fused.write_at(view, at, selected.ids_shape, selected.place, values)


def _value(x: Tensor, value: Operand) -> Tensor:
    source: Operand
    if isinstance(value, _NUMBERS):
        source, kind = value, scalar_dtype(value, "set_item").kind
    elif hasattr(value, "dtype"):
        source = value if isinstance(value, Tensor) else asarray(value, device=x.device)
        kind = source.dtype.kind
    else:  # a list in x's dtype at once: floats would be float32 otherwise, integers out of range would wrap
        source = asarray(value, dtype=x.dtype, device=x.device)
        numbers = np.asarray(value, object).reshape(-1).tolist()
        kind = "float" if any(isinstance(n, float | np.floating) for n in numbers) else x.dtype.kind
    check_kind(kind, x.dtype, "set_item")
    return operand("set_item", source, x.dtype, x.device)


def _fit(value: Tensor, shape: Shape) -> Tensor:
    """The value broadcast to a shape; leading axes of length 1 too many are dropped, as NumPy does."""
    extra = value.ndim - len(shape)
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        value = value.view(value.layout.squeeze(tuple(range(extra))))
    return broadcast(value, shape)


def _selected(x: Tensor, key: Any) -> Tensor | Selection:
    """What a key selects: a view where it has no index tensors, whose layout is worked out once."""
    plain = _plain(key)
    if plain is None:
        return _resolve(x, key)
    layout = as_tensor("index", x).layout
    place = (layout.shape, layout.strides, layout.offset, plain)
    found = _views.get(place)
    if found is None:
        selected = _resolve(x, key)
        if isinstance(selected, Selection):
            return selected
        if len(_views) >= _KEPT_VIEWS:
            _views.clear()
        found = _views[place] = selected.layout
    return x.view(found)


def _plain(key: Any) -> tuple[Any, ...] | None:
    """A key of Python's integers, slices of them, None and ... as a key of a dictionary; None for another."""
    parts: list[Any] = []
    for entry in key if key.__class__ is tuple else (key,):
        if entry.__class__ is slice:
            ends = (entry.start, entry.stop, entry.step)
            if not all(e is None or e.__class__ is int for e in ends):
                return None
            parts.append(ends)
        elif entry.__class__ is int or entry is None or entry is Ellipsis:
            parts.append(entry)
        else:
            return None
    return tuple(parts)


def _resolve(x: Tensor, key: Any) -> Tensor | Selection:
    entries = _entries(as_tensor("index", x), key)
    if not any(isinstance(e, Tensor) for e in entries):
        return x.view(x.layout.index(_basic(entries)))
    x, entries, unique = _without_masks(x, entries)
    advanced = [i for i, e in enumerate(entries) if isinstance(e, Tensor | int)]
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    view = x.view(x.layout.index(_basic(entries)))
    kept = [e for e in entries if not isinstance(e, int | EllipsisType)]
    before = [e for e in entries[: advanced[0]] if e is not Ellipsis]
    place = len(before) if together else 0
    at = tuple(AtAxis(e, a) for a, e in enumerate(kept) if isinstance(e, Tensor))
    return Selection(view, at, _common_shape([each.ids for each in at]), place, unique)


def _common_shape(ids: list[Tensor]) -> Shape:
    try:
        return broadcast_shapes(*[t.shape for t in ids])
    except ShapeError as error:
        raise IndexOutOfRange(f"index: {error}; index tensors broadcast to one shape") from None


def _basic(entries: list[Entry]) -> list[int | slice | None]:
    """The view that the entries take: whole axes for index tensors."""
    return [slice(None) if isinstance(e, Tensor) else e for e in entries if not isinstance(e, EllipsisType)]


def _entries(x: Tensor, key: Any) -> list[Entry]:
    """The key with one entry for each axis, and tensors for lists, arrays and masks."""
    given = list(key) if isinstance(key, tuple) else [key]
    entries = [_entry(x, e) for e in given]
    used = sum(_axes_of(e) for e in entries if e is not Ellipsis)
    if used > x.ndim:
        raise IndexOutOfRange(f"index: {used} indices for {x.ndim} dimensions")
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexOutOfRange("index: more than one ellipsis; use one")
    # An ellipsis that stands for no axes still parts the index tensors around it, as NumPy has it.
    fill: list[Any] = [slice(None)] * (x.ndim - used) or [Ellipsis] * len(dots)
    at = dots[0] if dots else len(entries)
    return [*entries[:at], *fill, *entries[at + 1 :]]


def _checked_slice(entry: slice) -> slice:
    """The slice itself. Raises TypeError where an end is no integer, ShapeError for step 0."""
    for end in (entry.start, entry.stop, entry.step):
        if end is not None and end.__class__ is not int:
            normal_integer(end, "index", "end of a slice")
    if entry.step is not None and not entry.step:
        raise ShapeError("index: a slice of step 0 never arrives; use another")
    return entry


def _uploaded(entry: Any, device: Device) -> Tensor:
    """A list or array of a key on a device. Raises IndexOutOfRange for what is no number, or too large a one."""
    try:
        return asarray(entry, device=device)
    except (DTypeError, ScalarRangeError) as error:
        raise IndexOutOfRange(f"index: {entry!r}; {error}") from None


def _axes_of(entry: Any) -> int:
    if entry is None:
        return 0
    return entry.ndim if isinstance(entry, Tensor) and entry.dtype is bool_ else 1


def _entry(x: Tensor, entry: Any) -> Any:
    if entry is None or entry is Ellipsis:
        return entry
    if isinstance(entry, slice):
        return _checked_slice(entry)
    if isinstance(entry, Tensor):
        same_device("index", x.device, entry)
        if entry.dtype is not bool_ and not entry.dtype.is_integer:
            raise IndexOutOfRange(f"index: a tensor of {entry.dtype}; use integers or bool")
        return entry
    if isinstance(entry, bool | np.bool_):
        return asarray(bool(entry), device=x.device)
    if entry.__class__ is list and 0 < len(entry) <= _SHORT and all(e.__class__ is int for e in entry):
        return _ids(x.device, tuple(entry))
    if isinstance(entry, list | tuple | range | np.ndarray):
        values = _uploaded(entry, x.device)
        return _entry(x, values if values.size or values.dtype is bool_ else cast(values, int64))
    try:
        return as_index(entry)
    except TypeError:
        raise IndexOutOfRange(
            f"index: {type(entry).__name__}; use integers, slices, None, ... and integer or bool tensors"
        ) from None


def _ids(device: Device, numbers: tuple[int, ...]) -> Tensor:
    """A few numbers on the device, where they are kept: programs tend to write the same ones in a loop."""
    found = _lists.get((device.driver, numbers))
    if found is None:
        if len(_lists) >= _KEPT_LISTS:
            _lists.clear()
        found = _lists[device.driver, numbers] = _uploaded(list(numbers), device)
    return found


def _without_masks(x: Tensor, entries: list[Entry]) -> tuple[Tensor, list[Entry], bool]:
    """Each mask as the index tensors of its true values. Also: whether one mask was all there was.

    A mask without axes takes a new axis of length 1 once or not at all; an axis of length 0 fits one of any length.
    """
    result: list[Entry] = []
    axis = 0
    tensors = [e for e in entries if isinstance(e, Tensor)]
    for entry in entries:
        if not isinstance(entry, Tensor) or entry.dtype is not bool_:
            result.append(entry)
            axis += entry is not None and entry is not Ellipsis
            continue
        covered = x.shape[axis : axis + entry.ndim]
        if any(m not in (n, 0) for m, n in zip(entry.shape, covered, strict=True)):
            raise IndexOutOfRange(f"index: a mask of shape {entry.shape} for axes of shape {covered}")
        if entry.ndim:
            result += nonzero(entry)
            axis += entry.ndim
        else:
            x = x.view(x.layout.expand(axis))
            result.append(positions(reshape(entry, 1)))
            axis += 1
    return x, result, len(tensors) == 1 and tensors[0].dtype is bool_


def _linear(ids: tuple[tuple[int, Tensor], ...], lengths: list[int]) -> Tensor:
    """Ids of several axes as ids of those axes merged."""
    total = ids[0][1]
    for (_, t), n in zip(ids[1:], lengths[1:], strict=True):
        total = add(multiply(total, n), t)
    return total


def _placed(x: Tensor, start: int, count: int, place: int) -> Tensor:
    """The `count` axes from `start` on moved to `place` among the others."""
    moved = list(range(start, start + count))
    rest = [a for a in range(x.ndim) if a not in moved]
    order = [*rest[:place], *moved, *rest[place:]]
    return x if order == list(range(x.ndim)) else permute_dims(x, order)


def _scatter(selected: Selection, source: Tensor, *, unique: bool) -> None:
    """Write contiguous values to the selected places, by their offsets in the view's memory; `unique` says that no two
    differ that go to one place.
    """
    ids = selected.checked()
    if not source.size:
        return
    needs_host("x[ids] = values")
    selected.view.device.settle()  # an offset does not tell that its index was outside
    offsets = reshape(packed(_offsets(selected, ids)), -1)
    target, values = selected.view, reshape(source, -1)
    if not unique:
        offsets, values = _last_of_each(offsets, values)
    if values.dtype is complex128:
        offsets = reshape(add(multiply(reshape(offsets, (-1, 1)), 2), arange(2, device=offsets.device)), -1)
        values, target = reshape(words(values), -1), words(target)
    kernel(target.device, f"put_u{8 * target.dtype.itemsize}")(
        values.size, values.size, offsets.address, values.address, target.memory.address
    )


def _offsets(selected: Selection, checked: tuple[tuple[int, Tensor], ...]) -> Tensor:
    """For each element of the result its place in the memory, in elements."""
    view, shape = selected.view, selected.shape
    ids_ndim = len(selected.ids_shape)
    total = full((), view.layout.offset, dtype=int64, device=view.device)
    after = len(shape) - selected.place - ids_ndim
    for axis, ids in checked:
        placed = reshape(ids, (*ids.shape, *(1,) * after))
        total = add(total, multiply(placed, view.strides[axis]))
    for i, axis in enumerate(selected.rest):
        at = i if i < selected.place else i + ids_ndim
        steps = reshape(arange(view.shape[axis], device=view.device), (-1, *(1,) * (len(shape) - at - 1)))
        total = add(total, multiply(steps, view.strides[axis]))
    return broadcast(total, shape)


def _last_of_each(offsets: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Without the writes that a later one to the same place undoes."""
    order = argsort(offsets)
    ordered = select(offsets, order, 0)
    n = ordered.size
    later, earlier = (ordered.view(ordered.layout.narrow(0, start, n - 1)) for start in (1, 0))
    ends = concat([not_equal(earlier, later), full((1,), True, device=offsets.device)])
    last = positions(ends)
    return select(ordered, last, 0), select(values, select(order, last, 0), 0)
