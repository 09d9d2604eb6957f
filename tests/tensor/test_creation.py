"""Tensors from shapes, numbers and host data, against NumPy."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import ALL, DType
from rocmkern.errors import DTypeError, ExchangeError, ScalarRangeError, ShapeError
from tests.tensor.arrays import FLOATS, INTEGERS, SHAPES, arrays, assert_same, values

BY_DTYPE = pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)


@BY_DTYPE
@settings(max_examples=6)
@given(data=st.data())
def test_constant_tensors(dtype: DType, data: st.DataObject) -> None:
    """zeros, ones and full of any shape, and the same in the likeness of another."""
    shape = data.draw(SHAPES)
    with np.errstate(all="ignore"):
        number = np.asarray(data.draw(values(dtype, finite=True))).astype(dtype.numpy)
    value = float(number) if dtype.is_float else number.item()
    assert_same(rk.zeros(shape, dtype=dtype), np.zeros(shape, dtype.numpy))
    assert_same(rk.ones(shape, dtype=dtype), np.ones(shape, dtype.numpy))
    assert_same(rk.full(shape, value, dtype=dtype), np.full(shape, number))
    like = rk.empty(shape, dtype=dtype)
    assert (like.shape, like.dtype) == (shape, dtype)
    assert_same(rk.zeros_like(like), np.zeros(shape, dtype.numpy))
    assert_same(rk.ones_like(like), np.ones(shape, dtype.numpy))
    assert_same(rk.full_like(like, value), np.full(shape, number))
    assert rk.empty_like(like, dtype=rk.int8).dtype is rk.int8


def test_defaults_are_float32_and_int64() -> None:
    """Without a dtype: zeros are float32, Python floats float32, integers int64, bools bool."""
    assert rk.zeros((2,)).dtype is rk.ones((2,)).dtype is rk.empty((2,)).dtype is rk.float32
    assert rk.full((2,), 1).dtype is rk.int64 and rk.full((2,), 1.0).dtype is rk.float32
    assert rk.full((2,), True).dtype is rk.bool_
    assert rk.arange(3).dtype is rk.int64 and rk.arange(3.0).dtype is rk.float32
    assert rk.linspace(0, 1, 3).dtype is rk.float32 and rk.eye(2).dtype is rk.float32


@settings(max_examples=40)
@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool), st.sampled_from(INTEGERS))
def test_arange_of_integers(start: int, stop: int, step: int, dtype: DType) -> None:
    """NumPy's numbers in any integer dtype that holds them."""
    expected = np.arange(start, stop, step)
    info = np.iinfo(dtype.numpy)
    if expected.size and (expected.min() < info.min or expected.max() > info.max):
        with pytest.raises(ScalarRangeError, match="arange"):
            rk.arange(start, stop, step, dtype=dtype)
        return
    assert_same(rk.arange(start, stop, step, dtype=dtype), expected.astype(dtype.numpy))


def test_arange_at_the_ends_of_the_range() -> None:
    """64-bit integers are exact."""
    top = 2**64 - 1
    assert rk.arange(top - 2, top, dtype=rk.uint64).tolist() == [top - 2, top - 1]
    assert rk.arange(-(2**63), -(2**63) + 3).tolist() == [-(2**63), -(2**63) + 1, -(2**63) + 2]


@settings(max_examples=40)
@given(
    st.floats(-100, 100, width=32), st.floats(-100, 100, width=32), st.integers(0, 9), st.booleans(),
    st.sampled_from([d for d in FLOATS if d.short != "f8_e4m3"]),
)  # fmt: skip
def test_linspace(start: float, stop: float, num: int, endpoint: bool, dtype: DType) -> None:
    """NumPy's numbers rounded to the dtype; both ends are exact."""
    expected = np.linspace(start, stop, num, endpoint=endpoint)
    got = rk.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    info = rk.finfo(dtype)
    scale = info.eps * max(abs(start), abs(stop), info.smallest_normal)
    assert got.dtype is dtype and got.shape == expected.shape
    assert (np.abs(got.numpy().astype(np.float64) - expected) <= scale).all()
    if num > 1 and endpoint:
        assert got.numpy()[-1] == np.asarray(stop).astype(dtype.numpy)


def test_linspace_without_its_end_is_one_of_one_more_number_without_the_last() -> None:
    """Bit for bit, where the numbers don't fit the dtype: thirds, tenths."""
    for num in (0, 1, 3, 10):
        for dtype in (rk.float32, rk.float64, rk.complex64, rk.int32):
            whole = rk.linspace(-1, 9, num + 1, dtype=dtype).numpy()
            np.testing.assert_array_equal(rk.linspace(-1, 9, num, dtype=dtype, endpoint=False).numpy(), whole[:-1])


def test_linspace_between_numbers_whose_difference_is_none() -> None:
    """Each number is within a rounding of twice that between the halves."""
    for num in range(6):
        for endpoint in (True, False):
            got = rk.linspace(-1.7e308, 1.7e308, num, dtype=rk.float64, endpoint=endpoint).numpy()
            np.testing.assert_allclose(got, 2 * np.linspace(-0.85e308, 0.85e308, num, endpoint), rtol=0, atol=1e293)


@settings(max_examples=25)
@given(st.integers(0, 6), st.none() | st.integers(0, 6), st.integers(-7, 7), st.sampled_from(ALL))
def test_eye(rows: int, columns: int | None, k: int, dtype: DType) -> None:
    """Ones on the k-th diagonal, wherever it lies."""
    assert_same(rk.eye(rows, columns, k=k, dtype=dtype), np.eye(rows, columns, k), dtype)


