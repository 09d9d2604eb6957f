"""Arguments as NumPy's functions take them, drawn at random, beside NumPy's answers."""

from __future__ import annotations

import math
from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.errors import ShapeError
from rocmkern.ops.quantiles import Method

Array = npt.NDArray[Any]
REDUCTIONS: Final = ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all")
METHODS: Final = get_args(Method)


_NUMBERS: Final[dict[type, st.SearchStrategy[Any]]] = {
    np.bool_: st.booleans(), np.int64: st.integers(-36, 36), np.float32: st.integers(-36, 36).map(lambda n: n / 4),
    np.float64: st.integers(-36, 36).map(lambda n: n / 4),
}  # fmt: skip
few: Final = settings(max_examples=20)


def arrays(dtype: type = np.float64, ndim: int = 2) -> st.SearchStrategy[Array]:
    """Arrays of a few elements, of quarters: what is made of them is not far from exact."""
    shapes = hnp.array_shapes(min_dims=ndim, max_dims=ndim, min_side=1, max_side=4)
    return hnp.arrays(dtype, shapes, elements=_NUMBERS[dtype])


def with_nan(draw: st.DataObject, ndim: int = 2) -> Array:
    values = draw.draw(arrays(ndim=ndim))
    holes = draw.draw(hnp.arrays(np.bool_, values.shape))
    return np.where(holes, np.nan, values)


def agree(ours: Any, theirs: Any, tolerance: float = 1e-12) -> None:
    """The same dtype, shape and values."""
    found, wanted = np.asarray(ours), np.asarray(theirs)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


FLOATS: Final = st.sampled_from([None, np.float32, np.float64])
AXES: Final = st.sampled_from([None, 0, 1, -1])


