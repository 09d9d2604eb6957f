"""What a trace tells of the launches inside it."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import DriverError, LaunchError, TraceError

DEVICE = "emulator:gfx942"
N = 1 << 18


def test_launches_are_counted_and_timed() -> None:
    """Each kernel with its launches; times are positive and no longer than what passed, the longest first."""
    device = rk.Device(DEVICE)
    x = rk.asarray(np.ones(N, np.float32), device=device)
    began = time.perf_counter()
    with rk.Trace() as trace:
        for _ in range(3):
            rk.exp(x)
        rk.negative(x)
    passed = 1e3 * (time.perf_counter() - began)
    rk.exp(x)
    rows = {row.kernel: row for row in trace.totals()}
    assert {name: row.launches for name, row in rows.items()} == {"uexp_f32": 3, "uneg_f32": 1}
    times = [row.milliseconds for row in trace.totals()]
    assert times == sorted(times, reverse=True)
    assert min(times) > 0
    assert sum(times) <= passed


def test_a_refused_launch_is_not_counted() -> None:
    """A launch that the check refuses leaves the trace usable."""
    device = rk.Device(DEVICE)
    memory = device.alloc(256)
    fill = rk.get_kernel("fill", "fill_f32", device)
    with rk.Trace() as trace:
        with pytest.raises(LaunchError):
            fill(memory, 1.0, 64, grid=1, block=4096)
        fill(memory, 1.0, 64, grid=1, block=64)
    assert [(row.kernel, row.launches) for row in trace.totals()] == [("fill_f32", 1)]


def test_a_launch_that_fails_gives_its_events_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not counted, and the driver keeps nothing of it."""
    device = rk.Device(DEVICE)
    x, kind, events = rk.asarray(np.ones(64, np.float32), device=device), type(device.driver), set()
    create, destroy = kind.create_event, kind.destroy_event

    def created(driver: Any) -> int:
        events.add(event := create(driver))
        return event

    def destroyed(driver: Any, event: int) -> None:
        events.remove(event)
        destroy(driver, event)

    def fails(*_: Any) -> None:
        assert len(events) == 2
        raise DriverError("launch: no")

    monkeypatch.setattr(kind, "create_event", created)
    monkeypatch.setattr(kind, "destroy_event", destroyed)
    monkeypatch.setattr(kind, "launch", fails)
    with rk.Trace() as trace, pytest.raises(DriverError):
        rk.exp(x)
    assert trace.totals() == [] and not events


def test_threads_are_told_apart() -> None:
    """Every launch of several threads counts under its own name."""
    device = rk.Device(DEVICE)
    x = rk.asarray(np.ones(64, np.float32), device=device)
    calls = (rk.exp, rk.negative, rk.sqrt, rk.floor)

    def run(call: Any) -> None:
        for _ in range(100):
            call(x)

    with rk.Trace() as trace:
        threads = [threading.Thread(target=run, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    counted = {row.kernel: row.launches for row in trace.totals()}
    assert counted == dict.fromkeys(("uexp_f32", "uneg_f32", "usqrt_f32", "ufloor_f32"), 100)


def test_traces_do_not_nest() -> None:
    """A second trace inside the first is refused; afterwards a new one works."""
    with rk.Trace(), pytest.raises(TraceError, match="leave it first"), rk.Trace():
        pass
    with rk.Trace() as trace:
        pass
    assert trace.totals() == []
