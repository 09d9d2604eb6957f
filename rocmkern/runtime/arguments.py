"""From Python arguments to the packed argument block, checked against the code object's metadata.

A kernel whose parameters are known by dtype (ours, or a foreign one that was declared) takes Python numbers; of any
other the metadata tells sizes only, so scalars must bring their own: `numpy.float32(2)`.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from attrs import frozen

from rocmkern.codeobject import Argument, Kernel
from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import BY_SHORT, DType
from rocmkern.errors import ArgumentError, ArgumentRangeError, ClosedError, CodeObjectError
from rocmkern.rounding import nearest, widened
from rocmkern.runtime.memory import DeviceMemory, Pointer


class Parameter(Protocol):
    """What a signature says about one parameter."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def is_pointer(self) -> bool: ...


_POINTER_BYTES: Final = 8
_FORMATS: Final[dict[str, str]] = {
    "bool": "?", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "f16": "e", "f32": "f", "f64": "d", "bf16": "2s", "f8_e4m3": "1s",
}  # fmt: skip

# `.type_name`, which OpenCL's compiler writes and HIP's does not; rocmkern adds it to what it compiles.
_TYPE_NAMES: Final[dict[str, str]] = {
    "bool": "bool", "uchar": "u8", "ushort": "u16", "uint": "u32", "ulong": "u64", "char": "i8", "short": "i16",
    "int": "i32", "long": "i64", "half": "f16", "float": "f32", "double": "f64", "__hip_bfloat16": "bf16",
}  # fmt: skip
_BYTES: Final = ("char*", "uchar*")  # which point to anything

Convert = Callable[[Any], Any]


@frozen
class Slot:
    """One logical argument: where it lies in the block, how its value is converted and packed."""

    index: int
    argument: Argument
    name: str | None
    dtype: DType | None
    nullable: bool
    format: str
    convert: Convert

    @property
    def label(self) -> str:
        name = self.name or self.argument.name
        return f"argument {self.index}" + (f" ({name})" if name else "")


@frozen
class Packer:
    """Packs the arguments of one kernel on one device into the bytes of its argument block."""

    kernel: str
    driver: Driver
    slots: tuple[Slot, ...]
    converts: tuple[Convert, ...]
    pack_values: Callable[..., bytes]
    nbytes: int

    def pack(self, args: Sequence[Any]) -> bytes:
        """The argument block. Raises ArgumentError naming the argument, what came and what was wanted."""
        if len(args) != len(self.converts):
            raise ArgumentError(
                f"launch {self.kernel}: {len(args)} arguments came, {len(self.converts)} are wanted; {self.signature()}"
            )
        try:
            return self.pack_values(*[convert(value) for convert, value in zip(self.converts, args, strict=True)])
        except (struct.error, OverflowError, TypeError) as error:
            raise self._explain(args) or error from None

    def in_order(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
        """The positional arguments, followed by the named ones at their places.

        Raises ArgumentError for names that are unknown, missing or given twice.
        """
        if not named:
            return tuple(args)
        names = [slot.name for slot in self.slots]
        rest = names[len(args) :]
        for what, wrong in (
            ("unknown", [name for name in named if name not in names]),
            ("given twice", [name for name in named if name in names[: len(args)]]),
            ("missing", [name or "?" for name in rest if name not in named]),
            ("named twice in the file", [name for name in named if names.count(name) > 1]),
        ):
            if wrong:
                raise ArgumentError(f"launch {self.kernel}: {what}: {', '.join(wrong)}; {self.signature()}")
        return (*args, *(named[name] for name in rest if name is not None))

    def signature(self) -> str:
        """`affine_f32(numel: uint64, …)`, as the caller would write it."""
        return f"{self.kernel}({', '.join(_describe(slot) for slot in self.slots)})"

    def _explain(self, args: Sequence[Any]) -> Exception | None:
        """The error of the first argument that can't be packed."""
        errors = (self._error(slot, value) for slot, value in zip(self.slots, args, strict=True))
        return next((error for error in errors if error is not None), None)

    def _error(self, slot: Slot, value: Any) -> Exception | None:
        try:
            struct.pack(f"<{slot.format}", slot.convert(value))
        except ArgumentError as error:
            return error
        except (struct.error, OverflowError):
            return ArgumentRangeError(
                f"launch {self.kernel}: {slot.label} is {value!r}; {slot.dtype} holds {_range(slot.dtype)}"
            )
        return None


def packer(kernel: Kernel, parameters: Sequence[Parameter] | None, driver: Driver) -> Packer:
    """The packer of `kernel`, whose signature is `parameters` where known.

    Raises CodeObjectError if signature and metadata disagree: the file and the catalogue are of different builds.
    """
    arguments = kernel.logical_arguments
    if parameters is not None:
        _check_signature(kernel, parameters)
    slots = []
    layout, position = "<", 0
    for index, argument in enumerate(arguments):
        parameter = parameters[index] if parameters is not None else None
        slot = _slot(kernel.name, index, argument, parameter, driver)
        if argument.offset < position:
            raise CodeObjectError(f"launch {kernel.name}: argument {index} at byte {argument.offset} overlaps another")
        layout += f"{argument.offset - position}x{slot.format}"
        position = argument.end
        slots.append(slot)
    # HIP refuses a block for a kernel that has only hidden arguments.
    size = max(kernel.block_bytes, position) if arguments else 0
    packing = struct.Struct(f"{layout}{size - position}x")
    return Packer(kernel.name, driver, tuple(slots), tuple(s.convert for s in slots), packing.pack, size)


def _check_signature(kernel: Kernel, parameters: Sequence[Parameter]) -> None:
    arguments = kernel.logical_arguments
    if len(arguments) != len(parameters):
        raise CodeObjectError(
            f"get_function: {kernel.name} has {len(arguments)} arguments in the file, its signature {len(parameters)}; "
            "rebuild the file with `rocmkern build`"
        )
    for index, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True)):
        size = _POINTER_BYTES if parameter.is_pointer else parameter.dtype.itemsize
        if argument.size != size or argument.is_pointer != parameter.is_pointer:
            what = "a pointer" if parameter.is_pointer else f"{parameter.dtype} by value"
            raise CodeObjectError(
                f"get_function: {kernel.name}'s argument {index} ({parameter.name}) is {argument.size} bytes of kind "
                f"{argument.kind} in the file, {what} in its signature; rebuild the file with `rocmkern build`"
            )


