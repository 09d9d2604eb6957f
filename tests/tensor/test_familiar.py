"""Functions and methods that NumPy has beyond the standard, against NumPy's."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import methods
from rocmkern.dtypes import ALL
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.ops.familiar import PadMode
from tests.tensor.arrays import FLOATS, FULL_SHAPES, INTEGERS, assert_same, laid_out, relaid

LIMITS = ((1e-5, 1e-8), (0.0, 0.0), (0.25, 0.0), (0.0, 0.5), (np.inf, 0.0))
WITH_SUMS = (rk.int32, rk.uint8, rk.float32, rk.float64)
SUBSCRIPTS = (
    "ij,jk->ik", "ij,jk", "ij,kj->ki", "ii->i", "ii", "ii->", "ij->ji", "ij", "i,j->ij", "i,i", "ij,ij->", "ij,ij->j",
    "bij,bjk->bik", "bij,bjk->kbi", "...ij,...jk->...ik", "...i,...i", "...,...", "i...->...", "ij,jk,kl->il",
    "ij,j,k->ki", "iij,jk->ik", "ab,bc,ca", "i,ij,j", "abc,bd->adc", "j...k->...", " i j , j -> i ",
)  # fmt: skip


def letters(part: str) -> str:
    return part.replace("...", "").replace(" ", "").replace(",", "")


@settings(max_examples=60)
@given(st.data())
def test_einsum_equals_numpys(data: st.DataObject) -> None:
    """Any subscripts of the list on any lengths and layouts, those of 1 repeated."""
    subscripts = data.draw(st.sampled_from(SUBSCRIPTS))
    dtype = data.draw(st.sampled_from(WITH_SUMS))
    parts = subscripts.partition("->")[0].split(",")
    sizes = {c: data.draw(st.integers(0, 4)) for c in letters("".join(parts))}
    rest = data.draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    pairs = []
    for part in parts:
        before, dots, after = part.replace(" ", "").partition("...")
        thin = data.draw(st.sampled_from("none " + before + after)) if len(set(before + after)) > 1 else " "
        lengths = [[1 if c == thin else sizes[c] for c in side] for side in (before, after)]
        shape = (*lengths[0], *(rest[data.draw(st.integers(0, len(rest))) :] if dots else ()), *lengths[1])
        pairs.append(data.draw(laid_out(dtype, shape, low=-3 if dtype.kind != "unsigned" else 0, high=3)))
    got = rk.einsum(subscripts, *[p[0] for p in pairs])
    want = np.einsum(subscripts, *[p[1] for p in pairs])
    assert got.dtype is dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy().astype(float), want.astype(float), rtol=1e-5, atol=1e-5)
    assert all(got.memory is not p[0].memory for p in pairs)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_einsum_of_every_form(subscripts: str) -> None:
    """Each letter and both axes of an ellipsis of a length of their own."""
    parts = subscripts.replace(" ", "").partition("->")[0].split(",")
    lengths = {c: n for n, c in enumerate(sorted({*letters("".join(parts))}), 2)}
    shapes = [[n for c in part.replace("...", ".") for n in ([6, 7] if c == "." else [lengths[c]])] for part in parts]
    given = [np.random.default_rng(i).integers(-9, 9, shape).astype(np.float64) for i, shape in enumerate(shapes)]
    assert_same(rk.einsum(subscripts, *map(rk.asarray, given)), np.einsum(subscripts, *given), rk.float64)


def test_einsum_of_complex_and_of_mixed_dtypes() -> None:
    """Operands promote as those of the operators."""
    a, b = np.arange(6).reshape(2, 3) * (1 + 2j), np.arange(12.0).reshape(3, 4)
    got = rk.einsum("ij,jk->ik", rk.asarray(a), rk.asarray(b))
    assert_same(got, a @ b, rk.complex128)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)]), ("ij->ik", [(2, 3)]), ("ij->ii", [(2, 3)]), ("i", [(2, 3)]), ("ijk", [(2, 3)]),
        ("i,j", [(2,)]), ("i1->i", [(2, 3)]), ("i......", [(2, 3)]), ("", []), ("ii", [(2, 3)]), ("i->i->i", [(2,)]),
    ],
)  # fmt: skip
def test_einsum_refuses(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    """What does not fit is a ValueError, as NumPy's; lengths, letters, counts."""
    with pytest.raises(ValueError):
        np.einsum(subscripts, *[np.ones(s) for s in shapes])
    with pytest.raises(ShapeError, match="einsum"):
        rk.einsum(subscripts, *[rk.ones(s) for s in shapes])


