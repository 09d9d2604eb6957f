"""Complex numbers: promotion, indexing, reductions, products, exchange, and what is refused."""

from __future__ import annotations

import math
import pickle
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.dtypes import COMPLEX, DType
from rocmkern.ops.elementwise import ROWS
from tests.tensor.arrays import Array, arrays, assert_same, laid_out, relaid

BOTH = st.sampled_from(COMPLEX)
BY_DTYPE = pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.short)
SMALL: dict[str, Any] = {"low": -4.0, "high": 4.0}
LINES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)


def close(got: rk.Tensor, want: Any, dtype: DType, scale: Any) -> None:
    """The dtype, and each number within a few roundings of what was added up to it, whose magnitude is `scale`."""
    assert got.dtype is dtype and got.shape == np.shape(want)
    assert (np.abs(got.numpy() - want) <= 8 * np.finfo(dtype.numpy).eps * np.asarray(scale)).all()


def bits(x: Any) -> bytes:
    """The parts bit by bit, signs of zeros too; each NaN is the same."""
    parts = np.ascontiguousarray(x).view(x.real.dtype)
    return np.where(np.isnan(parts), np.nan, parts).tobytes()


@given(st.data(), BOTH)
def test_parts_and_conjugates(data: st.DataObject, dtype: DType) -> None:
    """real, imag and conj of any layout, bit for bit; a positive is a copy."""
    t, x = data.draw(laid_out(dtype))
    for got, want in ((rk.real(t), x.real), (rk.imag(t), x.imag), (rk.conj(t), x.conj()), (rk.positive(t), x)):
        assert got.shape == want.shape and bits(got.numpy()) == bits(want)
        assert got.memory is not t.memory


@given(st.data(), BOTH)
def test_sums_and_means(data: st.DataObject, dtype: DType) -> None:
    """Sums, running sums and means are those of the parts."""
    t, x = data.draw(laid_out(dtype, LINES, **SMALL))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    keep = data.draw(st.booleans())
    close(rk.sum(t, axis=axis, keepdims=keep), x.sum(axis, keepdims=keep), dtype, 1 + np.abs(x).sum())
    close(rk.sum(t), x.sum(), dtype, 1 + np.abs(x).sum())
    close(rk.cumulative_sum(t, axis=axis), x.cumsum(axis), dtype, 1 + np.abs(x).sum())
    if x.shape[axis]:
        close(rk.mean(t, axis=axis), x.mean(axis), dtype, 1 + np.abs(x).sum())


@given(st.data(), BOTH)
def test_products_along_axes(data: st.DataObject, dtype: DType) -> None:
    """prod and cumulative_prod; of nothing they are 1."""
    t, x = data.draw(laid_out(dtype, LINES, low=-2.0, high=2.0))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    exact = x.astype(np.complex128)
    bound = np.prod(np.maximum(np.abs(exact), 1))
    close(rk.prod(t, axis=axis), exact.prod(axis), dtype, bound)
    close(rk.prod(t, keepdims=True), exact.prod(keepdims=True), dtype, 4 * bound)
    got = rk.cumulative_prod(t, axis=axis, include_initial=True)
    first = np.ones(tuple(1 if a == axis % x.ndim else n for a, n in enumerate(x.shape)))
    close(got, np.concatenate([first, exact.cumprod(axis)], axis), dtype, bound)


@BY_DTYPE
@pytest.mark.parametrize("n", [256, 257])
def test_products_along_long_lines(dtype: DType, n: int) -> None:
    """One after the other, or by halves where a line is longer; of either side of the axis."""
    x = np.exp(1j * np.random.default_rng(n).normal(size=(2, n, 3))).astype(dtype.numpy)
    got = rk.cumulative_prod(rk.asarray(x), axis=1)
    np.testing.assert_allclose(got.numpy(), x.astype(complex).cumprod(1), atol=n * 2 * np.finfo(x.dtype).eps)


