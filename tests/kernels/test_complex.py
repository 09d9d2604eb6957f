"""complex: every function against mpmath, arithmetic against NumPy, special values against C99's tables in cmath."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import COMPLEX, DType, part_of
from rocmkern.runtime import Device

# Of the magnitude, in units of the part's epsilon: f64 inside leaves complex64 a rounding, complex128 a few.
_BOUND = {"c64": 1.0, "c128": 4.0}
BY_DTYPE = pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.short)
INF, NAN = math.inf, math.nan


def _reciprocal_log(base: int) -> Callable[[Any], Any]:
    return lambda z: mpmath.log(z) / mpmath.log(base)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": abs, "acos": mpmath.acos, "acosh": mpmath.acosh, "asin": mpmath.asin, "asinh": mpmath.asinh,
    "atan": mpmath.atan, "atanh": mpmath.atanh, "cos": mpmath.cos, "cosh": mpmath.cosh, "exp": mpmath.exp,
    "expm1": lambda z: mpmath.exp(z) - 1, "log": mpmath.log, "log10": _reciprocal_log(10),
    "log1p": lambda z: mpmath.log(1 + z), "log2": _reciprocal_log(2), "reciprocal": lambda z: 1 / z,
    "sign": lambda z: z / abs(z), "sin": mpmath.sin, "sinh": mpmath.sinh, "sqrt": mpmath.sqrt,
    "square": lambda z: z * z, "tan": mpmath.tan, "tanh": mpmath.tanh,
}  # fmt: skip

_MAGNITUDES = st.one_of(st.floats(0.125, 8), st.floats(1e-6, 1e-2), st.floats(8, 60))
_PARTS = st.builds(lambda size, sign: size * sign, _MAGNITUDES, st.sampled_from([1, -1]))
_NEAR_CIRCLE = st.builds(lambda r, a: cmath.rect(1 + r, a), st.floats(-1e-9, 1e-9), st.floats(0.01, 3.1))
_NEAR_ONE = st.builds(lambda x, y: complex(1 + x, y), st.floats(-1e-6, 1e-6), st.floats(1e-9, 1e-6))
NUMBERS = st.one_of(st.builds(complex, _PARTS, _PARTS), _NEAR_CIRCLE, _NEAR_ONE)


def rounded(values: list[complex], dtype: DType) -> np.ndarray[Any, Any]:
    """Numbers of the dtype without zero parts, whose sign mpmath would not know."""
    x = np.array(values, np.complex128).astype(dtype.numpy)
    tiny = np.finfo(dtype.numpy).smallest_normal
    return np.where(x.real == 0, tiny, x.real).astype(x.real.dtype) + 1j * np.where(x.imag == 0, tiny, x.imag).astype(
        x.imag.dtype
    )


def exact(function: Callable[..., Any], *operands: Any, digits: int = 60) -> np.ndarray[Any, Any]:
    """The function of each number, rounded to complex128 from many digits."""
    with mpmath.workdps(digits):
        numbers = [[mpmath.mpc(complex(z).real, complex(z).imag) for z in x] for x in operands]
        return np.array([complex(function(*each)) for each in zip(*numbers, strict=True)])


def require_close(got: rk.Tensor, want: np.ndarray[Any, Any], dtype: DType, bound: float) -> None:
    """Each number within `bound` epsilons of its magnitude, where that is a normal number."""
    info = np.finfo(dtype.numpy)
    have = got.numpy().astype(np.complex128)
    size = np.abs(want)
    checked = (size < float(info.max) / 2) & (size > float(info.smallest_normal) / float(info.eps))
    with np.errstate(all="ignore"):
        error = np.abs(have - want) / size / float(info.eps)
    assert (error[checked] <= bound).all(), f"{error[checked].max()} epsilons:\n{have}\ninstead of\n{want}"


@BY_DTYPE
@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=4)
@given(st.lists(NUMBERS, min_size=1, max_size=40))
@example([0.6 + 0.8j, 0.8 - 0.6j, 1e-4 + 1j, -0.5 + 0.8660254037844386j, -1e-3 + 4.47e-2j, 3.5 - 4.5j, -7 + 1e-3j])
def test_functions(device: Device, name: str, dtype: DType, values: list[complex]) -> None:
    """Against 60 digits, near the unit circle and the branch points too."""
    x = rounded(values, dtype)
    got = getattr(rk, name)(rk.asarray(x, device=device))
    assert got.dtype is (part_of(dtype) if name == "abs" else dtype)
    bound = 1.5 if name in ("abs", "square") else _BOUND[dtype.short]
    require_close(got, exact(FUNCTIONS[name], x), dtype, bound)


@BY_DTYPE
@settings(max_examples=6)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
@example([(3 + 4j, 2 + 0j), (3 + 4j, -3 + 0j), (0.5 - 1j, 0.5 + 0j), (1e-3 + 1j, 2 - 1j)])
def test_arithmetic(device: Device, dtype: DType, pairs: list[tuple[complex, complex]]) -> None:
    """Sums and products are NumPy's bit for bit; quotients and powers come near the exact ones."""
    a, b = (rounded([pair[which] for pair in pairs], dtype) for which in (0, 1))
    x, y = rk.asarray(a, device=device), rk.asarray(b, device=device)
    assert rk.add(x, y).numpy().tobytes() == (a + b).tobytes()
    assert rk.subtract(x, y).numpy().tobytes() == (a - b).tobytes()
    assert rk.negative(x).numpy().tobytes() == (-a).tobytes()
    assert rk.conj(x).numpy().tobytes() == a.conj().tobytes()
    require_close(rk.multiply(x, y), exact(lambda u, v: u * v, a, b), dtype, 2)
    require_close(rk.divide(x, y), exact(lambda u, v: u / v, a, b), dtype, _BOUND[dtype.short])
    exponents = np.array([complex(round(z.real) % 7 - 3, 0) if i % 2 else z / 16 for i, z in enumerate(b)], b.dtype)
    power = rk.pow(x, rk.asarray(exponents, device=device))
    require_close(power, exact(lambda u, v: u**v, a, exponents), dtype, 1.0 if dtype is rk.complex64 else 128)
    assert rk.equal(x, y).numpy().tolist() == (a == b).tolist()
    assert rk.not_equal(x, y).numpy().tolist() == (a != b).tolist()
    assert rk.equal(x, x).numpy().all()


