"""What few elements take by one launch is what many take by several, bit for bit save in sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import ShapeError
from rocmkern.ops import fused, linear, rows, scatter, small, statistics
from tests.tensor.arrays import Array, arrays, assert_same, laid_out, relaid

DTYPES = st.sampled_from([rk.uint8, rk.float16, rk.float32, rk.int64, rk.complex64, rk.complex128])
REALS = st.sampled_from([rk.bool, rk.float32, rk.int64, rk.float8_e4m3])
IDS = st.sampled_from([rk.int64, rk.int8, rk.uint16])


@contextmanager
def as_of_many() -> Iterator[None]:
    """Operations take the way of tensors of many elements."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FEW", "FEW_WRITES", "FEW_SOUGHT", "MOST_UNIQUE"):
            patch.setattr(fused, name, 0)
        patch.setattr(rows, "WHOLE_ROW", 0)
        patch.setattr(linear, "_FEW_PRODUCTS", 0)
        patch.setattr(statistics, "_FEW_PRODUCTS", 0)
        patch.setattr(small, "MOST", 0)
        forget_plans()
        yield
    forget_plans()


def arrays_of(result: Any) -> list[Array]:
    return [t.numpy() for t in (result if isinstance(result, tuple) else (result,))]


def both_ways(operation: Callable[[], Any]) -> tuple[list[Array], list[Array]]:
    few = arrays_of(operation())
    with as_of_many():
        return few, arrays_of(operation())


def assert_both_ways_same(operation: Callable[[], Any]) -> None:
    few, many = both_ways(operation)
    for a, b in zip(few, many, strict=True):
        assert_same(rk.asarray(a), b)


def drawn_ids(draw: st.DataObject, shape: Any, length: int) -> rk.Tensor:
    """Indices of an axis, of some integer type in some layout."""
    dtype = draw.draw(IDS)
    low = 0 if dtype.kind == "unsigned" else -length
    return draw.draw(laid_out(dtype, shape, low=low, high=length - 1))[0]


@settings(max_examples=6)
@given(data=st.data())
def test_reading_at_indices(data: st.DataObject) -> None:
    """take, x[ids] and take_along_axis, of any layouts."""
    t, x = data.draw(laid_out(data.draw(DTYPES), (2, 4, 3)))
    axis = data.draw(st.integers(-3, 2))
    ids = drawn_ids(data, data.draw(st.sampled_from([(), (5,), (2, 2)])), t.shape[axis])
    assert_both_ways_same(lambda: rk.take(t, ids, axis=axis))
    assert_same(rk.take(t, ids, axis=axis), np.take(x, ids.numpy(), axis=axis))
    rows, columns = drawn_ids(data, (2, 3), 4), drawn_ids(data, (2, 3), 3)
    assert_both_ways_same(lambda: t[1][rows, columns])
    ends, middle = drawn_ids(data, (2, 1), 2), slice(1, None)
    for key in (
        (ends, rows, columns),
        (ends, middle, columns),
        (middle, rows, columns),
        (ends, rows),
        (middle, columns % 3),
    ):
        assert_both_ways_same(lambda key=key: t[key])
        assert_same(t[key], x[tuple(k.numpy() if isinstance(k, rk.Tensor) else k for k in key)])
    first = drawn_ids(data, (3,), 2)
    assert_both_ways_same(lambda: t[first])
    if not t.dtype.is_complex:
        shape = [4 if a == axis % 3 else n for a, n in enumerate(t.shape)]
        along = drawn_ids(data, tuple(shape), t.shape[axis])
        assert_both_ways_same(lambda: rk.take_along_axis(t, along, axis=axis))


@settings(max_examples=6)
@given(data=st.data())
def test_writing_at_indices(data: st.DataObject) -> None:
    """Slices and single values, written and added, of any layouts."""
    dtype = data.draw(DTYPES)
    t, _ = data.draw(laid_out(dtype, (2, 4, 3), finite=True))
    lines = drawn_ids(data, (6,), 4)
    values, _ = data.draw(laid_out(dtype, (2, 6, 3), finite=True))
    assert_both_ways_same(lambda: rk.index_copy(t, lines, values, axis=1))
    if dtype is not rk.complex128 and dtype is not rk.complex64:
        each = drawn_ids(data, (2, 6, 3), 4)
        assert_both_ways_same(lambda: rk.scatter(t, each, values, axis=1))
        assert_both_ways_same(lambda: rk.scatter_add(t, each, values, axis=1))
    assert_both_ways_same(lambda: rk.index_add(t, lines, values, axis=1))


