"""array: assignment between any two layouts, to places told by offsets, and evenly spaced numbers."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import INTEGERS, LAYOUT, NUMBERS, Family, KernelSpec, result, scalar, source


def _assign(t: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("inp", t), result("out", t))
    return KernelSpec(f"assign_{t.short}", "array", parameters, f"ASSIGN({t.short})")


def _put(t: DType) -> KernelSpec:
    parameters = (scalar("numel"), source("offsets", dtypes.int64), source("inp", t), result("out", t))
    return KernelSpec(f"put_{t.short}", "array", parameters, f"PUT({t.short})")


def _ramp(t: DType) -> KernelSpec:
    a = dtypes.float64 if t.is_float else dtypes.int64
    ends = (scalar("start", a), scalar("step", a), scalar("stop", a))
    parameters = (scalar("numel"), *ends, result("out", t))
    return KernelSpec(f"ramp_{t.short}", "array", parameters, f"RAMP({t.short}, {a.short})")


FAMILY: Final = Family(
    "array",
    "assignment between any two layouts, to places told by offsets, and evenly spaced numbers",
    (
        *(make(t) for make in (_assign, _put) for t in INTEGERS if t.kind == "unsigned"),
        *map(_ramp, NUMBERS),
    ),
)
