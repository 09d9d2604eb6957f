"""small: linear algebra of few elements in one launch each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import Family, KernelSpec, Parameter, result, scalar, source
from rocmkern.kernels.families.linalg import FACTORED

SIDE: Final = 16  # rows of a matrix at most
LANES: Final = 32  # columns at most of what a wave has of a matrix: every target's has as many lanes
_U32, _U64 = dtypes.uint32, dtypes.uint64
_LAYOUT: Final = (scalar("num_dims"), source("info", _U64, nullable=True))


def _spec(symbol: str, instance: str, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(symbol, "small", (scalar("count", _U32), *_LAYOUT, *parameters), instance)


def _sizes(*names: str) -> Iterator[Parameter]:
    return (scalar(name, _U32) for name in names)


def _solve(t: DType) -> KernelSpec:
    part = dtypes.part_of(t)
    results = (result(name, t, nullable=True) for name in ("x", "det", "sign"))
    return _spec(
        f"solve_{t.short}", f"SOLVE({t.short})", *_sizes("bits", "n", "columns"),
        *map(scalar, ("a_row", "a_column", "b_row", "b_column")), source("a", t), source("b", t, nullable=True),
        *results, result("log_size", part, nullable=True), Parameter("status", "inout", _U64, nullable=True),
    )  # fmt: skip


def _qr(t: DType) -> KernelSpec:
    return _spec(
        f"small_qr_{t.short}", f"QR({t.short})", *_sizes("bits", "rows", "columns", "kept"), scalar("a_row"),
        scalar("a_column"), source("a", t), result("q", t), result("r", t),
    )  # fmt: skip


def _svd(t: DType) -> KernelSpec:
    part, vectors = dtypes.part_of(t), (result(name, t, nullable=True) for name in ("left", "right", "inverse"))
    return _spec(
        f"small_svd_{t.short}", f"SVD({t.short})", *_sizes("bits", "rows", "columns", "kept"), scalar("a_row"),
        scalar("a_column"), scalar("rtol", dtypes.float64), source("a", t),
        result("values", part, nullable=True), *vectors, result("above", _U64, nullable=True), *_sizes("sides"),
        scalar("b_row"), scalar("b_column"), source("b", t, nullable=True), result("x", t, nullable=True),
        result("rest", part, nullable=True), result("condition", part, nullable=True),
        scalar("inverted", dtypes.bool_), Parameter("status", "inout", _U64),
    )  # fmt: skip


_EIG: Final = _spec(
    "small_eig", "EIG(small_eig)", *_sizes("type", "n"), scalar("a_row"), scalar("a_column"),
    source("a", dtypes.uint8), result("values", dtypes.uint8), result("vectors", dtypes.uint8, nullable=True),
    Parameter("status", "inout", _U64),
)  # fmt: skip


def _cross(t: DType) -> KernelSpec:
    parameters = (
        scalar("numel"), *_LAYOUT, scalar("a_step"), scalar("b_step"), source("a", t), source("b", t), result("out", t),
    )  # fmt: skip
    return KernelSpec(f"cross_{t.short}", "small", parameters, f"CROSS({t.short})")


FAMILY: Final = Family(
    "small",
    "linear algebra of few elements in one launch each",
    (*map(_solve, FACTORED), *map(_qr, FACTORED), *map(_svd, FACTORED), _EIG, *map(_cross, FACTORED)),
)