@settings(max_examples=6)
@given(data=st.data())
def test_setting_items_in_place(data: st.DataObject) -> None:
    """Into every other row of a larger tensor, of which the rest stays; at indices of one axis, of several."""
    dtype = data.draw(DTYPES)
    x, values = data.draw(arrays(dtype, (8, 3))), data.draw(arrays(dtype, (5, 3)))
    ids, value = drawn_ids(data, (5,), 4), rk.asarray(data.draw(st.sampled_from([values, values[:1]])))
    columns = drawn_ids(data, (3,), 3)
    keys = ids, (slice(None, 1), columns), (ids[:, None], columns), (ids[:, None], columns[None]), (ids[1:4], columns)
    for key in keys:
        into = value[:1] if key is keys[1] else value[0] if key is keys[-1] else value

        def written(key: Any = key, into: rk.Tensor = into) -> rk.Tensor:
            target = rk.asarray(x)
            view = rk.flip(target[::2], axis=0)
            view[key] = into
            return target

        with as_of_many():
            expected = written().numpy()
        assert_same(written(), expected)
        numpy = x.copy()
        parts = key if isinstance(key, tuple) else (key,)
        numpy[::2][::-1][tuple(k.numpy() if isinstance(k, rk.Tensor) else k for k in parts)] = into.numpy()
        assert_same(written(), numpy)


@settings(max_examples=8)
@given(data=st.data())
def test_setting_what_a_mask_chooses(data: st.DataObject) -> None:
    """A value for each, one for all, a part of the tensor itself; of another number nothing is written."""
    dtype = data.draw(DTYPES)
    x, lines = (np.arange(start, end).astype(dtype.numpy).reshape(-1, 2) for start, end in ((30, 78), (0, 24)))
    x, values = x.reshape(6, 4, 2), data.draw(relaid(lines))[0]
    shape, rng = data.draw(st.sampled_from([(3,), (3, 4)])), np.random.default_rng(data.draw(st.integers(0, 99)))
    mask, chosen = data.draw(relaid(rng.random(shape) < 0.6))
    count, rest = int(chosen.sum()), (4, 2)[chosen.ndim - 1 :]
    each = rk.reshape(values, (3, 4, 2))[:count] if len(rest) == 2 else values[:count]
    for into in (each, values[:1], values[0], values[:1, :1], rk.reshape(each, (1, *each.shape)), values[0, 0]):

        def written(into: rk.Tensor = into) -> rk.Tensor:
            target = rk.asarray(x)
            rk.flip(target[::2], axis=0)[mask] = into
            return target

        numpy = x.copy()
        numpy[::2][::-1][chosen] = into.numpy()
        assert_same(written(), numpy, dtype)
        with as_of_many():
            assert_same(written(), numpy, dtype)
    itself = rk.asarray(x)
    itself[:3][mask] = itself[3:4][(0,) * chosen.ndim]
    x[:3][chosen] = x[3:4][(0,) * chosen.ndim]
    assert_same(itself, x, dtype)
    wrong = rk.zeros((count + 2, *rest), dtype=dtype)
    for way in (nullcontext(), as_of_many()):
        with way, pytest.raises(ShapeError):
            itself[:3][mask] = wrong
    assert_same(itself, x, dtype)


@settings(max_examples=6)
@given(data=st.data())
def test_repeating_and_quantiles(data: st.DataObject) -> None:
    """As often as a tensor says along any axis; values at shares of the elements."""
    t, x = data.draw(laid_out(data.draw(DTYPES), (2, 4, 3)))
    axis = data.draw(st.sampled_from([None, 0, 1, -1]))
    length = x.size if axis is None else x.shape[axis]
    times, counts = data.draw(
        laid_out(data.draw(IDS), data.draw(st.sampled_from([(), (1,), (length,)])), low=0, high=4)
    )
    assert_both_ways_same(lambda: rk.repeat(t, times, axis=axis))
    assert_same(rk.repeat(t, times, axis=axis), np.repeat(x, counts.astype(np.int64), axis), t.dtype)
    dtype = data.draw(st.sampled_from([rk.float16, rk.float32, rk.bfloat16, rk.float8_e4m3]))
    lines, _ = data.draw(laid_out(dtype, (3, 5)))
    share, along = data.draw(st.sampled_from([0, 0.3, 0.5, 1, [0.1, 0.75]])), data.draw(st.sampled_from([None, 0, 1]))
    assert_both_ways_same(lambda: rk.quantile(lines, share, axis=along))


