"""unary: every function in every dtype against NumPy, SciPy or mpmath, then layouts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import KernelSpec
from rocmkern.kernels.families import unary
from rocmkern.runtime import Device
from tests.decimals import rounded_integer, rounded_to_places
from tests.kernels import numerics
from tests.kernels.launching import elementwise, views
from tests.kernels.numerics import Array

Function = Callable[[Array], Array]


def _by_mpmath(function: Callable[[Any], Any]) -> Function:
    """The function to 40 digits, of every element: for f64 where NumPy has no long double form."""

    def of(value: Any) -> float:
        with mpmath.workdps(40):
            found = float(function(mpmath.mpf(float(value))))
        return found or float(np.copysign(found, value))  # mpmath has one zero only

    return np.vectorize(of, otypes=[np.float64])


def _of_both(double: Function, exact: Callable[[Any], Any]) -> Function:
    return lambda x: _by_mpmath(exact)(x) if x.dtype == np.longdouble else double(x)


def _silu(x: Array) -> Array:
    """Zero, the limit, at minus infinity."""
    return np.where(x < -800, -0.0, x / (1 + np.exp(-np.maximum(x, -800))))


def _gelu(x: Array) -> Array:
    bounded = np.clip(x, -40, 40)
    v = (
        x.dtype.type("1.59576912160573071175978423973752747")
        * bounded
        * (1 + x.dtype.type("0.044715") * bounded * bounded)
    )
    return np.where(x < -40, -0.0, x / (1 + np.exp(-v)))


def _round_half_away(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x)) + (np.abs(x) - np.floor(np.abs(x)) >= 0.5), x)


def _normal_cdf_mp(x: Any) -> Any:
    return mpmath.erfc(-min(max(x, -60), 60) / mpmath.sqrt(2)) / 2 if x == x else x


_FUNCTIONS: Final[dict[str, Function]] = {
    "usqr": np.square,
    "usign": np.sign,
    "urelu": lambda x: np.maximum(x, 0),
    "uceil": np.ceil,
    "ufloor": np.floor,
    "uround": _round_half_away,
    "urint": np.rint,
    "utrunc": np.trunc,
    "urecip": lambda x: 1 / x,
    "usqrt": np.sqrt,
    "ursqrt": lambda x: 1 / np.sqrt(x),
    "uexp": np.exp,
    "uexp2": np.exp2,
    "uexpm1": np.expm1,
    "ulog": np.log,
    "ulog2": np.log2,
    "ulog10": np.log10,
    "ulog1p": np.log1p,
    "usin": np.sin,
    "ucos": np.cos,
    "utan": np.tan,
    "uasin": np.arcsin,
    "uacos": np.arccos,
    "uatan": np.arctan,
    "usinh": np.sinh,
    "ucosh": np.cosh,
    "utanh": np.tanh,
    "uasinh": np.arcsinh,
    "uacosh": np.arccosh,
    "uatanh": np.arctanh,
    "uerf": _of_both(scipy.special.erf, mpmath.erf),
    "unormcdf": _of_both(scipy.special.ndtr, _normal_cdf_mp),
    "ugelu": _gelu,
    "ugelu_erf": _of_both(
        lambda x: np.where(x < -60, -0.0, x * scipy.special.ndtr(x)),
        lambda x: max(x, -60) * _normal_cdf_mp(x) if x == x else x,
    ),
    "usigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "usilu": _silu,
}

# One operation of IEEE 754, hence correctly rounded.
_CORRECTLY_ROUNDED: Final = {
    "usqr", "usign", "urelu", "uceil", "ufloor", "uround", "urint", "utrunc", "urecip", "usqrt",
}  # fmt: skip
_SLOW_REFERENCE: Final = {"uerf", "unormcdf", "ugelu_erf"}

_BITS: Final[dict[str, Function]] = {
    "ucopy": lambda x: x,
    "uneg": np.negative,
    "uabs": np.abs,
    "ubitnot": np.invert,
}
_PREDICATES: Final[dict[str, Function]] = {
    "uisnan": np.isnan,
    "uisinf": np.isinf,
    "uisfinite": np.isfinite,
    "usignbit": np.signbit,
    "ulogical_not": np.logical_not,
}
_WITH_PARAM: Final[dict[str, Callable[[Array, float], Array]]] = {
    "uelu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "upowf": lambda x, exponent: np.power(x, np.full_like(x, exponent)),  # of a scalar 0.5, NumPy takes the root
}
_PLACES: Final = ("uround_to",)
_LIBDEVICE: Final = {"utan_f32": 4}  # ULP that CUDA's manual allows of its own functions


def _split(spec: KernelSpec) -> tuple[str, DType]:
    dtype = spec.parameters[-2].dtype
    return spec.symbol.removesuffix(f"_{dtype.short}"), dtype


def _run(device: Device, spec: KernelSpec, x: Array, **how: Any) -> Array:
    return elementwise(device, spec.symbol, [x], **how)


def _kernels(select: Callable[[str, DType], bool]) -> Any:
    chosen = [spec for spec in unary.FAMILY.kernels if select(*_split(spec))]
    return pytest.mark.parametrize("spec", chosen, ids=lambda spec: spec.symbol)


def _inputs(op: str, dtype: DType) -> Array:
    if op in _SLOW_REFERENCE and dtype is dtypes.float64:
        return numerics.floats(dtype, 400)
    return numerics.floats(dtype)


@_kernels(lambda op, dtype: op in _FUNCTIONS and dtype.is_float)
def test_functions(device: Device, spec: KernelSpec) -> None:
    """All values of f8, f16 and bf16, thousands of f32 and f64, subnormals and specials among them."""
    op, dtype = _split(spec)
    x = _inputs(op, dtype)
    with np.errstate(all="ignore"):
        basic = op in _CORRECTLY_ROUNDED and dtype is dtypes.float64
        wanted = numerics.rounded(_FUNCTIONS[op](x if basic else numerics.exact(x, dtype)), dtype)
    ulps = 0 if op in _CORRECTLY_ROUNDED else numerics.TOLERANCE[dtype]
    if device.info.arch.startswith("sm_"):
        ulps = max(ulps, _LIBDEVICE.get(spec.symbol, 0))
    got = _run(device, spec, x)
    numerics.assert_close(got, wanted, ulps, (x,))
    if op not in ("urelu", "unormcdf"):  # relu's zero of -0 has either sign; an underflow of the integral is +0
        with np.errstate(invalid="ignore"):
            numerics.assert_signs_of_zero(got, wanted, (x,))


@_kernels(lambda op, dtype: op in _WITH_PARAM)
@pytest.mark.parametrize("param", [0.5, 1.0, 2.0, 3.0, -1.0, -3.0, 2.25])
def test_functions_with_a_parameter(device: Device, spec: KernelSpec, param: float) -> None:
    """elu's alpha, powf's exponent, of which some have code of their own; powers are within one unit."""
    op, dtype = _split(spec)
    x = numerics.floats(dtype)
    with np.errstate(all="ignore"):
        wanted = numerics.rounded(_WITH_PARAM[op](numerics.exact(x, dtype), param), dtype)
    ulps = 1 if op == "upowf" else numerics.TOLERANCE[dtype]
    got = _run(device, spec, x, before=(param,))
    numerics.assert_close(got, wanted, ulps, (x,))
    if op == "upowf":
        numerics.assert_signs_of_zero(got, wanted, (x,))


@_kernels(lambda op, dtype: op in _PLACES and dtype.is_float)
@pytest.mark.parametrize("places", [1, 2, 5, 40, -1, -3])
def test_rounding_to_decimal_places(device: Device, spec: KernelSpec, places: int) -> None:
    """The number nearest to the multiple of a power of ten; the number itself where that is out of range."""
    _, dtype = _split(spec)
    x = numerics.floats(dtype, 60)[:: 13 if dtype.bits == 16 else 1].copy()
    power = 10 ** abs(places)
    exponent = power.bit_length() - 1
    digits = Fraction(power, 1 << exponent)
    more = float(digits - Fraction(float(digits)))
    got = _run(device, spec, x, before=(float(digits), more, exponent, places > 0))
    numerics.assert_close(got, rounded_to_places(x, places), 0, (x,))
    assert (np.signbit(got) == np.signbit(x))[~numerics.is_nan(x)].all()


@_kernels(lambda op, dtype: op in _PLACES and not dtype.is_float)
@pytest.mark.parametrize("digits", [1, 2, 9, 19])
def test_rounding_integers_to_multiples(device: Device, spec: KernelSpec, digits: int) -> None:
    """Halves to even; an integer whose multiple is beyond the dtype stays."""
    _, dtype = _split(spec)
    x = numerics.values(dtype)
    got = _run(device, spec, x, before=(10**digits,))
    assert np.array_equal(got, rounded_integer(x, digits))


@_kernels(lambda op, dtype: op in _FUNCTIONS and not dtype.is_float)
def test_integer_functions(device: Device, spec: KernelSpec) -> None:
    """Squares wrap; signs are -1, 0, 1."""
    op, dtype = _split(spec)
    x = numerics.values(dtype)
    assert np.array_equal(_run(device, spec, x), _FUNCTIONS[op](x))


@_kernels(lambda op, dtype: op in _BITS)
def test_functions_of_the_bits(device: Device, spec: KernelSpec) -> None:
    """The very bits, a NaN's payload and sign included; the most negative integer is its own negative."""
    op, dtype = _split(spec)
    x = numerics.values(dtype)
    bits = numerics.bits_type(dtype)
    got = _run(device, spec, x).view(bits)
    if dtype.is_float and op in ("uneg", "uabs"):
        sign = bits.type(1 << (dtype.bits - 1))
        wanted = x.view(bits) ^ sign if op == "uneg" else x.view(bits) & ~sign
    else:
        wanted = _BITS[op](x).view(bits)
    assert np.array_equal(got, wanted)


