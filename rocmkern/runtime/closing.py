"""What `with` does to the objects of the runtime."""

from __future__ import annotations

from typing import TypeVar

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
