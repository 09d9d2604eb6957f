"""The inference operations against their definitions in NumPy: tested also where there is no PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.errors import KernelIndexError

RNG = np.random.default_rng(7)


def single(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def near(found: rk.Tensor, expected: np.ndarray, tolerance: float = 2e-6) -> bool:
    return found.shape == expected.shape and bool(np.allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance))


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return np.asarray(e / e.sum(axis, keepdims=True))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_and_its_logarithm(axis: int) -> None:
    """Along any axis; large values do not overflow."""
    x = single(4, 33, 5) * 50
    assert near(rk.softmax(rk.asarray(x), axis=axis), softmax(x, axis))
    shifted = x - x.max(axis, keepdims=True)
    expected = shifted - np.log(np.exp(shifted.astype(np.float64)).sum(axis, keepdims=True))
    assert near(rk.log_softmax(rk.asarray(x), axis=axis), expected)


def test_log_softmax_far_below() -> None:
    """A value 500 below the largest has log probability −500, not −∞."""
    found = rk.log_softmax(rk.asarray(np.array([0.0, -500.0], np.float32))).numpy()
    assert np.allclose(found, [0, -500])


def test_layer_norm_and_rms_norm() -> None:
    """Rows of mean 1000 keep their variance."""
    x, w, b = single(6, 97) + 1000, single(97), single(97)
    wide = x.astype(np.float64)
    centred = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    assert near(rk.layer_norm(*map(rk.asarray, (x, w, b))), centred * w + b, 2e-4)
    scaled = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    assert near(rk.rms_norm(rk.asarray(x), rk.asarray(w)), scaled * w)


def test_embedding_and_its_bounds() -> None:
    """Rows by ids of any shape; an id outside is an IndexError, and the device goes on."""
    table, ids = single(11, 7), np.array([[0, 10], [3, 3]])
    assert np.array_equal(rk.embedding(rk.asarray(table), rk.asarray(ids)).numpy(), table[ids])
    with pytest.raises(KernelIndexError, match="11"):
        rk.embedding(rk.asarray(table), rk.asarray(np.array([11]))).numpy()
    assert np.array_equal(
        rk.embedding(rk.asarray(table), rk.asarray(np.array([255], np.uint8) // 64)).numpy(), table[[3]]
    )


def test_attention_is_softmax_of_scaled_products() -> None:
    """With and without a mask of what may be seen."""
    q, k, v = single(2, 3, 5, 8), single(2, 3, 7, 8), single(2, 3, 7, 8)
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / np.sqrt(8)
    on_device = [rk.asarray(a) for a in (q, k, v)]
    assert near(rk.scaled_dot_product_attention(*on_device), softmax(scores) @ v)
    mask = RNG.random((5, 7)) < 0.6
    mask[:, 0] = True
    masked = softmax(np.where(mask, scores, -1e30)) @ v
    assert near(rk.scaled_dot_product_attention(*on_device, rk.asarray(mask)), masked)


@settings(max_examples=15)
@given(rows=st.integers(1, 4), n=st.integers(1, 70) | st.sampled_from([1025, 5001]), axis=st.sampled_from([0, 1]),
       name=st.sampled_from(["softmax", "log_softmax"]), place=st.integers(0, 5000))  # fmt: skip
def test_shares_beside_infinity_are_nan(rows: int, n: int, axis: int, name: str, place: int) -> None:
    """Of all in its row, of any length along any axis, and of no other row."""
    x = np.zeros((rows + 1, n), np.float32)
    x[1:, place % n] = np.inf
    t = rk.asarray(x) if axis == 1 else rk.asarray(x.T.copy())
    found = getattr(rk, name)(t, axis=axis).numpy()
    found = found if axis == 1 else found.T
    assert np.isnan(found[1:]).all() and np.isfinite(found[0]).all()


@pytest.mark.parametrize("keys", [3, 1500])
def test_attention_to_an_infinite_score_is_nan(keys: int) -> None:
    """Of that query, by one launch and by several; of others it is not."""
    q, k, v = single(2, 4), single(keys, 4), single(keys, 5)
    added = np.zeros((2, keys), np.float32)
    added[0, 1] = np.inf
    found = rk.scaled_dot_product_attention(*map(rk.asarray, (q, k, v, added))).numpy()
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()


def test_cross_entropy_is_the_mean_negative_log_probability() -> None:
    """Of the target's class."""
    logits, targets = single(9, 13), RNG.integers(0, 13, 9)
    expected = -np.log(softmax(logits)[np.arange(9), targets]).mean()
    assert float(rk.cross_entropy(rk.asarray(logits), rk.asarray(targets))) == pytest.approx(expected, rel=1e-6)


