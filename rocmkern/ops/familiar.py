"""What NumPy has beyond the standard, in its names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, Literal, get_args

import numpy as np

from rocmkern.dtypes import DType, bool_, float64, int64, part_of, uint8, uint16, uint32
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Axes, broadcast_shapes, normal_axes, normal_axis, normal_integer
from rocmkern.ops import fused
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.creation import arange, asarray, full, upload, zeros
from rocmkern.ops.datatypes import finfo
from rocmkern.ops.elementwise import as_tensor, broadcast, device_and_dtype, one_of, operand, real_float
from rocmkern.ops.fused import are_few
from rocmkern.ops.indexing import searchsorted, where
from rocmkern.ops.launch import elementwise, empty, encode, kernel, layout_info
from rocmkern.ops.linear import matmul, tensordot
from rocmkern.ops.manipulation import concat, permute_dims, reshape, stack
from rocmkern.ops.movement import write
from rocmkern.ops.parts import joined, parts, words
from rocmkern.ops.reduction import all, as_floats, diff, max, min, wide
from rocmkern.ops.rows_binary import add, equal, less_equal, logical_and, logical_or, multiply, subtract
from rocmkern.ops.rows_unary import abs, isfinite, isnan
from rocmkern.ops.scatter import index_add
from rocmkern.ops.sorting import sort
from rocmkern.promotion import Scalar, check_range
from rocmkern.runtime.device import DeviceLike
from rocmkern.tensor import Operand, Tensor

# What the namespace takes from here; medians and quantiles it has with NumPy's arguments, from `quantiles`.
__all__ = [
    "allclose", "array", "array_equal", "bincount", "dot", "inner", "isclose", "kron", "nan_to_num", "pad", "ravel",
    "split", "swapaxes",
]  # fmt: skip

Shares = float | Sequence[float] | np.ndarray[Any, Any] | Tensor
PadMode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]
MOST_PIECES: Final = 1 << 20
_PAD_MODES: Final = get_args(PadMode)
# After how many elements the places repeat beyond the ends of n.
_PERIODS: Final[dict[PadMode, Callable[[int], int]]] = {
    "edge": lambda n: n,
    "reflect": lambda n: 2 * n - 2 or 1,
    "symmetric": lambda n: 2 * n,
    "wrap": lambda n: n,
}


def array(obj: object, /, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """A tensor of its own memory from what `asarray` takes."""
    return asarray(obj, dtype=dtype, device=device, copy=True if isinstance(obj, Tensor) else None)


def swapaxes(x: Tensor, /, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged, a view."""
    a, b = (normal_axis(axis, as_tensor("swapaxes", x).ndim, "swapaxes") for axis in (axis1, axis2))
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    return permute_dims(x, order)


def ravel(x: Tensor, /) -> Tensor:
    """The elements along one axis: a view where the strides allow, else a copy."""
    return reshape(x, -1)


