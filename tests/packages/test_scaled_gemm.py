"""Products of four- and eight-bit floats with scales: AITER's files on the emulator, and our own, against float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.packages import KernelTable, decide, gemm_a4w4, gemm_a8w8_blockscale, shuffle_weight
from rocmkern.packages.references import Array, block_values, four_bit_values
from rocmkern.packages.scaled_gemm import multiply_groups
from rocmkern.packages.scaled_kinds import F4GEMM
from tests.packages.installed import package

WITHIN = 2.0**-8  # a result's one rounding, of what the largest is


def four_bits(m: int, n: int, k: int) -> tuple[list[Array], Array]:
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(0, 256, (rows, k // 2), np.uint8) for rows in (m, n))
    scale_a, scale_b = (rng.integers(124, 130, (rows, k // 32), np.uint8) for rows in (m, n))
    return [a, b, scale_a, scale_b], four_bit_values(a, scale_a) @ four_bit_values(b, scale_b).T


def close(got: rk.Tensor, expected: Array) -> None:
    assert got.dtype is rk.bfloat16
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy().astype(np.float64), expected, rtol=0, atol=WITHIN * np.abs(expected).max())


def on(target: str, arrays: list[Array]) -> list[rk.Tensor]:
    return [rk.asarray(x, device=rk.Device(f"emulator:{target}")) for x in arrays]


@pytest.mark.parametrize("number", [n if n % 6 == 0 else pytest.param(n, marks=pytest.mark.slow) for n in range(34)])
def test_each_four_bit_kernel(number: int) -> None:
    """A whole tile beside another, and rows that no tile divides."""
    (table,) = KernelTable.of(package(), F4GEMM, "gfx950").tables
    row = [row for row in table.table.rows if row["bpreshuffle"] == 1][number]
    m, n, k = row.number("tile_m") + 37, 2 * row.number("tile_n"), 512
    arrays, expected = four_bits(m, n, k)
    a, b, scale_a, scale_b = on("gfx950", arrays)
    found = KernelTable.of(package(), F4GEMM, "gfx950").named(row.symbol, 256, "test", m=m, n=n, k=k, bpreshuffle=1)
    close(multiply_groups(found, a, b, scale_a, scale_b), expected)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 128, 256), (70, 256, 768), (300, 384, 256)])
def test_four_bit_product_with_a_package(m: int, n: int, k: int) -> None:
    """Weights as they are, and shuffled once; both reach the package's kernel."""
    arrays, expected = four_bits(m, n, k)
    a, b, scale_a, scale_b = on("gfx950", arrays)
    assert decide(F4GEMM, package(), a.device, m=m, n=n, k=k, bpreshuffle=1).choice is not None
    close(gemm_a4w4(a, b, scale_a, scale_b, package=package()), expected)
    close(gemm_a4w4(a, shuffle_weight(b, (16, 16)), scale_a, scale_b, package=package()), expected)


def test_four_bit_product_without_a_kernel() -> None:
    """Our own kernels: no package, an arch that it has no file for, a size that none takes."""
    arrays, expected = four_bits(5, 7, 96)
    close(gemm_a4w4(*on("gfx1100", arrays)), expected)
    close(gemm_a4w4(*on("gfx942", arrays), package=package()), expected)
    arrays, expected = four_bits(5, 32, 64)
    a, b, scale_a, scale_b = on("gfx950", arrays)
    close(gemm_a4w4(a, shuffle_weight(b, (16, 16)), scale_a, scale_b, package=package()), expected)
    explained = decide(F4GEMM, package(), a.device, m=5, n=32, k=64, bpreshuffle=1).explain()
    assert "rejected, k=64 is no multiple of 256" in explained


@pytest.mark.parametrize(("m", "n", "k"), [(3, 5, 100), (20, 130, 256)])
def test_eight_bit_product_of_blocks(m: int, n: int, k: int) -> None:
    """Our own kernels, with blocks that the sizes do not fill."""
    rng = np.random.default_rng(m)
    a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (m, n))
    scale_a, scale_b = (rng.random((rows, -(-k // 128)), np.float32) + 0.5 for rows in (m, -(-n // 128)))
    left = a.astype(np.float64) * np.repeat(scale_a, 128, 1)[:, :k]
    right = b.astype(np.float64) * np.repeat(np.repeat(scale_b, 128, 0), 128, 1)[:n, :k]
    close(gemm_a8w8_blockscale(*on("gfx942", [a, b, scale_a, scale_b])), left @ right.T)
    if n % 128 == k % 128 == 0:
        np.testing.assert_array_equal(block_values(a, scale_a), left)


def test_what_scaled_products_refuse() -> None:
    """Shapes and dtypes that do not belong together."""
    arrays, _ = four_bits(5, 7, 96)
    a, b, scale_a, scale_b = on("gfx942", arrays)
    with pytest.raises(ShapeError, match=r"scale_a has shape \(5, 2\); \(5, 3\) is wanted"):
        gemm_a4w4(a, b, scale_a[:, :2], scale_b)
    with pytest.raises(ShapeError, match="a has 96 elements in a row, b 64; give as many, a multiple of 32"):
        gemm_a4w4(a, b[:, :32], scale_a, scale_b)
    with pytest.raises(DTypeError, match="uint8 is wanted"):
        gemm_a4w4(rk.astype(a, rk.int8), b, scale_a, scale_b)
    with pytest.raises(DTypeError, match="float8_e4m3 is wanted"):
        gemm_a8w8_blockscale(a, b, scale_a, scale_b)
    x = rk.zeros((5, 256), dtype=rk.float8_e4m3, device=a.device)
    ones = rk.ones((5, 1), dtype=rk.float32, device=a.device)
    with pytest.raises(ShapeError, match=r"scale_a is float32 of shape \(5, 1\); float32 of \(5, 2\) is wanted"):
        gemm_a8w8_blockscale(x, x, ones, ones)
