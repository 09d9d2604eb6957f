"""What a kind of case is: how its input follows from a seed, and what is done with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from attrs import define

MB = 1 << 20


class Damage(Exception):
    """A case changed what it must not change."""


@define(eq=False)
class Kind(ABC):
    """One kind of case, on one device where it needs one."""

    target: str = "gfx942"
    name: ClassVar[str]
    batch: ClassVar[int] = 256  # cases between two looks at what only a whole batch is worth looking at
    lifetime: ClassVar[int] = 200_000  # cases until a worker gives way to a new one
    slow_s: ClassVar[float] = 1.0  # of CPU time, that one case may take
    peak_bytes: ClassVar[int] = 64 * MB  # that one case may add to the process
    growth_bytes: ClassVar[float] = 64  # that a case may leave behind, on average

    @abstractmethod
    def make(self, seed: int) -> bytes:
        """The input of a seed: the same in every process."""

    @abstractmethod
    def run(self, data: bytes, seed: int) -> str:
        """Do with the input what a user would: a word for how that ended.

        Raises RocmkernError, which is as good an end as any other; Damage, or anything else, which is a finding.
        """

    def prepare(self) -> None:  # noqa: B027  # most kinds of files share nothing
        """Make what all cases of a worker share."""

    def damage(self) -> str | None:
        """What of a batch's surroundings was changed."""
        return None

    def allowance(self) -> int:
        """Bytes that the process may have grown by so far whatever the number of cases."""
        return 48 * MB
