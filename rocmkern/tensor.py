"""A tensor: device memory, an element type and a layout. Operators are the functions of its namespace, `rocmkern`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from attrs import define, frozen

import rocmkern
from rocmkern import dlpack, methods, numpy_calls
from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import DType, DTypeLike
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import AxesAttributeError, DTypeError, ExchangeError, ShapeError
from rocmkern.layout import Layout, Shape, contiguous, transposed
from rocmkern.promotion import Number, Scalar
from rocmkern.runtime import Device, DeviceMemory, Stream
from rocmkern.runtime.capturing import require_done
from rocmkern.runtime.memory import Pointer
from rocmkern.runtime.symbols import Symbol, require_values

Operand: TypeAlias = "Tensor | Number"
Memory: TypeAlias = "DeviceMemory | Foreign | Symbol"
_VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_EDGE: Final = 3  # entries shown at each end of an axis
_SHOWN_WHOLE: Final = 1000  # elements


@frozen
class Foreign:
    """Memory of another library at an address that stays live as long as `owner`."""

    live_address: int
    nbytes: int
    owner: object

    @property
    def address(self) -> int:
        return self.live_address


class Kind:
    """Device, dtype, shape and strides: what a launch depends on besides where its operands are. Tensors alike in them
    have the same object, which is quick to look up by.
    """

    __slots__ = ()


_kinds: Final[dict[tuple[object, ...], Kind]] = {}  # dict operations are atomic in CPython, so no lock is needed
_KEPT_KINDS: Final = 4096


def kind_of(driver: Driver, dtype: DType, layout: Layout) -> Kind:
    """The kind of tensors; another object than before once many others were asked for."""
    key = (driver, dtype, layout.shape, layout.strides)
    found = _kinds.get(key)
    if found is None:
        if len(_kinds) >= _KEPT_KINDS:
            _kinds.clear()
        found = _kinds.setdefault(key, Kind())
    return found


@define(eq=False, repr=False)
class Tensor:
    """Elements of one dtype in the memory of one device. Strides count elements; views share `memory`."""

    memory: Memory
    dtype: DType
    layout: Layout
    device: Device
    _kind: Kind | None = None

    # NumPy's functions of tensors are ours, and mixed operators, whose arrays are copied to the device.
    __array_ufunc__, __array_function__, __array_priority__ = numpy_calls.array_ufunc, numpy_calls.array_function, 10.0

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    @property
    def strides(self) -> Shape:
        return self.layout.strides

    @property
    def ndim(self) -> int:
        return len(self.layout.shape)

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.layout.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        """The device address of the first element."""
        start, offset = self.memory.live_address or self.memory.address, self.layout.offset
        return start + offset * self.dtype.itemsize if offset else start

    @property
    def data(self) -> Pointer:
        """The place of the first element: what a kernel takes where dtype, shape and strides do not count."""
        require_values(self.memory)
        return Pointer(self.memory, self.layout.offset * self.dtype.itemsize, self.device)

    @property
    def kind(self) -> Kind:
        """What of the tensor launches depend on besides its address, as one thing."""
        kind = self._kind
        if kind is None:
            kind = self._kind = kind_of(self.device._driver, self.dtype, self.layout)
        return kind

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other in row-major order."""
        return self.layout.is_contiguous

    @property
    def T(self) -> Tensor:  # noqa: N802 - the standard's name
        """The transpose of a matrix, a view. Raises AxesAttributeError for other than two dimensions."""
        if self.ndim != 2:
            raise AttributeError  # which `__getattr__` says in words
        return self.view(transposed(self.layout))

    @property
    def mT(self) -> Tensor:  # noqa: N802 - the standard's name
        """The transpose of each matrix of a stack, a view. Raises AxesAttributeError below two dimensions."""
        if self.ndim < 2:
            raise AttributeError  # which `__getattr__` says in words
        return rocmkern.matrix_transpose(self)

    def view(self, layout: Layout | DTypeLike) -> Tensor:
        """The same memory under another layout, or its bits as another dtype along the last axis, which then is longer
        or shorter. Raises ShapeError where it can't be, DTypeError (a TypeError) for anything else, such as a shape.
        """
        if layout.__class__ is Layout:
            return Tensor(self.memory, self.dtype, layout, self.device)
        if not isinstance(layout, DType | str | np.dtype | type):
            raise DTypeError(f"view: {layout!r} is no Layout and no dtype; use reshape for a shape")
        dtype = as_dtype(layout)
        return Tensor(self.memory, dtype, self.layout.of_items(self.itemsize, dtype.itemsize), self.device)

    def reshape(self, *shape: int | tuple[int, ...]) -> Tensor:
        """The elements under another shape: a view where the strides allow, else a copy."""
        return rocmkern.reshape(self, shape[0] if len(shape) == 1 else shape)  # type: ignore[arg-type]  # a tuple comes alone

    def permute(self, *axes: int | tuple[int, ...] | None) -> Tensor:
        """The axes in a new order, a view."""
        return rocmkern.permute_dims(self, axes[0] if len(axes) == 1 else axes)  # type: ignore[arg-type]  # a tuple comes alone

    def astype(self, dtype: DType, *, copy: bool = True) -> Tensor:
        """The values in another dtype."""
        return rocmkern.astype(self, dtype, copy=copy)

    def copy(self) -> Tensor:
        """A contiguous tensor of its own memory with the same values."""
        return rocmkern.copy(self)

    def to(self, place: Device | str | DType) -> Tensor:
        """The tensor on a device, or in a dtype: itself where it is so already."""
        if isinstance(place, DType):
            return rocmkern.astype(self, place, copy=False)
        return rocmkern.asarray(self, device=place)

    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """The standard's name of `to`. Raises ExchangeError for a stream: copies are ordered by the device."""
        if stream is not None:
            raise ExchangeError(f"to_device: stream {stream!r}; None is the only one supported")
        return self.to(device)

    # NumPy's methods

    sum, prod, mean, var, std = methods.sum, methods.prod, methods.mean, methods.var, methods.std
    min, max, argmin, argmax = methods.min, methods.max, methods.argmin, methods.argmax
    any, all, cumsum, cumprod = methods.any, methods.all, methods.cumsum, methods.cumprod
    transpose, swapaxes, squeeze = methods.transpose, methods.swapaxes, methods.squeeze
    ravel, flatten, repeat = methods.ravel, methods.flatten, methods.repeat
    real, imag, conj = property(methods.real), property(methods.imag), methods.conj
    clip, round, dot, take = methods.clip, methods.round, methods.dot, methods.take
    nonzero, argsort, sort, fill = methods.nonzero, methods.argsort, methods.sort, methods.fill
    tobytes = methods.tobytes

    # To the host

    def numpy(self) -> np.ndarray[Any, Any]:
        """A NumPy array with a copy of the elements."""
        require_values(self.memory)
        require_done("numpy")
        if self.device.info.unified:
            self.device.synchronize()
            if not self.layout.is_contiguous:
                return np.array(self.host_view())
        result = np.empty(self.shape, self.dtype.numpy)
        if result.size:
            source = self if self.is_contiguous else rocmkern.copy(self)
            self.device.driver.copy_to_host(result.reshape(-1).view(np.uint8).data, source.address, 0)
            self.device.settle()
        return result

    def host_view(self) -> np.ndarray[Any, Any]:
        """The memory itself as a NumPy array, on devices whose memory the host can address.

        Raises ExchangeError on others. Work in flight may still write it: synchronize first.
        """
        require_values(self.memory)
        require_done("host_view")
        low, high = self.layout.extent()
        itemsize = self.dtype.itemsize
        if low == high:
            return np.empty(self.shape, self.dtype.numpy)
        memory = self.device.driver.view(self.memory.address + low * itemsize, (high - low) * itemsize)
        if memory is None:
            raise ExchangeError(f"host_view: the host can't address the memory of {self.device.info.name}; use numpy()")
        flat = np.asarray(_Shared(memory, self.memory)).view(self.dtype.numpy)
        if self.strides == contiguous(self.shape).strides:
            return flat.reshape(self.shape)
        return np.lib.stride_tricks.as_strided(
            flat[self.layout.offset - low :], self.shape, [s * itemsize for s in self.strides]
        )

    def item(self, *place: int) -> Scalar:
        """The only element as a Python number, or the one at a place: in the flat tensor, or by its indices.

        Raises ShapeError where there are several and no place is named.
        """
        if not place:
            return self._only("item", "index it first")
        chosen = self.ravel()[place[0]] if len(place) == 1 else self[place]
        return chosen._only("item", "name a place on each axis")

    def _only(self, operation: str, remedy: str) -> Scalar:
        if self.size != 1:
            raise ShapeError(f"{operation}: {self.size} elements in shape {self.shape}, where one is wanted; {remedy}")
        value = self.numpy().reshape(())
        return float(value) if self.dtype.is_float else value.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        values = self.numpy()
        return (values.astype(np.float64) if self.dtype.is_float else values).tolist()

    def __bool__(self) -> bool:
        return bool(self._only("bool", "use any() or all()"))

    def __int__(self) -> int:
        return int(self._real_item("int"))

    def __float__(self) -> float:
        return float(self._real_item("float"))

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_integer or self.ndim:
            raise DTypeError(f"index: a {self.dtype} tensor of shape {self.shape}; it takes an integer without axes")
        return int(self._real_item("index"))

    def _real_item(self, operation: str) -> bool | int | float:
        value = self.item()
        if isinstance(value, complex):
            raise DTypeError(f"{operation}: the {self.dtype} number {value}; take its real() part")
        return value

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a tensor without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iter: a tensor without axes can't be iterated")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        return bool(rocmkern.any(rocmkern.equal(self, value))) if isinstance(value, _OPERANDS) else False

    def __repr__(self) -> str:
        whole = self.size <= _SHOWN_WHOLE
        shown = self.numpy() if whole else _corners(self, 0)
        text = np.array2string(shown, separator=", ", prefix="Tensor(", threshold=_SHOWN_WHOLE if whole else 0)
        shape = "" if whole and shown.size else f"shape={self.shape}, "
        return f"Tensor({text}, {shape}dtype={self.dtype}, device={self.device.info.name})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same to IPython and hypothesis, which print all attributes of a class that attrs made."""
        printer.text(repr(self))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and not self.shape else super().__format__(spec)

    def __reduce__(self) -> tuple[Any, ...]:
        values = self.numpy()
        return _unpickled, (values.tobytes(), self.shape, self.dtype, self.device.info.name)

    # Exchange with other libraries

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in _VERSIONS:
            raise ValueError(f"__array_namespace__: version {api_version!r}; known are {', '.join(_VERSIONS)}")
        return rocmkern

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and not self.device.info.unified:
            raise ValueError(f"__array__: memory of {self.device.info.name} can't be shared with NumPy; allow a copy")
        values = self.numpy() if copy or not self.device.info.unified else self._shared()
        return values if dtype is None else values.astype(dtype, copy=False)

    def _shared(self) -> np.ndarray[Any, Any]:
        self.device.synchronize()
        return self.host_view()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.device.info.unified or self.dtype.numpy.kind == "V":
            raise AttributeError("__array_interface__")
        return dict(self._shared().__array_interface__)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.info.unified or self.dtype.numpy.kind == "V":
            raise AttributeError("__cuda_array_interface__")
        return {
            "shape": self.shape,
            "typestr": self.dtype.numpy.str,
            "data": (self.address, False),
            "strides": None if self.is_contiguous else tuple(s * self.dtype.itemsize for s in self.strides),
            "stream": 1,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.device_of(self.device.info.name)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule that shares the memory; a copy with `copy=True`, of axes that run backwards, which other libraries
        do not take, and on the host where it can't address the memory.

        Raises ExchangeError (a BufferError) where another device, or the host without a copy, is asked for.
        """
        here = self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        if dl_device is not None and tuple(dl_device) != here:
            if tuple(dl_device) != (dlpack.CPU, 0):
                raise ExchangeError(f"__dlpack__: device {dl_device} for memory on {here}; use to() first")
            if copy is False:
                raise ExchangeError(f"__dlpack__: memory on {here} comes to the host as a copy only; leave copy out")
            values, strides = self.numpy(), contiguous(self.shape).strides
            on_host = dlpack.Exchange(values.ctypes.data, self.dtype, self.shape, strides, (dlpack.CPU, 0), values)
            return dlpack.export(on_host, versioned=versioned, copied=True)
        backwards = any(n > 1 and s < 0 for n, s in zip(self.shape, self.strides, strict=True))
        if backwards and copy is False:
            raise ExchangeError(f"__dlpack__: strides {self.strides}; DLPack's run forwards, leave copy out")
        copy = copy or backwards
        source = rocmkern.copy(self) if copy else self
        if stream is None or here[0] == dlpack.CPU:
            self.device.synchronize()
        elif stream != -1:
            Stream.from_handle(self.device, stream).wait(self.device.create_event().record())
        address = source.address
        if here[0] == dlpack.CPU and source.size:
            address = source.host_view().__array_interface__["data"][0]
        described = dlpack.Exchange(address, self.dtype, source.shape, source.strides, here, source.memory)
        return dlpack.export(described, versioned=versioned, copied=bool(copy))

    # Indexing

    def __getitem__(self, key: Any) -> Tensor:
        return rocmkern.get_item(self, key)

    def __setitem__(self, key: Any, value: Operand) -> None:
        rocmkern.set_item(self, key, value)

    # Operators

    def __add__(self, other: Operand) -> Tensor:
        return rocmkern.add(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __radd__(self, other: Operand) -> Tensor:
        return rocmkern.add(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __iadd__(self, other: Operand) -> Tensor:
        return rocmkern.add(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __sub__(self, other: Operand) -> Tensor:
        return rocmkern.subtract(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rsub__(self, other: Operand) -> Tensor:
        return rocmkern.subtract(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __isub__(self, other: Operand) -> Tensor:
        return rocmkern.subtract(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __mul__(self, other: Operand) -> Tensor:
        return rocmkern.multiply(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rmul__(self, other: Operand) -> Tensor:
        return rocmkern.multiply(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __imul__(self, other: Operand) -> Tensor:
        return rocmkern.multiply(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __truediv__(self, other: Operand) -> Tensor:
        return rocmkern.divide(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rtruediv__(self, other: Operand) -> Tensor:
        return rocmkern.divide(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __itruediv__(self, other: Operand) -> Tensor:
        return rocmkern.divide(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __floordiv__(self, other: Operand) -> Tensor:
        return rocmkern.floor_divide(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return rocmkern.floor_divide(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __ifloordiv__(self, other: Operand) -> Tensor:
        return rocmkern.floor_divide(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __mod__(self, other: Operand) -> Tensor:
        return rocmkern.remainder(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rmod__(self, other: Operand) -> Tensor:
        return rocmkern.remainder(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __imod__(self, other: Operand) -> Tensor:
        return rocmkern.remainder(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return (self // other, self % other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rdivmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return (other // self, other % self) if isinstance(other, _OPERANDS) else NotImplemented

    def __pow__(self, other: Operand) -> Tensor:
        return rocmkern.pow(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rpow__(self, other: Operand) -> Tensor:
        return rocmkern.pow(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __ipow__(self, other: Operand) -> Tensor:
        return rocmkern.pow(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __and__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_and(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rand__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_and(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __iand__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_and(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __or__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_or(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __ror__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_or(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __ior__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_or(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __xor__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_xor(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rxor__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_xor(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __ixor__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_xor(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __lshift__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_left_shift(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rlshift__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_left_shift(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __ilshift__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_left_shift(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __rshift__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_right_shift(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __rrshift__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_right_shift(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    def __irshift__(self, other: Operand) -> Tensor:
        return rocmkern.bitwise_right_shift(self, other, out=self) if isinstance(other, _OPERANDS) else NotImplemented

    def __matmul__(self, other: Tensor) -> Tensor:
        return rocmkern.matmul(self, other) if isinstance(other, _FACTORS) else NotImplemented

    def __rmatmul__(self, other: Tensor) -> Tensor:
        return rocmkern.matmul(other, self) if isinstance(other, _FACTORS) else NotImplemented

    def __imatmul__(self, other: Tensor) -> Tensor:
        return rocmkern.matmul(self, other, out=self) if isinstance(other, _FACTORS) else NotImplemented

    def __lt__(self, other: Operand) -> Tensor:
        return rocmkern.less(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __le__(self, other: Operand) -> Tensor:
        return rocmkern.less_equal(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __gt__(self, other: Operand) -> Tensor:
        return rocmkern.greater(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __ge__(self, other: Operand) -> Tensor:
        return rocmkern.greater_equal(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # by elements, as the standard has it
        return rocmkern.equal(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]  # by elements, as the standard has it
        return rocmkern.not_equal(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as for every class with `==` of its own

    def __neg__(self) -> Tensor:
        return rocmkern.negative(self)

    def __pos__(self) -> Tensor:
        return rocmkern.positive(self)

    def __abs__(self) -> Tensor:
        return rocmkern.abs(self)

    def __invert__(self) -> Tensor:
        return rocmkern.bitwise_invert(self)

    def __round__(self, digits: int | None = None) -> Tensor | int:
        if digits is None and not self.shape:
            return round(self._real_item("round"))
        return methods.round(self, digits or 0)

    def __trunc__(self) -> int:
        return math.trunc(self._real_item("trunc"))

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """What other libraries have as methods: the error says which function does it."""
            if name in _OF_MATRICES:
                raise AxesAttributeError(f"{name}: {self.ndim} dimensions; it takes {_OF_MATRICES[name]}")
            function = rocmkern._ELSEWHERE.get(name, name)
            known = function.startswith("linalg.") or function in rocmkern.__all__
            hint = f"; use rocmkern.{function}" if known else ""
            raise AttributeError(f"'Tensor' object has no attribute {name!r}{hint}")


_OF_MATRICES: Final = {"T": "2, use mT or permute_dims", "mT": "2 or more"}
# What an operator hands on; lists get our error there, which says what to do.
_OPERANDS: Final[tuple[type[Any], ...]] = (Tensor, bool, int, float, complex, np.generic, list, tuple)
_FACTORS: Final = (Tensor, list, tuple)


class _Shared:
    """Device memory as bytes for NumPy; an array made from it keeps the memory from going back to the pool."""

    def __init__(self, view: memoryview, memory: object) -> None:
        flat = np.frombuffer(view, np.uint8)
        self.__array_interface__ = flat.__array_interface__
        self.kept = (view, memory)


def _corners(x: Tensor, axis: int) -> np.ndarray[Any, Any]:
    """Both ends of every long axis: all that a shortened print shows."""
    if axis == x.ndim:
        return x.numpy()
    n = x.shape[axis]
    if n <= 2 * _EDGE + 1:
        return _corners(x, axis + 1)
    low = x.view(x.layout.narrow(axis, 0, _EDGE + 1))
    high = x.view(x.layout.narrow(axis, n - _EDGE, _EDGE))
    return np.concatenate([_corners(low, axis + 1), _corners(high, axis + 1)], axis)


def _unpickled(data: bytes, shape: Shape, dtype: DType, device: str) -> Tensor:
    values = np.frombuffer(data, dtype.numpy).reshape(shape)
    return rocmkern.asarray(values, device=device)
