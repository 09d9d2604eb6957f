"""statistics: reductions of rows that pass over NaN, sums of squares, averages, covariances, counts in bins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import LAYOUT, Family, KernelSpec, Parameter, changed, result, scalar, source
from rocmkern.kernels.families.reduce import FLOATS

MOST_VARIABLES: Final = 64  # of covariance_*
MOST_BINS: Final = 1024  # that a block of histogram_* counts by itself
NAN_REDUCTIONS: Final = ("nansum", "nanmean", "nanmax", "nanmin", "nanvar")
_DIVIDED_BY: Final = {"nanvar": "correction", "squares": "divisor"}  # the first option of the last step
_U8, _U32, _U64, _F64, _BOOL = dtypes.uint8, dtypes.uint32, dtypes.uint64, dtypes.float64, dtypes.bool_
_ROWS: Final = (scalar("num_dims"), source("info", _U64, nullable=True))


def _spec(symbol: str, instance: str, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(symbol, "statistics", parameters, instance)


def _reductions(op: str, t: DType) -> Iterator[KernelSpec]:
    s, src, dst = t.short, source("src", t), result("dst", t)
    stem = "MOMENT" if op in _DIVIDED_BY else "REDUCTION"
    options = (scalar(_DIVIDED_BY[op], _F64), scalar("root", _BOOL)) if op in _DIVIDED_BY else ()
    sizes, rows = (scalar("numel"), scalar("cols")), (scalar("rows"), scalar("cols"), scalar("parts_per_row"))
    yield _spec(f"fast_{op}_{s}", f"{stem}({op}, {s})", *sizes, *_ROWS, *options, src, dst)
    parts = result("parts", _U8)
    yield _spec(f"split_{op}_{s}", f"PARTS({op}, {s})", *sizes, scalar("part"), *_ROWS, src, parts)
    yield _spec(
        f"merge_{op}_{s}", f"{stem}_MERGE({op}, {s})", *rows, *options, source("parts", _U8), result("dst", t, "rows")
    )


def _average(t: DType) -> KernelSpec:
    operands = source("x", t), source("weights", t), result("out", t)
    return _spec(f"average_{t.short}", f"AVERAGE({t.short})", scalar("numel"), scalar("cols"), *_ROWS, *operands)


def _covariance(t: DType) -> KernelSpec:
    sizes = (scalar(name, _U32) for name in ("count", "first", "observations"))
    steps = map(scalar, ("x_row", "x_column", "y_row", "y_column"))
    options = scalar("divisor", _F64), scalar("correlates", _BOOL)
    return _spec(
        f"covariance_{t.short}", f"COVARIANCE({t.short})", *sizes, *steps, *options, source("x", t),
        source("y", t, nullable=True), result("out", t),
    )  # fmt: skip


def _histogram(t: DType) -> KernelSpec:
    limits = (scalar(name, _F64) for name in ("low", "step", "high"))
    return _spec(
        f"histogram_{t.short}", f"HISTOGRAM({t.short})", *LAYOUT, scalar("bins"), *limits,
        source("given", t, nullable=True), source("x", t), result("places", t, nullable=True), changed("counts", _U64),
    )  # fmt: skip


FAMILY: Final = Family(
    "statistics",
    "reductions of rows that pass over NaN, sums of squares, averages, covariances, counts in bins",
    (
        *(k for op in (*NAN_REDUCTIONS, "squares") for t in FLOATS for k in _reductions(op, t)),
        *map(_average, FLOATS),
        *map(_covariance, FLOATS),
        *map(_histogram, (dtypes.float32, dtypes.float64)),
    ),
)
