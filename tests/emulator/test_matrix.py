"""MFMA: fragments laid out over the lanes as the ISA manual draws them give the matrix product."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from attrs import frozen

from tests.emulator.device import bench

Array = np.ndarray
LANE = np.arange(64)


@frozen
class Case:
    """One builtin: sizes, elements, per-lane counts, and where lane and place lie in A (and B), and in D."""

    builtin: str
    targets: tuple[str, ...]
    size: int
    k: int
    blocks: int
    source: Any
    result: Any
    c_source: str
    c_result: str

    @property
    def per_lane(self) -> int:
        return self.k * self.size * self.blocks // 64

    @property
    def outputs(self) -> int:
        return self.size * self.size * self.blocks // 64

    @property
    def name(self) -> str:
        return self.builtin.removeprefix("__builtin_amdgcn_")

    def kernel(self) -> str:
        def vector(kind: str, n: int, name: str) -> str:
            return (
                f"typedef {kind} {name} __attribute__((ext_vector_type({n})));" if n > 1 else f"typedef {kind} {name};"
            )

        packs = {np.int8: {4: "int", 8: "long"}}
        narrow = packs.get(self.source, {}).get(self.per_lane)
        source = f"typedef {narrow} S;" if narrow else vector(self.c_source, self.per_lane, "S")
        if self.source is np.int8 and self.per_lane == 16:
            source = "typedef int S __attribute__((ext_vector_type(4)));"
        return (
            f"namespace in_{self.name} {{ {source} {vector(self.c_result, self.outputs, 'D')}"
            f"KERNEL void {self.name}(const S *a, const S *b, D *d) {{"
            " unsigned lane = __builtin_amdgcn_workitem_id_x();"
            f" d[lane] = {self.builtin}(a[lane], b[lane], d[lane], 0, 0, 0); }} }}"
        )


def place_of_source(case: Case) -> tuple[Array, Array, Array]:
    """Block, row and k of each lane's elements, all (64, per_lane)."""
    group, row = np.divmod(LANE, case.size)
    k = (group // case.blocks)[:, None] * case.per_lane + np.arange(case.per_lane)
    return np.broadcast_to((group % case.blocks)[:, None], k.shape), np.broadcast_to(row[:, None], k.shape), k


def place_of_result(case: Case) -> tuple[Array, Array, Array]:
    """Block, row and column of each lane's results, all (64, outputs)."""
    v = np.arange(case.outputs)[None, :]
    group, column = (part[:, None] for part in np.divmod(LANE, case.size))
    zero = np.zeros((64, case.outputs), int)
    if case.result is np.float64:
        if case.size == 4:
            return group % 4 + zero, group // 4 + zero, column + zero
        return zero, 4 * v + group, column + zero
    if case.size == 32:
        return v // 16 + zero, 8 * (v % 16 // 4) + 4 * group + v % 4, column + zero
    if case.size == 16:
        return v // 4 + zero, 4 * group + v % 4, column + zero
    return group + zero, v + zero, column + zero


ALL = ("gfx90a", "gfx942", "gfx950")
NEW = ("gfx942", "gfx950")
HALF, BF16 = np.float16, ml_dtypes.bfloat16
CASES = [
    Case("__builtin_amdgcn_mfma_f32_32x32x1f32", ALL, 32, 1, 2, np.float32, np.float32, "float", "float"),
    Case("__builtin_amdgcn_mfma_f32_16x16x1f32", ALL, 16, 1, 4, np.float32, np.float32, "float", "float"),
    Case("__builtin_amdgcn_mfma_f32_4x4x1f32", ALL, 4, 1, 16, np.float32, np.float32, "float", "float"),
    Case("__builtin_amdgcn_mfma_f32_32x32x2f32", ALL, 32, 2, 1, np.float32, np.float32, "float", "float"),
    Case("__builtin_amdgcn_mfma_f32_16x16x4f32", ALL, 16, 4, 1, np.float32, np.float32, "float", "float"),
    Case("__builtin_amdgcn_mfma_f32_32x32x4f16", ALL, 32, 4, 2, HALF, np.float32, "_Float16", "float"),
    Case("__builtin_amdgcn_mfma_f32_16x16x4f16", ALL, 16, 4, 4, HALF, np.float32, "_Float16", "float"),
    Case("__builtin_amdgcn_mfma_f32_4x4x4f16", ALL, 4, 4, 16, HALF, np.float32, "_Float16", "float"),
    Case("__builtin_amdgcn_mfma_f32_32x32x8f16", ALL, 32, 8, 1, HALF, np.float32, "_Float16", "float"),
    Case("__builtin_amdgcn_mfma_f32_16x16x16f16", ALL, 16, 16, 1, HALF, np.float32, "_Float16", "float"),
    Case("__builtin_amdgcn_mfma_f32_32x32x8bf16_1k", ALL, 32, 8, 1, BF16, np.float32, "short", "float"),
    Case("__builtin_amdgcn_mfma_f32_16x16x16bf16_1k", ALL, 16, 16, 1, BF16, np.float32, "short", "float"),
    Case("__builtin_amdgcn_mfma_f32_4x4x4bf16_1k", ALL, 4, 4, 16, BF16, np.float32, "short", "float"),
    Case("__builtin_amdgcn_mfma_i32_32x32x8i8", ("gfx90a",), 32, 8, 1, np.int8, np.int32, "char", "int"),
    Case("__builtin_amdgcn_mfma_i32_16x16x16i8", ("gfx90a",), 16, 16, 1, np.int8, np.int32, "char", "int"),
    Case("__builtin_amdgcn_mfma_i32_4x4x4i8", ALL, 4, 4, 16, np.int8, np.int32, "char", "int"),
    Case("__builtin_amdgcn_mfma_i32_32x32x16_i8", NEW, 32, 16, 1, np.int8, np.int32, "char", "int"),
    Case("__builtin_amdgcn_mfma_i32_16x16x32_i8", NEW, 16, 32, 1, np.int8, np.int32, "char", "int"),
    Case("__builtin_amdgcn_mfma_f64_16x16x4f64", ALL, 16, 4, 1, np.float64, np.float64, "double", "double"),
    Case("__builtin_amdgcn_mfma_f64_4x4x4f64", ALL, 4, 4, 4, np.float64, np.float64, "double", "double"),
    Case("__builtin_amdgcn_mfma_f32_16x16x32_f16", ("gfx950",), 16, 32, 1, HALF, np.float32, "_Float16", "float"),
    Case("__builtin_amdgcn_mfma_f32_32x32x16_bf16", ("gfx950",), 32, 16, 1, BF16, np.float32, "__bf16", "float"),
    Case("__builtin_amdgcn_mfma_i32_16x16x64_i8", ("gfx950",), 16, 64, 1, np.int8, np.int32, "char", "int"),
]
EACH = [(case, target) for case in CASES for target in case.targets]


@pytest.mark.parametrize(("case", "target"), EACH, ids=lambda p: p if isinstance(p, str) else p.name)
def test_product_of_fragments(case: Case, target: str) -> None:
    """D = A·B + C for every block, exactly: the inputs are small integers."""
    rng = np.random.default_rng(case.k)
    a = rng.integers(-8, 8, (case.blocks, case.size, case.k))
    b = rng.integers(-8, 8, (case.blocks, case.k, case.size))
    c = rng.integers(-99, 99, (case.blocks, case.size, case.size))
    block, at, k = place_of_source(case)
    fragments = [a[block, at, k].astype(case.source), b[block, k, at].astype(case.source)]
    to = place_of_result(case)
    result = c[to].astype(case.result)
    source = "\n".join(each.kernel() for each in CASES if target in each.targets)
    bench(source, target).run(case.name, *fragments, result)
    assert np.array_equal(result, (a @ b + c)[to].astype(case.result))
