"""series: slopes and areas along an axis, values between known ones, polynomials, coordinates."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import (
    FLOATS,
    INTEGERS,
    LAYOUT,
    Family,
    KernelSpec,
    Parameter,
    by_size,
    result,
    scalar,
    source,
)  # fmt: skip
from rocmkern.kernels.families import reduce

_U64, _F64, _BOOL = dtypes.uint64, dtypes.float64, dtypes.bool_


def _spec(name: str, t: DType, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(f"{name}_{t.short}", "series", (*LAYOUT, *parameters), f"{name.upper()}({t.short})")


def _gradient(t: DType) -> KernelSpec:
    sizes = map(scalar, ("n", "right", "step"))
    return _spec("gradient", t, *sizes, scalar("spacing", _F64), source("inp", t), result("out", t))


def _areas(t: DType) -> KernelSpec:
    steps = map(scalar, ("y_step", "x_step"))
    return _spec(
        "areas", t, *steps, scalar("are_places", _BOOL), scalar("dx", t), source("y", t),
        source("x", t, nullable=True), result("out", t),
    )  # fmt: skip


def _interp(t: DType) -> KernelSpec:
    steps = map(scalar, ("n", "place_step", "value_step", "out_step"))
    flags = scalar("by_inverse", _BOOL), scalar("at_nan", _F64), scalar("has_left", _BOOL), scalar("has_right", _BOOL)
    vectors = (source(name, t) for name in ("x", "places", "values"))
    beyond = (scalar(name, _F64) for name in ("left", "right"))
    return _spec("interp", t, *steps, *flags, *beyond, *vectors, result("out", t))


def _polyval(t: DType) -> KernelSpec:
    return _spec("polyval", t, scalar("n"), scalar("step"), source("x", t), source("p", t), result("out", t))


def _unravel_index(t: DType) -> KernelSpec:
    return _spec(
        "unravel_index", t, scalar("axes"), source("lengths", _U64), source("ids", t), result("out", t)
    )  # fmt: skip


FAMILY: Final = Family(
    "series",
    "slopes and areas along an axis, values between known ones, polynomials, coordinates",
    (
        *map(_gradient, FLOATS),
        *map(_areas, (dtypes.float32, dtypes.float64)),
        *map(_interp, reduce.FLOATS),
        *map(_polyval, (*by_size(dtypes.REAL), *dtypes.COMPLEX)),
        *map(_unravel_index, by_size(INTEGERS)),
    ),
)
