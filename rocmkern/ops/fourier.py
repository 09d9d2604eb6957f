"""Discrete Fourier transforms, as the array API standard's extension `fft` has them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rocmkern import default_dtypes
from rocmkern.dtypes import DType
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Axes, listed, normal_axes, normal_axis, normal_integer
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.creation import upload
from rocmkern.ops.elementwise import as_tensor, one_of, real_float
from rocmkern.ops.manipulation import roll
from rocmkern.ops.transforms import Along, Kind, along, as_spectrum, at_once, complex_of
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.tensor import Tensor

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
_NORMS: Final = ("backward", "ortho", "forward")
_TOO_LONG: Final = 1 << 48


@planned
def fft(x: Tensor, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform along an axis, cut or filled with zeros to n elements; real values are complex ones without an
    imaginary part.
    """
    return _one("fft", x, n, axis, norm, "complex")


@planned
def ifft(x: Tensor, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of fft."""
    return _one("ifft", x, n, axis, norm, "complex", inverse=True)


@planned
def rfft(x: Tensor, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The first n//2+1 elements of the transform of real values; the others are their conjugates."""
    return _one("rfft", _real("rfft", x), n, axis, norm, "to_half")


@planned
def irfft(x: Tensor, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of rfft: n real values, by default 2·(m-1) from m elements. An imaginary part of the first element
    counts for nothing, nor does one of the last where n is even.
    """
    return _one("irfft", x, n, axis, norm, "from_half", inverse=True)


@planned
def hfft(x: Tensor, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The n real values that a row transforms to whose second half is the conjugate of the first, the one given."""
    return _one("hfft", x, n, axis, norm, "from_half")


@planned
def ihfft(x: Tensor, /, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of hfft: the first n//2+1 elements."""
    return _one("ihfft", _real("ihfft", x), n, axis, norm, "to_half", inverse=True)


@planned
def fftn(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """The transform along several axes, by default all; each is cut or filled with zeros to the length that s gives."""
    return _every("fftn", x, s, axes, norm, inverse=False)


@planned
def ifftn(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """The inverse of fftn."""
    return _every("ifftn", x, s, axes, norm, inverse=True)


@planned
def rfftn(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """The transform of real values along several axes: of the last one named the first half, as rfft gives it."""
    spectrum = as_spectrum("rfftn", _real("rfftn", x))
    return _axes("rfftn", spectrum, _lengths("rfftn", x, s, axes, at_least=1), norm, "to_half", inverse=False)


@planned
def irfftn(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """The inverse of rfftn: real values, by default 2·(m-1) along the last axis named, of m elements."""
    spectrum = as_spectrum("irfftn", as_tensor("irfftn", x))
    return _axes("irfftn", spectrum, _lengths("irfftn", x, s, axes, at_least=1), norm, "from_half", inverse=True)


@planned
def fft2(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """fftn along two axes, the last ones by default."""
    return fftn(x, s=s, axes=axes, norm=norm)


@planned
def ifft2(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """ifftn along two axes, the last ones by default."""
    return ifftn(x, s=s, axes=axes, norm=norm)


@planned
def rfft2(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """rfftn along two axes, the last ones by default."""
    return rfftn(x, s=s, axes=axes, norm=norm)


@planned
def irfft2(
    x: Tensor, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """irfftn along two axes, the last ones by default."""
    return irfftn(x, s=s, axes=axes, norm=norm)


def fftfreq(n: int, /, d: float = 1.0, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The frequencies of a transform of n samples that lie d apart, the negative ones last."""
    length = _length("fftfreq", n)
    numbers = np.arange(length)
    return _frequencies("fftfreq", np.where(numbers < (length + 1) // 2, numbers, numbers - length), d, dtype, device)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """The frequencies of what rfft gives of n samples that lie d apart."""
    length = _length("rfftfreq", n)
    return _frequencies("rfftfreq", np.arange(length // 2 + 1), d, dtype, device, n=length)


@planned
def fftshift(x: Tensor, /, axes: Axes = None) -> Tensor:
    """The halves of axes exchanged, by default of all, so that the frequency 0 is in the middle."""
    return _shifted("fftshift", x, axes, 1)


@planned
def ifftshift(x: Tensor, /, axes: Axes = None) -> Tensor:
    """The inverse of fftshift, from which it differs for odd lengths."""
    return _shifted("ifftshift", x, axes, -1)


def _one(
    operation: str, x: Tensor, n: int | None, axis: int, norm: Norm, kind: Kind, *, inverse: bool = False
) -> Tensor:
    at = normal_axis(axis, as_tensor(operation, x).ndim, operation)
    length = None if n is None else _length(operation, n)
    return _axes(operation, as_spectrum(operation, x), [(at, length)], norm, kind, inverse=inverse)


def _along(operation: str, x: Tensor, at: int, n: int | None, norm: Norm, kind: Kind, *, inverse: bool) -> Along:
    """The transform along an axis from the front; n is None for the length that the tensor has."""
    one_of(operation, norm, "norm", _NORMS)
    m = x.shape[at]
    if n is None:
        n = 2 * (m - 1) if kind == "from_half" else m
    if n < 1:
        raise ShapeError(f"{operation}: {m} elements on axis {at} give {n}; give the length wanted, 1 or more")
    whole = norm == ("backward" if inverse else "forward")
    scale = 1 / n if whole else 1 / sqrt(n) if norm == "ortho" else 1.0
    return Along(at, n, kind, inverse, scale)


def _every(
    operation: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: Norm, *, inverse: bool
) -> Tensor:
    spectrum = as_spectrum(operation, as_tensor(operation, x))
    return _axes(operation, spectrum, _lengths(operation, x, s, axes, at_least=0), norm, "complex", inverse=inverse)


def _axes(
    operation: str, x: Tensor, lengths: Sequence[tuple[int, int | None]], norm: Norm, kind: Kind, *, inverse: bool
) -> Tensor:
    """The transforms along axes, that of the last one of a kind; a copy where there are none."""
    if not lengths:
        return duplicate(x) if x.dtype.is_complex else cast(x, complex_of(x.dtype))
    kinds: list[Kind] = ["complex"] * (len(lengths) - 1)
    each = [
        _along(operation, x, at, n, norm, of, inverse=inverse)
        for (at, n), of in zip(lengths, [*kinds, kind], strict=True)
    ]
    few = at_once(x, each)
    if few is not None:
        return few
    *others, last = each
    for step in (*reversed(others), last) if kind == "from_half" else reversed(each):
        x = along(x, step)
    return x


def _lengths(
    operation: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, *, at_least: int
) -> list[tuple[int, int | None]]:
    """Axes from the front, and the length wanted of each; None for the one that it has."""
    if isinstance(s, np.ndarray):
        s = listed(s)
    if not isinstance(s, Sequence | None):
        raise DTypeError(f"{operation}: s {s!r}; give a length for each axis in a tuple")
    if s is not None and axes is None:
        raise ShapeError(f"{operation}: s {tuple(s)} without axes; name the axes too")
    order = normal_axes(axes, x.ndim, operation)
    if len(order) < at_least:
        raise ShapeError(f"{operation}: no axes of {x.ndim} dimensions; name one at least")
    if s is None:
        return [(at, None) for at in order]
    if len(s) != len(order):
        raise ShapeError(f"{operation}: s {tuple(s)} for axes {order}; give a length for each")
    wanted = [normal_integer(n, operation, "s") for n in s]
    return [(at, None if n == -1 else _length(operation, n)) for at, n in zip(order, wanted, strict=True)]


def _length(operation: str, n: int) -> int:
    length = normal_integer(n, operation, "n")
    if not 1 <= length < _TOO_LONG:
        raise ShapeError(f"{operation}: length {length}; it takes 1 or more, and fewer than 2**48")
    return length


def _real(operation: str, x: Tensor) -> Tensor:
    if as_tensor(operation, x).dtype.is_complex:
        other = "ifft" if operation == "ihfft" else operation[1:]
        raise DTypeError(f"{operation}: dtype {x.dtype}; it takes real values, use {other}")
    return x


def _frequencies(
    operation: str,
    numbers: np.ndarray[Any, Any],
    d: float,
    dtype: DType | None,
    device: DeviceLike,
    n: int | None = None,
) -> Tensor:
    """Numbers over n, by default as many as there are, and d, which the host divides: there are no operands."""
    wanted = default_dtypes.floating(dtype)
    if not wanted.is_float:
        raise DTypeError(f"{operation}: dtype {wanted}; it takes a float dtype")
    apart = real_float(operation, d, "d")
    if not apart:
        raise ZeroDivisionError(f"{operation}: samples {d} apart have no frequencies; give their distance")
    return cast(upload(numbers / ((numbers.size if n is None else n) * apart), open_device(device)), wanted)


def _shifted(operation: str, x: Tensor, axes: Axes, sign: int) -> Tensor:
    order = normal_axes(axes, as_tensor(operation, x).ndim, operation)
    if not order:
        return duplicate(x)
    return roll(x, tuple(sign * (x.shape[at] // 2) for at in order), axis=order)
