"""Where work goes that a thread does not want done but remembered: into the graph that it captures.

The runtime asks here before it hands a launch, a copy or a fill to a driver, and before it hands values to the host,
which a graph can't wait for. What is remembered, and how it is done later, is the graph's own (`rocmkern.graph`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any, Final, Protocol

from rocmkern.drivers.protocol import Dims, Library
from rocmkern.errors import GraphError

if TYPE_CHECKING:
    from rocmkern.runtime.device import Device
    from rocmkern.runtime.function import Function
    from rocmkern.runtime.memory import DeviceMemory

_PACKAGE: Final = __name__.partition(".")[0]


Owned = tuple[Any, int, int]  # memory of the caller's or None, where what is used of it begins, an address from there


class Recorder(Protocol):
    """What remembers the work of a thread: launches, copies and fills whose addresses are known with the memory that
    they lead to, and those for which that is to be found among what is held."""

    def kernel(
        self,
        function: Function,
        packed: bytes,
        grid: Dims,
        block: Dims,
        shared_bytes: int,
        pointers: tuple[tuple[int, Owned], ...],  # the bytes of the block where addresses go
    ) -> None: ...
    def copied(self, target: Owned, source: Owned, nbytes: int) -> None: ...
    def filled(self, target: Owned, byte: int, nbytes: int) -> None: ...
    def launch(self, function: Function, packed: bytes, grid: Dims, block: Dims, shared_bytes: int) -> None: ...
    def copy(self, device: Device, target: int, source: int, nbytes: int) -> None: ...
    def fill(self, device: Device, address: int, byte: int, nbytes: int) -> None: ...
    def call(
        self,
        device: Device,
        work: Callable[[Sequence[int], int], None],
        library: Library,
        what: str,
        owned: Sequence[Owned],
    ) -> None: ...
    def hold(self, value: Any) -> None: ...  # memory, or what has some, that remembered work needs
    def memory(self, device: Device, nbytes: int) -> DeviceMemory: ...  # for what that work makes
    def answer(self, check: Any) -> int: ...  # the address where it answers a check
    def belong(self, device: Device) -> None: ...  # the work that follows


class _Thread(local):
    recorder: Recorder | None = None


thread: Final = _Thread()
under_way: Final[list[object]] = []  # what any thread captures or plans: quicker to look at than the thread's own


def current() -> Recorder | None:
    """What remembers the calling thread's work; None where it is done."""
    return thread.recorder if under_way else None


@contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """Within, the calling thread's work goes there; for None it is done at once."""
    outer, thread.recorder = thread.recorder, recorder
    under_way.append(recorder)
    try:
        yield
    finally:
        thread.recorder = outer
        under_way.remove(recorder)


def require_done(operation: str) -> None:
    """Raises GraphError where the calling thread captures: what the host asks for is not computed."""
    if current() is not None:
        raise GraphError(
            f"{operation}: the host asks for values in the capture of a graph, at {place()}; nothing is computed "
            "before its launch: read them after that, or compute this outside the capture"
        )


def place() -> str:
    """The file and line outside this package that the call came from."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
