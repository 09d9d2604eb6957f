"""Checks of the device's work that the host looks at when it waits for the device anyway."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field


@define(eq=False)
class DeferredChecks:
    """What is to be looked at on one device. List operations are atomic in CPython, so no lock is needed."""

    _waiting: list[Callable[[], None]] = field(init=False, factory=list)

    def add(self, check: Callable[[], None]) -> None:
        """Has `check` run by the next settle(); once, however often it is added before."""
        if check not in self._waiting:
            self._waiting.append(check)

    def settle(self) -> None:
        """Runs each check once, the oldest first; the first error leaves the later ones waiting."""
        while self._waiting:
            try:
                check = self._waiting.pop(0)
            except IndexError:  # another thread took the last one
                return
            check()
