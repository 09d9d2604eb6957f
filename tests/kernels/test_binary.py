"""binary: every operation in every dtype against NumPy, then layouts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import KernelSpec
from rocmkern.kernels.families import binary
from rocmkern.runtime import Device
from tests.kernels import numerics
from tests.kernels.launching import Guarded, elementwise, run, views
from tests.kernels.numerics import Array

Function = Callable[[Array, Array], Array]


def _divide_integers(x: Array, y: Array) -> Array:
    """Truncating; by zero 0; the most negative value over −1 wraps."""
    safe = np.where(y == 0, 1, y).astype(x.dtype)
    floor = x // safe
    truncated = floor + ((floor < 0) & (floor * safe != x)).astype(x.dtype)
    return np.where(y == 0, 0, truncated).astype(x.dtype)


def _power(x: Array, y: Array) -> Array:
    """Wrapping; a negative exponent leaves the truncated reciprocal."""
    modulus = 1 << (x.dtype.itemsize * 8)
    wrapped = [pow(int(a), int(b), modulus) if b >= 0 else 0 for a, b in zip(x, y, strict=True)]
    powers = np.array(wrapped, np.uint64).astype(x.dtype)
    reciprocal = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0)) if x.dtype.kind == "i" else 0
    return np.where(y < 0, reciprocal, powers).astype(x.dtype)


def _shift(shift: Callable[[Any, Any], Any], x: Array, y: Array) -> Array:
    """Counts outside the width, negative ones too, shift everything out."""
    bits = x.dtype.itemsize * 8
    inside = (y >= 0) & (y < bits)
    count = np.where(inside, y, 0).astype(x.dtype)
    gone = np.where(x < 0, -1, 0).astype(x.dtype) if shift is operator.rshift else np.zeros_like(x)
    return np.where(inside, shift(x, count), gone)


# Exact on integers, in which they wrap, and on floats widened to a format with digits to spare.
_ARITHMETIC: Final[dict[str, tuple[Function, Function]]] = {
    "badd": (np.add, np.add),
    "bsub": (np.subtract, np.subtract),
    "bmul": (np.multiply, np.multiply),
    "bdiv": (_divide_integers, np.divide),
    "bmaximum": (np.maximum, np.maximum),
    "bminimum": (np.minimum, np.minimum),
    "bfloor_divide": (np.floor_divide, np.floor_divide),
    "bremainder": (np.remainder, np.remainder),
    "bpow": (_power, np.power),
    "batan2": (np.arctan2, np.arctan2),
    "bhypot": (np.hypot, np.hypot),
    "blogaddexp": (np.logaddexp, np.logaddexp),
    "bbitand": (np.bitwise_and, np.bitwise_and),
    "bbitor": (np.bitwise_or, np.bitwise_or),
    "bbitxor": (np.bitwise_xor, np.bitwise_xor),
    "bshl": (lambda x, y: _shift(operator.lshift, x, y),) * 2,
    "bshr": (lambda x, y: _shift(operator.rshift, x, y),) * 2,
}
_COMPARE: Final[dict[str, Function]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip

# Basic arithmetic is correctly rounded: f32 has digits enough for one rounding of f16, bf16 and f8 results.
_CORRECTLY_ROUNDED: Final = {"badd", "bsub", "bmul", "bdiv", "bmaximum", "bminimum"}


def _split(spec: KernelSpec) -> tuple[str, DType]:
    dtype = spec.parameters[3].dtype
    return spec.symbol.removesuffix(f"_{dtype.short}"), dtype


def _run(device: Device, spec: KernelSpec, x: Array, y: Array, **how: Any) -> Array:
    return elementwise(device, spec.symbol, [x, y], **how)


def _kernels(select: Callable[[str, DType], bool]) -> Any:
    chosen = [spec for spec in binary.FAMILY.kernels if select(*_split(spec))]
    return pytest.mark.parametrize("spec", chosen, ids=lambda spec: spec.symbol)


@_kernels(lambda op, dtype: op in _ARITHMETIC and not dtype.is_float)
def test_integer_operations(device: Device, spec: KernelSpec) -> None:
    """Equal to NumPy: wrapping, floor division and remainder as Python's, or and and for bool."""
    op, dtype = _split(spec)
    x, y = numerics.pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = _ARITHMETIC[op][0](x, y)
    got = _run(device, spec, x, y)
    wrong = np.flatnonzero(got != wanted)
    assert wrong.size == 0, f"{op}({x[wrong[0]]}, {y[wrong[0]]}) is {got[wrong[0]]}, wanted {wanted[wrong[0]]}"


