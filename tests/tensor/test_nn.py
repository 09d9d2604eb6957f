"""Neural-network operations against NumPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from rocmkern.errors import DTypeError, ShapeError
from tests.tensor.arrays import FLOATS, FULL_SHAPES, assert_same, laid_out

torch = pytest.importorskip("torch")
functional = torch.nn.functional

TOLERANCE = {"f8_e4m3": 0.13, "f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-5, "f64": 1e-12}
BY_FLOAT = pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
SHORT = pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16, rk.float32, rk.float64], ids=lambda d: d.short)


def wide(x: Any) -> Any:
    """The array as a PyTorch tensor of f64."""
    return torch.from_numpy(np.array(x, np.float64))


def assert_near(got: rk.Tensor, expected: Any, dtype: DType, scale: float = 1.0) -> None:
    assert got.dtype is dtype
    want = expected.numpy() if hasattr(expected, "numpy") else np.asarray(expected)
    assert got.shape == want.shape
    slack = TOLERANCE[dtype.short] * (np.abs(want) + scale)
    assert (np.abs(got.numpy().astype(np.float64) - want) <= slack).all(), f"{got} instead of {want}"


@BY_FLOAT
@settings(max_examples=6)
@given(data=st.data())
def test_softmax_along_any_axis(dtype: DType, data: st.DataObject) -> None:
    """softmax and log_softmax of any layout, without overflow."""
    t, x = data.draw(laid_out(dtype, FULL_SHAPES, low=-300.0, high=300.0))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    assert_near(rk.softmax(t, axis=axis), wide(x).softmax(axis), dtype)
    if dtype.short != "f8_e4m3":
        assert_near(rk.log_softmax(t, axis=axis), wide(x).log_softmax(axis), dtype)


@SHORT
@settings(max_examples=6)
@given(data=st.data())
def test_norms(dtype: DType, data: st.DataObject) -> None:
    """layer_norm, rms_norm and normalize, with and without parameters."""
    rows, n = data.draw(st.tuples(st.integers(1, 4), st.sampled_from([1, 7, 64, 384])))
    rng = np.random.default_rng(rows * n)
    x, w, b = (rng.standard_normal(s).astype(dtype.numpy) for s in ((rows, n), (n,), (n,)))
    t, weight, bias = map(rk.asarray, (x, w, b))
    both = functional.layer_norm(wide(x), (n,), wide(w), wide(b), 1e-5)
    assert_near(rk.layer_norm(t, weight, bias), both, dtype)
    assert_near(rk.layer_norm(t, eps=1e-3), functional.layer_norm(wide(x), (n,), None, None, 1e-3), dtype)
    assert_near(rk.rms_norm(t, weight), functional.rms_norm(wide(x), (n,), wide(w), 1e-5), dtype)
    assert_near(rk.normalize(t), functional.normalize(wide(x), dim=-1), dtype)


def test_norms_of_large_f16_rows_do_not_overflow() -> None:
    """4096 values of 60000: their squares are beyond f16."""
    row = rk.full((1, 4096), 60000.0, dtype=rk.float16)
    assert (rk.rms_norm(row).numpy() == 1).all()
    assert (rk.layer_norm(row).numpy() == 0).all()


@SHORT
def test_attention_with_masks(dtype: DType) -> None:
    """Scores in one call: no mask, a bool mask that lets pass, an additive mask."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, 3, 5, 8)).astype(dtype.numpy) for _ in range(3))
    tensors = list(map(rk.asarray, (q, k, v)))
    mask = np.tril(np.ones((5, 5), bool))
    whole = functional.scaled_dot_product_attention(wide(q), wide(k), wide(v))
    assert_near(rk.scaled_dot_product_attention(*tensors), whole, dtype, 3)
    causal = functional.scaled_dot_product_attention(wide(q), wide(k), wide(v), torch.from_numpy(mask))
    assert_near(rk.scaled_dot_product_attention(*tensors, rk.asarray(mask)), causal, dtype, 3)
    added = rk.asarray(np.where(mask, 0.0, -1e4).astype(np.float32))
    assert_near(rk.scaled_dot_product_attention(*tensors, added), causal, dtype, 3)


def test_embedding_linear_cross_entropy() -> None:
    """Rows at ids, x · wᵀ + b, and the mean negative log-probability."""
    rng = np.random.default_rng(5)
    table, ids = rng.standard_normal((7, 4)).astype(np.float32), np.array([[0, 6], [-1, 3]])
    assert_same(rk.embedding(rk.asarray(table), rk.asarray(ids)), table[ids])
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 4), (5, 4), (5,)))
    got = rk.linear(rk.asarray(x), rk.asarray(w), rk.asarray(b))
    assert_near(got, functional.linear(wide(x), wide(w), wide(b)), rk.float32, 3)
    logits, targets = rng.standard_normal((6, 5)).astype(np.float32), np.array([0, 4, 2, 2, 1, 3])
    loss = rk.cross_entropy(rk.asarray(logits), rk.asarray(targets))
    assert_near(loss, functional.cross_entropy(wide(logits), torch.from_numpy(targets)), rk.float32)
    with pytest.raises(IndexError, match="index 5 at position 0"):
        rk.cross_entropy(rk.asarray(logits), rk.full((6,), 5)).item()
    with pytest.raises(DTypeError, match="use integers"):
        rk.embedding(rk.asarray(table), rk.asarray(table))


