"""The namespace fft against NumPy's: values, lengths, axes, norms, layouts, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from rocmkern.errors import AxisError, DTypeError, ShapeError
from tests.tensor.arrays import Array, relaid

DTYPES = st.sampled_from([rk.complex64, rk.complex128, rk.float32, rk.float64, rk.int16, rk.uint8, rk.bool_])
NORMS = st.sampled_from(["backward", "ortho", "forward"])
SEEDS = st.integers(0, 1 << 32)
LENGTHS = st.integers(1, 300)
OF_REAL = ("rfft", "ihfft", "rfftn", "rfft2")
TO_REAL = ("irfft", "hfft", "irfftn", "irfft2")


def numbers(dtype: DType, shape: tuple[int, ...], seed: int) -> Array:
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape) * 3
    if dtype.is_complex:
        return (x + 1j * random.standard_normal(shape)).astype(dtype.numpy)
    return (x if dtype.is_float else np.abs(x)).astype(dtype.numpy)


def close(name: str, got: rk.Tensor, want: Array, dtype: DType, n: int) -> None:
    """The dtype, the shape, and in the mean an error below (3 + log2 n) half ulps of the values' size."""
    double = dtype in (rk.float64, rk.complex128)
    wanted: Any = (
        (np.float64 if double else np.float32) if name in TO_REAL else np.complex128 if double else np.complex64
    )
    assert got.dtype.numpy == np.dtype(wanted) and got.shape == want.shape
    error = np.linalg.norm(got.numpy().astype(want.dtype) - want)
    assert error <= (3 + np.log2(n)) * np.finfo(wanted).eps / 2 * np.linalg.norm(want)


def reference(name: str, x: Array, **options: Any) -> Array:
    """NumPy's in double precision."""
    wide: Array = getattr(np.fft, name)(x.astype(np.result_type(x, np.float64)), **options)
    return wide


@settings(max_examples=60)
@given(st.data(), st.sampled_from(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]), DTYPES, SEEDS)
def test_transforms_along_an_axis(data: st.DataObject, name: str, dtype: DType, seed: int) -> None:
    """Of any length and layout, cut or filled with zeros to n."""
    assume(not (dtype.is_complex and name in OF_REAL))
    m, n = data.draw(LENGTHS), data.draw(st.none() | LENGTHS)
    assume(m > 1 or n is not None or name not in TO_REAL)
    axis = data.draw(st.integers(-3, 2))
    shape = tuple(m if a == axis % 3 else data.draw(st.integers(1, 3)) for a in range(3))
    t, x = data.draw(relaid(numbers(dtype, shape, seed)))
    options = {"n": n, "axis": axis, "norm": data.draw(NORMS)}
    want = reference(name, x, **options)
    close(name, getattr(rk.fft, name)(t, **options), want, dtype, n or 2 * m)


@pytest.mark.parametrize("n", [4096, 65536, 10007, 2 * 3 * 5 * 7 * 11 * 13, 11**5])
def test_long_lines(n: int) -> None:
    """One pass after another, convolutions, there and back, and Parseval's sums; along the first axis too."""
    dtype = rk.float64 if n == 11**5 else rk.float32  # whose lines take three passes
    x = numbers(dtype, (n, 2 if n < 20000 else 1), n)
    t = rk.asarray(x)
    half = rk.fft.rfft(t, axis=0)
    close("rfft", half, reference("rfft", x, axis=0), dtype, n)
    close("irfft", rk.fft.irfft(half, n=n, axis=0), x.astype(np.float64), dtype, n)
    whole = rk.fft.fft(t, axis=0, norm="ortho").numpy()
    energies = (np.linalg.norm(v.astype(np.complex128), axis=0) for v in (whole, x))
    assert np.allclose(*energies, rtol=1e-6)


