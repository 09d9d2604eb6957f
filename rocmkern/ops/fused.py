"""One launch for what takes several on larger tensors. A function returns None for operands that it does not take."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from attrs import Factory, evolve, field, frozen

from rocmkern.dtypes import DType, bool_, float32, int64, uint64
from rocmkern.engine.draft import needs_host
from rocmkern.engine.operation import planned
from rocmkern.kernels import plans, plans_rows, plans_sort
from rocmkern.kernels.families.fused import MOST_IN_ORDER, MOST_KEYS, MOST_UNIQUE
from rocmkern.kernels.families.reduce import FLOATS
from rocmkern.layout import Layout, Shape, broadcast_layout, broadcast_shapes, contiguous, made
from rocmkern.ops.casting import duplicate, packed
from rocmkern.ops.elementwise import same_device
from rocmkern.ops.faults import under_check
from rocmkern.ops.launch import Kernel, context, empty, kernel, layout_info, word
from rocmkern.ops.parts import from_words, words
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

FEW: Final = 4096  # elements that one block takes
FEW_WRITES: Final = 256  # to a line, each of which looks at the others
_FEW_PRODUCTS: Final = 1 << 18  # of attention
FEW_SOUGHT: Final = 128  # values that each element is compared with
_ANY_NUMBER: Final = (1 << 64) - 1  # of true values


def are_few(*counts: int) -> bool:
    """Whether one block takes so many elements, of each kind; none is a case for the operation itself."""
    return all(0 < count <= FEW for count in counts)


def _by_bits(name: str, x: Tensor) -> Kernel:
    return kernel(x.device, f"{name}_u{8 * x.dtype.itemsize}")


def _one_block(device: Device, units: int) -> plans.LaunchPlan:
    return context(device).plan(plans.one_block, units)


def _layout(device: Device, shape: Shape, *strides: Shape) -> tuple[int, int]:
    """`num_dims` and `info`, one axis at least."""
    if not shape:
        shape, strides = (1,), tuple((0,) for _ in strides)
    return len(shape), layout_info(device, sum(strides, shape))


def id_type(ids: Tensor) -> int:
    """The type of indices as the kernels know it."""
    return (-1 if ids.dtype.kind == "signed" else 1) * ids.dtype.itemsize


@frozen
class AtAxis:
    """Indices of an axis, to check."""

    ids: Tensor
    axis: int
    named: int = field(default=Factory(lambda self: self.axis, takes_self=True))  # by errors

    def arguments(self, x: Tensor) -> tuple[int, ...]:
        return id_type(self.ids), self.ids.address, x.shape[self.axis], word(x.strides[self.axis])


def _at_axes(operation: str, x: Tensor, at: tuple[AtAxis, ...], launch: Callable[..., None]) -> None:
    """Launch what takes indices of one axis or of two, with their arguments, and checks them."""
    given = [a for each in at for a in each.arguments(x)] + [0] * (4 * (2 - len(at)))

    def checking(answers: tuple[int, ...]) -> None:
        if len(answers) == len(at):
            launch(*given, *answers, *(0,) * (2 - len(answers)))
            return
        each = at[len(answers)]
        under_check(each.ids, x.shape[each.axis], each.named, operation, lambda answer: checking((*answers, answer)))

    checking(())


def take(x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor | None:
    """The slices of an axis at ids of any integer dtype, which are checked."""
    return _take(operation, x, (AtAxis(ids, axis),), ids.shape, axis) if are_few(ids.size) else None


def take_at_two(x: Tensor, at: tuple[AtAxis, AtAxis], shape: Shape, place: int) -> Tensor | None:
    """The slices at indices of two axes, which broadcast to a shape; its axes begin at a place among the others."""
    return _take("index", x, at, shape, place) if are_few(prod(shape)) else None


def _take(operation: str, x: Tensor, at: tuple[AtAxis, ...], id_shape: Shape, place: int) -> Tensor | None:
    if x.dtype.is_complex:
        taken = _take(operation, words(x), at, id_shape, place)
        return None if taken is None else from_words(taken, x.dtype)
    rest = [a for a in range(x.ndim) if a not in [each.axis for each in at]]
    before, behind = rest[:place], rest[place:]

    def placed(of: Shape, between: Shape) -> Shape:
        return (*(of[a] for a in before), *between, *(of[a] for a in behind))

    shape, none = placed(x.shape, id_shape), (0,) * x.ndim
    if not are_few(prod(shape)):
        return None
    given = [broadcast_layout(each.ids.layout, id_shape).strides for each in at]
    in_ids = [placed(none, strides) for strides in given]
    return _taken(operation, x, at, shape, placed(x.strides, none[:1] * len(id_shape)), in_ids, id_shape, given)


def _taken(
    operation: str, x: Tensor, at: tuple[AtAxis, ...], shape: Shape, in_x: Shape, in_ids: list[Shape], id_shape: Shape,
    given: list[Shape],
) -> Tensor:  # fmt: skip
    """A tensor of a shape, whose axes run through x and the ids by these strides."""
    device, size, count, out = x.device, prod(shape), prod(id_shape), empty(shape, x.dtype, x.device)
    run, plan = _by_bits("take", x).run, _one_block(device, max(size, count))
    sizes = (size, *_layout(device, shape, in_x, *in_ids), count, *_layout(device, id_shape, *given))
    _at_axes(operation, x, at, lambda *rest: run(plan, *sizes, x.address, out.address, *rest))
    return out


def take_along_axis(x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor | None:
    """For each index, checked, its value along the axis; the shapes are the same off it."""
    if not are_few(ids.size) or x.dtype.is_complex:
        return None
    in_x = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    at, strides = (AtAxis(ids, axis),), [ids.strides]
    return _taken(operation, x, at, ids.shape, in_x, strides, ids.shape, strides)


def as_one_axis(x: Tensor, at: tuple[AtAxis, ...], shape: Shape) -> tuple[Tensor, AtAxis] | None:
    """A view and indices of one of its axes that lead to what indices of several lead to, which broadcast to a shape
    and are checked: its first axis is the memory.
    """
    if len(at) == 1:
        return x, at[0]
    if not are_few(prod(shape)):
        return None
    out, device, axes = empty(shape, uint64, x.device), x.device, [each.axis for each in at[:2]]
    run, plan = kernel(device, "lead").run, _one_block(device, out.size)
    layout = _layout(device, shape, *(broadcast_layout(each.ids.layout, shape).strides for each in at[:2]))
    reach = [(x.shape[axis] - 1) * x.strides[axis] for axis in axes]
    low, high = (sum(r for r in reach if (r < 0) is below) for below in (True, False))
    _at_axes("index", x, at[:2], lambda *rest: run(plan, out.size, *layout, -low, out.address, *rest))
    others = [axis for axis in range(x.ndim) if axis not in axes]
    shape_, strides = ((end, *(of[a] for a in others)) for end, of in ((high - low + 1, x.shape), (1, x.strides)))
    led = x.view(Layout(shape_, strides, x.layout.offset + low))
    later = (AtAxis(each.ids, 1 + others.index(each.axis), each.named) for each in at[2:])
    return as_one_axis(led, (AtAxis(out, 0), *later), shape)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor | None:
    """The mean negative log-probability of few targets, which are checked."""
    rows, cols = logits.shape
    if not are_few(rows * cols) or logits.dtype not in FLOATS:
        return None
    device, out = logits.device, empty((), logits.dtype, logits.device)
    run, plan = kernel(device, f"cross_entropy_{logits.dtype.short}").run, _one_block(device, rows * cols)
    sizes = (rows, cols, *map(word, (*logits.strides, *targets.strides)), id_type(targets))
    under_check(
        targets, cols, 1, "cross_entropy",
        lambda answer: run(plan, *sizes, targets.address, logits.address, out.address, answer),
    )  # fmt: skip
    return out


def one_hot(ids: Tensor, depth: int) -> Tensor | None:
    """A row of `depth` zeros with a one at each index, which is checked."""
    size, device = ids.size * depth, ids.device
    if not are_few(size):
        return None
    out, run = empty((*ids.shape, depth), float32, device), kernel(device, "one_hot").run
    plan = _one_block(device, size)
    sizes = (ids.size, *_layout(device, ids.shape, ids.strides), id_type(ids))
    under_check(ids, depth, -1, "one_hot", lambda answer: run(plan, *sizes, ids.address, depth, out.address, answer))
    return out


@frozen
class Writes:
    """Values to write, or to add, along an axis of a tensor at indices to check: of whole slices, or of each value."""

    operation: str
    axis: int
    ids: Tensor
    values: Tensor  # in the shape of what is written
    adds: bool = False

    def copy(self, x: Tensor) -> Tensor | None:
        """A copy of x with the values written."""
        if not are_few(x.size, self.values.size) or self.values.shape[self.axis] > FEW_WRITES:
            return None
        before = self._before(x)
        if before is None:
            return evolve(self, ids=packed(self.ids), values=packed(self.values)).copy(packed(x))
        out, ids = empty(x.shape, x.dtype, x.device), self.ids
        chosen = kernel(x.device, f"write_sum_{x.dtype.short}") if self.adds else _by_bits("write_last", x)
        run, plan = chosen.run, _one_block(x.device, max(self.values.size, x.size))
        addresses = ids.address, x.address, self.values.address, out.address
        under_check(
            ids, x.shape[self.axis], self.axis, self.operation, lambda answer: run(plan, *before, *addresses, answer)
        )
        return out

    def _before(self, x: Tensor) -> tuple[int, ...] | None:
        """Arguments ahead of the addresses; None where strides along (left, axis, right) do not tell it all."""
        at, ids = self.axis, self.ids
        left, length, right, count = prod(x.shape[:at]), x.shape[at], prod(x.shape[at + 1 :]), self.values.shape[at]
        each = (left, count, right)
        steps = [
            _steps(x.layout, (left, length, right)),
            (0, *ids.strides, 0) if ids.ndim == 1 else _steps(ids.layout, each) if ids.is_contiguous else None,
            _steps(self.values.layout, each),
            (length * right, right, 1),
        ]
        if None in steps:
            return None
        info = layout_info(x.device, sum((s for s in steps if s is not None), ()))
        return (left, count, length, right, info, id_type(ids))


def _steps(layout: Layout, shape: Shape) -> Shape | None:
    """The strides under another shape, where there are such."""
    seen = layout.reshape(shape)
    return None if seen is None else seen.strides


def write_at(x: Tensor, at: tuple[AtAxis, ...], ids_shape: Shape, place: int, values: Tensor) -> bool:
    """Write values at indices of one axis or of two, which broadcast to a shape; its axes begin at a place among the
    others in the values. Whether that was done.
    """
    count, n = prod(ids_shape), len(ids_shape)
    if not are_few(values.size) or count > FEW_WRITES:
        return False
    target, source, device = words(x), words(values), x.device
    axes = [each.axis for each in at]
    rest = [a for a in range(target.ndim) if a not in axes]
    given = [broadcast_layout(each.ids.layout, ids_shape).strides for each in at]
    steps, between = source.strides, source.strides[place : place + n]
    sizes = (
        count, *_layout(device, ids_shape, given[0], given[-1], between), source.size // count,
        *_layout(
            device, tuple(target.shape[a] for a in rest), tuple(target.strides[a] for a in rest),
            steps[:place] + steps[place + n :],
        ),
    )  # fmt: skip
    run, plan = _by_bits("write_at", target).run, _one_block(device, source.size)
    _at_axes("index", target, at, lambda *more: run(plan, *sizes, source.address, target.address, *more))
    return True


def write_true(x: Tensor, mask: Tensor, values: Tensor) -> Tensor | None:
    """Write values where a mask over the first axes is true, one for all or one for each, or nothing where they are not
    as many; the result is how many are true, of one for all nothing.
    """
    shape, n = x.shape[mask.ndim :], mask.ndim
    if not are_few(mask.size, x.size, values.size):
        return None
    extra = values.ndim - 1 - len(shape)
    if extra > 0 and values.shape[:extra] == (1,) * extra:
        values = values.view(values.layout.squeeze(tuple(range(extra))))
    each = values.shape[0] if values.ndim > len(shape) else 1
    tail = values.shape[-len(shape) :] if shape else ()
    if values.ndim > 1 + len(shape) or any(m not in (1, k) for m, k in zip(tail[::-1], shape[::-1], strict=False)):
        return None
    device, target, told = x.device, words(x), empty((int(each != 1),), uint64, x.device)
    source = words(duplicate(values) if values.memory is x.memory else values)
    wide = broadcast_layout(source.layout, (each, *target.shape[n:])).strides
    _by_bits("write_true", target).run(
        _one_block(device, mask.size), mask.size, *_layout(device, mask.shape, mask.strides, target.strides[:n]),
        prod(target.shape[n:]), *_layout(device, target.shape[n:], target.strides[n:], wide[1:]),
        *((_ANY_NUMBER, 0) if each == 1 else (each, word(wide[0]))), mask.address, source.address, target.address,
        told.address,
    )  # fmt: skip
    return told


def repeat_each(x: Tensor, axis: int, times: Tensor, total: int) -> Tensor:
    """Few slices of an axis as often as a line of numbers, whose sum is known, says."""
    left, right = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
    source, out = packed(x), empty((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype, x.device)
    moved, given = words(source), (times.address, word(times.strides[0]))
    right *= moved.size // source.size
    _by_bits("repeat_each", moved).run(
        _one_block(x.device, times.size), left, times.size, right, total, id_type(times), *given, source.address,
        out.address,
    )  # fmt: skip
    return out


def takes_quantiles(rows: Tensor) -> bool:
    """Whether `quantile` has a block for each row."""
    return are_few(rows.size) and rows.shape[-1] <= MOST_IN_ORDER


def quantile(rows: Tensor, low: int, share: float) -> Tensor:
    """The value at a place of each row in order, and a share of the way to the next, NaN where a row has one."""
    cols, dtype = rows.shape[-1], rows.dtype
    source, out = packed(rows), empty(rows.shape[:-1], dtype, rows.device)
    plan = context(rows.device).plan(plans_sort.row_a_block, out.size, cols)
    kernel(rows.device, f"quantile_{dtype.short}").run(plan, out.size, cols, low, share, source.address, out.address)
    return out


def nonzero(x: Tensor, *, flat: bool) -> Tensor | None:
    """The coordinates of the values other than zero, a row for each axis, or one row of their flat positions."""
    if not are_few(x.size) or x.dtype.is_complex:
        return None
    room, axes = _coordinates(x, flat), 1 if flat else x.ndim
    return Tensor(room.memory, int64, made((axes, _number_behind(room)), (x.size, 1)), x.device)


@planned
def _coordinates(x: Tensor, flat: bool) -> Tensor:
    """Room for all coordinates with those that there are, and their number behind it."""
    room, total = _with_number(x.device, 8 * (1 if flat else x.ndim) * x.size)
    _by_bits("non_zeros", x).run(
        _one_block(x.device, x.size), x.size, *_layout(x.device, x.shape, x.strides), x.dtype.nonzero_bits, flat,
        x.address, room.address, total,
    )  # fmt: skip
    return room


def number_at(device: Device, address: int) -> int:
    """What a kernel has counted."""
    needs_host("count")
    answer = bytearray(8)
    device.driver.copy_to_host(memoryview(answer), address, 0)
    device.settle()
    return int.from_bytes(answer, "little")


def _with_number(device: Device, nbytes: int) -> tuple[Tensor, int]:
    """Memory with room for a number behind it, and the address of that."""
    room = empty((plans.round_up(nbytes, 8) // 8 + 1,), int64, device)
    return room, room.address + room.nbytes - 8


def _number_behind(room: Tensor) -> int:
    return number_at(room.device, room.address + room.nbytes - 8)


def select_true(x: Tensor, mask: Tensor) -> Tensor | None:
    """The slices of x for which the mask over its first axes is true."""
    values = words(x)
    if not are_few(values.size):
        return None
    room = _chosen(values, mask)
    return Tensor(room.memory, x.dtype, contiguous((_number_behind(room), *x.shape[mask.ndim :])), x.device)


@planned
def _chosen(values: Tensor, mask: Tensor) -> Tensor:
    source, chosen = packed(values), packed(mask)
    room, total = _with_number(source.device, source.nbytes)
    _by_bits("select_true", source).run(
        _one_block(source.device, mask.size), mask.size, source.size // mask.size, chosen.address, source.address,
        room.address, total,
    )  # fmt: skip
    return room


@frozen
class Distinct:
    """The distinct values of a line, where each occurs first, which of them each element is, how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse: Tensor
    counts: Tensor


