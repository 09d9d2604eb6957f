"""What NumPy does along one axis: sums of products, differences, areas, values between known ones."""

from __future__ import annotations

from typing import Literal, get_args

from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Axes, normal_axes, normal_axis
from rocmkern.ops.arranged import sliding_window_view
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import clip, conj
from rocmkern.ops.conv import conv1d
from rocmkern.ops.elementwise import as_tensor, device_and_dtype, operand, real_float
from rocmkern.ops.familiar import pad
from rocmkern.ops.indexing import searchsorted, take, where
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import concat, flip, reshape
from rocmkern.ops.recorded import recorded
from rocmkern.ops.reduction import as_floats, diff, sum, wide
from rocmkern.ops.rows_binary import divide
from rocmkern.promotion import Scalar, promote
from rocmkern.tensor import Operand, Tensor

Mode = Literal["full", "same", "valid"]


@recorded
def convolve(x1: Tensor, x2: Tensor, /, mode: Mode = "full") -> Tensor:
    """The convolution of two vectors: all of it, as much as the longer has, or what both overlap in whole."""
    a, b = _vectors("convolve", x1, x2, mode)
    long, short = (a, b) if a.size >= b.size else (b, a)
    return _products(long, flip(short), mode)


@recorded
def correlate(x1: Tensor, x2: Tensor, /, mode: Mode = "valid") -> Tensor:
    """Σ x1[n + k]·conj(x2[n]) of two vectors for each k: all, as many as the longer has, or where both overlap in
    whole.
    """
    a, b = _vectors("correlate", x1, x2, mode)
    b = conj(b)
    return _products(a, b, mode) if a.size >= b.size else flip(_products(b, a, mode))


def _vectors(operation: str, x1: Tensor, x2: Tensor, mode: Mode) -> tuple[Tensor, Tensor]:
    device, dtype = device_and_dtype(operation, as_tensor(operation, x1), as_tensor(operation, x2))
    if mode not in get_args(Mode):
        raise ShapeError(f"{operation}: mode {mode!r}; use one of {', '.join(get_args(Mode))}")
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


@recorded
def gradient(x: Tensor, /, spacing: float = 1.0, *, axis: Axes = None) -> Tensor | tuple[Tensor, ...]:
    """The slopes along an axis: of half the difference of both neighbours, at the ends of that to the one.

    A tensor for each of the axes, by default all, in a tuple where it is not one. Integers become float32.
    """
    values = x if as_tensor("gradient", x).dtype.is_complex else as_floats("gradient", x)
    step = real_float("gradient", spacing, "spacing")
    axes = normal_axes(axis, x.ndim, "gradient")
    found = tuple(cast(_slopes(wide(values), at, step), values.dtype) for at in axes)
    return found[0] if len(found) == 1 else found


def _slopes(x: Tensor, at: int, spacing: float) -> Tensor:
    n = x.shape[at]
    if n < 2:
        raise ShapeError(f"gradient: axis {at} of length {n}; it takes 2 elements or more")

    def part(start: int, count: int) -> Tensor:
        return x.view(x.layout.narrow(at, start, count))

    first, last = ((part(i + 1, 1) - part(i, 1)) / spacing for i in (0, n - 2))
    return concat([first, (part(2, n - 2) - part(0, n - 2)) / (2 * spacing), last], axis=at)


@recorded
def trapezoid(y: Tensor, x: Tensor | None = None, /, *, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area below points that lines join, along an axis: at the places x, which are a vector or have the shape of y,
    or `dx` apart. Integers become float32.
    """
    values = y if as_tensor("trapezoid", y).dtype.is_complex else as_floats("trapezoid", y)
    at, n = normal_axis(axis, y.ndim, "trapezoid"), y.shape[normal_axis(axis, y.ndim, "trapezoid")]
    between = n - 1 if n else 0
    steps: Operand = real_float("trapezoid", dx, "dx")
    if x is not None:
        if as_tensor("trapezoid", x).shape not in (y.shape, (n,)):
            raise ShapeError(
                f"trapezoid: places of shape {x.shape} for {y.shape} along axis {at}; give a vector of {n}"
            )
        steps = diff(x, axis=at) if x.ndim == y.ndim else reshape(diff(x), (between, *[1] * (y.ndim - at - 1)))
    points = wide(values)
    low, high = (points.view(points.layout.narrow(at, start, between)) for start in (0, 1))
    area = sum((low + high) * steps / 2, axis=at)
    return cast(area, promote(values.dtype, steps.dtype) if isinstance(steps, Tensor) else values.dtype)


@recorded
def interp(
    x: Tensor, places: Tensor, values: Tensor, /, *, left: Scalar | None = None, right: Scalar | None = None
) -> Tensor:
    """The values between known ones: `values` at rising `places`, joined by lines. Below and above they are the first
    and the last, or `left` and `right`. Integers become float32.
    """
    _, dtype = device_and_dtype("interp", as_tensor("interp", x), as_tensor("interp", places))
    if places.ndim != 1 or as_tensor("interp", values).shape != places.shape or not places.size:
        raise ShapeError(f"interp: places {places.shape} and values {values.shape}; give vectors of one length")
    at, known = as_floats("interp", cast(x, dtype)), as_floats("interp", cast(places, dtype))
    heights = values if values.dtype.is_complex else as_floats("interp", values)
    first, last, n = known[0], known[-1], places.size
    lower = clip(searchsorted(known, at, side="right") - 1, 0, n - 2 if n > 1 else 0)
    upper = clip(lower + 1, None, n - 1)
    start, low = take(known, lower), take(heights, lower)
    width = take(known, upper) - start
    share = divide(at - start, where(width == 0, 1.0, width))
    found = low + share * (take(heights, upper) - low)
    found = where(at < first, heights[0] if left is None else left, where(at == last, heights[-1], found))
    return where(at > last, heights[-1] if right is None else right, found)


def polyval(p: Tensor, x: Tensor, /) -> Tensor:
    """The polynomial of coefficients p, that of the highest power first, at each x."""
    if as_tensor("polyval", p).ndim != 1:
        raise ShapeError(f"polyval: coefficients of {p.ndim} dimensions; give a vector")
    found = as_tensor("polyval", x) * 0
    for i in range(p.size):
        found = found * x + p[i]
    return found
