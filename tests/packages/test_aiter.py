"""AITER's own files, as the PyPI package ships them for gfx942, run on the emulator against NumPy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from attrs import define, field

import rocmkern as rk
from rocmkern.packages import KINDS, KernelTable, check
from rocmkern.packages.kinds import Bf16GemmOutF32Args, I8GemmArgs, TopKSoftmaxArgs
from rocmkern.packages.package import PackagedTable
from rocmkern.packages.tables import KernelRow
from tests.packages.installed import package

Array = npt.NDArray[Any]
ARCH = "gfx942"
BF16 = ml_dtypes.bfloat16


def device() -> rk.Device:
    return rk.Device(f"emulator:{ARCH}")


def table(kind: str) -> PackagedTable:
    (found,) = KernelTable.of(package(), KINDS[kind], ARCH).tables
    return found


def load(kind: str, row: KernelRow) -> rk.Function:
    return rk.Module.load(table(kind).file(row), device()).get_function(row.symbol)


def upload(array: Array) -> rk.DeviceMemory:
    memory = device().alloc(array.nbytes)
    memory.copy_from_host(np.ascontiguousarray(array))
    return memory


def shuffled(b: Array, rows: int, columns: int) -> Array:
    """Weights in the order that a kernel with matrix tiles of `rows` × `columns` reads them."""
    n, k = b.shape
    per_load, step = 16 // b.itemsize, 2 * columns
    return b.reshape(n // rows, rows, k // step, step // per_load, per_load).transpose(0, 2, 3, 1, 4)


@pytest.mark.slow
def test_package_is_sound() -> None:
    """Every row's file and symbol is there, archs agree, argument blocks have the known sizes but those of older files
    for paged attention and of one for 4-bit floats, which lack the last arguments.
    """
    report = check(package())
    told = [str(finding) for finding in report.findings]
    assert [line for line in told if ": host arguments: kernarg_segment_size is " not in line] == []
    assert Counter(line.split("/")[1] for line in told) == {"pa": 28, "f4gemm": 1}
    totals = report.totals()
    assert (totals["files"], totals["rows"], totals["matching rows"]) == (2501, 1406, 1406 - 29)


@pytest.mark.parametrize("renormalize", [0, 1])
@pytest.mark.parametrize("number", range(8))
def test_topk_softmax(number: int, renormalize: int) -> None:
    """Experts and their order are NumPy's, weights within 1e-6, for a token count that no tile divides."""
    row = table("topksoftmax").table.rows[number]
    tokens, experts, topk = 37, row.number("num_experts"), row.number("topk")
    gating = np.random.default_rng(number).standard_normal((tokens, experts)).astype(np.float32)
    indices, weights = np.empty((tokens, topk), np.int32), np.empty((tokens, topk), np.float32)
    outputs = device().alloc(indices.nbytes), device().alloc(weights.nbytes)
    function = load("topksoftmax", row)
    args = TopKSoftmaxArgs(
        indices=outputs[0], weights=outputs[1], gating=upload(gating), tokens=tokens, experts=experts, topk=topk,
        renormalize=renormalize, out_stride=4 * topk,
    )  # fmt: skip
    grid = KINDS["topksoftmax"].grid(row, {"tokens": tokens}, 1)
    function.launch_packed(args.pack(function), grid=grid, block=256)
    for memory, array in zip(outputs, (indices, weights), strict=True):
        memory.copy_to_host(array)
    scores = np.exp(gating - gating.max(1, keepdims=True), dtype=np.float64)
    scores /= scores.sum(1, keepdims=True)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :topk]
    expected = np.take_along_axis(scores, best, 1)
    if renormalize:
        expected /= expected.sum(1, keepdims=True)
    np.testing.assert_array_equal(indices, best)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 128, 128), (70, 64, 192), (1, 128, 64)])
@pytest.mark.parametrize("number", range(4))
def test_bf16_gemm(number: int, m: int, n: int, k: int) -> None:
    """A × Bᵀ in f32 for each tile height, with row counts that the tile does not divide."""
    row = table("bf16gemm").table.rows[number]
    rng = np.random.default_rng(number)
    a, b = (rng.standard_normal(shape).astype(BF16) for shape in ((m, k), (n, k)))
    out, function = device().alloc(m * n * 4), load("bf16gemm", row)
    out.fill(0)  # the kernels add
    args = Bf16GemmOutF32Args(
        d=out,
        a=upload(a),
        b=upload(b),
        stride_d0=4 * n,
        stride_c0=4 * n,
        stride_a0=2 * k,
        stride_b0=2 * k,
        m=m,
        n=n,
        k=k,
    )
    grid = KINDS["bf16gemm"].grid(row, {"m": m, "n": n, "k": k}, 1)
    function.launch_packed(args.pack(function), grid=grid, block=256)
    got = np.empty((m, n), np.float32)
    out.copy_to_host(got)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * np.abs(expected).max() * k**0.5)


