"""unary: functions and predicates of one tensor."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import (
    FLOATS,
    INTEGERS,
    LAYOUT,
    NUMBERS,
    Family,
    KernelSpec,
    bits_name,
    by_size,
    result,
    scalar,
    source,
)

# Operations and the dtypes they have, by the macro that defines the kernel.
_ROWS: Final[dict[str, tuple[tuple[str, tuple[DType, ...]], ...]]] = {
    "UNARY": (
        *((op, NUMBERS) for op in ("usqr", "usign")),
        *(
            (op, FLOATS)
            for op in (
                "urelu", "uceil", "ufloor", "uround", "urint", "utrunc", "urecip", "usqrt", "ursqrt",
                "uexp", "uexp2", "uexpm1", "ulog", "ulog2", "ulog10", "ulog1p",
                "usin", "ucos", "utan", "uasin", "uacos", "uatan",
                "usinh", "ucosh", "utanh", "uasinh", "uacosh", "uatanh",
                "uerf", "unormcdf", "ugelu", "ugelu_erf", "usigmoid", "usilu",
            )
        ),
    ),
    "UNARY_WITH": (("uelu", FLOATS),),
    "RAISE": (("upowf", FLOATS),),
    "ROUND_TO": (("uround_to", FLOATS),),
    "ROUND_TO_MULTIPLE": (("uround_to", INTEGERS),),
    "COPY": (("ucopy", by_size(dtypes.REAL)),),
    "UNARY_BITS": (("uneg", NUMBERS), ("uabs", NUMBERS), ("ubitnot", INTEGERS)),
    "PREDICATE": (
        *((op, FLOATS) for op in ("uisnan", "uisinf", "uisfinite")),
        ("ulogical_not", dtypes.REAL),
    ),
    "PREDICATE_BITS": (("usignbit", FLOATS),),
}  # fmt: skip

_OPTIONS: Final = {
    "ROUND_TO": (
        *(scalar(name, dtypes.float64) for name in ("digits", "more_digits")), scalar("exponent", dtypes.int32),
        scalar("is_reciprocal", dtypes.bool_),
    ),
    "ROUND_TO_MULTIPLE": (scalar("unit", dtypes.uint64),),
}  # fmt: skip

# Functions that take an H100 about as long to compute as its memory to deliver.
_HALVES: Final = (dtypes.float16, dtypes.bfloat16)
_LONG: Final = (("ugelu", (*_HALVES, dtypes.float32)), ("ugelu_erf", (*_HALVES, dtypes.float32)), ("usilu", _HALVES))
LONG: Final = frozenset(f"{op}_{t.short}" for op, kinds in _LONG for t in kinds)


def _unary(macro: str, op: str, t: DType) -> KernelSpec:
    predicate = macro.startswith("PREDICATE")
    options = (scalar("param", t),) if macro in ("UNARY_WITH", "RAISE") else _OPTIONS.get(macro, ())
    out = dtypes.uint8 if predicate else t
    inp = source("inp", t, "numel", nullable=not predicate)
    parameters = (*LAYOUT, *options, inp, result("out", out, "numel"))
    arguments = (op, t.short, bits_name(t)) if macro == "COPY" else (op, t.short)
    return KernelSpec(f"{op}_{t.short}", "unary", parameters, f"{macro}({', '.join(arguments)})")


FAMILY: Final = Family(
    "unary",
    "functions and predicates of one tensor",
    tuple(_unary(macro, op, t) for macro, rows in _ROWS.items() for op, kinds in rows for t in kinds),
)
