"""Every elementwise row against NumPy, in every dtype that it takes and in every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import REAL, DType, bool_
from rocmkern.ops.elementwise import ROWS, Row
from tests.tensor.arrays import FLOATS, arrays, assert_same, exactly, laid_out, relaid, ulp_of

assert rk.exp is not None and rk.add is not None  # the rows are read

Oracle = Callable[..., Any]


def _sigmoid(x: Any) -> Any:
    return np.where(x > 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _gelu_tanh(x: Any) -> Any:
    """x / 2 · (1 + tanh v) as x / (1 + exp(-2 v)), which keeps its digits where tanh v is near -1."""
    kind = x.dtype.type
    v = np.sqrt(2 / kind("3.14159265358979323846")) * (x + kind("0.044715") * x**3)
    return np.where(np.isneginf(x), 0, x / (1 + np.exp(-2 * v)))


NUMPY: dict[str, Oracle] = {
    "erf": lambda x: scipy.special.erf(x.astype(np.float64)),
    "gelu": lambda x: np.where(np.isneginf(x), 0, x * scipy.special.ndtr(x.astype(np.float64))),
    "gelu_tanh": _gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": _sigmoid,
    "silu": lambda x: np.where(np.isneginf(x), 0, x * _sigmoid(x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "round": lambda x: x if x.dtype.kind in "iu" else np.rint(x),
    "divide": np.true_divide,
    "signbit": np.signbit,
}
# Where the reference itself is only good to float64, or the function's result is far from its parts.
LOOSE: dict[str, int] = {"gelu": 64, "silu": 8, "sigmoid": 8, "erf": 64, "logaddexp": 8, "rsqrt": 4}


def oracle(name: str) -> Oracle:
    return NUMPY.get(name) or getattr(np, name)


def taken(row: Row) -> list[DType]:
    """The dtypes that are worked in as they are."""
    kinds = {
        "float": FLOATS,
        "numeric": [d for d in REAL if d is not bool_],
        "rounding": [d for d in REAL if d is not bool_],
        "bits": [d for d in REAL if not d.is_float],
        "integer": [d for d in REAL if d.is_integer],
    }
    return list(kinds.get(row.accepts, REAL))


CASES = [(row.name, d) for row in ROWS.values() for d in taken(row)]
UNARY = [pytest.param(n, d, id=f"{n}-{d.short}") for n, d in CASES if ROWS[n].arity == 1]
BINARY = [pytest.param(n, d, id=f"{n}-{d.short}") for n, d in CASES if ROWS[n].arity == 2]


def bound(row: Row, dtype: DType) -> int:
    """Units in the last place between a result and its reference."""
    return max(ulp_of(dtype), LOOSE.get(row.name, 0) if dtype.itemsize >= 4 else 0)


@pytest.mark.parametrize(("name", "dtype"), UNARY)
@settings(max_examples=8)
@given(data=st.data())
def test_unary_functions_equal_numpy(name: str, dtype: DType, data: st.DataObject) -> None:
    """Shape, dtype and values are NumPy's, within the bound of the dtype, for any layout."""
    row = ROWS[name]
    t, x = data.draw(laid_out(dtype))
    with np.errstate(all="ignore"):
        expected = oracle(name)(exactly(x))
    assert_same(getattr(rk, name)(t), expected, bool_ if row.result == "bool" else dtype, ulp=bound(row, dtype))


def second_operand(row: Row, dtype: DType, x: Any, data: st.DataObject) -> Any:
    """An array that broadcasts with `x`, within what the operation defines."""
    shapes = st.just(x.shape) | st.just(()) | st.just(tuple(1 if i % 2 else n for i, n in enumerate(x.shape)))
    limits: dict[str, Any] = {}
    if row.accepts == "integer":
        limits = {"low": 0, "high": dtype.bits - 1}
    if row.name == "pow" and dtype.is_integer:
        limits = {"low": 0, "high": 9}
    return data.draw(arrays(dtype, shapes, **limits))


@pytest.mark.parametrize(("name", "dtype"), BINARY)
@settings(max_examples=8)
@given(data=st.data())
def test_binary_functions_equal_numpy(name: str, dtype: DType, data: st.DataObject) -> None:
    """Shape, dtype and values are NumPy's, within the bound of the dtype, for any layouts that broadcast."""
    row = ROWS[name]
    t1, x1 = data.draw(laid_out(dtype))
    t2, x2 = data.draw(relaid(second_operand(row, dtype, x1, data)))
    with np.errstate(all="ignore"):
        expected = reference(name, dtype, x1, x2)
    assert_same(getattr(rk, name)(t1, t2), expected, bool_ if row.result == "bool" else dtype, ulp=bound(row, dtype))


@settings(max_examples=25)
@given(st.data())
def test_the_truth_of_any_two(data: st.DataObject) -> None:
    """Of two dtypes and of numbers: NaN and what is small are true, -0.0 and complex zeros of any signs are not."""
    kinds = st.sampled_from(
        [rk.bool, rk.uint8, rk.float16, rk.int32, rk.float32, rk.complex64, rk.float64, rk.complex128]
    )
    (t1, x1), (t2, x2) = (data.draw(laid_out(data.draw(kinds), (2, 3))) for _ in range(2))
    number = data.draw(st.sampled_from([0, -0.0, 1e-30, 300, float("nan"), True, 0j, np.float64(0.1), np.int8(0)]))
    for name in ("logical_and", "logical_or", "logical_xor"):
        ours, theirs = getattr(rk, name), getattr(np, name)
        assert_same(ours(t1, t2), theirs(x1 != 0, x2 != 0))
        assert_same(ours(t1, t2[:, :1]), theirs(x1 != 0, x2[:, :1] != 0))
        assert_same(ours(t1, number), theirs(x1 != 0, number != 0))
        assert_same(ours(number, t2, out=rk.zeros((2, 3), dtype=rk.bool)), theirs(number != 0, x2 != 0))
    assert_same(rk.logical_not(t1), x1 == 0)


def test_the_truth_of_zeros_and_of_what_is_small() -> None:
    """A sign makes no zero true; a part that is not zero does, however small, and NaN."""
    parts = (0.0, -0.0, 1e-45, np.nan)
    z = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    small = np.array([0, -0.0, 6e-8, -6e-8, np.nan, np.inf] * 2, np.float16)
    for x, other in ((z, np.arange(16) % 3), (small, np.arange(12, dtype=np.int16) - 6)):
        for name in ("logical_and", "logical_or", "logical_xor"):
            assert_same(getattr(rk, name)(rk.asarray(x), rk.asarray(other)), getattr(np, name)(x, other))
        assert_same(rk.logical_not(rk.asarray(x)), np.logical_not(x))


def reference(name: str, dtype: DType, x1: Any, x2: Any) -> Any:
    """NumPy's result, or ours where the policy says another: integers over zero give 0."""
    if name == "nextafter" and dtype.short in ("bf16", "f8_e4m3"):
        return np.nextafter(x1, x2)
    if name == "nextafter":
        return np.nextafter(x1, x2)
    if name == "pow" and dtype.is_float:
        # np.power takes a square root for an exponent 0.5 without axes, which makes (-inf)**0.5 NaN, not inf
        return np.float_power(exactly(x1), exactly(x2))
    if dtype.is_integer and name in ("floor_divide", "remainder"):
        safe = np.where(x2 == 0, np.ones_like(x2), x2)
        return np.where(x2 == 0, np.zeros_like(x2), oracle(name)(x1, safe))
    return oracle(name)(exactly(x1), exactly(x2))
