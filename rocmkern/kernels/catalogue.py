"""What each family exports: one row per operation, from which symbols, signatures, instances and docs derive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal

from attrs import field, frozen

from rocmkern import dtypes
from rocmkern.dtypes import DType

Role = Literal["in", "out", "inout", "scalar"]


@frozen
class Parameter:
    """One kernel parameter: a pointer to `dtype` elements (in, out, inout) or a scalar of `dtype` by value.

    `counts` are the scalars whose product is how many elements a pointer leads to, for those that know; `strided` says
    whether the kernel follows strides there where others of its parameters tell them.
    """

    name: str
    role: Role
    dtype: DType
    nullable: bool = False
    counts: tuple[str, ...] = ()
    strided: bool = True

    @property
    def is_pointer(self) -> bool:
        return self.role != "scalar"


def scalar(name: str, dtype: DType = dtypes.uint64) -> Parameter:
    return Parameter(name, "scalar", dtype)


def source(name: str, dtype: DType, *counts: str, nullable: bool = False) -> Parameter:
    return Parameter(name, "in", dtype, nullable, counts)


def result(name: str, dtype: DType, *counts: str, nullable: bool = False, strided: bool = False) -> Parameter:
    return Parameter(name, "out", dtype, nullable, counts, strided)


def changed(name: str, dtype: DType) -> Parameter:
    return Parameter(name, "inout", dtype)


def by_size(types: Iterable[DType]) -> tuple[DType, ...]:
    """The types in order of size: kernels that share code stand side by side, where compression finds them."""
    return tuple(sorted(types, key=lambda t: t.itemsize))


def bits_type(t: DType) -> DType:
    """The unsigned integer of the size of `t`, as which kernels move elements bit for bit."""
    return next(d for d in dtypes.REAL if d.kind == "unsigned" and d.itemsize == t.itemsize)


def bits_name(t: DType) -> str:
    return bits_type(t).short


# How Candle's elementwise kernels begin: `info` holds dims, then strides per operand; null means contiguous.
LAYOUT: Final[tuple[Parameter, ...]] = (
    scalar("numel"),
    scalar("num_dims"),
    source("info", dtypes.uint64, nullable=True),
)

FLOATS: Final[tuple[DType, ...]] = (
    dtypes.float8_e4m3, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64,
)  # fmt: skip
INTEGERS: Final[tuple[DType, ...]] = tuple(d for d in dtypes.REAL if d.is_integer)
SIGNED: Final[tuple[DType, ...]] = tuple(d for d in dtypes.REAL if d.kind == "signed")
NUMBERS: Final[tuple[DType, ...]] = INTEGERS + FLOATS


@frozen
class KernelSpec:
    """One exported kernel: its symbol, its family, its parameters in order, and the instance line that makes it."""

    symbol: str
    family: str
    parameters: tuple[Parameter, ...]
    instance: str  # `MACRO(arguments)` as rendered into kernels_hip/instances/<family>.inc


@frozen
class Family:
    """A `.hip` file and the kernels it exports, in the order of its instances."""

    name: str
    sentence: str
    kernels: tuple[KernelSpec, ...]
    by_symbol: dict[str, KernelSpec] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        table = {k.symbol: k for k in self.kernels}
        if len(table) != len(self.kernels):
            twice = sorted(symbol for symbol, count in Counter(k.symbol for k in self.kernels).items() if count > 1)
            raise ValueError(f"family {self.name}: symbols declared twice: {', '.join(twice)}")
        object.__setattr__(self, "by_symbol", table)


FAMILY_NAMES: Final[tuple[str, ...]] = (
    "affine", "fill", "binary", "unary", "ternary", "special", "cast", "indexing", "fused", "reduce", "sort", "conv",
    "matmul", "quantized",
    "array", "complex", "fft", "linalg", "eigen", "small", "random", "statistics", "series",
)  # fmt: skip
