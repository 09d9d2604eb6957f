"""Operands of different dtypes, Python numbers beside tensors, dtypes that are refused, results written in place."""

from __future__ import annotations

import operator
import threading
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import rocmkern as rk
from rocmkern.dtypes import REAL, DType
from rocmkern.errors import DTypeError, ScalarRangeError, ShapeError
from rocmkern.ops.elementwise import ROWS
from rocmkern.promotion import promote
from tests.tensor.arrays import INTEGERS, NUMBERS, WIDE, assert_same, laid_out


@cache
def strategies() -> Any:
    """Hypothesis's for our namespace, which it tries on the default device."""
    return make_strategies_namespace(rk)


@settings(max_examples=60)
@given(st.data())
def test_two_dtypes_meet_in_the_promoted_one(data: st.DataObject) -> None:
    """Both operands are cast first; uint64 with a signed integer is a TypeError."""
    d1, d2 = data.draw(st.sampled_from(NUMBERS)), data.draw(st.sampled_from(NUMBERS))
    name = data.draw(st.sampled_from(["add", "multiply", "maximum", "less"]))
    limits = {"low": 0, "high": 9}
    t1, x1 = data.draw(laid_out(d1, st.just((2, 3)), **limits))
    t2, x2 = data.draw(laid_out(d2, st.just((3,)), **limits))
    try:
        common = promote(d1, d2)
    except DTypeError:
        with pytest.raises(TypeError, match="no integer dtype holds both"):
            getattr(rk, name)(t1, t2)
        return
    exact = [x.astype(np.float64).astype(common.numpy).astype(np.float64) for x in (x1, x2)]
    assert_same(getattr(rk, name)(t1, t2), getattr(np, name)(*exact), rk.bool_ if name == "less" else common)


@pytest.mark.parametrize("dtype", REAL, ids=lambda d: d.short)
def test_python_numbers_take_the_tensors_dtype(dtype: DType) -> None:
    """On either side; a float lifts integers to float32, an integer lifts bool to int64."""
    t = rk.ones((2,), dtype=dtype)
    whole = rk.int64 if dtype is rk.bool_ else dtype
    assert rk.add(t, 1).dtype is rk.add(1, t).dtype is whole
    assert rk.multiply(t, 0.5).dtype is (dtype if dtype.is_float else rk.float32)
    assert rk.multiply(0.5, t).tolist() == [0.5, 0.5]
    assert rk.equal(t, True).tolist() == [True, True]
    assert rk.where(t, t, 0).dtype is whole


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.short)
def test_numbers_out_of_range_are_overflow_errors(dtype: DType) -> None:
    """The message names the operation, the number and what the dtype holds."""
    top = rk.iinfo(dtype).max
    t = rk.ones((2,), dtype=dtype)
    assert rk.minimum(t, top).tolist() == [1, 1]
    with pytest.raises(ScalarRangeError, match=f"add: {top + 1} is out of bounds for {dtype}"):
        rk.add(t, top + 1)


def test_dtypes_that_an_operation_does_not_take() -> None:
    """TypeErrors that say what it takes."""
    flag, real, whole = rk.ones((2,), dtype=rk.bool_), rk.ones((2,)), rk.ones((2,), dtype=rk.int8)
    for call, words in (
        (lambda: rk.negative(flag), "it takes a number dtype"),
        (lambda: rk.floor(flag), "it takes a number dtype"),
        (lambda: rk.add(flag, flag), "it takes a number dtype"),
        (lambda: rk.bitwise_and(real, real), "it takes bool or an integer dtype"),
        (lambda: rk.bitwise_left_shift(flag, flag), "it takes an integer dtype"),
        (lambda: rk.positive(flag), "cast it first"),
        (lambda: rk.exp([1.0]), "list is no tensor"),
        (lambda: rk.add(1, 2), "no tensor among the operands"),
        (lambda: rk.add(whole, "1"), "use bool, int, float or complex"),
    ):
        with pytest.raises(DTypeError, match=words):
            call()


@pytest.mark.parametrize("dtype", [d for d in REAL if not d.is_float], ids=lambda d: d.short)
def test_functions_of_floats_take_integers_as_float32(dtype: DType) -> None:
    """exp of an integer tensor is exp of its float32 values."""
    t = rk.asarray(np.array([0, 1]).astype(dtype.numpy))
    for name in sorted(row.name for row in ROWS.values() if row.accepts == "float" and row.arity == 1):
        expected = rk.bool_ if ROWS[name].result == "bool" else rk.float32
        got = getattr(rk, name)(t)
        assert got.dtype is expected
        assert_same(got, getattr(rk, name)(rk.astype(t, rk.float32)).numpy())


@settings(max_examples=30)
@given(st.data())
def test_clip(data: st.DataObject) -> None:
    """Bounds by number or tensor, either or none; the upper one wins where they cross."""
    dtype = data.draw(st.sampled_from([d for d in NUMBERS if d.short != "f8_e4m3"]))
    t, x = data.draw(laid_out(dtype, st.just((3, 4)), low=-9 if dtype.kind != "unsigned" else 0, high=9))
    low, high = data.draw(st.none() | st.integers(0, 5)), data.draw(st.none() | st.integers(0, 9))
    wide = x.astype(np.float64)
    expected = wide if low is None else np.maximum(wide, low)
    expected = expected if high is None else np.minimum(expected, high)
    assert_same(rk.clip(t, low, high), expected, dtype)
    u, y = data.draw(laid_out(dtype, st.just((4,)), low=0, high=5))
    assert_same(rk.clip(t, u), np.maximum(wide, y.astype(np.float64)), dtype)
    copied = rk.clip(t)
    assert copied.memory is not t.memory


