"""Comparisons of integer tensors with floats by value: the float becomes the integer that asks the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, isfinite
from typing import Final, TypeAlias

import numpy as np

from rocmkern.dtypes import DType
from rocmkern.promotion import limits, scalar_dtype
from rocmkern.tensor import Operand, Tensor

Question: TypeAlias = tuple[Operand, Operand]

_MIRRORED: Final[Mapping[str, str]] = {
    "equal": "equal", "not_equal": "not_equal", "less": "greater", "greater": "less", "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}  # fmt: skip
# The integer c for which x < c, x <= c, … is what it is with the float.
_BOUND: Final[Mapping[str, Callable[[float], int]]] = {
    "equal": int, "not_equal": int, "less": ceil, "greater_equal": ceil, "less_equal": floor, "greater": floor,
}  # fmt: skip
_TRUE_BELOW: Final = ("less", "less_equal", "not_equal")  # every number below infinity makes it so
_TRUE_ABOVE: Final = ("greater", "greater_equal", "not_equal")


def same_question(name: str, x1: Operand, x2: Operand) -> Question | bool | None:
    """The comparison of an integer tensor and a float as one with an integer, or the answer where it is one for all;
    None for everything else.
    """
    if name not in _MIRRORED:
        return None
    x, number = (x1, x2) if isinstance(x1, Tensor) else (x2, x1)
    if not isinstance(x, Tensor) or not x.dtype.is_integer or isinstance(number, Tensor) or not _is_float(number):
        return None
    told = _bound(name if x is x1 else _MIRRORED[name], float(number), x.dtype)  # type: ignore[arg-type]
    if isinstance(told, bool):
        return told
    return (x, told) if x is x1 else (told, x)


def _is_float(number: object) -> bool:
    return isinstance(number, float) or (isinstance(number, np.generic) and scalar_dtype(number).is_float)


def _bound(name: str, number: float, dtype: DType) -> int | bool:
    if not isfinite(number):
        return name == "not_equal" if number != number else name in (_TRUE_BELOW if number > 0 else _TRUE_ABOVE)
    if name in ("equal", "not_equal") and not number.is_integer():
        return name == "not_equal"
    bound, (low, high) = _BOUND[name](number), limits(dtype)
    if bound > high:
        return name in _TRUE_BELOW
    return name in _TRUE_ABOVE if bound < low else bound
