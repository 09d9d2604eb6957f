"""Floating-point rows against definitions of their own: NumPy, longdouble, Fraction, mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest

from tests.emulator.rows import run

N = 50_000
BITS = np.random.default_rng(1).integers(0, 2**32, N, dtype=np.uint32)
SINGLES = BITS.view(np.float32)
DOUBLES = np.random.default_rng(2).integers(0, 2**64, N, dtype=np.uint64).view(np.float64)
HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)
TINY = np.finfo(np.float32).tiny
Array = np.ndarray


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def same(found: Array, expected: Array) -> bool:
    """Equal as numbers, signs of zeros included, NaN where NaN."""
    nan = np.isnan(expected)
    equal = (found == expected) & (np.signbit(found) == np.signbit(expected))
    return bool(np.all(equal | (nan & np.isnan(found))))


def flush(a: Array) -> Array:
    return np.where(np.abs(a) < TINY, np.copysign(a.dtype.type(0), a), a)


def ulps(found: Array, exact: Array) -> float:
    """The largest error in units of the last place of f32; infinite where only one is finite or a number."""
    rounded = exact.astype(np.float32)
    if (np.isnan(rounded) != np.isnan(found)).any() or (np.isinf(rounded) != np.isinf(found)).any():
        return math.inf
    kept = np.isfinite(rounded)
    unit = np.spacing(np.maximum(np.abs(rounded[kept]), TINY)).astype(np.longdouble)
    return float((np.abs(found[kept].astype(np.longdouble) - exact[kept]) / unit).max())


ANY = flush(SINGLES)
NEAR = np.random.default_rng(3).uniform(-140, 140, N).astype(np.float32)
ONE = np.random.default_rng(4).uniform(0.5, 2, N).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "inputs", "exact"),
    [
        ("v_exp_f32", np.concatenate([ANY, NEAR]), lambda x: flush(np.exp2(x))),
        ("v_log_f32", np.concatenate([ANY, ONE]), np.log2),
        ("v_rcp_f32", ANY, lambda x: flush(1 / x)),
        ("v_rsq_f32", ANY, lambda x: 1 / np.sqrt(x)),
        ("v_sqrt_f32", ANY, np.sqrt),
    ],
)
def test_transcendental_is_within_one_ulp(name: str, inputs: Array, exact: Callable[[Array], Array]) -> None:
    """exp, log, rcp, rsq and sqrt of f32 are within 1 ULP, special values included."""
    assert ulps(run(name, inputs), exact(inputs.astype(np.longdouble))) <= 1.0


@pytest.mark.parametrize("name", ["v_exp_f32", "v_rcp_f32", "v_log_f32", "v_rsq_f32", "v_sqrt_f32"])
def test_single_forms_take_subnormals_as_zero(name: str) -> None:
    """A subnormal operand gives what a zero of its sign gives."""
    small = np.array([1e-40, -1e-40], np.float32)
    assert same(run(name, small), run(name, np.array([0.0, -0.0], np.float32)))


def test_sine_and_cosine_take_turns() -> None:
    """v_sin and v_cos take turns, are exact to 1e-7 within ±256, constant beyond, NaN of infinity."""
    x = np.random.default_rng(5).uniform(-256, 256, N).astype(np.float32)
    angle = 2 * np.pi * (x - np.rint(x)).astype(np.float64)
    assert np.abs(run("v_sin_f32", x) - np.sin(angle)).max() <= 1e-7
    assert np.abs(run("v_cos_f32", x) - np.cos(angle)).max() <= 1e-7
    odd = np.array([300.0, np.inf, np.nan], np.float32)
    assert same(run("v_sin_f32", odd), np.array([0.0, np.nan, np.nan], np.float32))
    assert same(run("v_cos_f32", odd), np.array([1.0, np.nan, np.nan], np.float32))


@pytest.mark.parametrize(("suffix", "values", "reach"), [("f32", SINGLES, 300), ("f64", DOUBLES, 2300)])
def test_ldexp_rounds_once(suffix: str, values: Array, reach: int) -> None:
    """ldexp equals NumPy's for any bits and exponent, subnormal results included."""
    n = np.random.default_rng(6).integers(-reach, reach, len(values)).astype(np.int32)
    assert same(run(f"v_ldexp_{suffix}", values, n), np.ldexp(values, n))


def test_ldexp_f64_rounds_once_into_subnormals() -> None:
    """Results around 2^-1074 are rounded to nearest even once."""
    rng = np.random.default_rng(7)
    values, n = np.ldexp(rng.uniform(1, 2, N), -1000), rng.integers(-80, -20, N).astype(np.int32)
    assert same(run("v_ldexp_f64", values, n), np.ldexp(values, n))