@_kernels(lambda op, dtype: op in _ARITHMETIC and dtype.is_float and op not in ("bfloor_divide", "bremainder"))
def test_float_operations(device: Device, spec: KernelSpec) -> None:
    """Basic arithmetic is correctly rounded, the rest within the dtype's tolerance; NaN is kept."""
    op, dtype = _split(spec)
    x, y = numerics.pairs(dtype)
    if op == "blogaddexp":  # near a result of 0 the terms cancel: only the absolute error is bounded there
        with np.errstate(all="ignore"):
            keep = ~(np.abs(np.logaddexp(x.astype(np.float64), y.astype(np.float64))) < 0.5)
        x, y = x[keep], y[keep]
    basic = op in _CORRECTLY_ROUNDED
    wide = (x, y) if basic and dtype is dtypes.float64 else (numerics.exact(x, dtype), numerics.exact(y, dtype))
    with np.errstate(all="ignore"):
        wanted = numerics.rounded(_ARITHMETIC[op][1](*wide), dtype)
    ulps = 0 if basic else numerics.TOLERANCE[dtype]
    got = _run(device, spec, x, y)
    numerics.assert_close(got, wanted, ulps, (x, y))
    if op not in ("bmaximum", "bminimum"):  # of -0 and +0 either may be the larger
        with np.errstate(invalid="ignore"):
            numerics.assert_signs_of_zero(got, wanted, (x, y))


@_kernels(lambda op, dtype: op in ("bfloor_divide", "bremainder") and dtype.is_float)
def test_float_floor_division(device: Device, spec: KernelSpec) -> None:
    """The very numbers that NumPy gives (in f32 for shorter formats): the divisor's sign, signed zeros, NaN by zero."""
    op, dtype = _split(spec)
    x, y = numerics.pairs(dtype)
    wide = np.float64 if dtype is dtypes.float64 else np.float32
    with np.errstate(all="ignore"):
        wanted = numerics.rounded(_ARITHMETIC[op][1](x.astype(wide), y.astype(wide)), dtype)
    got = _run(device, spec, x, y)
    numerics.assert_close(got, wanted, 0, (x, y))
    with np.errstate(invalid="ignore"):
        numerics.assert_signs_of_zero(got, wanted, (x, y))


@_kernels(lambda op, dtype: op in _COMPARE)
def test_comparisons(device: Device, spec: KernelSpec) -> None:
    """0 or 1 as u8; every comparison with NaN but `ne` is false; -0 equals +0."""
    op, dtype = _split(spec)
    x, y = numerics.pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = _COMPARE[op](x, y).astype(np.uint8)
    assert np.array_equal(_run(device, spec, x, y), wanted)


@_kernels(lambda op, dtype: op == "bcopysign")
def test_copysign_takes_the_sign_bit(device: Device, spec: KernelSpec) -> None:
    """Of zeros and NaN too."""
    _, dtype = _split(spec)
    x, y = numerics.pairs(dtype)
    bits = numerics.bits_type(dtype)
    sign = bits.type(1 << (dtype.bits - 1))
    wanted = (x.view(bits) & ~sign) | (y.view(bits) & sign)
    assert np.array_equal(_run(device, spec, x, y).view(bits), wanted)


