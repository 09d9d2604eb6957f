"""NumPy's names give NumPy's values, called as ours, and as NumPy's functions of tensors."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rocmkern as rk

RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
V, W = RNG.standard_normal(7), RNG.standard_normal(5)
N = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan, 5.0, 4.0, 9.0]])
L, J = np.array([3, 1, 2, 3, 0, -2]), np.array([2, 3, 7, -2])
C = A + 1j * B
M = np.array([True, False, True])
K = np.array([[1, 0, 2, 1]] * 3)

# Functions of the same name and arguments in both.
SAME: list[tuple[Any, ...]] = [
    ("absolute", A),
    ("amax", A, 1),
    ("amin", A, 0),
    ("angle", C),
    ("angle", A, True),
    ("append", A, B, 0),
    ("append", V, W),
    ("arccos", np.tanh(A)),
    ("argpartition", np.sort(V), 3),
    ("around", A, 2),
    ("array_split", V, 3),
    ("array_split", V, [2, 5]),
    ("atleast_1d", V),
    ("atleast_2d", V),
    ("atleast_3d", V),
    ("atleast_3d", A),
    ("cbrt", A),
    ("cbrt", np.array([27.0, -8.0, 0.0, np.inf, 1e-300])),
    ("choose", K[0] % 3, [V[:4], V[1:5], V[2:6]]),
    ("choose", K[0], [10, 20.5, 30]),
    ("column_stack", [V, V]),
    ("column_stack", [A, B]),
    ("compress", M, A, 0),
    ("compress", M, V),
    ("concatenate", [A, B], 1),
    ("cross", A[:, :3], B[:, :3]),
    ("cumprod", A, 1),
    ("cumsum", A),
    ("cumsum", A, 0),
    ("deg2rad", A),
    ("delete", V, 2),
    ("delete", A, [0, 2], 1),
    ("delete", V, slice(1, 5, 2)),
    ("diagonal", A, 1),
    ("diff", A, 2),
    ("digitize", V, np.array([-1.0, 0.0, 0.5])),
    ("digitize", V, np.array([0.5, 0.0, -1.0]), True),
    ("digitize", np.arange(5.0), np.array([3.0, 1.0])),
    ("digitize", np.arange(5.0), np.array([3.0, 1.0]), True),
    ("dstack", [V, V]),
    ("dstack", [A, B]),
    ("ediff1d", A),
    ("exp2", A),
    ("extract", A > 0, A),
    ("fabs", A),
    ("fix", A),
    ("flatnonzero", L),
    ("fliplr", A),
    ("flipud", A),
    ("fmax", N, 3.0),
    ("fmin", N, N[::-1]),
    ("fmod", A, 0.3),
    ("fmod", L, 2),
    ("fmod", L, -2),
    ("histogram", V, 5),
    ("hsplit", A, 2),
    ("i0", A * 20),
    ("insert", V, 2, 9.0),
    ("insert", A, 1, W[:3], 1),
    ("insert", V, [1, 4, 4], [7.0, 8.0, 9.0]),
    ("insert", A, 1, 0.0, 0),
    ("insert", W[:3], M, 9.0),
    ("intersect1d", L, J),
    ("invert", L),
    ("isin", L, [1, 2]),
    ("left_shift", L[:4], 2),
    ("lexsort", (L, L % 2)),
    ("max", A, 1),
    ("mean", A, 0),
    ("median", C[0]),
    ("median", A, 1),
    ("median", C, 1),
    ("mod", A, 0.3),
    ("nanargmax", N, 1),
    ("nanargmin", N),
    ("nancumprod", N),
    ("nancumsum", N, 1),
    ("nanmean", N, 1, np.float64),
    ("nanmedian", N, 1),
    ("nanpercentile", N, 30, 1),
    ("nanprod", N, 0),
    ("nanquantile", N, [0.1, 0.5], 0),
    ("nanstd", N, 1),
    ("nanvar", N),
    ("outer", V, W),
    ("outer", A, W),
    ("partition", np.sort(V), 3),
    ("percentile", A, [10, 90], 1),
    ("polyfit", V, V**2 - V, 2),
    ("power", np.abs(A), B),
    ("ptp", A, 1),
    ("rad2deg", A),
    ("right_shift", L[:4], 1),
    ("rint", A),
    ("rot90", A),
    ("rot90", A, 2),
    ("rot90", A, 3),
    ("select", [A > 0, A < -1], [A, B], 5.0),
    ("setdiff1d", L, J),
    ("setxor1d", L, J),
    ("sinc", A),
    ("sort", A, 0),
    ("std", C, 1),
    ("sum", A, 1),
    ("trace", A),
    ("transpose", A),
    ("transpose", A, (1, 0)),
    ("true_divide", A, B),
    ("union1d", L, J),
    ("unique", L),
    ("unique", N),
    ("unique", N, True, True, True),
    ("unwrap", np.cumsum(V * 3)),
    ("vander", V[:4]),
    ("vander", L, 3, True),
    ("var", C),
    ("vsplit", A, 3),
    ("where", A > 0),
    ("where", A > 0, A, B),
]


def on_device(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return rk.asarray(value)
    return type(value)(on_device(v) for v in value) if isinstance(value, list | tuple) else value


def same(got: Any, want: Any, name: str) -> None:
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, name)
        return
    assert isinstance(got, rk.Tensor), name
    assert got.shape == np.shape(want), name
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("row", SAME, ids=lambda row: row[0])
def test_values(row: tuple[Any, ...]) -> None:
    """As NumPy's, and NumPy's function of tensors is ours."""
    name, *args = row
    want = getattr(np, name)(*args)
    same(getattr(rk, name)(*(on_device(a) for a in args)), want, name)
    with rk.numpy_fallback("raise"):
        same(getattr(np, name)(*(on_device(a) for a in args)), want, name)


MADE: list[tuple[str, Callable[[Any], Any]]] = [
    *((w, lambda m, w=w: getattr(m, w)(9)) for w in ("bartlett", "blackman", "hamming", "hanning")),
    ("kaiser", lambda m: m.kaiser(9, 5.0)),
    ("kaiser of 1", lambda m: m.kaiser(1, 5.0)),
    ("identity", lambda m: m.identity(3)),
    ("logspace", lambda m: m.logspace(0, 2, 5)),
    ("geomspace", lambda m: m.geomspace(1, 1000, 4)),
    ("geomspace below 0", lambda m: m.geomspace(-1, -16, 5)),
    ("indices", lambda m: m.indices((2, 3))),
    ("mgrid", lambda m: m.mgrid[0:3, 1:2:3j]),
    ("mgrid of one", lambda m: m.mgrid[2:8:2]),
    ("ogrid", lambda m: m.ogrid[0:3, 0:2]),
    ("tril_indices", lambda m: m.tril_indices(3, 1)),
    ("triu_indices", lambda m: m.triu_indices(3, 0, 4)),
]


@pytest.mark.parametrize(("name", "make"), MADE, ids=[row[0] for row in MADE])
def test_made(name: str, make: Callable[[Any], Any]) -> None:
    """What is made of numbers alone; floats are float32."""
    got, want = make(rk), make(np)
    for g, w in zip(
        got if isinstance(want, tuple) else [got], want if isinstance(want, tuple) else [want], strict=True
    ):
        assert g.shape == w.shape
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-6, atol=1e-7, err_msg=name)


METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_quantiles(method: Any) -> None:
    """All of NumPy's, at shares between and at the values."""
    for n in (1, 2, 5, 8):
        x = RNG.standard_normal((2, n))
        shares = [0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 1.0]
        got = rk.quantile(rk.asarray(x), shares, axis=1, method=method)
        np.testing.assert_allclose(got.numpy(), np.quantile(x, shares, axis=1, method=method), rtol=1e-12, atol=1e-13)


