"""Elementwise functions of NumPy that others make up."""

from __future__ import annotations

from math import pi
from typing import Any

from rocmkern.dtypes import float64
from rocmkern.layout import normal_axis
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import imag, real
from rocmkern.ops.creation import zeros_like
from rocmkern.ops.elementwise import as_tensor, device_and_dtype, finish, operand, real_float
from rocmkern.ops.indexing import where
from rocmkern.ops.manipulation import concat
from rocmkern.ops.reduction import as_floats, cumulative_sum, diff
from rocmkern.ops.rows_binary import (
    add,
    atan2,
    bitwise_and,
    copysign,
    divide,
    equal,
    greater,
    less,
    maximum,
    minimum,
    multiply,
    not_equal,
    pow,
    remainder,
    subtract,
)
from rocmkern.ops.rows_unary import abs, isfinite, isnan, sin, square
from rocmkern.tensor import Operand, Tensor


def exp2(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each value; integers become the default dtype."""
    return finish("exp2", pow(2.0, x if as_tensor("exp2", x).dtype.is_complex else as_floats("exp2", x)), out)


def cbrt(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """The real cube roots, worked out in float64; integers become the default dtype."""
    dtype = as_floats("cbrt", x).dtype
    wide = cast(x, float64)
    size = abs(wide)
    near = pow(size, 1 / 3)
    better = subtract(near, divide(subtract(near, divide(size, square(near))), 3.0))
    whole = isfinite(better)
    return finish("cbrt", cast(copysign(where(whole, better, near), wide), dtype), out)


def fmod(x1: Operand, x2: Operand, /, *, out: Tensor | None = None) -> Tensor:
    """What is left of x1 divided by x2, with the sign of x1, as C's fmod has it; of integers by zero 0."""
    device, dtype = device_and_dtype("fmod", x1, x2)
    a, b = operand("fmod", x1, dtype, device), operand("fmod", x2, dtype, device)
    if dtype.is_float:
        return finish("fmod", copysign(remainder(abs(a), abs(b)), a), out)
    left = remainder(a, b)
    if dtype.kind == "unsigned":
        return finish("fmod", left, out)
    apart = bitwise_and(not_equal(left, 0), not_equal(less(a, 0), less(b, 0)))
    return finish("fmod", where(apart, subtract(left, b), left), out)


def fmax(x1: Operand, x2: Operand, /, *, out: Tensor | None = None) -> Tensor:
    """The larger of two values, or the one that is no NaN."""
    return finish("fmax", _passing_over_nan("fmax", maximum, x1, x2), out)


def fmin(x1: Operand, x2: Operand, /, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two values, or the one that is no NaN."""
    return finish("fmin", _passing_over_nan("fmin", minimum, x1, x2), out)


def _passing_over_nan(operation: str, function: Any, x1: Operand, x2: Operand) -> Tensor:
    device, dtype = device_and_dtype(operation, x1, x2)
    a, b = operand(operation, x1, dtype, device), operand(operation, x2, dtype, device)
    found: Tensor = function(a, b)
    return where(isnan(a), b, where(isnan(b), a, found)) if dtype.is_float else found


def fabs(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """The magnitudes as floats; integers become the default dtype."""
    return finish("fabs", abs(as_floats("fabs", x)), out)


def deg2rad(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """Degrees in radians; integers become the default dtype."""
    return finish("deg2rad", multiply(as_floats("deg2rad", x), pi / 180), out)


def rad2deg(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """Radians in degrees; integers become the default dtype."""
    return finish("rad2deg", multiply(as_floats("rad2deg", x), 180 / pi), out)


def angle(z: Tensor, /, deg: bool = False) -> Tensor:
    """The argument of complex numbers, of real ones 0 or π, in radians, or in degrees with `deg`; integers become the
    default dtype.
    """
    if as_tensor("angle", z).dtype.is_complex:
        found = atan2(imag(z), real(z))
    else:
        values = as_floats("angle", z)
        found = atan2(zeros_like(values), values)
    return rad2deg(found) if deg else found


def sinc(x: Tensor, /) -> Tensor:
    """sin(πx) / πx, 1 at 0; integers become the default dtype."""
    values = x if as_tensor("sinc", x).dtype.is_complex else as_floats("sinc", x)
    scaled = multiply(values, pi)
    return where(equal(values, 0), 1.0, divide(sin(scaled), scaled))


def unwrap(p: Tensor, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * pi) -> Tensor:
    """Angles along an axis with whole periods added, so that neighbours differ by no more than half of one; only where
    they differ by `discont` or more. Integers become the default dtype.
    """
    values = as_floats("unwrap", p)
    at, whole = normal_axis(axis, p.ndim, "unwrap"), real_float("unwrap", period, "period")
    if p.shape[at] < 2:
        return cast(values, values.dtype, copy=True)
    half = whole / 2
    limit = half if discont is None else max(half, real_float("unwrap", discont, "discont"))
    steps = diff(values, axis=at)
    near = subtract(remainder(add(steps, half), whole), half)
    near = where(bitwise_and(equal(near, -half), greater(steps, 0)), half, near)
    turns = where(less(abs(steps), limit), 0.0, subtract(near, steps))
    first = values.layout.narrow(at, 0, 1)
    rest = values.view(values.layout.narrow(at, 1, p.shape[at] - 1))
    return concat([values.view(first), add(rest, cumulative_sum(turns, axis=at))], axis=at)
