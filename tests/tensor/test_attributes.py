"""What looking at a tensor finds, as `hasattr` and `inspect` do, and dtypes under all their names."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import ALL


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_looking_at_attributes_never_raises(dtype: rk.DType) -> None:
    """Whatever the dtype and the number of axes: a value, or an AttributeError."""
    for shape in ((), (2,), (2, 3), (2, 3, 2), (0,)):
        assert inspect.getmembers(rk.zeros(shape, dtype=dtype))


def test_transposes_of_what_is_no_matrix() -> None:
    """An AttributeError that is a ValueError too, so `hasattr` says no."""
    assert not hasattr(rk.ones(3), "T")
    assert not hasattr(rk.ones(3), "mT")
    assert hasattr(rk.ones((2, 2, 2)), "mT")
    with pytest.raises(ValueError, match="T: 1 dimensions; it takes 2, use mT or permute_dims"):
        rk.ones(3).T  # noqa: B018


def test_parts_of_bool() -> None:
    """It is its own real part."""
    x = rk.asarray([True, False])
    assert x.real.tolist() == [True, False]
    assert x.imag.tolist() == [False, False]


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2, 3)])
def test_lists_beside_tensors_are_refused(other: Any) -> None:
    """On both sides of every comparison: a plain False would be wrong."""
    x = rk.asarray([1, 2, 3])
    for compare in (lambda: x == other, lambda: other != x, lambda: x < other, lambda: x + other):
        with pytest.raises(TypeError, match=f"a {type(other).__name__} beside a tensor; use .* asarray"):
            compare()


def test_the_devices_are_a_tuple() -> None:
    """As the standard has it."""
    found = rk.__array_namespace_info__().devices()
    assert isinstance(found, tuple)
    assert rk.Device().name in [d.name for d in found]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_numpy_takes_our_dtypes(dtype: rk.DType) -> None:
    """Wherever it takes one."""
    assert np.dtype(dtype) == dtype.numpy
    assert np.zeros(3, dtype=dtype).dtype == dtype.numpy


def test_dtypes_under_all_names() -> None:
    """Ours, their names, NumPy's dtypes and its types mean the same."""
    for spec in (rk.float32, "float32", "f32", np.dtype("float32"), np.float32):
        assert rk.finfo(spec).bits == np.finfo(rk.float32).bits == 32
        assert rk.result_type(spec, rk.float16) is rk.float32
        assert rk.can_cast(spec, "float64") and not rk.can_cast("float64", spec)
        assert (
            rk.isdtype(spec, "real floating")
            and rk.isdtype(rk.float32, spec)
            and rk.isdtype(rk.float32, ("bool", spec))
        )
    assert rk.iinfo("int8").max == rk.iinfo(np.int8).max == 127


@pytest.mark.parametrize("wrong", ["floaty", np.dtype("U3"), object(), None, 3.5])
def test_what_is_no_dtype_is_told(wrong: Any) -> None:
    """By each function, never by a wrong answer."""
    for call in (lambda: rk.finfo(wrong), lambda: rk.iinfo(wrong), lambda: rk.can_cast(wrong, rk.int8),
                 lambda: rk.can_cast(rk.int8, wrong), lambda: rk.isdtype(wrong, "bool")):  # fmt: skip
        with pytest.raises(TypeError, match=r"no dtype|no element type"):
            call()
    with pytest.raises(TypeError, match="isdtype: kind"):
        rk.isdtype(rk.int8, wrong)
