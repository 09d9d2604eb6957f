"""Operations with and without a package: one contract, and a decision that says which way was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import rocmkern as rk
from rocmkern.packages import (
    KINDS,
    TunedTable,
    decide,
    gemm_a8w8,
    gemm_a16w16,
    operations,
    shuffle_weight,
    topk_softmax,
)
from rocmkern.runtime import Device
from tests.packages.installed import package

Array = npt.NDArray[Any]
BF16 = ml_dtypes.bfloat16


def softmax(x: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16])
@pytest.mark.parametrize("renormalize", [False, True])
def test_topk_softmax_on_our_kernels(device: Device, dtype: Any, renormalize: bool) -> None:
    """Any number of experts and any k: columns in NumPy's stable order, weights within 1e-6."""
    gating = np.random.default_rng(0).standard_normal((19, 100)).astype(dtype)
    weights, columns = topk_softmax(rk.asarray(gating, device=device), 5, renormalize=renormalize)
    expected = softmax(gating.astype(np.float32))
    best = np.argsort(-expected, axis=1, kind="stable")[:, :5]
    chosen = np.take_along_axis(expected, best, 1)
    chosen = chosen / chosen.sum(1, keepdims=True) if renormalize else chosen
    assert (weights.dtype, columns.dtype) == (rk.float32, rk.int32)
    np.testing.assert_array_equal(columns.numpy(), best)
    np.testing.assert_allclose(weights.numpy(), chosen, rtol=0, atol=1e-6)


def test_topk_softmax_of_what_no_kernel_takes(device: Device) -> None:
    """More experts than a wave's registers hold, and float64, go through softmax and top_k: the same contract."""
    for shape, dtype in (((3, 1500), np.float32), ((4, 20), np.float64)):
        gating = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        weights, columns = topk_softmax(rk.asarray(gating, device=device), 4)
        expected = softmax(gating.astype(np.float32))
        best = np.argsort(-expected, axis=1, kind="stable")[:, :4]
        np.testing.assert_array_equal(columns.numpy(), best)
        np.testing.assert_allclose(weights.numpy(), np.take_along_axis(expected, best, 1), rtol=0, atol=1e-6)


def int8_problem(m: int, n: int, k: int) -> tuple[Array, ...]:
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((m, k), (n, k)))
    return a, b, rng.random(m, np.float32), rng.random(n, np.float32), rng.standard_normal(n).astype(np.float32)


def int8_result(a: Array, b: Array, scale_a: Array, scale_b: Array, bias: Array, dtype: Any = BF16) -> Array:
    sums = (a.astype(np.int32) @ b.astype(np.int32).T).astype(np.float32)
    return np.asarray((sums * scale_b * scale_a[:, None] + bias).astype(dtype))


@pytest.mark.parametrize(("m", "n", "k"), [(5, 7, 9), (1, 64, 128), (70, 33, 200), (8, 16, 4200)])
def test_gemm_a8w8_on_our_kernels(device: Device, m: int, n: int, k: int) -> None:
    """Exact sums, scaled, biased and rounded once: NumPy's bits, for any shape."""
    problem = int8_problem(m, n, k)
    a, b, scale_a, scale_b, bias = (rk.asarray(x, device=device) for x in problem)
    got = gemm_a8w8(a, b, scale_a, scale_b, bias=bias)
    assert got.dtype is rk.bfloat16
    np.testing.assert_array_equal(got.numpy(), int8_result(*problem))
    for dtype in (rk.float32, rk.float16):
        wide = gemm_a8w8(a, b, scale_a, scale_b, bias=bias, dtype=dtype)
        assert wide.dtype is dtype
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(wide.numpy(), int8_result(*problem, dtype.numpy))
    if n % 32 == 0:
        shuffled = gemm_a8w8(a, shuffle_weight(b), scale_a, scale_b, bias=bias)
        np.testing.assert_array_equal(shuffled.numpy(), got.numpy())


@pytest.mark.parametrize(("m", "n", "k"), [(5, 7, 9), (33, 64, 130), (4, 20, 3000)])
def test_gemm_a16w16_on_our_kernels(device: Device, m: int, n: int, k: int) -> None:
    """bf16 products are exact in f32; only the order of the sum is ours."""
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal(shape).astype(BF16) for shape in ((m, k), (n, k)))
    got = gemm_a16w16(rk.asarray(a, device=device), rk.asarray(b, device=device)).numpy()
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    tolerance = 1e-6 * np.abs(expected).max() * k**0.5
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
    bias = rng.standard_normal(n).astype(np.float32)
    biased = gemm_a16w16(
        rk.asarray(a, device=device), rk.asarray(b, device=device), bias=rk.asarray(bias, device=device)
    )
    np.testing.assert_allclose(biased.numpy(), got + bias, rtol=0, atol=tolerance)


