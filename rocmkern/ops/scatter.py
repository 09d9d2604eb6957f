"""Writing and adding by index tensors: the last write wins, sums are the same bits on every run."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from rocmkern.dtypes import BY_SHORT, DType, complex128, int64
from rocmkern.engine.operation import planned
from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_indexing
from rocmkern.kernels.plans import LaunchPlan, pack_width
from rocmkern.layout import normal_axis
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import arange
from rocmkern.ops.elementwise import as_tensor, operand, same_device
from rocmkern.ops.faults import checked_ids, under_check
from rocmkern.ops.fused import Writes
from rocmkern.ops.indexing import index_tensor
from rocmkern.ops.launch import context, empty, kernel
from rocmkern.ops.manipulation import broadcast_to, reshape
from rocmkern.ops.parts import beside_words, from_words, joined, parts, words
from rocmkern.ops.rows_binary import add, multiply
from rocmkern.ops.sorting import order
from rocmkern.promotion import check_kind, scalar_dtype
from rocmkern.tensor import Operand, Tensor

_ENOUGH_COLUMNS: Final = 1 << 15  # to fill a device with a thread each
_MANY: Final = 1 << 16  # values, for which a thread a column is slower than blocks that hold columns
_LONG: Final = 1 << 10  # values of a column, for which it is so anyway
_FEW_COLUMNS: Final = 128  # for which sorting is faster than such blocks, where columns are
_TOO_LONG: Final = 1 << 13


@planned
def index_add(x: Tensor, indices: Tensor, values: Operand, /, *, axis: int = -1) -> Tensor:
    """A copy of x with the slices of `values` added to those that the one-dimensional indices name, duplicates too.

    An index outside the axis is an IndexError, raised as that of `take`.
    """
    at = _axis("index_add", x, indices, axis)
    source = _slices("index_add", values, x, at, indices)
    if x.dtype.is_complex:
        written = Writes("index_add", at, indices, parts(source), adds=True).copy(parts(x))
    else:
        written = Writes("index_add", at, indices, source, adds=True).copy(x)
    if written is not None:
        return joined(written, x.dtype) if x.dtype.is_complex else written
    ids = checked_ids(indices, x.shape[at], at, "index_add")
    source = packed(source)
    if x.dtype.is_complex:
        return joined(_add_sorted(parts(x), at, ids, parts(source)), x.dtype)
    return _add_sorted(x, at, ids, source)


@planned
def index_copy(x: Tensor, indices: Tensor, values: Operand, /, *, axis: int = -1) -> Tensor:
    """A copy of x with the slices that the one-dimensional indices name replaced; of equal ones the last wins.

    An index outside the axis is an IndexError, raised as that of `take`.
    """
    at = _axis("index_copy", x, indices, axis)
    source = _slices("index_copy", values, x, at, indices)
    written = Writes("index_copy", at, indices, words(source)).copy(words(x))
    if written is not None:
        return from_words(written, x.dtype)
    result = duplicate(words(x))
    _write("index_copy", result, at, indices, words(packed(source)), slices=True)
    return from_words(result, x.dtype)


@planned
def scatter(x: Tensor, indices: Tensor, values: Operand, /, *, axis: int = -1) -> Tensor:
    """A copy of x with each value written where its index says along the axis; the last write to a place wins.

    Indices have x's shape off the axis; one outside the axis is an IndexError, raised as that of `take`.
    """
    at = _axis("scatter", x, indices, axis)
    _require_same_columns("scatter", x, indices, at)
    source = _values("scatter", values, x, indices.shape)
    written = None if x.dtype is complex128 else Writes("scatter", at, indices, words(source)).copy(words(x))
    if written is not None:
        return from_words(written, x.dtype)
    source = packed(source)
    if x.dtype is complex128:  # two words an index
        indices = beside_words(checked_ids(indices, x.shape[at], at, "scatter"), x.dtype)
    return from_words(_written("scatter", words(x), at, indices, words(source)), x.dtype)


@planned
def scatter_add(x: Tensor, indices: Tensor, values: Operand, /, *, axis: int = -1) -> Tensor:
    """A copy of x with each value added where its index says along the axis, in the order of the values.

    Indices have x's shape off the axis; one outside the axis is an IndexError, raised as that of `take`.
    """
    at = _axis("scatter_add", x, indices, axis)
    _require_same_columns("scatter_add", x, indices, at)
    source = _values("scatter_add", values, x, indices.shape)
    written = None if x.dtype.is_complex else Writes("scatter_add", at, indices, source, adds=True).copy(x)
    if written is not None:
        return written
    source = packed(source)
    if x.dtype.is_complex:
        ids = checked_ids(indices, x.shape[at], at, "scatter_add")
        both = packed(beside_words(ids, complex128))
        return joined(scatter_add(parts(x), both, parts(source), axis=at), x.dtype)
    left, _, _, right = extents = _extents(x, at, indices.shape[at])
    if left * right >= _ENOUGH_COLUMNS or x.size >= 1 << 32 or _tiles("scatter_add", x, extents) is not None:
        return _written("scatter_add", x, at, indices, source)
    ids = checked_ids(indices, x.shape[at], at, "scatter_add")
    places = ids if left * right == 1 else _places(ids, extents)
    flat = _add_sorted(reshape(x, -1), 0, reshape(places, -1), reshape(source, -1))
    return reshape(flat, x.shape)


def _axis(operation: str, x: Tensor, indices: Tensor, axis: int) -> int:
    at = normal_axis(axis, as_tensor(operation, x).ndim, operation)
    same_device(operation, x.device, index_tensor(operation, indices))
    return at


def _slices(operation: str, values: Operand, x: Tensor, at: int, indices: Tensor) -> Tensor:
    """Values for the slices that one-dimensional indices name."""
    if indices.ndim != 1:
        raise ShapeError(f"{operation}: {indices.ndim} dimensions of indices; use one")
    return _values(operation, values, x, (*x.shape[:at], indices.size, *x.shape[at + 1 :]))


def _values(operation: str, values: Operand, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Values to write or add, in x's dtype. Raises DTypeError where they would lose a fraction or an imaginary part."""
    own = values.dtype if isinstance(values, Tensor) else scalar_dtype(values, operation)
    check_kind(own.kind, x.dtype, operation)
    return broadcast_to(operand(operation, values, x.dtype, x.device), shape)


