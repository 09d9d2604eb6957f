"""Locks between threads and processes. A forked child finds all of them open: the threads that held them are not there.

Finalisers wait for none: the garbage collector runs them in the middle of anything, also where their own thread holds
the lock. What they can't do at once they queue for somebody else.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, Protocol, TypeVar, overload
from weakref import WeakSet

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class Renewed(Protocol):
    """What has a state that other threads were changing when the process forked."""

    def renew(self) -> None:
        """Makes it usable in the child."""


class Lock:
    """Held by one thread, which must not take it again."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.renew()
        _locks.add(self)

    def renew(self) -> None:
        """Opens it, in a child where nobody holds it."""
        self._lock: Any = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    @contextmanager
    def if_free(self) -> Iterator[bool]:
        """Held within, unless somebody holds it already: whether it is. Waits for nobody."""
        lock = self._lock
        has = lock.acquire(blocking=False)
        try:
            yield has
        finally:
            if has:
                lock.release()


class ReentrantLock(Lock):
    """Held by one thread, which may take it again."""

    def renew(self) -> None:
        self._lock = threading.RLock()


class Condition(ReentrantLock):
    """A lock whose holder can wait until another thread says that what it holds has changed."""

    def renew(self) -> None:
        self._lock = threading.Condition()

    def wait(self) -> None:
        self._lock.wait()

    def notify_all(self) -> None:
        self._lock.notify_all()


_locks: Final = WeakSet[Lock]()
_renewed: Final = WeakSet[Renewed]()
_files: Final = set[int]()  # descriptors that some thread holds, or waits for


def renew_in_children(thing: Renewed) -> None:
    """Has `thing.renew()` called in a forked child, when all locks are open."""
    _renewed.add(thing)


def _renew() -> None:
    while _files:
        os.close(_files.pop())  # or the child would share the lock, and wait for itself
    for lock in _locks:
        lock.renew()
    for thing in _renewed:
        thing.renew()


os.register_at_fork(after_in_child=_renew)


@contextmanager
def file_locked(descriptor: int) -> Iterator[None]:
    """Of several processes that open a file, one at a time; the system lets go of the lock when its owner dies."""
    _files.add(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing would not do while a child has it open
    finally:
        _files.discard(descriptor)


class lazy(Generic[Owner, Value]):  # noqa: N801 - it reads like property
    """An attribute that is worked out when it is first asked for, by each thread that asks before one is done: before
    Python 3.12, cached_property holds a lock of its own meanwhile.
    """

    def __init__(self, work_out: Callable[[Owner], Value]) -> None:
        self._work_out, self._name, self.__doc__ = work_out, work_out.__name__, work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> lazy[Owner, Value]: ...
    @overload
    def __get__(self, owner: Owner, kind: type) -> Value: ...
    def __get__(self, owner: Owner | None, kind: type) -> Any:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work_out(owner)
        return value
