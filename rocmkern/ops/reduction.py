"""Reductions along axes, statistics, and running totals."""

from __future__ import annotations

from math import prod as product
from typing import Final

from rocmkern import default_dtypes
from rocmkern.dtypes import DType, bool_, float32, int64, uint64
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.engine.operation import planned
from rocmkern.errors import ArgumentRangeError, DTypeError, ShapeError
from rocmkern.kernels.families.reduce import FLOATS
from rocmkern.layout import Axes, Shape, normal_axes, normal_axis, normal_integer
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import full
from rocmkern.ops.elementwise import as_tensor, broadcast, device_and_dtype, operand, real_float
from rocmkern.ops.launch import empty, kernel
from rocmkern.ops.manipulation import concat, permute_dims, reshape, squeeze
from rocmkern.ops.parts import joined, parts
from rocmkern.ops.rows import IDENTITY, WHOLE_ROW, of_whole_rows, reduced, scanned
from rocmkern.ops.rows_binary import multiply, not_equal, subtract
from rocmkern.promotion import promote_all
from rocmkern.tensor import Operand, Tensor

# What the namespace takes from here; sums and their like it has with NumPy's arguments, from `reductions`.
__all__ = ["count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "logsumexp"]

_MANY_PIECES: Final = 64  # of WHOLE_ROW elements, which count by themselves
_SHORT_LINE: Final = 256  # complex numbers that a thread multiplies one after the other


def summing_dtype(dtype: DType) -> DType:
    """The dtype of a sum: int64 or uint64 for integers, int64 for bool, floats and complex numbers their own."""
    if dtype.is_float or dtype.is_complex:
        return dtype
    return uint64 if dtype.kind == "unsigned" else int64


def _total_dtype(operation: str, x: Tensor, dtype: DType | None) -> DType:
    """The dtype of a sum or product. Raises DTypeError for bool."""
    own = as_tensor(operation, x).dtype
    wanted = summing_dtype(own) if dtype is None else as_dtype(dtype)
    if wanted is bool_:
        raise DTypeError(f"{operation}: dtype bool; it takes a number dtype, use any() or all() for truth")
    return wanted


def floating(*dtypes: DType) -> DType:
    """The common dtype of numbers, integers among them in the default one."""
    return promote_all(d if d.is_float or d.is_complex else default_dtypes.floating() for d in dtypes)


def as_floats(operation: str, x: Tensor) -> Tensor:
    """Floats as they are, integers in the default dtype. Raises DTypeError for complex numbers."""
    if as_tensor(operation, x).dtype.is_complex:
        raise DTypeError(f"{operation}: dtype {x.dtype}; it takes real numbers, use real(), imag() or abs()")
    return x if x.dtype.is_float else cast(x, default_dtypes.floating())


def wide(x: Tensor) -> Tensor:
    """Short floats as float32, which has the range for what is made of several, and is rounded once."""
    return cast(x, float32) if x.dtype.is_float and x.dtype.itemsize < 4 else x


@planned
def sum(x: Tensor, /, axis: Axes = None, *, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, by default all: of integers in 64 bits, of f16 and bf16 carried in f32 and rounded once."""
    wanted = _total_dtype("sum", x, dtype)
    if x.dtype is bool_ and wanted is int64:
        return _counted(x, normal_axes(axis, x.ndim, "sum"), keepdims)
    return _reduce("sum", cast(x, wanted), normal_axes(axis, x.ndim, "sum"), keepdims)


@planned
def prod(x: Tensor, /, axis: Axes = None, *, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The product along axes, by default all: of integers in 64 bits."""
    wanted = _total_dtype("prod", x, dtype)
    return _reduce("prod", cast(x, wanted), normal_axes(axis, x.ndim, "prod"), keepdims)


def _reduce(op: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Reduce in f32 what the reduction kernels have no dtype for, and complex numbers by their parts."""
    if x.dtype.is_complex:
        return _reduce_complex(op, x, axes, keepdims)
    if x.dtype.short != "f8_e4m3":
        return reduced(op, x, axes, keepdims)
    result = reduced(op, cast(x, float32), axes, keepdims)
    return cast(result, x.dtype) if result.dtype is float32 else result


def _reduce_complex(op: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if op in ("sum", "mean"):
        return joined(reduced(op, parts(x), axes, keepdims), x.dtype)
    if op in ("any", "all"):
        return reduced(op, cast(x, bool_), axes, keepdims)
    if op != "prod":
        raise DTypeError(f"{op}: dtype {x.dtype}; it takes a real dtype, use real(), imag() or abs()")
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    rows, columns = product(x.shape[a] for a in kept), product(x.shape[a] for a in axes)
    if not rows * columns:
        return full(shape, IDENTITY[op], dtype=x.dtype, device=x.device)
    return reshape(_product_of_rows(reshape(permute_dims(x, (*kept, *axes)), (rows, columns))), shape)


def _product_of_rows(x: Tensor) -> Tensor:
    """Halves multiplied until one column is left."""
    while (n := x.shape[1]) > 1:
        left, right = (x.view(x.layout.narrow(1, start, n // 2)) for start in (0, n // 2))
        half = multiply(left, right)
        x = concat([half, x.view(x.layout.narrow(1, n - 1, 1))], axis=1) if n % 2 else half
    return duplicate(x)


@planned
def min(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The smallest value along axes; NaN where there is one. Raises ShapeError without elements."""
    return _reduce("min", as_tensor("min", x), normal_axes(axis, x.ndim, "min"), keepdims)


@planned
def max(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The largest value along axes; NaN where there is one. Raises ShapeError without elements."""
    return _reduce("max", as_tensor("max", x), normal_axes(axis, x.ndim, "max"), keepdims)


@planned
def any(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether any value along axes is other than zero."""
    return _reduce("any", as_tensor("any", x), normal_axes(axis, x.ndim, "any"), keepdims)


@planned
def all(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether no value along axes is zero."""
    return _reduce("all", as_tensor("all", x), normal_axes(axis, x.ndim, "all"), keepdims)


@planned
def argmin(x: Tensor, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the first smallest value, or of the first NaN, as int64; of the flat tensor without an axis."""
    return _indexed("argmin", as_tensor("argmin", x), axis, keepdims)


@planned
def argmax(x: Tensor, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The index of the first largest value, or of the first NaN, as int64; of the flat tensor without an axis."""
    return _indexed("argmax", as_tensor("argmax", x), axis, keepdims)


def _indexed(op: str, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    axes = normal_axes(axis, x.ndim, op)
    return cast(_reduce(op, x, axes, keepdims), int64)


@planned
def count_nonzero(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """How many values along axes are other than zero, as int64."""
    axes = normal_axes(axis, as_tensor("count_nonzero", x).ndim, "count_nonzero")
    return _counted(not_equal(x, 0) if x.dtype.is_complex else x, axes, keepdims)


def _counted(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """How many real values are other than zero: of long rows by pieces, as the like of the tensor in int64 takes up to
    eight times its memory.
    """
    symbol, bits = f"count_non_zeros_u{x.dtype.bits}", x.dtype.nonzero_bits
    found = of_whole_rows(symbol, x, axes, keepdims, int64, bits)
    if found is not None:
        return found
    kept, columns = [a for a in range(x.ndim) if a not in axes], product(x.shape[a] for a in axes)
    pieces = columns // WHOLE_ROW
    if x.size and pieces >= _MANY_PIECES:
        rows = packed(reshape(permute_dims(x, (*kept, *axes)), (-1, columns)))
        covered = pieces * WHOLE_ROW
        whole = reshape(rows.view(rows.layout.narrow(1, 0, covered)), (-1, pieces, WHOLE_ROW))
        counts = of_whole_rows(symbol, whole, (2,), False, int64, bits)
        if counts is not None:
            rest = _counted(rows.view(rows.layout.narrow(1, covered, columns - covered)), (1,), True)
            total = reduced("sum", concat([counts, rest], axis=1), (1,), False)
            shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
            return reshape(total, shape)
    truth = x if x.dtype is bool_ else not_equal(x, 0)
    return _reduce("sum", cast(truth, int64), axes, keepdims)


@planned
def mean(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False, dtype: DType | None = None) -> Tensor:
    """The mean along axes, in its dtype or the one given; of integers the default one, NaN of nothing."""
    given = _in_dtype("mean", x, dtype)
    values = given if given.dtype.is_complex else as_floats("mean", given)
    return _reduce("mean", values, normal_axes(axis, x.ndim, "mean"), keepdims)


def _in_dtype(operation: str, x: Tensor, dtype: DType | None) -> Tensor:
    """The values in the dtype that is to be computed in. Raises DTypeError for integers, which means don't fit."""
    if dtype is None:
        return as_tensor(operation, x)
    wanted = as_dtype(dtype)
    if not (wanted.is_float or wanted.is_complex):
        raise DTypeError(f"{operation}: dtype {wanted.name}; name a float or complex dtype and convert the result")
    return cast(as_tensor(operation, x), wanted)


@planned
def var(
    x: Tensor,
    /,
    axis: Axes = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    ddof: float | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The mean squared distance from the mean, in two passes, in its dtype or the one given; the sum is divided by the
    count less `correction`, which may also be given as `ddof`.
    """
    return _spread("var", _in_dtype("var", x, dtype), axis, lowered_by("var", correction, ddof), keepdims, root=False)


def lowered_by(operation: str, correction: float, ddof: float | None) -> float:
    """By how much the count is lowered. Raises ArgumentRangeError where both names are used."""
    by = real_float(operation, correction, "correction")
    if ddof is None:
        return by
    if by:
        raise ArgumentRangeError(f"{operation}: correction={correction} and ddof={ddof}; give one of them")
    return real_float(operation, ddof, "ddof")


def _spread(operation: str, x: Tensor, axis: Axes, correction: float, keepdims: bool, *, root: bool) -> Tensor:
    values = as_floats(operation, x)
    axes = normal_axes(axis, x.ndim, operation)
    left = product(x.shape[a] for a in axes) - correction
    divisor = float(left) if left > 0 else 0.0
    if values.dtype in FLOATS:
        found = of_whole_rows(f"variance_{values.dtype.short}", values, axes, keepdims, values.dtype, divisor, root)
        if found is not None:
            return found
    center = mean(wide(values), axis=axes, keepdims=True)
    if not x.size:
        return cast(center if keepdims else squeeze(center, axes), values.dtype)
    distance = subtract(wide(values), center)
    return cast(squares(distance, axes, keepdims, divisor, root=root), values.dtype)


def squares(x: Tensor, axes: tuple[int, ...], keepdims: bool, divisor: float = 1.0, *, root: bool = False) -> Tensor:
    """The sums of squares of sizes along axes, of floats or complex numbers, over a divisor; or the roots of that,
    whatever their scale.
    """
    if x.dtype.is_complex:
        found = squares(parts(x), (*axes, x.ndim), keepdims, divisor, root=root)
        return squeeze(found, x.ndim) if keepdims else found
    values = wide(x) if x.dtype.itemsize == 1 else x
    return cast(reduced("squares", values, axes, keepdims, divisor, root), x.dtype)


@planned
def std(
    x: Tensor,
    /,
    axis: Axes = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    ddof: float | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The square root of `var`."""
    return _spread("std", _in_dtype("std", x, dtype), axis, lowered_by("std", correction, ddof), keepdims, root=True)


@planned
def logsumexp(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along axes without overflow in between."""
    values = as_floats("logsumexp", x)
    return _reduce("logsumexp", values, normal_axes(axis, x.ndim, "logsumexp"), keepdims)


@planned
def cumulative_sum(
    x: Tensor, /, axis: int | None = None, *, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The sums of the values up to and including each, along an axis; from 0 on with `include_initial`."""
    return _cumulative("cumulative_sum", "sum", x, axis, dtype, include_initial)


@planned
def cumulative_prod(
    x: Tensor, /, axis: int | None = None, *, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The products of the values up to and including each, along an axis; from 1 on with `include_initial`."""
    return _cumulative("cumulative_prod", "prod", x, axis, dtype, include_initial)


def _cumulative(name: str, op: str, x: Tensor, axis: int | None, dtype: DType | None, include_initial: bool) -> Tensor:
    if not as_tensor(name, x).ndim:
        raise ShapeError(f"{name}: no dimensions; it takes one or more")
    if axis is None and x.ndim != 1:
        raise ShapeError(f"{name}: {x.ndim} dimensions; name the axis")
    at = normal_axis(0 if axis is None else axis, x.ndim, name)
    wanted = _total_dtype(name, x, dtype)
    if wanted.short == "f8_e4m3":
        return cast(_cumulative(name, op, x, at, float32, include_initial), wanted)
    result = (
        _scanned_complex(op, cast(x, wanted), at) if wanted.is_complex else scanned(op, packed(cast(x, wanted)), at)
    )
    if include_initial:
        shape = tuple(1 if a == at else n for a, n in enumerate(x.shape))
        result = concat([full(shape, IDENTITY[op], dtype=wanted, device=x.device), result], axis=at)
    return result


def _scanned_complex(op: str, x: Tensor, at: int) -> Tensor:
    """Running sums by their parts; running products of short lines by a thread each, of longer ones those of 1, 2, 4, …
    neighbours, each from two of half as many.
    """
    if op == "sum":
        return joined(scanned(op, packed(parts(x)), at), x.dtype)
    n = x.shape[at]
    if n <= _SHORT_LINE:
        source, result = packed(x), empty(x.shape, x.dtype, x.device)
        lines, right = x.size // (n or 1), product(x.shape[at + 1 :])
        kernel(x.device, f"cumprod_{x.dtype.short}")(lines, lines, n, right, source.address, result.address)
        return result
    result, reach = duplicate(x), 1
    while reach < n:
        first = result.view(result.layout.narrow(at, 0, reach))
        earlier, later = (result.view(result.layout.narrow(at, start, n - reach)) for start in (0, reach))
        result, reach = concat([first, multiply(later, earlier)], axis=at), 2 * reach
    return result


def _slab(x: Tensor, value: Operand, shape: Shape) -> Tensor:
    """What goes around differences; a number at each place."""
    if isinstance(value, Tensor) and value.ndim:
        return value
    _, dtype = device_and_dtype("diff", x, value)
    return broadcast(operand("diff", value, dtype, x.device), shape)


@planned
def diff(
    x: Tensor, /, n: int = 1, axis: int = -1, prepend: Operand | None = None, append: Operand | None = None
) -> Tensor:
    """The difference of neighbours along an axis, taken n times; of 0 times x itself, without what goes around it, of
    which a number stands at each place.
    """
    at = normal_axis(axis, as_tensor("diff", x).ndim, "diff")
    times = normal_integer(n, "diff", "n")
    if times < 0:
        raise ShapeError(f"diff: {times} times; use 0 or more")
    if times == 0:
        return duplicate(x)
    slab = tuple(1 if a == at else n for a, n in enumerate(x.shape))
    first, last = (_slab(x, p, slab) if p is not None else None for p in (prepend, append))
    parts = [p for p in (first, x, last) if p is not None]
    result = concat(parts, axis=at) if len(parts) > 1 else x
    for _ in range(times):
        length = result.shape[at]
        if length == 0:
            break
        later = result.view(result.layout.narrow(at, 1, length - 1))
        earlier = result.view(result.layout.narrow(at, 0, length - 1))
        result = (not_equal if result.dtype is bool_ else subtract)(later, earlier)
    return duplicate(result) if result is x else result
