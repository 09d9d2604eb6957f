"""Which dtype a result has: the array API standard's table, and one answer where the standard leaves it open.

NumPy's numbers have their own dtype, as in NumPy 2; Python's follow the tensor's.

Open in the standard, decided here: bool with a number is the number's dtype; an integer with a float is the float
dtype, with a complex the complex one; float16 with bfloat16 is float32; float8 with a wider float is the wider. uint64
with a signed integer has no common integer dtype and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from math import isfinite
from typing import Final, TypeAlias

import numpy as np

from rocmkern import default_dtypes
from rocmkern.dtypes import (
    ALL,
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int16,
    int32,
    int64,
    part_of,
)
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import DTypeError, ScalarRangeError

Real = bool | int | float
Scalar = Real | complex
Number: TypeAlias = Scalar | np.generic

_SIGNED_ABOVE: Final = {1: int16, 2: int32, 4: int64}

# isdtype's kinds.
KINDS: Final[dict[str, frozenset[DType]]] = {
    "bool": frozenset(d for d in ALL if d.kind == "bool"),
    "signed integer": frozenset(d for d in ALL if d.kind == "signed"),
    "unsigned integer": frozenset(d for d in ALL if d.kind == "unsigned"),
    "integral": frozenset(d for d in ALL if d.is_integer),
    "real floating": frozenset(d for d in ALL if d.is_float),
    "complex floating": frozenset(d for d in ALL if d.is_complex),
    "numeric": frozenset(d for d in ALL if d.kind != "bool"),
}


_RANK: Final = ("bool", "unsigned", "signed", "float", "complex")


def is_no_lower_kind(dtype: DType, than: DType) -> bool:
    """Whether values of one dtype go into another that may be narrower, but not of a lower kind, as NumPy's
    `casting="same_kind"` has it.
    """
    return _RANK.index(dtype.kind) >= _RANK.index(than.kind)


@cache
def promote(a: DType, b: DType) -> DType:
    """The common dtype of two. Raises DTypeError for uint64 with a signed integer."""
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda d: (_RANK.index(d.kind), d.itemsize))
    if high.is_complex and low.is_float:
        return complex128 if low.itemsize > part_of(high).itemsize else high
    if low.kind == "bool" or (high.kind in ("float", "complex") and low.kind != high.kind):
        return high
    if {low, high} == {float16, bfloat16}:
        return float32
    if low.kind == high.kind or low.itemsize < high.itemsize:
        return high
    if low.itemsize not in _SIGNED_ABOVE:
        raise DTypeError(f"promotion: no integer dtype holds both {low} and {high}; cast one of them")
    return _SIGNED_ABOVE[low.itemsize]


def promote_all(dtypes: Iterable[DType]) -> DType:
    """The common dtype of at least one."""
    return reduce(promote, dtypes)


def scalar_dtype(value: Number, operation: str = "result_type") -> DType:
    """The dtype of a number on its own: NumPy's have theirs, Python's are bool, int64 and the default dtypes."""
    if isinstance(value, np.generic):
        return as_dtype(value.dtype)
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return default_dtypes.INTEGER
    if isinstance(value, float):
        return default_dtypes.floating()
    if isinstance(value, complex):
        return default_dtypes.complex_number()
    kind = type(value).__name__
    raise DTypeError(f"{operation}: a {kind} beside a tensor; use bool, int, float or complex, and asarray for arrays")


def promote_scalar(dtype: DType, value: Number, operation: str = "result_type") -> DType:
    """A tensor's dtype with a number: beside Python's the tensor's own unless they are of a higher kind."""
    own = scalar_dtype(value, operation)
    if isinstance(value, np.generic):
        return promote(dtype, own)
    if own.is_complex and dtype.is_float:
        return complex128 if dtype is float64 else complex64
    if own is bool_ or (own is default_dtypes.INTEGER and dtype is not bool_) or dtype.is_float or dtype.is_complex:
        return dtype
    return own


def common_dtype(given: Iterable[DType | Number]) -> DType:
    """The dtype of an operation on tensors of these dtypes and these numbers."""
    given = list(given)
    weak = [g for g in given if not isinstance(g, DType | np.generic)]
    firm = [g if isinstance(g, DType) else scalar_dtype(g) for g in given if isinstance(g, DType | np.generic)]
    return reduce(promote_scalar, weak, promote_all(firm or [scalar_dtype(w) for w in weak]))


def python_number(value: Number) -> Scalar:
    """The Python number that equals a number of a dtype that exists here."""
    number: Scalar = value.item() if isinstance(value, np.generic) else value
    return number


def check_range(value: Number, dtype: DType, operation: str) -> None:
    """Raise ScalarRangeError (an OverflowError) where an integer dtype can't hold the integer, or no float can."""
    if not isinstance(value, int):
        return
    if not dtype.is_integer:
        try:
            float(value)
        except OverflowError:
            raise ScalarRangeError(
                f"{operation}: an integer of {value.bit_length()} bits for {dtype}; use one below 2**1024"
            ) from None
    else:
        low, high = limits(dtype)
        if not low <= value <= high:
            raise ScalarRangeError(f"{operation}: {value} is out of bounds for {dtype}; it holds {low}..{high}")


def check_whole(value: float, dtype: DType, operation: str) -> None:
    """Raise ScalarRangeError where an integer dtype can't hold what is left of a float without its fraction."""
    if not isfinite(value):
        raise ScalarRangeError(f"{operation}: {value} for {dtype}; use a finite number or a float dtype")
    check_range(int(value), dtype, operation)


def check_kind(kind: str, dtype: DType, operation: str) -> None:
    """Raise DTypeError where numbers of a kind would lose a fraction or an imaginary part in a dtype."""
    if _HAS.get(kind, 0) > _HAS.get(dtype.kind, 0):
        raise DTypeError(f"{operation}: a {kind} number into a {dtype} tensor; cast it first")


_HAS: Final = {"float": 1, "complex": 2}  # a fraction, an imaginary part too


@cache
def limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of an integer dtype."""
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)