@BY_FLOAT
@settings(max_examples=6)
@given(data=st.data())
def test_elu(dtype: DType, data: st.DataObject) -> None:
    """x above zero, alpha·(exp(x) − 1) below."""
    t, x = data.draw(laid_out(dtype, low=-8.0, high=8.0))
    assert_near(rk.elu(t, alpha=0.5), functional.elu(wide(x), 0.5), dtype)


@SHORT
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rope_rotates_pairs(dtype: DType, layout: str) -> None:
    """Pairs are the two halves of a head, or its neighbours."""
    rng = np.random.default_rng(9)
    x = rng.standard_normal((2, 3, 5, 8)).astype(dtype.numpy)
    angles = rng.standard_normal((5, 4))
    cos, sin = np.cos(angles).astype(dtype.numpy), np.sin(angles).astype(dtype.numpy)
    got = rk.rope(rk.asarray(x), rk.asarray(cos), rk.asarray(sin), interleaved=layout == "interleaved")
    c, s = cos.astype(np.float64), sin.astype(np.float64)
    exact = x.astype(np.float64)
    if layout == "half":
        a, b = exact[..., :4], exact[..., 4:]
        expected = np.concatenate([a * c - b * s, a * s + b * c], -1)
    else:
        a, b = exact[..., ::2], exact[..., 1::2]
        expected = np.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)
    assert_near(got, expected, dtype)


