"""Numbers beside a tensor: Python's are as NumPy scalars of the tensor's dtype, NumPy's as tensors without axes."""

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.engine import operation
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import DTypeError
from tests.tensor.arrays import arrays, values

OPERATIONS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
INTEGERS = [d for d in dtypes.ALL if d.is_integer]


def calls(name: str, x: rk.Tensor, number: Any) -> tuple[rk.Tensor, rk.Tensor]:
    operation = getattr(rk, name)
    return operation(x, number), operation(number, x)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", [rk.float16, rk.float32, rk.float64], ids=str)
def test_floats_keep_the_sign_of_zero(name: str, dtype: DType) -> None:
    """−0 · 2 is −0, −0 + −0 is −0, infinities and NaN pass, in either order."""
    x = np.array([-0.0, 0.0, 1.5, -3.25, np.inf, -np.inf, np.nan], dtype.numpy)
    on_device = rk.asarray(x)
    for number in (2.0, -1.0, 0.0, -0.0, float("inf")):
        scalar = dtype.numpy.type(number)
        with np.errstate(invalid="ignore"):
            expected = OPERATIONS[name](x, scalar), OPERATIONS[name](scalar, x)
        for found, wanted in zip(calls(name, on_device, number), expected, strict=True):
            assert np.array_equal(found.numpy(), wanted, equal_nan=True), number
            kept = ~np.isnan(wanted)
            assert np.array_equal(np.signbit(found.numpy())[kept], np.signbit(wanted)[kept]), number


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_at_every_end(name: str, dtype: DType) -> None:
    """x − c for the least c, and for unsigned dtypes, whose −c they can't hold."""
    ends = np.iinfo(dtype.numpy)
    x = np.array([ends.min, ends.min + 1, 0, 1, 7, ends.max], dtype.numpy)
    on_device = rk.asarray(x)
    for number in (int(ends.min), 0, 1, 3, int(ends.max)):
        scalar = dtype.numpy.type(number)
        with np.errstate(over="ignore"):
            expected = OPERATIONS[name](x, scalar), OPERATIONS[name](scalar, x)
        for found, wanted in zip(calls(name, on_device, number), expected, strict=True):
            assert np.array_equal(found.numpy(), wanted), number


@pytest.mark.parametrize("dtype", [rk.float32, rk.complex64, rk.int64], ids=str)
def test_integers_beyond_every_float_are_refused(dtype: DType) -> None:
    """10⁴⁰⁰ is an OverflowError that names the operation, in place of Python's own."""
    x = rk.ones((2,), dtype=dtype)
    for call in (lambda: x + 10**400, lambda: rk.pow(x, 10**400), lambda: rk.full((2,), 10**400, dtype=dtype)):
        with pytest.raises(OverflowError, match=r"(add|pow|full): "):
            call()


def test_plans_with_nan_are_found_again() -> None:
    """NaN equals nothing, itself neither: a plan under it would never be found, and they would pile up."""
    x = rk.ones((2,))
    forget_plans()
    for nan in (float("nan"), np.float32("nan"), np.float32("nan")) * 2:
        assert np.isnan((x + nan).numpy()).all()
    assert len(operation._plans.young) == 2  # of Python's and of NumPy's


NUMPYS = [d for d in dtypes.ALL if d.numpy.isbuiltin == 1]
OPERATORS = {
    "b": (operator.and_, operator.xor, operator.eq),
    "c": (operator.add, operator.mul, operator.eq),
}


def promoted(dtype: DType, scalar: np.generic) -> Any:
    """NumPy's, but for an integer with a float or complex number, which has that one's dtype here."""
    kinds = {dtype.kind, rk.dtype(scalar.dtype).kind}
    if kinds & {"float", "complex"} and kinds & {"signed", "unsigned"}:
        return max(dtype.numpy, scalar.dtype, key=lambda d: (d.kind in "fc", d.itemsize))
    return np.result_type(dtype.numpy, scalar)


