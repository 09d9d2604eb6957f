"""Tensors from shapes, numbers and host data."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np

from rocmkern import default_dtypes, dlpack
from rocmkern.dtypes import DType, bool_, float64, part_of
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.engine.draft import clear, constant
from rocmkern.engine.operation import planned
from rocmkern.errors import DeviceNotFound, DriverUnavailable, DTypeError, ExchangeError, ScalarRangeError, ShapeError
from rocmkern.kernels import plans
from rocmkern.layout import Layout, Shape, broadcast_shapes, contiguous, normal_integer, normal_shape
from rocmkern.ops.casting import cast, duplicate, scalar_tensor
from rocmkern.ops.elementwise import as_tensor, broadcast, one_of, real_number
from rocmkern.ops.launch import context, encode, kernel
from rocmkern.ops.launch import empty as uninitialised
from rocmkern.ops.movement import write
from rocmkern.ops.parts import part
from rocmkern.ops.rows_binary import add, floor_divide, multiply
from rocmkern.ops.rows_unary import floor
from rocmkern.promotion import Real, Scalar, check_range, check_whole, scalar_dtype
from rocmkern.rounding import nearest_of
from rocmkern.runtime import Device
from rocmkern.runtime.capturing import require_done
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.runtime.peers import copy_between
from rocmkern.runtime.symbols import require_values
from rocmkern.tensor import Foreign, Tensor

ShapeLike = int | Sequence[int]


def upload(values: np.ndarray[Any, Any], device: Device) -> Tensor:
    """A host array on a device. Raises DTypeError for an element type the kernels lack."""
    dtype = as_dtype(values.dtype.newbyteorder("="))
    host = np.ascontiguousarray(values, dtype.numpy)
    memory = device.alloc(host.nbytes)
    if host.nbytes:
        memory.copy_from_host(host)
    constant(memory)
    return Tensor(memory, dtype, contiguous(values.shape), device)


def asarray(
    obj: object, /, dtype: DType | None = None, *, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """A tensor of numbers, nested sequences of numbers, a host array, a DLPack exporter or another tensor.

    Python floats become float32, complex numbers complex64, integers int64. A tensor comes back as it is unless dtype,
    device or `copy=True` asks for another. Raises ValueError where `copy=False` can't be kept.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Tensor):
        return _from_tensor(obj, wanted, device, copy)
    if hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray | np.generic):
        return _from_tensor(from_dlpack(obj, device=device, copy=copy), wanted, device, None)
    if copy is False:
        raise ExchangeError("asarray: host memory can't become a tensor without a copy; leave copy out")
    values = _host_values(obj, wanted)
    result = upload(values, open_device(device))
    return result if wanted is None else cast(result, wanted)


def _from_tensor(x: Tensor, dtype: DType | None, device: DeviceLike, copy: bool | None) -> Tensor:
    target = x.device if device is None else open_device(device)
    moves = target.driver is not x.device.driver
    casts = dtype is not None and dtype is not x.dtype
    if copy is False and (moves or casts):
        raise ExchangeError("asarray: another dtype or device takes a copy; leave copy out")
    result = _moved(x, target) if moves else x
    if dtype is not None and casts:
        return cast(result, dtype)
    return duplicate(x) if copy and not moves else result


def _moved(x: Tensor, target: Device) -> Tensor:
    """The elements on another device, one after the other."""
    require_values(x.memory)
    require_done("to")
    source = x if x.layout.is_contiguous else duplicate(x)
    result = uninitialised(x.shape, x.dtype, target)
    copy_between(target, result.address, x.device, source.address, source.nbytes, source.memory)
    x.device.settle()
    return result


def _host_values(obj: object, dtype: DType | None) -> np.ndarray[Any, Any]:
    """Host data as an array of an element type that exists here."""
    if isinstance(obj, np.ndarray | np.generic | memoryview | bytearray | array):
        return np.asarray(obj)
    try:
        values = np.asarray(obj)
    except ValueError as error:
        raise ShapeError(f"asarray: {error}") from None
    except TypeError as error:
        raise DTypeError(f"asarray: {error}") from None
    except OverflowError as error:
        raise OverflowError(f"asarray: {error}") from None
    if values.dtype.kind not in "biufc" or (values.dtype.kind == "u" and not hasattr(obj, "dtype")):
        return _ranged(obj, values, dtype)
    if values.dtype == np.float64 and (np.abs(values) >= 2.0**63).any():
        exact = np.asarray(obj, object)  # NumPy makes floats of integers on both sides of 2^63
        if all(isinstance(v, int) for v in exact.reshape(-1).tolist()):
            return _ranged(obj, exact, dtype)
    if values.dtype == np.float64 and dtype is None:
        return nearest_of(values, default_dtypes.floating())
    if values.dtype == np.complex128 and dtype is None:
        with np.errstate(over="ignore"):
            return values.astype(default_dtypes.complex_number().numpy)
    if dtype is not None and dtype.is_integer and values.dtype.kind in "if" and values.size:
        for end in (values.min(), values.max()):
            check_whole(end.item(), dtype, "asarray")
    return values


