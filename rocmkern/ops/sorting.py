"""Sorting along an axis: stable, NaN last in ascending order, rows of any length."""

from __future__ import annotations

from math import prod
from typing import Final

from rocmkern.dtypes import BY_SHORT, int64, uint32
from rocmkern.errors import ShapeError
from rocmkern.layout import normal_axis
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.launch import empty, kernel
from rocmkern.ops.manipulation import moveaxis
from rocmkern.tensor import Tensor

_IN_REGISTERS: Final = 4096  # the longest row that one block sorts
_ENTRIES_PER_THREAD: Final = 8
_THREADS: Final = 256
_DIGITS: Final = 256
_DIGIT_BITS: Final = 8


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The values in order along an axis; NaN is the largest. Always stable."""
    at, rows = _rows("sort", x, axis)
    return moveaxis(_sorted(rows, descending, rows.shape[-1], values=True, indices=False)[0], -1, at)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that put the values in order along an axis, as int64. Always stable."""
    at, rows = _rows("argsort", x, axis)
    positions = _sorted(rows, descending, rows.shape[-1], values=False, indices=True)[1]
    return moveaxis(cast(positions, int64), -1, at)


def top_k(x: Tensor, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) values along an axis in order, and their positions as int64; NaN is the largest."""
    at, rows = _rows("top_k", x, axis)
    if not 0 <= k <= rows.shape[-1]:
        raise ShapeError(f"top_k: {k} of {rows.shape[-1]} values; use 0..{rows.shape[-1]}")
    values, positions = _sorted(rows, largest, k, values=True, indices=True)
    return moveaxis(values, -1, at), moveaxis(cast(positions, int64), -1, at)


def _rows(operation: str, x: Tensor, axis: int) -> tuple[int, Tensor]:
    """The axis from the front, and the tensor contiguous with that axis last."""
    at = normal_axis(axis, as_tensor(operation, x).ndim, operation)
    if x.shape[at] > 0xFFFFFFFE:
        raise ShapeError(f"{operation}: axis {at} has {x.shape[at]} values; positions are 32-bit")
    return at, packed(moveaxis(x, at, -1))


def _sorted(x: Tensor, descending: bool, kept: int, *, values: bool, indices: bool) -> tuple[Tensor, Tensor]:
    """The first `kept` sorted values and their positions in each row; what is not wanted stays uninitialised."""
    columns = x.shape[-1]
    shape = (*x.shape[:-1], kept)
    if not prod(shape):
        return empty(shape, x.dtype, x.device), empty(shape, uint32, x.device)
    rows = x.size // columns
    if columns > _IN_REGISTERS:
        positions = _radix(x, rows, columns, descending)
        if kept < columns:
            positions = packed(positions.view(positions.layout.narrow(x.ndim - 1, 0, kept)))
        return (_gathered(x, positions) if values else x), positions
    lanes = 1 << max(-(-columns // _ENTRIES_PER_THREAD) - 1, 0).bit_length()
    block = max(lanes, _THREADS)
    found = empty(shape if values else (0,), x.dtype, x.device)
    positions = empty(shape if indices else (0,), uint32, x.device)
    kernel(x.device, f"sort_rows_{x.dtype.short}").blocks(
        min(-(-rows * lanes // block), 1 << 20),
        block,
        x.address,
        found.address if values else 0,
        positions.address if indices else 0,
        rows,
        columns,
        kept,
        lanes,
        descending,
    )
    return found, positions


def _radix(x: Tensor, rows: int, columns: int, descending: bool) -> Tensor:
    """The sorted positions of long rows: passes of count, scan and scatter, eight bits of the key at a time."""
    itemsize = x.dtype.itemsize
    key = BY_SHORT[f"u{8 * itemsize}"]
    tiles = -(-columns // (_THREADS * (8 if itemsize == 8 else 16)))
    keys = [empty(x.shape, key, x.device) for _ in range(2)]
    positions = [empty(x.shape, uint32, x.device) for _ in range(2)]
    counts = empty((rows * _DIGITS * tiles,), uint32, x.device)
    totals = empty((rows * _DIGITS,), uint32, x.device)
    kernel(x.device, f"sort_keys_{x.dtype.short}")(x.size, x.size, x.address, keys[0].address, descending)
    blocks = min(rows * tiles, 1 << 20)
    for number in range(itemsize):
        source, target = number % 2, 1 - number % 2
        sizes = (rows, columns, tiles, _DIGIT_BITS * number)
        kernel(x.device, f"radix_count_{key.short}").blocks(
            blocks, _THREADS, keys[source].address, counts.address, *sizes
        )
        kernel(x.device, "radix_scan").blocks(
            min(rows * _DIGITS, 1 << 20), _THREADS, rows * _DIGITS, tiles, counts.address, totals.address
        )
        kernel(x.device, f"radix_scatter_{key.short}").blocks(
            blocks,
            _THREADS,
            keys[source].address,
            positions[source].address if number else 0,
            keys[target].address if number < itemsize - 1 else 0,
            positions[target].address,
            counts.address,
            totals.address,
            *sizes,
        )
    return positions[itemsize % 2]


def _gathered(x: Tensor, positions: Tensor) -> Tensor:
    """The values of each row at its positions."""
    result = empty(positions.shape, x.dtype, x.device)
    rows = x.size // x.shape[-1]
    kernel(x.device, f"gather_u32_{x.dtype.short}")(
        result.size,
        result.size,
        positions.address,
        x.address,
        result.address,
        rows,
        x.shape[-1],
        positions.shape[-1],
        1,
    )
    return result


def searched(ordered: Tensor, values: Tensor, right: bool) -> Tensor:
    """For each value how many of the ordered ones are below it, or with `right` not above it, as int64."""
    sought, line = packed(values), packed(ordered)
    result = empty(values.shape, int64, values.device)
    if result.size:
        kernel(values.device, f"searchsorted_{line.dtype.short}")(
            sought.size, line.size, sought.size, line.address, sought.address, result.address, right
        )
    return result
