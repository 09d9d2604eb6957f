"""Collectives between GPUs by NCCL and RCCL.

Their work is asynchronous: a process that does not come leaves the others' devices waiting. So a thread looks at events
behind the calls, and aborts the communicator when one takes too long or a process of the group has ended. The next call
that waits for the device raises what happened. A call must cost its caller little, so a stream has two events: calls
move the one, while the thread waits for the other. Calls of one group follow each other on whatever streams they are,
so the library need not order those of graphs and others.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from ctypes import c_void_p
from functools import partial
from typing import Final
from weakref import WeakSet

from attrs import define, field

from rocmkern.distributed.rendezvous import Rendezvous, told
from rocmkern.drivers.collective_library import CollectiveLibrary
from rocmkern.drivers.protocol import CallStep, Ending
from rocmkern.dtypes import DType, dtype
from rocmkern.errors import ClosedError, CollectiveError, CollectiveTimeout
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
class _Calls:
    """Those on one stream whose end is not known."""

    moved: int  # the event behind the last call
    other: int
    what: str = ""  # the last call
    is_open: bool = False  # a call has moved its event since the thread last exchanged them
    since: float | None = None  # when the thread began to wait for the other event

    def exchange(self) -> None:
        """Has the thread wait for the calls so far, while later ones move the event that is free."""
        self.is_open, self.since = False, time.monotonic()
        self.moved, self.other = self.other, self.moved


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
    _calls: dict[int, _Calls] = field(init=False, factory=dict)  # by stream
    _last: tuple[int, int] | None = field(
        init=False, default=None
    )  # the stream of the last call, and an event behind it
    _graphs: WeakSet[Ending] = field(init=False, factory=WeakSet)
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
        self.library.call("AllReduce", source, target, count, _CODES[dtype], _OPS[op], self._handle, stream)

    def reduce_scatter(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None:
        self.library.call("ReduceScatter", source, target, count, _CODES[dtype], _OPS[op], self._handle, stream)

    def all_gather(self, source: int, target: int, nbytes: int, stream: int) -> None:
        self.library.call("AllGather", source, target, nbytes, _BYTE, self._handle, stream)

    def broadcast(self, source: int, target: int, nbytes: int, root: int, stream: int) -> None:
        self.library.call("Broadcast", source, target, nbytes, _BYTE, root, self._handle, stream)

    def send(self, source: int, nbytes: int, peer: int, stream: int) -> None:
        self.library.call("Send", source, nbytes, _BYTE, peer, self._handle, stream)

    def recv(self, target: int, nbytes: int, peer: int, stream: int) -> None:
        self.library.call("Recv", target, nbytes, _BYTE, peer, self._handle, stream)

    def all_to_all(self, source: int, target: int, nbytes: int, stream: int) -> None:
        self.library.call("GroupStart")
        try:
            for peer in range(len(self.ranks)):
                at = peer * nbytes
                self.send(source + at, nbytes, peer, stream)
                self.recv(target + at, nbytes, peer, stream)
        finally:
            self.library.call("GroupEnd")

    def barrier(self) -> None:
        memory = self.device.alloc(1)
        memory.fill(0)
        address = memory.address
        step = CallStep(partial(self.all_reduce, address, address, 1, dtype("uint8"), "max"), self, "barrier")
        self.device.driver.enqueue(step.run, 0)
        self.device.driver.synchronize_stream(0)
        memory.close()
        self.device.settle()

    def require_ready(self, stream: int | None) -> None:
        if self._error is not None:
            self._is_told = True
            raise self._error
        if self._is_closed:
            raise ClosedError(f"group of {len(self.ranks)}: it is closed; make another, and capture its graphs anew")
        if stream is not None and self._last is not None and self._last[0] != stream:
            self.device.driver.stream_wait_event(stream, self._last[1])

    def captured(self, graph: Ending) -> None:
        self._graphs.add(graph)

    def watch(self, what: str, stream: int) -> None:
        driver = self.device.driver
        calls = self._calls.get(stream)
        if calls is None:
            calls = self._calls[stream] = _Calls(driver.create_event(), driver.create_event())
        event = calls.moved
        driver.record_event(event, stream)
        self._last = stream, event
        calls.what, calls.is_open = what, True
        if not self._woken.is_set():
            self._woken.set()

    def _watch(self) -> None:
        """What the thread does until the group is closed."""
        while not self._is_closed and self._error is None:
            self._woken.wait()
            self._woken.clear()
            time.sleep(_LOOK_S)
            while not self._is_closed and self._look():
                time.sleep(_LOOK_S)
        if self._error is not None:
            self._end_graphs()
            with suppress(CollectiveError):
                self.library.call("CommAbort", self._handle)

    def _look(self) -> bool:
        """Looks what has ended; whether there is more to wait for."""
        is_waiting = False
        for calls in list(self._calls.values()):
            if calls.since is not None and self.device.driver.query_event(calls.other):
                calls.since = None
            if calls.since is None and calls.is_open:
                calls.exchange()
            if calls.since is not None:
                is_waiting = True
                self._error = self._error or self._trouble(calls.since, calls.what)
        return is_waiting and self._error is None

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
        self._end("CommDestroy")

    def abandon(self) -> None:
        self._end("CommAbort")  # a destruction would wait for the others'

    def _end(self, how: str) -> None:
        self._is_closed = True
        self._woken.set()
        self._thread.join()
        self.device.undefer(self._tell)
        self._end_graphs()
        if self._error is None:
            self.library.call(how, self._handle)
        for calls in self._calls.values():
            self.device.driver.destroy_event(calls.moved)
            self.device.driver.destroy_event(calls.other)

    def _end_graphs(self) -> None:
        """The library waits for graphs that have its work, before it ends."""
        for graph in list(self._graphs):
            graph.end()