def _ranged(obj: object, values: np.ndarray[Any, Any], dtype: DType | None) -> np.ndarray[Any, Any]:
    """Integers beyond int64, which NumPy makes uint64 or objects of; or no numbers at all."""
    flat = values.reshape(-1).tolist()
    if not all(isinstance(v, int) for v in flat):
        raise DTypeError(f"asarray: {type(obj).__name__} of {values.dtype}; use numbers of bool, int, float or complex")
    for v in flat:
        check_range(v, dtype or default_dtypes.INTEGER, "asarray")
    return values.astype((dtype or default_dtypes.INTEGER).numpy)


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor of another library's memory: shared where this device can address it, else copied. Without `device` it
    is on the GPU where the memory is, or on the default device for the host's.

    Raises ExchangeError (a BufferError) where `copy=False` can't be kept.
    """
    if isinstance(x, Tensor):
        return _from_tensor(x, None, device, copy)
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__; use asarray")
    seen = dlpack.consume(_capsule(x))
    target = open_device(device) if device is not None else _device_of(seen) or open_device(None)
    if dlpack.device_of(target.info.name) == seen.device != (dlpack.CPU, 0):
        low, high = Layout(seen.shape, seen.strides).extent()
        base = seen.address + low * seen.dtype.itemsize
        memory = Foreign(base, (high - low) * seen.dtype.itemsize, seen.owner)
        shared = Tensor(memory, seen.dtype, Layout(seen.shape, seen.strides, -low), target)
        return duplicate(shared) if copy else shared
    if seen.device[0] != dlpack.CPU and copy is not False:
        seen = _on_host(x) or seen
    if seen.device[0] != dlpack.CPU:
        raise ExchangeError(
            f"from_dlpack: memory on DLPack device {seen.device} for {target.info.name}; copy it to the CPU"
        )
    if copy is False:
        raise ExchangeError(f"from_dlpack: {target.info.name} can't address host memory; leave copy out")
    return upload(dlpack.host_array(seen), target)


def _capsule(x: Any) -> object:
    """What another library gives of memory that our default stream may use at once: it is told of that stream. Raises
    ExchangeError for what it can't give.
    """
    where = getattr(x, "__dlpack_device__", lambda: (dlpack.CPU, 0))()[0]
    stream = dlpack.DEFAULT_STREAMS.get(where)
    options = {} if stream is None else {"stream": stream}
    try:
        for asked in (options | {"max_version": dlpack.VERSION}, options):
            with suppress(TypeError):
                return x.__dlpack__(**asked)
        return x.__dlpack__()
    except BufferError as error:
        raise ExchangeError(f"from_dlpack: {type(x).__name__} refuses: {error}") from None


def _device_of(seen: dlpack.Exchange) -> Device | None:
    """The GPU whose memory it is; None for the host's, and where its driver can't be used here."""
    name = dlpack.name_of(seen.device)
    if name is None:
        return None
    try:
        return open_device(name)
    except (DriverUnavailable, DeviceNotFound):
        return None


def _on_host(x: Any) -> dlpack.Exchange | None:
    """An exporter's values in host memory; None of one that does not take them there."""
    try:
        return dlpack.consume(x.__dlpack__(max_version=dlpack.VERSION, dl_device=(dlpack.CPU, 0)))
    except (TypeError, BufferError):
        return None