@settings(max_examples=40)
@given(st.data())
def test_methods_are_numpys(data: st.DataObject) -> None:
    """Each method gives what NumPy's gives, on any layout."""
    dtype = data.draw(st.sampled_from((rk.float32, rk.float64, rk.int32, rk.int64)))
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=-9, high=9))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    for name in ("min", "max", "any", "all", "argmin", "argmax", "cumsum", "cumprod", "sum", "prod"):
        want = getattr(x, name)(axis)
        got = getattr(t, name)(axis)
        assert got.shape == np.shape(want), name
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-4, atol=1e-300, err_msg=name)  # by another way to 0
    for name in ("mean", "var", "std"):
        np.testing.assert_allclose(getattr(t, name)(axis).numpy(), getattr(x, name)(axis), rtol=1e-3, atol=1e-3)
    assert t.sum(axis, keepdims=True).shape == x.sum(axis, keepdims=True).shape
    assert_same(t.ravel(), x.ravel(), dtype)
    assert_same(t.flatten(), x.flatten(), dtype)
    assert t.flatten().memory is not t.memory
    assert_same(t.transpose(), x.transpose(), dtype)
    assert_same(t.transpose(*reversed(range(x.ndim))), x.T, dtype)
    assert_same(t.swapaxes(0, -1), x.swapaxes(0, -1), dtype)
    assert_same(t[None].squeeze(), x.squeeze(), dtype)
    assert_same(t[None].squeeze(0), x, dtype)
    assert_same(t.repeat(2, axis), x.repeat(2, axis), dtype)
    assert_same(t.clip(-2, 3), x.clip(-2, 3), dtype)
    assert_same(t.round(), x.round(), dtype)
    assert_same(t.take(rk.asarray([0, -1]), axis), x.take([0, -1], axis), dtype)
    assert_same(t.argsort(), x.argsort(kind="stable"), rk.int64)
    assert [n.numpy().tolist() for n in t.nonzero()] == [n.tolist() for n in x.nonzero()]
    assert t.tobytes() == x.tobytes()


def test_methods_in_place_and_of_complex_numbers() -> None:
    """sort and fill write the tensor itself, through views too; real, imag and conj are what NumPy's are."""
    x = np.array([[3, 1, 2], [9, 7, 8]])
    t = rk.asarray(x)
    assert t.T.sort(0) is None  # type: ignore[func-returns-value]  # as NumPy's
    x.T.sort(0)
    assert_same(t, x)
    t[:, 1:].fill(5)
    x[:, 1:].fill(5)
    assert_same(t, x)
    z = np.array([1 + 2j, -3j])
    c = rk.asarray(z)
    assert_same(c.real, z.real)
    assert_same(c.imag, z.imag)
    assert_same(c.conj(), z.conj(), rk.complex128)
    assert_same(rk.asarray(x).dot(rk.asarray(x.T)), x.dot(x.T))


def test_every_method_of_the_module_is_one_of_the_class() -> None:
    """None is forgotten, and each has a docstring."""
    own = {n: f for n, f in vars(methods).items() if inspect.isfunction(f) and f.__module__ == methods.__name__}
    functions = {n: f for n, f in own.items() if not n.startswith("_")}
    assert functions
    for name, function in functions.items():
        assert getattr(inspect.getattr_static(rk.Tensor, name), "fget", None) or getattr(rk.Tensor, name) is function
        assert function.__doc__


@settings(max_examples=40)
@given(st.data())
def test_split_swapaxes_ravel(data: st.DataObject) -> None:
    """Views of the same memory with NumPy's shapes and values."""
    dtype = data.draw(st.sampled_from(ALL))
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    cuts = data.draw(st.lists(st.integers(-6, 6), max_size=3))
    for got, want in zip(rk.split(t, cuts, axis=axis), np.split(x, cuts, axis), strict=True):
        assert got.memory is t.memory
        assert_same(got, want, dtype)
    for got, want in zip(rk.split(t, x.shape[axis], axis=axis), np.split(x, x.shape[axis], axis), strict=True):
        assert_same(got, want, dtype)
    assert_same(rk.swapaxes(t, 0, axis), np.swapaxes(x, 0, axis), dtype)
    assert_same(rk.ravel(t), np.ravel(x), dtype)
    copied = rk.array(t)
    assert copied.memory is not t.memory
    assert_same(copied, x, dtype)


