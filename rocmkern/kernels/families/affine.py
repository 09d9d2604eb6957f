"""affine: x * mul + add."""

from __future__ import annotations

from typing import Final

from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import LAYOUT, NUMBERS, Family, KernelSpec, result, scalar, source


def _affine(t: DType) -> KernelSpec:
    parameters = (
        *LAYOUT,
        source("inp", t, "numel", nullable=True),
        result("out", t, "numel"),
        scalar("mul", t),
        scalar("add", t),
    )
    return KernelSpec(f"affine_{t.short}", "affine", parameters, f"AFFINE({t.short})")


FAMILY: Final = Family("affine", "x * mul + add, the scalars in the tensor's dtype", tuple(map(_affine, NUMBERS)))
