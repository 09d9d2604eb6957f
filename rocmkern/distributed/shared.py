"""Collectives between processes of one computer whose devices are emulated: memory that all of them map.

Each process has a slot that it alone writes while others read. What is larger goes in pieces, which use the two halves
of the slots in turn: who begins the next piece but one has seen all others arrive at the next one, and so done with
this one. Sums are those of the ranks in order, so every process gets the same bits.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt
from attrs import define, field

from rocmkern.distributed.rendezvous import Rendezvous, told
from rocmkern.drivers.protocol import Driver, Ending
from rocmkern.dtypes import DType
from rocmkern.errors import CollectiveError, CollectiveTimeout
from rocmkern.locks import Lock

_FOLDER: Final = "/dev/shm"
_LINE_BYTES: Final = 64
_TEXT_BYTES: Final = 192  # that say what a process takes part in
_HEAD_BYTES: Final = 2 * (_LINE_BYTES + _TEXT_BYTES)  # arrivals and state, then such a text for each half
_SLOT_BYTES: Final = 4 << 20
_HALF_BYTES: Final = _SLOT_BYTES // 2
_BOX_BYTES: Final = 256 << 10  # half of what lies between two processes
_MAIL_BYTES: Final = 2 * _LINE_BYTES + 2 * _BOX_BYTES
_FIRST_PAUSE_S: Final = 2e-6
_LONGEST_PAUSE_S: Final = 1e-3
_NEWS_S: Final = 0.05

Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]
_UFUNCS: Final[dict[str, np.ufunc]] = {
    "sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
}  # fmt: skip
_NARROW: Final = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn))


def _reduced(parts: Sequence[Array], op: str) -> Array:
    """The parts of all ranks in order as one; narrow floats are rounded once, at the end."""
    ufunc, dtype = _UFUNCS[op], parts[0].dtype
    wide = np.dtype(np.float32) if dtype in _NARROW else dtype
    total = parts[0].astype(wide)
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            ufunc(total, part.astype(wide, copy=False), out=total)
        if op == "avg":
            total = total / len(parts)
        return total.astype(dtype, copy=False)


@define(eq=False)
class SharedMemory:
    """A group of processes by memory that they share: a `Backend`."""

    driver: Driver
    rendezvous: Rendezvous
    ranks: tuple[int, ...]  # of the job
    rank: int  # within the group
    name: str = "shared memory"
    _file: mmap.mmap = field(init=False)
    _counters: npt.NDArray[np.uint64] = field(init=False)  # by rank: pieces begun, whether it gave up
    _all: Bytes = field(init=False)
    _pieces: int = field(init=False, default=0)
    _what: str = field(init=False, default="")  # is under way
    _lock: Lock = field(init=False, factory=lambda: Lock("collective"))
    _mail_locks: dict[tuple[int, int], Lock] = field(init=False)

    def __attrs_post_init__(self) -> None:
        n = len(self.ranks)
        self._mail_locks = {(a, b): Lock("mail") for a in range(n) for b in range(n)}
        self._file = self._mapped(n * (_HEAD_BYTES + _SLOT_BYTES) + n * n * _MAIL_BYTES)
        self._all = np.frombuffer(self._file, np.uint8)
        self._counters = self._all[: n * _HEAD_BYTES].reshape(n, _HEAD_BYTES)[:, : 2 * _LINE_BYTES].view(np.uint64)

    def _mapped(self, nbytes: int) -> mmap.mmap:
        """Memory that all processes of the group have, and that goes with the last of them."""
        path = ""
        if self.rank == 0:
            descriptor, path = tempfile.mkstemp("", "rocmkern-", _FOLDER if os.path.isdir(_FOLDER) else None)
            os.ftruncate(descriptor, nbytes)
            os.close(descriptor)
        name = f"group {self.ranks}"
        try:
            path = self.rendezvous.exchange(f"{name}: memory", self.ranks, path.encode())[0].decode()
            try:
                descriptor = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                raise CollectiveError(
                    f"{name}: no shared memory {path} here; emulated devices of several hosts can't work together"
                ) from None
            try:
                mapped = mmap.mmap(descriptor, nbytes)
            finally:
                os.close(descriptor)
            self.rendezvous.exchange(f"{name}: mapped", self.ranks, b"")
        finally:
            if self.rank == 0:
                with suppress(FileNotFoundError):
                    os.unlink(path)
        return mapped

    def reduces(self, dtype: DType) -> bool:
        return True

    def require_ready(self, stream: int | None) -> None:
        """A call is done when it returns, and so has told of itself what went wrong."""

    def watch(self, what: str, stream: int) -> None:
        """Nothing is under way that could wait for ever."""

    def captured(self, graph: Ending) -> None:
        """A graph of an emulated device calls this group itself."""

    def all_reduce(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None:
        given, wanted = self._here(source, count, dtype), self._here(target, count, dtype)
        n = len(self.ranks)
        with self._together(f"all_reduce {op} of {count} {dtype}"):
            for at in _steps(count, _HALF_BYTES // dtype.itemsize):
                size = len(given[at])
                slots = self._begun(given[at].view(np.uint8))
                elements = [slot[: size * dtype.itemsize].view(dtype.numpy) for slot in slots]
                shares = [slice(size * r // n, size * (r + 1) // n) for r in range(n)]
                own = shares[self.rank]
                elements[self.rank][own] = _reduced([slot[own] for slot in elements], op)
                self._arrive("all_reduce")
                for share, slot in zip(shares, elements, strict=True):
                    wanted[at][share] = slot[share]

    def reduce_scatter(self, source: int, target: int, count: int, dtype: DType, op: str, stream: int) -> None:
        n, itemsize = len(self.ranks), dtype.itemsize
        given = self._here(source, n * count, dtype).reshape(n, count)
        wanted = self._here(target, count, dtype)
        with self._together(f"reduce_scatter {op} of {n} times {count} {dtype}"):
            for at in _steps(count, _HALF_BYTES // itemsize // n):
                size = len(wanted[at])
                slots = self._begun(np.ascontiguousarray(given[:, at]).reshape(-1).view(np.uint8))
                own = slice(self.rank * size * itemsize, (self.rank + 1) * size * itemsize)
                wanted[at] = _reduced([slot[own].view(dtype.numpy) for slot in slots], op)

    def all_gather(self, source: int, target: int, nbytes: int, stream: int) -> None:
        given, wanted = self._bytes(source, nbytes), self._bytes(target, nbytes * len(self.ranks))
        parts = wanted.reshape(len(self.ranks), nbytes)
        with self._together(f"all_gather of {nbytes} bytes"):
            for at in _steps(nbytes, _HALF_BYTES):
                for part, slot in zip(parts, self._begun(given[at]), strict=True):
                    part[at] = slot[: len(part[at])]

    def all_to_all(self, source: int, target: int, nbytes: int, stream: int) -> None:
        n = len(self.ranks)
        given, wanted = (self._bytes(address, n * nbytes).reshape(n, nbytes) for address in (source, target))
        with self._together(f"all_to_all of {n} times {nbytes} bytes"):
            for at in _steps(nbytes, _HALF_BYTES // n):
                piece = np.ascontiguousarray(given[:, at])
                size = piece.shape[1]
                slots = self._begun(piece.reshape(-1))
                for part, slot in zip(wanted, slots, strict=True):
                    part[at] = slot[self.rank * size :][:size]

    def broadcast(self, source: int, target: int, nbytes: int, root: int, stream: int) -> None:
        given, wanted = self._bytes(source, nbytes), self._bytes(target, nbytes)
        with self._together(f"broadcast of {nbytes} bytes from rank {root}"):
            for at in _steps(nbytes, _HALF_BYTES):
                slots = self._begun(given[at] if self.rank == root else given[:0])
                wanted[at] = slots[root][: len(wanted[at])]

    def send(self, source: int, nbytes: int, peer: int, stream: int) -> None:
        given, (counters, boxes) = self._bytes(source, nbytes), self._mail(self.rank, peer)
        with self._mail_locks[self.rank, peer]:
            for at in _steps(nbytes, _BOX_BYTES):
                self._until(lambda: counters[0] - counters[1] < 2, f"send to rank {peer}", [peer])
                which = int(counters[0]) % 2
                boxes[which, : len(given[at])] = given[at]
                counters[2 + which] = nbytes
                counters[0] += np.uint64(1)

    def recv(self, target: int, nbytes: int, peer: int, stream: int) -> None:
        wanted, (counters, boxes) = self._bytes(target, nbytes), self._mail(peer, self.rank)
        with self._mail_locks[peer, self.rank]:
            for at in _steps(nbytes, _BOX_BYTES):
                self._until(lambda: counters[0] > counters[1], f"recv from rank {peer}", [peer])
                which = int(counters[1]) % 2
                if counters[2 + which] != nbytes:
                    raise self._given_up(
                        f"recv: {nbytes} bytes from rank {peer}, which sends {counters[2 + which]}; give a tensor of "
                        "the same size"
                    )
                wanted[at] = boxes[which, : len(wanted[at])]
                counters[1] += np.uint64(1)

    def barrier(self) -> None:
        self.driver.enqueue(self._barrier, 0)

    def _barrier(self, stream: int) -> None:
        with self._together("barrier"):
            self._begun(self._all[:0])

    def abandon(self) -> None:
        return

    def close(self) -> None:
        self._counters = self._all = np.empty(0, np.uint8)  # type: ignore[assignment]  # the map itself goes with them

    def _here(self, address: int, count: int, dtype: DType) -> Array:
        return self._bytes(address, count * dtype.itemsize).view(dtype.numpy)

    def _bytes(self, address: int, nbytes: int) -> Bytes:
        """Memory of the emulated device."""
        view = self.driver.view(address, nbytes) if nbytes else None
        return np.empty(0, np.uint8) if view is None else np.frombuffer(view, np.uint8)

    @contextmanager
    def _together(self, what: str) -> Iterator[None]:
        """Within, this process takes part in what the others call at the same time."""
        with self._lock:
            self._what = what
            yield

    def _begun(self, piece: Bytes) -> list[Bytes]:
        """Puts a piece where the others read it; theirs, when all have come. Raises CollectiveError where they take
        part in something else.
        """
        n, half = len(self.ranks), self._pieces % 2
        heads = self._all[: n * _HEAD_BYTES].reshape(n, _HEAD_BYTES)
        texts = heads[:, 2 * _LINE_BYTES :].reshape(n, 2, _TEXT_BYTES)[:, half]
        begin = n * _HEAD_BYTES
        slots = self._all[begin : begin + n * _SLOT_BYTES].reshape(n, 2, _HALF_BYTES)[:, half]
        own = self._what.encode()[:_TEXT_BYTES].ljust(_TEXT_BYTES, b"\0")
        texts[self.rank] = np.frombuffer(own, np.uint8)
        slots[self.rank, : len(piece)] = piece
        self._pieces += 1
        self._arrive(self._what)
        for rank, text in enumerate(texts):
            if text.tobytes() != own:
                other = text.tobytes().rstrip(b"\0").decode()
                raise self._given_up(
                    f"{self._what}: rank {rank} calls {other} at the same time; all of a group make the same calls"
                )
        return list(slots)

    def _arrive(self, what: str) -> None:
        """Waits until all processes of the group have come as far."""
        self._counters[self.rank, 0] += np.uint64(1)
        come, arrived = int(self._counters[self.rank, 0]), self._counters[:, 0]
        self._until(lambda: bool((arrived >= come).all()), what, range(len(self.ranks)))

    def _until(self, is_done: Callable[[], bool], what: str, awaited: Sequence[int]) -> None:
        """Waits for others. Raises CollectiveTimeout, CollectiveError where one of them is gone or has given up."""
        pause, start = _FIRST_PAUSE_S, time.monotonic()
        news = start + _NEWS_S
        while not is_done():
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
            now = time.monotonic()
            if now < news:
                continue
            news = now + _NEWS_S
            given_up = [self.ranks[rank] for rank in awaited if self._counters[rank, 1]]
            gone = sorted(self.rendezvous.gone().intersection(self.ranks[rank] for rank in awaited))
            if is_done():
                return
            if given_up or gone:
                how = "gave up" if given_up else "ended"
                raise self._given_up(f"{what}: {told(given_up or gone)} {how} meanwhile; see its own error")
            if now - start > self.rendezvous.timeout:
                kind = CollectiveTimeout
                raise self._given_up(
                    f"{what}: the others did not come within {self.rendezvous.timeout:g} s; look what they do, or give "
                    "init a longer timeout",
                    kind,
                )

    def _given_up(self, text: str, kind: type[CollectiveError] = CollectiveError) -> CollectiveError:
        """An error, told to the others."""
        self._counters[self.rank, 1] = np.uint64(1)
        return kind(text)

    def _mail(self, source: int, target: int) -> tuple[npt.NDArray[np.uint64], Bytes]:
        """What lies between two processes: pieces sent and received and the size of each half, and the halves."""
        n = len(self.ranks)
        begin = n * (_HEAD_BYTES + _SLOT_BYTES) + (source * n + target) * _MAIL_BYTES
        mail = self._all[begin : begin + _MAIL_BYTES]
        return mail[: 2 * _LINE_BYTES].view(np.uint64), mail[2 * _LINE_BYTES :].reshape(2, _BOX_BYTES)


def _steps(count: int, most: int) -> Iterator[slice]:
    """Pieces of at most so many, at least one."""
    for start in range(0, max(count, 1), max(most, 1)):
        yield slice(start, min(start + max(most, 1), count))
