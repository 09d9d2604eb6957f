"""The kernels' sources: where AMD's and NVIDIA's devices differ, and the numbers that launch plans share with them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rocmkern.build import toolchain
from rocmkern.kernels import files, plans, plans_indexing, plans_sort, plans_transpose, quantized_plans
from rocmkern.kernels.families import fused, linalg, quantized, small, statistics
from rocmkern.ops.fused import FEW_WRITES
from rocmkern.specialize import operations

HARDWARE = {"device.hpp", "device_amd.hpp", "device_early.hpp", "device_nvidia.hpp"}
PLATFORM = re.compile(
    r"__(?:NVPTX|AMDGCN|AMDGPU|AMD|CUDA|CUDA_ARCH|HIP)(?:__)?\b|\b__(?:CUDA|HIP)_\w+|is_nvidia|device_amd|device_nvidia"
    r"|\b__(?:nvvm|nv|ocml|ockl|hip|scoped)_\w+|__syncthreads|__builtin_\w*(?:nvptx|nvvm)\w*"
    r"|\basm\b|\b__asm|address_space|launch_bounds|amdgpu_\w+"
)
GENERATION = re.compile(r"__(?:GFX|gfx)\w+|__builtin_amdgcn_\w+")
SHARED = [
    ("eigen.hip", "eigen_block_size", plans.BLOCK),
    ("fused.hip", "most_for_unique", fused.MOST_UNIQUE),
    ("include/attention.hpp", "attention_scores", fused.MOST_KEYS),
    ("include/covariance.hpp", "most_variables", statistics.MOST_VARIABLES),
    ("include/factors.hpp", "panel", linalg.PANEL),
    ("include/few_writes.hpp", "most_writes", FEW_WRITES),
    ("include/histogram.hpp", "most_bins", statistics.MOST_BINS),
    ("include/quantile.hpp", "most_for_quantile", fused.MOST_IN_ORDER),
    ("include/scatter_tiles.hpp", "bytes", plans_indexing.TILE_BYTES),
    ("include/scatter_tiles.hpp", "most_columns", plans_indexing.TILE_COLUMNS),
    ("include/scatter_tiles.hpp", "threads", plans.BLOCK),
    ("include/small_lanes.hpp", "small_side", small.SIDE),
    ("include/transpose.hpp", "worthwhile", plans_transpose.WORTHWHILE),
    ("include/types.hpp", "vector_bytes", plans.VECTOR_BYTES),
    ("indexing.hip", "moves_in_flight", plans_indexing.MOVES),
    ("quantized/bands.hpp", "BAND_BLOCKS", quantized_plans.BAND_BLOCKS),
    ("quantized/bands.hpp", "BAND_ROWS", quantized_plans.BAND_ROWS),
    ("quantized/bands.hpp", "BAND_THREADS", quantized_plans.BAND_THREADS),
    ("quantized/matmul.hpp", "TILE_ROWS", quantized_plans.TILE_ROWS),
    ("quantized/matmul.hpp", "TILE_THREADS", quantized_plans.TILE_THREADS),
    ("quantized/matmul.hpp", "TILE_VECTORS", quantized_plans.TILE_VECTORS),
    ("quantized/prepared.hpp", "PREPARED_VECTORS", quantized.MAX_VECTORS),
    ("quantized/prepared.hpp", "SLAB_BYTES", quantized.SLAB_BYTES),
    ("quantized/prepared.hpp", "SLAB_VALUES", quantized.SLAB_VALUES),
    ("sort.hip", "digits", plans_sort.DIGITS),
    ("sort.hip", "entries_per_thread", plans_sort.ENTRIES_PER_THREAD),
    ("sort.hip", "radix_block_size", plans_sort.RADIX_BLOCK),
    ("sort.hip", "sort_block_size", plans_sort.SORT_BLOCK),
    ("templates/lines.hpp", "worthwhile", operations.WORTHWHILE),
]


def test_two_headers_alone_tell_platforms_apart() -> None:
    """device.hpp with its companions, and math.hpp, whose libraries' functions have other names. What AMD's matrix
    instructions differ in by generation is in a header of its own.
    """
    found = {}
    for path in [*files.sources().rglob("*.hip"), *files.sources().rglob("*.hpp")]:
        code = re.sub(r"//.*", "", path.read_text())
        platforms = [] if path.name in {*HARDWARE, "math.hpp"} else PLATFORM.findall(code)
        generations = [] if path.name in {*HARDWARE, "matrix_cores.hpp"} else GENERATION.findall(code)
        found[path.name] = platforms + generations
    assert found.keys() >= {*HARDWARE, "math.hpp", "matrix_cores.hpp", "matmul.hip", "mul_mat.hip"}
    assert {name: words for name, words in found.items() if words} == {}


def test_host_half_parses(tmp_path: Path) -> None:
    """An ordinary hipcc compilation reads the kernels for the host too, where no device's functions are defined."""
    root = shutil.copytree(files.sources(), tmp_path / "kernels_hip")
    compiler = toolchain.detect("zig")
    assert isinstance(compiler, toolchain.Zig)
    command = [str(compiler.path), "clang", "-x", "hip", "--cuda-host-only", "-nogpuinc", "-nogpulib", "-fsyntax-only"]
    for family in ("indexing", "matmul", "quantized"):
        instances = root / "instances" / f"{family}.inc"
        lines = sorted(instances.read_text().splitlines(), key=lambda line: "i8" in line)  # whose tiles are the richest
        instances.write_text("\n".join({line.partition("(")[0]: line for line in lines}.values()))
        flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", str(root / f"{family}.hip")]
        done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("path", "name", "wanted"), SHARED, ids=lambda value: str(value))
def test_plans_and_kernels_have_the_same_numbers(path: str, name: str, wanted: int) -> None:
    """Case G18: what plans say of blocks, tiles and limits is what the kernels are compiled with."""
    number = rf"\bconstexpr u\w+ (?:[^;]*, )?{name} = (\d+)u?(?: << (\d+))?[,;]"
    found = re.findall(number, (files.sources() / path).read_text())
    assert [int(n) << int(shift or 0) for n, shift in found] == [wanted]
