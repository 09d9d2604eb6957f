"""How long a process has been at its work, on a machine where it may wait long for a CPU.

Two things count: the CPU time of all its threads, and the time in which all of them slept. So a case that computes for
ever is overdue, and one that waits for ever: for a lock, or awake for a moment now and then. One whose threads are
ready to run while others have the CPUs, or wait for a disk, is not, however long that takes.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import define, field

LOOK_S: Final = 1.0  # of sleep that one look can tell at most, since what came before it was not seen
SLEEPING: Final = "S"


@define(eq=False)
class WorkClock:
    """Begins with 0 s. Sleep is told by looks, a few in a second; CPU time is exact."""

    process: int
    _began_cpu: float = field(init=False)
    _looked: float = field(factory=time.monotonic, init=False)
    _slept: float = field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        self._began_cpu = cpu_seconds(self.process)

    def look(self) -> float:
        """Seconds until now."""
        now = time.monotonic()
        if is_asleep(self.process):
            self._slept += min(now - self._looked, LOOK_S)
        self._looked = now
        return cpu_seconds(self.process) - self._began_cpu + self._slept


def cpu_seconds(process: int) -> float:
    """CPU time of all threads that a process has had; 0 of one that is gone."""
    try:
        return time.clock_gettime(~process << 3 | 2)  # the number of its clock, as clock_getcpuclockid() makes it
    except OSError:
        return 0.0


def is_asleep(process: int) -> bool:
    """Whether none of its threads is ready to run."""
    states = set[str]()
    for thread in Path(f"/proc/{process}/task").glob("*/stat"):
        with suppress(OSError):  # one that ended meanwhile
            states.add(thread.read_text().rpartition(")")[2].split()[0])
    return states == {SLEEPING}
