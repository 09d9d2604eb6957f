"""Values of NumPy's names beside NumPy's own: of every dtype, in every layout, along every axis, of nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

import rocmkern as rk

Array = npt.NDArray[Any]
Call = Callable[[Any, Any], Any]
DTYPES: Final = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
AXES: Final = (None, 0, -1)
# Roundings of a few operations; NumPy has functions of short integers in short floats.
TOLERANCES: Final = {"float16": 4e-3, "int8": 4e-3, "uint8": 4e-3, "bool": 4e-3, "float64": 1e-10, "complex128": 1e-10}


def along(name: str, *args: Any, axes: tuple[Any, ...] = AXES, **options: Any) -> list[Call]:
    return [lambda m, x, a=a: getattr(m, name)(x, *args, axis=a, **options) for a in axes]


def plain(name: str, *args: Any) -> list[Call]:
    return [lambda m, x: getattr(m, name)(x, *args)]


def flat(m: Any, x: Any) -> Any:
    return m.reshape(x, (-1,))


def in_place(name: str, *args: Any) -> Call:
    """What a function that writes leaves."""

    def call(m: Any, x: Any) -> Any:
        copy = m.asarray(x, copy=True)
        getattr(m, name)(copy, *(a(m, x) if callable(a) else a for a in args))
        return copy

    return call


def order(m: Any, x: Any) -> Any:
    return m.argsort(x != 0, axis=-1, stable=True)


REDUCED: Final = (
    "ptp", "amax", "amin", "median", "nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmedian", "std", "var",
)  # fmt: skip
SETS: Final = ("union1d", "intersect1d", "setdiff1d", "setxor1d")
FUNCTIONS: Final = (
    "angle", "sinc", "exp2", "cbrt", "deg2rad", "rad2deg", "fabs", "i0", "atleast_1d", "atleast_2d", "atleast_3d",
    "ravel", "fliplr", "flipud", "flatnonzero", "transpose", "conjugate", "ediff1d", "unique", "argwhere", "diag",
)  # fmt: skip

CALLS: Final[dict[str, list[Call]]] = {
    **{name: [*along(name), *along(name, axes=(0,), keepdims=True)] for name in REDUCED},
    **{name: along(name) for name in ("nanargmax", "nanargmin", "cumsum", "cumprod", "nancumsum", "nancumprod")},
    **{name: plain(name) for name in FUNCTIONS},
    **{name: [lambda m, x, n=name: getattr(m, n)(x, x[:1] if x.ndim else x)] for name in SETS},
    **{
        name: [lambda m, x, n=name: getattr(m, n)(x, x[::-1] if x.ndim else x)]
        for name in ("fmod", "fmax", "fmin", "mod", "arctan2", "power")
    },
    **{name: along(name, 30) for name in ("percentile", "nanpercentile")},
    **{name: along(name, 0.3, method="hazen") for name in ("quantile", "nanquantile")},
    **{
        name: [lambda m, x, n=name: getattr(m, n)([x, x[..., ::-1]])]
        for name in ("column_stack", "dstack", "hstack", "vstack", "concatenate")
    },
    "unique with places": [lambda m, x: m.unique(x, True, True, True)],
    "partition": [lambda m, x: m.partition(x, 1, axis=-1)[..., 1], lambda m, x: m.partition(x, 1, axis=None)[1]],
    "argpartition": [lambda m, x: m.take_along_axis(x, m.argpartition(x, 1), axis=-1)[..., 1]],
    "lexsort": [lambda m, x: m.lexsort((x, x[::-1])), lambda m, x: m.lexsort((x, x[::-1]), axis=0)],
    "isin": [lambda m, x: m.isin(x, x[:1]), lambda m, x: m.isin(x, [1, 2, -300])],
    "array_split": [*along("array_split", 2, axes=(0, -1)), *along("array_split", [1, 2], axes=(-1,))],
    "append": [lambda m, x, a=a: m.append(x, x, axis=a) for a in AXES],
    "delete": [*along("delete", -1), *along("delete", [0, 1, 1]), *along("delete", slice(None, None, -2))],
    "insert": [*along("insert", 1, 1), *along("insert", [2, 0, 2], 1), *along("insert", slice(0, 2), 1)],
    "rot90": [lambda m, x, k=k: m.rot90(x, k) for k in range(-1, 3)],
    "diff": [*along("diff", 1, axes=(0, -1)), *along("diff", 2, axes=(-1,))],
    "gradient": [*plain("gradient"), *along("gradient", 2.0, axes=(-1,))],
    "trapezoid": [*along("trapezoid", axes=(0, -1))],
    "histogram": [*plain("histogram", 5), *plain("histogram", [0, 1, 3, 4]), *plain("histogram", 4, (0, 4))],
    "digitize": [
        lambda m, x, r=r, e=e: m.digitize(x, m.asarray(e), right=r)
        for r in (False, True)
        for e in ([0.0, 1.0, 2.0], [3.0, 1.0], [1.0])
    ],
    "bincount": [lambda m, x: m.bincount(flat(m, x))],
    "trace": [*plain("trace"), *plain("trace", 1), *plain("trace", -1, 1, 0)],
    "diagonal": [*plain("diagonal"), *plain("diagonal", -1, 1, 0)],
    "outer": [lambda m, x: m.outer(x, x)],
    "kron": [lambda m, x: m.kron(x, x)],
    "vander": [*plain("vander"), *plain("vander", 3), *plain("vander", 2, True)],
    "polyval": [lambda m, x: m.polyval(flat(m, x)[:3], x)],
    "polyfit": [lambda m, x: m.polyfit(m.asarray(np.arange(x.shape[0]) * 1.0), x, 1)],
    "roots": [lambda m, x: m.sort(m.abs(m.roots(x)))],
    "convolve": [lambda m, x, k=k: m.convolve(x, x[:2], k) for k in ("full", "same", "valid")],
    "correlate": [lambda m, x, k=k: m.correlate(x[:2], x, k) for k in ("full", "same", "valid")],
    "cross": [lambda m, x: m.cross(x[..., :3], x[..., :3][::-1])],
    "unwrap": [*along("unwrap", axes=(0, -1)), lambda m, x: m.unwrap(x, period=3.0)],
    "select": [lambda m, x: m.select([x == 0], [x]), lambda m, x: m.select([x == 0, x == 1], [2, x], 1)],
    "choose": [lambda m, x: m.choose(m.asarray([0, 1, 1]), [x[..., :3], x[..., :3][..., ::-1]])],
    "compress": [lambda m, x: m.compress([True, False, True], x, axis=-1), lambda m, x: m.compress([True, False], x)],
    "extract": [lambda m, x: m.extract(x != 0, x)],
    "where": [lambda m, x: m.where(x != 0)],
    "apply_along_axis": [
        lambda m, x: m.apply_along_axis(lambda v: v[::-1], -1, x),
        lambda m, x: m.apply_along_axis(lambda v: v[0], 0, x),
    ],
    "put_along_axis": [in_place("put_along_axis", order, lambda m, x: x, -1)],
    "fill_diagonal": [in_place("fill_diagonal", 1), in_place("fill_diagonal", lambda m, x: x[0])],
}  # fmt: skip

# Complex numbers have no order here.
UNORDERED: Final = {
    "ptp", "amax", "amin", "nanargmax", "nanargmin", "partition", "argpartition", "lexsort", "histogram", "fmax",
    "fmin", "percentile", "nanpercentile", "quantile", "nanquantile",
}  # fmt: skip
# Truths are no numbers here.
UNCOUNTED: Final = {"fmod", "fmax", "fmin", "mod", "power", "outer", "kron", "convolve", "correlate", "conjugate"}
# NumPy adds truths as `or`, and differences of unsigned numbers wrap.
WRONG_THERE: Final = {("trapezoid", "b"), ("unwrap", "u"), ("unwrap", "b")}


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    rng, kind = np.random.default_rng(seed), np.dtype(dtype).kind
    whole = rng.integers(0 if kind == "u" else -6, 7, shape)
    if kind in "iub":
        return (whole % 2 if kind == "b" else whole).astype(dtype)
    real = rng.integers(-20, 21, shape) / 4
    return (real + 1j * rng.integers(-20, 21, shape) / 4 if kind == "c" else real).astype(dtype)


def laid_out(dtype: str) -> Iterator[tuple[Array, rk.Tensor]]:
    """Arrays and tensors of the same values: side by side, apart, backwards, transposed, of no elements or axes."""
    for shape in ((5,), (3, 4), (0,), (0, 3), (3, 0), ()):
        x = numbers(dtype, shape, 1)
        yield x, rk.asarray(x)
    wide, line, turned = (numbers(dtype, shape, 2) for shape in ((2, 3, 8), (5,), (4, 3)))
    yield wide[..., ::2], rk.asarray(wide)[..., ::2]
    yield line[::-1], rk.asarray(line)[::-1]
    yield turned.T, rk.asarray(turned).T


def on_host(value: Any) -> Any:
    return [on_host(v) for v in value] if isinstance(value, tuple | list) else np.asarray(value)


def assert_same(got: Any, want: Any, tolerance: float) -> None:
    if isinstance(want, list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, tolerance)
        return
    assert got.shape == want.shape
    np.testing.assert_allclose(got.astype(np.complex128), want.astype(np.complex128), rtol=tolerance, atol=tolerance)


def attempt(call: Call, m: Any, x: Any) -> Any:
    """What comes out, or what was raised."""
    try:
        return on_host(call(m, x))
    except Exception as error:  # which of both raise is compared
        return error


PAIRS: Final = [(n, d) for n in CALLS for d in DTYPES if (n, np.dtype(d).kind) not in WRONG_THERE]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_values(name: str, dtype: str) -> None:
    """NumPy's where it has one; what is refused for its dtype is told as that."""
    kind, seen = np.dtype(dtype).kind, 0
    refused = (kind == "c" and name in UNORDERED) or (kind == "b" and name in UNCOUNTED)
    with rk.set_default_dtype("float64"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in CALLS[name]:
            for x, t in laid_out(dtype):
                want, got = attempt(call, np, x), attempt(call, rk, t)
                if isinstance(want, Exception) or (not x.ndim and isinstance(got, ValueError)):
                    continue  # NumPy has an axis where there is none
                seen += 1
                if refused:
                    assert isinstance(got, TypeError)
                    continue
                assert not isinstance(got, Exception), (x, got)
                assert_same(got, want, TOLERANCES.get(dtype, 2e-5))
    assert seen or kind not in "iu"