def test_packages_kernels_keep_the_contract() -> None:
    """The same calls through AITER's files give the same results as our own kernels."""
    device = rk.Device("emulator:gfx942")
    gating = rk.asarray(np.random.default_rng(1).standard_normal((50, 256)).astype(np.float32), device=device)
    ours, theirs = topk_softmax(gating, 8), topk_softmax(gating, 8, package=package())
    np.testing.assert_array_equal(theirs[1].numpy(), ours[1].numpy())
    np.testing.assert_allclose(theirs[0].numpy(), ours[0].numpy(), rtol=0, atol=1e-6)
    a, b, scale_a, scale_b, bias = (rk.asarray(x, device=device) for x in int8_problem(100, 256, 256))
    for weight in (b, shuffle_weight(b)):
        for shift in (bias, None):
            through = gemm_a8w8(a, weight, scale_a, scale_b, bias=shift, package=package())
            np.testing.assert_array_equal(through.numpy(), gemm_a8w8(a, weight, scale_a, scale_b, bias=shift).numpy())
    x, y = (rk.asarray(np.random.default_rng(2).standard_normal((64, 128)).astype(BF16), device=device) for _ in "ab")
    np.testing.assert_allclose(
        gemm_a16w16(x, y, package=package()).numpy(), gemm_a16w16(x, y).numpy(), rtol=0, atol=1e-3
    )


def test_decision_explains_each_step(tmp_path: Path) -> None:
    """Tuned, heuristic, own kernels: each step says what it found, the last one why nothing else did."""
    device, tuned_file = rk.Device("emulator:gfx942"), tmp_path / "tuned.csv"
    symbol = "_ZN5aiter28bf16gemm_outf32_tn_96x64_pf3E"
    tuned_file.write_text(
        f"gfx,cu_num,M,N,K,us,kernelName\ngfx942,304,16,512,1024,3,{symbol}\ngfx942,304,32,512,1024,3,gone\n"
    )
    tuned = TunedTable.read([tuned_file])
    shape = {"n": 512, "k": 1024, "bPreshuffle": 0}

    def steps(m: int, **changed: int) -> str:
        return decide(KINDS["bf16gemm"], package(), device, tuned, **({"m": m} | shape | changed)).explain()

    assert f"{symbol} (tuned, M padded from 10 to 16)" in steps(10)
    tuned_file.write_text(
        "gfx,cu_num,M,N,K,dtype,outdtype,libtype,us,kernelName\n"
        "gfx942,304,16,512,1024,torch.bfloat16,torch.bfloat16,asm,1,of_halves\n"
        "gfx942,304,16,512,1024,torch.bfloat16,torch.float32,ck,1,of_another_library\n"
        f"gfx942,304,16,512,1024,torch.bfloat16,torch.float32,asm,3,{symbol}\n"
    )
    choice = decide(KINDS["bf16gemm"], package(), device, TunedTable.read([tuned_file]), m=16, **shape).choice
    assert choice is not None
    assert (choice.row.symbol, choice.step) == (symbol, "tuned, exact shape")
    split_file = tmp_path / "split.csv"
    kernel = "_ZN5aiter42I8gemm_bf16_perTokenI8_BpreShuffle_128x128E"
    split_file.write_text(f"gfx,cu_num,M,N,K,splitK,us,kernelName\ngfx942,304,64,128,1024,3,5,{kernel}\n")
    split = TunedTable.read([split_file])
    choice = decide(KINDS["i8gemm"], package(), device, split, m=64, n=128, k=1024, bpreshuffle=1).choice
    assert choice is not None
    assert (choice.splits, choice.grid) == (3, (3, 1, 1))
    assert "tuned: select bf16gemm: the tables have no kernel gone" in steps(32)
    assert "heuristic: bf16gemm for m=32" in steps(32)
    assert "tuned: no row for M=2000, N=512, K=1024" in steps(2000)
    last = steps(16, k=1000)
    assert "k=1000 is no multiple of 64" in last
    assert last.splitlines()[-1] == "own kernels: none of the package's fits"
    assert decide(KINDS["bf16gemm"], None, device, m=1, **shape).explain() == "own kernels: no package given"


