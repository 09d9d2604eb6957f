"""What NumPy does along one axis: sums of products, differences, areas, values between known ones."""

from __future__ import annotations

from math import nan, prod
from typing import Literal, get_args

from rocmkern.dtypes import float8_e4m3, float32, float64, part_of
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Axes, normal_axes, normal_axis
from rocmkern.ops.arranged import sliding_window_view
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import conj
from rocmkern.ops.conv import conv1d
from rocmkern.ops.creation import zeros
from rocmkern.ops.elementwise import (
    as_tensor,
    broadcast,
    device_and_dtype,
    one_of,
    operand,
    real_float,
    same_device,
)  # fmt: skip
from rocmkern.ops.familiar import pad
from rocmkern.ops.launch import empty, encode, kernel, strided, word
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import flip, reshape
from rocmkern.ops.parts import joined, part, parts
from rocmkern.ops.reduction import as_floats, diff, floating, sum, wide
from rocmkern.promotion import Scalar, check_range, promote, promote_scalar
from rocmkern.tensor import Tensor

Mode = Literal["full", "same", "valid"]


@planned
def convolve(x1: Tensor, x2: Tensor, /, mode: Mode = "full") -> Tensor:
    """The convolution of two vectors: all of it, as much as the longer has, or what both overlap in whole."""
    a, b = _vectors("convolve", x1, x2, mode)
    long, short = (a, b) if a.size >= b.size else (b, a)
    return _products(long, flip(short), mode)


@planned
def correlate(x1: Tensor, x2: Tensor, /, mode: Mode = "valid") -> Tensor:
    """Σ x1[n + k]·conj(x2[n]) of two vectors for each k: all, as many as the longer has, or where both overlap in
    whole.
    """
    a, b = _vectors("correlate", x1, x2, mode)
    b = conj(b) if b.dtype.is_complex else b
    return _products(a, b, mode) if a.size >= b.size else flip(_products(b, a, mode))


def _vectors(operation: str, x1: Tensor, x2: Tensor, mode: Mode) -> tuple[Tensor, Tensor]:
    device, dtype = device_and_dtype(operation, as_tensor(operation, x1), as_tensor(operation, x2))
    one_of(operation, mode, "mode", get_args(Mode))
    if not (x1.ndim == x2.ndim == 1 and x1.size and x2.size):
        raise ShapeError(f"{operation}: shapes {x1.shape} and {x2.shape}; it takes vectors that hold something")
    if dtype.kind == "bool":
        raise DTypeError(f"{operation}: dtype bool; it takes numbers")
    return operand(operation, x1, dtype, device), operand(operation, x2, dtype, device)


def _products(long: Tensor, short: Tensor, mode: Mode) -> Tensor:
    """Sums of products of the short vector with as many elements of the long one, from place to place."""
    n, m = long.size, short.size
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    length = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    if long.dtype.is_float:
        found = reshape(conv1d(reshape(long, (1, 1, n)), reshape(short, (1, 1, m)), padding=before), -1)
        return found if found.size == length else found[:length]
    return matmul(sliding_window_view(pad(long, (before, length + m - 1 - n - before)), m), short)


@planned
def gradient(x: Tensor, /, spacing: float = 1.0, *, axis: Axes = None) -> Tensor | tuple[Tensor, ...]:
    """The slopes along an axis: of half the difference of both neighbours, at the ends of that to the one.

    A tensor for each of the axes, by default all, in a tuple where it is not one. Integers become the default dtype.
    """
    values = x if as_tensor("gradient", x).dtype.is_complex else as_floats("gradient", x)
    step = real_float("gradient", spacing, "spacing")
    axes = normal_axes(axis, x.ndim, "gradient")
    found = tuple(_slopes(values, at, step) for at in axes)
    return found[0] if len(found) == 1 else found


def _slopes(x: Tensor, at: int, spacing: float) -> Tensor:
    if x.dtype.is_complex:
        return joined(_slopes(parts(x), at, spacing), x.dtype)
    n, dtype, out = x.shape[at], x.dtype, empty(x.shape, x.dtype, x.device)
    if n < 2:
        raise ShapeError(f"gradient: axis {at} of length {n}; it takes 2 elements or more")
    right, width = prod(x.shape[at + 1 :]), 2 if dtype.itemsize == 8 else 4
    units = x.size // width if x.is_contiguous and right % width == 0 else x.size
    kernel(x.device, f"gradient_{dtype.short}")(
        units, x.size, *strided(x.shape, x), n, right, word(x.strides[at]), spacing, x.address, out.address
    )
    return out


