"""Which dtype a result has: the array API standard's table, and one answer where the standard leaves it open.

Open in the standard, decided here: bool with a number is the number's dtype; an integer with a float is the float
dtype; float16 with bfloat16 is float32; float8 with a wider float is the wider. uint64 with a signed integer has no
common integer dtype and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from typing import Final

import numpy as np

from rocmkern.dtypes import (
    ALL,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    int16,
    int32,
    int64,
)
from rocmkern.errors import DTypeError, ScalarRangeError

Scalar = bool | int | float

_SIGNED_ABOVE: Final = {1: int16, 2: int32, 4: int64}
DEFAULT_FLOAT: Final = float32
DEFAULT_INT: Final = int64

# isdtype's kinds; complex dtypes do not exist here.
KINDS: Final[dict[str, frozenset[DType]]] = {
    "bool": frozenset(d for d in ALL if d.kind == "bool"),
    "signed integer": frozenset(d for d in ALL if d.kind == "signed"),
    "unsigned integer": frozenset(d for d in ALL if d.kind == "unsigned"),
    "integral": frozenset(d for d in ALL if d.is_integer),
    "real floating": frozenset(d for d in ALL if d.is_float),
    "complex floating": frozenset(),
    "numeric": frozenset(d for d in ALL if d.kind != "bool"),
}


@cache
def promote(a: DType, b: DType) -> DType:
    """The common dtype of two. Raises DTypeError for uint64 with a signed integer."""
    if a is b:
        return a
    rank = ("bool", "unsigned", "signed", "float")
    low, high = sorted((a, b), key=lambda d: (rank.index(d.kind), d.itemsize))
    if low.kind == "bool" or (high.is_float and not low.is_float):
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


def scalar_dtype(value: Scalar) -> DType:
    """The dtype of a Python number on its own: bool, int64, float32."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return DEFAULT_INT
    if isinstance(value, float):
        return DEFAULT_FLOAT
    raise DTypeError(f"scalar: {value!r} is {type(value).__name__}; use bool, int or float")


def promote_scalar(dtype: DType, value: Scalar) -> DType:
    """The dtype of a tensor's dtype with a Python number: the tensor's own unless the number is of a higher kind."""
    if isinstance(value, bool) or (isinstance(value, int) and dtype.kind != "bool") or dtype.is_float:
        scalar_dtype(value)
        return dtype
    return scalar_dtype(value)


def check_range(value: Scalar, dtype: DType, operation: str) -> None:
    """Raise ScalarRangeError (an OverflowError) where an integer dtype can't hold the integer."""
    if dtype.is_integer and isinstance(value, int):
        limits = np.iinfo(dtype.numpy)
        if not limits.min <= value <= limits.max:
            raise ScalarRangeError(
                f"{operation}: {value} is out of bounds for {dtype}; it holds {limits.min}..{limits.max}"
            )
