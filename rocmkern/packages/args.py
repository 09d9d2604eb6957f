"""Argument blocks of foreign kernels: declared once by name, dtype and unit; laid out by a packing; checked against the
file before a launch.
"""

from __future__ import annotations

from enum import Enum
from itertools import zip_longest
from typing import Any, ClassVar, Final

import attrs
from attrs import define, frozen

from rocmkern.codeobject import Argument, Kernel
from rocmkern.dtypes import DType
from rocmkern.errors import ArgumentError
from rocmkern.kernels.catalogue import Parameter
from rocmkern.runtime import Function
from rocmkern.runtime.arguments import packer

_POINTER_BYTES: Final = 8
_LAST_SLOT: Final = 16  # a file may fill its last slot, whole or in part, or end with its last argument


class Packing(Enum):
    """How arguments follow each other. The value is the size of a slot; 0 aligns each to its own size, 1 to nothing."""

    SLOTS_16 = 16
    PACKED = 1
    NATURAL = 0

    def place(self, end: int, size: int) -> int:
        """The offset of an argument of `size` bytes behind one that ends at `end`."""
        step = self.value or size
        return -(-end // step) * step


@frozen
class Declared:
    """One argument as its class declares it. `unit` says what a number counts: elements, bytes, tokens."""

    parameter: Parameter
    unit: str
    offset: int

    @property
    def size(self) -> int:
        return _POINTER_BYTES if self.parameter.is_pointer else self.parameter.dtype.itemsize

    def __str__(self) -> str:
        p = self.parameter
        what = f"{p.dtype.short}*" if p.is_pointer else p.dtype.short
        return f"{self.offset:4} {p.name}: {what}" + (f" in {self.unit}" if self.unit else "")


def pointer(dtype: DType, *, out: bool = False, optional: bool = False) -> Any:
    """An attrs field for device memory of `dtype` elements; an optional one is None by default."""
    declared = ("out" if out else "in", dtype, "")
    return attrs.field(metadata={"argument": declared}, default=None if optional else attrs.NOTHING)


def scalar(dtype: DType, unit: str = "", default: float | None = None) -> Any:
    """An attrs field for a number by value."""
    declared = ("scalar", dtype, unit)
    return attrs.field(metadata={"argument": declared}, default=attrs.NOTHING if default is None else default)


@define(kw_only=True, eq=False)
class KernelArgs:
    """Base of the argument classes; subclasses are attrs classes of pointer() and scalar() fields, in order."""

    packing: ClassVar[Packing] = Packing.SLOTS_16

    @classmethod
    def layout(cls) -> tuple[Declared, ...]:
        """Every argument with its offset in bytes."""
        placed: list[Declared] = []
        end = 0
        for each in attrs.fields(cls):
            role, dtype, unit = each.metadata["argument"]
            parameter = Parameter(each.name, role, dtype, nullable=each.default is None)
            one = Declared(parameter, unit, 0)
            one = attrs.evolve(one, offset=cls.packing.place(end, one.size))
            end = one.offset + one.size
            placed.append(one)
        return tuple(placed)

    @classmethod
    def nbytes(cls) -> int:
        """The size of the block; slots are counted whole."""
        end = max((d.offset + d.size for d in cls.layout()), default=0)
        return cls.packing.place(end, 1)

    @classmethod
    def describe(cls) -> str:
        """The layout as text: offset, name, type and unit of each argument."""
        lines = [f"{cls.__name__}: {cls.nbytes()} bytes, {cls.packing.name.lower()}", *map(str, cls.layout())]
        return "\n".join(lines)

    @classmethod
    def fits(cls, kernel: Kernel) -> bool:
        """Whether the file's metadata lists the same arguments at the same places, hidden ones left aside."""
        return cls.mismatch(kernel) is None

    @classmethod
    def mismatch(cls, kernel: Kernel) -> str | None:
        """The first difference between this class and the file's metadata, in words; None where there is none."""
        ours, theirs = cls.layout(), kernel.logical_arguments
        for index, (a, b) in enumerate(zip(ours, theirs, strict=False)):
            if not _agree(a, b):
                return f"argument {index} is {_theirs(b).strip()} in the file, {str(a).strip()} in {cls.__name__}"
        if len(ours) != len(theirs):
            return f"the file has {len(theirs)} arguments, {cls.__name__} {len(ours)}"
        end = max((d.offset + d.size for d in ours), default=0)
        hidden = min((a.offset for a in kernel.arguments if a.is_hidden), default=kernel.kernarg_size)
        size, most = min(kernel.kernarg_size, hidden), -(-end // _LAST_SLOT) * _LAST_SLOT
        if not end <= size <= most:
            return f"the file's arguments take {size} bytes, those of {cls.__name__} {end} to {most}"
        return None

    @classmethod
    def check(cls, kernel: Kernel) -> None:
        """Raises ArgumentError showing both layouts side by side if they differ."""
        wrong = cls.mismatch(kernel)
        if wrong is not None:
            raise ArgumentError(
                f"pack {kernel.name}: {cls.__name__} has {cls.nbytes()} bytes, the file wants {kernel.kernarg_size}: "
                f"{wrong}; take the argument class of that file's build\n{cls._side_by_side(kernel)}"
            )

    @classmethod
    def _side_by_side(cls, kernel: Kernel) -> str:
        ours, theirs = cls.layout(), kernel.logical_arguments
        rows = []
        for a, b in zip_longest(ours, theirs):
            mark = " " if a is not None and b is not None and _agree(a, b) else "≠"
            rows.append(f"{mark} {'' if a is None else str(a):36}| {'' if b is None else _theirs(b)}".rstrip())
        return "\n".join([f"  {cls.__name__:36}| file", *rows])

    def pack(self, function: Function) -> bytes:
        """The block for a launch of `function`, filled with zeros to the larger of both sizes.

        Raises ArgumentError if the file has other arguments, or a value does not fit.
        """
        self.check(function.kernel)
        layout = self.layout()
        placed = tuple(
            Argument(d.offset, d.size, "global_buffer" if d.parameter.is_pointer else "by_value", d.parameter.name)
            for d in layout
        )
        kernel = attrs.evolve(
            function.kernel, arguments=placed, kernarg_size=max(self.nbytes(), function.kernel.block_bytes)
        )
        values = [getattr(self, d.parameter.name) for d in layout]
        return packer(kernel, [d.parameter for d in layout], function.driver).pack(values)


def _agree(ours: Declared, theirs: Argument) -> bool:
    return (ours.offset, ours.size, ours.parameter.is_pointer) == (theirs.offset, theirs.size, theirs.is_pointer)


def _theirs(argument: Argument) -> str:
    what = "pointer" if argument.is_pointer else f"{argument.size} bytes"
    return f"{argument.offset:4} {argument.name or '?'}: {what}"
