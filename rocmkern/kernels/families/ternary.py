"""ternary: where, and clip between two bounds."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import LAYOUT, NUMBERS, Family, KernelSpec, bits_name, by_size, result, source

CONDITIONS: Final = (dtypes.bool_, dtypes.uint8, dtypes.int16, dtypes.uint32, dtypes.int32, dtypes.int64)


def _where(i: DType, t: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("ids", i), source("t", t), source("f", t), result("out", t))
    instance = f"WHERE({i.short}, {t.short}, {bits_name(t)})"
    return KernelSpec(f"where_{i.short}_{t.short}", "ternary", parameters, instance)


def _clip(t: DType) -> KernelSpec:
    parameters = (*LAYOUT, *(source(name, t) for name in ("x", "low", "high")), result("out", t))
    return KernelSpec(f"clip_{t.short}", "ternary", parameters, f"CLIP({t.short})")


FAMILY: Final = Family(
    "ternary",
    "t where the condition is not zero, f elsewhere, bit for bit; values between two bounds",
    (*(_where(i, t) for i in CONDITIONS for t in by_size(dtypes.REAL)), *map(_clip, by_size(NUMBERS))),
)
