"""One launch for what takes several on larger tensors. A function returns None for operands that it does not take."""

from __future__ import annotations

from math import prod
from typing import Final

from attrs import frozen

from rocmkern.dtypes import bool_, float32, int64
from rocmkern.kernels import plans, plans_rows
from rocmkern.kernels.families.fused import MOST_KEYS, MOST_UNIQUE
from rocmkern.kernels.families.reduce import FLOATS
from rocmkern.layout import Layout, Shape, broadcast_layout, broadcast_shapes
from rocmkern.ops.casting import packed
from rocmkern.ops.elementwise import same_device
from rocmkern.ops.faults import under_check
from rocmkern.ops.launch import Kernel, context, empty, kernel, layout_info, word
from rocmkern.ops.parts import from_words, words
from rocmkern.runtime import Device, DeviceMemory
from rocmkern.tensor import Tensor

_FEW: Final = 4096  # elements that one block takes
_FEW_WRITES: Final = 256  # to a line, each of which looks at the others
_FEW_SOUGHT: Final = 128  # values that each element is compared with


def _by_bits(name: str, x: Tensor) -> Kernel:
    return kernel(x.device, f"{name}_u{8 * x.dtype.itemsize}")


def _one_block(device: Device, units: int) -> plans.LaunchPlan:
    return context(device).plan(plans.one_block, units)


def _layout(device: Device, shape: Shape, *strides: Shape) -> tuple[int, int]:
    """`num_dims` and `info`, one axis at least."""
    if not shape:
        shape, strides = (1,), tuple((0,) for _ in strides)
    return len(shape), layout_info(device, sum(strides, shape))


def _ids(ids: Tensor) -> tuple[int, int]:
    """The type of indices as the kernels know it, and where they are."""
    return (-1 if ids.dtype.kind == "signed" else 1) * ids.dtype.itemsize, ids.address