@settings(max_examples=6)
@given(data=st.data())
def test_what_is_not_zero(data: st.DataObject) -> None:
    """nonzero, count_nonzero and x[mask]."""
    t, _ = data.draw(laid_out(data.draw(REALS), (3, 4)))
    assert_both_ways_same(lambda: rk.nonzero(t))
    axis = data.draw(st.sampled_from([None, 0, 1]))
    assert_both_ways_same(lambda: rk.count_nonzero(t, axis=axis))
    x, _ = data.draw(laid_out(data.draw(DTYPES), (3, 4, 2)))
    mask = rk.asarray(data.draw(arrays(rk.bool, data.draw(st.sampled_from([(3,), (3, 4)])))))
    assert_both_ways_same(lambda: x[mask])


@settings(max_examples=6)
@given(data=st.data())
def test_sets(data: st.DataObject) -> None:
    """The distinct values of any layout, and what is told of them; membership."""
    dtype = data.draw(st.one_of(REALS, st.sampled_from([rk.complex64, rk.complex128])))
    t, _ = data.draw(laid_out(dtype, (3, 5)))
    assert_both_ways_same(lambda: rk.unique_values(t))
    assert_both_ways_same(lambda: tuple(rk.unique_all(t)))
    sought, invert = data.draw(laid_out(dtype, (4,)))[0], data.draw(st.booleans())
    assert_both_ways_same(lambda: rk.isin(t, sought, invert=invert))


@pytest.mark.parametrize("dtype", [rk.float16, rk.float32, rk.float64], ids=lambda d: d.short)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_spread(dtype: DType, axis: Any) -> None:
    """Variances and deviations agree to a rounding or two."""
    x = (np.random.default_rng(1).normal(size=(3, 5, 4)) + 5).astype(dtype.numpy)
    t = rk.asarray(x)
    for operation in (rk.var, rk.std):
        few, many = both_ways(lambda operation=operation: operation(t, axis=axis, correction=1))
        np.testing.assert_allclose(few[0].astype(float), many[0].astype(float), rtol=4 * np.finfo(dtype.numpy).eps)


@pytest.mark.parametrize("dtype", [rk.float16, rk.float32, rk.float64], ids=lambda d: d.short)
def test_attention(dtype: DType) -> None:
    """Keys that batches share, transposed values, masks of truth and to add; all of a row masked is NaN."""
    rng = np.random.default_rng(2)
    q, k, v = (rk.asarray(rng.normal(size=s).astype(dtype.numpy)) for s in ((2, 3, 4, 8), (3, 5, 8), (2, 1, 6, 5)))
    truth = rng.random((4, 5)) < 0.6
    truth[:, 0], truth[2] = True, False
    added = rng.normal(size=(3, 1, 5)).astype(dtype.numpy)
    for mask in (None, rk.asarray(truth), rk.asarray(added)):
        few, many = both_ways(lambda mask=mask: rk.scaled_dot_product_attention(q, k, rk.matrix_transpose(v), mask))
        assert few[0].shape == (2, 3, 4, 6)
        np.testing.assert_allclose(few[0].astype(float), many[0].astype(float), atol=16 * np.finfo(dtype.numpy).eps)


@pytest.mark.parametrize("keys", [fused.MOST_KEYS, fused.MOST_KEYS + 1])
def test_attention_to_as_many_keys_as_a_block_keeps_scores_of(keys: int) -> None:
    rng = np.random.default_rng(keys)
    q, k, v = (rng.normal(size=s) for s in ((2, 4), (keys, 4), (keys, 3)))
    weights = np.exp(q @ k.T / 2)
    got = rk.scaled_dot_product_attention(*map(rk.asarray, (q, k, v))).numpy()
    np.testing.assert_allclose(got, weights / weights.sum(-1, keepdims=True) @ v, rtol=1e-12)


