"""A stream of the emulator: a thread that runs the work given to it in order."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from attrs import define, field

Task = Callable[[], None]


@define(eq=False)
class Mark:
    """One recording of an event: set when the work before it is done, with the time at which that was."""

    _reached: threading.Event = field(init=False, factory=threading.Event)
    seconds: float = field(init=False, default=0.0)

    def set(self) -> None:
        self.seconds = time.perf_counter()
        self._reached.set()

    def wait(self) -> None:
        self._reached.wait()

    @property
    def is_reached(self) -> bool:
        return self._reached.is_set()


@define(eq=False)
class WorkQueue:
    """Tasks run in the order of submit(). A task's error is kept and raised by the next synchronize(); the tasks after
    it still run, since events that others wait for may be among them.
    """

    _tasks: queue.SimpleQueue[Task | None] = field(init=False, factory=queue.SimpleQueue)
    _error: BaseException | None = field(init=False, default=None)
    _thread: threading.Thread | None = field(init=False, default=None)

    def submit(self, task: Task) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rocmkern-stream", daemon=True)
            self._thread.start()
        self._tasks.put(task)

    def record(self) -> Mark:
        """A mark at the present end of the queue."""
        mark = Mark()
        if self._thread is None:
            mark.set()
        else:
            self.submit(mark.set)
        return mark

    def drain(self) -> None:
        """Waits for all tasks; errors stay for synchronize()."""
        if self._thread is None:
            return
        self.record().wait()

    def synchronize(self) -> None:
        self.drain()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        self.drain()
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._attempt(task)

    def _attempt(self, task: Task) -> None:
        try:
            task()
        except BaseException as error:
            self._error = self._error or error