@given(st.data(), BOTH)
def test_any_all_and_positions(data: st.DataObject, dtype: DType) -> None:
    """A number is true unless it is zero; NaN and -0.0 count as NumPy has them."""
    t, x = data.draw(laid_out(dtype, LINES))
    assert_same(rk.any(t), x.any())
    assert_same(rk.all(t, axis=0), x.all(0))
    assert_same(rk.logical_not(t), ~x.astype(bool))
    assert rk.count_nonzero(t).item() == np.count_nonzero(x)
    for got, want in zip(rk.nonzero(t), np.nonzero(x), strict=True):
        assert_same(got, want)


@given(st.data(), BOTH)
def test_matrix_products(data: st.DataObject, dtype: DType) -> None:
    """matmul, tensordot and vecdot, which conjugates its first operand; a real operand is promoted."""
    n, k, m = (data.draw(st.integers(1, 5)) for _ in range(3))
    a, x = data.draw(laid_out(dtype, (2, n, k), **SMALL))
    b, y = data.draw(laid_out(dtype, (k, m), **SMALL))
    scale = 1 + np.abs(x).sum() * np.abs(y).max()
    close(a @ b, x @ y, dtype, scale)
    close(rk.tensordot(a, b, axes=1), np.tensordot(x, y, 1), dtype, scale)
    close(rk.vecdot(a, a[0]), np.vecdot(x, x[0]), dtype, 1 + (np.abs(x) ** 2).sum())
    close(a @ rk.real(b), x @ y.real, dtype, scale)


@given(st.data(), BOTH)
def test_choosing_and_writing(data: st.DataObject, dtype: DType) -> None:
    """where, take, take_along_axis, item assignment by mask, by index tensor and by slice: bit for bit."""
    x = data.draw(arrays(dtype, (4, 3)))
    y = data.draw(arrays(dtype, (4, 3)))
    t, u = data.draw(relaid(x))[0], data.draw(relaid(y))[0]
    mask = data.draw(hnp.arrays(bool, (4, 3)))
    ids = np.array(data.draw(st.lists(st.integers(-4, 3), min_size=1, max_size=5)))
    assert_same(rk.where(rk.asarray(mask), t, u), np.where(mask, x, y))
    assert_same(rk.where(rk.asarray(mask), t, 2j), np.where(mask, x, dtype.numpy.type(2j)))
    assert_same(rk.take(t, rk.asarray(ids), axis=0), x[ids])
    places = np.abs(ids[:1, None]).repeat(3, 1) % 4
    assert_same(rk.take_along_axis(t, rk.asarray(places), axis=0), np.take_along_axis(x, places, 0))
    assert_same(t[rk.asarray(mask)], x[mask])
    written, want = rk.copy(t), x.copy()
    written[rk.asarray(ids)], want[ids] = u[0], y[0]
    assert_same(written, want)
    written[::2, 1], want[::2, 1] = 1 - 1j, 1 - 1j
    assert_same(written, want)
    written[rk.asarray(mask)], want[mask] = 3, 3
    assert_same(written, want)
    assert_same(rk.repeat(t, 2, axis=1), np.repeat(x, 2, 1))
    assert_same(rk.roll(t, 1), np.roll(x, 1))
    assert_same(rk.concat([t, u, rk.ones((1, 3))]), np.concatenate([x, y, np.ones((1, 3), dtype.numpy)]))
    assert_same(rk.tril(t), np.tril(x))


@given(st.data(), BOTH)
def test_scattering(data: st.DataObject, dtype: DType) -> None:
    """index_add, index_copy, scatter and scatter_add against NumPy's unbuffered operations."""
    x, v = data.draw(arrays(dtype, (4, 3), **SMALL)), data.draw(arrays(dtype, (2, 3), **SMALL))
    ids = np.array(data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=2)))
    t, u, i = rk.asarray(x), rk.asarray(v), rk.asarray(ids)
    added = x.copy()
    np.add.at(added, ids, v)
    close(rk.index_add(t, i, u, axis=0), added, dtype, 16)
    copied = x.copy()
    for at, row in zip(ids, v, strict=True):
        copied[at] = row
    assert_same(rk.index_copy(t, i, u, axis=0), copied)
    columns = np.stack([ids, ids[::-1], ids], 1)
    placed, summed = x.copy(), x.copy()
    for r in range(2):
        for c in range(3):
            placed[columns[r, c], c] = v[r, c]
            summed[columns[r, c], c] += v[r, c]
    assert_same(rk.scatter(t, rk.asarray(columns), u, axis=0), placed)
    close(rk.scatter_add(t, rk.asarray(columns), u, axis=0), summed, dtype, 16)