def _slot(kernel: str, index: int, argument: Argument, parameter: Parameter | None, driver: Driver) -> Slot:
    name = parameter.name if parameter is not None else argument.name
    label = f"launch {kernel}: argument {index}" + (f" ({name})" if name else "")
    dtype = parameter.dtype if parameter is not None else None
    nullable = parameter.nullable if parameter is not None else True
    if argument.is_pointer and argument.size == _POINTER_BYTES:
        if dtype is None and argument.type_name not in _BYTES:
            dtype = BY_SHORT.get(_TYPE_NAMES.get((argument.type_name or "").removesuffix("*"), ""))
        convert = _pointer(label, dtype, nullable, driver)
        return Slot(index, argument, name, dtype, nullable, "Q", convert)
    if dtype is None and argument.type_name in _TYPE_NAMES:
        named = BY_SHORT[_TYPE_NAMES[argument.type_name]]
        dtype = named if named.itemsize == argument.size else None
    if dtype is None:
        return Slot(index, argument, name, None, False, f"{argument.size}s", _sized(label, argument.size, driver))
    return Slot(index, argument, name, dtype, False, _FORMATS[dtype.short], _scalar(label, dtype))


def _pointer(label: str, dtype: DType | None, nullable: bool, driver: Driver) -> Convert:
    def convert(value: Any) -> int:
        if value is None and nullable:
            return 0
        if value.__class__ is DeviceMemory and value.driver is driver and value.live_address:
            address: int = value.live_address
            return address
        return _address(label, value, dtype, driver)

    return convert


def _address(label: str, value: Any, dtype: DType | None, driver: Driver) -> int:
    """The address of any pointer argument, or the error that says why it is none."""
    if value is None:
        raise ArgumentError(f"{label} is None; this parameter needs device memory")
    memory: Any = value if isinstance(value, DeviceMemory) else getattr(value, "memory", None)
    if memory is None:
        raise ArgumentError(
            f"{label} is a {type(value).__name__}, a pointer was wanted; pass device memory (device.alloc) or a tensor"
        )
    held = getattr(value, "dtype", None)
    if dtype is not None and isinstance(held, DType) and held is not dtype:
        raise ArgumentError(f"{label} points to {held}, {dtype} was wanted; cast it first")
    # A tensor on another library's memory knows its device itself.
    device = memory.device if isinstance(memory, DeviceMemory) else value.device
    if device._driver is not driver:
        raise ArgumentError(
            f"{label} is memory of {device.name}, the kernel is on {driver.info.name}; copy it there first"
        )
    if isinstance(memory, DeviceMemory) and memory.is_closed:
        raise ClosedError(f"{label} is freed memory ({memory.nbytes} bytes); allocate it again")
    return int(value.address)