def _require_same_columns(operation: str, x: Tensor, ids: Tensor, at: int) -> None:
    expected = (*x.shape[:at], ids.shape[at] if ids.ndim > at else 0, *x.shape[at + 1 :])
    if ids.shape != expected:
        raise ShapeError(f"{operation}: indices of shape {ids.shape} for {x.shape}; they may differ on axis {at} only")


def _extents(x: Tensor, at: int, count: int) -> tuple[int, int, int, int]:
    """Candle's left, src_dim, dst_dim and right."""
    return prod(x.shape[:at]), count, x.shape[at], prod(x.shape[at + 1 :])


def _tiles(operation: str, x: Tensor, extents: tuple[int, int, int, int]) -> tuple[LaunchPlan, int] | None:
    """The plan of a launch whose blocks hold columns in LDS, where they fit and nothing else is faster."""
    left, count, bound, right = extents
    columns = left * right
    if operation == "scatter_add":
        suits = columns >= _FEW_COLUMNS or count <= _TOO_LONG
    else:
        suits = count >= _LONG or columns * count >= _MANY
    if not (suits and columns * count * bound):
        return None
    return context(x.device).plan(plans_indexing.scatter_tiles, *extents, x.dtype.itemsize)


def _written(operation: str, x: Tensor, at: int, indices: Tensor, source: Tensor) -> Tensor:
    """A copy of x, with contiguous values written or added to at indices that are checked."""
    extents = _extents(x, at, source.shape[at])
    tiles = _tiles(operation, x, extents)
    if tiles is None:
        result = duplicate(x)
        _write(operation, result, at, indices, source)
        return result
    base, result = packed(x), empty(x.shape, x.dtype, x.device)
    (plan, wide), symbol = tiles, _symbol(operation, x.dtype, "_tiles")

    def write(ids: Tensor, status: int = 0) -> None:
        addresses = (ids.address, source.address, base.address, result.address)
        kernel(x.device, symbol).run(plan, wide, *addresses, *extents, status)

    _at_checked(operation, indices, x.shape[at], at, write)
    return result


def _symbol(operation: str, dtype: DType, way: str = "") -> str:
    return f"{operation}{way}_{dtype.short if operation == 'scatter_add' else f'u{dtype.bits}'}"


def _at_checked(operation: str, indices: Tensor, bound: int, at: int, write: Callable[..., None]) -> None:
    """Write at contiguous int64 indices, which the kernel checks, or at others, which are checked before."""
    if indices.dtype is int64:
        ids = packed(indices)
        under_check(ids, bound, at, operation, lambda status: write(ids, status))
    else:
        write(checked_ids(indices, bound, at, operation))


def _write(operation: str, result: Tensor, at: int, indices: Tensor, source: Tensor, *, slices: bool = False) -> None:
    """Write or add to `result` what is contiguous, by a thread for each column, at indices that are checked: of whole
    slices, or of each value.
    """
    if not source.size:
        checked_ids(indices, result.shape[at], at, operation)
        return
    extents, symbol = _extents(result, at, source.shape[at]), _symbol(operation, result.dtype)

    def write(ids: Tensor, status: int = 0) -> None:
        counts, addresses = (ids.size,) if slices else (), (source.address, result.address)
        units = extents[0] * extents[3]
        kernel(result.device, symbol)(units, ids.address, *counts, *addresses, *extents, status)

    _at_checked(operation, indices, result.shape[at], at, write)


def _places(ids: Tensor, extents: tuple[int, int, int, int]) -> Tensor:
    """The flat position in the result that each index leads to."""
    left, count, bound, right = extents
    lines = multiply(arange(left, device=ids.device), bound)
    lines = reshape(lines, (left, 1, 1))
    columns = reshape(arange(right, device=ids.device), (1, 1, right))
    return add(multiply(add(reshape(ids, (left, count, right)), lines), right), columns)


def _add_sorted(x: Tensor, at: int, ids: Tensor, source: Tensor) -> Tensor:
    """Rows added in the order of their ids, by a thread for each element of the result that changes."""
    result = duplicate(x)
    if not source.size:
        return result
    left, count, bound, right = _extents(x, at, ids.size)
    sequence = order(cast(ids, _narrowest(bound)))
    kernel(x.device, f"ia_sorted_{x.dtype.short}")(
        -(-source.size // pack_width(x.dtype.itemsize)),
        sequence.address,
        ids.address,
        count,
        source.address,
        result.address,
        left,
        bound,
        right,
    )
    return result


def _narrowest(bound: int) -> DType:
    """The unsigned type of fewest bytes, so of fewest radix passes, that holds every index below `bound`."""
    bits = max(bound - 1, 0).bit_length()
    return next((BY_SHORT[f"u{size}"] for size in (8, 16, 32) if bits <= size), int64)