def empty(shape: ShapeLike, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """A tensor of uninitialised memory."""
    wanted = default_dtypes.floating(dtype)
    return uninitialised(normal_shape(shape, "empty"), wanted, open_device(device))


def zeros(shape: ShapeLike, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """A tensor of zeros, by default float32."""
    wanted = default_dtypes.floating(dtype)
    result = uninitialised(normal_shape(shape, "zeros"), wanted, open_device(device))
    if result.size:
        clear(result)
    return result


def ones(shape: ShapeLike, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """A tensor of ones, by default float32."""
    return full(normal_shape(shape, "ones"), 1, dtype=default_dtypes.floating(dtype), device=device)


def full(
    shape: ShapeLike, fill_value: Scalar | Tensor, dtype: DType | None = None, *, device: DeviceLike = None
) -> Tensor:
    """A tensor of one number; its dtype is the number's by default: of Python's bool, int64, float32 or complex64.

    Raises DTypeError for a number of a kind that the dtype can't hold, ScalarRangeError beyond an integer's range.
    """
    own = fill_value.dtype if isinstance(fill_value, Tensor) else scalar_dtype(fill_value, "full")
    if isinstance(fill_value, Tensor | np.generic):
        fill_value = fill_value.item()
    wanted = own if dtype is None else as_dtype(dtype)
    if isinstance(fill_value, float) and not (wanted.is_float or wanted.is_complex):
        raise DTypeError(f"full: {fill_value!r} for dtype {wanted}; use an integer or a float dtype")
    check_range(fill_value, wanted, "full")
    if wanted.is_complex:
        one = scalar_tensor(fill_value, wanted, open_device(device))
        return duplicate(broadcast(one, normal_shape(shape, "full")))
    if isinstance(fill_value, complex):
        raise DTypeError(f"full: {fill_value!r} for dtype {wanted}; use a complex dtype")
    return _filled(open_device(device), normal_shape(shape, "full"), fill_value, wanted)


@planned
def _filled(device: Device, shape: Shape, value: Real, dtype: DType) -> Tensor:
    result = uninitialised(shape, dtype, device)
    if result.size:
        short = "u8" if dtype is bool_ else dtype.short
        encoded, here = encode(bool(value) if dtype is bool_ else value, dtype), context(device)
        plan = here.plan(plans.elementwise, result.size, (dtype.itemsize,))
        here.kernel(device, f"fill_{short}").run(plan, result.address, encoded, result.size)
    return result


def empty_like(x: Tensor, /, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """Uninitialised memory in the shape of `x`."""
    return empty(as_tensor("empty_like", x).shape, **_like(x, dtype, device))


def zeros_like(x: Tensor, /, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """Zeros in the shape of `x`."""
    return zeros(as_tensor("zeros_like", x).shape, **_like(x, dtype, device))


def ones_like(x: Tensor, /, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """Ones in the shape of `x`."""
    return ones(as_tensor("ones_like", x).shape, **_like(x, dtype, device))


def full_like(x: Tensor, /, fill_value: Scalar, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """One number in the shape of `x`."""
    return full(as_tensor("full_like", x).shape, fill_value, **_like(x, dtype, device))


class _Place(TypedDict):
    dtype: DType
    device: DeviceLike


def _like(x: Tensor, dtype: DType | None, device: DeviceLike) -> _Place:
    """What was asked for, else what the tensor has."""
    return {"dtype": x.dtype if dtype is None else dtype, "device": x.device if device is None else device}


def _ramp(numel: int, start: Real, step: Real, stop: Real, dtype: DType, device: DeviceLike) -> Tensor:
    """`numel` numbers from start to stop, both met exactly."""
    result = uninitialised((numel,), dtype, open_device(device))
    if numel:
        number = float if dtype.is_float else _wrapped
        kernel(result.device, f"ramp_{dtype.short}")(
            numel, numel, number(start), number(step), number(stop), result.address
        )
    return result


def _wrapped(value: Real) -> int:
    """An integer as the kernels' int64; uint64 beyond it keeps its bits."""
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    dtype: DType | None = None,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Numbers from start up to but without stop: int64 for integers, else float32. Raises ShapeError for step 0."""
    if dtype is not None and as_dtype(dtype).is_complex:
        return cast(arange(start, stop, step, dtype=part_of(as_dtype(dtype)), device=device), as_dtype(dtype))
    first, end = (0, start) if stop is None else (start, stop)
    low, high, by = (real_number("arange", v, w) for v, w in ((first, "start"), (end, "stop"), (step, "step")))
    if by == 0:
        raise ShapeError("arange: step 0 never arrives; use another")
    if isinstance(low, int) and isinstance(high, int) and isinstance(by, int):
        integers, count = True, max(0, -((low - high) // by))
    else:
        integers, steps = False, (high - low) / by
        if not math.isfinite(steps):
            raise ShapeError(f"arange: from {low} to {high} by {by} there is no end of numbers; use finite ones")
        count = max(0, math.ceil(steps))
    wanted = (default_dtypes.INTEGER if integers else default_dtypes.floating()) if dtype is None else as_dtype(dtype)
    if wanted is bool_:
        raise DTypeError("arange: dtype bool; use a number dtype")
    last = low + by * max(count - 1, 0)
    for end in (low, last) if count else ():
        check_range(int(end) if wanted.is_integer else end, wanted, "arange")
    if not integers and wanted.is_integer:
        return cast(_ramp(count, low, by, last, float64, device), wanted)
    return _ramp(count, low, by, last, wanted, device)


def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int = 50,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` evenly spaced numbers from start to stop, the last being stop unless `endpoint=False`; by default float32,
    or complex64 where an end is complex; rounded down for an integer dtype, exactly where both ends are integers.
    """
    num = normal_integer(num, "linspace", "num")
    if num < 0:
        raise ShapeError(f"linspace: {num} numbers; use 0 or more")
    start, stop = (_end(v, w) for v, w in ((start, "start"), (stop, "stop")))
    complex_ends = isinstance(start, complex) or isinstance(stop, complex)
    wanted = default_dtypes.complex_number() if complex_ends and dtype is None else default_dtypes.floating(dtype)
    if wanted.is_integer and not (isinstance(start, complex) or isinstance(stop, complex)):
        return _rounded_down(start, stop, num, max(num - 1, 1) if endpoint else max(num, 1), wanted, device)
    if not endpoint:
        return linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]
    if wanted.is_complex:
        result, real = empty((num,), dtype=wanted, device=device), part_of(wanted)
        for which, (low, high) in enumerate(((start.real, stop.real), (start.imag, stop.imag))):
            write(linspace(low, high, num, dtype=real, device=device), part(result, which))
        return result
    if isinstance(start, complex) or isinstance(stop, complex):
        raise DTypeError(f"linspace: {start!r} to {stop!r} for dtype {wanted}; use a complex dtype")
    low, high = float(start), float(stop)
    if math.isinf(high - low) and math.isfinite(low) and math.isfinite(high):
        return linspace(low / 2, high / 2, num, dtype=wanted, device=device) * 2
    last, step = high if num > 1 else low, (high - low) / max(num - 1, 1)
    if wanted.is_float:
        return _ramp(num, low, step, last, wanted, device)
    return cast(_ramp(num, low, step, last, float64, device), wanted)


def _rounded_down(start: Real, stop: Real, num: int, parts: int, dtype: DType, device: DeviceLike) -> Tensor:
    """The integers at or below `num` evenly spaced numbers, of which `parts` steps lead from start to stop."""
    for name, end in (("start", start), ("stop", stop)):
        if not math.isfinite(end):
            raise ScalarRangeError(f"linspace: {name} {end} for {dtype}; use a finite number or a float dtype")
    first, distance = Fraction(start), Fraction(stop) - Fraction(start)
    last = first + distance * max(num - 1, 0) / parts
    for value in (first, last) if num else ():
        check_range(math.floor(value), dtype, "linspace")
    if first.denominator > 1 or distance.denominator > 1:
        return cast(floor(_ramp(num, float(first), float(distance / parts), float(last), float64, device)), dtype)
    step, rest = divmod(int(distance), parts)
    whole = _ramp(num, int(first), step, int(first) + step * (num - 1), dtype, device)
    if not rest or not num:
        return whole
    more = floor_divide(multiply(arange(num, device=whole.device), rest), parts)
    return add(whole, cast(more, dtype))


def _end(value: object, what: str) -> Real | complex:
    number = value.item() if isinstance(value, Tensor | np.generic) else value
    if isinstance(number, complex):
        return number
    check_range(real_number("linspace", number, what), float64, "linspace")
    return real_number("linspace", number, what)


def eye(
    n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: DType | None = None, device: DeviceLike = None
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    k = normal_integer(k, "eye", "k")
    rows, columns = normal_shape((n_rows, n_rows if n_cols is None else n_cols), "eye")
    result = zeros((rows, columns), dtype=dtype, device=device)
    length = min(rows - max(-k, 0), columns - max(k, 0))
    if length > 0:
        diagonal = result.view(Layout((length,), (columns + 1,), max(k, 0) + max(-k, 0) * columns))
        write(broadcast(scalar_tensor(1, result.dtype, result.device), (length,)), diagonal)
    return result


@planned
def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate tensors of one-dimensional ones; "xy" swaps the first two axes, "ij" does not."""
    one_of("meshgrid", indexing, "indexing", ("xy", "ij"))
    if any(as_tensor("meshgrid", a).ndim > 1 for a in arrays):
        raise ShapeError("meshgrid: it takes tensors of one dimension")
    if len({a.dtype for a in arrays}) > 1:
        raise DTypeError("meshgrid: the tensors differ in dtype; cast them first")
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = reversed(order[:2])
    placed: list[Tensor] = []
    for a, at in zip(arrays, order, strict=True):
        shape: Shape = tuple(a.size if i == at else 1 for i in range(len(arrays)))
        placed.append(a.reshape(shape))
    shape = broadcast_shapes(*[p.shape for p in placed])
    return tuple(duplicate(broadcast(p, shape)) for p in placed)
