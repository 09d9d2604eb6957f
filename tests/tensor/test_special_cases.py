"""The standard's special cases: signed zeros, infinities and NaN, as its function pages list them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import DType

NAN, INF = math.nan, math.inf
FLOATS = pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16, rk.float32, rk.float64], ids=lambda d: d.short)
PI = math.pi

# name, argument, result; a zero's sign counts.
UNARY: list[tuple[str, float, float]] = [
    ("abs", -0.0, 0.0), ("abs", -INF, INF),
    ("acos", 1.5, NAN), ("acos", 1.0, 0.0), ("acos", NAN, NAN),
    ("acosh", 0.5, NAN), ("acosh", 1.0, 0.0), ("acosh", INF, INF),
    ("asin", -1.5, NAN), ("asin", -0.0, -0.0), ("asin", 0.0, 0.0),
    ("asinh", -0.0, -0.0), ("asinh", INF, INF), ("asinh", -INF, -INF),
    ("atan", -0.0, -0.0), ("atan", INF, PI / 2), ("atan", -INF, -PI / 2),
    ("atanh", 2.0, NAN), ("atanh", 1.0, INF), ("atanh", -1.0, -INF), ("atanh", -0.0, -0.0),
    ("ceil", -0.5, -0.0), ("ceil", -0.0, -0.0), ("ceil", INF, INF), ("ceil", NAN, NAN),
    ("cos", 0.0, 1.0), ("cos", -0.0, 1.0), ("cos", INF, NAN),
    ("cosh", -0.0, 1.0), ("cosh", -INF, INF), ("cosh", NAN, NAN),
    ("exp", -0.0, 1.0), ("exp", INF, INF), ("exp", -INF, 0.0), ("exp", NAN, NAN),
    ("expm1", -0.0, -0.0), ("expm1", INF, INF), ("expm1", -INF, -1.0),
    ("floor", -0.0, -0.0), ("floor", -INF, -INF),
    ("log", -1.0, NAN), ("log", 0.0, -INF), ("log", -0.0, -INF), ("log", 1.0, 0.0), ("log", INF, INF),
    ("log1p", -2.0, NAN), ("log1p", -1.0, -INF), ("log1p", -0.0, -0.0), ("log1p", INF, INF),
    ("log2", -1.0, NAN), ("log2", 0.0, -INF), ("log2", 1.0, 0.0), ("log2", INF, INF),
    ("log10", -1.0, NAN), ("log10", -0.0, -INF), ("log10", 1.0, 0.0), ("log10", INF, INF),
    ("negative", 0.0, -0.0), ("negative", -INF, INF), ("negative", NAN, NAN),
    ("positive", -0.0, -0.0),
    ("reciprocal", INF, 0.0), ("reciprocal", -INF, -0.0), ("reciprocal", 0.0, INF), ("reciprocal", -0.0, -INF),
    ("round", 0.5, 0.0), ("round", -0.5, -0.0), ("round", 2.5, 2.0), ("round", -INF, -INF), ("round", -0.0, -0.0),
    ("sign", -0.0, 0.0), ("sign", INF, 1.0), ("sign", NAN, NAN),
    ("sin", -0.0, -0.0), ("sin", INF, NAN),
    ("sinh", -0.0, -0.0), ("sinh", -INF, -INF),
    ("sqrt", -1.0, NAN), ("sqrt", -0.0, -0.0), ("sqrt", INF, INF),
    ("square", -0.0, 0.0), ("square", -INF, INF),
    ("tan", -0.0, -0.0), ("tan", INF, NAN),
    ("tanh", -0.0, -0.0), ("tanh", INF, 1.0), ("tanh", -INF, -1.0),
    ("trunc", -0.5, -0.0), ("trunc", 0.5, 0.0), ("trunc", -0.0, -0.0), ("trunc", INF, INF),
]  # fmt: skip

BINARY: list[tuple[str, float, float, float]] = [
    ("add", INF, -INF, NAN), ("add", -0.0, -0.0, -0.0), ("add", -0.0, 0.0, 0.0), ("add", 1.0, -1.0, 0.0),
    ("atan2", 0.0, 0.0, 0.0), ("atan2", -0.0, 0.0, -0.0), ("atan2", 0.0, -0.0, PI), ("atan2", -0.0, -0.0, -PI),
    ("atan2", 1.0, 0.0, PI / 2), ("atan2", -1.0, -0.0, -PI / 2), ("atan2", INF, INF, PI / 4),
    ("atan2", INF, -INF, 3 * PI / 4), ("atan2", -INF, INF, -PI / 4), ("atan2", 1.0, INF, 0.0),
    ("atan2", -1.0, INF, -0.0), ("atan2", 1.0, -INF, PI), ("atan2", NAN, 1.0, NAN),
    ("copysign", 1.0, -0.0, -1.0), ("copysign", NAN, 1.0, NAN), ("copysign", -0.0, 1.0, 0.0),
    ("divide", 0.0, 0.0, NAN), ("divide", 1.0, 0.0, INF), ("divide", 1.0, -0.0, -INF), ("divide", INF, INF, NAN),
    ("divide", 1.0, -INF, -0.0), ("divide", -0.0, 1.0, -0.0),
    ("floor_divide", 1.0, 0.0, INF), ("floor_divide", 0.0, 0.0, NAN), ("floor_divide", -1.0, INF, -1.0),
    ("floor_divide", 1.0, INF, 0.0), ("floor_divide", -0.0, 1.0, -0.0), ("floor_divide", 7.0, -2.0, -4.0),
    ("hypot", INF, NAN, INF), ("hypot", NAN, 1.0, NAN), ("hypot", -0.0, 3.0, 3.0),
    ("logaddexp", -INF, -INF, -INF), ("logaddexp", INF, -INF, INF), ("logaddexp", NAN, 0.0, NAN),
    ("maximum", NAN, 1.0, NAN), ("maximum", 1.0, NAN, NAN), ("maximum", -INF, INF, INF),
    ("minimum", NAN, 1.0, NAN), ("minimum", 1.0, NAN, NAN), ("minimum", -INF, INF, -INF),
    ("multiply", INF, 0.0, NAN), ("multiply", INF, -1.0, -INF), ("multiply", -0.0, 1.0, -0.0),
    ("multiply", -0.0, -1.0, 0.0),
    ("nextafter", NAN, 1.0, NAN), ("nextafter", -0.0, 0.0, 0.0), ("nextafter", 0.0, -0.0, -0.0),
    ("pow", 1.0, NAN, 1.0), ("pow", NAN, 0.0, 1.0), ("pow", NAN, 1.0, NAN), ("pow", 2.0, INF, INF),
    ("pow", 0.5, INF, 0.0), ("pow", 0.5, -INF, INF), ("pow", -1.0, INF, 1.0), ("pow", INF, -1.0, 0.0),
    ("pow", -INF, 3.0, -INF), ("pow", -INF, -3.0, -0.0), ("pow", -0.0, 3.0, -0.0), ("pow", -0.0, -3.0, -INF),
    ("pow", 0.0, -2.0, INF), ("pow", -2.0, 0.5, NAN), ("pow", -INF, 0.5, INF), ("pow", -0.0, 2.0, 0.0),
    ("remainder", 1.0, 0.0, NAN), ("remainder", INF, 1.0, NAN), ("remainder", 1.0, INF, 1.0),
    ("remainder", -1.0, INF, INF), ("remainder", 0.0, -1.0, -0.0), ("remainder", -0.0, 1.0, 0.0),
    ("remainder", 5.0, -3.0, -1.0), ("remainder", 1.0, -INF, -INF),
    ("subtract", INF, INF, NAN), ("subtract", -0.0, 0.0, -0.0), ("subtract", 0.0, 0.0, 0.0),
]  # fmt: skip

ORDER: list[tuple[str, float, float, bool]] = [
    ("equal", NAN, NAN, False), ("equal", -0.0, 0.0, True), ("equal", INF, INF, True),
    ("not_equal", NAN, NAN, True), ("not_equal", -0.0, 0.0, False),
    ("less", NAN, 1.0, False), ("less", -INF, INF, True), ("less", -0.0, 0.0, False),
    ("greater", 1.0, NAN, False), ("greater", INF, -INF, True),
    ("less_equal", NAN, NAN, False), ("less_equal", -0.0, 0.0, True), ("greater_equal", 0.0, -0.0, True),
]  # fmt: skip


def is_number(got: float, expected: float, dtype: DType) -> bool:
    """The value rounded to the dtype within a unit in the last place, with its sign."""
    want = float(np.asarray(expected).astype(dtype.numpy))
    if math.isnan(want):
        return math.isnan(got)
    near = got == want or abs(got - want) <= float(rk.finfo(dtype).eps) * abs(want)
    return near and math.copysign(1, got) == math.copysign(1, want)


def wrong_cases(rows: list[tuple[Any, ...]], dtype: DType) -> list[str]:
    """The listed cases that do not hold, each function called once on all its arguments."""
    wrong = []
    for name in sorted({row[0] for row in rows}):
        cases = [row[1:] for row in rows if row[0] == name]
        arguments = [rk.asarray(list(column), dtype=dtype) for column in list(zip(*cases, strict=True))[:-1]]
        got = getattr(rk, name)(*arguments).tolist()
        wrong += [
            f"{name}{case[:-1]} is {value} instead of {case[-1]}"
            for value, case in zip(got, cases, strict=True)
            if not is_number(value, case[-1], dtype)
        ]
    return wrong


@FLOATS
def test_functions_of_one_number(dtype: DType) -> None:
    """Every case of the standard holds, the sign of zero too."""
    assert wrong_cases(UNARY, dtype) == []


@FLOATS
def test_functions_of_two_numbers(dtype: DType) -> None:
    """Every case of the standard holds, the sign of zero too."""
    assert wrong_cases(BINARY, dtype) == []


@FLOATS
def test_comparisons(dtype: DType) -> None:
    """NaN compares with nothing, zeros are equal."""
    for name, x1, x2, expected in ORDER:
        got = getattr(rk, name)(rk.asarray(x1, dtype=dtype), rk.asarray(x2, dtype=dtype))
        assert bool(got) is expected, f"{name}({x1}, {x2})"


@FLOATS
def test_reductions_with_nan_and_infinities(dtype: DType) -> None:
    """NaN goes through sums, means and extremes; infinities of both signs sum to NaN."""

    def tensor(*numbers: float) -> rk.Tensor:
        return rk.asarray(list(numbers), dtype=dtype)

    cases: list[tuple[Any, float]] = [
        (rk.sum(tensor(1, NAN)), NAN), (rk.sum(tensor(INF, -INF)), NAN), (rk.sum(tensor(INF, 1)), INF),
        (rk.mean(tensor(NAN, 1)), NAN), (rk.prod(tensor(0, INF)), NAN), (rk.max(tensor(1, NAN, INF)), NAN),
        (rk.min(tensor(-INF, NAN)), NAN), (rk.max(tensor(-INF, -INF)), -INF), (rk.var(tensor(INF, 1)), NAN),
        (rk.std(tensor(NAN)), NAN), (rk.clip(tensor(NAN), 0.0, 1.0)[0], NAN), (rk.logsumexp(tensor(-INF, -INF)), -INF),
    ]  # fmt: skip
    assert [i for i, (got, expected) in enumerate(cases) if not is_number(got.item(), expected, dtype)] == []
    assert rk.argmax(tensor(1, NAN, INF)).item() == 1 and rk.argmin(tensor(-INF, NAN)).item() == 1
    assert rk.argmax(tensor(-INF, -INF)).item() == 0


def test_integers_over_zero_and_at_the_ends() -> None:
    """Division by zero gives 0, the most negative value over -1 wraps, a negative power gives 0 beyond ±1."""
    for dtype in (rk.int8, rk.int16, rk.int32, rk.int64):
        low = rk.iinfo(dtype).min
        x, y = rk.asarray([5, low, 2, -1, 0], dtype=dtype), rk.asarray([0, -1, -1, -3, -1], dtype=dtype)
        assert rk.floor_divide(x, y).tolist()[:2] == [0, low]
        assert rk.remainder(x, y).tolist()[:2] == [0, 0]
        assert rk.pow(x, y).tolist()[2:4] == [0, -1]
        assert rk.abs(x).tolist()[1] == low
        assert (x + low).tolist()[1] == 0