@pytest.mark.parametrize("dtype", [rk.bool, rk.float16, rk.float32, rk.complex64, rk.complex128], ids=str)
@settings(max_examples=8)
@given(data=st.data())
def test_pad(dtype: rk.DType, data: st.DataObject) -> None:
    """Every mode and form of the width."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES))
    pair = st.tuples(st.integers(0, 4), st.integers(0, 4))
    width: Any = data.draw(st.one_of(st.integers(0, 3), pair, st.lists(pair, min_size=x.ndim, max_size=x.ndim)))
    for mode in get_args(PadMode):
        assert_same(rk.pad(t, width, mode=mode), np.pad(x, width, mode=mode), dtype)
    assert_same(rk.pad(t, width, constant_values=1), np.pad(x, width, constant_values=1), dtype)


def close_as_numpy_has_it(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """np.isclose; its definition for types that NumPy does not have, whose steps round to them."""
    if x.dtype.kind != "V":
        return np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)
    r, a = (np.array(limit, x.dtype) for limit in (rtol, atol))
    near = (abs(x - y) <= a + r * abs(y)) & np.isfinite(y) | (x == y)
    return near | np.isnan(x) & np.isnan(y) if equal_nan else near


@pytest.mark.parametrize("dtype", [*FLOATS, rk.complex64, rk.complex128, rk.int64, rk.uint8], ids=str)
@settings(max_examples=12)
@given(data=st.data())
def test_isclose_and_equality(dtype: rk.DType, data: st.DataObject) -> None:
    """Signs, infinities and NaN as NumPy's; tolerances; any layouts, shapes that broadcast; numbers."""
    numbers: list[Any] = [0, 1, 2**53, 2**53 + 1] if dtype is rk.int64 else [0, 1, 200]
    if not dtype.is_integer:
        numbers = [0, -0.0, 1, 1.0000001, 1.001, 1.125, -1, 200, np.inf, -np.inf, np.nan]
    elements = st.sampled_from(numbers)
    if dtype.is_complex:
        elements = st.builds(complex, elements, elements)
    size = data.draw(st.sampled_from([4, 20]))
    lines = st.lists(elements, min_size=size, max_size=size).map(lambda line: np.array(line).astype(dtype.numpy))
    (a, x), (b, y) = (data.draw(relaid(data.draw(lines).reshape(4, -1))) for _ in range(2))
    if data.draw(st.booleans()):
        b, y = b[:, :1], y[:, :1]
    limits: Any = dict(zip(("rtol", "atol"), data.draw(st.sampled_from(LIMITS)), strict=True))
    nans = data.draw(st.booleans())
    with np.errstate(all="ignore"):
        want = close_as_numpy_has_it(x, y, **limits, equal_nan=nans)
        assert_same(rk.isclose(a, b, **limits, equal_nan=nans), want)
        assert rk.allclose(a, b, **limits, equal_nan=nans) is bool(want.all())
        number = close_as_numpy_has_it(x, np.array(1, dtype.numpy), **limits, equal_nan=False)
        assert_same(rk.isclose(a, 1, **limits), number)
    assert rk.array_equal(a, b) is np.array_equal(x, y)
    assert rk.array_equal(a, a) is np.array_equal(x, x)


@pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16, rk.float32, rk.float64], ids=str)
def test_closeness_at_its_limit(dtype: rk.DType) -> None:
    """Every step rounds to the dtype, as NumPy's do: of numbers that differ by about as much as is allowed."""
    rng = np.random.default_rng(1)
    y = rng.uniform(1, 2, 3000).astype(dtype.numpy)
    bound = np.array(0.01 * y.astype(np.float64) + 0.003).astype(dtype.numpy)
    x = (y + bound).astype(dtype.numpy)
    got = rk.isclose(rk.asarray(x), rk.asarray(y), rtol=0.01, atol=0.003)
    want = close_as_numpy_has_it(x, y, 0.01, 0.003, False)
    assert 0.1 < want.mean() < 0.9
    assert_same(got, want)


