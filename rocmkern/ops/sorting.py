"""Sorting along an axis: stable, NaN last in ascending order, rows of any length."""

from __future__ import annotations

from math import prod
from typing import Final

from rocmkern.dtypes import DType, float32, int32, int64, uint32
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels import plans_sort
from rocmkern.kernels.catalogue import bits_type
from rocmkern.kernels.families.sort import GATED, MOST_EXPERTS
from rocmkern.kernels.plans_sort import SortPlan
from rocmkern.layout import normal_axis, normal_integer
from rocmkern.ops.casting import packed
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.launch import context, empty, kernel
from rocmkern.ops.manipulation import moveaxis
from rocmkern.tensor import Tensor

_DIGIT_BITS: Final = 8


@planned
def sort(x: Tensor, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The values in order along an axis; NaN is the largest. Always stable."""
    at, rows = _rows("sort", x, axis)
    return moveaxis(_sorted(rows, descending, rows.shape[-1], values=True, indices=False)[0], -1, at)


@planned
def argsort(x: Tensor, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that put the values in order along an axis, as int64. Always stable."""
    at, rows = _rows("argsort", x, axis)
    positions = _sorted(rows, descending, rows.shape[-1], values=False, indices=True)[1]
    return moveaxis(positions, -1, at)


def order(line: Tensor) -> Tensor:
    """The positions that put a contiguous line in order, as int64."""
    return _sorted(line, False, line.size, values=False, indices=True)[1]


@planned
def top_k(x: Tensor, k: int, /, axis: int = -1, *, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) values along an axis in order, and their positions as int64; NaN is the largest."""
    at, rows = _rows("top_k", x, axis)
    kept = normal_integer(k, "top_k", "k")
    if not 0 <= kept <= rows.shape[-1]:
        raise ShapeError(f"top_k: {kept} of {rows.shape[-1]} values; use 0..{rows.shape[-1]}")
    values, positions = _sorted(rows, largest, kept, values=True, indices=True)
    return moveaxis(values, -1, at), moveaxis(positions, -1, at)


def top_k_softmax(gating: Tensor, k: int, renormalize: bool) -> tuple[Tensor, Tensor] | None:
    """The k largest of each row's softmax as float32 and their columns as int32, by one kernel where one takes them.

    `gating` has rows of at least k values. With `renormalize` what is left of a row sums to 1.
    """
    rows, experts = gating.shape
    if gating.dtype not in GATED or experts > MOST_EXPERTS:
        return None
    source, device = packed(gating), gating.device
    weights, columns = empty((rows, k), float32, device), empty((rows, k), int32, device)
    plan = context(device).plan(plans_sort.top_k_softmax, rows, experts)
    kernel(device, f"topk_softmax_{gating.dtype.short}").run(
        plan, source.address, weights.address, columns.address, rows, experts, k, renormalize
    )
    return weights, columns


def _rows(operation: str, x: Tensor, axis: int) -> tuple[int, Tensor]:
    """The axis from the front, and the tensor contiguous with that axis last."""
    at = normal_axis(axis, as_tensor(operation, x).ndim, operation)
    require_order(operation, x.dtype)
    return at, packed(moveaxis(x, at, -1))


def require_order(operation: str, dtype: DType) -> None:
    if dtype.is_complex:
        raise DTypeError(f"{operation}: dtype {dtype}; complex numbers have no order, use real(), imag() or abs()")


def _sorted(x: Tensor, descending: bool, kept: int, *, values: bool, indices: bool) -> tuple[Tensor, Tensor]:
    """The first `kept` sorted values and their positions in each row; what is not wanted stays uninitialised."""
    columns = x.shape[-1]
    shape = (*x.shape[:-1], kept)
    if not prod(shape):
        return empty(shape, x.dtype, x.device), empty(shape, int64, x.device)
    rows = x.size // columns
    plan = context(x.device).plan(plans_sort.sort, rows, columns, x.dtype.itemsize)
    found = empty(shape if values else (0,), x.dtype, x.device)
    positions = empty(shape if indices else (0,), int64, x.device)
    targets = (found.address if values else 0, positions.address if indices else 0)
    if plan.is_radix:
        in_order = _radix(x, plan, descending)
        take = kernel(x.device, f"sort_take_{x.dtype.short}")
        take(prod(shape), prod(shape), in_order.address, x.address, *targets, columns, kept)
        return found, positions
    kernel(x.device, f"sort_rows_{x.dtype.short}").run(
        plan.sort,
        x.address,
        *targets,
        rows,
        columns,
        kept,
        plan.lanes,
        descending,
    )
    return found, positions


def _radix(x: Tensor, plan: SortPlan, descending: bool) -> Tensor:
    """The sorted positions of long rows: passes of count, scan and scatter, eight bits of the key at a time."""
    key = bits_type(x.dtype)
    keys = [empty(x.shape, key, x.device) for _ in range(2)]
    positions = [empty(x.shape, uint32, x.device) for _ in range(2)]
    counts, totals = (empty((n,), uint32, x.device) for n in (plan.counts, plan.totals))
    kernel(x.device, f"sort_keys_{x.dtype.short}").run(plan.keys, x.size, x.address, keys[0].address, descending)
    for number in range(plan.passes):
        source, target = number % 2, 1 - number % 2
        sizes = (plan.rows, plan.ncols, plan.tiles, _DIGIT_BITS * number)
        kernel(x.device, f"radix_count_{key.short}").run(plan.sort, keys[source].address, counts.address, *sizes)
        kernel(x.device, "radix_scan").run(plan.scan, plan.totals, plan.tiles, counts.address, totals.address)
        kernel(x.device, f"radix_scatter_{key.short}").run(
            plan.sort,
            keys[source].address,
            positions[source].address if number else 0,
            keys[target].address if number < plan.passes - 1 else 0,
            positions[target].address,
            counts.address,
            totals.address,
            *sizes,
        )
    return positions[plan.passes % 2]


def searched(ordered: Tensor, values: Tensor, right: bool) -> Tensor:
    """For each value how many of the ordered ones are below it, or with `right` not above it, as int64."""
    sought, line = packed(values), packed(ordered)
    result = empty(values.shape, int64, values.device)
    if result.size:
        kernel(values.device, f"searchsorted_{line.dtype.short}")(
            sought.size, line.size, sought.size, line.address, sought.address, result.address, right
        )
    return result