@settings(max_examples=40)
@given(st.data(), st.sampled_from(["fft", "ifft", "rfft", "irfft"]), DTYPES, SEEDS)
def test_transforms_along_several_axes(data: st.DataObject, name: str, dtype: DType, seed: int) -> None:
    """fftn and the others, of two axes too, with and without lengths; -1 is the length that an axis has."""
    assume(not (dtype.is_complex and name in OF_REAL))
    shape = tuple(data.draw(st.lists(st.integers(2, 9), min_size=2, max_size=3)))
    t, x = data.draw(relaid(numbers(dtype, shape, seed)))
    norm = data.draw(NORMS)
    close(f"{name}n", getattr(rk.fft, f"{name}n")(t, norm=norm), reference(f"{name}n", x, norm=norm), dtype, 4096)
    axes = data.draw(st.permutations(range(len(shape))))[:2]
    s = [data.draw(st.integers(1, 12)) for _ in axes]
    options: dict[str, Any] = {"s": s, "axes": axes, "norm": norm}
    want = reference(f"{name}n", x, **options)
    close(f"{name}n", getattr(rk.fft, f"{name}n")(t, **options), want, dtype, 4096)
    kept = [shape[axes[0]], s[1]]
    got = getattr(rk.fft, f"{name}2")(t, s=[-1, s[1]], axes=axes)
    close(f"{name}n", got, reference(f"{name}n", x, s=kept, axes=axes), dtype, 4096)


@settings(max_examples=40)
@given(SEEDS, st.sampled_from([rk.complex64, rk.complex128]), LENGTHS)
def test_there_and_back(seed: int, dtype: DType, n: int) -> None:
    """ifft undoes fft, ihfft undoes hfft, irfftn undoes rfftn; of an impulse fft gives the roots of unity."""
    x = numbers(dtype, (2, n), seed)
    close("fft", rk.fft.ifft(rk.fft.fft(rk.asarray(x))), x, dtype, n * n)
    real = rk.real(rk.asarray(x))
    close("hfft", rk.fft.hfft(rk.fft.ihfft(real), n=n), x.real, dtype, n * n)
    close("hfft", rk.fft.irfftn(rk.fft.rfftn(real), s=(2, n), axes=(0, 1)), x.real, dtype, 4 * n * n)
    at = seed % n
    impulse = rk.asarray(np.eye(n, dtype=dtype.numpy)[at])
    close("fft", rk.fft.fft(impulse), np.exp(-2j * np.pi * (np.arange(n) * at % n) / n), dtype, n)


@pytest.mark.parametrize("n", [60, 59])
def test_rows_do_not_mix(n: int) -> None:
    """NaN stays in its row, also where a block holds several."""
    x = numbers(rk.float32, (7, n), 1)
    x[3, 5] = np.nan
    got = rk.fft.fft(rk.asarray(x)).numpy()
    assert np.isnan(got[3]).all() and not np.isnan(np.delete(got, 3, 0)).any()


def test_imaginary_parts_that_count_for_nothing() -> None:
    """irfft ignores those of the first element and, where n is even, of element n/2, even NaN: NumPy does."""
    for n in (94, 93, 64, 63, 2, 1):
        x = numbers(rk.complex128, (48,), 3)
        x[0] = complex(1, np.nan)
        if n % 2 == 0:
            x[n // 2] = complex(2, np.nan)
        close("irfft", rk.fft.irfft(rk.asarray(x), n=n), np.fft.irfft(x, n=n), rk.complex128, n)


@pytest.mark.parametrize("m", [1, 4, 5])
def test_what_lies_behind_a_row_is_not_read(m: int) -> None:
    """Rows that are filled with zeros end where they end, whatever memory holds after them."""
    x = numbers(rk.float64, (3, 9), 2)
    row = rk.asarray(x)[:, :m]
    for n in (6, 7, 8, 34):
        close("rfft", rk.fft.rfft(row, n=n), np.fft.rfft(x[:, :m], n=n), rk.float64, n)
        close("irfft", rk.fft.irfft(row, n=n), np.fft.irfft(x[:, :m], n=n), rk.float64, n)
        close("fft", rk.fft.fft(row, n=n), np.fft.fft(x[:, :m], n=n), rk.float64, n)


@settings(max_examples=25)
@given(LENGTHS, st.sampled_from([1.0, 0.5, -3.0, 0.1]))
@example(1, 1.0)
def test_frequencies_and_shifts(n: int, d: float) -> None:
    """Frequencies within an ulp of NumPy's, float32 unless asked; shifts exactly, of one axis, several or all."""
    for name in ("fftfreq", "rfftfreq"):
        want = getattr(np.fft, name)(n, d=d)
        got = getattr(rk.fft, name)(n, d=d, dtype=rk.float64)
        np.testing.assert_allclose(got.numpy(), want, rtol=4e-16)
        single = getattr(rk.fft, name)(n, d=d)
        assert single.dtype is rk.float32
        np.testing.assert_allclose(single.numpy(), want, rtol=1e-7)
    x = np.arange(6 * n).reshape(2, n, 3)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 2), ()):
            got = getattr(rk.fft, name)(rk.asarray(x), axes=axes).numpy()
            np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes=axes))