@given(st.data(), BOTH)
def test_sets_are_ordered_by_real_then_imaginary_part(data: st.DataObject, dtype: DType) -> None:
    """As NumPy's; numbers that differ in the sign of a zero are equal."""
    parts = st.sampled_from([-1.0, -0.0, 0.0, 2.0])
    x = np.array(data.draw(st.lists(st.builds(complex, parts, parts), max_size=12)), dtype.numpy)
    t = rk.asarray(x)
    values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = rk.unique_all(t)
    np.testing.assert_array_equal(found.values.numpy(), values)
    np.testing.assert_array_equal(found.indices.numpy(), indices)
    np.testing.assert_array_equal(found.inverse_indices.numpy(), inverse)
    np.testing.assert_array_equal(found.counts.numpy(), counts)
    np.testing.assert_array_equal(rk.unique_values(t).numpy(), values)
    np.testing.assert_array_equal(rk.unique_counts(t).counts.numpy(), counts)


def test_promotion() -> None:
    """float32 and complex64 meet in complex64, float64 in complex128; a Python complex makes the dtype complex."""
    wanted = {
        (rk.float32, rk.complex64): rk.complex64, (rk.float64, rk.complex64): rk.complex128,
        (rk.float32, rk.complex128): rk.complex128, (rk.int64, rk.complex64): rk.complex64,
        (rk.bool, rk.complex128): rk.complex128, (rk.bfloat16, rk.complex64): rk.complex64,
    }  # fmt: skip
    for (a, b), result in wanted.items():
        assert rk.result_type(a, b) is result is rk.result_type(b, a)
    for dtype, result in ((rk.float32, rk.complex64), (rk.float64, rk.complex128), (rk.int32, rk.complex64)):
        assert (rk.ones((2,), dtype=dtype) * 1j).dtype is result
        assert rk.result_type(dtype, 1j) is result
    assert (rk.ones((2,), dtype=rk.complex128) * 2 + 1.5).tolist() == [3.5, 3.5]
    assert (1j / rk.ones((1,))).tolist() == [1j]
    assert not rk.can_cast(rk.complex64, rk.float32)
    assert rk.isdtype(rk.complex64, "complex floating") and rk.isdtype(rk.complex64, "numeric")
    assert rk.finfo(rk.complex128).dtype is rk.float64 and rk.finfo(rk.complex64).bits == 32


@BY_DTYPE
def test_creation(dtype: DType) -> None:
    """full, zeros, ones, eye, arange and linspace of complex numbers."""
    kind = dtype.numpy
    assert_same(rk.full((2, 3), 1 - 2j, dtype=dtype), np.full((2, 3), 1 - 2j, kind))
    assert_same(rk.zeros((3,), dtype=dtype), np.zeros(3, kind))
    assert_same(rk.ones((3,), dtype=dtype), np.ones(3, kind))
    assert_same(rk.eye(3, dtype=dtype), np.eye(3, dtype=kind))
    assert_same(rk.arange(4, dtype=dtype), np.arange(4, dtype=kind))
    assert_same(rk.linspace(0, 2 + 4j, 3, dtype=dtype), np.linspace(0, 2 + 4j, 3, dtype=kind))
    assert_same(rk.asarray([1, 2j], dtype=dtype), np.array([1, 2j], kind))
    assert rk.asarray([1, 2j]).dtype is rk.complex64 is rk.linspace(0, 1j, 3).dtype is rk.full((), 1j).dtype


@BY_DTYPE
def test_exchange(dtype: DType) -> None:
    """NumPy, DLPack with NumPy, pickling, repr and Python numbers."""
    x = np.array([1 + 2j, -0.5j], dtype.numpy)
    t = rk.asarray(x)
    assert t.numpy().dtype == x.dtype and t.tolist() == x.tolist()
    assert_same(rk.from_dlpack(x), x)
    np.testing.assert_array_equal(np.from_dlpack(t, device="cpu"), x)
    assert_same(pickle.loads(pickle.dumps(t)), x)
    assert repr(t).startswith(f"Tensor([ 1.+2.j , -0.-0.5j], dtype={dtype}")
    assert complex(t[0]) == 1 + 2j == t[0].item()


