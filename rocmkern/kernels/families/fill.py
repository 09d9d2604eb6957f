"""fill: a constant into contiguous or strided memory, and rows from one stride to another."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import LAYOUT, Family, KernelSpec, result, scalar, source


def _fill(t: DType) -> KernelSpec:
    parameters = (result("buf", t, "numel"), scalar("value", t), scalar("numel"))
    return KernelSpec(f"fill_{t.short}", "fill", parameters, f"FILL({t.short})")


def _const_set(t: DType) -> KernelSpec:
    parameters = (*LAYOUT, scalar("value", t), result("out", t, "numel", strided=True))
    return KernelSpec(f"const_set_{t.short}", "fill", parameters, f"CONST_SET({t.short})")


def _copy2d(t: DType) -> KernelSpec:
    sizes = (scalar(name, dtypes.uint32) for name in ("d1", "d2", "src_stride", "dst_stride"))
    return KernelSpec(
        f"copy2d_{t.short}",
        "fill",
        (source("src", t), result("dst", t, "d1", "d2", strided=True), *sizes),
        f"COPY2D({t.short})",
    )


FAMILY: Final = Family(
    "fill",
    "a constant into contiguous or strided memory, and rows from one stride to another",
    tuple(make(t) for make in (_fill, _const_set, _copy2d) for t in dtypes.REAL),
)