@define
class I8Problem:
    """Inputs of an i8 product with scales and bias, and what an AITER kernel makes of them."""

    m: int
    n: int
    k: int
    rng: np.random.Generator
    a: Array = field(init=False)
    b: Array = field(init=False)
    scale_a: Array = field(init=False)
    scale_b: Array = field(init=False)
    bias: Array = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.a, self.b = (
            self.rng.integers(-128, 128, shape, np.int8) for shape in ((self.m, self.k), (self.n, self.k))
        )
        self.scale_a, self.scale_b, self.bias = (
            self.rng.random(size, np.float32) * 0.01 for size in (self.m, self.n, self.n)
        )

    def run(self, row: KernelRow, splits: int) -> Array:
        """The product in bf16, over an output that held NaN."""
        m, n, k = self.m, self.n, self.k
        out, function = device().alloc(m * n * 2), load("i8gemm", row)
        out.fill(0xFF)
        args = I8GemmArgs(
            out=out, a=upload(self.a), b=upload(shuffled(self.b, 32, 16)), scale_a=upload(self.scale_a),
            scale_b=upload(self.scale_b), bias=upload(self.bias), m=m, n=n, k=k, lda=k, ldb=k, ldc=2 * n, splits=splits,
        )  # fmt: skip
        grid = KINDS["i8gemm"].grid(row, {"m": m, "n": n, "k": k}, splits)
        function.launch_packed(args.pack(function), grid=grid, block=256)
        got = np.empty((m, n), BF16)
        out.copy_to_host(got)
        return got

    def part(self, ks: slice) -> Array:
        """The scaled sum over some of k, in f32 as the kernel rounds it."""
        sums = (self.a[:, ks].astype(np.int32) @ self.b[:, ks].astype(np.int32).T).astype(np.float32)
        return sums * self.scale_b * self.scale_a[:, None]


@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 128), (1, 128, 128), (200, 256, 384)])
@pytest.mark.parametrize("number", range(2))
def test_i8_gemm(number: int, m: int, n: int, k: int) -> None:
    """Exact sums, scaled per row and column, biased, rounded once to bf16: NumPy's bits."""
    problem = I8Problem(m, n, k, np.random.default_rng(number))
    got = problem.run(table("i8gemm").table.rows[number], 1)
    np.testing.assert_array_equal(got, (problem.part(slice(None)) + problem.bias).astype(BF16))


@pytest.mark.parametrize("splits", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("m", "n"), [(128, 128), pytest.param(70, 256, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", range(2))
def test_i8_gemm_split_over_k(number: int, m: int, n: int, splits: int) -> None:
    """Workgroups clear the tile together, then add their parts, cut to bf16: no more than these roundings is lost."""
    problem = I8Problem(m, n, 128 * splits, np.random.default_rng(number))
    got = problem.run(table("i8gemm").table.rows[number], splits).astype(np.float64)
    parts = [problem.part(slice(128 * i, 128 * i + 128)).astype(np.float64) for i in range(splits)]
    size = sum(np.abs(part) for part in parts) + np.abs(problem.bias)
    assert (np.abs(got - sum(parts) - problem.bias) <= 2.0**-8 * (splits + 1) * size).all()


def test_choice_explains_itself() -> None:
    """For a problem that several kernels serve, the transcript names each with its cost, in table order."""
    choice = KernelTable.of(package(), KINDS["bf16gemm"], ARCH).select(304, m=200, n=512, k=1024, bPreshuffle=0)
    lines = choice.explain().splitlines()
    assert lines[0].startswith("bf16gemm for m=200, n=512, k=1024, bPreshuffle=0: ")
    assert [line.split(":")[0].split("_")[-2] for line in lines[1:]] == ["32x64", "48x64", "64x64", "96x64"]
    assert lines[1].startswith("→ _ZN5aiter28bf16gemm_outf32_tn_32x64_pf3E: cost 1, 248, 24,")
