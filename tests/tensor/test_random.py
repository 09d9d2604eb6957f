"""Generators: NumPy's numbers where it says so, distributions, permutations, choices, and what is refused."""

from __future__ import annotations

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import rocmkern as rk
from rocmkern.dtypes import ALL
from rocmkern.errors import DTypeError, ScalarRangeError, ShapeError
from rocmkern.kernels.families.random import FLOATS
from tests.tensor.arrays import INTEGERS, elsewhere

SEEDS = st.one_of(st.integers(0, 1 << 100), st.lists(st.integers(0, 9), min_size=1, max_size=3))
SIZES = st.one_of(st.integers(0, 40), st.lists(st.integers(0, 5), max_size=3).map(tuple))
rng = rk.random.default_rng


@settings(max_examples=30)
@given(SEEDS, SIZES)
def test_a_fresh_generator_draws_numpys_numbers(seed: Any, size: Any) -> None:
    """random of float64 and float32, bit for bit, for any seed and shape."""
    for dtype in (rk.float64, rk.float32):
        want = np.random.Generator(np.random.Philox(seed)).random(size, dtype.numpy)
        got = rng(seed).random(size, dtype)
        assert got.dtype is dtype
        np.testing.assert_array_equal(got.numpy(), want, strict=True)


@settings(max_examples=30)
@given(st.data())
def test_integers_are_in_range(data: st.DataObject) -> None:
    """Of every dtype: both ends are drawn, nothing beyond, and the shape is the one asked for."""
    dtype = data.draw(st.sampled_from((*INTEGERS, rk.bool_)))
    info = np.iinfo(dtype.numpy) if dtype.is_integer else None
    low, high = (0, 1) if info is None else sorted(data.draw(st.integers(info.min, info.max)) for _ in range(2))
    size = data.draw(SIZES)
    got = rng(data.draw(SEEDS)).integers(low, high, size, dtype, endpoint=True)
    assert got.dtype is dtype
    assert got.shape == np.empty(size).shape
    assert all(low <= v <= high for v in got.numpy().reshape(-1).tolist())
    few = rng(0).integers(low, low + 1, 64, dtype, endpoint=True) if low < high else None
    assert few is None or sorted(set(few.tolist())) == [low, low + 1]
    assert rng(0).integers(3).item() in range(3)


def test_draws_differ_and_repeat() -> None:
    """One seed, one sequence, however it is cut; copies by pickle go on where the original was."""
    a, b = rng(5), rng(5)
    first, second = a.random(1000).numpy(), a.random(1000).numpy()
    assert not np.isin(first, second).all()
    np.testing.assert_array_equal(
        np.concatenate([b.random(1000).numpy(), b.random(1000).numpy()]), np.append(first, second)
    )
    c = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(a.standard_normal(9).numpy(), c.standard_normal(9).numpy())
    assert not (rng().random(9).numpy() == rng().random(9).numpy()).all()
    assert "key=" in repr(a)


def test_threads_draw_different_numbers() -> None:
    """No two draws of one generator begin at the same counter."""
    shared = rng(1)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: shared.integers(0, 1 << 64, 8, rk.uint64).tolist(), range(40)))
    assert len({v for each in drawn for v in each}) == 320


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_distributions(dtype: rk.DType) -> None:
    """Uniform and normal numbers pass the test of Kolmogorov and Smirnov; the seed is fixed, so it is the same test."""
    shared = rng(12)
    grain = {"f16": 2.0**-11, "bf16": 2.0**-8}.get(dtype.short, 0.0)
    spread = np.random.default_rng(0).random(20000) * grain  # evens out the steps of the short floats
    uniform = shared.uniform(-2, 6, 20000, dtype).numpy().astype(np.float64)
    assert uniform.min() >= -2 and uniform.max() <= 6
    if dtype.itemsize >= 4:
        assert stats.kstest(uniform, stats.uniform(-2, 8).cdf).pvalue > 0.01
        normal = shared.normal(3, 0.5, 20000, dtype).numpy().astype(np.float64)
        assert stats.kstest(normal, stats.norm(3, 0.5).cdf).pvalue > 0.01
        assert abs(np.corrcoef(normal[::2], normal[1::2])[0, 1]) < 0.03
    else:
        assert stats.kstest(shared.random(20000, dtype).numpy().astype(np.float64) + spread, "uniform").pvalue > 0.01
        normal = shared.standard_normal(20000, dtype).numpy().astype(np.float64)
        assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.02


def test_permutation_and_choice() -> None:
    """Every slice once; without replacement none twice; a probability of 0 is never drawn."""
    shared = rng(4)
    assert sorted(shared.permutation(50).tolist()) == list(range(50))
    x = np.arange(12).reshape(3, 4)
    t = rk.asarray(x)
    moved = shared.permutation(t, axis=1).numpy()
    assert sorted(map(tuple, moved.T.tolist())) == sorted(map(tuple, x.T.tolist()))
    orders = Counter(tuple(shared.permutation(3).tolist()) for _ in range(120))
    assert len(orders) == 6
    assert sorted(shared.choice(9, 9, replace=False).tolist()) == list(range(9))
    picked = shared.choice(t, (2, 5), axis=1)
    assert picked.shape == (3, 2, 5)
    assert all(column in x.T.tolist() for column in picked.numpy().reshape(3, 10).T.tolist())
    counts = np.bincount(shared.choice(3, 4000, p=rk.asarray([0.25, 0.0, 0.75])).numpy(), minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] / 4000 - 0.25) < 0.03
    assert shared.choice(0, 0).shape == (0,)
    assert shared.permutation(0).shape == (0,)
    assert shared.choice(7).shape == ()


def test_what_is_refused() -> None:
    """The classes of error that NumPy has, with the values."""
    shared = rng(0)
    for wrong in (
        lambda: shared.integers(3, 3),
        lambda: shared.normal(0, -1, 3),
        lambda: shared.random(-1),
        lambda: shared.choice(3, 4, replace=False),
        lambda: shared.choice(0, 1),
        lambda: shared.choice(3, 2, p=rk.asarray([0.5, 0.5])),
        lambda: shared.choice(2, 2, replace=False, p=rk.asarray([0.5, 0.5])),
        lambda: rng(-1),
    ):
        with pytest.raises(ValueError):
            wrong()
    for end in ((0, 300), (-1, 5)):
        with pytest.raises(ScalarRangeError):
            shared.integers(*end, 3, rk.uint8)
    with pytest.raises(ScalarRangeError):
        shared.integers(0, 3, 3, rk.bool_)
    for dtype in [d for d in ALL if d not in FLOATS]:
        with pytest.raises(DTypeError):
            shared.random(3, dtype)
    half: Any = 1.5
    for bad in (
        lambda: shared.integers(half), lambda: shared.integers(0, 3, 2, rk.float32), lambda: shared.random(half),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(ShapeError, match="integers: none from 3 to 2"):
        shared.integers(3, 3)


def test_permutations_of_another_devices_tensor_are_refused() -> None:
    """A generator has a device."""
    with pytest.raises(ShapeError, match="permutation: "):
        rng(0).permutation(rk.asarray([1.0], device=elsewhere()))


def test_names_of_other_modules_lead_to_a_generator() -> None:
    """`rand`, `randn`, `seed`: there is no state that all share."""
    with pytest.raises(AttributeError, match=r"no attribute 'rand'; draw from a default_rng\(\)"):
        rk.random.rand(3)  # type: ignore[attr-defined,unused-ignore]  # on purpose
