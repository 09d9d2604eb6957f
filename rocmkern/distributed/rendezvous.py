"""How the processes of a job find each other and hear that one is gone.

The first process listens; each process has a connection to it, the first one too. What crosses is small: identifiers
and names of files. A process that ends, or dies, is told to all others by the end of its connection.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgpack
from attrs import define, field

from rocmkern.distributed.places import Place
from rocmkern.errors import CollectiveError, CollectiveTimeout, ConfigError
from rocmkern.locks import Lock

_LENGTH: Final = struct.Struct("<I")
_MOST_BYTES: Final = 1 << 20  # of a message
_GREETING: Final = b"rocmkern rendezvous 1\n"
_PORTS: Final = 16  # tried from the named one on: torchrun's agent and PyTorch itself listen there too
_GREETING_S: Final = 1.0
_RETRY_S: Final = 0.05


class _Frames:
    """Messages from a connection, as they come."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def fed(self, data: bytes) -> list[Any]:
        """The messages that these bytes complete. Raises ValueError for what is none."""
        self._rest += data
        found = []
        while len(self._rest) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._rest)
            if length > _MOST_BYTES:
                raise ValueError(f"a message of {length} bytes")
            end = _LENGTH.size + length
            if len(self._rest) < end:
                break
            found.append(msgpack.unpackb(bytes(self._rest[_LENGTH.size : end])))
            del self._rest[:end]
        return found


def _frame(message: Sequence[Any]) -> bytes:
    packed: bytes = msgpack.packb(message)
    return _LENGTH.pack(len(packed)) + packed


@define(eq=False)
class _Peer:
    """A connection of the server's."""

    connection: socket.socket
    frames: _Frames = field(factory=_Frames)
    rank: int | None = None


@define(eq=False)
class Server:
    """Gathers what processes give under one name and sends all of it to each of them. A thread of its own."""

    listener: socket.socket
    size: int
    token: str
    _peers: dict[int, _Peer] = field(init=False, factory=dict)  # by descriptor
    _waiting: selectors.BaseSelector = field(init=False, factory=selectors.DefaultSelector)
    _ranks: dict[int, _Peer] = field(init=False, factory=dict)
    _given: dict[str, dict[int, bytes]] = field(init=False, factory=dict)
    _thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="rocmkern-rendezvous", daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Waits until all other processes are gone."""
        self._thread.join(seconds)

    def _run(self) -> None:
        gone: set[int] = set()
        with self.listener, self._waiting:
            own = self.listener.fileno()
            self._waiting.register(own, selectors.EVENT_READ)
            while len(gone) < self.size:
                for key, _ in self._waiting.select():
                    if key.fd == own:
                        self._accept()
                    elif (rank := self._read(key.fd)) is not None:
                        gone.add(rank)

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection.sendall(_GREETING)
        except OSError:
            connection.close()
            return
        self._peers[connection.fileno()] = _Peer(connection)
        self._waiting.register(connection.fileno(), selectors.EVENT_READ)

    def _read(self, descriptor: int) -> int | None:
        """Answers what a process sent; its rank, if its connection ended."""
        peer = self._peers[descriptor]
        try:
            data = peer.connection.recv(1 << 16)
            for message in peer.frames.fed(data):
                self._answer(peer, *message)
        except (OSError, ValueError, TypeError):
            data = b""
        if data:
            return None
        del self._peers[descriptor]
        self._waiting.unregister(descriptor)
        peer.connection.close()
        if peer.rank is not None and self._ranks.pop(peer.rank, None) is not None:
            for other in list(self._ranks.values()):
                _send(other.connection, ("gone", peer.rank))
        return peer.rank

    def _answer(self, peer: _Peer, kind: str, *values: Any) -> None:
        if kind == "join":
            token, rank, size = values
            wrong = (
                "the processes belong to another job" if token != self.token else
                f"it is one of {size} processes, the first one of {self.size}" if size != self.size else
                f"another process has rank {rank}" if rank in self._ranks else None
            )  # fmt: skip
            if wrong is None:
                peer.rank = rank
                self._ranks[rank] = peer
            _send(peer.connection, ("joined", wrong))
        elif kind == "give" and peer.rank is not None:
            name, members, value = values
            given = self._given.setdefault(name, {})
            given[peer.rank] = value
            if len(given) == len(members):
                del self._given[name]
                for rank in members:
                    if rank in self._ranks:
                        _send(self._ranks[rank].connection, ("all", name, [given[member] for member in members]))


def _send(connection: socket.socket, message: Sequence[Any]) -> None:
    try:
        connection.sendall(_frame(message))
    except OSError:  # its end is found by reading
        return


@define(eq=False)
class Rendezvous:
    """This process's connection to the first one."""

    place: Place
    timeout: float
    _connection: socket.socket
    _server: Server | None
    _file: Path | None
    _frames: _Frames = field(init=False, factory=_Frames)
    _answers: dict[str, list[bytes]] = field(init=False, factory=dict)
    _gone: set[int] = field(init=False, factory=set)
    _lock: Lock = field(init=False, factory=lambda: Lock("rendezvous"))

    def exchange(self, name: str, members: Sequence[int], value: bytes) -> list[bytes]:
        """What each of the members gives under that name, by their order; all of them must call.

        Raises CollectiveTimeout where one does not come in time, CollectiveError where one is gone.
        """
        with self._lock:
            _send(self._connection, ("give", name, list(members), value))
        deadline = time.monotonic() + self.timeout
        while True:
            gone = self.gone(0.05)
            with self._lock:
                if name in self._answers:
                    return self._answers.pop(name)
            if missing := sorted(gone.intersection(members)):
                raise CollectiveError(f"{name}: {told(missing)} ended meanwhile; see its own error")
            if time.monotonic() > deadline:
                raise CollectiveTimeout(
                    f"{name}: some of {told(members)} did not come within {self.timeout:g} s; start them all, or give "
                    "init a longer timeout"
                )

    def gone(self, seconds: float = 0.0) -> set[int]:
        """The processes that ended, after waiting up to so long for news."""
        with self._lock:
            try:
                while self._connection.fileno() >= 0 and _has_news(self._connection, seconds):
                    data = self._connection.recv(1 << 16)
                    if not data:
                        raise ConnectionResetError
                    for kind, *values in self._frames.fed(data):
                        if kind == "all":
                            self._answers[values[0]] = values[1]
                        elif kind == "gone":
                            self._gone.add(values[0])
                    seconds = 0.0
            except (OSError, ValueError):
                self._gone.add(0)
            return set(self._gone)

    def leave(self) -> None:
        """Ends the connection, which the others hear of."""
        with self._lock:
            self._connection.close()

    def close(self) -> None:
        """Leaves the job; the first process waits for the others, which would miss it."""
        self.leave()
        if self._server is not None:
            self._server.join(self.timeout)
        if self._file is not None and self.place.rank == 0:
            self._file.unlink(missing_ok=True)