def _scalar(label: str, dtype: DType) -> Convert:
    """Python numbers, range-checked when packed; NumPy scalars only of the parameter's own dtype."""
    usual = float if dtype.is_float else int

    def convert(value: Any) -> Any:
        return value if value.__class__ is usual else _number(label, dtype, value)

    def convert_encoded(value: Any) -> bytes:
        return _encode(dtype, value if value.__class__ is usual else _number(label, dtype, value))

    def convert_bool(value: Any) -> Any:
        return _number(label, dtype, value)

    if dtype.kind == "bool":
        return convert_bool
    return convert_encoded if _FORMATS[dtype.short].endswith("s") else convert


def _number(label: str, dtype: DType, value: Any) -> int | float | bool:
    if isinstance(value, np.generic) and value.dtype != dtype.numpy:
        raise ArgumentError(f"{label} is a {value.dtype}, {dtype} was wanted; pass a Python number or numpy's {dtype}")
    if isinstance(value, (int, float, np.generic)):
        number = value.item() if isinstance(value, np.generic) else value
        if dtype.kind == "bool":
            return _boolean(label, number)
        if dtype.is_integer and isinstance(number, float):
            raise ArgumentError(f"{label} is the float {number!r}, {dtype} was wanted; pass an integer")
        return widened(number, dtype) if dtype.is_float else int(number)
    raise ArgumentError(f"{label} is a {type(value).__name__}, a number for {dtype} was wanted")


def _boolean(label: str, number: Any) -> bool:
    if number not in (0, 1) or isinstance(number, float):
        raise ArgumentError(f"{label} is {number!r}, bool was wanted; pass True or False")
    return bool(number)


def _encode(dtype: DType, value: float) -> bytes:
    """The bytes of a value in a format that `struct` lacks."""
    encoded = nearest(value, dtype)
    if math.isfinite(value) and not math.isfinite(float(encoded)):
        raise OverflowError
    return bytes(encoded.tobytes())


def _sized(label: str, size: int, driver: Driver) -> Convert:
    """Values that bring their own width: NumPy and ctypes scalars, bytes, and device memory for 8 bytes."""

    def convert(value: Any) -> bytes:
        if isinstance(value, (np.generic, np.ndarray)):
            data = value.tobytes()
        elif isinstance(value, (bytes, bytearray, memoryview, ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
            data = bytes(value)
        elif size == 8 and isinstance(value, (DeviceMemory, Pointer)):
            return _address(label, value, None, driver).to_bytes(8, "little")
        elif isinstance(value, (int, float)):
            raise ArgumentError(
                f"{label} is the Python {type(value).__name__} {value!r}, but the file says only that {size} bytes are "
                f"wanted; pass a sized scalar such as {_suggestion(size, value)}, or bytes"
            )
        else:
            raise ArgumentError(f"{label} is a {type(value).__name__}; pass a sized scalar or bytes of {size} bytes")
        if len(data) != size:
            raise ArgumentError(f"{label} is {len(data)} bytes wide ({type(value).__name__}), {size} are wanted")
        return data

    return convert


def _suggestion(size: int, value: float) -> str:
    kind = "float" if isinstance(value, float) and size >= 2 else "int"
    return f"numpy.{kind}{size * 8}({value!r})" if size in (1, 2, 4, 8) else "a numpy.void"


def _range(dtype: DType | None) -> str:
    if dtype is None:
        return "less"
    if dtype.is_float:
        import ml_dtypes

        largest = float(ml_dtypes.finfo(dtype.numpy).max)
        return f"finite values up to {largest:g}"
    info = np.iinfo(dtype.numpy)
    return f"{info.min} to {info.max}"


def _describe(slot: Slot) -> str:
    what = str(slot.dtype or "")
    if slot.argument.is_pointer:
        what = f"pointer to {what}" if what else "pointer"
    return f"{slot.name or f'arg{slot.index}'}: {what or f'{slot.argument.size} bytes'}"