@BY_DTYPE
def test_layouts_and_conversions(device: Device, dtype: DType) -> None:
    """Strided, reversed and broadcast operands of an odd size; casts between the complex dtypes, to bool, from real."""
    a = (np.arange(35) - 17 + 1j * np.arange(35) ** 2).astype(dtype.numpy).reshape(5, 7)
    x = rk.asarray(a, device=device)
    np.testing.assert_array_equal((x.T + x.T[::-1]).numpy(), a.T + a.T[::-1])
    np.testing.assert_array_equal((x[1:, ::3] * x[0, 2]).numpy(), a[1:, ::3] * a[0, 2])
    np.testing.assert_array_equal((x - x[:, :1]).numpy(), a - a[:, :1])
    np.testing.assert_array_equal(rk.square(x[:, 1:]).numpy(), a[:, 1:] ** 2)
    np.testing.assert_array_equal(rk.abs(x[::2]).numpy() > 0, a[::2] != 0)
    for other in COMPLEX:
        np.testing.assert_array_equal(x.astype(other).numpy(), a.astype(other.numpy))
    np.testing.assert_array_equal(x.astype(rk.bool).numpy(), a.astype(bool))
    np.testing.assert_array_equal(rk.real(x).astype(dtype).numpy(), a.real.astype(dtype.numpy))


BY_SPECIAL = pytest.mark.parametrize(
    "name",
    ["exp", "log", "log10", "sqrt", "acos", "asin", "atan", "acosh",
     "asinh", "atanh", "cos", "sin", "tan", "cosh", "sinh", "tanh"],
)  # fmt: skip
PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN]
POINTS = [complex(x, y) for x in PARTS for y in PARTS]
# Signs of zeros and infinities that C99 leaves open, and results that it revised: (name, part) to leave unread there.
_OPEN = {
    "acos": lambda z: math.isinf(z.real) and math.isnan(z.imag),
    "asin": lambda z: (math.isinf(z.real) and math.isnan(z.imag)) or (math.isnan(z.real) and math.isinf(z.imag)),
    "atan": lambda z: math.isinf(z.real) and math.isnan(z.imag),
    "acosh": lambda z: z.real == 0 and math.isnan(z.imag),
    "cos": lambda z: math.isnan(z.real) or math.isnan(z.imag),
    "sin": lambda z: math.isnan(z.real) or math.isnan(z.imag),
    "tan": lambda z: math.isinf(z.imag) or math.isnan(z.real),
    "cosh": lambda z: math.isnan(z.real) or math.isnan(z.imag),
    "sinh": lambda z: math.isnan(z.real) or math.isnan(z.imag),
    "tanh": lambda z: math.isinf(z.real) or math.isnan(z.imag),
}  # fmt: skip


def same(got: float, want: float) -> bool:
    if math.isnan(want) or math.isinf(want) or want == 0:
        return repr(got) == repr(want)
    return abs(got - want) <= 1e-6 * abs(want)


