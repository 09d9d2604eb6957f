"""Launches over rows: reductions of axes and running totals, whole or in parts."""

from __future__ import annotations

from math import prod
from typing import Final

from rocmkern.dtypes import DType, bool_, float32, uint32, uint64
from rocmkern.errors import ShapeError
from rocmkern.layout import Layout, collapse
from rocmkern.ops.creation import full
from rocmkern.ops.launch import empty, kernel, layout_info
from rocmkern.tensor import Tensor

_THREADS: Final = 256
_ELEMENTS_PER_THREAD: Final = 8
_LONG_ROW: Final = 1 << 15  # elements; a row this long is split where there are few
_FEW_ROWS: Final = 64
_PART: Final = 1 << 13  # elements
_INDEX_OPS: Final = ("argmin", "argmax")
_BOOL_OPS: Final = ("any", "all")
_WITHOUTIDENTITY: Final = ("min", "max", "argmin", "argmax")
IDENTITY: Final = {"sum": 0, "prod": 1, "any": False, "all": True, "mean": float("nan"), "logsumexp": float("-inf")}


def accumulator(dtype: DType) -> DType:
    """The dtype in which the kernels carry sums: a word that wraps, f32 for the short floats."""
    if dtype.is_float:
        return dtype if dtype.itemsize >= 4 else float32
    return uint64 if dtype.itemsize == 8 else uint32


def _state_bytes(op: str, dtype: DType) -> int:
    """The size of what a kernel keeps of one part of a row."""
    own = accumulator(dtype).itemsize if dtype.is_float else dtype.itemsize
    sizes = {"any": 4, "all": 4, "argmin": 16, "argmax": 16, "logsumexp": 2 * own, "min": own, "max": own, "mean": own}
    return sizes.get(op, accumulator(dtype).itemsize)


def reduced(op: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The kernel's reduction of axes (already normal), in the dtype it gives."""
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    layout = x.layout.permute((*kept, *axes))
    rows = prod(layout.shape[: len(kept)])
    columns = prod(layout.shape[len(kept) :])
    given = uint32 if op in _INDEX_OPS else bool_ if op in _BOOL_OPS else x.dtype
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    if rows == 0:
        return empty(shape, given, x.device)
    if columns == 0:
        if op in _WITHOUTIDENTITY:
            raise ShapeError(f"{op}: shape {x.shape} has no elements along axes {axes}; there is no {op}")
        return full(shape, IDENTITY[op], dtype=given, device=x.device)
    result = empty(shape, given, x.device)
    num_dims, info = _grouped(layout, len(kept), x)
    if columns >= _LONG_ROW and rows <= _FEW_ROWS:
        _in_parts(op, x, rows, columns, (num_dims, info), result)
        return result
    block = _team(columns, rows, _runs_along_rows(layout, len(kept)))
    grid = min(-(-rows // block[1]), 1 << 20)
    kernel(x.device, f"fast_{op}_{x.dtype.short}").blocks(
        grid, block, rows * columns, columns, num_dims, info, x.address, result.address
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


def _runs_along_rows(layout: Layout, kept: int) -> bool:
    """Whether neighbours in memory belong to different rows of the reduction."""
    steps = [abs(s) for n, s in zip(layout.shape, layout.strides, strict=True) if n > 1 and s]
    inner = [abs(s) for n, s in zip(layout.shape[kept:], layout.strides[kept:], strict=True) if n > 1 and s]
    return bool(steps) and (not inner or min(inner) > min(steps))


def _team(columns: int, rows: int, along_rows: bool) -> tuple[int, int, int]:
    """A block of teams: threads that share a row, and rows at once. Memory neighbours go to neighbouring threads."""
    wanted = 1 if along_rows and rows >= _THREADS else -(-columns // _ELEMENTS_PER_THREAD)
    width = min(1 << (wanted - 1).bit_length(), _THREADS)
    return width, _THREADS // width, 1


def _in_parts(op: str, x: Tensor, rows: int, columns: int, layout: tuple[int, int], result: Tensor) -> None:
    """Few long rows: a team takes a part of one, a second pass joins the parts."""
    per_row = -(-columns // _PART)
    states = x.device.alloc(rows * per_row * _state_bytes(op, x.dtype))
    kernel(x.device, f"split_{op}_{x.dtype.short}").blocks(
        rows * per_row, (_THREADS, 1, 1), rows * columns, columns, _PART, *layout, x.address, states.address
    )
    kernel(x.device, f"merge_{op}_{x.dtype.short}").blocks(
        rows, (_THREADS, 1, 1), rows, columns, per_row, states.address, result.address
    )


def scanned(op: str, x: Tensor, axis: int) -> Tensor:
    """Running totals of a contiguous tensor; one long row goes in parts that begin with the total of those before."""
    result = empty(x.shape, x.dtype, x.device)
    left, n, right = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    if not x.size:
        return result
    scan = kernel(x.device, f"cum{op}_{x.dtype.short}")
    if right > 1 or left > _FEW_ROWS or n < _LONG_ROW:
        block = (_THREADS, 1, 1) if right > 1 else _team(-(-n // 2), left, along_rows=False)
        teams = -(-left * right // _THREADS) if right > 1 else -(-left // block[1])
        scan.blocks(teams, block, left, n, right, n, 0, x.address, result.address)
        return result
    parts = -(-n // _PART)
    word = accumulator(x.dtype)
    totals = empty((left, parts), word, x.device)
    kernel(x.device, f"split_{op}_{x.dtype.short}").blocks(
        left * parts, (_THREADS, 1, 1), left * n, n, _PART, 0, 0, x.address, totals.address
    )
    carry = scanned(op, totals, 1)
    scan.blocks(left * parts, (_THREADS, 1, 1), left, n, 1, _PART, carry.address, x.address, result.address)
    return result