def test_reductions_with_all_arguments() -> None:
    """`where`, `initial` and `out`, as functions, as methods and through NumPy."""
    t, mask = rk.asarray(A), A > 0
    for module, x, m in ((np, A, mask), (rk, t, rk.asarray(mask))):
        found: Any = [
            module.sum(x, axis=1, where=m),
            module.prod(x, where=m, initial=2.0),
            module.max(x, axis=0, where=m, initial=-9.0),
            module.min(x, initial=-9.0),
            module.mean(x, axis=1, where=m),
            module.var(x, axis=1, where=m),
            module.std(x, where=m),
            module.any(x, axis=0, where=m),
            module.all(x, axis=0, where=m),
            module.max(x[:0], axis=0, initial=1.0),
        ]
        if module is np:
            want = found
    for g, w in zip(found, want, strict=True):
        same(g, w, "reduction")
    out = rk.zeros(3, dtype=rk.float64)
    assert t.sum(1, out=out) is out and np.sum(t, axis=1, out=out) is out
    np.testing.assert_allclose(out.numpy(), A.sum(1), rtol=1e-12)
    with pytest.raises(TypeError, match="max: where without initial"):
        rk.max(t, where=rk.asarray(mask))
    with pytest.raises(ValueError, match="sum: where of shape"):
        rk.sum(t, where=rk.ones((2, 3, 4), dtype=rk.bool_))