@pytest.mark.parametrize("dtype", [rk.int8, rk.uint64, rk.complex64, rk.complex128], ids=lambda d: d.short)
def test_products(dtype: DType) -> None:
    """Of integers bit for bit, wrapping, of complex numbers to a few roundings; batches that broadcast, vectors."""
    rng = np.random.default_rng(3)

    def tensor(*shape: int) -> rk.Tensor:
        if dtype.is_integer:
            return rk.asarray(rng.integers(0, 127, shape).astype(dtype.numpy))
        return rk.asarray((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype.numpy))

    for a, b in (((3, 4), (4, 5)), ((4,), (4, 2)), ((2, 1, 3, 4), (3, 4, 1)), ((5,), (5,)), ((2, 3), (3,))):
        x, y = tensor(*a), tensor(*b)
        few, many = both_ways(lambda x=x, y=y: x @ y)
        assert few[0].dtype == many[0].dtype and few[0].shape == (x.numpy() @ y.numpy()).shape
        if dtype.is_integer:
            assert np.array_equal(few[0], many[0]) and np.array_equal(few[0], x.numpy() @ y.numpy())
        else:
            np.testing.assert_allclose(few[0], x.numpy() @ y.numpy(), atol=32 * np.finfo(dtype.numpy).eps)


@pytest.mark.parametrize("dtype", [rk.float16, rk.float64, rk.int32, rk.float8_e4m3], ids=lambda d: d.short)
def test_cross_entropy(dtype: DType) -> None:
    """As log_softmax has it, to the roundings of the dtype; logits of integers are float32."""
    rng = np.random.default_rng(4)
    x, ids = rk.asarray((4 * rng.normal(size=(7, 9))).astype(dtype.numpy)), rk.asarray(rng.integers(-9, 9, 7))
    for logits in (x, rk.asarray(x.numpy().T.copy()).T):
        few, many = both_ways(lambda logits=logits: rk.cross_entropy(logits, ids))
        wanted = dtype if dtype.is_float else rk.float32
        assert few[0].shape == () and few[0].dtype == wanted.numpy
        np.testing.assert_allclose(few[0].astype(float), many[0].astype(float), rtol=8 * float(rk.finfo(wanted).eps))


def test_an_index_outside_is_told_alike() -> None:
    """The same words either way, and what was to be written in place stays as it was."""
    x, each = rk.arange(6), rk.asarray([[0, 1], [4, -9]])
    bad = rk.asarray([1, 7, -8], dtype=rk.int16)
    operations: list[Callable[[], object]] = [
        lambda: rk.take(x, bad),
        lambda: x[bad],
        lambda: rk.one_hot(bad, 6),
        lambda: rk.index_add(x, bad, 1),
        lambda: rk.index_copy(x, bad, 1),
        lambda: rk.scatter(x, bad, 1),
        lambda: rk.scatter_add(x, bad, 1),
        lambda: rk.take_along_axis(rk.reshape(x, (2, 3)), each, axis=1),
        lambda: rk.scatter(rk.reshape(x, (2, 3)), each, 1, axis=1),
        lambda: x.__setitem__(bad, 5),
        lambda: rk.reshape(x, (2, 3))[each, each],
        lambda: rk.reshape(x, (2, 3))[each * 0, each],
        lambda: rk.reshape(x, (1, 2, 3))[each * 0, each * 0, each],
        lambda: rk.reshape(x, (2, 3)).__setitem__((each[0], each[1]), 5),
        lambda: rk.reshape(x, (2, 3)).__setitem__((slice(None), each[1]), 5),
        lambda: rk.cross_entropy(rk.reshape(x, (3, 2)), bad),
    ]
    for operation in operations:
        with pytest.raises(IndexError) as few:
            operation()
            x.device.synchronize()  # a GPU tells it then
        with as_of_many(), pytest.raises(IndexError) as many:
            operation()
            x.device.synchronize()
        assert str(few.value) == str(many.value)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_one_launch() -> None:
    """Of contiguous tensors."""
    x, ids, q = rk.asarray([3.0, 0.0, 3.0]), rk.asarray([2, 0, 1]), rk.ones((1, 2, 4, 8))
    m, y, mask, z = rk.ones((3, 3)), rk.ones((3,)), x > 0, rk.asarray([1j, 2.0])
    operations: list[Callable[[], object]] = [
        lambda: rk.take(x, ids),
        lambda: x[ids],
        lambda: x[mask],
        lambda: x.__setitem__(ids, y),
        lambda: m[:, ids],
        lambda: m[ids, ids],
        lambda: m.__setitem__((slice(None), ids), 2.0),
        lambda: m.__setitem__((ids, ids), y),
        lambda: m.__setitem__([0, 2], y),
        lambda: x.__setitem__(mask, y[:2]),
        lambda: m[[0, -1]],
        lambda: rk.repeat(m, ids, axis=1),
        lambda: rk.pad(m, 1, mode="reflect"),
        lambda: rk.quantile(m, 0.3, axis=1),
        lambda: rk.percentile(m, 90, method="hazen"),
        lambda: rk.median(m),
        lambda: rk.isclose(m, y),
        lambda: rk.allclose(z, 2),
        lambda: rk.array_equal(m, m),
        lambda: rk.logical_xor(x, y),
        lambda: rk.nan_to_num(z),
        lambda: rk.cross_entropy(m, ids),
        lambda: rk.linear(m, m, y),
        lambda: rk.conv1d(q[0], q[0, :, :, :3], y[:2]),
        lambda: rk.unique_all(z),
        lambda: rk.isin(z, z),
        lambda: rk.take_along_axis(x, ids),
        lambda: rk.scatter(x, ids, 1.0),
        lambda: rk.scatter_add(x, ids, x),
        lambda: rk.index_add(x, ids, x),
        lambda: rk.index_copy(x, ids, x),
        lambda: rk.embedding(m, ids),
        lambda: rk.one_hot(ids, 3),
        lambda: rk.nonzero(m),
        lambda: rk.count_nonzero(m, axis=0),
        lambda: rk.unique_all(x),
        lambda: rk.unique_values(x),
        lambda: rk.isin(x, y),
        lambda: rk.var(m, axis=0),
        lambda: rk.std(x, correction=1),
        lambda: rk.tril(m),
        lambda: rk.triu(m.T, k=1),
        lambda: rk.clip(x, 0, 2),
        lambda: rk.clip(m, x, 2.0),
        lambda: rk.normalize(m),
        lambda: rk.scaled_dot_product_attention(q, q, q),
    ]
    for operation in operations:
        assert_launches(1, operation)


