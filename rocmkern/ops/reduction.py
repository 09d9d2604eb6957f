"""Reductions along axes, statistics, and running totals."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Final

from rocmkern.dtypes import DType, bool_, float32, float64, int64, uint32, uint64
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Layout, collapse, contiguous, normal_axes, normal_axis
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import full
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.launch import empty, kernel, layout_info
from rocmkern.ops.manipulation import concat
from rocmkern.ops.rows_binary import divide, multiply, not_equal, subtract
from rocmkern.ops.rows_unary import sqrt, square
from rocmkern.promotion import DEFAULT_FLOAT
from rocmkern.tensor import Tensor

Axes = int | Sequence[int] | None

_THREADS: Final = 256
_ELEMENTS_PER_THREAD: Final = 8
_LONG_ROW: Final = 1 << 15  # elements; a row this long is split where there are few
_FEW_ROWS: Final = 64
_PART: Final = 1 << 13  # elements
_INDEX_OPS: Final = ("argmin", "argmax")
_BOOL_OPS: Final = ("any", "all")
_WITHOUT_IDENTITY: Final = ("min", "max", "argmin", "argmax")
_IDENTITY: Final = {"sum": 0, "prod": 1, "any": False, "all": True, "mean": float("nan"), "logsumexp": float("-inf")}


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
    rows = product(layout.shape[: len(kept)])
    columns = product(layout.shape[len(kept) :])
    given = uint32 if op in _INDEX_OPS else bool_ if op in _BOOL_OPS else x.dtype
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    if rows == 0:
        return empty(shape, given, x.device)
    if columns == 0:
        if op in _WITHOUT_IDENTITY:
            raise ShapeError(f"{op}: shape {x.shape} has no elements along axes {axes}; there is no {op}")
        return full(shape, _IDENTITY[op], dtype=given, device=x.device)
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


def summing_dtype(dtype: DType) -> DType:
    """The dtype of a sum: int64 or uint64 for integers, int64 for bool, floats their own."""
    if dtype.is_float:
        return dtype
    return uint64 if dtype.kind == "unsigned" else int64


def _accepted(operation: str, x: Tensor, *, floats_only: bool = False, bools: bool = True) -> Tensor:
    if as_tensor(operation, x).dtype is bool_ and not bools:
        raise DTypeError(f"{operation}: dtype bool; it takes a number dtype, cast it first")
    return cast(x, DEFAULT_FLOAT) if floats_only and not x.dtype.is_float else x


def sum(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, by default all: of integers in 64 bits, of f16 and bf16 carried in f32 and rounded once."""
    wanted = summing_dtype(as_tensor("sum", x).dtype) if dtype is None else as_dtype(dtype)
    return _reduce("sum", cast(x, wanted), normal_axes(axis, x.ndim, "sum"), keepdims)


