"""Products of matrices and vectors against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.dtypes import DType
from rocmkern.errors import DTypeError, ShapeError
from tests.tensor.arrays import FLOATS, INTEGERS, NUMBERS, assert_same, laid_out

TOLERANCE = {"f8_e4m3": 0.13, "f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-5, "f64": 1e-12}
BY_NUMBER = pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: d.short)


def operands(data: st.DataObject, dtype: DType, *shapes: tuple[int, ...]) -> list[tuple[rk.Tensor, Any]]:
    limits = {"low": -3.0, "high": 3.0} if dtype.is_float else {}
    return [data.draw(laid_out(dtype, st.just(s), **limits)) for s in shapes]


def assert_product(got: rk.Tensor, function: Any, dtype: DType, *arrays: Any) -> None:
    """Integers wrap exactly; floats are within the tolerance of the sum of magnitudes."""
    if not dtype.is_float:
        assert_same(got, function(*[a.astype(dtype.numpy) for a in arrays]), dtype)
        return
    wide = [a.astype(np.float64) for a in arrays]
    expected, scale = function(*wide), function(*map(np.abs, wide))
    assert got.dtype is dtype and got.shape == expected.shape
    close = np.abs(got.numpy().astype(np.float64) - expected) <= TOLERANCE[dtype.short] * (scale + 1e-2)
    assert close.all(), f"{got} instead of {expected}"


@BY_NUMBER
@settings(max_examples=8)
@given(data=st.data())
def test_matmul_equals_numpy(dtype: DType, data: st.DataObject) -> None:
    """Vectors, matrices, batches that broadcast, any layout."""
    signature = hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, max_side=5)
    shapes = data.draw(signature).input_shapes
    (a, x), (b, y) = operands(data, dtype, *shapes)
    assert_product(rk.matmul(a, b), np.matmul, dtype, x, y)
    assert_product(a @ b, np.matmul, dtype, x, y)


@pytest.mark.parametrize("dtype", [rk.float32, rk.float16, rk.bfloat16, rk.float64, rk.int32], ids=lambda d: d.short)
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(70, 33, 65), (128, 64, 128), (1, 300, 200), (200, 300, 1), (3, 2100, 40), (40, 2100, 24)],
)
def test_matmul_beyond_one_tile(dtype: DType, m: int, k: int, n: int) -> None:
    """Several tiles with ragged edges, and a transposed operand read in place."""
    rng = np.random.default_rng(m * k * n)
    x, y = (rng.integers(-3, 4, s).astype(dtype.numpy) for s in ((m, k), (n, k)))
    assert_product(rk.asarray(x) @ rk.asarray(y).T, lambda a, b: a @ b.T, dtype, x, y)


@BY_NUMBER
@settings(max_examples=5)
@given(data=st.data())
def test_tensordot_and_vecdot(dtype: DType, data: st.DataObject) -> None:
    """Axes by number and by name, negative ones too."""
    (a, x), (b, y) = operands(data, dtype, (2, 3, 4), (4, 3, 5))
    assert_product(rk.tensordot(a, b, axes=1), lambda p, q: np.tensordot(p, q, 1), dtype, x, y)
    named = ((1, -1), (1, 0))
    assert_product(rk.tensordot(a, b, axes=named), lambda p, q: np.tensordot(p, q, named), dtype, x, y)
    assert_product(rk.tensordot(a, b, axes=0), lambda p, q: np.tensordot(p, q, 0), dtype, x, y)
    (c, z), (d, w) = operands(data, dtype, (2, 3, 4), (3, 1))
    assert_product(rk.vecdot(c, d, axis=-2), lambda p, q: (p * q).sum(-2, dtype=p.dtype), dtype, z, w)


def test_inner_lengths_of_zero_give_zeros() -> None:
    """(2, 0) times (0, 3) is zero; no rows give no rows."""
    assert (rk.zeros((2, 0)) @ rk.zeros((0, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert (rk.zeros((0, 2)) @ rk.zeros((2, 3))).shape == (0, 3)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=lambda d: d.short)
def test_mixed_dtypes_promote(dtype: DType) -> None:
    """A product has the dtype of a sum of its operands."""
    one = rk.ones((2, 2), dtype=dtype)
    other = rk.ones((2, 2), dtype=rk.float64)
    assert (one @ other).dtype is rk.result_type(dtype, rk.float64)


def test_errors() -> None:
    """Shapes that don't fit are ValueErrors naming them, bool is a TypeError."""
    m = rk.zeros((2, 3))
    for call, words in (
        (lambda: m @ m, "inner lengths 3, 2 differ"),
        (lambda: m @ rk.zeros(()), "one dimension or more"),
        (lambda: rk.zeros((2, 2, 2)) @ rk.zeros((3, 2, 2)), "differ at axis"),
        (lambda: rk.tensordot(m, m, axes=1), "differ along axes"),
        (lambda: rk.tensordot(m, m, axes=3), "3 axes of 2 and 2"),
        (lambda: rk.vecdot(m, rk.zeros((2, 2))), "differ along axis"),
    ):
        with pytest.raises(ShapeError, match=words):
            call()
    with pytest.raises(DTypeError, match="matmul: dtype bool"):
        rk.matmul(rk.ones((2, 2), dtype=rk.bool_), rk.ones((2, 2), dtype=rk.bool_))
    with pytest.raises(TypeError):
        m @ 2
