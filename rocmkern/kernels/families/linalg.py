"""linalg: LU, Cholesky and QR factorizations of panels of matrices, what applies their factors, determinants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import Family, KernelSpec, Parameter, changed, result, scalar, source

PANEL: Final = 64  # columns at most of what a block factors, and equations of what it solves
THREADS: Final = 256
FACTORED: Final = (dtypes.float32, dtypes.float64, *dtypes.COMPLEX)


# Who has a matrix to themselves.
TEAMS: Final = {"": "Block", "_each": "Thread"}


def _spec(name: str, t: DType, parameters: tuple[Parameter, ...]) -> KernelSpec:
    return KernelSpec(f"{name}_{t.short}", "linalg", parameters, f"{name.upper()}({t.short})")


def _by_team(name: str, t: DType, parameters: tuple[Parameter, ...]) -> Iterator[KernelSpec]:
    for suffix, team in TEAMS.items():
        symbol = f"{name}{suffix}_{t.short}"
        yield KernelSpec(symbol, "linalg", parameters, f"{name.upper()}({symbol}, {team}, {t.short})")


def _sizes(*names: str) -> tuple[Parameter, ...]:
    return tuple(map(scalar, names))


def _flags(*names: str) -> tuple[Parameter, ...]:
    return tuple(scalar(name, dtypes.bool_) for name in names)


def _of(t: DType) -> Iterator[KernelSpec]:
    status = result("status", dtypes.uint64, nullable=True)
    pivots, real = source("pivots", dtypes.int32), dtypes.part_of(t) if t.is_complex else t
    lu = (
        *_sizes("rows", "columns", "batch", "first", "stride", "step", "pivots_step"), changed("a", t),
        result("pivots", dtypes.int32), status,
    )  # fmt: skip
    triangular = (
        *_sizes("n", "columns", "batch", "t_row", "t_column", "t_step", "x_row", "x_column", "x_step"),
        *_flags("backward", "unit", "conjugated"), source("t", t), changed("x", t),
    )  # fmt: skip
    determinant = (
        *_sizes("n", "batch"), source("lu", t), pivots, result("det", t, nullable=True),
        result("sign", t, nullable=True), result("log_size", real, nullable=True),
    )  # fmt: skip
    qr = (*_sizes("rows", "columns", "batch", "stride", "step", "tau_step"), changed("a", t), result("tau", t))
    reflect = (
        *_sizes("rows", "columns", "count", "batch", "v_stride", "v_step", "tau_step", "stride", "step"),
        *_flags("backward"), source("v", t), source("tau", t), changed("x", t),
    )  # fmt: skip
    yield from _by_team("lu", t, lu)
    yield from _by_team("cholesky", t, (*_sizes("n", "batch", "first", "stride", "step"), changed("a", t), status))
    yield from _by_team("triangular", t, triangular)
    yield from _by_team("determinant", t, determinant)
    yield from _by_team("qr", t, qr)
    yield from _by_team("reflect", t, reflect)


def _swap_rows(t: DType) -> KernelSpec:
    sizes = _sizes("columns", "gap", "gap_width", "batch", "first", "count", "stride", "step", "pivots_step")
    return _spec("swap_rows", t, (*sizes, source("pivots", dtypes.int32), changed("a", t)))


def _subtract_block(t: DType) -> KernelSpec:
    sizes = _sizes("rows", "columns", "batch", "stride", "step")
    return _spec("subtract_block", t, (*sizes, source("b", t), changed("a", t)))


FAMILY: Final = Family(
    "linalg",
    "LU, Cholesky and QR factorizations of panels of matrices, what applies their factors, determinants",
    (
        *(k for t in FACTORED for k in _of(t)),
        *map(_swap_rows, (dtypes.uint32, dtypes.uint64)),
        *map(_subtract_block, (dtypes.float32, dtypes.float64)),
    ),
)
