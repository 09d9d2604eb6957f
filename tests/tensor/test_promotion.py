"""Type promotion: the standard's table as array-api-strict has it, and our answers where the standard is open."""

from __future__ import annotations

from itertools import product
from typing import Any

import array_api_strict
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.errors import DTypeError, ScalarRangeError
from rocmkern.promotion import KINDS, check_range, promote, promote_all, promote_scalar, scalar_dtype

STANDARD = [d for d in dtypes.ALL if hasattr(array_api_strict, d.name)]
ANY = st.sampled_from(dtypes.ALL)


def strict(dtype: dtypes.DType) -> Any:
    """array-api-strict's dtype of the same name."""
    return getattr(array_api_strict, dtype.name)


@pytest.mark.parametrize(("a", "b"), list(product(STANDARD, STANDARD)))
def test_promotion_is_the_standards_table(a: dtypes.DType, b: dtypes.DType) -> None:
    """Where the standard has an answer, ours is the same."""
    try:
        expected = array_api_strict.result_type(strict(a), strict(b))
    except TypeError:
        return
    assert strict(promote(a, b)) == expected


@given(ANY, ANY)
def test_promotion_is_symmetric_and_never_narrows(a: dtypes.DType, b: dtypes.DType) -> None:
    """The order of operands is irrelevant, and the result has at least each operand's kind and size within a kind."""
    if {a.kind, b.kind} == {"signed", "unsigned"} and dtypes.uint64 in (a, b):
        with pytest.raises(DTypeError, match="no integer dtype holds both"):
            promote(a, b)
        return
    result = promote(a, b)
    assert result is promote(b, a)
    assert all(d.kind != result.kind or d.itemsize <= result.itemsize for d in (a, b))
    assert promote(result, a) is result and promote_all([a, b, result]) is result


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("bool", "u8", "u8"),
        ("bool", "bf16", "bf16"),
        ("i64", "f16", "f16"),
        ("u64", "f8_e4m3", "f8_e4m3"),
        ("f16", "bf16", "f32"),
        ("f8_e4m3", "bf16", "bf16"),
        ("u32", "i8", "i64"),
    ],
)
def test_open_cases(a: str, b: str, expected: str) -> None:
    """The answers that the module's docstring gives."""
    assert promote(dtypes.dtype(a), dtypes.dtype(b)) is dtypes.dtype(expected)


def test_python_numbers_are_weak() -> None:
    """A number takes the tensor's dtype unless it is of a higher kind."""
    assert promote_scalar(dtypes.float16, 3) is dtypes.float16
    assert promote_scalar(dtypes.bfloat16, 2.5) is dtypes.bfloat16
    assert promote_scalar(dtypes.uint8, 3) is dtypes.uint8
    assert promote_scalar(dtypes.uint8, True) is dtypes.uint8
    assert promote_scalar(dtypes.uint8, 2.5) is dtypes.float32
    assert promote_scalar(dtypes.bool_, 2) is dtypes.int64
    assert promote_scalar(dtypes.bool_, True) is dtypes.bool_
    assert scalar_dtype(True) is dtypes.bool_
    for number in ("1", None):
        with pytest.raises(DTypeError, match="use bool, int, float or complex"):
            promote_scalar(dtypes.float32, number)


def test_integers_outside_the_dtype_are_overflow_errors() -> None:
    """As in NumPy 2: the message names the number, the dtype and what it holds."""
    check_range(255, dtypes.uint8, "add")
    check_range(-1, dtypes.float16, "add")
    with pytest.raises(ScalarRangeError, match=r"add: 256 is out of bounds for uint8; it holds 0\.\.255"):
        check_range(256, dtypes.uint8, "add")
    with pytest.raises(OverflowError):
        check_range(2**63, dtypes.int64, "add")


def test_kinds_partition_the_dtypes() -> None:
    """bool, signed, unsigned, real and complex floating hold each dtype once."""
    parts = [KINDS[k] for k in ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")]
    assert sorted(d.name for p in parts for d in p) == sorted(d.name for d in dtypes.ALL)
    assert KINDS["numeric"] == frozenset(dtypes.ALL) - KINDS["bool"]


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_a_dtype_equals_its_names_and_numpys(dtype: dtypes.DType) -> None:
    """On either side, where comparing identities would say no without a word; others are other ones, and no error."""
    for same in (dtype, dtype.name, dtype.short, dtype.numpy, dtype.numpy.type):
        assert dtype == same and same == dtype
    others = [d for d in dtypes.ALL if d is not dtype]
    for other in (*others, *(d.name for d in others), *(d.numpy for d in others), "float33", None, 1, object, [dtype]):
        assert dtype != other and other != dtype
    assert {dtype: 1}[dtypes.BY_NAME[dtype.name]] == 1
