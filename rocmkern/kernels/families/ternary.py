"""ternary: where, and clip between two bounds."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import (
    LAYOUT,
    NUMBERS,
    Family,
    KernelSpec,
    Parameter,
    bits_name,
    by_size,
    result,
    source,
)

CONDITIONS: Final = (dtypes.bool_, dtypes.uint8, dtypes.int16, dtypes.uint32, dtypes.int32, dtypes.int64)


def _of_elements(t: DType, *names: str) -> tuple[Parameter, ...]:
    return *(source(name, t, "numel") for name in names), result("out", t, "numel")


def _where(i: DType, t: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("ids", i, "numel"), *_of_elements(t, "t", "f"))
    instance = f"WHERE({i.short}, {t.short}, {bits_name(t)})"
    return KernelSpec(f"where_{i.short}_{t.short}", "ternary", parameters, instance)


def _clip(t: DType) -> KernelSpec:
    parameters = (*LAYOUT, *_of_elements(t, "x", "low", "high"))
    return KernelSpec(f"clip_{t.short}", "ternary", parameters, f"CLIP({t.short})")


FAMILY: Final = Family(
    "ternary",
    "t where the condition is not zero, f elsewhere, bit for bit; values between two bounds",
    (*(_where(i, t) for i in CONDITIONS for t in by_size(dtypes.REAL)), *map(_clip, by_size(NUMBERS))),
)
