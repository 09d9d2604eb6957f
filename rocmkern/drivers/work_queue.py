"""A stream of the emulator: a thread that runs the work given to it in order."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from attrs import define, field

from rocmkern.errors import ClosedError, DriverError, together
from rocmkern.locks import Lock

MOST_ERRORS: Final = 16  # that a stream keeps: each keeps what its task used
Task = Callable[[], None]


def _lost(what: str) -> DriverError:
    return DriverError(
        f"{what}: the process forked before it was done, and the child has no thread for it; "
        "synchronize before a fork, or start the child by spawn"
    )


@define(eq=False)
class Mark:
    """One recording of an event: set when the work before it is done, with the time at which that was."""

    _reached: threading.Event = field(init=False, factory=threading.Event)
    _error: DriverError | None = field(init=False, default=None)
    seconds: float = field(init=False, default=0.0)

    def set(self) -> None:
        self.seconds = time.perf_counter()
        self._reached.set()

    def wait(self) -> None:
        """Waits until it is set. Raises DriverError in a forked child, where it never will be."""
        if not self.is_reached:
            self._reached.wait()

    @property
    def is_reached(self) -> bool:
        if self._error is not None:
            raise self._error
        return self._reached.is_set()

    def renew(self) -> None:
        """In a forked child: the threads that set and wait are not there."""
        if not self._reached.is_set():
            self._error = _lost("event")


@define(eq=False)
class WorkQueue:
    """Tasks run in the order of submit(). A task's error is kept and raised by the next synchronize(); the tasks after
    it still run, since events that others wait for may be among them. Of their errors the next few are told as well.
    """

    _tasks: queue.SimpleQueue[Task | Mark | None] = field(init=False, factory=queue.SimpleQueue)
    _given: int = field(init=False, default=0)  # tasks
    _done: int = field(init=False, default=0)
    _last: Mark | None = field(init=False, default=None)  # recorded behind all tasks so far
    _errors: deque[BaseException] = field(init=False, factory=deque)
    _thread: threading.Thread | None = field(init=False, default=None)
    _end: Mark | None = field(init=False, default=None)  # behind all work, once it is closed
    _lock: Lock = field(init=False, factory=lambda: Lock("stream"))  # on giving work and on closing

    def submit(self, task: Task) -> None:
        """Have the thread run a task when it is done with those before. Raises ClosedError."""
        with self._lock:
            if self._end is not None:
                raise ClosedError("stream: it is closed; create another")
            if self._thread is None:
                self._thread = self._started()
            self._given += 1
            self._last = None
            self._tasks.put(task)

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="rocmkern-stream", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise DriverError(f"stream: {error}; use the default stream, or close others") from None
        return thread

    @property
    def is_idle(self) -> bool:
        """Whether all tasks are done."""
        return self._done == self._given

    def record(self) -> Mark:
        """A mark at the present end of the queue."""
        with self._lock:
            if self._end is not None:
                return self._end
            if self._last is not None and not self._last.is_reached:
                return self._last
            mark = Mark()
            if self.is_idle:
                mark.set()
            else:
                self._tasks.put(mark)
                self._last = mark
            return mark

    def drain(self) -> None:
        """Waits for all tasks; errors stay for synchronize()."""
        if not self.is_idle:
            self.record().wait()

    def synchronize(self) -> None:
        self.drain()
        errors = self.take_errors()
        if errors:
            raise together(errors)

    def take_errors(self) -> list[BaseException]:
        """The first errors since the last call."""
        errors = list[BaseException]()
        while self._errors:
            with suppress(IndexError):  # another thread took the last one
                errors.append(self._errors.popleft())
        return errors

    def close(self) -> None:
        """Takes no more work, and waits until what it has is done."""
        with self._lock:
            self._finish()
        if self._thread is not None:
            self._thread.join()

    def close_if_idle(self) -> bool:
        """Takes no more work where none is left; whether that is so. Waits neither for a lock nor for the thread."""
        with self._lock.if_free() as has:
            if has and self.is_idle:
                self._finish()
            return has and self._end is not None

    def _finish(self) -> None:
        if self._end is not None:
            return
        mark = self._end = Mark()
        if self._thread is None:
            mark.set()
        else:
            self._tasks.put(mark)
            self._tasks.put(None)

    def renew(self) -> None:
        """In a forked child: the thread is not there. Work that it had not done is an error of synchronize()."""
        if not self.is_idle:
            self._errors.append(_lost("stream"))
        self._tasks, self._thread = queue.SimpleQueue(), None
        self._given, self._done, self._last = 0, 0, None
        if self._end is not None:
            self._end = Mark()
            self._end.set()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            if isinstance(task, Mark):
                task.set()
                continue
            try:
                task()
            except BaseException as error:
                if len(self._errors) < MOST_ERRORS:
                    self._errors.append(error)
            self._done += 1  # before a mark behind it wakes those who wait