def test_nothing_to_transform() -> None:
    """No rows give no rows; rows of nothing that are filled up give zeros; no axes give a complex copy."""
    assert rk.fft.rfft(rk.zeros((0, 6))).shape == (0, 4)
    assert rk.fft.fft(rk.zeros((2, 0)), n=3).numpy().tolist() == [[0, 0, 0], [0, 0, 0]]
    x = rk.ones((2, 3))
    assert rk.fft.fftn(x, axes=()).dtype is rk.complex64
    spectrum = rk.fft.fft(x)
    assert rk.fft.ifftn(spectrum, axes=()).memory is not spectrum.memory


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: rk.fft.fft(x[:0]), ShapeError, "0 elements on axis 0 give 0"),
        (lambda x: rk.fft.irfft(x[:1]), ShapeError, "1 elements on axis 0 give 0"),
        (lambda x: rk.fft.fft(x, n=0), ShapeError, "length 0"),
        (lambda x: rk.fft.fft(x, n=2.0), TypeError, "n 2.0 is no integer"),
        (lambda x: rk.fft.fft(x, axis=1), AxisError, "axis 1 of 1 dimensions"),
        (lambda x: rk.fft.fft(x[0]), AxisError, "axis -1 of 0 dimensions"),
        (lambda x: rk.fft.fft(x, norm="unit"), ValueError, "norm 'unit'; use one of backward"),
        (lambda x: rk.fft.fft(rk.astype(x, rk.float16)), DTypeError, "float16; it takes float32 and wider"),
        (lambda x: rk.fft.rfft(rk.fft.fft(x)), DTypeError, "complex64; it takes real values, use fft"),
        (lambda x: rk.fft.ihfft(rk.fft.fft(x)), DTypeError, "complex64; it takes real values, use ifft"),
        (lambda x: rk.fft.fftn(x, s=(4,)), ShapeError, r"s \(4,\) without axes"),
        (lambda x: rk.fft.fftn(x, s=(4, 4), axes=(0,)), ShapeError, "give a length for each"),
        (lambda x: rk.fft.fftn(x, axes=(0, 0)), ShapeError, "name an axis twice"),
        (lambda x: rk.fft.rfftn(x, axes=()), ShapeError, "name one at least"),
        (lambda x: rk.fft.fft(x.numpy()), TypeError, "fft"),
        (lambda x: rk.fft.fftfreq(0), ShapeError, "length 0"),
        (lambda x: rk.fft.fftfreq(4, d=0.0), ZeroDivisionError, "apart"),
        (lambda x: rk.fft.fftfreq(4, dtype=rk.int32), DTypeError, "int32; it takes a float dtype"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, error: type[Exception], says: str) -> None:
    """Each says what came and what to do."""
    with pytest.raises(error, match=says):
        call(rk.asarray([1.0, 2.0, 3.0]))
