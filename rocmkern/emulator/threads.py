"""Threads that outlast what happens to the one that started them: Ctrl-C, a fork, the end of the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from typing import ParamSpec, TypeVar

from attrs import define

P = ParamSpec("P")
T = TypeVar("T")


@define(eq=False)
class Threads:
    """Up to `count` threads. A forked child, which has none of its parent's, starts its own."""

    count: int
    name: str
    _executor: tuple[int, ThreadPoolExecutor] | None = None  # and the process that it is of

    def submit(self, work: Callable[..., T], *arguments: object) -> Future[T] | None:
        """Have a thread do the work; None where the process ends, and starts no more."""
        process = os.getpid()
        if self._executor is None or self._executor[0] != process:
            self._executor = process, ThreadPoolExecutor(self.count, thread_name_prefix=self.name)
        try:
            return self._executor[1].submit(work, *arguments)
        except RuntimeError:
            return None


def whole(work: Callable[P, T]) -> Callable[P, T]:
    """`work`, which no signal breaks off.

    Python runs handlers in the main thread, where they may raise anywhere, so the main thread has another one do it and
    waits. Interrupted, it waits no longer; the work goes on.
    """

    @wraps(work)
    def sheltered(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.current_thread() is not threading.main_thread():
            return work(*args, **kwargs)
        outcome = Future[T]()

        def run() -> None:
            try:
                outcome.set_result(work(*args, **kwargs))
            except BaseException as error:
                outcome.set_exception(error)

        try:
            threading.Thread(target=run, name=f"rocmkern-{work.__name__}").start()
        except RuntimeError:  # the process ends
            return work(*args, **kwargs)
        return outcome.result()

    return sheltered
