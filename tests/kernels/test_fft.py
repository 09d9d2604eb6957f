"""Fourier transforms on every target: each stage, passes, convolutions, and the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import COMPLEX, DType
from rocmkern.runtime import Device
from tests.kernels.launching import Guarded

ROOTS = (1, 2, 3, 8, 12, 13, 1000, 4096, 10007, (1 << 32) - 5)


def turns(numerators: Any, denominator: int) -> Any:
    """exp(-2πi·numerator/denominator) in extended precision."""
    angles = 2 * np.pi * np.longdouble(1) * (np.asarray(numerators) % denominator) / denominator
    pi_tail = 2 * np.longdouble(1.2246467991473532e-16) * (np.asarray(numerators) % denominator) / denominator
    return np.exp(-1j * (angles + pi_tail))


# One block's stages; a convolution in one block; two passes; a convolution of two passes.
LENGTHS = (2 * 4 * 8, 2 * 3 * 5 * 7, 11 * 13, 47, 2100, 2053)


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.short)
def test_lines_of_every_kind(device: Device, dtype: DType) -> None:
    """RMS errors within (3 + log2 n) half ulps of the spectrum, forwards and backwards."""
    random = np.random.default_rng(7)
    for n in LENGTHS:
        x = (random.standard_normal((3, n)) + 1j * random.standard_normal((3, n))).astype(dtype.numpy)
        given, wide = rk.asarray(x, device=device), x.astype(np.complex128)
        for got, want in ((rk.fft.fft(given), np.fft.fft(wide)), (rk.fft.ifft(given), np.fft.ifft(wide))):
            error = np.linalg.norm(got.numpy() - want) / np.linalg.norm(want)
            assert error < (3 + np.log2(n)) * np.finfo(dtype.numpy).eps / 2, (n, error)


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.short)
def test_few_elements_along_three_axes(device: Device, dtype: DType) -> None:
    """One launch: there, halves of what is real, and back; a table of zeros and ones is exact."""
    x = np.random.default_rng(6).standard_normal((2, 3, 4)).astype(dtype.numpy)
    given = rk.asarray(x, device=device)
    real, bound = rk.real(given), 8 * np.finfo(dtype.numpy).eps * np.linalg.norm(x)
    with rk.Trace() as trace:
        whole, half = rk.fft.fftn(given), rk.fft.rfftn(real, norm="ortho")
        back = rk.fft.irfftn(half, norm="ortho")
    assert sum(row.launches for row in trace.totals() if row.kernel == f"fft_sums_{dtype.short}") == 3
    assert np.abs(whole.numpy() - np.fft.fftn(x.astype(np.complex128))).max() < 2 * bound
    assert np.abs(half.numpy() - np.fft.rfftn(x.real.astype(np.float64), norm="ortho")).max() < bound
    assert np.abs(back.numpy() - x.real).max() < bound
    ones = rk.fft.fft2(rk.asarray(np.eye(4, dtype=dtype.numpy), device=device)).numpy()
    np.testing.assert_array_equal(ones, 4 * np.eye(4)[[0, 3, 2, 1]])


@pytest.mark.parametrize("dtype", [rk.float32, rk.float64], ids=lambda d: d.short)
def test_real_lines(device: Device, dtype: DType) -> None:
    """Pairs of real elements as complex ones, odd lengths and long ones as they are; there and back."""
    random = np.random.default_rng(8)
    for n in (2, 90, 256, 15, 2 * 47, 4200):
        x = random.standard_normal((2, n)).astype(dtype.numpy)
        half = rk.fft.rfft(rk.asarray(x, device=device))
        want = np.fft.rfft(x.astype(np.float64))
        bound = (3 + np.log2(n)) * np.finfo(dtype.numpy).eps / 2
        assert np.linalg.norm(half.numpy() - want) < bound * np.linalg.norm(want)
        back = rk.fft.irfft(half, n=n).numpy()
        assert np.linalg.norm(back - x) < 2 * bound * np.linalg.norm(x)


@pytest.mark.parametrize("n", ROOTS)
def test_roots_of_unity_are_right_to_an_ulp(device: Device, n: int) -> None:
    """fft_roots and fft_chirp, both within 1.5·2⁻⁵³ of the number."""
    count, step = min(n, 300), max(n // 300, 1)
    kernel = rk.get_kernel("fft", "fft_roots_c128", device)
    out = Guarded(device, (count,), np.complex128)
    kernel(count, step, n, out.pointer, grid=2, block=64)
    want = turns(np.arange(count) * step, n)
    assert (np.abs(out.array().real - want.real) <= 1.5 * 2.0**-53).all()
    assert (np.abs(out.array().imag - want.imag) <= 1.5 * 2.0**-53).all()
    kernel = rk.get_kernel("fft", "fft_chirp_c128", device)
    kernel(count, n, out.pointer, grid=1, block=64)
    chirp = turns([k * k % (2 * n) for k in range(count)], 2 * n)
    assert (np.abs(out.array().real - chirp.real) <= 1.5 * 2.0**-53).all()
    assert (np.abs(out.array().imag - chirp.imag) <= 1.5 * 2.0**-53).all()
