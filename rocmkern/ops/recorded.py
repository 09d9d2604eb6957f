"""Operations that go once through Python: for operands of the same dtypes and layouts what they did is done again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from itertools import pairwise
from types import EllipsisType, NoneType
from typing import Any, Final, ParamSpec, TypeVar

from rocmkern.dtypes import DType
from rocmkern.errors import ClosedError
from rocmkern.ops import prepared
from rocmkern.ops.prepared import Key, number_key
from rocmkern.ops.recording import Recorded, Recording, thread, under_way
from rocmkern.tensor import Tensor

_P = ParamSpec("_P")
_R = TypeVar("_R")
_PLAIN: Final = frozenset((int, bool, str, NoneType, EllipsisType, DType))


def recorded(operation: Callable[_P, _R]) -> Callable[_P, _R]:
    """The operation, which must do the same for all values of its operands, whatever it finds there."""

    @wraps(operation)
    def call(*args: _P.args, **options: _P.kwargs) -> _R:
        if thread.recording is not None:
            return operation(*args, **options)
        parts: list[Any] = [operation]
        operands: list[Tensor] = []
        if not _tell(args, parts, operands):
            return operation(*args, **options)
        if options:
            parts.extend(options)
            if not _tell(options.values(), parts, operands):
                return operation(*args, **options)
        key = tuple(parts)
        found = prepared.recordings.get(key)
        if found is None:
            if key in prepared.recordings or not _are_apart(operands):
                return operation(*args, **options)
            result, made = _record(operands, lambda: operation(*args, **options))
            prepared.keep_recording(key, made)
            return result
        try:
            result = found.run(operands[0].device, [t.address for t in operands])
        except ClosedError:
            prepared.forget()
            raise
        return result

    return call


def _record(operands: list[Tensor], operation: Callable[[], _R]) -> tuple[_R, Recorded | None]:
    """Run an operation; what it did, where that can be done again."""
    extents = []
    for t in operands:
        low, high = _extent(t)
        extents.append((t.address, low, high))
    device, recording = operands[0].device, Recording(extents)
    device.defer(recording.waits)
    thread.recording = recording
    under_way.append(recording)
    try:
        result = operation()
    finally:
        thread.recording = None
        under_way.remove(recording)
        device.undefer(recording.waits)
    return result, recording.recorded(result)


def _extent(x: Tensor) -> tuple[int, int]:
    """The lowest address that the tensor touches, and one past the highest."""
    low, high = x.layout.extent()
    base = x.address - x.layout.offset * x.dtype.itemsize
    return base + low * x.dtype.itemsize, base + high * x.dtype.itemsize


def _are_apart(operands: list[Tensor]) -> bool:
    """Whether an address tells whose it is: there are operands, and two of different memory do not overlap."""
    seen: dict[int, tuple[int, int]] = {}
    for t in operands:
        low, high = _extent(t)
        start, end = seen.get(id(t.memory), (low, high))
        seen[id(t.memory)] = min(start, low), max(end, high)
    ranges = sorted(seen.values())
    return bool(ranges) and all(a[1] <= b[0] for a, b in pairwise(ranges))


def _tell(values: Iterable[Any], parts: list[Any], operands: list[Tensor]) -> bool:
    """Add what an operation may find out of arguments, values of tensors aside; False where that is not known."""
    for value in values:
        kind = value.__class__
        if kind is Tensor:
            parts.append(value._kind or value.kind)
            if operands:
                parts += _shared(value, operands)
            operands.append(value)
        elif kind in _PLAIN:
            parts += (kind, value)
        elif kind is slice:
            parts.append(slice)
            if not _tell((value.start, value.stop, value.step), parts, operands):
                return False
        elif kind is tuple or kind is list:
            parts += (kind, len(value))
            if not _tell(value, parts, operands):
                return False
        else:
            number_part: Key | None = number_key(value)
            if number_part is None:
                return False
            parts.append(number_part)
    return True


def _shared(x: Tensor, operands: list[Tensor]) -> Key:
    """Which operand has the same memory, and how far ahead it begins; nothing where none has."""
    memory = x.memory
    for number, other in enumerate(operands):
        if other.memory is memory:
            return (number, 0 if other is x else x.address - other.address)
    return ()
