"""Collectives between GPUs by NCCL and RCCL.

Their work is asynchronous: a process that does not come leaves the others' devices waiting. So a thread looks at an
event behind each call, and aborts the communicator when that takes too long or a process of the group has ended. The
next call that waits for the device raises what happened.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_void_p
from typing import Final

from attrs import define, field

from rocmkern.distributed.rendezvous import Rendezvous, told
from rocmkern.drivers.collective_library import CollectiveLibrary
from rocmkern.dtypes import DType, dtype
from rocmkern.errors import CollectiveError, CollectiveTimeout
from rocmkern.runtime import Device

_BYTE: Final = 1  # ncclUint8
_CODES: Final[dict[DType, int]] = {
    dtype(name): code
    for name, code in (
        ("int8", 0), ("uint8", 1), ("int32", 2), ("uint32", 3), ("int64", 4), ("uint64", 5), ("float16", 6),
        ("float32", 7), ("float64", 8), ("bfloat16", 9),
    )
}  # fmt: skip
_OPS: Final = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}
_LOOK_S: Final = 0.02
_GRACE_S: Final = 2.0  # in which work that a process did before it ended may arrive


@define(eq=False)
class Communicator:
    """A group of processes with a GPU each: a `Backend`."""

    library: CollectiveLibrary
    device: Device
    rendezvous: Rendezvous
    ranks: tuple[int, ...]  # of the job
    rank: int  # within the group
    name: str = field(init=False)
    _handle: c_void_p = field(init=False)
    _pending: deque[tuple[float, int, str]] = field(init=False, factory=deque)  # since when, an event behind it, what
    _events: list[int] = field(init=False, factory=list)  # that wait for use
    _error: CollectiveError | None = field(init=False, default=None)
    _is_told: bool = field(init=False, default=False)
    _woken: threading.Event = field(init=False, factory=threading.Event)
    _thread: threading.Thread = field(init=False)
    _gone_since: float | None = field(init=False, default=None)
    _is_closed: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        self.name = self.library.name
        unique = self.library.unique_id() if self.rank == 0 else b""
        unique = self.rendezvous.exchange(f"group {self.ranks}: {self.name}", self.ranks, unique)[0]
        made: list[c_void_p] = []
        self.device.driver.enqueue(
            lambda _: made.append(self.library.communicator(unique, len(self.ranks), self.rank)), 0
        )
        (self._handle,) = made
        self.device.defer(self._tell)
        self._thread = threading.Thread(target=self._watch, name="rocmkern-collectives", daemon=True)
        self._thread.start()

    def reduces(self, dtype: DType) -> bool:
        return dtype in _CODES

    def all_reduce(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None:
        arguments = (source, target, count, _CODES[dtype], _OPS[op], self._handle, stream)
        self._do("all_reduce", stream, lambda: self.library.call("AllReduce", *arguments))

    def reduce_scatter(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None:
        arguments = (source, target, count, _CODES[dtype], _OPS[op], self._handle, stream)
        self._do("reduce_scatter", stream, lambda: self.library.call("ReduceScatter", *arguments))

    def all_gather(self, source: int, target: int, nbytes: int, stream: int) -> None:
        arguments = (source, target, nbytes, _BYTE, self._handle, stream)
        self._do("all_gather", stream, lambda: self.library.call("AllGather", *arguments))

    def broadcast(self, source: int, target: int, nbytes: int, root: int, stream: int) -> None:
        arguments = (source, target, nbytes, _BYTE, root, self._handle, stream)
        self._do("broadcast", stream, lambda: self.library.call("Broadcast", *arguments))

    def send(self, source: int, nbytes: int, peer: int, stream: int) -> None:
        arguments = (source, nbytes, _BYTE, peer, self._handle, stream)
        self._do("send", stream, lambda: self.library.call("Send", *arguments))

    def recv(self, target: int, nbytes: int, peer: int, stream: int) -> None:
        arguments = (target, nbytes, _BYTE, peer, self._handle, stream)
        self._do("recv", stream, lambda: self.library.call("Recv", *arguments))

    def all_to_all(self, source: int, target: int, nbytes: int, stream: int) -> None:
        def call() -> None:
            self.library.call("GroupStart")
            try:
                for peer in range(len(self.ranks)):
                    at = peer * nbytes
                    self.library.call("Send", source + at, nbytes, _BYTE, peer, self._handle, stream)
                    self.library.call("Recv", target + at, nbytes, _BYTE, peer, self._handle, stream)
            finally:
                self.library.call("GroupEnd")

        self._do("all_to_all", stream, call)

    def barrier(self) -> None:
        memory = self.device.alloc(1)
        memory.fill(0)
        self.device.driver.enqueue(
            lambda stream: self.all_reduce(memory.address, memory.address, 1, dtype("uint8"), "max", stream), 0
        )
        self.device.driver.synchronize_stream(0)
        memory.close()
        self.device.settle()

    def _do(self, what: str, stream: int, call: Callable[[], None]) -> None:
        """Adds a call to a stream, and an event that the watching thread looks at."""
        if self._error is not None:
            self._is_told = True
            raise self._error
        call()
        driver = self.device.driver
        event = self._events.pop() if self._events else driver.create_event()
        driver.record_event(event, stream)
        self._pending.append((time.monotonic(), event, what))
        self._woken.set()

    def _watch(self) -> None:
        """What the thread does until the group is closed."""
        driver = self.device.driver
        while not self._is_closed and self._error is None:
            if not self._pending:
                self._woken.wait()
                self._woken.clear()
            while self._pending and driver.query_event(self._pending[0][1]):
                self._events.append(self._pending.popleft()[1])
            if self._pending:
                since, _, what = self._pending[0]
                self._error = self._trouble(since, what)
                if self._error is None:
                    time.sleep(_LOOK_S)
        if self._error is not None:
            with suppress(CollectiveError):
                self.library.call("CommAbort", self._handle)

    def _trouble(self, since: float, what: str) -> CollectiveError | None:
        """What is wrong with a call under way."""
        gone = sorted(self.rendezvous.gone().intersection(self.ranks))
        if gone and self._gone_since is None:
            self._gone_since = time.monotonic()
        if self._gone_since is not None and time.monotonic() - self._gone_since > _GRACE_S:
            return CollectiveError(f"{what}: {told(gone)} ended meanwhile; see its own error")
        if status := self.library.failed(self._handle):
            return self.library.error(what, status)
        if time.monotonic() - since > self.rendezvous.timeout:
            return CollectiveTimeout(
                f"{what}: the others did not come within {self.rendezvous.timeout:g} s; look what they do, or give "
                "init a longer timeout"
            )
        return None

    def _tell(self) -> None:
        """Raises what the thread found, once."""
        if self._error is not None and not self._is_told:
            self._is_told = True
            raise self._error

    def close(self) -> None:
        if self._error is None:
            self.device.synchronize()
        self.abandon()

    def abandon(self) -> None:
        self._is_closed = True
        self._woken.set()
        self._thread.join()
        self.device.undefer(self._tell)
        driver = self.device.driver
        is_done = all(driver.query_event(pending[1]) for pending in self._pending)
        for event in (*self._events, *(pending[1] for pending in self._pending)):
            driver.destroy_event(event)
        if self._error is None:
            self.library.call("CommDestroy" if is_done else "CommAbort", self._handle)