@SHORT
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"stride": (1, 2), "padding": (2, 0), "dilation": (2, 1)},
        {"groups": 2, "padding": 1},
    ],
    ids=["plain", "strided", "axes", "groups"],
)
def test_convolutions(dtype: DType, options: dict[str, Any]) -> None:
    """conv2d and its transpose, with bias, of any layout, as PyTorch has them."""
    rng = np.random.default_rng(11)
    groups = options.get("groups", 1)
    x = rng.integers(-3, 4, (2, 4, 7, 8)).astype(dtype.numpy)
    w = rng.integers(-3, 4, (6, 4 // groups, 3, 2)).astype(dtype.numpy)
    b = rng.integers(-3, 4, 6).astype(dtype.numpy)
    t = rk.asarray(x.transpose(0, 1, 3, 2).copy()).permute(0, 1, 3, 2)
    got = rk.conv2d(t, rk.asarray(w), rk.asarray(b), **options)
    assert_near(got, functional.conv2d(wide(x), wide(w), wide(b), **options), dtype, 50)
    v = rng.integers(-3, 4, (4, 6 // groups, 3, 2)).astype(dtype.numpy)
    back = rk.conv_transpose2d(t, rk.asarray(v), rk.asarray(b), **options)
    assert_near(back, functional.conv_transpose2d(wide(x), wide(v), wide(b), **options), dtype, 50)


def test_convolutions_of_signals_and_many_channels() -> None:
    """conv1d and its transpose; enough channels for tiles."""
    rng = np.random.default_rng(13)
    x, w = (rng.integers(-3, 4, s).astype(np.float32) for s in ((2, 3, 20), (5, 3, 4)))
    got = rk.conv1d(rk.asarray(x), rk.asarray(w), stride=2, padding=3, dilation=2)
    assert_near(got, functional.conv1d(wide(x), wide(w), stride=2, padding=3, dilation=2), rk.float32, 9)
    v = rng.integers(-3, 4, (3, 5, 4)).astype(np.float32)
    back = rk.conv_transpose1d(rk.asarray(x), rk.asarray(v), stride=2, padding=1, output_padding=1)
    want = functional.conv_transpose1d(wide(x), wide(v), stride=2, padding=1, output_padding=1)
    assert_near(back, want, rk.float32, 9)
    x, w = (rng.integers(-2, 3, s).astype(np.float32) for s in ((1, 16, 9, 9), (70, 16, 3, 3)))
    got = rk.conv2d(rk.asarray(x), rk.asarray(w), padding=1)
    assert_near(got, functional.conv2d(wide(x), wide(w), padding=1), rk.float32, 9)


@SHORT
def test_pools_and_resampling(dtype: DType) -> None:
    """Whole windows; nearest and bilinear to any size."""
    x = np.random.default_rng(17).standard_normal((2, 3, 6, 9)).astype(dtype.numpy)
    t = rk.asarray(x)
    assert_near(rk.avg_pool2d(t, (2, 3)), functional.avg_pool2d(wide(x), (2, 3)), dtype)
    assert_near(rk.max_pool2d(t, 3, stride=2), functional.max_pool2d(wide(x), 3, 2), dtype)
    for size in ((12, 18), (4, 5), (7, 3)):
        assert_near(rk.interpolate(t, size), functional.interpolate(wide(x), size), dtype)
        for align in (False, True):
            want = functional.interpolate(wide(x), size, mode="bilinear", align_corners=align)
            assert_near(rk.interpolate(t, size, mode="bilinear", align_corners=align), want, dtype, 2)


@SHORT
@given(
    size=st.tuples(st.integers(3, 9), st.integers(3, 9)),
    window=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.sampled_from([None, 1, 2, (3, 2)]),
    padding=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    ceil=st.booleans(),
    counts=st.booleans(),
)
def test_pools_with_padding_equal_torch(
    dtype: DType, size: tuple[int, int], window: tuple[int, int], stride: int | tuple[int, int] | None,
    padding: tuple[int, int], ceil: bool, counts: bool,
) -> None:  # fmt: skip
    """Padding up to half a window, windows beyond the end with ceil_mode, dilation for the largest."""
    padding = (min(padding[0], window[0] // 2), min(padding[1], window[1] // 2))
    x = np.random.default_rng(5).standard_normal((1, 2, *size)).astype(dtype.numpy)
    same = {"stride": stride, "padding": padding, "ceil_mode": ceil}
    want = functional.avg_pool2d(wide(x), window, count_include_pad=counts, **same)
    assert_near(rk.avg_pool2d(rk.asarray(x), window, count_include_pad=counts, **same), want, dtype, 9)
    for dilation in (1, 2):
        if all(dilation * (k - 1) + 1 <= n for k, n in zip(window, size, strict=True)):
            want = functional.max_pool2d(wide(x), window, dilation=dilation, **same)
            assert_near(rk.max_pool2d(rk.asarray(x), window, dilation=dilation, **same), want, dtype)


def test_wrong_shapes_are_value_errors() -> None:
    """Each names what came."""
    image, kernels = rk.zeros((1, 4, 5, 5)), rk.zeros((6, 4, 3, 3))
    for call, words in (
        (lambda: rk.conv2d(image, rk.zeros((6, 3, 3, 3))), "do not fit together"),
        (lambda: rk.conv2d(image, kernels, groups=2), "do not fit together"),
        (lambda: rk.conv2d(image, rk.zeros((6, 4, 7, 7))), "does not fit image"),
        (lambda: rk.conv2d(rk.zeros((4, 5, 5)), kernels), r"\(batch, channels, height, width\)"),
        (lambda: rk.max_pool2d(image, 6), "does not fit image"),
        (lambda: rk.avg_pool2d(image, 2, padding=2), "use half of that at most"),
        (lambda: rk.max_pool2d(image, 2, dilation=0), "use numbers from 1 on"),
        (lambda: rk.interpolate(image, (0, 3)), "sizes are positive"),
        (lambda: rk.layer_norm(image, rk.zeros((4,))), "rows of length 5"),
        (lambda: rk.rope(image, rk.zeros((5, 2)), rk.zeros((5, 2))), "even"),
    ):
        with pytest.raises(ShapeError, match=words):
            call()


def test_weights_and_biases_go_by_name() -> None:
    """Operands that may be left out can be named, as users of PyTorch do; the values are those by place."""
    rng = np.random.default_rng(5)
    x, weight, bias = (rk.asarray(rng.standard_normal(shape, dtype=np.float32)) for shape in ((2, 4), (4,), (4,)))
    square, image = rk.asarray(rng.standard_normal((4, 4), dtype=np.float32)), rk.ones((1, 4, 5, 5))
    filters, query, mask = rk.ones((4, 4, 3, 3)), rk.ones((2, 4)), rk.zeros((2, 2))
    for named, placed in (
        (rk.layer_norm(x, weight=weight, bias=bias), rk.layer_norm(x, weight, bias)),
        (rk.layer_norm(x, bias=bias), rk.layer_norm(x, None, bias)),
        (rk.rms_norm(x, weight=weight), rk.rms_norm(x, weight)),
        (rk.linear(x, weight=square, bias=bias), rk.linear(x, square, bias)),
        (rk.conv2d(image, filters, bias=bias), rk.conv2d(image, filters, bias)),
        (
            rk.scaled_dot_product_attention(query, key=query, value=query, mask=mask),
            rk.scaled_dot_product_attention(query, query, query, mask),
        ),
        (rk.cov(x, y=x), rk.cov(x, x)),
        (rk.corrcoef(x, y=x), rk.corrcoef(x, x)),
        (rk.trapezoid(x, x=weight), rk.trapezoid(x, weight)),
    ):
        np.testing.assert_array_equal(named.numpy(), placed.numpy())
    np.testing.assert_array_equal(rk.layer_norm(x, bias=bias).numpy(), (rk.layer_norm(x) + bias).numpy())