@few
@given(st.data(), st.sampled_from(REDUCTIONS), AXES, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_reductions(
    draw: st.DataObject, name: str, axis: int | None, keepdims: bool, masked: bool, starts: bool, is_given: bool
) -> None:
    """axis, keepdims, where, initial and out of sum, prod, mean, std, var, max, min, any and all, also as methods."""
    values = draw.draw(arrays(np.bool_ if name in ("any", "all") else np.float64))
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if masked:
        mask = draw.draw(hnp.arrays(np.bool_, values.shape))
        mask[0, :] = mask[:, 0] = True
        options["where"] = mask
    if (name in ("max", "min") and masked) or (starts and name in ("sum", "prod", "max", "min")):
        options["initial"] = 1.5
    wanted = getattr(np, name)(values, **options)
    x = rk.asarray(values)
    ours = {k: rk.asarray(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    agree(getattr(x, name)(**ours), wanted)
    if is_given:
        out = rk.zeros(np.shape(wanted), dtype=x.dtype)
        assert getattr(rk, name)(x, out=out, **ours) is out
        agree(out, wanted)


@few
@given(st.data(), st.sampled_from(["nanmean", "nanstd", "nanvar"]), AXES, FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_dtype_of_what_passes_nan_by(draw: st.DataObject, name: str, axis: int | None, dtype: Any) -> None:
    """nanmean, nanstd and nanvar take a dtype."""
    values = with_nan(draw)
    agree(getattr(rk, name)(rk.asarray(values), axis=axis, dtype=dtype), getattr(np, name)(values, axis, dtype), 1e-5)


@few
@given(st.data(), st.sampled_from(METHODS), st.sampled_from([0, 1]), st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_methods_of_quantiles(draw: st.DataObject, method: Any, axis: int, keepdims: bool, percents: bool) -> None:
    """Each of NumPy's methods, for quantile and percentile, and for those that pass NaN by."""
    values, shares = with_nan(draw), draw.draw(st.lists(st.integers(0, 16), min_size=1, max_size=3))
    q = [share / 16 * (100 if percents else 1) for share in shares]
    for name in ("percentile", "nanpercentile") if percents else ("quantile", "nanquantile"):
        for given_q in (q, q[0]):
            ours = getattr(rk, name)(rk.asarray(values), given_q, axis, method=method, keepdims=keepdims)
            agree(ours, getattr(np, name)(values, given_q, axis, method=method, keepdims=keepdims))


def test_a_method_that_is_none() -> None:
    """The error has all that there are."""
    for name in ("quantile", "nanquantile", "nanpercentile"):
        with pytest.raises(ShapeError, match=f"{name}: method 'best'; use one of inverted_cdf, .*, nearest"):
            getattr(rk, name)(rk.ones(3), 0.5, method="best")


@few
@given(st.data(), st.integers(0, 3), st.sampled_from([0, 1, -1]), st.booleans())
def test_differences(draw: st.DataObject, n: int, axis: int, extends: bool) -> None:
    """diff(x, n, axis, prepend, append)."""
    values = draw.draw(arrays())
    ends = {"prepend": values, "append": values} if extends else {}
    ours = {name: rk.asarray(v) for name, v in ends.items()}
    wanted = np.diff(values, n, axis, **ends)
    agree(rk.diff(rk.asarray(values), n, axis, **ours), wanted)
    agree(rk.diff(rk.asarray(values), n=n, axis=axis, **ours), wanted)


@few
@given(arrays(ndim=1), st.integers(1, 6), st.booleans(), st.booleans())
def test_histograms(values: Array, bins: int, ranged: bool, density: bool) -> None:
    """histogram(x, bins), with a range and as shares."""
    options: dict[str, Any] = {"density": density} | ({"range": (-10.0, 10.0)} if ranged else {})
    for ours, theirs in zip(
        rk.histogram(rk.asarray(values), bins, **options), np.histogram(values, bins, **options), strict=True
    ):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)


@few
@given(arrays(), st.integers(-2, 3))
def test_decimals(values: Array, places: int) -> None:
    """round(x, places) by place, as a method, and Python's round of it."""
    x, wanted = rk.asarray(values), np.round(values, places)
    for found in (rk.round(x, places), x.round(places), round(x, places)):
        agree(found, wanted)


@few
@given(arrays(np.int64), st.lists(st.integers(-9, 9), min_size=1), st.booleans())
def test_membership_in_a_list(values: Array, given_list: list[int], invert: bool) -> None:
    """isin(x, [1, 2])."""
    agree(rk.isin(rk.asarray(values), given_list, invert=invert), np.isin(values, given_list, invert=invert))


@few
@given(st.data(), AXES)
def test_complex_spread_and_middle(draw: st.DataObject, axis: int | None) -> None:
    """std, var and median of complex numbers."""
    real = draw.draw(arrays())
    values = real + 1j * draw.draw(hnp.arrays(np.float64, real.shape, elements=st.integers(-9, 9).map(float)))
    x = rk.asarray(values)
    for name in ("std", "var", "median"):
        agree(getattr(rk, name)(x, axis=axis), getattr(np, name)(values, axis=axis))


@few
@given(hnp.arrays(np.float64, (4, 2), elements=st.integers(-5, 5).map(float)), st.sampled_from([None, 1e-9, 0.9, -1.0]))
def test_least_squares(values: Array, rcond: float | None) -> None:
    """lstsq(rcond=): the solution, the rank and the singular values."""
    sides = np.arange(4.0)
    ours = rk.linalg.lstsq(rk.asarray(values), rk.asarray(sides), rcond=rcond)
    theirs = np.linalg.lstsq(values, sides, rcond=rcond)
    assert int(ours[2]) == int(theirs[2])
    np.testing.assert_allclose(np.asarray(ours[3]), theirs[3], atol=1e-9)
    np.testing.assert_allclose(np.asarray(ours[0]), theirs[0], atol=1e-8)


@few
@given(arrays(np.float32), st.sampled_from(["uint8", "int16", "int32", "float32", "float16"]))
def test_bits_as_another_dtype(values: Array, dtype: str) -> None:
    """x.view(dtype), by a name, NumPy's dtype and our own."""
    wanted = values.view(dtype)
    for asked in (dtype, np.dtype(dtype), getattr(rk, dtype)):
        found = np.asarray(rk.asarray(values).view(asked))
        assert (found.dtype, found.shape, found.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


@few
@given(arrays(np.int64))
def test_places_of_what_is_true(values: Array) -> None:
    """where(condition) alone gives what nonzero does."""
    for ours, theirs in zip(rk.where(rk.asarray(values)), np.where(values), strict=True):
        agree(ours, theirs)


@few
@given(st.data())
def test_one_element(draw: st.DataObject) -> None:
    """x.item(i), x.item(i, j), math.trunc and round of a tensor without axes."""
    values = draw.draw(arrays())
    x, flat = rk.asarray(values), draw.draw(st.integers(-values.size, values.size - 1))
    place = np.unravel_index(flat % values.size, values.shape)
    assert x.item(flat) == values.item(flat) == x.item(*(int(i) for i in place))
    one = x[tuple(int(i) for i in place)]
    assert math.trunc(one) == math.trunc(values[place])
    assert round(one) == round(values[place].item()) and isinstance(round(one), int)
