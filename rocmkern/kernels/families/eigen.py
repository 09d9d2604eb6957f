"""eigen: eigenvalues and singular values with their vectors."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import Family, KernelSpec, changed, result, scalar, source
from rocmkern.kernels.families.linalg import FACTORED

_U32: Final = dtypes.uint32


def _eigh(t: DType) -> KernelSpec:
    part = dtypes.part_of(t)
    parameters = (
        scalar("count"), scalar("n", _U32), source("x", t), changed("work", t), result("values", part),
        result("vectors", t, nullable=True), changed("status", dtypes.uint64),
    )  # fmt: skip
    return KernelSpec(f"eigh_{t.short}", "eigen", parameters, f"EIGH({t.short}, {part.short})")


def svd_work(t: DType) -> DType:
    """In what the columns of t are rotated."""
    return dtypes.complex128 if t.is_complex else dtypes.float64


def _svd(t: DType) -> KernelSpec:
    part, wide = dtypes.part_of(t), svd_work(t)
    parameters = (
        scalar("count"), scalar("rows", _U32), scalar("columns", _U32), scalar("kept", _U32), source("x", t),
        changed("work", wide), result("values", part), result("left", t, nullable=True),
        result("right", t, nullable=True), changed("status", dtypes.uint64),
    )  # fmt: skip
    return KernelSpec(f"svd_{t.short}", "eigen", parameters, f"SVD({t.short}, {part.short}, {wide.short})")


def _eig(t: DType) -> KernelSpec:
    parameters = (
        scalar("count"), scalar("n", _U32), scalar("real", dtypes.bool_), source("x", t), changed("work", t),
        result("values", t), result("vectors", t, nullable=True), changed("status", dtypes.uint64),
    )  # fmt: skip
    return KernelSpec(f"eig_{t.short}", "eigen", parameters, f"EIG({t.short})")


FAMILY: Final = Family(
    "eigen",
    "eigenvalues and singular values with their vectors, a workgroup for each matrix",
    (*map(_eigh, FACTORED), *map(_svd, FACTORED), _eig(dtypes.complex128)),
)