def test_shapes_that_do_not_fit(device: Device) -> None:
    """Each error names the operand, what came and what is wanted."""
    a, b = rk.zeros((4, 8), dtype=rk.int8, device=device), rk.zeros((6, 9), dtype=rk.int8, device=device)
    ones = rk.ones(4, dtype=rk.float32, device=device)
    with pytest.raises(ValueError, match=r"gemm_a8w8: a has 8 columns, b 9; b is \(n, k\)"):
        gemm_a8w8(a, b, ones, ones)
    with pytest.raises(ValueError, match=r"scale_b is float32 of shape \(4,\); float32 of 6 elements is wanted"):
        gemm_a8w8(a, b[:, :8], ones, ones)
    with pytest.raises(ValueError, match=r"shuffle_weight: shape \(6, 9\); rows come in 32, columns in 32: pad it"):
        shuffle_weight(b)
    with pytest.raises(ValueError, match="topk_softmax: k=9 of 8 experts; give 1 to 8"):
        topk_softmax(rk.zeros((4, 8), device=device), 9)
    with pytest.raises(TypeError, match="gemm_a16w16: a is int8; bfloat16 is wanted, cast it first"):
        gemm_a16w16(a, a)
    with pytest.raises(TypeError, match="gemm_a8w8: b is float32; int8 is wanted"):
        gemm_a8w8(a, a.astype(rk.float32), ones, ones)
    with pytest.raises(TypeError, match="gemm_a8w8: a result of int32"):
        gemm_a8w8(a, a, ones, ones, dtype=rk.int32)
    half = a.astype(rk.bfloat16)
    with pytest.raises(ValueError, match="gemm_a16w16: bias is int8"):
        gemm_a16w16(half, half, bias=a[0])


@pytest.mark.parametrize(("m", "n", "k"), [(0, 128, 128), (4, 0, 128), (4, 128, 0)])
def test_products_without_elements_need_no_package(m: int, n: int, k: int) -> None:
    """What a package's kernels can't launch is empty, or the bias alone."""
    device = rk.Device("emulator:gfx942")
    a, b, scale_a, scale_b, bias = (rk.asarray(x, device=device) for x in int8_problem(m, n, k))
    eight = gemm_a8w8(a, b, scale_a, scale_b, bias=bias, dtype=rk.bfloat16, package=package())
    sixteen = gemm_a16w16(a.astype(rk.bfloat16), b.astype(rk.bfloat16), bias=bias, package=package())
    expected = np.broadcast_to(bias.numpy(), (m, n))
    np.testing.assert_array_equal(eight.numpy(), expected.astype(BF16))
    np.testing.assert_array_equal(sixteen.numpy(), expected)


def test_operands_of_two_devices_are_refused() -> None:
    """Scales and biases too, whose addresses mean nothing on the other device."""
    here, there = rk.Device("emulator:gfx942"), rk.Device("emulator:gfx1100")
    given = {"a": np.ones((4, 8), np.int8), "b": np.ones((6, 8), np.int8), "scale_a": np.ones(4, np.float32)}
    given |= {"scale_b": np.ones(6, np.float32), "bias": np.ones(6, np.float32)}
    for other in ("b", "scale_a", "scale_b", "bias"):
        t = {name: rk.asarray(x, device=there if name == other else here) for name, x in given.items()}
        with pytest.raises(ValueError, match="gemm_a8w8: tensors on emulator:gfx942 and emulator:gfx1100; move one"):
            gemm_a8w8(**t)
    half = [rk.asarray(given[name], device=place).astype(rk.bfloat16) for name, place in (("a", here), ("b", there))]
    with pytest.raises(ValueError, match=r"gemm_a16w16: tensors on .*; move one"):
        gemm_a16w16(*half)


def test_a_view_seen_as_another_dtype_begins_where_it_did() -> None:
    """Kernels for bf16 take the pointer of those for f32: offsets count elements of two bytes, not of four."""
    x = np.arange(24, dtype=np.float32).reshape(3, 8).astype(BF16)
    seen = operations.seen_as(rk.asarray(x)[1:], rk.float32)
    first = seen.address - seen.memory.address
    held = seen.memory.copy_to_host()[first : first + 32]
    np.testing.assert_array_equal(held.view(BF16), x[1:].reshape(-1))
