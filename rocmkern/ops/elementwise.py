"""How an elementwise operation is made from its row: promotion, broadcasting, one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
from attrs import frozen

from rocmkern import default_dtypes
from rocmkern.dtypes import DType, bool_, float64, part_of
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels.families.special import TRUTHS
from rocmkern.layout import Shape, broadcast_layout, broadcast_shapes
from rocmkern.ops.by_value import same_question
from rocmkern.ops.casting import cast, scalar_tensor
from rocmkern.ops.launch import elementwise, empty, encode
from rocmkern.ops.movement import write
from rocmkern.ops.parts import joined, parts
from rocmkern.promotion import (
    Real,
    Scalar,
    check_range,
    is_no_lower_kind,
    promote,
    promote_scalar,
    python_number,
    scalar_dtype,
)
from rocmkern.runtime import Device
from rocmkern.tensor import Operand, Tensor

# What an operation takes. "float": other dtypes become the default one. "rounding": integers are their own result.
# "test": a question whose answer is bool, known for integers. "logical": the truth of any dtype.
Accepts: TypeAlias = Literal["float", "numeric", "rounding", "test", "bits", "integer", "logical", "any"]
Result: TypeAlias = Literal["same", "bool", "part"]  # "part": what the parts of a complex number are


class Unary(Protocol):
    """A function of one operand; the result is written to `out` where that is given."""

    def __call__(self, x: Tensor, /, *, out: Tensor | None = None) -> Tensor: ...


class Binary(Protocol):
    """A function of two operands, one of which may be a number; the result goes to `out` where given."""

    def __call__(self, x1: Operand, x2: Operand, /, *, out: Tensor | None = None) -> Tensor: ...


@frozen
class Row:
    """One elementwise operation: its public name, the stem of its kernels' symbols, and what it takes and gives."""

    name: str
    kernel: str
    accepts: Accepts
    result: Result
    arity: int
    doc: str
    of_integers: bool | None = None  # the answer of a test where the operand is no float
    of_bool: str | None = None  # the stem for bool where it is another
    of_complex: bool = False  # whether it takes complex dtypes too
    by_parts: bool = False  # of complex numbers the same function of each part


ROWS: Final[dict[str, Row]] = {}

_REFUSED: Final[Mapping[str, Callable[[DType], bool]]] = {
    "numeric": lambda d: d is bool_,
    "rounding": lambda d: d is bool_,
    "bits": lambda d: d.is_float,
    "integer": lambda d: not d.is_integer,
}
_WANTED: Final = {
    "numeric": "a number dtype",
    "rounding": "a number dtype",
    "bits": "bool or an integer dtype",
    "integer": "an integer dtype",
}


def working_dtype(row: Row, dtype: DType) -> DType:
    """The dtype that the kernel runs in. Raises DTypeError for one that the operation does not take."""
    refused = _REFUSED.get(row.accepts)
    if refused is not None and refused(dtype):
        raise DTypeError(f"{row.name}: dtype {dtype}; it takes {_WANTED[row.accepts]}, cast it first")
    if row.accepts == "logical":
        return bool_ if row.arity == 2 or dtype.is_complex else dtype
    if dtype.is_complex:
        if not row.of_complex:
            raise DTypeError(f"{row.name}: dtype {dtype}; it takes a real dtype, use real(), imag() or abs()")
        return dtype
    return default_dtypes.floating() if row.accepts == "float" and not dtype.is_float else dtype


def result_dtype(row: Row, working: DType) -> DType:
    """The dtype of the result of a kernel that runs in `working`."""
    return bool_ if row.result == "bool" else part_of(working) if row.result == "part" else working


