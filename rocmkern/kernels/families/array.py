"""array: assignment between any two layouts, to places told by offsets, evenly spaced numbers, and copies that go on
beyond their ends.
"""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import INTEGERS, LAYOUT, NUMBERS, Family, KernelSpec, result, scalar, source


def _assign(t: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("inp", t, "numel"), result("out", t, "numel", strided=True))
    return KernelSpec(f"assign_{t.short}", "array", parameters, f"ASSIGN({t.short})")


def _put(t: DType) -> KernelSpec:
    parameters = (
        scalar("numel"),
        source("offsets", dtypes.int64, "numel"),
        source("inp", t, "numel"),
        result("out", t),
    )
    return KernelSpec(f"put_{t.short}", "array", parameters, f"PUT({t.short})")


def _pad(t: DType) -> KernelSpec:
    info = source("info", dtypes.uint64)
    parameters = (*LAYOUT[:2], info, scalar("clamped", dtypes.bool_), source("inp", t), result("out", t, "numel"))
    return KernelSpec(f"pad_{t.short}", "array", parameters, f"PAD({t.short})")


def _ramp(t: DType) -> KernelSpec:
    a = dtypes.float64 if t.is_float else dtypes.int64
    ends = (scalar("start", a), scalar("step", a), scalar("stop", a))
    parameters = (scalar("numel"), *ends, result("out", t, "numel"))
    return KernelSpec(f"ramp_{t.short}", "array", parameters, f"RAMP({t.short}, {a.short})")


FAMILY: Final = Family(
    "array",
    "assignment between any two layouts, to places told by offsets, evenly spaced numbers, copies beyond their ends",
    (
        *(make(t) for make in (_assign, _put, _pad) for t in INTEGERS if t.kind == "unsigned"),
        *map(_ramp, NUMBERS),
    ),
)
