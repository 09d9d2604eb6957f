"""Cases of one element from each operand: functions, comparisons, casts, choices, and constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import FLOATS, INTEGERS, NUMBERS, SIGNED
from rocmkern.verifying.case import Array, Case, floats, numbers, whole

_SHAPE: Final = (48, 36)
_ULPS: Final = {1: 1.0, 2: 1.0, 4: 2.5, 8: 4.5}  # by size of an element, of the functions that are not exact
_COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
_erf: Final = np.frompyfunc(lambda x: math.erf(float(x)), 1, 1)
_erfc: Final = np.frompyfunc(lambda x: math.erfc(float(x)), 1, 1)


def _times(x: Array, share: Array) -> Array:
    """The product, which goes to 0 where `x` goes to −∞."""
    return np.where(x == -np.inf, 0, x * share)


def _gelu(x: Array) -> Array:
    return _times(x, np.asarray(_erfc(-x / math.sqrt(2)), np.float64) / 2)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _gelu_tanh(x: Array) -> Array:
    return _times(x, _sigmoid(np.sqrt(8 / np.pi) * (x + 0.044715 * x**3)))


# Functions of ours whose name or meaning NumPy has otherwise.
_REFERENCES: Final[dict[str, Callable[[Array], Array]]] = {
    "bitwise_invert": np.invert,
    "erf": lambda x: np.asarray(_erf(x), np.float64),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "silu": lambda x: _times(x, _sigmoid(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
}
_EXACT: Final = (
    "ceil",
    "floor",
    "trunc",
    "rint",
    "sqrt",
    "reciprocal",
    "absolute",
    "negative",
    "square",
    "sign",
    "relu",
)
_CURVES: Final = (
    "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "erf", "gelu", "gelu_tanh", "sigmoid", "silu", "elu",
)  # fmt: skip
_STEEP: Final = {"gelu": 64, "gelu_tanh": 32}  # far below zero, where a last place of what is exponentiated counts
_OF_COMPLEX: Final = (
    "negative", "conjugate", "square", "sign", "reciprocal", "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "absolute", "isnan", "isinf", "isfinite",
)  # fmt: skip


def _named(name: str, t: DType) -> str:
    return f"{name} of {t.name}"


def _one(name: str, t: DType, ulps: float) -> Case:
    """A function of a tensor as it lies, and of its transpose."""
    ours, theirs = getattr(rk, name), _REFERENCES.get(name) or getattr(np, name)

    def call(x: Any) -> Any:
        return ours(x), ours(x.T)

    def reference(x: Array) -> Any:
        found = theirs(x)
        return found, found.T

    return Case(_named(name, t), call, (numbers(t, *_SHAPE),), reference, ulps=ulps, grows=True)


def unary() -> Iterator[Case]:
    for t in FLOATS:
        for name in _EXACT:
            yield _one(name, t, 0.5 if name != "relu" else 0)
        for name in _CURVES:
            yield _one(name, t, _ULPS[t.itemsize] * _STEEP.get(name, 1))
        for name in ("isnan", "isinf", "isfinite", "signbit", "logical_not"):
            yield _one(name, t, 0)
    for t in (*INTEGERS, dtypes.bool_):
        names = ("logical_not", "bitwise_invert") if t.kind == "bool" else ("square", "sign", "logical_not")
        for name in (*names, *(("absolute", "negative") if t in SIGNED else ())):
            yield _one(name, t, 0)
    for t in INTEGERS:
        yield _one("bitwise_invert", t, 0)
    for t in _COMPLEX:
        for name in _OF_COMPLEX:
            yield _one(name, t, 64.0)
    yield from _with_numbers()


def _with_numbers() -> Iterator[Case]:
    for t in FLOATS:
        x = np.abs(floats(t, *_SHAPE, special=False)) + np.asarray(0.125, t.numpy)
        yield Case(_named("power 2.5", t), lambda x: x**2.5, (x,), lambda x: x**2.5, ulps=_ULPS[t.itemsize], grows=True)
    for t in NUMBERS:
        x = numbers(t, *_SHAPE, special=False)
        digits = 1 if t.is_float else -1
        yield Case(
            _named("round", t), lambda x, d=digits: rk.round(x, d), (x,),
            (lambda x: np.round(x.astype(np.float64), 1)) if t.is_float else None, ulps=1.0, grows=True,
        )  # fmt: skip
        yield Case(_named("affine", t), lambda x: x * 3 + 1, (whole(t, *_SHAPE),), lambda x: x * 3 + 1, grows=True)


_ARITHMETIC: Final = ("add", "subtract", "multiply", "maximum", "minimum")
_COMPARISONS: Final = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_BITS: Final = ("bitwise_and", "bitwise_or", "bitwise_xor")


def _two(name: str, t: DType, x: Array, y: Array, ulps: float) -> Case:
    """A function of two tensors as they lie, and of the first with a row of the second."""
    ours, theirs = getattr(rk, name), getattr(np, name)

    def call(x: Any, y: Any) -> Any:
        return ours(x, y), ours(x, y[0])

    def reference(x: Array, y: Array) -> Any:
        return theirs(x, y), theirs(x, y[0])

    return Case(_named(name, t), call, (x, y), reference, ulps=ulps, grows=True)


def binary() -> Iterator[Case]:
    for t in (dtypes.bool_, *NUMBERS):
        x, y = numbers(t, *_SHAPE), numbers(t, *_SHAPE, seed=1)
        names: tuple[str, ...] = _COMPARISONS if t.kind == "bool" else (*_ARITHMETIC, *_COMPARISONS)
        names += _BITS if not t.is_float else ("divide", "copysign")
        for name in names:
            yield _two(name, t, x, y, 0.5 if t.is_float else 0)
    for t in FLOATS:
        plain = floats(t, *_SHAPE, special=False), floats(t, *_SHAPE, special=False, seed=1)
        for name in ("arctan2", "hypot"):
            yield _two(name, t, *plain, _ULPS[t.itemsize])
        yield _two("logaddexp", t, abs(plain[0]), abs(plain[1]), _ULPS[t.itemsize])
        whole_steps = whole(t, *_SHAPE) * 2 + np.asarray(1, t.numpy)
        for name in ("floor_divide", "remainder"):
            yield _two(name, t, whole(t, *_SHAPE, seed=2), whole_steps, 0)
        yield _two("power", t, np.abs(plain[0]) + np.asarray(0.5, t.numpy), plain[1], _ULPS[t.itemsize])
        yield Case(_named("nextafter", t), rk.nextafter, plain)
    for t in INTEGERS:
        x, y = numbers(t, *_SHAPE), whole(t, *_SHAPE) * 2 + np.asarray(1, t.numpy)
        for name in ("floor_divide", "remainder"):
            yield _two(name, t, x, y, 0)
        small = np.abs(whole(t, *_SHAPE)).astype(t.numpy)
        for name in ("power", "left_shift", "right_shift"):
            yield _two(name, t, x, small, 0)
    for t in _COMPLEX:
        x, y = numbers(t, *_SHAPE), numbers(t, *_SHAPE, seed=1)
        for name in ("add", "subtract", "multiply", "divide", "power"):
            yield _two(name, t, x, y, 64.0)
        for name in ("equal", "not_equal"):
            yield _two(name, t, x, x.copy(), 0)


def casts() -> Iterator[Case]:
    for source in (*dtypes.REAL, *_COMPLEX):
        values = numbers(source, *_SHAPE, special=False)
        for to in (*dtypes.REAL, *_COMPLEX):
            if to is source or (source.is_complex and not to.is_complex):
                continue
            exact = values if source.is_integer is to.is_integer or not source.is_integer else whole(source, *_SHAPE)
            x = np.abs(exact) if to.kind == "unsigned" and source.is_float else exact
            yield Case(
                f"{source.name} to {to.name}", lambda x, to=to: (x.astype(to), x.T.astype(to)), (x,),
                lambda x, to=to: (_cast(x, to), _cast(x, to).T), ulps=0.5, grows=True,
            )  # fmt: skip


def _cast(x: Array, to: DType) -> Array:
    """Integers and truth by NumPy's rule; what becomes a float stays as wide as it is, so that it is rounded once."""
    return x if to.is_float else x.astype(to.numpy)


