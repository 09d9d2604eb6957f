"""NumPy's own functions of a tensor, and NumPy's other names for arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.errors import ArgumentRangeError, DTypeError, ShapeError
from tests.tensor.arrays import FULL_SHAPES, assert_same, laid_out

CALLED: Any = (
    np.sum, np.prod, np.mean, np.var, np.std, np.min, np.max, np.any, np.all, np.argmin, np.argmax, np.cumsum,
    np.cumprod, np.squeeze, np.transpose, np.swapaxes, np.clip, np.round, np.repeat,
)  # fmt: skip
MORE: Any = {np.swapaxes: (0, -1), np.clip: (-2, 3), np.repeat: (2,)}


@settings(max_examples=25)
@given(st.data())
def test_numpys_functions_give_tensors(data: st.DataObject) -> None:
    """They call the tensor's method of the same name: nothing is copied to the host."""
    dtype = data.draw(st.sampled_from((rk.float64, rk.int64)))
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=-3, high=3))
    for function in CALLED:
        got, want = function(t, *MORE.get(function, ())), function(x, *MORE.get(function, ()))
        assert type(got) is rk.Tensor, function.__name__
        assert got.shape == np.shape(want), function.__name__
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-9, err_msg=function.__name__)


def test_degrees_of_freedom() -> None:
    """`ddof` is `correction`, in functions and methods; not both."""
    x = np.array([[1.0, 2.0, 4.0], [np.nan, 7.0, 9.5]])
    t = rk.asarray(x)
    for name in ("var", "std", "nanvar", "nanstd"):
        for ddof in (0, 1, 1.5):
            got = getattr(rk, name)(t, axis=1, ddof=ddof).numpy()
            np.testing.assert_allclose(got, getattr(np, name)(x, axis=1, ddof=ddof), rtol=1e-14, err_msg=name)
            np.testing.assert_array_equal(got, getattr(rk, name)(t, axis=1, correction=ddof).numpy(), err_msg=name)
        with pytest.raises(ArgumentRangeError, match=f"{name}: correction=1 and ddof=2; give one of them"):
            getattr(rk, name)(t, correction=1, ddof=2)
        with pytest.raises(DTypeError, match=f"{name}: ddof 'a'"):
            getattr(rk, name)(t, ddof="a")
    np.testing.assert_allclose(t.std(1, ddof=1).numpy(), x.std(1, ddof=1), rtol=1e-14)
    assert t.astype(rk.float32).var(dtype=rk.float64).dtype is rk.float64


def test_dtype_of_a_mean() -> None:
    """Sums and result are in the dtype named, of integers too."""
    x = np.full(5, 70_000, np.int64)
    assert_same(rk.mean(rk.asarray(x), dtype=rk.float64), np.mean(x, dtype=np.float64), rk.float64)
    assert_same(rk.asarray([60000.0] * 4, dtype=rk.float16).mean(dtype=rk.float32), np.float32(60000), rk.float32)
    for name in ("mean", "var", "std"):
        with pytest.raises(DTypeError, match=f"{name}: dtype int32; name a float or complex dtype"):
            getattr(rk.asarray(x), name)(dtype=rk.int32)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_decimal_places(decimals: int) -> None:
    """Halves to even, as NumPy's; integers stay what they are."""
    for x in (np.array([0.5, 1.25, 2.675, -15.0, 1250.0, np.nan, np.inf]), np.array([15, 25, -149, 7, 1250])):
        t = rk.asarray(x)
        assert_same(t.round(decimals), x.round(decimals), t.dtype)


def test_axes_left_out() -> None:
    """permute_dims reverses the axes, squeeze drops all of length 1, linspace gives 50 numbers."""
    x = np.arange(6.0).reshape(1, 2, 1, 3)
    t = rk.asarray(x)
    assert_same(rk.permute_dims(t), x.T, t.dtype)
    assert_same(t.transpose(None), x.transpose(None), t.dtype)
    assert_same(rk.squeeze(t), x.squeeze(), t.dtype)
    assert rk.linspace(0, 1).shape == (50,)


