"""Measuring one candidate: first whether it is right, then how long it takes."""

from __future__ import annotations

import statistics
from contextlib import nullcontext
from typing import Any, Final

import numpy as np
from attrs import Factory, define, field, frozen

from rocmkern.errors import ConfigError
from rocmkern.kernels import families
from rocmkern.kernels.tunable import Instance
from rocmkern.ops import tuned
from rocmkern.runtime import Device, DeviceMemory, KernelTime, Trace
from rocmkern.tuning.problems import Array, Problem, Run

_FLUSHED_BYTES: Final = 1 << 28  # more than any cache holds; filling it keeps the device busy while launches queue up


def is_emulator(device: Device) -> bool:
    """Whether a device's times say nothing of a GPU."""
    return device.info.name.startswith("emulator")


@frozen
class Measurement:
    """The share of wrong elements, and the median time of the operation's kernels; no time where any is wrong."""

    error_ratio: float
    microseconds: float | None


@define(eq=False)
class Clock:
    """Times kernels by events around their launches, behind a fill that leaves the caches cold."""

    device: Device
    _flushed: DeviceMemory | None = field(init=False, default=None)

    def kernels(self, run: Run) -> list[KernelTime]:
        """The kernels of one call."""
        if not is_emulator(self.device):
            if self._flushed is None:
                self._flushed = self.device.alloc(_FLUSHED_BYTES)
            self._flushed.fill(0)
        with Trace() as trace:
            run()
        return trace.totals()


@define(eq=False)
class Bench:
    """Candidates of one problem at a time on a device; operands and answer are made once a problem."""

    device: Device
    warmup: int
    iterations: int
    _problem: Problem | None = field(init=False, default=None)
    _prepared: tuple[Run, Array, Array] | None = field(init=False, default=None)
    _clock: Clock = field(init=False, default=Factory(lambda self: Clock(self.device), takes_self=True))

    def measure(self, problem: Problem, instance: Instance | None) -> Measurement:
        """`instance` None is the operation by itself. Raises ConfigError where it uses none of the kernels."""
        if problem != self._problem or self._prepared is None:
            self._problem, self._prepared = problem, problem.prepare(self.device)
        run, wanted, scale = self._prepared
        symbols = self._symbols(problem, instance)
        with nullcontext() if instance is None else tuned.forced(instance):
            with Trace() as trace:
                came = run().numpy()
            if not symbols & {row.kernel for row in trace.totals()}:
                raise ConfigError(f"{problem.op} of these sizes uses none of the tuned kernels")
            ratio = error_ratio(came, wanted, scale, problem.tolerance)
            if ratio:
                return Measurement(ratio, None)
            times = [self._time(run, symbols) for _ in range(self.warmup + self.iterations)]
        return Measurement(0.0, statistics.median(times[self.warmup :]))

    def _symbols(self, problem: Problem, instance: Instance | None) -> set[str]:
        found = families.instances(problem.op, problem.dtype) if instance is None else (instance,)
        return {kernel.symbol for each in found for kernel in each.kernels}

    def _time(self, run: Run, symbols: set[str]) -> float:
        """Microseconds that the kernels of these names take."""
        return 1000 * sum(row.milliseconds for row in self._clock.kernels(run) if row.kernel in symbols)


def error_ratio(came: Array, wanted: Array, scale: Array, tolerance: float) -> float:
    """The share of elements further from the answer than `tolerance` times their scale; NaN is far from everything."""
    if came.shape != wanted.shape:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = wanted.astype(came.dtype)
        if not tolerance:
            return float(np.mean(~_equal(came, rounded))) if came.size else 0.0
        distance = np.abs(came.astype(np.float64) - rounded.astype(np.float64))
    return float(np.mean(~(distance <= tolerance * scale))) if came.size else 0.0


def _equal(x: Array, y: Array) -> Any:
    return x.astype(np.float64) == y.astype(np.float64) if x.dtype.kind not in "iu" else x == y