@BY_DTYPE
def test_exchange_with_torch(dtype: DType) -> None:
    """PyTorch's tensors become ours and ours PyTorch's, through DLPack."""
    torch = pytest.importorskip("torch")
    x = np.array([1 + 2j, -0.5j], dtype.numpy)
    assert_same(rk.from_dlpack(torch.from_numpy(x)), x)
    np.testing.assert_array_equal(torch.from_dlpack(rk.asarray(x)).cpu().numpy(), x)


def test_what_is_refused() -> None:
    """Order, rounding and bits of complex numbers, and losing an imaginary part without saying so."""
    z = rk.asarray([1 + 2j])
    for call in (
        lambda: z < z, lambda: rk.max(z), lambda: rk.sort(z), lambda: rk.floor(z), lambda: z // z, lambda: z % z,
        lambda: rk.maximum(z, z), lambda: rk.hypot(z, z), lambda: z & z, lambda: rk.relu(z),
        lambda: rk.argmax(z), lambda: rk.clip(z, 0, 1), lambda: rk.atan2(z, z), lambda: rk.erf(z),
        lambda: rk.astype(z, rk.float32), lambda: float(z), lambda: int(z), lambda: rk.full((1,), 1j, dtype=rk.float32),
        lambda: rk.zeros((1,)).__setitem__(0, 1j), lambda: rk.linspace(0, 1j, 2, dtype=rk.float32),
        lambda: rk.softmax(z), lambda: rk.signbit(z), lambda: rk.searchsorted(z, z),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()


@given(st.data())
@example(None)
def test_out_and_in_place(data: st.DataObject | None) -> None:
    """In-place operators write where the tensor is; abs takes an out of the parts' dtype."""
    x: Array = np.array([3 + 4j, 1j], np.complex64) if data is None else data.draw(arrays(rk.complex64, (2,), **SMALL))
    t = rk.asarray(x)
    before = t.memory
    t += 1j
    assert t.memory is before
    assert_same(t, x + np.complex64(1j))
    size = rk.empty((2,))
    assert rk.abs(t, out=size) is size
    np.testing.assert_allclose(size.numpy(), np.abs(t.numpy()), rtol=1e-6)


ELEMENTWISE = [n for n in array_api_strict.__all__ if rk._HOME.get(n, "").startswith("rocmkern.ops.rows_")]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_functions_that_take_complex_numbers_are_the_standards(name: str) -> None:
    """Those that array-api-strict takes are taken, the others are TypeErrors."""
    call = getattr(rk, name)
    arity = ROWS[name].arity
    try:
        getattr(array_api_strict, name)(*[array_api_strict.asarray([0.5 + 0.25j])] * arity)
        wanted = True
    except TypeError:
        wanted = name.startswith("logical")  # ours take the truth of any dtype
    if wanted:
        call(*[rk.asarray([0.5 + 0.25j])] * arity)
    else:
        with pytest.raises(TypeError):
            call(*[rk.asarray([0.5 + 0.25j])] * arity)


@given(st.data(), BOTH)
def test_rounding_is_that_of_the_parts(data: st.DataObject, dtype: DType) -> None:
    """Halves to even, signed zeros kept."""
    t, x = data.draw(laid_out(dtype))
    assert bits(rk.round(t).numpy()) == bits(np.round(x))


def test_nan_is_distinct_in_sets() -> None:
    """Each NaN counts for itself, in whichever part it is."""
    x = [complex(math.nan, 0), complex(0, math.nan), complex(0, math.nan), 1]
    assert rk.unique_values(rk.asarray(x)).size == 4


def test_numbers_that_differ_in_the_sign_of_a_zero() -> None:
    """Kept numbers are told apart by the signs of both parts."""
    for number in (1 + 0j, complex(1, -0.0), complex(-0.0, 1), 1j, 1 + 0j):
        found = rk.full((1,), number, dtype=rk.complex128).numpy()[0]
        signs = [math.copysign(1, part) for part in (found.real, found.imag)]
        assert signs == [math.copysign(1, part) for part in (number.real, number.imag)], number