def test_meshgrid() -> None:
    """Both orders, for one, two and three axes."""
    parts = [np.arange(2), np.arange(3), np.arange(4)]
    for n in (1, 2, 3):
        for indexing in ("xy", "ij"):
            got = rk.meshgrid(*map(rk.asarray, parts[:n]), indexing=indexing)
            for g, e in zip(got, np.meshgrid(*parts[:n], indexing=indexing), strict=True):
                assert_same(g, e)


@BY_DTYPE
@settings(max_examples=6)
@given(data=st.data())
def test_host_arrays_arrive_unchanged(dtype: DType, data: st.DataObject) -> None:
    """Any dtype and layout of a NumPy array, byte-swapped ones too, and back."""
    x = data.draw(arrays(dtype))
    assert_same(rk.asarray(x), x)
    assert_same(rk.asarray(x.T), x.T)
    if dtype.itemsize > 1 and dtype.short != "bf16":
        assert_same(rk.asarray(x.astype(x.dtype.newbyteorder(">"))), x)


def test_python_numbers_and_lists() -> None:
    """Nested lists, numbers, NumPy scalars; a dtype converts."""
    assert rk.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert rk.asarray([1, 2.5]).dtype is rk.float32 and rk.asarray([True, False]).dtype is rk.bool_
    assert rk.asarray(3).shape == () and rk.asarray(3).item() == 3
    assert rk.asarray(np.float64(2)).dtype is rk.float64
    assert rk.asarray([]).shape == (0,) and rk.asarray([[]]).shape == (1, 0)
    assert rk.asarray([1, 0], dtype=rk.bool_).tolist() == [True, False]
    assert rk.asarray([1.5, 2], dtype=rk.float16).tolist() == [1.5, 2]
    assert rk.asarray([2**63], dtype=rk.uint64).item() == 2**63
    assert rk.asarray([2**63 + 1, 1], dtype=rk.uint64).tolist() == [2**63 + 1, 1]
    assert rk.asarray([1e30, 1], dtype=rk.float64).tolist() == [1e30, 1]
    assert rk.asarray(range(3)).tolist() == [0, 1, 2]
    for buffer in (memoryview(b"ab"), bytearray(b"ab"), array("B", b"ab")):
        assert rk.asarray(buffer).tolist() == [97, 98] and rk.asarray(buffer).dtype is rk.uint8
    assert rk.asarray(array("d", [1.5])).dtype is rk.float64


def test_asarray_of_a_tensor_copies_only_when_asked() -> None:
    """The tensor itself, a copy with copy=True, a ValueError-like BufferError where copy=False can't be."""
    t = rk.zeros((2,))
    assert rk.asarray(t) is t and rk.asarray(t, dtype=rk.float32) is t and rk.asarray(t, copy=False) is t
    copied = rk.asarray(t, copy=True)
    assert copied.memory is not t.memory
    assert rk.asarray(t, dtype=rk.int8).dtype is rk.int8
    for call in (lambda: rk.asarray(t, dtype=rk.int8, copy=False), lambda: rk.asarray([1], copy=False)):
        with pytest.raises(ValueError, match="copy"):
            call()
    assert issubclass(ExchangeError, BufferError)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rk.zeros((2, -1)), ShapeError, "zeros: .* negative length"),
        (lambda: rk.zeros(1.5), TypeError, "no tuple of integers"),
        (lambda: rk.zeros((2,), dtype="complex32"), DTypeError, "no element type"),
        (lambda: rk.full((2,), 2.5, dtype=rk.int32), DTypeError, "for dtype int32"),
        (lambda: rk.full((2,), 300, dtype=rk.uint8), ScalarRangeError, "300 is out of bounds for uint8"),
        (lambda: rk.asarray([1, 300], dtype=rk.uint8), OverflowError, "300 is out of bounds"),
        (lambda: rk.asarray([2**64]), OverflowError, "out of bounds for int64"),
        (lambda: rk.asarray(["a"]), DTypeError, "use numbers"),
        (lambda: rk.asarray([1j, "1"]), DTypeError, "use numbers"),
        (lambda: rk.asarray([[1], [1, 2]]), ShapeError, "inhomogeneous"),
        (lambda: rk.asarray(np.zeros(2, np.clongdouble)), DTypeError, "no element type"),
        (lambda: rk.arange(0, 3, 0), ShapeError, "step 0"),
        (lambda: rk.arange(3, dtype=rk.bool_), DTypeError, "dtype bool"),
        (lambda: rk.linspace(0, 1, -1), ShapeError, "linspace: -1 numbers"),
        (lambda: rk.linspace(0, 1, -1, endpoint=False), ShapeError, "linspace: -1 numbers"),
        (lambda: rk.linspace(0, 1, 2.5), TypeError, "num 2.5 is no integer"),
        (lambda: rk.meshgrid(rk.zeros((2, 2))), ShapeError, "one dimension"),
        (lambda: rk.meshgrid([1, 2]), DTypeError, "meshgrid: list is no tensor"),
        (lambda: rk.meshgrid(rk.zeros((2,)), indexing="ab"), ShapeError, "indexing"),
        (lambda: rk.from_dlpack([1]), DTypeError, "no __dlpack__"),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], words: str) -> None:
    """NumPy's class of error, with what came and what is taken."""
    with pytest.raises(error, match=words):
        call()