def assert_launches(expected: int, operation: Callable[[], object]) -> None:
    operation()
    with rk.Trace() as trace:
        operation()
    names = [row.kernel for row in trace.totals() for _ in range(row.launches)]
    assert len(names) == expected, names


def test_reading_many_at_indices_is_one_launch_too() -> None:
    """It checks the indices that it reads at, of any type in any layout."""
    m, ids = rk.reshape(rk.arange(12.0), (3, 4)), rk.asarray([[2, 0], [1, -1]], dtype=rk.int8)
    with as_of_many():
        assert_launches(1, lambda: rk.take(m, ids.T, axis=1))
        assert_launches(1, lambda: m[ids])
        assert_launches(1, lambda: rk.embedding(m, ids))
        assert_launches(1, lambda: rk.take_along_axis(m.T, ids[:1], axis=1))


def test_writing_many_at_indices_is_a_copy_and_a_launch() -> None:
    """It checks the int64 indices that it writes at; where blocks hold the columns, it is the launch alone."""
    m, ids = rk.reshape(rk.arange(12.0), (3, 4)), rk.asarray([[2, 0, 1, -1]])
    with as_of_many(), pytest.MonkeyPatch.context() as patch:
        assert_launches(1, lambda: rk.scatter_add(m, ids, m[:1], axis=0))
        patch.setattr(scatter, "_TOO_LONG", 0)
        patch.setattr(scatter, "_ENOUGH_COLUMNS", 1)
        forget_plans()
        assert_launches(2, lambda: rk.scatter(m, ids, m[:1], axis=0))
        assert_launches(2, lambda: rk.scatter_add(m, ids, m[:1], axis=0))
        assert_launches(2, lambda: rk.index_copy(m, ids[0], m, axis=1))


def test_a_limit_of_elements() -> None:
    """Just below and above it the values are right."""
    for n in (fused.FEW, fused.FEW + 1):
        x, ids = np.arange(n) % 7, np.arange(n)[::-1] % 5
        t, at = rk.asarray(x), rk.asarray(ids)
        assert_same(rk.take(t, at), x[ids])
        assert_same(rk.nonzero(t)[0], np.nonzero(x)[0])
        assert_same(t[t > 3], x[x > 3])
        assert_same(rk.unique_values(t), np.unique(x))
        assert_same(rk.isin(t, t[:7]), np.isin(x, x[:7]))
        assert_same(rk.one_hot(at, 5), np.eye(5, dtype=np.float32)[ids])
