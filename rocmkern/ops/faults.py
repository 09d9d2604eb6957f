"""What only a kernel can find wrong: an index outside its axis, a singular matrix. The host raises the error when it
waits anyway.

No kernel follows such an index or leaves its memory for such a matrix, so what was launched in between did no harm.
"""

from __future__ import annotations

import atexit
import struct
import threading
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from attrs import define, field, frozen

from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import DType, int64
from rocmkern.errors import KernelIndexError, LinAlgError, RocmkernError
from rocmkern.ops.launch import empty, kernel, strided
from rocmkern.ops.recording import thread
from rocmkern.runtime import Device, DeviceMemory
from rocmkern.tensor import Tensor

Launched = TypeVar("Launched")
_STATUS: Final = struct.Struct("=4Q")
_STATUS_WORDS: Final = _STATUS.size // 8
_NOWHERE: Final = (1 << 64) - 1
_SLOTS: Final = 256  # checks between two waits of the host
_MORE_SLOTS: Final = 1  # for what one launch answers beyond the first


class Check(Protocol):
    """A launch whose answer the host has not seen."""

    def error(self, answer: bytes) -> RocmkernError | None:
        """What the answer says: what was wrong, or nothing."""


@frozen(eq=False)
class _CheckOfIds:
    """A launch of check_ids."""

    operation: str
    dtype: DType
    bound: int
    axis: int

    def error(self, answer: bytes) -> KernelIndexError | None:
        position, value, *_ = _STATUS.unpack(answer)
        if position == _NOWHERE:
            return None
        index = value - (1 << 64) if self.dtype.kind == "signed" and value >> 63 else value
        return KernelIndexError(
            f"{self.operation}: index {index} at position {position} on axis {self.axis} of length {self.bound}; "
            f"use {-self.bound}..{self.bound - 1}"
        )


@frozen(eq=False)
class CheckOfMatrices:
    """A factorization of matrices that must have a property."""

    operation: str
    shape: tuple[int, ...]
    lacks: str  # may name the {pivot} at which
    remedy: str

    def error(self, answer: bytes) -> LinAlgError | None:
        where, *_ = _STATUS.unpack(answer)
        if where == _NOWHERE:
            return None
        matrix, pivot = divmod(where, 1 << 32)
        which = f"matrix {matrix} of shape {self.shape}" if len(self.shape) > 2 else f"the matrix of shape {self.shape}"
        return LinAlgError(f"{self.operation}: {which} {self.lacks.format(pivot=pivot)}; {self.remedy}")


@define(eq=False)
class _Answers:
    """Where the checks of one device answer. One that found nothing leaves the first word there as it was: all bits."""

    memory: DeviceMemory
    seen: memoryview | None  # the memory itself, in words, where the host need not wait
    _first: int = field(init=False)  # address of the first answer
    lock: threading.RLock = field(init=False, factory=threading.RLock)  # held while a check is launched or read
    under_way: int = field(init=False, default=0)  # of those, checks whose launch is still to come
    _checks: list[Check] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self._first = self.memory.address

    def slot(self, check: Check, device: Device) -> int:
        """The address for the next check's answer. Raises what earlier ones found where all slots are taken."""
        if len(self._checks) >= _SLOTS and not self.under_way:
            self.settle()
        checks = self._checks
        if not checks and self.seen is None:
            device.defer(self.settle)
        checks.append(check)
        return self._first + _STATUS.size * (len(checks) - 1)

    def settle(self) -> None:
        """Raise the error of the first check that found one, after the device's work so far."""
        with self.lock:
            self.read()

    def read(self) -> None:
        """The same, for who has the lock."""
        checks = self._checks
        if not checks:
            return
        self._checks = []
        words, length = self.seen, _STATUS_WORDS * len(checks)
        if words is None:
            copy = bytearray(8 * length)
            self.memory.driver.copy_to_host(memoryview(copy), self._first, 0)
            words = memoryview(copy).cast("Q")
        for first in range(0, length, _STATUS_WORDS):
            if words[first] != _NOWHERE:
                break
        else:
            return
        answers = words[:length].tobytes()
        errors = (check.error(answers[_STATUS.size * i :][: _STATUS.size]) for i, check in enumerate(checks))
        error = next((e for e in errors if e is not None), None)
        if error is not None:
            self.memory.fill(0xFF)
            raise error


_answers: Final[dict[Driver, _Answers]] = {}
_making: Final = threading.Lock()
atexit.register(_answers.clear)  # memory goes back while the drivers still work


def _answers_of(device: Device) -> _Answers:
    found = _answers.get(device.driver)
    if found is None:
        with _making:
            found = _answers.get(device.driver)
            if found is None:
                memory = device.alloc(_STATUS.size * (_SLOTS + _MORE_SLOTS))
                memory.fill(0xFF)
                seen = memory.view().cast("Q") if answers_at_once(device) else None
                found = _answers[device.driver] = _Answers(memory, seen)
    return found


def answers_at_once(device: Device) -> bool:
    """Whether the host knows without waiting: the emulator's launches on the default stream are done on return."""
    return device.info.unified


def checked_ids(ids: Tensor, bound: int, axis: int, operation: str) -> Tensor:
    """The ids as contiguous int64, counted from the front.

    One outside `-bound..bound-1` is a KernelIndexError (an IndexError): on the emulator at once, on a GPU of the next
    call that waits for the device.
    """
    device = ids.device
    result = empty(ids.shape, int64, device)
    if not result.size:
        return result
    num_dims, info = strided(ids.shape, ids)
    check = kernel(device, f"check_ids_{ids.dtype.short}")
    under_check(
        ids, bound, axis, operation,
        lambda status: check(ids.size, ids.size, num_dims, info, ids.address, result.address, bound, status),
    )  # fmt: skip
    return result


def under_check(ids: Tensor, bound: int, axis: int, operation: str, launch: Callable[[int], Launched]) -> Launched:
    """Launch a kernel that checks ids, with the address where it answers; its error comes as that of `checked_ids`."""
    return checked(ids.device, _CheckOfIds(operation, ids.dtype, bound, axis), launch)


def checked(device: Device, check: Check, launch: Callable[[int], Launched]) -> Launched:
    """Launch what answers at the address that it is given, and raise the check's error where the host knows already."""
    answers = _answers_of(device)
    answers.lock.acquire()  # a `with` takes twice as long
    try:
        answer = answers.slot(check, device)
        if thread.recording is not None:
            thread.recording.answers(answer, lambda device, again: checked(device, check, again))
        answers.under_way += 1
        try:
            launched = launch(answer)
        finally:
            answers.under_way -= 1
        if answers.seen is not None:
            answers.read()
    finally:
        answers.lock.release()
    return launched