def unique_values(x: Tensor) -> Tensor | None:
    """The distinct values of a line."""
    return _of_number(_distinct(x, False)[0], x.dtype) if _has_unique(x) else None


def unique(x: Tensor) -> Distinct | None:
    """The distinct values of a line, and all that is told of them."""
    if not _has_unique(x):
        return None
    room, indices, inverse, counts = _distinct(x, True)
    values = _of_number(room, x.dtype)
    return Distinct(values, indices.view(values.layout), inverse, counts.view(values.layout))


def _of_number(room: Tensor, dtype: DType) -> Tensor:
    """A line of as many values as the number behind it says."""
    return Tensor(room.memory, dtype, contiguous((_number_behind(room),)), room.device)


def _has_unique(x: Tensor) -> bool:
    return 0 < x.size <= MOST_UNIQUE


@planned
def _distinct(x: Tensor, told: bool) -> tuple[Tensor, ...]:
    """Room with the values, their number behind it, and where wanted the indices, the inverse and the counts."""
    source, device = packed(x), x.device
    room, total = _with_number(device, source.nbytes)
    others = tuple(empty((x.size,), int64, device) for _ in range(3 * told))
    kernel(device, f"unique_{x.dtype.short}").run(
        _one_block(device, x.size), x.size, source.address, room.address,
        *([other.address for other in others] or (0, 0, 0)), total,
    )  # fmt: skip
    return room, *others


