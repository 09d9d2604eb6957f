"""fft: discrete Fourier transforms of lines, and the tables of roots of unity that they multiply by."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import Family, KernelSpec, Parameter, result, scalar, source


def _spec(name: str, t: DType, parameters: tuple[Parameter, ...], *arguments: str) -> KernelSpec:
    return KernelSpec(f"fft_{name}_{t.short}", "fft", parameters, f"FFT_{name.upper()}({', '.join(arguments)})")


def _lines(t: DType) -> KernelSpec:
    part = dtypes.part_of(t)  # complex elements are pairs of it
    tables = ("load_factor", "between", "store_factor", "coarse", "fine")
    parameters = (
        source("src", part), result("dst", part), source("plan", dtypes.uint64), scalar("scale", dtypes.float64),
        source("roots", t), *(source(name, t, nullable=True) for name in tables),
    )  # fmt: skip
    return _spec("lines", t, parameters, t.short, part.short)


def _sums(t: DType) -> KernelSpec:
    part = dtypes.part_of(t)
    parameters = (
        scalar("numel"), scalar("num_dims"), source("info", dtypes.uint64, nullable=True),
        source("plan", dtypes.uint64), scalar("scale", dtypes.float64), scalar("to_real", dtypes.bool_),
        *(source(name, t) for name in ("first", "second", "third")), source("src", part), result("dst", part),
    )  # fmt: skip
    return _spec("sums", t, parameters, t.short, part.short)


_TABLE: Final = dtypes.complex128
_OUT: Final = result("out", _TABLE)

FAMILY: Final = Family(
    "fft",
    "discrete Fourier transforms of lines, and their tables of roots of unity",
    (
        *map(_lines, dtypes.COMPLEX),
        *map(_sums, dtypes.COMPLEX),
        _spec("stage_roots", _TABLE, (scalar("numel"), scalar("factors"), _OUT), _TABLE.short),
        _spec("roots", _TABLE, (scalar("numel"), scalar("step"), scalar("n"), _OUT), _TABLE.short),
        _spec("chirp", _TABLE, (scalar("numel"), scalar("n"), _OUT), _TABLE.short),
    ),
)
