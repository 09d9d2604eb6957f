"""What is made of squares neither overflows nor vanishes where the result is a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from tests.tensor.arrays import Array

SCALES: Final = {"f16": 10, "bf16": 110, "f32": 110, "f64": 1000, "c64": 110, "c128": 1000}  # powers of two, both signs
ROUNDINGS: Final = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 4e-6, "f64": 1e-14, "c64": 4e-6, "c128": 1e-14}
DTYPES: Final = (rk.float16, rk.bfloat16, rk.float32, rk.float64)
BY_DTYPE = {"ids": lambda d: d.short if isinstance(d, DType) else str(d)}
Pair = tuple[Callable[[rk.Tensor], rk.Tensor], Callable[[Array], Any]]


def rms(x: Array) -> Array:
    return np.sqrt((np.abs(x) ** 2).mean(-1, keepdims=True))


def length(x: Array, order: float = 2) -> Any:
    return (np.abs(x) ** order).sum(-1) ** (1 / order)


# Each doubles with its argument, or stays.
SCALED: Final[dict[str, Pair]] = {
    "vector_norm": (lambda x: rk.linalg.vector_norm(x, axis=-1), length),
    "of order 3": (lambda x: rk.linalg.vector_norm(x, axis=-1, ord=3), lambda x: length(x, 3)),
    "of order 1/2": (lambda x: rk.linalg.vector_norm(x, axis=-1, ord=0.5), lambda x: length(x, 0.5)),
    "std": (lambda x: rk.std(x, axis=-1), lambda x: x.std(-1)),
    "nanstd": (lambda x: rk.nanstd(x, axis=-1), lambda x: x.std(-1)),
    "hypot": (lambda x: rk.hypot(x[..., 0], x[..., 1]), lambda x: length(x[..., :2])),
}
STEADY: Final[dict[str, Pair]] = {
    "normalize": (lambda x: rk.normalize(x, eps=0.0), lambda x: x / length(x)[..., None]),
    "rms_norm": (lambda x: rk.rms_norm(x, eps=0.0), lambda x: x / rms(x)),
    "layer_norm": (
        lambda x: rk.layer_norm(x, eps=0.0),
        lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1)[..., None],
    ),
}


def numbers(dtype: DType, seed: int, n: int) -> Array:
    return np.random.default_rng(seed).standard_normal((2, n)).astype(dtype.numpy).astype(np.float64)


def assert_near(got: rk.Tensor, want: Any, dtype: DType) -> None:
    """Within roundings of the largest of the values."""
    want = np.asarray(want)
    error = np.abs(got.numpy().astype(want.dtype) - want)
    assert (error <= ROUNDINGS[dtype.short] * np.abs(want).max()).all(), (got, want)


@pytest.mark.parametrize("dtype", DTYPES, **BY_DTYPE)
@pytest.mark.parametrize("name", [*SCALED, *STEADY])
@settings(max_examples=12)
@given(data=st.data())
def test_roots_of_squares_of_any_scale(name: str, dtype: DType, data: st.DataObject) -> None:
    """Of numbers times a power of two the norms are those of the numbers, times the power; rows in packs and not, short
    and long ones, along a view.
    """
    if name == "hypot" and dtype.itemsize < 4:
        return
    n = data.draw(st.integers(4, 70) | st.sampled_from([1024, 5001, 20_000]))
    exponent = data.draw(st.integers(-SCALES[dtype.short], SCALES[dtype.short]))
    x = numbers(dtype, data.draw(st.integers(0, 99)), n)
    scaled = rk.asarray(np.ldexp(x, exponent).astype(dtype.numpy))
    held = np.ldexp(scaled.numpy().astype(np.longdouble), -exponent)
    ours, exact = (SCALED | STEADY)[name]
    want = np.ldexp(exact(held), exponent if name in SCALED else 0)
    assume(np.abs(want).max() < float(rk.finfo(dtype).max))
    assert_near(ours(scaled), want, dtype)


@pytest.mark.parametrize("dtype", [rk.complex64, rk.complex128], **BY_DTYPE)
@settings(max_examples=12)
@given(data=st.data())
def test_complex_numbers_of_any_scale(dtype: DType, data: st.DataObject) -> None:
    """Norms, deviations and magnitudes."""
    n, exponent = data.draw(st.integers(2, 70)), data.draw(st.integers(-SCALES[dtype.short], SCALES[dtype.short]))
    parts = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal((2, 2, n))
    x = (parts[0] + 1j * parts[1]) * 2.0**exponent
    t = rk.asarray(x.astype(dtype.numpy))
    held = t.numpy().astype(np.clongdouble) / np.longdouble(2) ** exponent
    by = np.longdouble(2) ** exponent
    assert_near(rk.linalg.vector_norm(t, axis=-1), length(held) * by, dtype)
    assert_near(rk.abs(t), np.abs(held) * by, dtype)
    assert_near(rk.nanstd(t, axis=-1), held.std(-1) * by, dtype)
    assert_near(rk.std(t, axis=-1), held.std(-1) * by, dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, rk.complex64, rk.complex128], **BY_DTYPE)
@settings(max_examples=12)
@given(data=st.data())
def test_deviations_of_what_counts(dtype: DType, data: st.DataObject) -> None:
    """Of any scale where `where` chooses, rows of which it leaves one value or nothing among them; the others may be
    infinite. Variances as far as they are numbers.
    """
    n, exponent = data.draw(st.integers(2, 70)), data.draw(st.integers(-SCALES[dtype.short], SCALES[dtype.short]))
    parts = np.random.default_rng(n).standard_normal((2, 4, n))
    by = np.longdouble(2) ** exponent
    x = ((parts[0] + 1j * parts[1] if dtype.is_complex else parts[0]) * float(by)).astype(dtype.numpy)
    counts = np.random.default_rng(n).random((4, n)) < 0.5
    counts[2] = np.arange(n) == 0
    counts[3] = False
    held = x.astype(np.clongdouble if dtype.is_complex else np.longdouble) / by
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        want = held.std(-1, where=counts)
    t, chosen = rk.asarray(np.where(counts, x, dtype.numpy.type(np.inf))), rk.asarray(counts)
    got = rk.std(t, axis=-1, where=chosen).numpy()
    assert np.isnan(got[3]) and got[2] == 0
    assert_near(rk.asarray(got[:2]), want[:2] * by, dtype)
    if abs(2 * exponent) < SCALES[dtype.short]:
        assert_near(rk.var(t, axis=-1, where=chosen)[:2], (want[:2] * by) ** 2, dtype)


@pytest.mark.parametrize("dtype", DTYPES, **BY_DTYPE)
def test_variances_that_are_numbers(dtype: DType) -> None:
    """As large as the dtype goes, of a few values and of many, with NaN and without."""
    for n in (4, 1000, 20_000):
        x = np.ldexp(numbers(dtype, n, n), SCALES[dtype.short] // 2).astype(dtype.numpy)
        exact = x.astype(np.longdouble).var(-1)
        assert_near(rk.var(rk.asarray(x), axis=-1), exact, dtype)
        assert_near(rk.nanvar(rk.asarray(x), axis=-1), exact, dtype)


def test_zeros_infinities_and_nan_stay_what_they_are() -> None:
    """A norm of zeros is 0, beside an infinity infinite, beside NaN NaN; what eps stands for is not scaled away."""
    inf, nan = float("inf"), float("nan")
    x = rk.asarray([[0.0, 0.0], [inf, 1e-30], [-inf, 3.0], [nan, inf]])
    norms = rk.linalg.vector_norm(x, axis=1).tolist()
    assert norms[:3] == [0.0, inf, inf] and norms[3] != norms[3]
    assert rk.rms_norm(rk.zeros((2, 5))).tolist() == [[0.0] * 5] * 2
    assert rk.layer_norm(rk.full((2, 5), 1e30)).tolist() == [[0.0] * 5] * 2
    assert rk.std(rk.full((5,), 1e30)).item() == 0.0
    tiny = rk.full((1, 4), 1e-30)
    assert abs(rk.rms_norm(tiny, eps=1e-6).numpy() - 1e-27).max() < 1e-32
    assert (rk.normalize(tiny, eps=1e-12).numpy() <= 1.1e-18).all()


BIGGEST: Final = {"f16": 6e4, "bf16": 3e38, "f32": 3e38, "f64": 1.6e308, "c64": 3e38, "c128": 1.6e308}
COMPLEX: Final = (rk.complex64, rk.complex128)


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX], **BY_DTYPE)
@pytest.mark.parametrize("n", [1, 4, 100, 5001])
def test_means_of_the_largest_numbers(dtype: DType, n: int) -> None:
    """Are these numbers, whose sum is none; they don't deviate."""
    x = rk.full((2, 2 * n), BIGGEST[dtype.short], dtype=dtype)
    counts, value = rk.asarray(np.arange(2 * n) % 2 == 0), x.numpy()[:, 0].astype(np.complex128)
    means = [rk.mean(x, axis=1, where=counts), rk.mean(x, axis=1), rk.mean(x, axis=0)[:2], rk.nanmean(x, axis=1)]
    means.append(rk.median(x, axis=1) if dtype.is_complex else rk.average(x, axis=1, weights=rk.full(2 * n, 3.0)))
    for found in means:
        assert_near(found, value, dtype)
    for deviation in (rk.std, rk.nanstd, lambda x, axis: rk.std(x, axis=axis, where=counts)):
        assert (deviation(x, axis=1).numpy() <= ROUNDINGS[dtype.short] * np.abs(value)).all()


