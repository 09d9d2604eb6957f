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
from rocmkern.errors import ArgumentError, ArgumentLayoutError, ArgumentRangeError, ClosedError, CodeObjectError
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
    @property
    def counts(self) -> tuple[str, ...]: ...
    @property
    def strided(self) -> bool: ...
    @property
    def role(self) -> str: ...


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
_KEPT_KINDS: Final = 1024
_BYTES: Final = ("char*", "uchar*")  # which point to anything

# Names of parameters that tell strides: an array of them, or a number of elements by value.
_TELL_STRIDES: Final = ("info", "step", "_col", "_column", "_stride")

Convert = Callable[[Any, Sequence[Any]], Any]  # a value, of all the arguments


@frozen
class Extent:
    """By which arguments, as numbers, a kernel is told of the memory behind a pointer."""

    counts: tuple[int, ...] = ()  # whose product is the number of elements
    strides: tuple[int, ...] = ()  # not told where all of them are None
    is_read: bool = False  # so that strides may repeat what there is

    def follows_strides(self, args: Sequence[Any]) -> bool:
        return any(args[i] is not None for i in self.strides)


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
    usual: type | None = None  # of values that are packed as they are

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
    usuals: tuple[type | None, ...]
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
            return self.pack_values(
                *[
                    value if value.__class__ is usual else convert(value, args)
                    for value, usual, convert in zip(args, self.usuals, self.converts, strict=True)
                ]
            )
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
        errors = (self._error(slot, value, args) for slot, value in zip(self.slots, args, strict=True))
        return next((error for error in errors if error is not None), None)

    def _error(self, slot: Slot, value: Any, args: Sequence[Any]) -> Exception | None:
        try:
            struct.pack(f"<{slot.format}", slot.convert(value, args))
        except ArgumentError as error:
            return error
        except TypeError:  # a count that is no number, which its own slot tells
            return None
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
    extents = _extents(parameters) if parameters is not None else (Extent(),) * len(arguments)
    slots = []
    layout, position = "<", 0
    for index, argument in enumerate(arguments):
        parameter = parameters[index] if parameters is not None else None
        slot = _slot(kernel.name, index, argument, parameter, extents[index], driver)
        if argument.offset < position:
            raise CodeObjectError(f"launch {kernel.name}: argument {index} at byte {argument.offset} overlaps another")
        layout += f"{argument.offset - position}x{slot.format}"
        position = argument.end
        slots.append(slot)
    # HIP refuses a block for a kernel that has only hidden arguments.
    size = max(kernel.block_bytes, position) if arguments else 0
    packing = struct.Struct(f"{layout}{size - position}x")
    usuals, converts = tuple(s.usual for s in slots), tuple(s.convert for s in slots)
    return Packer(kernel.name, driver, tuple(slots), usuals, converts, packing.pack, size)


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


def _extents(parameters: Sequence[Parameter]) -> tuple[Extent, ...]:
    names = [p.name for p in parameters]
    told = tuple(i for i, name in enumerate(names) if name.endswith(_TELL_STRIDES))
    return tuple(
        Extent(tuple(map(names.index, p.counts)), told if p.strided else (), p.role == "in") for p in parameters
    )


def _slot(
    kernel: str, index: int, argument: Argument, parameter: Parameter | None, extent: Extent, driver: Driver
) -> Slot:
    name = parameter.name if parameter is not None else argument.name
    label = f"launch {kernel}: argument {index}" + (f" ({name})" if name else "")
    dtype = parameter.dtype if parameter is not None else None
    nullable = parameter.nullable if parameter is not None else True
    if argument.is_pointer and argument.size == _POINTER_BYTES:
        if dtype is None and argument.type_name not in _BYTES:
            dtype = BY_SHORT.get(_TYPE_NAMES.get((argument.type_name or "").removesuffix("*"), ""))
        convert = _pointer(label, dtype, nullable, extent, driver)
        return Slot(index, argument, name, dtype, nullable, "Q", convert)
    if dtype is None and argument.type_name in _TYPE_NAMES:
        named = BY_SHORT[_TYPE_NAMES[argument.type_name]]
        dtype = named if named.itemsize == argument.size else None
    if dtype is None:
        return Slot(index, argument, name, None, False, f"{argument.size}s", _sized(label, argument.size, driver))
    return Slot(index, argument, name, dtype, False, _FORMATS[dtype.short], _scalar(label, dtype), _usual(dtype))


