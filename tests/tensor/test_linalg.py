"""Parts, products and norms of matrices against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import linalg
from rocmkern.dtypes import COMPLEX, DType
from rocmkern.errors import DTypeError, ShapeError
from tests.tensor.arrays import assert_same, laid_out

SHORT_LISTS = settings(max_examples=6, deadline=None)
FACTORED = (rk.float32, rk.float64, *COMPLEX)
OF_FLOATS = st.sampled_from((*FACTORED, rk.int32))


def shapes(*last: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, 3), max_size=2).map(lambda batch: (*batch, *last))


@SHORT_LISTS
@given(data=st.data(), dtype=OF_FLOATS, offset=st.integers(-4, 5), shape=shapes(3, 4))
def test_diagonal_and_trace(data: st.DataObject, dtype: DType, offset: int, shape: tuple[int, ...]) -> None:
    """Every diagonal, those beyond the corners empty; a diagonal shares the matrix's memory."""
    a, x = data.draw(laid_out(dtype, shape, low=-9, high=9))
    got = linalg.diagonal(a, offset=offset)
    assert_same(got, np.diagonal(x, offset, -2, -1), dtype)
    assert got.memory is a.memory
    want = np.trace(x, offset, -2, -1)
    trace = linalg.trace(a, offset=offset)
    assert trace.dtype is (rk.int64 if dtype is rk.int32 else dtype)
    np.testing.assert_allclose(trace.numpy(), want, rtol=1e-5, atol=1e-4)


@SHORT_LISTS
@given(data=st.data(), dtype=OF_FLOATS)
def test_outer_and_cross(data: st.DataObject, dtype: DType) -> None:
    """Of small numbers; vectors along any axis, of shapes that broadcast."""
    whole = {"low": -9, "high": 9} if dtype is rk.int32 else {"finite": True, "low": -2, "high": 2}
    (a, x), (b, y) = (data.draw(laid_out(dtype, (n,), **whole)) for n in (3, 4))
    product = linalg.outer(a, b)
    assert product.dtype is dtype
    np.testing.assert_allclose(product.numpy(), np.outer(x, y), rtol=1e-5, atol=1e-5)
    (c, z), (d, w) = data.draw(laid_out(dtype, (2, 3, 1), **whole)), data.draw(laid_out(dtype, (3, 2), **whole))
    got, want = linalg.cross(c, d, axis=-2), np.cross(z, w, axis=-2)
    assert got.dtype is dtype and got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(linalg.cross(a, c[:, :, 0]).numpy(), np.cross(x, z[:, :, 0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ord", [2, 1, 0, inf, -inf, 3, -1, 0.5])
@SHORT_LISTS
@given(data=st.data(), dtype=OF_FLOATS)
def test_vector_norm(ord: float, data: st.DataObject, dtype: DType) -> None:
    """Of one axis, of two at once, and of everything; the result is real."""
    a, x = data.draw(laid_out(dtype, (3, 2, 4), low=1, high=9))
    real = {rk.int32: rk.float32, rk.complex64: rk.float32, rk.complex128: rk.float64}.get(dtype, dtype)
    whole = linalg.vector_norm(a, ord=ord)
    np.testing.assert_allclose(whole.numpy(), np.linalg.norm(x.reshape(-1), ord), rtol=1e-5)
    assert whole.dtype is real
    one = linalg.vector_norm(a, ord=ord, axis=1, keepdims=True)
    np.testing.assert_allclose(one.numpy(), np.linalg.norm(x, ord, 1, keepdims=True), rtol=1e-5)
    two = linalg.vector_norm(a, ord=ord, axis=(0, -1))
    flat = x.transpose(1, 0, 2).reshape(2, 12)
    np.testing.assert_allclose(two.numpy(), np.linalg.norm(flat, ord, 1), rtol=1e-5)


@pytest.mark.parametrize("ord", ["fro", None, 1, -1, inf, -inf])
@SHORT_LISTS
@given(data=st.data(), dtype=OF_FLOATS)
def test_matrix_norm(ord: float | str | None, data: st.DataObject, dtype: DType) -> None:
    """Each order that magnitudes and sums make up."""
    a, x = data.draw(laid_out(dtype, (2, 3, 4), low=-9, high=9))
    for keepdims in (False, True):
        want = np.linalg.norm(x, ord, (-2, -1), keepdims)  # type: ignore[call-overload]  # one ord at a time there
        got = linalg.matrix_norm(a, ord=ord, keepdims=keepdims)  # type: ignore[arg-type]  # the strings are right
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
        assert got.shape == want.shape


def test_norms_of_nothing_and_of_short_floats() -> None:
    """No elements have norm 0 but no smallest magnitude; float16 is added in float32."""
    assert linalg.vector_norm(rk.zeros((0,)), ord=inf).item() == 0
    assert linalg.matrix_norm(rk.zeros((2, 0, 3)), ord=1).tolist() == [0, 0]
    assert linalg.matrix_norm(rk.zeros((3, 0)), ord=1).item() == 0
    with pytest.raises(ValueError):
        linalg.vector_norm(rk.zeros((0,)), ord=-inf)
    norm = linalg.vector_norm(rk.full((4096,), 8, dtype=rk.float16))
    assert (norm.item(), norm.dtype) == (512, rk.float16)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda v: linalg.diagonal(v), ShapeError, "diagonal: 1 dimensions"),
        (lambda v: linalg.trace(v), ShapeError, "1 dimensions"),
        (lambda v: linalg.matrix_norm(v), ShapeError, "matrix_norm: 1 dimensions"),
        (lambda v: linalg.matrix_norm(rk.zeros((2, 2)), ord=7), ShapeError, "ord 7; use"),
        (lambda v: linalg.vector_norm(v, ord="fro"), ShapeError, "is for matrices"),
        (lambda v: linalg.outer(v, rk.zeros((2, 2))), ShapeError, "two vectors"),
        (lambda v: linalg.cross(v, v), ShapeError, "3 elements"),
        (lambda v: linalg.cross(v, rk.zeros((3,)), axis=1), IndexError, "axis 1 of 1"),
        (lambda v: linalg.outer(rk.ones((2,), dtype=rk.bool_), rk.ones((2,), dtype=rk.bool_)), DTypeError, "bool"),
        (lambda v: linalg.vector_norm([1.0]), DTypeError, "no tensor"),
    ],
)
def test_wrong_use(call: Callable[[rk.Tensor], object], error: type[Exception], words: str) -> None:
    """The error names the operation and what it takes."""
    with pytest.raises(error, match=words):
        call(rk.zeros((2,)))
