"""Arithmetic as the IEEE standard defines it, on exact fractions: what floating-point instructions should give.

A number is a Fraction, or a float where it is a zero with its sign, infinite, or NaN.
"""

from __future__ import annotations

import math
from fractions import Fraction

NEAREST, UP, DOWN, TO_ZERO = range(4)
FORMATS = {"f16": (11, -14, 15), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}  # digits, exponents
Number = Fraction | float


def lifted(x: float) -> Number:
    return Fraction(x) if x and math.isfinite(x) else float(x)


def _sign(x: Number) -> float:
    """A float that is like x in what follows from signs, zeros and infinities."""
    return x if isinstance(x, float) else 1.0 if x > 0 else -1.0


def product(a: Number, b: Number) -> Number:
    return a * b if isinstance(a, Fraction) and isinstance(b, Fraction) else _sign(a) * _sign(b)


def total(a: Number, b: Number, how: int = NEAREST) -> Number:
    """The sum; one of numbers that cancel is -0 where results are rounded down."""
    if isinstance(a, Fraction) and isinstance(b, Fraction) and a + b:
        return a + b
    if not a and isinstance(b, Fraction):
        return b
    if not b and isinstance(a, Fraction):
        return a
    found = _sign(a) + _sign(b)
    alike = not a and not b and math.copysign(1, _sign(a)) == math.copysign(1, _sign(b))
    return -0.0 if found == 0 and how == DOWN and not alike else found


def rounded(exact: Number, kind: str, how: int = NEAREST) -> float:
    """The number of the format that the rounding takes it to; infinity, or the largest, beyond that."""
    if isinstance(exact, float):
        return exact
    digits, least, most = FORMATS[kind]
    over, under = abs(exact.numerator), exact.denominator
    exponent = over.bit_length() - under.bit_length()
    exponent -= over < under << exponent if exponent >= 0 else over << -exponent < under
    unit = max(exponent, least) - digits + 1  # of the last place, a power of two
    steps, rest = divmod(over << max(-unit, 0), under << max(unit, 0))
    half = 2 * rest - (under << max(unit, 0))
    outward = (how == UP and exact > 0) or (how == DOWN and exact < 0)
    steps += (half > 0 or (half == 0 and steps & 1)) if how == NEAREST else bool(outward and rest)
    if steps.bit_length() + unit > most + 1:
        size = math.inf if how == NEAREST or outward else math.ldexp((1 << digits) - 1, most - digits + 1)
    else:
        size = math.ldexp(steps, unit)
    return -size if exact < 0 else size


def flushed(x: float, kind: str) -> float:
    """Zero where it is a denormal of the format."""
    return math.copysign(0.0, x) if abs(x) < 2.0 ** FORMATS[kind][1] else x