def _has_news(connection: socket.socket, seconds: float) -> bool:
    with selectors.DefaultSelector() as waiting:
        waiting.register(connection, selectors.EVENT_READ)
        return bool(waiting.select(seconds))


def told(ranks: Sequence[int]) -> str:
    """`rank 3`, or `ranks 0, 2`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def meet(place: Place, file: Path | None, timeout: float) -> Rendezvous:
    """Joins the job: by the first process's address, or by a file that all processes see, where that is written.

    Raises CollectiveTimeout where the first process is not found in time, ConfigError where it refuses this one.
    """
    if file is None and place.address is None:
        raise ConfigError("init: no MASTER_ADDR in the environment; set it to the first process's host, or pass a file")
    server = _serve(place, file) if place.rank == 0 else None
    deadline = time.monotonic() + timeout
    own = ("127.0.0.1", [server.listener.getsockname()[1]], server.token) if server is not None else None
    while True:
        where = own or _where(place, file)
        for port in where[1] if where else ():
            assert where is not None
            connection = _connected(where[0], port)
            if connection is not None:
                _join(connection, where[2], place)
                return Rendezvous(place, timeout, connection, server, file)
        if time.monotonic() > deadline:
            at = file if file is not None else f"{place.address}:{place.port}"
            raise CollectiveTimeout(
                f"init: no first process at {at} within {timeout:g} s; start rank 0 and look at its errors"
            )
        time.sleep(_RETRY_S)


def _serve(place: Place, file: Path | None) -> Server:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    alone = place.address in ("127.0.0.1", "localhost")
    for port in range(place.port, place.port + _PORTS) if file is None else (0,):
        try:
            listener.bind(("127.0.0.1" if alone else "", port))
            listener.listen(place.size)
            break
        except OSError:
            continue
    else:
        listener.close()
        raise CollectiveError(
            f"init: ports {place.port} to {place.port + _PORTS - 1} are taken; set MASTER_PORT to a free one"
        )
    token = _job() if file is None else secrets.token_hex(16)
    if file is not None:
        host = place.address or socket.gethostname()
        written = file.with_name(f"{file.name}.{os.getpid()}")
        written.touch(mode=0o600)
        written.write_text(json.dumps([host, listener.getsockname()[1], token]))
        written.replace(file)
    return Server(listener, place.size, token)


def _job() -> str:
    return os.environ.get("TORCHELASTIC_RUN_ID", "")


def _where(place: Place, file: Path | None) -> tuple[str, Sequence[int], str] | None:
    """The first process's host, the ports that it may have, and the job's token; None before it wrote the file."""
    if file is None:
        return place.address or "", range(place.port, place.port + _PORTS), _job()
    try:
        host, port, token = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return host, (port,), token


def _connected(host: str, port: int) -> socket.socket | None:
    """A connection to a first process; None where another program listens, or none."""
    try:
        connection = socket.create_connection((host, port), _GREETING_S)
    except OSError:
        return None
    try:
        if _received(connection, len(_GREETING)) == _GREETING:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _received(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (more := connection.recv(count - len(data))):
        data += more
    return data


def _join(connection: socket.socket, token: str, place: Place) -> None:
    connection.settimeout(None)
    connection.sendall(_frame(("join", token, place.rank, place.size)))
    (length,) = _LENGTH.unpack(_received(connection, _LENGTH.size))
    _, refused = msgpack.unpackb(_received(connection, length))
    if refused is not None:
        connection.close()
        raise ConfigError(f"init: rank {place.rank} is refused: {refused}; start each rank of a job once")