def test_clip_keeps_the_dtype() -> None:
    """A wider bound of the same kind leaves it, floats as bounds of integers do not."""
    for dtype, wider in ((rk.int8, rk.int16), (rk.float32, rk.float64)):
        clipped = rk.clip(rk.asarray([1, 5, 9], dtype=dtype), rk.asarray(2, dtype=wider), 6)
        assert clipped.dtype is dtype and clipped.tolist() == [2, 5, 6]
    assert rk.clip(rk.asarray([1, 5, 9]), 2.5).tolist() == [2.5, 5.0, 9.0]
    with pytest.raises(OverflowError, match="clip: 300 is out of bounds for int8"):
        rk.clip(rk.asarray([1], dtype=rk.int8), 0, 300)


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: d.short)
def test_complex_functions_of_real_numbers(dtype: DType) -> None:
    """conj, real and positive copy; imag is zero."""
    t = rk.asarray(np.array([1, 2]).astype(dtype.numpy))
    for function in (rk.conj, rk.real, rk.positive):
        got = function(t)
        assert got.tolist() == [1, 2] and got.dtype is dtype and got.memory is not t.memory
    assert rk.imag(t).tolist() == [0, 0] and rk.imag(t).dtype is dtype


def test_results_in_memory_that_is_there() -> None:
    """out= is written and returned, strided ones too; another shape or a dtype of a lower kind is refused."""
    x = np.arange(6.0).reshape(2, 3)
    t, out = rk.asarray(x), rk.zeros((2, 3), dtype=rk.float64)
    assert rk.add(t, 1.0, out=out) is out and out.tolist() == (x + 1).tolist()
    wide = rk.zeros((2, 6), dtype=rk.float64)
    assert rk.exp(rk.zeros((2, 3), dtype=rk.float64), out=wide[:, ::2]).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert wide.tolist() == [[1, 0, 1, 0, 1, 0]] * 2
    with pytest.raises(ShapeError, match="out has"):
        rk.add(t, 1.0, out=rk.zeros((3,), dtype=rk.float64))
    with pytest.raises(DTypeError, match="out is int64"):
        rk.add(t, 1.0, out=rk.zeros((2, 3), dtype=rk.int64))


IN_PLACE = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
    "<<=": operator.ilshift, ">>=": operator.irshift, "@=": operator.imatmul,
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_results_go_into_narrower_dtypes(name: str) -> None:
    """Wherever NumPy casts the result back; where it refuses, so do we, and the tensor stays."""
    operation = IN_PLACE[name]
    dtypes = (rk.int8, rk.int64, rk.uint8, rk.float32, rk.float64, rk.complex64)
    pairs = [*product(dtypes, dtypes), (rk.bool, rk.int8), (rk.int8, rk.bool)]
    for dtype, other in pairs:
        for y in (np.array([[2, 3], [1, 2]], other.numpy), other.numpy.type(3)):
            if name == "@=" and not y.ndim:
                continue
            x = np.array([[5, 7], [9, 4]], dtype.numpy)
            t, u = rk.asarray(x), rk.asarray(y) if y.ndim else y
            given = t
            try:
                x = operation(x, y)
            except TypeError:
                with pytest.raises(TypeError):
                    operation(t, u)
            else:
                t = operation(t, u)
            assert t is given and t.dtype is dtype
            np.testing.assert_allclose(t.numpy(), x, rtol=1e-6, err_msg=f"{dtype} {name} {other}")


def test_in_place_results_of_another_shape_are_refused() -> None:
    x = rk.ones((3,))
    with pytest.raises(ValueError, match="out has"):
        x += rk.ones((2, 3))
    with pytest.raises(ValueError, match="out has"):
        x *= rk.ones((2, 3), dtype=rk.float64)
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [d for d in WIDE if d.kind != "bool"], ids=lambda d: d.short)
@settings(max_examples=10)
@given(data=st.data())
def test_hypothesis_makes_our_tensors(dtype: DType, data: st.DataObject) -> None:
    """Hypothesis' own strategies for the array API draw tensors of the dtype and shape from the namespace."""
    shape = data.draw(strategies().array_shapes(max_dims=3, max_side=4))
    t = data.draw(strategies().arrays(dtype, shape))
    assert isinstance(t, rk.Tensor) and t.dtype is dtype and t.shape == shape
    t2: Any = data.draw(strategies().arrays(dtype, shape, unique=True)) if t.size < 5 else t
    assert t2.shape == shape


def test_threads_work_side_by_side() -> None:
    """Eight threads on one device, each with kernels, layouts and numbers of its own, get right results."""
    failures: list[str] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).integers(-9, 9, (5 + seed, 7))
        t = rk.asarray(x)
        for i in range(20):
            got = rk.sum(rk.multiply(t.T, i + seed) + seed, axis=0)
            if got.tolist() != (x.T * (i + seed) + seed).sum(0).tolist():
                failures.append(f"thread {seed}, round {i}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