def split(x: Tensor, parts: int | Sequence[int], /, axis: int = 0) -> tuple[Tensor, ...]:
    """The tensor in pieces along an axis, views: as many of equal length, or those that end before each index named.

    Raises ShapeError where the axis does not divide into equal pieces.
    """
    at = normal_axis(axis, as_tensor("split", x).ndim, "split")
    n = x.shape[at]
    if isinstance(parts, Sequence):
        ends = [slice(None, normal_integer(p, "split", "index")).indices(n)[1] for p in parts]
        bounds = [(low, _at_least(low, high)) for low, high in zip([0, *ends], [*ends, n], strict=True)]
    else:
        count = normal_integer(parts, "split", "number of pieces")
        if not 1 <= count <= MOST_PIECES or n % count:
            raise ShapeError(f"split: axis {at} of length {n} in {count} equal pieces; name where to cut")
        bounds = [(i * (n // count), (i + 1) * (n // count)) for i in range(count)]
    return tuple(x.view(x.layout.narrow(at, low, high - low)) for low, high in bounds)


def _at_least(low: int, high: int) -> int:
    return high if high > low else low


@planned
def pad(
    x: Tensor,
    width: int | Sequence[int] | Sequence[Sequence[int]],
    /,
    mode: PadMode = "constant",
    *,
    constant_values: Scalar = 0,
) -> Tensor:
    """More elements around the tensor: `width` of them at each end of every axis, (before, after) for all axes, or such
    a pair for each axis. The modes are NumPy's constant, edge, reflect, symmetric and wrap.
    """
    one_of("pad", mode, "mode", _PAD_MODES)
    pairs = _widths(width, as_tensor("pad", x).ndim)
    if mode == "constant":
        shape = tuple(n + before + after for n, (before, after) in zip(x.shape, pairs, strict=True))
        result = full(shape, constant_values, dtype=x.dtype, device=x.device)
        inner = result.layout
        for at, (before, _) in enumerate(pairs):
            inner = inner.narrow(at, before, x.shape[at])
        write(x, result.view(inner))
        return result
    empty_axis = next((at for at, width in enumerate(pairs) if any(width) and not x.shape[at]), None)
    if empty_axis is not None:
        raise ShapeError(f"pad: axis {empty_axis} is empty; only mode 'constant' adds to it")
    return _continued(x, pairs, mode) if x.ndim else duplicate(x)


def _continued(x: Tensor, pairs: list[tuple[int, int]], mode: PadMode) -> Tensor:
    """The tensor with what lies beyond its ends in a mode that repeats its elements."""
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, pairs, strict=True))
    result = empty(shape, x.dtype, x.device)
    source, target = words(x), words(result)
    clamped, info = mode == "edge", target.shape + source.strides + source.shape
    befores = [before for before, _ in pairs] + [0] * (target.ndim - x.ndim)
    periods = [_PERIODS[mode](n) if n else 1 for n in source.shape]
    folds = [2 * n - (2 if mode == "reflect" else 1) for n in source.shape]
    starts = befores if clamped else [-before % period for before, period in zip(befores, periods, strict=True)]
    address = layout_info(x.device, info + tuple(starts + periods + folds))
    kernel(x.device, f"pad_u{8 * target.dtype.itemsize}")(
        target.size, target.size, target.ndim, address, clamped, source.address, target.address
    )
    return result


def _widths(width: int | Sequence[int] | Sequence[Sequence[int]], ndim: int) -> list[tuple[int, int]]:
    given = list(width) if isinstance(width, Sequence) else [width, width]
    pairs = [list(w) if isinstance(w, Sequence) else None for w in given]
    if None in pairs or not pairs:
        pairs = [given] * ndim
    if len(pairs) == 1:
        pairs *= ndim
    result = [tuple(normal_integer(n, "pad", "width") for n in p or ()) for p in pairs]
    if len(result) != ndim or any(len(p) != 2 for p in result) or any(n < 0 for p in result for n in p):
        raise ShapeError(f"pad: width {width!r} for {ndim} dimensions; give a number, a pair, or a pair for each axis")
    return [(p[0], p[1]) for p in result]


@planned
def isclose(
    x1: Tensor, x2: Operand, /, rtol: float | Tensor = 1e-5, atol: float | Tensor = 1e-8, *, equal_nan: bool = False
) -> Tensor:
    """Whether |x1 - x2| ≤ atol + rtol·|x2|, elementwise; infinities are close to their equals only. The limits may be
    tensors that broadcast.
    """
    device, common = device_and_dtype("isclose", as_tensor("isclose", x1), x2)
    dtype = common if common.is_float or common.is_complex else float64
    first, second = cast(x1, dtype), operand("isclose", x2, dtype, device)
    if isinstance(rtol, Tensor) or isinstance(atol, Tensor):
        return _within(first, second, rtol, atol, equal_nan)
    limits = [_encoded("isclose", name, number, part_of(dtype)) for name, number in (("rtol", rtol), ("atol", atol))]
    shape = broadcast_shapes(first.shape, second.shape)
    return elementwise(
        f"isclose_{dtype.short}", empty(shape, bool_, device), (broadcast(first, shape), broadcast(second, shape)),
        *limits, bool(equal_nan),
    )  # fmt: skip


def _encoded(operation: str, name: str, value: float, dtype: DType) -> int | float | bytes:
    if not isinstance(value, int | float | np.bool_ | np.integer | np.floating):
        raise DTypeError(f"{operation}: {name} is a {type(value).__name__}; use a real number")
    check_range(value, dtype, operation)
    return encode(value, dtype)


def _within(x1: Tensor, x2: Tensor, rtol: float | Tensor, atol: float | Tensor, equal_nan: bool) -> Tensor:
    """`isclose` for limits of each element."""
    near = less_equal(abs(subtract(x1, x2)), add(multiply(abs(x2), rtol), atol))
    same = isclose(x1, x2, rtol=0.0, atol=0.0, equal_nan=equal_nan)
    return logical_or(logical_and(near, isfinite(x2)), same)


def allclose(
    x1: Tensor, x2: Operand, /, rtol: float | Tensor = 1e-5, atol: float | Tensor = 1e-8, *, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds for every element, as a Python bool: the host waits for it."""
    return _holds(isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan))


def array_equal(x1: Tensor, x2: Tensor, /) -> bool:
    """Whether shapes and all elements are the same, as a Python bool: the host waits for it."""
    return as_tensor("array_equal", x1).shape == as_tensor("array_equal", x2).shape and _holds(equal(x1, x2))


def _holds(truth: Tensor) -> bool:
    """Whether all are true; the host looks at few itself."""
    return bool(truth.numpy().all() if are_few(truth.size) else all(truth))


@planned
def nan_to_num(x: Tensor, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """The values with NaN replaced, and infinities, by default by the dtype's largest and lowest number.

    Of complex tensors both parts; integers as they are.
    """
    dtype = as_tensor("nan_to_num", x).dtype
    if dtype.is_complex:
        return joined(nan_to_num(parts(x), nan=nan, posinf=posinf, neginf=neginf), dtype)
    if not dtype.is_float:
        return duplicate(x)
    info = finfo(dtype)
    given = {
        "nan": nan,
        "posinf": info.max if posinf is None else posinf,
        "neginf": info.min if neginf is None else neginf,
    }
    numbers = [_encoded("nan_to_num", name, number, dtype) for name, number in given.items()]
    return elementwise(f"nan_to_num_{dtype.short}", empty(x.shape, dtype, x.device), (x,), *numbers)


def quantiles(operation: str, x: Tensor, q: Shares, whole: int, axis: Axes, keepdims: bool) -> Tensor:
    """The quantiles of shares q of a whole."""
    if isinstance(q, np.ndarray | Tensor):
        q = q.tolist()
    given = [real_float(operation, s, "share") for s in (q if isinstance(q, Sequence) else [q])]
    if any(not 0 <= s <= whole for s in given):
        raise ShapeError(f"{operation}: shares {given}; use 0..{whole}")
    shares = [s / whole for s in given]
    values = as_floats(operation, x)
    axes = normal_axes(axis, x.ndim, operation)
    kept = [a for a in range(x.ndim) if a not in axes]
    n = prod(x.shape[a] for a in axes)
    if not n:
        raise ShapeError(f"{operation}: no elements along axes {axes} of shape {x.shape}; there is no such value")
    rows = reshape(permute_dims(values, (*kept, *axes)), (*[x.shape[a] for a in kept], n))
    found = in_order(rows, [s * (n - 1) for s in shares])
    shape = tuple(1 if a in axes else m for a, m in enumerate(x.shape))
    shaped = [reshape(f, shape) if keepdims else f for f in found]
    if not isinstance(q, Sequence):
        return shaped[0]
    return stack(shaped) if shaped else empty((0, *(shape if keepdims else rows.shape[:-1])), values.dtype, x.device)


def in_order(rows: Tensor, positions: list[float]) -> list[Tensor]:
    """The values at fractional positions of each row in order, NaN where a row has one."""
    if fused.takes_quantiles(rows):
        return [fused.quantile(rows, int(position), position - int(position)) for position in positions]
    ordered, at = sort(rows), rows.ndim - 1
    last = ordered.view(ordered.layout.narrow(at, rows.shape[at] - 1, 1).squeeze((at,)))
    return [where(isnan(last), last, _between(ordered, position)) for position in positions]


def _between(ordered: Tensor, position: float) -> Tensor:
    """The value at a fractional position of the last axis; of equal neighbours that value."""
    low = int(position)
    at, n = ordered.ndim - 1, ordered.shape[-1]
    first, second = (
        ordered.view(ordered.layout.narrow(at, i, 1).squeeze((at,))) for i in (low, low + 1 if low + 1 < n else low)
    )
    share = position - low
    if not share:
        return duplicate(first)
    a, b = wide(first), wide(second)
    return cast(where(equal(a, b), a, add(multiply(a, 1 - share), multiply(b, share))), first.dtype)


def bincount(x: Tensor, /, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number 0, 1, … is among the elements of a vector of integers ≥ 0, as int64; or the sums of the
    weights there, in their dtype. The length is one more than the largest, at least `minlength`; the host waits for it.
    """
    if as_tensor("bincount", x).dtype is bool_:
        x = cast(x, uint8)
    if x.ndim != 1 or not x.dtype.is_integer:
        raise ShapeError(f"bincount: {x.dtype} of shape {x.shape}; it takes a vector of integers")
    if weights is not None and as_tensor("bincount", weights).shape != x.shape:
        raise ShapeError(f"bincount: weights of shape {weights.shape} for {x.shape}; give one for each")
    few = x.numpy() if are_few(x.size) else None
    if few is not None:
        low, high = int(few.min()), int(few.max())
    else:
        low, high = (int(f(x)) for f in (min, max)) if x.size else (0, -1)
    if low < 0:
        raise ShapeError(f"bincount: {low} among the numbers; use 0 or more")
    least = normal_integer(minlength, "bincount", "minlength")
    if least < 0:
        raise ShapeError(f"bincount: minlength {least}; use 0 or more")
    length = _at_least(least, high + 1)
    if few is not None and weights is None and are_few(length):
        return upload(np.bincount(few.astype(np.int64), minlength=length), x.device)
    if weights is None:
        return _counts(x, high + 1, length)
    return index_add(zeros((length,), dtype=weights.dtype, device=x.device), cast(x, int64), weights)


def _counts(x: Tensor, bins: int, length: int) -> Tensor:
    """How often each number below `bins` is among the elements, with zeros behind: the lengths of the runs of equal
    ones, once they are sorted in the narrowest dtype that has them."""
    narrow = next((dtype for dtype in (uint8, uint16, uint32) if bins <= 1 << 8 * dtype.itemsize), int64)
    ends = searchsorted(sort(cast(x, narrow)), arange(bins, dtype=narrow, device=x.device), side="right")
    first = zeros((1,), dtype=int64, device=x.device)
    found = diff(ends, prepend=first)
    return concat([found, zeros((length - bins,), dtype=int64, device=x.device)]) if length > bins else found


@planned
def dot(x1: Tensor, x2: Tensor, /) -> Tensor:
    """NumPy's dot: the product of vectors and matrices, of more axes over the last of x1 and the second to last of x2;
    with a tensor of no axes the elementwise product.
    """
    if not as_tensor("dot", x1).ndim or not as_tensor("dot", x2).ndim:
        return multiply(x1, x2)
    if x1.ndim <= 2 and x2.ndim <= 2:
        return matmul(x1, x2)
    return tensordot(x1, x2, axes=((-1,), (-2 if x2.ndim > 1 else -1,)))


@planned
def inner(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The sums of products over the last axes of both; with a tensor of no axes the elementwise product."""
    if not as_tensor("inner", x1).ndim or not as_tensor("inner", x2).ndim:
        return multiply(x1, x2)
    return tensordot(x1, x2, axes=((-1,), (-1,)))


@planned
def kron(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The Kronecker product: for each element of x1 a copy of x2 times it; fewer axes get more in front."""
    ndim = _at_least(as_tensor("kron", x1).ndim, as_tensor("kron", x2).ndim)
    a, b = ((1,) * (ndim - t.ndim) + t.shape for t in (x1, x2))
    apart = reshape(x1, [n for length in a for n in (length, 1)])
    wide = multiply(apart, reshape(x2, [n for length in b for n in (1, length)]))
    return reshape(wide, [n * m for n, m in zip(a, b, strict=True)])