@BY_DTYPE
@BY_SPECIAL
def test_special_values(device: Device, name: str, dtype: DType) -> None:
    """Infinities, NaN and signed zeros as in Annex G, where it says what comes."""
    got = getattr(rk, name)(rk.asarray(np.array(POINTS, dtype.numpy), device=device)).numpy()
    is_open = _OPEN.get(name, lambda z: False)
    seen = 0
    for z, w in zip(POINTS, got.tolist(), strict=True):
        try:
            want = getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            continue  # Python raises where C99 signals
        if not is_open(z):
            seen += 1
            assert same(w.real, want.real) and same(w.imag, want.imag), f"{name}({z}) is {w}, not {want}"
    assert seen > 40


CASES: list[tuple[str, complex, complex]] = [
    ("acosh", 0j, complex(0, math.pi / 2)), ("acosh", complex(-0.0, NAN), complex(NAN, math.pi / 2)),
    ("tanh", complex(0, NAN), complex(0, NAN)), ("tanh", complex(INF, INF), 1 + 0j),
    ("tanh", complex(INF, 2), 1 + 0j), ("tanh", complex(-INF, -2), complex(-1, -0.0)),
    ("log", complex(-0.0, 0.0), complex(-INF, math.pi)), ("log", 0j, complex(-INF, 0)),
    ("exp", complex(INF, INF), complex(INF, NAN)), ("exp", complex(INF, NAN), complex(INF, NAN)),
    ("expm1", complex(-INF, INF), -1 + 0j), ("expm1", complex(INF, 0), complex(INF, 0)),
    ("expm1", complex(NAN, 0), complex(NAN, 0)), ("expm1", complex(-0.0, -0.0), complex(0.0, -0.0)),
    ("log1p", complex(-1, 0), complex(-INF, 0)), ("log1p", complex(-0.0, 0.0), complex(-0.0, 0.0)),
    ("log1p", complex(INF, INF), complex(INF, math.pi / 4)), ("atanh", 1 + 0j, complex(INF, 0)),
    ("sign", 0j, 0j), ("sign", complex(-INF, 1), complex(-1, 0)), ("sign", complex(NAN, 1), complex(NAN, NAN)),
    ("reciprocal", complex(INF, INF), complex(0, -0.0)), ("reciprocal", 1 + 0j, complex(1, -0.0)),
    ("sqrt", complex(NAN, INF), complex(INF, INF)), ("sqrt", complex(-INF, NAN), complex(NAN, INF)),
]  # fmt: skip


@BY_DTYPE
@pytest.mark.parametrize(("name", "z", "want"), CASES)
def test_listed_values(device: Device, name: str, z: complex, want: complex, dtype: DType) -> None:
    """Single values that the standard lists and Python raises for."""
    got = complex(getattr(rk, name)(rk.asarray([z], dtype=dtype, device=device))[0])
    assert same(got.real, want.real) and same(got.imag, want.imag), f"{name}({z}) is {got}, not {want}"


@BY_DTYPE
def test_predicates(device: Device, dtype: DType) -> None:
    """A number is NaN where a part is, infinite where a part is, finite where both are."""
    z = np.array(POINTS, dtype.numpy)
    x = rk.asarray(z, device=device)
    assert rk.isnan(x).numpy().tolist() == np.isnan(z).tolist()
    assert rk.isinf(x).numpy().tolist() == np.isinf(z).tolist()
    assert rk.isfinite(x).numpy().tolist() == np.isfinite(z).tolist()


@BY_DTYPE
def test_large_and_small_numbers(device: Device, dtype: DType) -> None:
    """Nothing overflows or loses digits on the way: numbers at both ends of the range."""
    big, small = float(np.finfo(dtype.numpy).max) / 4, float(np.finfo(dtype.numpy).smallest_normal) * 4
    z = np.array([complex(x, y) for x in (big, small, 1.0) for y in (big, small, 1.0)], dtype.numpy)
    for name in ("sqrt", "log", "asinh", "acos", "atan", "sign", "log1p"):
        got = getattr(rk, name)(rk.asarray(z, device=device)).numpy().astype(np.complex128)
        want = exact(FUNCTIONS[name], z, digits=700)
        np.testing.assert_allclose(got.real, want.real, rtol=1e-6, atol=small)
        np.testing.assert_allclose(got.imag, want.imag, rtol=1e-6, atol=small)
    ratio = rk.divide(rk.asarray(z, device=device), rk.asarray(z, device=device)).numpy()
    np.testing.assert_allclose(ratio, np.ones(z.size), rtol=1e-6)