def test_one_hot_and_top_k() -> None:
    """Rows of one; the largest with their places, the first of equals first."""
    assert np.array_equal(rk.one_hot(rk.asarray(np.array([2, 0])), 3).numpy(), [[0, 0, 1], [1, 0, 0]])
    values, places = rk.top_k(rk.asarray(np.array([[1.0, 5, 5, 2]], np.float32)), 3)
    assert values.numpy().tolist() == [[5, 5, 2]]
    assert places.numpy().tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2)])
def test_conv2d_is_a_sum_over_windows(stride: int, padding: int, dilation: int) -> None:
    """Every stride, padding and dilation, against windows of the padded image."""
    x, w = single(2, 3, 9, 8), single(4, 3, 3, 2)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    size = (2 * dilation + 1, dilation + 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, size, (2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    expected = np.einsum("bcyxij,ocij->boyx", windows, w)
    found = rk.conv2d(rk.asarray(x), rk.asarray(w), stride=stride, padding=padding, dilation=dilation)
    assert near(found, expected, 1e-5)


def test_pools_and_nearest_resampling() -> None:
    """Means and maxima of windows, a border dropped; each pixel repeated."""
    x = single(1, 2, 5, 4)
    windows = x[:, :, :4].reshape(1, 2, 2, 2, 2, 2)
    assert near(rk.avg_pool2d(rk.asarray(x), 2), windows.mean((3, 5)))
    assert near(rk.max_pool2d(rk.asarray(x), 2), windows.max((3, 5)))
    assert near(rk.interpolate(rk.asarray(x), (10, 8)), x.repeat(2, 2).repeat(2, 3))


@settings(max_examples=25)
@given(n=st.tuples(*[st.integers(1, 300)] * 2), m=st.tuples(*[st.integers(1, 600)] * 2))
def test_nearest_resampling_is_exact(n: tuple[int, int], m: tuple[int, int]) -> None:
    """Output i of m takes input i * n // m, also where i * (n / m) falls short of the whole number."""
    for sizes, out in ((n, m), ((4, 3), (98, 147))):
        x = np.arange(sizes[0] * sizes[1], dtype=np.int32).reshape(1, 1, *sizes)
        rows, columns = (np.arange(count) * size // count for size, count in zip(sizes, out, strict=True))
        np.testing.assert_array_equal(rk.interpolate(rk.asarray(x), out).numpy(), x[:, :, rows][..., columns])


def test_convolutions_refuse_what_has_no_meaning() -> None:
    """Steps and dilations of 0, a bias that is no number for each output channel, norms of a tensor without rows."""
    x, w = rk.ones((1, 2, 5, 5)), rk.ones((2, 2, 3, 3))
    for call in (rk.conv2d, rk.conv_transpose2d):
        for options in ({"stride": 0}, {"stride": (1, 0)}, {"dilation": (0, 1)}):
            with pytest.raises(ValueError, match=f"{call.__name__}: stride .* dilation .*; use numbers from 1 on"):
                call(x, w, **options)
        for bias in (rk.ones((5,)), rk.ones((1,)), rk.ones((2, 1))):
            with pytest.raises(ValueError, match=f"{call.__name__}: a bias of shape .* for 2 output channels"):
                call(x, w, bias)
    for norm in (rk.rms_norm, rk.layer_norm):
        with pytest.raises(ValueError, match=f"{norm.__name__}: no dimensions"):
            norm(rk.asarray(1.0))
