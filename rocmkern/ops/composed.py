"""Elementwise operations that others make up."""

from __future__ import annotations

from rocmkern.dtypes import DType, bool_
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels import plans
from rocmkern.layout import broadcast_shapes, normal_integer
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.creation import zeros_like
from rocmkern.ops.elementwise import as_tensor, broadcast, device_and_dtype, operand
from rocmkern.ops.launch import context, elementwise, empty, strided
from rocmkern.ops.parts import part, words
from rocmkern.ops.rows_binary import maximum, minimum
from rocmkern.promotion import check_range
from rocmkern.tensor import Operand, Tensor


@planned
def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """The values no lower than min and no higher than max; max where min is above it, NaN where one is NaN.

    The dtype is that of x, unless x is of integers and a bound of floats.
    """
    result = _number("clip", x)
    for bound in (min, max):
        if bound is not None and not isinstance(bound, Tensor):
            check_range(bound, x.dtype, "clip")
    if min is not None and max is not None:
        _, dtype = device_and_dtype("clip", x, min, max)
        if not dtype.is_complex:
            result = _between(x, min, max, dtype)
            return cast(result, x.dtype) if dtype.is_float == x.dtype.is_float else result
    if min is not None:
        result = maximum(result, min)
    if max is not None:
        result = minimum(result, max)
    if result is x:
        return duplicate(x)
    return cast(result, x.dtype) if result.dtype.is_float == x.dtype.is_float else result


def _between(x: Tensor, low: Operand, high: Operand, dtype: DType) -> Tensor:
    used = [operand("clip", t, dtype, x.device) for t in (x, low, high)]
    shape = broadcast_shapes(*[t.shape for t in used])
    out, inputs = empty(shape, dtype, x.device), [broadcast(t, shape) for t in used]
    return elementwise(f"clip_{dtype.short}", out, inputs)


def positive(x: Tensor, /) -> Tensor:
    """A copy of the values. Raises DTypeError for bool."""
    return duplicate(_number("positive", x))


@planned
def conj(x: Tensor, /) -> Tensor:
    """The values with the other sign of the imaginary part; a copy of real ones. Raises DTypeError for bool."""
    if not _number("conj", x).dtype.is_complex:
        return duplicate(x)
    return elementwise(f"uconj_{x.dtype.short}", empty(x.shape, x.dtype, x.device), (x,))


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


def tril(x: Tensor, /, k: int = 0) -> Tensor:
    """The matrix up to its k-th diagonal, zeros above."""
    return _triangle("tril", x, k, below=True)


def triu(x: Tensor, /, k: int = 0) -> Tensor:
    """The matrix from its k-th diagonal on, zeros below."""
    return _triangle("triu", x, k, below=False)


def _triangle(operation: str, x: Tensor, k: int, *, below: bool) -> Tensor:
    if as_tensor(operation, x).ndim < 2:
        raise ShapeError(f"{operation}: {x.ndim} dimensions; it takes two or more")
    diagonal = normal_integer(k, operation, "k")
    return _zeroed(x, diagonal, below)


@planned
def _zeroed(x: Tensor, diagonal: int, below: bool) -> Tensor:
    out, bits = empty(x.shape, x.dtype, x.device), words(x)
    if not bits.size:
        return out
    rows, columns = x.shape[-2:]
    here, itemsize = context(x.device), bits.dtype.itemsize
    chosen = here.kernel(x.device, f"triangle_u{8 * itemsize}")
    packs = x.is_contiguous and columns % plans.pack_width(itemsize) == 0
    access = itemsize if packs else plans.VECTOR_BYTES
    plan = here.plan(plans.elementwise, bits.size, (access, access, access))
    chosen.run(
        plan, bits.size, *strided(bits.shape, bits), rows, columns, bits.size // x.size,
        max(-rows, min(diagonal, columns)), below, bits.address, out.address,
    )  # fmt: skip
    return out
