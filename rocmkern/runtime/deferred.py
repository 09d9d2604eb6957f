"""Checks of the device's work that the host looks at when it waits for the device anyway."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from attrs import define, field

from rocmkern.errors import together


@define(eq=False)
class DeferredChecks:
    """What is looked at on one device. List operations are atomic in CPython, so no lock is needed."""

    _checks: list[Callable[[], None]] = field(init=False, factory=list)
    _left: deque[Callable[[], None]] = field(init=False, factory=deque)  # what finalisers have to do

    def add(self, check: Callable[[], None]) -> None:
        """Has `check` run by every settle() from now on."""
        self._checks.append(check)

    def remove(self, check: Callable[[], None]) -> None:
        """Has `check` run no more."""
        with suppress(ValueError):
            self._checks.remove(check)

    def leave(self, work: Callable[[], None]) -> None:
        """Has work that a finaliser must not wait for done by the next settle(), once."""
        self._left.append(work)

    def settle(self) -> None:
        """Does what was left, then runs all checks, the oldest first. Raises the first error, which tells the
        others.
        """
        work = list(self._checks)
        while self._left:
            with suppress(IndexError):  # another thread took the last one
                work.insert(0, self._left.popleft())
        errors = [error for error in map(_error, work) if error is not None]
        if errors:
            raise together(errors)


def _error(check: Callable[[], None]) -> Exception | None:
    try:
        check()
    except Exception as error:
        return error
    return None