def unary(
    name: str,
    kernel: str,
    accepts: Accepts,
    doc: str,
    *,
    result: Result = "same",
    of_integers: bool | None = None,
    of_bool: str | None = None,
    of_complex: bool = False,
    by_parts: bool = False,
) -> Unary:
    """The function of one operand that a row describes."""
    given: Result = "bool" if accepts in ("test", "logical") else result
    row = ROWS[name] = Row(name, kernel, accepts, given, 1, doc, of_integers, of_bool, of_complex or by_parts, by_parts)

    def operation(x: Tensor, /, *, out: Tensor | None = None) -> Tensor:
        dtype = working_dtype(row, as_tensor(row.name, x).dtype)
        if row.accepts == "test" and not (dtype.is_float or dtype.is_complex):
            return finish(row.name, filled(x, bool(row.of_integers)), out)
        if row.by_parts and dtype.is_complex:
            return finish(row.name, joined(operation(parts(x)), dtype), out)
        if row.accepts == "rounding" and not dtype.is_float:
            return finish(row.name, cast(x, dtype, copy=True), out)
        if x.dtype is not dtype:
            return operation(cast(x, dtype), out=out)
        target = destination(out, x.shape, result_dtype(row, dtype), x.device, x)
        stem = row.of_bool if row.of_bool and dtype is bool_ else row.kernel
        elementwise(f"{stem}_{dtype.short}", target, (x,))
        return finish(row.name, target, out)

    named(operation, name, doc)
    return planned(operation)