@_kernels(lambda op, dtype: op == "bnextafter")
def test_nextafter_steps_once(device: Device, spec: KernelSpec) -> None:
    """Equal to NumPy and ml_dtypes, across zero and into infinity (f8: NaN)."""
    _, dtype = _split(spec)
    x, y = numerics.pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = np.nextafter(x, y)
        crossed = (wanted == 0) & (x != y)
    got = _run(device, spec, x, y)
    numerics.assert_close(got, wanted, 0, (x, y))
    assert np.array_equal(np.signbit(got[crossed]), np.signbit(x[crossed]))


def test_every_kernel_has_a_test() -> None:
    """Each symbol of the family is one of the operations above."""
    known = {*_ARITHMETIC, *_COMPARE, "bcopysign", "bnextafter"}
    assert {_split(spec)[0] for spec in binary.FAMILY.kernels} == known


@pytest.mark.parametrize("symbol", ["badd_f32", "bdiv_f32", "lt_f64", "bmul_u8"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_pair_of_layouts(device: Device, symbol: str, data: st.DataObject) -> None:
    """Each side contiguous, transposed, stepped, reversed, broadcast or offset, whatever the other is."""
    spec = binary.FAMILY.by_symbol[symbol]
    op, dtype = _split(spec)
    shape = tuple(data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)))
    x, y = (data.draw(views(shape, dtype.numpy)) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = (_COMPARE[op] if op in _COMPARE else _ARITHMETIC[op][1])(x, y)
    got = _run(device, spec, x, y, geometry=data.draw(st.sampled_from([(1, 64), (3, 96), (40, 256)])))
    assert np.array_equal(got, wanted.astype(got.dtype), equal_nan=dtype.is_float)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_scalar_on_either_side(device: Device, size: int) -> None:
    """One axis of stride 0 beside a contiguous one takes the packed path."""
    x = np.arange(size, dtype=np.float32)
    two = np.broadcast_to(np.array([2], np.float32), (size,))
    minus = binary.FAMILY.by_symbol["bsub_f32"]
    assert np.array_equal(_run(device, minus, x, two), x - 2)
    assert np.array_equal(_run(device, minus, two, x), 2 - x)


@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(1, 5),
    packs=st.integers(1, 70),
    left=st.sampled_from(("matrix", "row", "column", "narrowed", "planes")),
    right=st.sampled_from(("matrix", "row", "column", "narrowed", "planes")),
    short=st.sampled_from(("f32", "u8")),
    extra=st.sampled_from((0, 1)),
    geometry=st.sampled_from(((1, 64), (2, 256), (40, 256))),
)
def test_rows_of_packs(
    device: Device, rows: int, packs: int, left: str, right: str, short: str, extra: int, geometry: tuple[int, int]
) -> None:
    """Rows that are 16-byte packs side by side, or one element, in any pairing; rows one element longer are neither."""
    dtype = np.float32 if short == "f32" else np.uint8
    columns = packs * (16 // np.dtype(dtype).itemsize) + extra
    shape = (2, rows, columns)

    def operand(kind: str) -> Array:
        stored = {
            "matrix": shape,
            "row": (1, 1, columns),
            "column": (2, rows, 1),
            "narrowed": (2, rows, columns + 16),
            "planes": (1, rows, columns),
        }[kind]
        held = (np.arange(int(np.prod(stored))) % 101).astype(dtype).reshape(stored)
        return np.broadcast_to(held[..., :columns], shape)

    x, y = operand(left), operand(right)
    add = binary.FAMILY.by_symbol[f"badd_{short}"]
    assert np.array_equal(_run(device, add, x, y, geometry=geometry), x + y)


def test_result_may_be_an_operand(device: Device) -> None:
    """x = x + y in place."""
    x, y = np.arange(100, dtype=np.float32), np.full(100, 3, np.float32)
    held = Guarded.holding(device, x)
    run(device, "badd_f32", 100, 1, None, held.pointer, y, held.pointer, grid=1, block=64)
    assert np.array_equal(held.array(), x + y)
