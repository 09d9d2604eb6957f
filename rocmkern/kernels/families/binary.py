"""binary: arithmetic, comparison and bitwise functions of two tensors."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import FLOATS, INTEGERS, LAYOUT, NUMBERS, Family, KernelSpec, result, source

# Operation and the dtypes it has, by the macro that defines the kernel. On bool, add is or and mul is and.
_WITH_BOOL: Final = (dtypes.bool_, *NUMBERS)
_BITS: Final = (dtypes.bool_, *INTEGERS)
_ROWS: Final[dict[str, tuple[tuple[str, tuple[DType, ...]], ...]]] = {
    "BINARY": (
        ("badd", _WITH_BOOL),
        ("bsub", NUMBERS),
        ("bmul", _WITH_BOOL),
        ("bdiv", NUMBERS),
        ("bmaximum", _WITH_BOOL),
        ("bminimum", _WITH_BOOL),
        ("bfloor_divide", NUMBERS),
        ("bremainder", NUMBERS),
        ("bpow", NUMBERS),
        ("batan2", FLOATS),
        ("bhypot", FLOATS),
        ("blogaddexp", FLOATS),
    ),
    "COMPARE": tuple((op, _WITH_BOOL) for op in ("eq", "ne", "lt", "le", "gt", "ge")),
    "BINARY_BITS": (
        ("bcopysign", FLOATS),
        ("bnextafter", FLOATS),
        ("bbitand", _BITS),
        ("bbitor", _BITS),
        ("bbitxor", _BITS),
        ("bshl", INTEGERS),
        ("bshr", INTEGERS),
    ),
}


def _binary(macro: str, op: str, t: DType) -> KernelSpec:
    out = dtypes.uint8 if macro == "COMPARE" else t
    parameters = (*LAYOUT, source("lhs", t, "numel"), source("rhs", t, "numel"), result("out", out, "numel"))
    return KernelSpec(f"{op}_{t.short}", "binary", parameters, f"{macro}({op}, {t.short})")


FAMILY: Final = Family(
    "binary",
    "arithmetic, comparison and bitwise functions of two tensors",
    tuple(_binary(macro, op, t) for macro, rows in _ROWS.items() for op, kinds in rows for t in kinds),
)