def choices() -> Iterator[Case]:
    for t in dtypes.REAL:
        x, y = numbers(t, *_SHAPE), numbers(t, *_SHAPE, seed=1)
        for short in ("bool", "u8", "u32", "i64", "i32", "i16"):
            kind = next(d for d in dtypes.REAL if d.short == short)
            mask = whole(kind, *_SHAPE) > 0 if short == "bool" else whole(kind, *_SHAPE)
            yield Case(
                f"where of {t.name} by {kind.name}", lambda m, x, y: rk.where(m.astype(rk.bool_), x, y), (mask, x, y),
                lambda m, x, y: np.where(m, x, y), grows=True,
            )  # fmt: skip
        if t.kind != "bool":
            low, high = (0, 2) if t.kind == "unsigned" else (-1, 2)
            yield Case(
                _named("clip", t), lambda x, a=low, b=high: rk.clip(x, a, b), (x,),
                lambda x, a=low, b=high: np.where(np.isnan(x), x, np.clip(x, a, b)), grows=True,
            )  # fmt: skip
    for t in FLOATS:
        x = floats(t, *_SHAPE)
        yield Case(_named("nan_to_num", t), rk.nan_to_num, (x,))
        y = np.where(np.random.default_rng(0).random(_SHAPE) < 0.5, x, -x).astype(t.numpy)
        yield Case(_named("isclose", t), rk.isclose, (x, y), lambda x, y: np.isclose(x, y))
    for t in _COMPLEX:
        x = numbers(t, *_SHAPE)
        yield Case(_named("isclose", t), rk.isclose, (x, x.copy()), lambda x, y: np.isclose(x, y))
    for name in ("logical_and", "logical_or", "logical_xor"):
        for t in (dtypes.uint8, dtypes.int16, dtypes.float32, dtypes.int64):
            yield _two(name, t, whole(t, *_SHAPE), whole(t, *_SHAPE, seed=1), 0)


def constants() -> Iterator[Case]:
    for t in (*dtypes.REAL, *_COMPLEX):
        x = numbers(t, *_SHAPE, special=False)
        yield Case(_named("full", t), lambda x: rk.full_like(x, 1), (x,), np.ones_like)
        yield Case(
            _named("copies", t), lambda x: (x.T.copy(), x[::-1, ::2].copy(), rk.concat([x, x], axis=1)), (x,),
            lambda x: (x.T, x[::-1, ::2], np.concatenate([x, x], axis=1)), grows=True,
        )  # fmt: skip
        if t.kind != "bool":
            yield Case(_named("ramp", t), lambda x: rk.arange(100, dtype=x.dtype, device=x.device), (x,),
                       lambda x, t=t: np.arange(100).astype(t.numpy))  # fmt: skip


def cases() -> Iterator[Case]:
    for made in (unary, binary, casts, choices, constants):
        yield from made()