@planned
def trapezoid(y: Tensor, /, x: Tensor | None = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area below points that lines join, along an axis: at the places x, which are a vector or have the shape of y,
    or `dx` apart. Integers become the default dtype.
    """
    dtype = floating(as_tensor("trapezoid", y).dtype)
    values = cast(y, dtype if x is None else promote(dtype, as_tensor("trapezoid", x).dtype))
    at, n = normal_axis(axis, y.ndim, "trapezoid"), y.shape[normal_axis(axis, y.ndim, "trapezoid")]
    between, step, points = n - 1 if n else 0, real_float("trapezoid", dx, "dx"), wide(values)
    low, high = (points.view(points.layout.narrow(at, start, between)) for start in (0, 1))
    if x is None:
        return cast(sum(_areas(low, points.strides[at], None, 0, step), axis=at), values.dtype)
    if x.shape not in (y.shape, (n,)):
        raise ShapeError(f"trapezoid: places of shape {x.shape} for {y.shape} along axis {at}; give a vector of {n}")
    same_device("trapezoid", y.device, x)
    own = at if x.ndim == y.ndim else 0
    if x.dtype is part_of(points.dtype):
        first = x.view(x.layout.narrow(own, 0, between))
        area = sum(_areas(low, points.strides[at], _along(first, at, y.ndim), x.strides[own], step), axis=at)
    else:
        area = sum((low + high) * _along(diff(x, axis=own), at, y.ndim) / 2, axis=at)
    return cast(area, values.dtype)


def _along(x: Tensor, at: int, ndim: int) -> Tensor:
    """A vector along an axis of so many; what has as many is as it is."""
    return x if x.ndim == ndim else reshape(x, (x.size, *[1] * (ndim - at - 1)))


def _areas(low: Tensor, y_step: int, first: Tensor | None, x_step: int, dx: float) -> Tensor:
    """The areas between each of these points and its neighbours, which lie so many elements behind."""
    if low.dtype.is_complex:
        places = None if first is None else first.view(first.layout.expand(first.ndim))
        return joined(_areas(parts(low), 2 * y_step, places, x_step, dx), low.dtype)
    out, dtype = empty(low.shape, low.dtype, low.device), low.dtype
    given = low if first is None else broadcast(first, low.shape)
    kernel(low.device, f"areas_{dtype.short}")(
        out.size, out.size, *strided(low.shape, low, given), word(y_step), word(x_step), first is not None,
        encode(dx, dtype), low.address, 0 if first is None else given.address, out.address,
    )  # fmt: skip
    return out


@planned
def interp(
    x: Tensor, places: Tensor, values: Tensor, /, *, left: Scalar | None = None, right: Scalar | None = None
) -> Tensor:
    """The values between known ones: `values` at rising `places`, joined by lines, by NumPy's formula in float64. Below
    and above they are the first and the last, or `left` and `right`. Integers become the default dtype.
    """
    device, dtype = device_and_dtype("interp", as_tensor("interp", x), as_tensor("interp", places))
    if places.ndim != 1 or as_tensor("interp", values).shape != places.shape or not places.size:
        raise ShapeError(f"interp: places {places.shape} and values {values.shape}; give vectors of one length")
    common = floating(dtype, values.dtype)
    for number in (n for n in (left, right) if n is not None):
        common = promote_scalar(common, number, "interp")
        check_range(number, float64, "interp")
    real = float32 if common is float8_e4m3 else part_of(common)
    at, known = cast(x, real), cast(places, real)
    heights = cast(values, common if common.is_complex else real)
    out = empty(x.shape, heights.dtype, device)
    for which in (0, 1) if common.is_complex else (0,):
        source, target = (part(t, which) if common.is_complex else t for t in (heights, out))
        beyond = [0.0 if n is None else (complex(n).imag if which else complex(n).real) for n in (left, right)]
        kernel(device, f"interp_{real.short}")(
            at.size, at.size, *strided(at.shape, at), known.size, word(known.strides[0]), word(source.strides[0]),
            2 if common.is_complex else 1, common.is_complex, 0.0 if which else nan, left is not None,
            right is not None, *beyond, at.address, known.address, source.address, target.address,
        )  # fmt: skip
    return cast(out, common)


@planned
def polyval(p: Tensor, x: Tensor, /) -> Tensor:
    """The polynomial of coefficients p, that of the highest power first, at each x."""
    device, dtype = device_and_dtype("polyval", as_tensor("polyval", p), as_tensor("polyval", x))
    if p.ndim != 1:
        raise ShapeError(f"polyval: coefficients of {p.ndim} dimensions; give a vector")
    if not p.size:
        return zeros(x.shape, dtype=x.dtype, device=device)
    factors, at, out = cast(p, dtype), cast(x, dtype), empty(x.shape, dtype, device)
    kernel(device, f"polyval_{dtype.short}")(
        at.size, at.size, *strided(at.shape, at), p.size, word(factors.strides[0]), at.address, factors.address,
        out.address,
    )  # fmt: skip
    return out