def test_numbers_around_differences() -> None:
    """One stands at each place, a tensor as it is."""
    x, t = A.astype(np.float32), rk.asarray(A.astype(np.float32))
    for axis in (0, -1):
        got = rk.diff(t, axis=axis, prepend=0, append=rk.asarray(np.float32(2.5)))
        assert got.dtype is rk.float32
        np.testing.assert_allclose(got.numpy(), np.diff(x, axis=axis, prepend=0, append=2.5), rtol=1e-6)
    same(rk.ediff1d(rk.asarray(L), 88, -99), np.ediff1d(L, 88, -99), "ediff1d")


def test_in_place() -> None:
    """put_along_axis and fill_diagonal write into the tensor."""
    x, t = A.copy(), rk.asarray(A)
    np.put_along_axis(x, np.array([[1], [0], [3]]), 9.0, 1)
    rk.put_along_axis(t, rk.asarray([[1], [0], [3]]), values=9.0, axis=1)
    same(t, x, "put_along_axis")
    for wrap in (False, True):
        x, t = np.zeros((7, 3)), rk.zeros((7, 3), dtype=rk.float64)
        np.fill_diagonal(x, 4, wrap)
        rk.fill_diagonal(t, 4, wrap)
        same(t, x, "fill_diagonal")
        np.fill_diagonal(x, [1.0, 2.0, 3.0, 5.0], wrap)
        rk.fill_diagonal(t, rk.asarray([1.0, 2.0, 3.0, 5.0]), wrap)
        same(t, x, "fill_diagonal of several")


