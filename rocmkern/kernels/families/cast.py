"""cast: every element type to every other."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import LAYOUT, Family, KernelSpec, result, source

# Between these, a transposed input goes through LDS tiles; elsewhere that would be code for a rare case.
TILED: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32)


def _cast(s: DType, d: DType) -> KernelSpec:
    parameters = (*LAYOUT, source("inp", s, "numel"), result("out", d, "numel"))
    macro = "CAST_TILED" if s in TILED and d in TILED else "CAST"
    return KernelSpec(f"cast_{s.short}_{d.short}", "cast", parameters, f"{macro}({s.short}, {d.short})")


FAMILY: Final = Family(
    "cast",
    "another element type: integers wrap, floats to integers saturate, all else rounds once to nearest even",
    tuple(_cast(s, d) for s in dtypes.REAL for d in dtypes.REAL),
)