def test_vectors_of_numpy_as_shapes_and_axes() -> None:
    """Where NumPy takes an array of integers for them, so is it here; one of other numbers is refused."""
    pair, t = np.array([2, 3]), rk.ones((2, 3, 4))
    assert rk.zeros(pair).shape == rk.arange(6).reshape(pair).shape == rk.broadcast_to(rk.ones(3), pair).shape == (2, 3)
    assert rk.zeros(np.array(3)).shape == (3,)
    assert t.sum(np.array([0, 2])).shape == (3,)
    assert rk.fft.fftn(t, s=pair, axes=np.array([0, 1])).shape == (2, 3, 4)
    for wrong in (np.array([2.5]), np.ones((2, 2), int)):
        with pytest.raises(TypeError, match="zeros: shape"):
            rk.zeros(wrong)
        with pytest.raises(TypeError, match="axis"):
            t.sum(wrong)


def test_out_takes_what_fits() -> None:
    """The result is written there and given back; one of another shape or of a lower kind is refused."""
    x = np.arange(6.0).reshape(2, 3)
    t = rk.asarray(x)
    for name in ("sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all"):
        want = getattr(x, name)(axis=0)
        out = rk.zeros(3, dtype=want.dtype)
        assert getattr(t, name)(axis=0, out=out) is out
        np.testing.assert_allclose(out.numpy(), want, rtol=1e-12)
        with pytest.raises(ShapeError, match="out has"):
            getattr(t, name)(axis=1, out=out)
    with pytest.raises(DTypeError, match="mean: the result is float64, out is int64"):
        t.mean(out=rk.zeros((), dtype=rk.int64))


def test_whether_tensors_share_memory() -> None:
    """NumPy's question is of the memory that a tensor has, not of a copy; so clients know when to copy it."""
    x = rk.arange(6.0)
    for asks in (np.may_share_memory, np.shares_memory):
        assert asks(x, x[2:]) and asks(x.reshape(2, 3)[:, 1], x)
        assert not asks(x[:2], x[4:]) and not asks(x, x.copy()) and not asks(x[:0], x) and not asks(np.zeros(6), x)
        assert asks(np.asarray(x), x) == x.device.info.unified
    assert np.may_share_memory(x[::2], x[1::2]) and not np.shares_memory(x[::2], x[1::2])
    short = rk.zeros((3,), dtype=rk.bfloat16)
    assert np.shares_memory(short, short)


def test_numpys_functions_that_fill_an_array_fill_a_tensor() -> None:
    """As an argument by place and by name; and an array from a tensor."""
    x = rk.arange(6.0)
    np.copyto(x, np.full(6, 3.0))
    np.put(x[1:], [0, 4], [5, 6])
    np.place(x, x.numpy() == 3, [7, 8])
    np.putmask(x, x.numpy() == 5, 9.0)
    assert x.tolist() == [7, 9, 8, 7, 8, 6]
    np.copyto(dst=x, src=np.zeros(6), where=[True, False] * 3)
    assert x.tolist() == [0, 9, 0, 7, 0, 6]
    array = np.zeros(6)
    np.copyto(array, x)
    assert array.tolist() == x.tolist()


def test_ufuncs_in_a_dtype() -> None:
    """Operands are cast before: dask adds the parts of a product so."""
    x = rk.asarray([200, 100], dtype=rk.uint8)
    with rk.numpy_fallback("raise"):
        assert_same(np.add(x, x, dtype=np.int32), np.array([400, 200], np.int32), rk.int32)
        assert_same(np.exp(x, dtype=np.float64), np.exp(x.numpy(), dtype=np.float64), rk.float64)


@pytest.mark.parametrize("options", [{}, {"shape": (3,)}, {"dtype": np.int16}, {"shape": 2, "dtype": np.dtype("f8")}])
def test_new_tensors_like_another(options: dict[str, Any]) -> None:
    """In NumPy's signature, of which a shape is not in ours."""
    x = np.zeros((2, 3), np.float32)
    t = rk.asarray(x)
    with rk.numpy_fallback("raise"):
        for function in (np.zeros_like, np.ones_like):
            want = function(x, **options)
            assert_same(function(t, **options), want, rk.dtype(want.dtype))
        want = np.full_like(x, 7, **options)
        assert_same(np.full_like(t, 7, order="C", **options), want, rk.dtype(want.dtype))
        assert np.empty_like(t, **options).shape == np.empty_like(x, **options).shape
