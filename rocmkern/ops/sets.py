"""Set functions: sorted, compared with the neighbour, picked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rocmkern.dtypes import DType, bool_, int64, uint8
from rocmkern.errors import ShapeError
from rocmkern.ops import fused
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import asarray, full, zeros
from rocmkern.ops.elementwise import as_tensor, device_and_dtype, operand
from rocmkern.ops.indexing import positions, select
from rocmkern.ops.launch import empty, kernel
from rocmkern.ops.manipulation import concat, reshape
from rocmkern.ops.parts import part
from rocmkern.ops.reduction import cumulative_sum, diff
from rocmkern.ops.rows_binary import add, equal, logical_or, minimum, subtract
from rocmkern.ops.rows_unary import logical_not
from rocmkern.ops.scatter import index_copy
from rocmkern.ops.sorting import argsort, searched, sort
from rocmkern.promotion import Number
from rocmkern.tensor import Operand, Tensor


class UniqueAll(NamedTuple):
    """The distinct values; where each first occurs; which of them each element is; how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The distinct values and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct values and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def _changes(ordered: Tensor) -> Tensor:
    """Where a sorted line has a value that differs from the one before; NaN differs from NaN."""
    if ordered.dtype.is_complex:
        real, imaginary = (_changes(duplicate(part(ordered, which))) for which in (0, 1))
        return logical_or(real, imaginary)
    flags = empty(ordered.shape, bool_, ordered.device)
    if ordered.size:
        kernel(ordered.device, f"changes_{ordered.dtype.short}")(
            ordered.size, ordered.size, ordered.address, flags.address
        )
    return flags


def _ordered(flat: Tensor) -> Tensor:
    return select(flat, _order(flat), 0) if flat.dtype.is_complex else sort(flat)


def _order(flat: Tensor) -> Tensor:
    """The positions that put a line in order; complex numbers by the real part, then by the imaginary one."""
    if not flat.dtype.is_complex:
        return argsort(flat)
    by_imaginary = argsort(_without_negative_zeros(part(flat, 1)))
    return select(by_imaginary, argsort(select(_without_negative_zeros(part(flat, 0)), by_imaginary, 0)), 0)


def _without_negative_zeros(x: Tensor) -> Tensor:
    return add(x, 0.0)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values in ascending order, complex ones by real, then imaginary part; each NaN is distinct."""
    flat = reshape(as_tensor("unique_values", x), -1)
    found = fused.unique_values(flat)
    if found is not None:
        return found
    ordered = _ordered(flat)
    return select(ordered, positions(_changes(ordered)), 0)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values in ascending order and how often each occurs."""
    flat = reshape(as_tensor("unique_counts", x), -1)
    found = fused.unique(flat)
    if found is not None:
        return UniqueCounts(found.values, found.counts)
    ordered = _ordered(flat)
    starts = positions(_changes(ordered))
    return UniqueCounts(select(ordered, starts, 0), _lengths(starts, ordered.size))


def _lengths(starts: Tensor, total: int) -> Tensor:
    end = full((1,), total, dtype=int64, device=starts.device)
    return diff(starts, append=end)


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct values in ascending order, where each first occurs, the inverse, and the counts."""
    flat = reshape(as_tensor("unique_all", x), -1)
    found = fused.unique(flat)
    if found is not None:
        return UniqueAll(found.values, found.indices, reshape(found.inverse, x.shape), found.counts)
    order = _order(flat)
    ordered = select(packed(flat), order, 0)
    changes = _changes(ordered)
    starts = positions(changes)
    group = subtract(cumulative_sum(changes), 1)
    inverse = empty(flat.shape, int64, x.device)
    if flat.size:
        kernel(x.device, "put_u64")(flat.size, flat.size, order.address, group.address, inverse.address)
    return UniqueAll(
        select(ordered, starts, 0),
        select(order, starts, 0),
        reshape(inverse, x.shape),
        _lengths(starts, flat.size),
    )


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values in ascending order and which of them each element is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def isin(x1: Operand, x2: Operand | Sequence[Number], /, *, invert: bool = False) -> Tensor:
    """Whether each value of x1 is among those of x2, which may be a list; NaN is not."""
    if isinstance(x2, Sequence | np.ndarray):
        sought = as_tensor("isin", x1)
        try:
            listed = np.asarray(x2)
        except ValueError as error:
            raise ShapeError(f"isin: {error}") from None
        x2 = asarray(_held(listed, sought.dtype), device=sought.device)
    device, dtype = device_and_dtype("isin", x1, x2)
    sought, given = operand("isin", x1, dtype, device), reshape(operand("isin", x2, dtype, device), -1)
    among = fused.is_among(sought, given, invert=invert)
    if among is not None:
        return among
    if not given.size:
        found = zeros(sought.shape, dtype=bool_, device=device)
    elif dtype.is_complex:
        found = _among(sought, given)
    else:
        ordered = sort(given)
        place = minimum(searched(ordered, sought, right=False), ordered.size - 1)
        found = equal(select(ordered, place, 0), sought)
    return logical_not(found) if invert else found


def _held(values: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Without the integers that an integer dtype does not hold: they equal none of its values."""
    if not dtype.is_integer or values.dtype.kind not in "iu":
        return values
    ends = np.iinfo(dtype.numpy)
    return values[(values >= ends.min) & (values <= ends.max)].astype(dtype.numpy)


def _among(sought: Tensor, given: Tensor) -> Tensor:
    """Whether a value is one of those given, which lie in a line: without an order, by what is distinct of both."""
    both = unique_all(concat([given, reshape(sought, -1)]))
    groups = both.inverse_indices
    marks = zeros(both.values.shape, dtype=uint8, device=given.device)
    marks = index_copy(marks, groups.view(groups.layout.narrow(0, 0, given.size)), 1)
    places = groups.view(groups.layout.narrow(0, given.size, sought.size))
    return reshape(cast(select(marks, packed(places), 0), bool_), sought.shape)