def take(x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor | None:
    """The slices of an axis at ids of any integer dtype, which are checked."""
    shape = (*x.shape[:axis], *ids.shape, *x.shape[axis + 1 :])
    if not 0 < prod(shape) <= _FEW or ids.size > _FEW:
        return None
    if x.dtype.is_complex:
        taken = take(words(x), ids, axis, operation)
        return None if taken is None else from_words(taken, x.dtype)
    before, after = (0,) * axis, (0,) * (x.ndim - axis - 1)
    in_ids = (*before, *ids.strides, *after)
    return _taken(shape, in_ids, (*x.strides[:axis], *(0,) * ids.ndim, *x.strides[axis + 1 :]), x, ids, axis, operation)


def take_along_axis(x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor | None:
    """For each index, checked, its value along the axis; the shapes are the same off it."""
    if not 0 < ids.size <= _FEW or x.dtype.is_complex:
        return None
    in_x = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    return _taken(ids.shape, ids.strides, in_x, x, ids, axis, operation)


def _taken(shape: Shape, in_ids: Shape, in_x: Shape, x: Tensor, ids: Tensor, axis: int, operation: str) -> Tensor:
    device, length = x.device, x.shape[axis]
    out, run = empty(shape, x.dtype, device), _by_bits("take", x).run
    plan = _one_block(device, max(out.size, ids.size))
    sizes = (out.size, *_layout(device, shape, in_ids, in_x), ids.size, *_layout(device, ids.shape, ids.strides))
    addresses = (*_ids(ids), x.address, out.address)
    under_check(
        ids, length, axis, operation, lambda slot: run(plan, *sizes, *addresses, length, word(x.strides[axis]), slot)
    )
    return out


def one_hot(ids: Tensor, depth: int) -> Tensor | None:
    """A row of `depth` zeros with a one at each index, which is checked."""
    if not 0 < ids.size * depth <= _FEW:
        return None
    device = ids.device
    out, run = empty((*ids.shape, depth), float32, device), kernel(device, "one_hot").run
    plan, sizes = _one_block(device, out.size), (ids.size, *_layout(device, ids.shape, ids.strides))
    under_check(ids, depth, -1, "one_hot", lambda slot: run(plan, *sizes, *_ids(ids), depth, out.address, slot))
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
        out = empty(x.shape, x.dtype, x.device)
        return out if self._run(x, out) else None

    def into(self, x: Tensor) -> bool:
        """Write to x itself; whether that was done."""
        return self._run(None, x)

    def _run(self, x: Tensor | None, out: Tensor) -> bool:
        shape, at = out.shape, self.axis
        by_slice = self.ids.ndim == 1
        left, length, right = prod(shape[:at]), shape[at], prod(shape[at + 1 :])
        count = self.values.shape[at]
        if not 0 < left * count * right <= _FEW or count > _FEW_WRITES or out.size > _FEW:
            return False
        target = out.layout.reshape((left, length, right))
        if target is None:
            return False
        values, steps = _in_lines(self.values, left, count, right)
        ids, id_steps = (
            (self.ids, (0, *self.ids.strides, 0)) if by_slice else _in_lines(packed(self.ids), left, count, right)
        )
        source, source_steps = (out, (0, 0, 0)) if x is None else _in_lines(x, left, length, right)
        device = out.device
        info = layout_info(device, source_steps + id_steps + steps + target.strides)
        symbol = f"write_sum_{out.dtype.short}" if self.adds else f"write_last_u{8 * out.dtype.itemsize}"
        run, plan = (
            kernel(device, symbol).run,
            _one_block(device, max(left * count * right, 0 if x is None else x.size)),
        )
        addresses = (*_ids(ids), 0 if x is None else source.address, values.address, out.address)
        under_check(
            ids, length, at, self.operation,
            lambda slot: run(plan, left, count, length, right, info, *addresses, slot),
        )  # fmt: skip
        return True


def _in_lines(x: Tensor, left: int, count: int, right: int) -> tuple[Tensor, Shape]:
    """A tensor as (left, count, right), copied where its strides do not allow it, and the strides."""
    layout = x.layout.reshape((left, count, right))
    if layout is not None:
        return x, layout.strides
    return packed(x), (count * right, right, 1)


def nonzero(x: Tensor, *, flat: bool) -> tuple[Tensor, ...] | None:
    """The coordinates of the values other than zero, an axis each, or their flat positions."""
    if not 0 < x.size <= _FEW or x.dtype.is_complex:
        return None
    axes, size = 1 if flat else x.ndim, x.size
    memory = x.device.alloc(8 * (axes * size + 1))
    total = memory.address + 8 * axes * size
    _by_bits("non_zeros", x).run(
        _one_block(x.device, size), size, *_layout(x.device, x.shape, x.strides), x.dtype.nonzero_bits, flat,
        x.address, memory.address, total,
    )  # fmt: skip
    found = _number_at(x.device, total)
    return tuple(Tensor(memory, int64, Layout((found,), (1,), axis * size), x.device) for axis in range(axes))


def _number_at(device: Device, address: int) -> int:
    """What a kernel has counted."""
    answer = bytearray(8)
    device.driver.copy_to_host(memoryview(answer), address, 0)
    device.settle()
    return int.from_bytes(answer, "little")


def _with_total(device: Device, nbytes: int) -> tuple[DeviceMemory, int]:
    """Memory with room for a number behind it, and the address of that."""
    memory = device.alloc(plans.round_up(nbytes, 8) + 8)
    return memory, memory.address + memory.nbytes - 8


def select_true(x: Tensor, mask: Tensor) -> Tensor | None:
    """The slices of x for which the mask over its first axes is true."""
    rest, values = x.shape[mask.ndim :], words(x)
    right = prod(values.shape[mask.ndim :])
    if not 0 < mask.size * right <= _FEW:
        return None
    source, chosen = packed(values), packed(mask)
    memory, total = _with_total(x.device, source.nbytes)
    _by_bits("select_true", source).run(
        _one_block(x.device, mask.size), mask.size, right, chosen.address, source.address, memory.address, total
    )
    count = _number_at(x.device, total)
    layout = Layout((count, *rest), _contiguous_strides((count, *rest)))
    return Tensor(memory, x.dtype, layout, x.device)


def _contiguous_strides(shape: Shape) -> Shape:
    return tuple(prod(shape[a + 1 :]) for a in range(len(shape)))


@frozen
class Distinct:
    """The distinct values of a line, where each occurs first, which of them each element is, how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse: Tensor
    counts: Tensor


def unique(x: Tensor, *, everything: bool, counts: bool = False) -> Distinct | None:
    """The distinct values of a line; of the rest only what is wanted is computed."""
    size, device = x.size, x.device
    if not 0 < size <= MOST_UNIQUE or x.dtype.is_complex:
        return None
    source = packed(x)
    memory, total = _with_total(device, source.nbytes)
    wanted = (everything, everything, everything or counts)
    lines = [empty((size if each else 0,), int64, device) for each in wanted]
    kernel(device, f"unique_{x.dtype.short}").run(
        _one_block(device, size), size, source.address, memory.address,
        *(line.address if each else 0 for line, each in zip(lines, wanted, strict=True)), total,
    )  # fmt: skip
    layout = Layout((_number_at(device, total),), (1,))
    indices, inverse, occurrences = lines
    return Distinct(
        Tensor(memory, x.dtype, layout, device),
        indices.view(layout) if everything else indices,
        inverse,
        occurrences.view(layout) if wanted[2] else occurrences,
    )


def is_among(sought: Tensor, given: Tensor, *, invert: bool) -> Tensor | None:
    """Whether each element is among the values of a line, or is not."""
    if not 0 < given.size <= _FEW_SOUGHT or not sought.size or sought.dtype.is_complex:
        return None
    source, line = packed(sought), packed(given)
    out = empty(sought.shape, bool_, sought.device)
    kernel(sought.device, f"is_among_{sought.dtype.short}")(
        out.size, out.size, line.size, source.address, line.address, invert, out.address
    )
    return out


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor | None:
    """softmax(query · keyᵀ · scale + mask) · value of few queries; a mask of bool says which keys count."""
    tensors, dtype = (query, key, value), query.dtype
    (queries, features), (keys, outputs) = query.shape[-2:], value.shape[-2:]
    if dtype not in FLOATS or any(t.dtype is not dtype for t in tensors) or key.shape[-2:] != (keys, features):
        return None
    if mask is not None and mask.dtype is not dtype and mask.dtype is not bool_:
        return None
    for t in (*tensors[1:], *(() if mask is None else (mask,))):
        same_device("scaled_dot_product_attention", query.device, t)
    batch = broadcast_shapes(*[t.shape[:-2] for t in tensors])
    scores = (*batch, queries, keys)
    if mask is not None and (mask.ndim > len(scores) or broadcast_shapes(mask.shape, scores) != scores):
        return None
    work = prod(scores)
    if not 0 < work <= _FEW or keys > MOST_KEYS or work * (features + outputs) > _FEW * 64 or not outputs:
        return None
    device = query.device
    layouts = [broadcast_layout(t.layout, (*batch, *t.shape[-2:])) for t in tensors]
    layouts.append(layouts[0] if mask is None else broadcast_layout(mask.layout, scores))
    strides = [layout.strides for layout in layouts]
    axes = batch or (1,)
    by_batch = [s[:-2] or (0,) for s in strides]
    planes = [s[-2:] for s in strides]
    info = layout_info(device, sum(by_batch + planes, axes))
    out, run = empty((*batch, queries, outputs), dtype, device), kernel(device, f"attention_{dtype.short}").run
    plan = context(device).plan(plans_rows.attention, prod(batch) * queries, keys)
    run(
        plan, prod(batch), queries, keys, features, outputs, len(axes), info, float(scale),
        mask is not None and mask.dtype is bool_, *(t.address for t in tensors),
        0 if mask is None else mask.address, out.address,
    )  # fmt: skip
    return out
