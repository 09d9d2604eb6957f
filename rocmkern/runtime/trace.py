"""Which kernels ran, how often and how long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from rocmkern.errors import TraceError

if TYPE_CHECKING:
    from rocmkern.drivers.protocol import Driver

active: Trace | None = None


@frozen
class KernelTime:
    """The launches of one kernel and their time together, in milliseconds by the device's events."""

    kernel: str
    launches: int
    milliseconds: float


@define(eq=False)
class Trace:
    """Records every launch of the process while it is entered: `with rk.Trace() as trace: …; trace.totals()`.

    Timing events lie between the launches, so a trace costs some microseconds a launch.
    """

    _events: list[tuple[str, Driver, int, int]] = field(init=False, factory=list)
    _totals: list[KernelTime] = field(init=False, factory=list)

    def __enter__(self) -> Trace:
        global active
        if active is not None:
            raise TraceError("trace: another trace is entered already; leave it first")
        active = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        global active
        active = None
        self._collect()

    @contextmanager
    def timed(self, kernel: str, driver: Driver, stream: int) -> Iterator[None]:
        """Puts a launch between two events; one that fails is not counted."""
        start, stop = driver.create_event(), driver.create_event()
        try:
            driver.record_event(start, stream)
            yield
            driver.record_event(stop, stream)
        except BaseException:
            driver.destroy_event(start)
            driver.destroy_event(stop)
            raise
        self._events.append((kernel, driver, start, stop))

    def _collect(self) -> None:
        times: dict[str, list[float]] = {}
        for name, driver, start, stop in self._events:
            driver.synchronize_event(stop)
            times.setdefault(name, []).append(driver.elapsed_ms(start, stop))
            driver.destroy_event(start)
            driver.destroy_event(stop)
        self._events.clear()
        rows = [KernelTime(name, len(each), sum(each)) for name, each in times.items()]
        self._totals = sorted(rows, key=lambda row: -row.milliseconds)

    def totals(self) -> list[KernelTime]:
        """One row per kernel, the longest first; empty until the trace is left."""
        return self._totals