@_kernels(lambda op, dtype: op in _PREDICATES)
def test_predicates(device: Device, spec: KernelSpec) -> None:
    """0 or 1 as u8."""
    op, dtype = _split(spec)
    x = numerics.values(dtype)
    with np.errstate(all="ignore"):
        wanted = (x == 0) if op == "ulogical_not" else _PREDICATES[op](x)
    assert np.array_equal(_run(device, spec, x), wanted.astype(np.uint8))


def test_every_kernel_has_a_test() -> None:
    """Each symbol of the family is one of the functions above."""
    known = {*_FUNCTIONS, *_BITS, *_PREDICATES, *_WITH_PARAM, *_PLACES}
    assert {_split(spec)[0] for spec in unary.FAMILY.kernels} == known


def test_gelu_of_half_precision_is_finite(device: Device) -> None:
    """G26: the cube of 100 overflows f16; the result does not."""
    x = np.array([100, -100, 60000, -60000], np.float16)
    for name in ("ugelu_f16", "ugelu_erf_f16"):
        got = _run(device, unary.FAMILY.by_symbol[name], x)
        assert np.array_equal(got, [100, 0, 60000, 0]), name


def test_round_is_half_away_and_rint_half_to_even(device: Device) -> None:
    """Candle's round and NumPy's differ at halves; both keep the sign of zero."""
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5, -0.1, 0.49999997], np.float32)
    got = {op: _run(device, unary.FAMILY.by_symbol[f"{op}_f32"], x) for op in ("uround", "urint")}
    assert got["uround"].tolist() == [1, 2, 3, -1, -3, 0, 0]
    assert got["urint"].tolist() == [0, 2, 2, 0, -2, 0, 0]
    assert np.signbit(got["uround"][5]) and np.signbit(got["urint"][3])


@pytest.mark.parametrize("symbol", ["uexp_f32", "uneg_i64", "usqr_f16", "ulogical_not_u8"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_layout(device: Device, symbol: str, data: st.DataObject) -> None:
    """A view gives what its contiguous copy gives, bit for bit."""
    spec = unary.FAMILY.by_symbol[symbol]
    _, dtype = _split(spec)
    shape = tuple(data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)))
    x = data.draw(views(shape, dtype.numpy))
    got = _run(device, spec, x, geometry=data.draw(st.sampled_from([(1, 64), (3, 96), (40, 256)])))
    assert np.array_equal(got, _run(device, spec, np.ascontiguousarray(x).copy()), equal_nan=dtype.is_float)


def test_parameter_together_with_strides(device: Device) -> None:
    """Candle's test: elu with alpha 2 of a transposed matrix."""
    x = np.array([[-1, 0], [-2, 3]], np.float32).T
    got = _run(device, unary.FAMILY.by_symbol["uelu_f32"], x, before=(2.0,))
    assert np.allclose(got, [[-1.2642411, -1.7293295], [0, 3]])
