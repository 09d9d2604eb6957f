"""Elementwise operations that others make up."""

from __future__ import annotations

from rocmkern.dtypes import bool_
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.creation import arange, zeros_like
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.indexing import where
from rocmkern.ops.launch import elementwise, empty
from rocmkern.ops.manipulation import expand_dims
from rocmkern.ops.parts import part
from rocmkern.ops.prepared import found
from rocmkern.ops.rows_binary import greater_equal, maximum, minimum
from rocmkern.promotion import check_range
from rocmkern.tensor import Operand, Tensor


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """The values no lower than min and no higher than max; max where min is above it, NaN where one is NaN.

    The dtype is that of x, unless x is of integers and a bound of floats.
    """
    result = _number("clip", x)
    for bound in (min, max):
        if bound is not None and not isinstance(bound, Tensor):
            check_range(bound, x.dtype, "clip")
    if min is not None:
        result = maximum(result, min)
    if max is not None:
        result = minimum(result, max)
    if result is x:
        return duplicate(x)
    return cast(result, x.dtype) if result.dtype.is_float == x.dtype.is_float else result


def positive(x: Tensor, /) -> Tensor:
    """A copy of the values. Raises DTypeError for bool."""
    return duplicate(_number("positive", x))


def conj(x: Tensor, /) -> Tensor:
    """The values with the other sign of the imaginary part; a copy of real ones. Raises DTypeError for bool."""
    if not _number("conj", x).dtype.is_complex:
        return duplicate(x)
    key = ("conj", x.device._driver, x.dtype, x.layout.shape, x.layout.strides)
    launch = found(key)
    if launch is not None:
        return launch.run(x.device, x.address)
    return elementwise(f"uconj_{x.dtype.short}", empty(x.shape, x.dtype, x.device), (x,), key=key)


def real(x: Tensor, /) -> Tensor:
    """A copy of the real parts; of real values themselves. Raises DTypeError for bool."""
    return duplicate(part(x, 0) if _number("real", x).dtype.is_complex else x)


def imag(x: Tensor, /) -> Tensor:
    """A copy of the imaginary parts; zeros for real values. Raises DTypeError for bool."""
    return duplicate(part(x, 1)) if _number("imag", x).dtype.is_complex else zeros_like(x)


def _number(operation: str, x: Tensor) -> Tensor:
    if as_tensor(operation, x).dtype is bool_:
        raise DTypeError(f"{operation}: dtype bool; it takes a number dtype, cast it first")
    return x


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrix up to its k-th diagonal, zeros above."""
    return _triangle("tril", x, k, below=True)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrix from its k-th diagonal on, zeros below."""
    return _triangle("triu", x, k, below=False)


def _triangle(operation: str, x: Tensor, k: int, *, below: bool) -> Tensor:
    if as_tensor(operation, x).ndim < 2:
        raise ShapeError(f"{operation}: {x.ndim} dimensions; it takes two or more")
    columns = arange(x.shape[-1], device=x.device)
    diagonal = expand_dims(arange(k, k + x.shape[-2], device=x.device), axis=1)
    inside = greater_equal(diagonal, columns) if below else greater_equal(columns, diagonal)
    zero = False if x.dtype is bool_ else 0
    return where(inside, x, zero)