def _pointer(label: str, dtype: DType | None, nullable: bool, extent: Extent, driver: Driver) -> Convert:
    counts, itemsize = extent.counts, dtype.itemsize if dtype is not None else 1
    fitting = set[tuple[object, int]]()  # kinds of tensors, and the bytes that they were found to have

    def address(value: Any, args: Sequence[Any]) -> int:
        if value is None and nullable:
            return 0
        needed = itemsize if counts else 0
        for i in counts:
            needed *= args[i]
        if (getattr(value, "kind", None), needed) in fitting:
            place: int = value.address
            return place
        found = _address(label, value, dtype, driver)
        if _check_extent(label, value, needed, extent.follows_strides(args), extent.is_read):
            if len(fitting) >= _KEPT_KINDS:
                fitting.clear()
            fitting.add((value.kind, needed))
        return found

    def memory(value: Any, args: Sequence[Any]) -> int:
        if value.__class__ is DeviceMemory and value.driver is driver and value.live_address:
            live: int = value.live_address
            return live
        return address(value, args)

    def counted(value: Any, args: Sequence[Any]) -> int:
        if value.__class__ is DeviceMemory and value.driver is driver and value.nbytes >= args[count] * itemsize:
            live: int = value.live_address
            return live or address(value, args)
        return address(value, args)

    count = counts[0] if counts else 0
    return (memory, counted, address)[min(len(counts), 2)]


def _check_extent(label: str, value: Any, needed: int, follows_strides: bool, is_read: bool) -> bool:
    """Whether `value` is a tensor without gaps that has the bytes that are needed.

    Raises ArgumentLayoutError for strides that the kernel does not follow, and for less memory than it is told of.
    """
    layout, held = getattr(value, "layout", None), getattr(value, "nbytes", needed)
    if follows_strides and isinstance(value, Pointer):  # negative ones lead back from it
        held = value.memory.nbytes
    if layout is not None and not (follows_strides or layout.is_contiguous):
        raise ArgumentLayoutError(
            f"{label} has shape {layout.shape} and strides {layout.strides}, of which the kernel is told nothing; "
            "pass rocmkern.contiguous() of it, or its .data to have the memory as it lies"
        )
    if held < needed and not (follows_strides and is_read):
        raise ArgumentLayoutError(f"{label} has {held} bytes, the kernel is told of {needed}; pass larger memory")
    return layout is not None and layout.is_contiguous and held >= needed


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
        raise ArgumentError(
            f"{label} points to {held}, {dtype} was wanted; cast it first, or pass its .data to have the bits taken"
        )
    # A tensor on another library's memory, and a place in it, know their device themselves.
    device = memory.device if isinstance(memory, DeviceMemory) else value.device
    if device._driver is not driver:
        raise ArgumentError(
            f"{label} is memory of {device.name}, the kernel is on {driver.info.name}; copy it there first"
        )
    if isinstance(memory, DeviceMemory) and memory.is_closed:
        raise ClosedError(f"{label} is freed memory ({memory.nbytes} bytes); allocate it again")
    return int(value.address)


def _usual(dtype: DType) -> type | None:
    """The Python numbers that `struct` packs for a dtype, range-checked."""
    if _FORMATS[dtype.short].endswith("s"):
        return None
    return {"bool": bool, "float": float}.get(dtype.kind, int)


def _scalar(label: str, dtype: DType) -> Convert:
    """Python numbers, range-checked when packed; NumPy scalars only of the parameter's own dtype."""

    def convert(value: Any, args: Sequence[Any]) -> Any:
        return _number(label, dtype, value)

    def convert_encoded(value: Any, args: Sequence[Any]) -> bytes:
        return _encode(dtype, value if value.__class__ is float else _number(label, dtype, value))

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

    def convert(value: Any, args: Sequence[Any]) -> bytes:
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