def is_among(sought: Tensor, given: Tensor, *, invert: bool) -> Tensor | None:
    """Whether each element is among the values of a line, or is not."""
    if not 0 < given.size <= FEW_SOUGHT or not sought.size:
        return None
    source, line = packed(sought), packed(given)
    out = empty(sought.shape, bool_, sought.device)
    kernel(sought.device, f"is_among_{sought.dtype.short}")(
        out.size, out.size, line.size, source.address, line.address, invert, out.address
    )
    return out


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor | None:
    """softmax(query · keyᵀ · scale + mask) · value of few queries; a mask of bool says which keys count."""
    tensors, dtype, device = (query, key, value), query.dtype, query.device
    (queries, features), (keys, outputs) = query.shape[-2:], value.shape[-2:]
    if dtype not in FLOATS or any(t.dtype is not dtype for t in tensors) or key.shape[-2:] != (keys, features):
        return None
    if mask is not None and mask.dtype is not dtype and mask.dtype is not bool_:
        return None
    for t in (key, value, *(() if mask is None else (mask,))):
        same_device("scaled_dot_product_attention", device, t)
    batch = broadcast_shapes(*[t.shape[:-2] for t in tensors])
    scores = (*batch, queries, keys)
    if mask is not None and (mask.ndim > len(scores) or broadcast_shapes(mask.shape, scores) != scores):
        return None
    work, rows = prod(scores), prod(batch) * queries
    if not are_few(work) or keys > MOST_KEYS or not outputs > 0 or work * (features + outputs) > _FEW_PRODUCTS:
        return None
    layouts = [broadcast_layout(t.layout, (*batch, *t.shape[-2:])) for t in tensors]
    layouts.append(layouts[0] if mask is None else broadcast_layout(mask.layout, scores))
    axes, strides = batch or (1,), [layout.strides for layout in layouts]
    info = layout_info(device, sum([s[:-2] or (0,) for s in strides] + [s[-2:] for s in strides], axes))
    before = (
        prod(batch), queries, keys, features, outputs, len(axes), info, float(scale),
        mask is not None and mask.dtype is bool_,
    )  # fmt: skip
    plan = context(device).plan(plans_rows.attention, rows, keys)
    out = empty((*batch, queries, outputs), dtype, device)
    addresses = (query.address, key.address, value.address, 0 if mask is None else mask.address)
    kernel(device, f"attention_{dtype.short}").run(plan, *before, *addresses, out.address)
    return out
