"""Vector ALU: minimum, maximum, median, comparison and class of floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu
from rocmkern.emulator.meaning.vector_float import INFINITY, QUIET, SMALLEST_NORMAL, is_signalling, magnitude, quiet

Binary = Callable[[Context, Value, Value], Value]


def _ordered(a: Value, b: Value, predicate: str) -> Value:
    """The larger (ogt) or smaller (olt) of two numbers, with +0 above -0; `b` where one is NaN."""
    x, y = a.as_int(), b.as_int()
    tie = (x & y if predicate == "ogt" else x | y).bits(a.element)
    return a.compare("oeq", b).select(tie, a.compare(predicate, b).select(a, b))


def _number(c: Context, a: Value, b: Value, predicate: str) -> Value:
    """IEEE 754-2008 minNum or maxNum: a quiet NaN gives way to the number, a signalling one becomes the result.

    It gives way too where MODE turns the IEEE way off."""
    result = b.is_nan().select(a, _ordered(a, b, predicate))
    for v in (b, a):
        wins = is_signalling(v) if c.mode is None else is_signalling(v) & c.mode.is_ieee
        result = wins.select(quiet(v), result)
    return result


def _propagating(a: Value, b: Value, predicate: str) -> Value:
    """IEEE 754-2019 minimum or maximum: NaN is the result where an operand is NaN."""
    result = b.is_nan().select(quiet(b), _ordered(a, b, predicate))
    return a.is_nan().select(quiet(a), result)


def greatest(c: Context, a: Value, b: Value) -> Value:
    return _number(c, a, b, "ogt")


def least(c: Context, a: Value, b: Value) -> Value:
    return _number(c, a, b, "olt")


def maximum(c: Context, a: Value, b: Value) -> Value:
    return _propagating(a, b, "ogt")


def minimum(c: Context, a: Value, b: Value) -> Value:
    return _propagating(a, b, "olt")


def _chain(first: Binary, second: Binary) -> Callable[[Context, Value, Value, Value], Value]:
    def emit(c: Context, a: Value, b: Value, d: Value) -> Value:
        return second(c, first(c, a, b), d)

    emit.__doc__ = f"{second.__name__} of ({first.__name__} of a and b) and c"
    return emit


def _median(c: Context, a: Value, b: Value, d: Value) -> Value:
    """The middle value; with a NaN the least of the others."""
    middle = greatest(c, least(c, a, b), least(c, greatest(c, a, b), d))
    unordered = a.is_nan() | b.is_nan() | d.is_nan()
    return unordered.select(least(c, least(c, a, b), d), middle)


for _type in ("f16", "f32", "f64"):
    _two, _three = f"{_type} = {_type} {_type}", f"{_type} = {_type} {_type} {_type}"
    valu(f"v_max_{_type} v_max_num_{_type}", _two)(greatest)
    valu(f"v_min_{_type} v_min_num_{_type}", _two)(least)
    valu(f"v_maximum_{_type}", _two)(maximum)
    valu(f"v_minimum_{_type}", _two)(minimum)
    if _type == "f64":
        continue
    valu(f"v_max3_{_type} v_max3_num_{_type}", _three)(_chain(greatest, greatest))
    valu(f"v_min3_{_type} v_min3_num_{_type}", _three)(_chain(least, least))
    valu(f"v_maxmin_{_type} v_maxmin_num_{_type}", _three)(_chain(greatest, least))
    valu(f"v_minmax_{_type} v_minmax_num_{_type}", _three)(_chain(least, greatest))
    valu(f"v_maximum3_{_type}", _three)(_chain(maximum, maximum))
    valu(f"v_minimum3_{_type}", _three)(_chain(minimum, minimum))
    valu(f"v_maximumminimum_{_type}", _three)(_chain(maximum, minimum))
    valu(f"v_minimummaximum_{_type}", _three)(_chain(minimum, maximum))
    valu(f"v_med3_{_type} v_med3_num_{_type}", _three)(_median)
valu("v_pk_max_f16 v_pk_max_num_f16", "f16 = f16 f16", packed=True)(greatest)
valu("v_pk_min_f16 v_pk_min_num_f16", "f16 = f16 f16", packed=True)(least)
valu("v_pk_maximum_f16", "f16 = f16 f16", packed=True)(maximum)
valu("v_pk_minimum_f16", "f16 = f16 f16", packed=True)(minimum)


@valu("v_pk_maximum3_f16", "f16 = f16 f16 f16", packed=True)
def packed_maximum3(c: Context, a: Value, b: Value, d: Value) -> Result:
    return maximum(c, maximum(c, a, b), d)


@valu("v_pk_minimum3_f16", "f16 = f16 f16 f16", packed=True)
def packed_minimum3(c: Context, a: Value, b: Value, d: Value) -> Result:
    return minimum(c, minimum(c, a, b), d)


PREDICATES: Final[dict[str, str]] = {
    "f": "false", "lt": "olt", "eq": "oeq", "le": "ole", "gt": "ogt", "lg": "one", "ge": "oge", "o": "ord",
    "u": "uno", "nge": "ult", "nlg": "ueq", "ngt": "ule", "nle": "ugt", "neq": "une", "nlt": "uge", "tru": "true",
    "t": "true",
}  # fmt: skip


def _compare(predicate: str) -> Binary:
    def emit(c: Context, a: Value, b: Value) -> Value:
        return a.compare(predicate, b)

    emit.__doc__ = f"the predicate `{predicate}`"
    return emit


for _name, _predicate in PREDICATES.items():
    for _type in ("f16", "f32", "f64"):
        valu(f"v_cmp_{_name}_{_type}", f"m = {_type} {_type}")(_compare(_predicate))
        valu(f"v_cmpx_{_name}_{_type}", f"mx = {_type} {_type}")(_compare(_predicate))


@valu("v_cmp_class_f16", "m = f16 b16")
@valu("v_cmp_class_f32", "m = f32 b32")
@valu("v_cmp_class_f64", "m = f64 b32")
@valu("v_cmpx_class_f16", "mx = f16 b16")
@valu("v_cmpx_class_f32", "mx = f32 b32")
@valu("v_cmpx_class_f64", "mx = f64 b32")
def compare_class(c: Context, a: Value, wanted: Value) -> Result:
    """Whether the mask holds the class: 0 sNaN, 1 qNaN; 2 −∞, 3 −normal, 4 −subnormal, 5 −0; 6 to 9 above."""
    size, bits = magnitude(a), a.as_int()
    negative = bits.compare("slt", 0)
    kind = wanted.like(3)  # distance from the nearest zero's bit: 0 zero, 1 subnormal, 2 normal, 3 infinity
    kind = size.compare("ult", INFINITY[a.element]).select(kind.like(2), kind)
    kind = size.compare("ult", SMALLEST_NORMAL[a.element]).select(kind.like(1), kind)
    kind = size.eq(0).select(kind.like(0), kind)
    index = negative.select(kind.like(5) - kind, kind.like(6) + kind)
    signalling = (bits & QUIET[a.element]).eq(0).select(kind.like(0), kind.like(1))
    index = size.compare("ugt", INFINITY[a.element]).select(signalling, index)
    return (wanted.lshr(index) & 1).ne(0)
