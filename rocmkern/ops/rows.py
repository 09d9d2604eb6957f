"""Launches over rows: reductions of axes and running totals, whole or in parts."""

from __future__ import annotations

from math import prod
from typing import Final

from rocmkern.dtypes import DType, int64, uint8
from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_rows
from rocmkern.kernels.families.reduce import INDEXED, accumulator, compared, output, state_bytes
from rocmkern.kernels.plans_rows import NARROW_ROW, RowPlan
from rocmkern.layout import Layout, collapse
from rocmkern.ops import tuned
from rocmkern.ops.creation import full
from rocmkern.ops.launch import context, empty, layout_info
from rocmkern.tensor import Tensor

WHOLE_ROW: Final = 1 << 14  # elements of a row that several passes in one launch take
_WITHOUT_IDENTITY: Final = ("min", "max", "nanmin", "nanmax", *INDEXED)
IDENTITY: Final = {
    "sum": 0, "prod": 1, "any": False, "all": True, "mean": float("nan"), "logsumexp": float("-inf"), "nansum": 0,
    "nanmean": float("nan"), "nanvar": float("nan"), "squares": 0,
}  # fmt: skip


def reduced(op: str, x: Tensor, axes: tuple[int, ...], keepdims: bool, *options: float) -> Tensor:
    """The kernel's reduction of axes (already normal), in the dtype it gives; options are for its last step."""
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    layout = x.layout.permute((*kept, *axes))
    rows = prod(layout.shape[: len(kept)])
    columns = prod(layout.shape[len(kept) :])
    wide = op in INDEXED and columns > NARROW_ROW
    given = int64 if wide else output(op, x.dtype)
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    if columns == 0 and op in _WITHOUT_IDENTITY:
        raise ShapeError(f"{op}: shape {x.shape} has no elements along axes {axes}; there is no {op}")
    if rows == 0:
        return empty(shape, given, x.device)
    if columns == 0:
        return full(shape, IDENTITY[op], dtype=given, device=x.device)
    result = empty(shape, given, x.device)
    layout_words = _grouped(layout, len(kept), x)
    side_by_side = not runs_along_rows(layout, len(kept))
    here = context(x.device)
    instance = None
    if tuned.tables is not None and side_by_side:
        instance = tuned.chosen(op, x.device, x.dtype.short, rows, 1, columns)
    plan = here.plan(plans_rows.reduction, rows, columns, x.dtype.itemsize, contiguous=side_by_side, tuned=instance)
    if plan.merge is None:
        kernel = here.kernel(x.device, f"fast_{op}_{x.dtype.short}")
        kernel.run(plan.first, rows * columns, columns, *layout_words, *options, x.address, result.address)
        return result
    states = empty((rows * plan.parts_per_row * state_bytes(op, x.dtype),), uint8, x.device)
    here.kernel(x.device, f"split_{op}_{x.dtype.short}").run(
        plan.first, rows * columns, columns, plan.part, *layout_words, x.address, states.address
    )
    merge = f"merge_wide_{op}_{compared(x.dtype).short}" if wide else f"merge_{op}_{x.dtype.short}"
    here.kernel(x.device, merge).run(
        plan.merge, rows, columns, plan.parts_per_row, *options, states.address, result.address
    )
    return result


def of_whole_rows(
    symbol: str, x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: DType, *scalars: int | float
) -> Tensor | None:
    """A kernel that looks at each row of the reduced axes as a whole, in one launch; None where rows are too long."""
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    layout = x.layout.permute((*kept, *axes))
    rows, columns = prod(layout.shape[: len(kept)]), prod(layout.shape[len(kept) :])
    if not 0 < columns <= WHOLE_ROW or not rows:
        return None
    side_by_side = not runs_along_rows(layout, len(kept))
    here = context(x.device)
    plan = here.plan(plans_rows.reduction, rows, columns, x.dtype.itemsize, contiguous=side_by_side)
    if plan.merge is not None:
        return None
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    result = empty(shape, dtype, x.device)
    here.kernel(x.device, symbol).run(
        plan.first, rows * columns, columns, *_grouped(layout, len(kept), x), *scalars, x.address, result.address
    )
    return result


def _grouped(layout: Layout, kept: int, x: Tensor) -> tuple[int, int]:
    """`num_dims` and `info`: kept axes first, then the reduced ones, merged within each group only."""
    if layout.is_contiguous:
        return 0, 0
    outer_dims, (outer,) = collapse(layout.shape[:kept], layout.strides[:kept])
    inner_dims, (inner,) = collapse(layout.shape[kept:], layout.strides[kept:])
    dims = outer_dims + (inner_dims or (1,))
    return len(dims), layout_info(x.device, dims + outer + (inner or (1,)))


def runs_along_rows(layout: Layout, kept: int) -> bool:
    """Whether neighbours in memory belong to different rows of the reduction."""
    steps = [abs(s) for n, s in zip(layout.shape, layout.strides, strict=True) if n > 1 and s]
    inner = [abs(s) for n, s in zip(layout.shape[kept:], layout.strides[kept:], strict=True) if n > 1 and s]
    return bool(steps) and (not inner or min(inner) > min(steps))


def scanned(op: str, x: Tensor, axis: int) -> Tensor:
    """Running totals of a contiguous tensor along an axis; long lines go in parts that begin with what came before."""
    result = empty(x.shape, x.dtype, x.device)
    if not x.size:
        return result
    left, n, right = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    here = context(x.device)
    plan = here.plan(plans_rows.running_total, left, n, right)
    carry = _carry(op, x.view(Layout((left, n, right), (n * right, right, 1), x.layout.offset)), plan)
    here.kernel(x.device, f"cum{op}_{x.dtype.short}").run(
        plan.first, left, n, right, plan.part, 0 if carry is None else carry.address, x.address, result.address
    )
    return result


def _carry(op: str, x: Tensor, plan: RowPlan) -> Tensor | None:
    """For each line of (left, n, right) the running totals of its parts; None where a line is one part."""
    if plan.parts_per_row < 2:
        return None
    left, n, right = x.shape
    here = context(x.device)
    totals = empty((left * right, plan.parts_per_row), accumulator(x.dtype), x.device)
    words = (0, 0) if right == 1 else _grouped(x.layout.permute((0, 2, 1)), 2, x)
    pieces, is_line = left * right * plan.parts_per_row, right == 1
    first = here.plan(plans_rows.teams_of_parts, pieces, plan.part, x.dtype.itemsize, contiguous=is_line)
    here.kernel(x.device, f"split_{op}_{x.dtype.short}").run(
        first, left * n * right, n, plan.part, *words, x.address, totals.address
    )
    return scanned(op, totals, 1)