@pytest.mark.parametrize("dtype", DTYPES, **BY_DTYPE)
@pytest.mark.parametrize("n", [7, 5000, 40_000])
def test_correlations_of_any_scale(dtype: DType, n: int) -> None:
    """Variables of different scales, few and many, and what their covariances are where these are numbers."""
    x = numbers(dtype, n, n)
    by = SCALES[dtype.short]
    both = rk.asarray(np.stack([np.ldexp(x[0], by), np.ldexp(x[1], -by)]).astype(dtype.numpy))
    held = np.ldexp(both.numpy().astype(np.longdouble), [[-by], [by]])
    assert_near(rk.corrcoef(both), np.corrcoef(held), dtype)
    assert_near(rk.corrcoef(both[0], both[1]), np.corrcoef(held), dtype)
    assert_near(rk.cov(both)[0, 1], np.cov(held)[0, 1], dtype)


@pytest.mark.parametrize("dtype", DTYPES, **BY_DTYPE)
@pytest.mark.parametrize("n", [3, 64, 5001, 300_001])
def test_means_near_the_ends(dtype: DType, n: int) -> None:
    """Of numbers of both signs next to the largest, whole rows and parts, and next to the smallest, where nothing is
    scaled; an infinity and NaN stay.
    """
    rng = np.random.default_rng(n)
    info = rk.finfo(dtype)
    for size in (float(info.max), float(info.smallest_normal)):
        x = (rng.uniform(0.5, 1, (3, n)) * rng.choice([-1, 1, 1], (3, n)) * size).astype(dtype.numpy)
        x[2] = np.abs(x[2])
        want = x.astype(np.longdouble)
        for values, axis in ((rk.asarray(x), 1), (rk.asarray(x.T.copy()), 0)):
            for mean in (rk.mean, rk.nanmean):
                error = np.abs(mean(values, axis=axis).numpy().astype(np.longdouble) - want.mean(1))
                assert (error <= ROUNDINGS[dtype.short] * np.abs(want).mean(1)).all()
    x[0, n // 2], x[1, n // 3] = np.inf, np.nan
    assert np.array_equal(np.isfinite(rk.mean(rk.asarray(x), axis=1).numpy()), [False, False, True])
    assert rk.mean(rk.asarray(x)[0]).item() == float("inf")