def test_rows_and_places() -> None:
    """apply_along_axis, ix_, ravel_multi_index, roots."""
    same(rk.apply_along_axis(lambda v: v[1:] - v[:-1], 0, rk.asarray(A)), np.apply_along_axis(np.diff, 0, A), "apply")
    same(rk.asarray(A)[rk.ix_([0, 2], [1, 3])], A[np.ix_([0, 2], [1, 3])], "ix_")
    places = (np.array([0, 1, 2]), np.array([3, 0, 1]))
    same(rk.ravel_multi_index([rk.asarray(p) for p in places], (3, 4)), np.ravel_multi_index(places, (3, 4)), "ravel")
    with pytest.raises(IndexError, match="outside axis 1 of length 4"):
        rk.ravel_multi_index([rk.asarray([0]), rk.asarray([4])], (3, 4))
    p = np.array([0.0, 2.0, -3.0, 1.0, 5.0, 0.0])
    got, want = rk.roots(rk.asarray(p)).numpy(), np.roots(p)
    np.testing.assert_allclose(np.sort_complex(got), np.sort_complex(want.astype(complex)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_places_beyond(mode: Any) -> None:
    """Begin anew, or are the nearest, by NumPy's modes; else they are an error."""
    beyond = np.array([1, 5, -1])
    for order in ("C", "F"):
        want = np.ravel_multi_index((beyond, np.array([0, 9, -9])), (3, 4), mode=mode, order=order)
        places = [rk.asarray(beyond), rk.asarray([0, 9, -9])]
        same(rk.ravel_multi_index(places, (3, 4), mode, order), want, "ravel_multi_index")
    same(rk.choose(rk.asarray(beyond), [10, 20], mode=mode), np.choose(beyond, [10, 20], mode=mode), "choose")
    with pytest.raises(IndexError, match=r"choose: a place outside the choices of length 2; use 0\.\.1"):
        rk.choose(rk.asarray(beyond), [10, 20])
    with pytest.raises(ValueError, match="ravel_multi_index: mode 'around'; use one of raise, wrap, clip"):
        rk.ravel_multi_index([rk.asarray(beyond)], (3,), mode="around")  # type: ignore[arg-type]


def test_files() -> None:
    """What save and savez write, load and NumPy read."""
    t = rk.asarray(A)
    one, several = io.BytesIO(), io.BytesIO()
    rk.save(one, t)
    rk.savez(several, t, b=rk.asarray(L))
    one.seek(0), several.seek(0)
    same(rk.load(one), A, "load")
    found = rk.load(several)
    assert isinstance(found, dict) and sorted(found) == ["arr_0", "b"]
    same(found["b"], L, "load")
    with pytest.raises(TypeError, match="save: dtype bfloat16"):
        rk.save(io.BytesIO(), rk.ones(2, dtype=rk.bfloat16))


def test_bits_under_another_dtype() -> None:
    """As NumPy's view, narrower and wider too."""
    x = A.astype(np.float32)
    t = rk.asarray(x)
    for dtype in (np.int32, np.uint8, np.float64, np.int16):
        assert np.array_equal(t.view(dtype).numpy(), x.view(dtype), equal_nan=True)
    with pytest.raises(ValueError, match="view: items of 8 bytes"):
        t[:, :3].view(rk.float64)


def test_single_elements() -> None:
    """item, trunc and round give Python's numbers."""
    t = rk.asarray(A)
    assert t.item(5) == A.item(5) and t.item(1, 2) == A[1, 2]
    assert math.trunc(rk.asarray(-2.5)) == -2 and round(rk.asarray(2.5)) == 2
    np.testing.assert_allclose(round(t, 2).numpy(), A.round(2), rtol=1e-14)


def test_arrays_beside_tensors() -> None:
    """They are copied to the device, on either side of an operator and in NumPy's functions."""
    t = rk.asarray(A)
    for got in (A + t, t + A, np.add(A, t), np.concatenate([t, A])[:3] + A, A * t / A + B - (B - A)):
        assert isinstance(got, rk.Tensor)
    same(A @ t.T, A @ A.T, "matmul")
    same(np.sqrt(abs(t)), np.sqrt(abs(A)), "sqrt")
    same(np.add.reduce(t), np.add.reduce(A), "reduce")
    same(np.multiply.outer(t, rk.asarray(V)), np.multiply.outer(A, V), "outer")
    host = np.zeros_like(A)
    assert np.add(t, 1.0, out=host) is host
    np.testing.assert_array_equal(host, A + 1)


def test_what_none_of_ours_does() -> None:
    """NumPy does it on the host, and says so once; or it is an error."""
    t = rk.asarray(np.abs(A))
    with pytest.warns(rk.HostFallback, match="numpy.spacing copies tensors to the host"):
        np.testing.assert_array_equal(np.spacing(t), np.spacing(np.abs(A)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.spacing(t)
    with rk.numpy_fallback("raise"), pytest.raises(TypeError, match="modf: none of ours takes what was given"):
        np.modf(t)
    with rk.numpy_fallback("allow"):
        assert len(np.modf(t)) == 2
    with pytest.raises(TypeError, match="numpy_fallback: mode 'loud'"):
        rk.numpy_fallback("loud")  # type: ignore[arg-type]


def test_diagonals_of_unequal_lengths() -> None:
    """They are no diagonal: nothing is repeated."""
    with pytest.raises(ValueError, match="einsum: lengths 3 and 1 of a diagonal"):
        rk.einsum("ii", rk.ones((3, 1)))


@pytest.mark.parametrize("dtype", [rk.uint64, rk.int8, rk.float32])
def test_numbers_beside_a_dtype(dtype: Any) -> None:
    """Python's numbers take the tensor's dtype in select and choose; isin finds none that it does not hold."""
    x = rk.asarray([1, 2, 3], dtype=dtype)
    assert rk.select([x == 1], [x], 0).dtype is dtype and rk.choose(rk.asarray([0, 1]), [x[:2], 7]).dtype is dtype
    assert rk.isin(x, [3, -300, 1 << 63]).tolist() == [False, False, True]


def test_bessel_function_far_out() -> None:
    """Near the largest number, and beyond it."""
    x = rk.asarray([700.0, 713.0, 1e308, float("-inf")], dtype=rk.float64)
    assert np.allclose(rk.i0(x).numpy() / [1.5295933476718735e302, 6.705128263670998e307, 1, 1], [1, 1, np.inf, np.inf])


def test_roots_follow_the_default() -> None:
    """Integers have complex128 roots where floats are float64."""
    p = rk.asarray([1, -3, 2])
    assert rk.roots(p).dtype is rk.complex64
    with rk.set_default_dtype("float64"):
        assert rk.roots(p).dtype is rk.complex128


@pytest.mark.parametrize("dtype", [rk.float8_e4m3, rk.float16, rk.bfloat16, rk.float32, rk.float64])
@pytest.mark.parametrize("n", [5, 3000])
def test_quantiles_of_equal_values(dtype: Any, n: int) -> None:
    """Are that value, whatever the share and the method."""
    values = np.array([0.1, 3.3, 400.0], dtype.numpy)
    x = rk.asarray(np.repeat(values[:, None], n, 1))
    for share in np.linspace(0, 1, 23).tolist():
        for method in ("linear", "hazen"):
            assert (rk.quantile(x, share, axis=1, method=method).numpy() == values).all()


@pytest.mark.parametrize("function", [rk.median, rk.nanmedian, lambda x, axis: rk.nanquantile(x, 0.3, axis)])
@pytest.mark.parametrize("dtype", [rk.float32, rk.int32])
def test_middle_of_nothing(function: Any, dtype: Any) -> None:
    """NaN for each row; a share of nothing is an error."""
    x = rk.zeros((2, 0), dtype=dtype)
    found = function(x, axis=1)
    assert found.shape == (2,) and found.dtype is rk.float32 and np.isnan(found.numpy()).all()
    assert function(x, axis=0).shape == (0,)
    with pytest.raises(ValueError, match="quantile: no elements"):
        rk.quantile(x, 0.5, axis=1)


def test_functions_of_reals_refuse_complex_numbers_by_name() -> None:
    """The error names the function and what is left to do."""
    x = rk.asarray([1 + 2j])
    for name in ("i0", "cbrt", "deg2rad", "fabs", "unwrap"):
        with pytest.raises(TypeError, match=rf"{name}: dtype complex64; it takes real numbers, use real\(\), imag\(\)"):
            getattr(rk, name)(x)
    with pytest.raises(TypeError, match="nanquantile: dtype complex64"):
        rk.nanquantile(x, 0.5)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"])
@pytest.mark.parametrize("x", [N, L, N + 1j * N[::-1]], ids=["floats", "integers", "complex"])
def test_reductions_past_nan_with_all_arguments(name: str, x: Any) -> None:
    """`where`, `initial` and `out`, as NumPy has them."""
    counts, t = np.arange(x.size).reshape(x.shape) % 3 != 1, rk.asarray(x)
    options: dict[str, Any] = {"where": counts}
    if name in ("nanmax", "nanmin"):
        if x.dtype.kind == "c":
            return
        options["initial"] = 2
    elif name in ("nansum", "nanprod"):
        options["initial"] = 3
    ours = options | {"where": rk.asarray(counts)}
    with rk.set_default_dtype("float64"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, where nothing counts
        for axis in (None, 0, -1):
            want = np.asarray(getattr(np, name)(x, axis=axis, **options))
            same(getattr(rk, name)(t, axis=axis, **ours), want, name)
            out = rk.zeros(want.shape, dtype=want.dtype)
            assert getattr(rk, name)(t, axis=axis, out=out, **ours) is out
            same(out, want, name)