def test_closeness_within_limits_of_each_element() -> None:
    """Limits that are tensors, also where NumPy's function is called and where nothing is finite or a number."""
    x = np.array([[1.0, 2.0, np.inf], [np.nan, 1e6, -np.inf]])
    y = np.array([[1.1, 2.1, np.inf], [np.nan, 1e6 + 1, np.inf]])
    rtol, atol = np.array([[0.2], [0.0]]), np.array([0.0, 0.05, 2.0])
    limits = {"rtol": rk.asarray(rtol), "atol": rk.asarray(atol)}
    for nans in (False, True):
        want = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=nans)
        assert_same(rk.isclose(rk.asarray(x), rk.asarray(y), **limits, equal_nan=nans), want)
        assert_same(np.isclose(rk.asarray(x), rk.asarray(y), **limits, equal_nan=nans), want)
    integers = rk.asarray([1, 2, 5])
    assert rk.isclose(integers, 3, rtol=0, atol=rk.asarray([1, 1, 2])).tolist() == [False, True, True]
    assert rk.allclose(integers, 3, rtol=rk.asarray(1.0))


def test_closeness_of_many_and_of_none() -> None:
    """More elements than the host looks at; none are all close."""
    x = np.arange(5000.0)
    t, almost = rk.asarray(x), rk.asarray(np.where(x == 4999, 4998, x))
    assert rk.allclose(t, t) and rk.array_equal(t, t)
    assert not rk.allclose(t, almost, rtol=0) and not rk.array_equal(t, almost)
    assert rk.allclose(t[:0], t[:0]) and rk.array_equal(t[:0], t[:0])
    assert_same(rk.isclose(t.astype(rk.int32), t + 0.5, rtol=0, atol=0.5), np.ones(5000, bool))


@settings(max_examples=40)
@given(st.data())
def test_quantile_and_median(data: st.DataObject) -> None:
    """Shares along axes, of floats and integers, with NaN."""
    dtype = data.draw(st.sampled_from((rk.float64, rk.float32)))
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=-100, high=100))
    if data.draw(st.booleans()):
        x = x.copy()
        x.flat[0] = np.nan
        t = rk.asarray(x)
    axis: Any = data.draw(st.sampled_from([None, -1, 0, tuple(range(x.ndim))]))
    keep = data.draw(st.booleans())
    share = data.draw(st.sampled_from([0, 0.25, 0.5, 1 / 3, 1, [0.1, 0.9], []]))
    got = rk.quantile(t, share, axis=axis, keepdims=keep)
    want = np.quantile(x.astype(np.float64), share, axis=axis, keepdims=keep)
    assert got.dtype is dtype and got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-4)
    middle = rk.median(t, axis=axis, keepdims=keep).numpy()
    np.testing.assert_allclose(middle, np.median(x, axis, keepdims=keep), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [*FLOATS, rk.complex64, rk.int32], ids=str)
@settings(max_examples=8)
@given(data=st.data())
def test_nan_to_num(dtype: rk.DType, data: st.DataObject) -> None:
    """NaN and infinities replaced, other values and -0.0 as they are; a NaN may become infinite."""
    t, x = data.draw(laid_out(dtype))
    for nan, above, below in ((0.0, None, None), (1, 2, -3), (np.inf, None, 0.5)):
        if x.dtype.kind == "V":
            bounds = rk.finfo(dtype)
            values = [np.array(v, x.dtype) for v in (nan, bounds.max if above is None else above,
                                                     bounds.min if below is None else below)]  # fmt: skip
            wide = x.astype(np.float64)
            want = np.select([np.isnan(wide), wide == np.inf, wide == -np.inf], values, x)
        else:
            want = np.nan_to_num(x, nan=nan, posinf=above, neginf=below)
        got = rk.nan_to_num(t, nan=nan, posinf=above, neginf=below)
        assert_same(got, want, dtype)
        assert dtype.is_integer or got.tobytes() == want.tobytes()