def binary(
    name: str, kernel: str, accepts: Accepts, doc: str, *, result: Result = "same", of_complex: bool = False
) -> Binary:
    """The function of two operands that a row describes; either may be a number, not both."""
    given: Result = "bool" if accepts == "logical" else result
    row = ROWS[name] = Row(name, kernel, accepts, given, 2, doc, of_complex=of_complex)

    def operation(x1: Operand, x2: Operand, /, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(x1, Tensor) or not isinstance(x2, Tensor):
            question = same_question(name, x1, x2)
            if isinstance(question, bool):
                x = x1 if isinstance(x1, Tensor) else x2
                return finish(name, filled(as_tensor(name, x), question), out)
            if question is not None:
                return operation(*question, out=out)
        device, common = device_and_dtype(row.name, x1, x2)
        dtype = working_dtype(row, common)
        by_truth = _by_truth(name, x1, x2, out)
        if by_truth is not None:
            return finish(name, by_truth, out)
        if any(isinstance(x, Tensor) and x.dtype is not dtype for x in (x1, x2)):
            return operation(*[cast(x, dtype) if isinstance(x, Tensor) else x for x in (x1, x2)], out=out)
        by_number = _with_number(name, _plain(x1), _plain(x2), dtype, out)
        if by_number is not None:
            return finish(name, by_number, out)
        left, right = operand(row.name, x1, dtype, device), operand(row.name, x2, dtype, device)
        shape = left.shape if left.shape == right.shape else broadcast_shapes(left.shape, right.shape)
        target = destination(out, shape, result_dtype(row, dtype), device, left, right)
        operands = (broadcast(left, shape), broadcast(right, shape))
        elementwise(f"{row.kernel}_{dtype.short}", target, operands)
        return finish(row.name, target, out)

    named(operation, name, doc)
    return planned(operation)


# What affine takes for x + c, x − c and x · c, the numbers by value: (mul, add), where adding `nothing` changes no sum.
_AFFINE: Final[Mapping[str, Callable[[Real, Real], tuple[Real, Real]]]] = {
    "add": lambda c, nothing: (1, c),
    "subtract": lambda c, nothing: (1, -c),
    "multiply": lambda c, nothing: (c, nothing),
}
_COMMUTES: Final = ("add", "multiply")
_WIDEST_TRUTH: Final = 8  # bytes of an element that logical_* take


def _plain(x: Operand) -> Tensor | Scalar:
    return x if isinstance(x, Tensor) else python_number(x)


def _with_number(
    name: str, x1: Tensor | Scalar, x2: Tensor | Scalar, dtype: DType, out: Tensor | None
) -> Tensor | None:
    """The operation as one kernel of one operand where the other is a number; None where it can't be."""
    if name == "pow":
        return _to_number(x1, x2, dtype, out)
    if name not in _AFFINE:
        return None
    x, number = (x2, x1) if name in _COMMUTES and not isinstance(x1, Tensor) else (x1, x2)
    if not isinstance(x, Tensor) or isinstance(number, Tensor | complex) or dtype.is_complex:
        return None
    check_range(number, dtype, name)
    target = destination(out, x.shape, dtype, x.device, x)
    scalars = tuple(_encoded(v, dtype) for v in _AFFINE[name](number, -0.0 if dtype.is_float else 0))
    return elementwise(f"affine_{dtype.short}", target, (x,), after=scalars)


def _to_number(x: Tensor | Scalar, exponent: Tensor | Scalar, dtype: DType, out: Tensor | None) -> Tensor | None:
    """A power of floats, or the square of integers; None for others."""
    if not isinstance(x, Tensor) or isinstance(exponent, Tensor | complex) or dtype.is_complex:
        return None
    if not dtype.is_float and exponent != 2:
        return None
    check_range(exponent, dtype, "pow")
    target = destination(out, x.shape, dtype, x.device, x)
    stem, scalars = ("upowf", (_encoded(exponent, dtype),)) if dtype.is_float else ("usqr", ())
    return elementwise(f"{stem}_{dtype.short}", target, (x,), *scalars)


def _by_truth(name: str, x1: Operand, x2: Operand, out: Tensor | None) -> Tensor | None:
    """The truth of two operands as one kernel; None for bool and for what is to be cast to it, as sizes differ."""
    tensors = [x for x in (x1, x2) if isinstance(x, Tensor)]
    dtype, device = tensors[0].dtype, tensors[0].device
    sizes = {t.dtype.itemsize for t in tensors}
    if name not in TRUTHS or all(t.dtype is bool_ for t in tensors) or len(sizes) > 1 or max(sizes) > _WIDEST_TRUTH:
        return None
    left, right = (x if isinstance(x, Tensor) else operand(name, bool(x), dtype, device) for x in (x1, x2))
    shape = left.shape if left.shape == right.shape else broadcast_shapes(left.shape, right.shape)
    target = destination(out, shape, bool_, device, left, right)
    truth = TRUTHS[name], left.dtype.nonzero_bits, right.dtype.nonzero_bits
    operands = (broadcast(left, shape), broadcast(right, shape))
    return elementwise(f"logical_u{dtype.bits}", target, operands, *truth)


def _encoded(value: Real, dtype: DType) -> bool | int | float | bytes:
    """A number as the packer takes it; an integer wraps, as its negative may have to."""
    if dtype.is_float:
        return encode(value, dtype)
    bits = int(value) & ((1 << dtype.bits) - 1)
    return bits - (1 << dtype.bits) if dtype.kind == "signed" and bits >> (dtype.bits - 1) else bits


def named(function: Callable[..., Tensor], name: str, doc: str) -> None:
    """Give a function its public name and its doc."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc


def as_tensor(operation: str, x: object) -> Tensor:
    """The argument itself. Raises DTypeError for anything but a tensor."""
    if not isinstance(x, Tensor):
        raise DTypeError(f"{operation}: {type(x).__name__} is no tensor; use asarray")
    return x


def as_tensors(operation: str, given: object) -> list[Tensor]:
    """A sequence's tensors, one at least. Raises DTypeError for what holds anything else, ShapeError for none."""
    if not isinstance(given, Iterable):
        raise DTypeError(f"{operation}: {type(given).__name__} is no sequence of tensors; put them in a list")
    tensors = [as_tensor(operation, x) for x in given]
    if not tensors:
        raise ShapeError(f"{operation}: no tensors; give at least one")
    return tensors


def one_of(operation: str, value: object, what: str, words: Sequence[str]) -> str:
    """The word itself. Raises ShapeError for anything but one of those."""
    if not isinstance(value, str) or value not in words:
        raise ShapeError(f"{operation}: {what} {value!r}; use one of {', '.join(words)}")
    return value


def check_order(operation: str, value: object) -> None:
    """Raises DTypeError for what can't be the order of a norm: neither a number, a word nor None."""
    if not isinstance(value, int | float | np.integer | np.floating | str | None):
        raise DTypeError(f"{operation}: ord {value!r}; use a number, 'fro', 'nuc' or None")


def real_number(operation: str, value: object, what: str) -> int | float:
    """A Python number, also of NumPy's numbers and of a tensor of one element. Raises DTypeError for anything else."""
    number = value.item() if isinstance(value, Tensor | np.generic) else value
    if not isinstance(number, int | float):
        raise DTypeError(f"{operation}: {what} {value!r} is no real number; give one")
    return number


def real_float(operation: str, value: object, what: str) -> float:
    """The same as a float. Raises ScalarRangeError (an OverflowError) for an integer beyond."""
    number = real_number(operation, value, what)
    check_range(number, float64, operation)
    return float(number)


def device_and_dtype(operation: str, *operands: Operand) -> tuple[Device, DType]:
    """The one device and the common dtype. Raises DTypeError without a tensor, ShapeError for two devices."""
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if not tensors:
        raise DTypeError(f"{operation}: no tensor among the operands; make one with asarray")
    device, dtype = tensors[0].device, tensors[0].dtype
    for t in tensors[1:]:
        if t.dtype is not dtype:
            dtype = promote(dtype, t.dtype)
        same_device(operation, device, t)
    for x in operands:
        if not isinstance(x, Tensor):
            dtype = promote_scalar(dtype, x, operation)
    return device, dtype


def same_device(operation: str, device: Device, x: Tensor) -> None:
    """Raise ShapeError where a tensor is on another device."""
    if x.device.driver is not device.driver:
        raise ShapeError(f"{operation}: tensors on {device.info.name} and {x.device.info.name}; move one with to()")


def operand(operation: str, x: Operand, dtype: DType, device: Device) -> Tensor:
    """A tensor of the working dtype; a number becomes one without axes."""
    if isinstance(x, Tensor):
        same_device(operation, device, x)
        return x if x.dtype is dtype else cast(x, dtype)
    scalar_dtype(x, operation)  # which refuses what is no number
    number = python_number(x)
    check_range(number, dtype, operation)
    return scalar_tensor(number, dtype, device)


def broadcast(x: Tensor, shape: Shape) -> Tensor:
    """A view of that shape."""
    return x if x.layout.shape == shape else x.view(broadcast_layout(x.layout, shape))


def filled(like: Tensor, value: Scalar) -> Tensor:
    """A bool tensor of one value in the shape of another."""
    return cast(broadcast(scalar_tensor(value, bool_, like.device), like.shape), bool_, copy=True)


def destination(out: Tensor | None, shape: Shape, dtype: DType, device: Device, *operands: Tensor) -> Tensor:
    """Where the kernel writes: `out` itself where it fits, is contiguous and no operand reads it otherwise."""
    if not isinstance(out, Tensor) or out.dtype is not dtype or out.shape != shape or not out.is_contiguous:
        return empty(shape, dtype, device)
    if out.device.driver is not device.driver:
        return empty(shape, dtype, device)
    if any(t.memory is out.memory and t.layout != out.layout for t in operands):
        return empty(shape, dtype, device)
    return out


def finish(operation: str, result: Tensor, out: Tensor | None) -> Tensor:
    """The result, in `out` and its dtype where one was given.

    Raises ShapeError where `out` has another shape or is elsewhere, DTypeError where its dtype is of a lower kind.
    """
    if out is None or out is result:
        return result
    same_device(operation, result.device, as_tensor(f"{operation}, out", out))
    if not is_no_lower_kind(out.dtype, result.dtype):
        raise DTypeError(f"{operation}: the result is {result.dtype}, out is {out.dtype}; cast an operand first")
    if out.shape != result.shape:
        raise ShapeError(f"{operation}: the result has shape {result.shape}, out has {out.shape}")
    write(cast(result, out.dtype), out)
    return out
