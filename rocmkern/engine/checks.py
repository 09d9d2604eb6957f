"""What only a kernel can find wrong, told to the host where that waits anyway: an index outside its axis, a singular
matrix.

A launch with a check gets the address of a slot, in which it leaves what it found. The host reads the slots when it
waits for the device: on the emulator at once, on a GPU with the next copy to the host. No kernel follows such an index
or leaves its memory for such a matrix, so what was launched in between did no harm.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from attrs import define, field

from rocmkern.drivers.protocol import Driver
from rocmkern.errors import RocmkernError, together
from rocmkern.locks import Lock, ReentrantLock, renew_in_children
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
    """Where the checks of one device answer. A check is pending until its answer was read, whatever fails meanwhile."""

    memory: DeviceMemory
    seen: memoryview | None  # the memory itself, in words, where the host need not wait
    _first: int = field(init=False)  # address of the first answer
    _lock: ReentrantLock = field(init=False, factory=lambda: ReentrantLock("answers"))  # on launching and reading
    _under_way: int = field(init=False, default=0)  # launches still to come that have slots
    _checks: list[Check] = field(init=False, factory=list)  # that are pending

    def __attrs_post_init__(self) -> None:
        self._first = self.memory.address
        renew_in_children(self)

    def __enter__(self) -> Answers:
        """Within, no other thread gets slots or reads them."""
        self._lock.__enter__()
        self._under_way += 1
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """An error tells what the checks found that the host knows of."""
        try:
            self._under_way -= 1
            if error is not None and self.seen is not None and not self._under_way:
                together([error, *self._read()])
        finally:
            self._lock.__exit__()

    def renew(self) -> None:
        """In a forked child: what other threads launched is none of its work."""
        self._under_way = 0
        if self.seen is not None:
            self._checks = []
            self.seen[:] = memoryview(b"\xff" * self.seen.nbytes).cast("Q")

    def slots(self, checks: Sequence[Check]) -> list[int]:
        """The addresses for the answers of the next launch. Raises what earlier ones found where all are taken."""
        if len(self._checks) + len(checks) > _SLOTS and self._under_way == 1:
            self._raise_found()
        taken = len(self._checks)
        self._checks += checks
        return [self._first + STATUS_BYTES * number for number in range(taken, taken + len(checks))]

    def read_at_once(self) -> None:
        """Raises what the checks found, if the host need not wait to know."""
        if self.seen is not None:
            self._raise_found()

    def settle(self) -> None:
        """Raises what the checks found, after the device's work so far."""
        if self._checks:
            with self._lock:
                self._raise_found()

    def _raise_found(self) -> None:
        """Raises the error of the first check that found one, which tells those of the others."""
        errors = self._read()
        if errors:
            raise together(errors)

    def _read(self) -> list[RocmkernError]:
        """What was found; nothing is pending from then on."""
        checks, words = self._checks, self.seen
        if not checks:
            return []
        errors = told(checks, copied(self.memory, len(checks)) if words is None else words)
        if errors is not None:
            self.memory.fill(0xFF)
        self._checks = []
        return errors or []


def copied(memory: DeviceMemory, checks: int) -> memoryview:
    """The first answers in a memory, as words, after the device's work so far."""
    copy = memoryview(bytearray(STATUS_BYTES * checks))
    memory.driver.copy_to_host(copy, memory.address, 0)
    return copy.cast("Q")


def told(checks: Sequence[Check], words: memoryview) -> list[RocmkernError] | None:
    """What was wrong, by the answers of checks, which lie one after another; None where none has answered."""
    for first in range(0, STATUS_WORDS * len(checks), STATUS_WORDS):
        if words[first] != NOWHERE:
            break
    else:
        return None
    answers = words[: STATUS_WORDS * len(checks)].tobytes()
    found = (check.error(answers[STATUS_BYTES * i :][:STATUS_BYTES]) for i, check in enumerate(checks))
    return [error for error in found if error is not None]


_answers: Final[dict[Driver, Answers]] = {}
_making: Final = Lock("making answers")
atexit.register(_answers.clear)  # memory goes back while the drivers still work


def answers_of(device: Device) -> Answers:
    """The slots of a device."""
    driver = device.driver
    found = _answers.get(driver)
    if found is None:
        with _making:
            found = _answers.get(driver)
            if found is None:
                memory = device.alloc(STATUS_BYTES * (_SLOTS + _MORE_SLOTS))
                memory.fill(0xFF)
                seen = memory.view().cast("Q") if answers_at_once(device) else None
                found = Answers(memory, seen)
                device.defer(partial(_settle, driver))
                _answers[driver] = found
    return found


def _settle(driver: Driver) -> None:
    answers = _answers.get(driver)
    if answers is not None:
        answers.settle()


def answers_at_once(device: Device) -> bool:
    """Whether the host knows without waiting: the emulator's launches on the default stream are done on return."""
    return device.info.unified
