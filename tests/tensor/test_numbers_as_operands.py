"""A Python number beside a tensor: the same values, bits and signs as a NumPy scalar of the tensor's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.ops import prepared

DEVICE = "emulator:gfx942"
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
    on_device = rk.asarray(x, device=rk.Device(DEVICE))
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
    on_device = rk.asarray(x, device=rk.Device(DEVICE))
    for number in (int(ends.min), 0, 1, 3, int(ends.max)):
        scalar = dtype.numpy.type(number)
        with np.errstate(over="ignore"):
            expected = OPERATIONS[name](x, scalar), OPERATIONS[name](scalar, x)
        for found, wanted in zip(calls(name, on_device, number), expected, strict=True):
            assert np.array_equal(found.numpy(), wanted), number


@pytest.mark.parametrize("dtype", [rk.float32, rk.complex64, rk.int64], ids=str)
def test_integers_beyond_every_float_are_refused(dtype: DType) -> None:
    """10⁴⁰⁰ is an OverflowError that names the operation, in place of Python's own."""
    x = rk.ones((2,), dtype=dtype, device=rk.Device(DEVICE))
    for call in (lambda: x + 10**400, lambda: rk.pow(x, 10**400), lambda: rk.full((2,), 10**400, dtype=dtype)):
        with pytest.raises(OverflowError, match=r"(add|pow|full): "):
            call()


def test_launches_with_nan_are_not_kept() -> None:
    """NaN equals nothing, so that a launch under it would never be found again."""
    x = rk.ones((2,), device=rk.Device(DEVICE))
    before = len(prepared._launches)
    assert np.isnan((x + float("nan")).numpy()).all()
    assert len(prepared._launches) == before