@settings(max_examples=80)
@given(st.data())
def test_numpys_numbers_have_their_own_dtype(data: st.DataObject) -> None:
    """On either side of an operator, the first and the second time: NumPy's values in the promoted dtype."""
    dtype, other = (data.draw(st.sampled_from(NUMPYS)) for _ in range(2))
    x = data.draw(arrays(dtype, (3,), low=0, high=9))
    with np.errstate(over="ignore"):
        number = other.numpy.type(data.draw(values(other, low=0, high=9)))
    t, common = rk.asarray(x), promoted(dtype, number)
    operation = data.draw(st.sampled_from(OPERATORS.get(common.kind, (operator.add, operator.mul, operator.lt))))
    if common == np.float64 and not (dtype.is_float or other.is_float):  # of uint64 with a signed integer
        with pytest.raises(DTypeError, match="no integer dtype holds both"):
            operation(t, number)
        return
    wide, one = x.astype(common), common.type(number)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = operation(wide, one), operation(one, wide)
    for _ in range(2):
        for found, wanted in zip((operation(t, number), operation(number, t)), expected, strict=True):
            assert found.dtype.numpy == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6 if common.kind == "c" else 0)


def test_numpys_numbers_beside_others_than_tensors() -> None:
    """In where, clip, result_type and writing; bf16 and f8 of ml_dtypes too; Python's numbers follow them."""
    x, flags = rk.asarray([1.5, 2.5]), rk.asarray([True, False])
    assert rk.where(flags, x, np.float64(3)).dtype is rk.float64
    assert rk.where(flags, np.float16(1), 2.0).dtype is rk.where(flags, 2.0, np.float16(1)).dtype is rk.float16
    assert rk.where(flags, np.int8(1), np.int16(2)).tolist() == [1, 2]
    assert rk.result_type(rk.float32, np.float64(1)) is rk.float64
    assert rk.result_type(np.int8(1), 3) is rk.int8
    assert rk.full((2,), np.float64(3)).dtype is rk.float64
    assert rk.full((2,), np.int8(3), dtype=rk.float16).dtype is rk.float16
    assert rk.clip(x, np.float64(2), np.float32(2.25)).tolist() == [2.0, 2.25]
    assert (x + ml_dtypes.bfloat16(1)).tolist() == [2.5, 3.5]
    assert (x.astype(rk.bfloat16) * ml_dtypes.bfloat16(2)).dtype is rk.bfloat16
    x[np.int64(1)] = np.float32(7)
    assert x[np.uint8(1)].tolist() == x[np.int16(-1)].tolist() == 7.0
    assert x[np.int64(0) : np.int8(1)].tolist() == x[np.bool_(True)].tolist()[0][:1] == [1.5]


def test_numpys_number_in_place_keeps_the_dtype() -> None:
    """One of a wider dtype too, as NumPy has it; one of a higher kind is refused."""
    x = rk.asarray([1.0, 2.0])
    before = x
    x *= np.float16(2)
    assert x is before and x.tolist() == [2.0, 4.0]
    x *= np.float64(1.5)
    assert x is before and x.dtype is rk.float32 and x.tolist() == [3.0, 6.0]
    with pytest.raises(DTypeError, match="multiply: the result is complex64, out is float32"):
        x *= np.complex64(2)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (np.str_("a"), "no element type here"),
        (np.longdouble(1), "no element type here"),
        (np.datetime64(1, "s"), "no element type here"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_numpy_has_beside_numbers_is_refused(other: Any, words: str) -> None:
    """On both sides: there is no kernel for them."""
    x = rk.asarray([1.0, 2.0])
    for call in (lambda: x + other, lambda: other + x):
        with pytest.raises(TypeError, match=words):
            call()


def test_an_array_of_a_tensor_stays_one() -> None:
    """NumPy's functions that take anything see the values."""
    x = rk.asarray([1.0, 2.0])
    assert np.asarray(x).tolist() == [1.0, 2.0]
    assert type(np.float32(2) * x) is rk.Tensor
