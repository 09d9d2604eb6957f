"""What only a kernel can find wrong, told to the host where that waits anyway: an index outside its axis, a singular
matrix.

A launch with a check gets the address of a slot, in which it leaves what it found. The host reads the slots when it
waits for the device: on the emulator at once, on a GPU with the next copy to the host. No kernel follows such an index
or leaves its memory for such a matrix, so what was launched in between did no harm.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence
from typing import Final, Protocol

from attrs import define, field

from rocmkern.drivers.protocol import Driver
from rocmkern.errors import RocmkernError
from rocmkern.runtime import Device, DeviceMemory

STATUS_WORDS: Final = 4
STATUS_BYTES: Final = 8 * STATUS_WORDS
NOWHERE: Final = (1 << 64) - 1  # the first word of a check that found nothing
_SLOTS: Final = 256  # checks between two waits of the host
_MORE_SLOTS: Final = 8  # for what one launch answers beyond the first


class Check(Protocol):
    """A launch whose answer the host has not seen."""

    def error(self, answer: bytes) -> RocmkernError | None:
        """What the answer says: what was wrong, or nothing."""


@define(eq=False)
class Answers:
    """Where the checks of one device answer."""

    memory: DeviceMemory
    seen: memoryview | None  # the memory itself, in words, where the host need not wait
    _first: int = field(init=False)  # address of the first answer
    _lock: threading.RLock = field(init=False, factory=threading.RLock)  # held while a check is launched or read
    _under_way: int = field(init=False, default=0)  # launches still to come that have slots
    _checks: list[Check] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self._first = self.memory.address

    def __enter__(self) -> Answers:
        """Within, no other thread gets slots or reads them."""
        self._lock.acquire()
        self._under_way += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._under_way -= 1
        self._lock.release()

    def slots(self, checks: Sequence[Check], device: Device) -> list[int]:
        """The addresses for the answers of the next launch. Raises what earlier ones found where all are taken."""
        if len(self._checks) + len(checks) > _SLOTS and self._under_way == 1:
            self._read()
        if not self._checks and self.seen is None:
            device.defer(self.settle)
        taken = len(self._checks)
        self._checks += checks
        return [self._first + STATUS_BYTES * number for number in range(taken, taken + len(checks))]

    def read_at_once(self) -> None:
        """Raises the error of the first check that found one, if the host need not wait to know."""
        if self.seen is not None:
            self._read()

    def settle(self) -> None:
        """Raises the error of the first check that found one, after the device's work so far."""
        with self._lock:
            self._read()

    def _read(self) -> None:
        checks = self._checks
        if not checks:
            return
        self._checks = []
        words, length = self.seen, STATUS_WORDS * len(checks)
        if words is None:
            copy = bytearray(8 * length)
            self.memory.driver.copy_to_host(memoryview(copy), self._first, 0)
            words = memoryview(copy).cast("Q")
        for first in range(0, length, STATUS_WORDS):
            if words[first] != NOWHERE:
                break
        else:
            return
        answers = words[:length].tobytes()
        errors = (check.error(answers[STATUS_BYTES * i :][:STATUS_BYTES]) for i, check in enumerate(checks))
        error = next((e for e in errors if e is not None), None)
        if error is not None:
            self.memory.fill(0xFF)
            raise error


_answers: Final[dict[Driver, Answers]] = {}
_making: Final = threading.Lock()
atexit.register(_answers.clear)  # memory goes back while the drivers still work


def answers_of(device: Device) -> Answers:
    """The slots of a device."""
    found = _answers.get(device.driver)
    if found is None:
        with _making:
            found = _answers.get(device.driver)
            if found is None:
                memory = device.alloc(STATUS_BYTES * (_SLOTS + _MORE_SLOTS))
                memory.fill(0xFF)
                seen = memory.view().cast("Q") if answers_at_once(device) else None
                found = _answers[device.driver] = Answers(memory, seen)
    return found


def answers_at_once(device: Device) -> bool:
    """Whether the host knows without waiting: the emulator's launches on the default stream are done on return."""
    return device.info.unified