@settings(max_examples=30)
@given(st.data())
def test_bincount(data: st.DataObject) -> None:
    """Counts and weighted sums."""
    kind = data.draw(st.sampled_from(INTEGERS))
    t, x = data.draw(laid_out(kind, st.tuples(st.integers(0, 9)), low=0, high=12))
    least = data.draw(st.integers(0, 15))
    assert_same(rk.bincount(t, minlength=least), np.bincount(x.astype(np.int64), minlength=least), rk.int64)
    w, weights = data.draw(laid_out(rk.float64, x.shape, low=-9, high=9))
    got = rk.bincount(t, weights=w)
    np.testing.assert_allclose(got.numpy(), np.bincount(x.astype(np.int64), weights), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize(("count", "bins"), [(5000, 5), (3000, 100), (4000, 300), (2000, 70000), (0, 0)])
def test_bincount_of_many(dtype: type[np.integer[Any]], count: int, bins: int) -> None:
    """Numbers that many elements have, and ends of each narrower dtype that they are sorted in."""
    bins = min(bins, int(np.iinfo(dtype).max) + 1)
    x = np.random.default_rng(count).integers(0, max(bins, 1), count).astype(dtype)
    x[: 2 * bool(count)] = max(bins - 1, 0)
    for least in (0, bins + 1077):
        found = rk.bincount(rk.asarray(x), minlength=least)
        assert np.array_equal(found.numpy(), np.bincount(x.astype(np.int64), minlength=least))


@settings(max_examples=40)
@given(st.data())
def test_dot_inner_kron(data: st.DataObject) -> None:
    """Products of tensors of 0 to 3 axes."""
    dtype = data.draw(st.sampled_from(WITH_SUMS))
    limits = {"low": 0, "high": 9}
    n = data.draw(st.integers(1, 4))
    first, second = (data.draw(st.lists(st.integers(1, 3), max_size=2).map(tuple)) for _ in range(2))
    t, x = data.draw(laid_out(dtype, (*first, n), **limits))
    s, y = data.draw(laid_out(dtype, (*second[:-1], n, *second[-1:]), **limits))
    u, z = data.draw(laid_out(dtype, (*second, n), **limits))
    pairs = [
        (rk.dot(t, s if second else u), np.dot(x, y if second else z)),
        (rk.inner(t, u), np.inner(x, z)),
        (rk.kron(t, u), np.kron(x, z)),
    ]
    one, number = rk.asarray(np.array(2, dtype.numpy)), np.array(2, dtype.numpy)
    pairs += [(ours(one, t), theirs(number, x)) for ours, theirs in ((rk.dot, np.dot), (rk.inner, np.inner))]
    for got, want in pairs:
        assert got.dtype is dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, strict=True)


def test_what_does_not_fit_is_refused() -> None:
    """NumPy's classes of error, with the fact and the remedy."""
    x = rk.ones((4, 3))
    for wrong in (
        lambda: rk.split(x, 3),
        lambda: rk.split(x, 0),
        lambda: rk.pad(x, -1),
        lambda: rk.pad(x, (1, 2, 3)),
        lambda: rk.pad(x, ((1, 2), (1, 2), (1, 2))),
        lambda: rk.pad(x, 1, mode="nonsense"),  # type: ignore[arg-type]  # on purpose
        lambda: rk.pad(rk.ones((0,)), 1, mode="edge"),
        lambda: rk.quantile(x, 1.5),
        lambda: rk.quantile(rk.ones((0,)), 0.5),
        lambda: rk.bincount(x),
        lambda: rk.bincount(rk.asarray([-1, 2])),
        lambda: rk.bincount(rk.asarray([1, 2]), weights=x),
        lambda: rk.bincount(rk.asarray([1, 2]), minlength=-1),
        lambda: rk.swapaxes(x, 0, 2),
        lambda: rk.dot(x, x),
    ):
        with pytest.raises(ValueError):
            wrong()
    for wrong in (
        lambda: rk.einsum("i->i", rk.asarray([True])),
        lambda: rk.isclose(x, x, rtol="much"),  # type: ignore[arg-type]  # on purpose
        lambda: rk.nan_to_num(x, posinf=1j),  # type: ignore[arg-type]  # on purpose
    ):
        with pytest.raises(DTypeError):
            wrong()
    with pytest.raises(TypeError):
        rk.quantile(rk.asarray([1j]), 0.5)


def test_shares_may_come_as_an_array() -> None:
    """NumPy's, or a tensor, whose numbers the host reads each time."""
    x = rk.asarray([3.0, 1.0, 2.0])
    assert rk.quantile(x, np.array([0, 0.5])).tolist() == [1, 2]
    for share, value in ((0.5, 2), (1.0, 3)):
        assert float(rk.quantile(x, rk.asarray(share))) == value
