"""What moves and reduces memory between the processes of a group: addresses and counts, on a stream."""

from __future__ import annotations

from typing import Final, Protocol

from rocmkern.drivers.protocol import Library
from rocmkern.dtypes import DType

REDUCTIONS: Final = ("sum", "prod", "max", "min", "avg")


class Backend(Library, Protocol):
    """The calls of one group. Ranks are those within it, and every process of it makes the same calls in one order.

    Sizes that end in `nbytes` or `count` are those of one process's part.
    """

    name: str

    def reduces(self, dtype: DType) -> bool: ...  # elements of this dtype, as they are
    def all_reduce(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None: ...
    def reduce_scatter(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None: ...
    def all_gather(self, source: int, target: int, nbytes: int, stream: int) -> None: ...
    def all_to_all(self, source: int, target: int, nbytes: int, stream: int) -> None: ...
    def broadcast(self, source: int, target: int, nbytes: int, root: int, stream: int) -> None: ...
    def send(self, source: int, nbytes: int, peer: int, stream: int) -> None: ...
    def recv(self, target: int, nbytes: int, peer: int, stream: int) -> None: ...
    def barrier(self) -> None: ...  # returns when all processes called it and their work on the default stream is done
    def close(self) -> None: ...  # when its work is done
    def abandon(self) -> None: ...  # at once, as the process ends
