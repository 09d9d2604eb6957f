"""What `with` does to the objects of the runtime."""

from __future__ import annotations

from typing import Any, TypeVar

Self = TypeVar("Self", bound="Closing")  # typing has it from Python 3.11 on


class Closing:
    """Leaving `with` closes it. No ABC, whose isinstance would slow down each launch."""

    __slots__ = ()

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same to IPython and hypothesis, which print all attributes of a class that attrs made."""
        printer.text(repr(self))