def prod(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The product along axes, by default all: of integers in 64 bits."""
    wanted = summing_dtype(as_tensor("prod", x).dtype) if dtype is None else as_dtype(dtype)
    return _reduce("prod", cast(x, wanted), normal_axes(axis, x.ndim, "prod"), keepdims)


def _reduce(op: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Reduce in f32 what the reduction kernels have no dtype for."""
    if x.dtype.short != "f8_e4m3":
        return reduced(op, x, axes, keepdims)
    result = reduced(op, cast(x, float32), axes, keepdims)
    return result if op in (*_INDEX_OPS, *_BOOL_OPS) else cast(result, x.dtype)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest value along axes; NaN where there is one. Raises ShapeError without elements."""
    return _reduce("min", _accepted("min", x), normal_axes(axis, x.ndim, "min"), keepdims)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest value along axes; NaN where there is one. Raises ShapeError without elements."""
    return _reduce("max", _accepted("max", x), normal_axes(axis, x.ndim, "max"), keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether any value along axes is other than zero."""
    return _reduce("any", as_tensor("any", x), normal_axes(axis, x.ndim, "any"), keepdims)


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether no value along axes is zero."""
    return _reduce("all", as_tensor("all", x), normal_axes(axis, x.ndim, "all"), keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest value, or of the first NaN, as int64; of the flat tensor without an axis."""
    return _indexed("argmin", as_tensor("argmin", x), axis, keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first largest value, or of the first NaN, as int64; of the flat tensor without an axis."""
    return _indexed("argmax", as_tensor("argmax", x), axis, keepdims)


def _indexed(op: str, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    axes = normal_axes(axis, x.ndim, op)
    return cast(_reduce(op, x, axes, keepdims), int64)


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many values along axes are other than zero, as int64."""
    return sum(not_equal(as_tensor("count_nonzero", x), 0), axis=axis, keepdims=keepdims)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean along axes; of integers as float32, NaN of nothing."""
    values = _accepted("mean", x, floats_only=True)
    return _reduce("mean", values, normal_axes(axis, x.ndim, "mean"), keepdims)


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The mean squared distance from the mean, in two passes; the sum is divided by the count less `correction`."""
    values = _accepted("var", x, floats_only=True)
    wide = values if values.dtype.itemsize >= 4 else cast(values, float32)
    axes = normal_axes(axis, x.ndim, "var")
    count = product(x.shape[a] for a in axes)
    distance = subtract(wide, mean(wide, axis=axes, keepdims=True))
    total = sum(square(distance), axis=axes, keepdims=keepdims)
    left = count - correction
    return cast(divide(total, float(left) if left > 0 else 0.0), values.dtype)


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of `var`."""
    values = _accepted("std", x, floats_only=True)
    wide = values if values.dtype.itemsize >= 4 else cast(values, float32)
    return cast(sqrt(var(wide, axis=axis, correction=correction, keepdims=keepdims)), values.dtype)


def logsumexp(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along axes without overflow in between."""
    values = _accepted("logsumexp", x, floats_only=True)
    return _reduce("logsumexp", values, normal_axes(axis, x.ndim, "logsumexp"), keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The sums of the values up to and including each, along an axis; from 0 on with `include_initial`."""
    return _cumulative("cumulative_sum", "sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The products of the values up to and including each, along an axis; from 1 on with `include_initial`."""
    return _cumulative("cumulative_prod", "prod", x, axis, dtype, include_initial)


def _cumulative(name: str, op: str, x: Tensor, axis: int | None, dtype: DType | None, include_initial: bool) -> Tensor:
    if axis is None and as_tensor(name, x).ndim != 1:
        raise ShapeError(f"{name}: {x.ndim} dimensions; name the axis")
    if not x.ndim:
        raise ShapeError(f"{name}: no dimensions; it takes one or more")
    at = normal_axis(axis or 0, x.ndim, name)
    wanted = summing_dtype(x.dtype) if dtype is None else as_dtype(dtype)
    if wanted.short == "f8_e4m3":
        return cast(_cumulative(name, op, x, at, float32, include_initial), wanted)
    result = _scan(op, packed(cast(x, wanted)), at)
    if include_initial:
        shape = tuple(1 if a == at else n for a, n in enumerate(x.shape))
        result = concat([full(shape, _IDENTITY[op], dtype=wanted, device=x.device), result], axis=at)
    return result


def _scan(op: str, x: Tensor, axis: int) -> Tensor:
    """Running totals of a contiguous tensor; one long row goes in parts that begin with the total of those before."""
    result = empty(x.shape, x.dtype, x.device)
    left, n, right = product(x.shape[:axis]), x.shape[axis], product(x.shape[axis + 1 :])
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
    carry = _scan(op, totals, 1)
    scan.blocks(left * parts, (_THREADS, 1, 1), left, n, 1, _PART, carry.address, x.address, result.address)
    return result


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The difference of neighbours along an axis, taken n times."""
    at = normal_axis(axis, as_tensor("diff", x).ndim, "diff")
    if n < 0:
        raise ShapeError(f"diff: {n} times; use 0 or more")
    parts = [p for p in (prepend, x, append) if p is not None]
    result = concat(parts, axis=at) if len(parts) > 1 else x
    for _ in range(n):
        length = result.shape[at]
        if length == 0:
            break
        later = result.view(result.layout.narrow(at, 1, length - 1))
        earlier = result.view(result.layout.narrow(at, 0, length - 1))
        result = (not_equal if result.dtype is bool_ else subtract)(later, earlier)
    return duplicate(result) if result is x else result
