"""complex: functions, arithmetic, comparisons and conversions of the complex dtypes."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import LAYOUT, Family, KernelSpec, result, scalar, source

_ARITHMETIC: Final = ("uneg", "uconj", "usqr")
_PREDICATES: Final = ("uisnan", "uisinf", "uisfinite")
_FUNCTIONS: Final = (
    "usign", "urecip", "usqrt", "uexp", "uexpm1", "ulog", "ulog1p", "ulog2", "ulog10",
    "usin", "ucos", "utan", "uasin", "uacos", "uatan", "usinh", "ucosh", "utanh", "uasinh", "uacosh", "uatanh",
)  # fmt: skip
_CASTS: Final = (
    (dtypes.float32, dtypes.complex64), (dtypes.float64, dtypes.complex128),
    (dtypes.complex64, dtypes.complex128), (dtypes.complex128, dtypes.complex64),
    (dtypes.complex64, dtypes.bool_), (dtypes.complex128, dtypes.bool_),
)  # fmt: skip


def _unary(op: str, t: DType, out: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("inp", t, "numel"), result("out", out, "numel"))
    line = f"COMPLEX_FUNCTION({op}, {t.short})" if op in _FUNCTIONS else f"COMPLEX_UNARY({op}, {t.short}, {out.short})"
    return KernelSpec(f"{op}_{t.short}", "complex", parameters, line)


def _binary(op: str, t: DType, out: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("lhs", t, "numel"), source("rhs", t, "numel"), result("out", out, "numel"))
    return KernelSpec(f"{op}_{t.short}", "complex", parameters, f"COMPLEX_BINARY({op}, {t.short}, {out.short})")


def _cast(s: DType, d: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("inp", s, "numel"), result("out", d, "numel"))
    return KernelSpec(f"cast_{s.short}_{d.short}", "complex", parameters, f"COMPLEX_CAST({s.short}, {d.short})")


def _products(t: DType) -> KernelSpec:
    sizes = (scalar(name) for name in ("lines", "n", "right"))
    parameters = (*sizes, source("src", t), result("dst", t))
    return KernelSpec(f"cumprod_{t.short}", "complex", parameters, f"COMPLEX_PRODUCTS({t.short})")


def _of(t: DType) -> tuple[KernelSpec, ...]:
    return (
        *(_unary(op, t, t) for op in (*_ARITHMETIC, *_FUNCTIONS)),
        _unary("uabs", t, dtypes.part_of(t)),
        *(_unary(op, t, dtypes.uint8) for op in _PREDICATES),
        *(_binary(op, t, t) for op in ("badd", "bsub", "bmul", "bdiv", "bpow")),
        *(_binary(op, t, dtypes.uint8) for op in ("eq", "ne")),
        _products(t),
    )


FAMILY: Final = Family(
    "complex",
    "functions, arithmetic, comparisons and conversions of the complex dtypes",
    (*(k for t in dtypes.COMPLEX for k in _of(t)), *(_cast(s, d) for s, d in _CASTS)),
)
