"""One row per element type. The short name is what kernel symbols end in (`affine_f32`)."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import ml_dtypes
import numpy as np
from attrs import field, frozen

from rocmkern.errors import DTypeError

Kind = Literal["bool", "unsigned", "signed", "float", "complex"]


@frozen(eq=False, repr=False)
class DType:
    """An element type: `name` is the array API's (`float32`), `short` the kernels' (`f32`).

    It equals what `dtype` makes it of: its names, NumPy's dtype and scalar type.
    """

    name: str
    short: str
    kind: Kind
    itemsize: int
    numpy: np.dtype[Any] = field(converter=np.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's, by the name under which NumPy looks for it: `np.zeros(3, rocmkern.float32)`."""
        return self.numpy

    @property
    def type(self) -> Any:
        """NumPy's scalar type, as its dtypes have it."""
        return self.numpy.type

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        return self.kind == "complex"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def bits(self) -> int:
        return self.itemsize * 8

    @property
    def nonzero_bits(self) -> int:
        """The bits of which a value other than zero has one set: all but the sign of a float, of each part of a complex
        number.
        """
        if self.is_complex:
            part = part_of(self)
            return (part.nonzero_bits << part.bits) | part.nonzero_bits
        return (1 << (self.bits - self.is_float)) - 1

    def __eq__(self, other: object) -> bool:
        if other.__class__ is DType:
            return self is other
        if not isinstance(other, str | np.dtype | type):
            return NotImplemented
        try:
            return dtype(other) is self
        except DTypeError:
            return False

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"rocmkern.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.short,))


DTypeLike: TypeAlias = "DType | str | np.dtype[Any] | type[Any]"

bool_: Final = DType("bool", "bool", "bool", 1, np.bool_)
uint8: Final = DType("uint8", "u8", "unsigned", 1, np.uint8)
uint16: Final = DType("uint16", "u16", "unsigned", 2, np.uint16)
uint32: Final = DType("uint32", "u32", "unsigned", 4, np.uint32)
uint64: Final = DType("uint64", "u64", "unsigned", 8, np.uint64)
int8: Final = DType("int8", "i8", "signed", 1, np.int8)
int16: Final = DType("int16", "i16", "signed", 2, np.int16)
int32: Final = DType("int32", "i32", "signed", 4, np.int32)
int64: Final = DType("int64", "i64", "signed", 8, np.int64)
float8_e4m3: Final = DType("float8_e4m3", "f8_e4m3", "float", 1, ml_dtypes.float8_e4m3fn)
float16: Final = DType("float16", "f16", "float", 2, np.float16)
bfloat16: Final = DType("bfloat16", "bf16", "float", 2, ml_dtypes.bfloat16)
float32: Final = DType("float32", "f32", "float", 4, np.float32)
float64: Final = DType("float64", "f64", "float", 8, np.float64)

complex64: Final = DType("complex64", "c64", "complex", 8, np.complex64)
complex128: Final = DType("complex128", "c128", "complex", 16, np.complex128)

REAL: Final[tuple[DType, ...]] = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
    float8_e4m3, float16, bfloat16, float32, float64,
)  # fmt: skip
COMPLEX: Final[tuple[DType, ...]] = (complex64, complex128)
ALL: Final[tuple[DType, ...]] = REAL + COMPLEX
BY_SHORT: Final[dict[str, DType]] = {d.short: d for d in ALL}
BY_NAME: Final[dict[str, DType]] = {d.name: d for d in ALL}
_BY_NUMPY: Final[dict[np.dtype[Any], DType]] = {d.numpy: d for d in ALL}


def part_of(dtype: DType) -> DType:
    """The dtype of a complex number's parts; of another dtype itself."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def _named(short: str) -> DType:
    return BY_SHORT[short]


def dtype(spec: object) -> DType:
    """The DType of a DType, a name (`"float32"` or `"f32"`), a NumPy dtype or scalar type.

    Raises DTypeError (a TypeError) for anything the kernels have no element type for.
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str):
        found = BY_SHORT.get(spec) or BY_NAME.get(spec)
        if found is not None:
            return found
    try:
        if spec is not None:  # which NumPy takes for float64
            return _BY_NUMPY[np.dtype(spec)]  # type: ignore[call-overload]  # raises for what it does not know
        raise KeyError
    except (KeyError, TypeError, ValueError):
        names = ", ".join(d.name for d in ALL)
        raise DTypeError(f"dtype: {spec!r} is no element type here; use one of {names}") from None