def test_half_fma_rounds_once() -> None:
    """No other f16 is nearer to the exact a·b + c."""
    rng = np.random.default_rng(8)
    triples = rng.integers(0, 2**16, (3, 6000), dtype=np.uint16).view(np.float16)
    triples = triples[:, np.isfinite(triples).all(axis=0)]
    for a, b, c, found in zip(*triples, run("v_fma_f16", *triples), strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        if np.isinf(found):
            assert abs(exact) >= 65520
            continue
        error = abs(exact - Fraction(float(found)))
        for neighbour in (np.nextafter(found, np.float16(np.inf)), np.nextafter(found, np.float16(-np.inf))):
            assert np.isinf(neighbour) or error <= abs(exact - Fraction(float(neighbour)))


PAIRS = (SINGLES, SINGLES[::-1].copy())


@pytest.mark.parametrize(("name", "function"), [("v_maximum_f32", np.maximum), ("v_minimum_f32", np.minimum)])
def test_maximum_and_minimum_keep_nan(name: str, function: Any) -> None:
    """The 2019 operations return NaN where an operand is NaN."""
    assert same(run(name, *PAIRS), function(*PAIRS))


@pytest.mark.parametrize(("name", "function"), [("v_max_f32", np.fmax), ("v_min_f32", np.fmin)])
def test_max_and_min_prefer_numbers(name: str, function: Any) -> None:
    """The 2008 operations drop a quiet NaN, and order -0 below +0."""
    quieted = [np.where(np.isnan(p), np.float32(np.nan), p) for p in PAIRS]
    assert same(run(name, *quieted), function(*quieted))
    zeros = np.array([0.0, -0.0], np.float32), np.array([-0.0, 0.0], np.float32)
    assert np.signbit(run(name, *zeros)).all() == (name == "v_min_f32")


def test_signalling_nan_becomes_quiet() -> None:
    """max(sNaN, 1) is a quiet NaN, as IEEE mode has it."""
    signalling = np.array([0x7F800001], np.uint32).view(np.float32)
    found = run("v_max_f32", signalling, np.ones(1, np.float32)).view(np.uint32)
    assert found[0] == 0x7FC00001


def test_median_is_the_middle() -> None:
    """med3 is the middle of three numbers."""
    rng = np.random.default_rng(9)
    triple = rng.standard_normal((3, 999)).astype(np.float32)
    assert same(run("v_med3_f32", *triple), np.median(triple, axis=0))


@pytest.mark.parametrize("to", ["i32", "u32"])
@pytest.mark.parametrize(("source", "values"), [("f32", SINGLES), ("f64", DOUBLES)])
def test_float_to_integer_saturates(to: str, source: str, values: Array) -> None:
    """Truncation toward zero, the type's ends beyond them, 0 for NaN."""
    low, high = (-(2**31), 2**31 - 1) if to == "i32" else (0, 2**32 - 1)
    near = np.random.default_rng(10).uniform(-5e9, 5e9, N).astype(values.dtype)
    every = np.concatenate([values, near, np.array([low, high, low - 1, high + 1, 0.5, -0.5], values.dtype)])
    limited = np.clip(np.where(np.isnan(every), 0, np.trunc(every)).astype(np.longdouble), low, high)
    found = run(f"v_cvt_{to}_{source}", every)
    assert np.array_equal(found.view(np.int32) if to == "i32" else found, limited.astype(np.int64))


@pytest.mark.parametrize(
    ("suffix", "kind", "values"), [("f16", "i16", HALVES), ("f32", "i32", SINGLES), ("f64", "i32", DOUBLES)]
)
def test_frexp_parts(suffix: str, kind: str, values: Array) -> None:
    """Mantissa and exponent equal frexp's; zero, infinity and NaN have exponent 0."""
    mantissa, exponent = np.frexp(values)
    found = run(f"v_frexp_exp_{kind}_{suffix}", values)
    assert same(run(f"v_frexp_mant_{suffix}", values), mantissa)
    assert np.array_equal(found.view(f"i{found.itemsize}"), np.where(np.isfinite(values), exponent, 0))


@pytest.mark.parametrize(
    ("name", "function"), [("trunc", np.trunc), ("ceil", np.ceil), ("rndne", np.rint), ("floor", np.floor)]
)
@pytest.mark.parametrize(("suffix", "values"), [("f16", HALVES), ("f32", SINGLES), ("f64", DOUBLES)])
def test_rounding_to_integral(name: str, function: Any, suffix: str, values: Array) -> None:
    """The four roundings equal NumPy's, signs of zeros included."""
    assert same(run(f"v_{name}_{suffix}", values), function(values))


def test_pkrtz_truncates() -> None:
    """f32 to f16 toward zero: never larger in magnitude, less than one step away, finite stays finite."""
    finite = SINGLES[np.isfinite(SINGLES)]
    found = (run("v_cvt_pkrtz_f16_f32", finite, finite) & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64)
    inside = np.abs(finite) < 65504
    gap = np.abs(finite.astype(np.float64)) - np.abs(found)
    assert np.isfinite(found).all()
    assert (gap >= 0).all()
    assert (gap[inside] < np.maximum(np.abs(finite[inside]) * 2.0**-10, 2.0**-24)).all()


def test_bfloat_rounds_to_nearest_even() -> None:
    """f32 to bf16 equals ml_dtypes."""
    numbers = SINGLES[~np.isnan(SINGLES)]
    found = run("v_cvt_pk_bf16_f32", numbers, numbers) >> 16
    assert np.array_equal(found, numbers.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_class_bits() -> None:
    """Each of the ten classes answers to its own bit only."""
    one_of_each = [0x7F800001, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 1, 0x3F800000, 0x7F800000]
    values = np.array(one_of_each, np.uint32).view(np.float32)
    table = [run("v_cmp_class_f32", values, np.full(10, 1 << bit, np.uint32)) for bit in range(10)]
    assert np.array_equal(np.array(table), np.eye(10))


@pytest.mark.parametrize("value", [1.0, 1e100, 1e300, 1.7e308])
def test_segments_of_two_over_pi(value: float) -> None:
    """v_trig_preop gives 53 bits of 2/π from the place that the exponent and the segment say."""
    found = run("v_trig_preop_f64", np.full(8, value), np.arange(8, dtype=np.uint32))
    exponent = int(np.float64(value).view(np.uint64) >> np.uint64(52))
    with mpmath.workprec(3000):
        for segment in range(8):
            shift = segment * 53 + max(0, exponent - 1077)
            bits = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** (shift + 53))) & ((1 << 53) - 1)
            scale = -53 - shift + (128 if exponent >= 1968 else 0)
            assert shift > 1148 or found[segment] == float(mpmath.mpf(bits) * mpmath.mpf(2) ** scale)
