"""Rounding to whole numbers and to decimal places."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Final

from rocmkern.layout import normal_integer
from rocmkern.ops.casting import cast
from rocmkern.ops.creation import zeros_like
from rocmkern.ops.elementwise import as_tensor, finish
from rocmkern.ops.launch import elementwise, empty
from rocmkern.ops.parts import joined, parts
from rocmkern.ops.rows_unary import nearest_integer
from rocmkern.tensor import Tensor

_MOST_PLACES: Final = 400  # beyond, every float is whole, or nothing
_DIGITS: Final = 20  # of the largest integers


def round(x: Tensor, /, decimals: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The nearest integer, halves to even, in its dtype; or the nearest number to so many decimal places, before the
    point if negative, and the value itself where none is near enough.
    """
    places = normal_integer(decimals, "round", "decimals")
    if places == 0 or as_tensor("round", x).dtype.kind == "bool":
        return nearest_integer(x, out=out)
    return finish("round", _to_places(x, places), out)


def _to_places(x: Tensor, places: int) -> Tensor:
    if x.dtype.is_complex:
        return joined(_to_places(parts(x), places), x.dtype)
    if not x.dtype.is_float:
        return _of_integers(x, -places)
    digits, more_digits, exponent = _power_of_ten(min(abs(places), _MOST_PLACES))
    out = empty(x.shape, x.dtype, x.device)
    return elementwise(f"uround_to_{x.dtype.short}", out, (x,), digits, more_digits, exponent, places > 0)


def _of_integers(x: Tensor, digits: int) -> Tensor:
    if digits <= 0:
        return cast(x, x.dtype, copy=True)
    if digits >= _DIGITS:  # the largest are less than half of it
        return zeros_like(x)
    out = empty(x.shape, x.dtype, x.device)
    return elementwise(f"uround_to_{x.dtype.short}", out, (x,), 10**digits)


@cache
def _power_of_ten(power: int) -> tuple[float, float, int]:
    """Digits from 1 to 2, what they lack, and an exponent of two."""
    exponent = (10**power).bit_length() - 1
    digits = Fraction(10**power, 1 << exponent)
    return float(digits), float(digits - Fraction(float(digits))), exponent
