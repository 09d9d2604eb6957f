"""Runs many cases in worker processes. That one dies or hangs is a finding, and the others go on."""

from __future__ import annotations

import json
import mmap
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, Final

from attrs import asdict, define, field, frozen

from tests.fuzz.clock import WorkClock
from tests.fuzz.kind import Kind
from tests.fuzz.worker import CASE, Finding, Report, Worker, note_case

HANG_S: Final = 10.0  # of work, as WorkClock counts it
START_S: Final = 120.0  # to make what cases share
TELL_S: Final = 10.0  # between two lines of progress
CHUNK: Final = 16  # batches that a worker gets at once
FORK: Final = multiprocessing.get_context("fork")  # a new worker then costs no imports
KEPT_SEEDS: Final = 40  # of findings alike
CRASHES: Final = ("Fatal Python error", "Windows fatal")

Range = tuple[int, int, bool]  # first seed, the one behind the last, whether to run them one by one


@frozen
class Alike:
    """Findings of one kind in one place."""

    what: str
    where: str
    message: str
    count: int
    seeds: tuple[int, ...]


@define(eq=False)
class Result:
    """What a campaign came to."""

    kind: str
    target: str
    cases: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    outcomes: Counter[str] = field(factory=Counter)
    findings: list[Finding] = field(factory=list)

    def add(self, report: Report) -> None:
        self.cases += report.next - report.first
        self.outcomes += report.outcomes
        self.findings += report.findings

    def alike(self) -> list[Alike]:
        """The findings, those of one kind and place together, the most frequent first."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            groups.setdefault((finding.what, finding.where), []).append(finding)
        found = [
            Alike(what, where, group[0].message, len(group), tuple(f.seed for f in group[:KEPT_SEEDS]))
            for (what, where), group in groups.items()
        ]
        return sorted(found, key=lambda one: -one.count)

    def summary(self) -> str:
        """For people."""
        rate = self.cases / max(self.seconds, 1e-9)
        head = f"{self.kind} {self.target}: {self.cases:,} cases in {self.seconds:.0f} s, {rate:,.0f} a second"
        ends = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common())
        lines = [
            f"{one.count} × {one.what} in {one.where}: {one.message} (seeds {list(one.seeds[:5])})"
            for one in self.alike()
        ]
        return "\n  ".join([head, ends, *(lines or ["no findings"])])

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "target": self.target, "cases": self.cases, "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1), "outcomes": dict(self.outcomes.most_common()),
            "findings": [asdict(one) for one in self.alike()],
        }  # fmt: skip


@define(eq=False)
class Crew:
    """A worker process as the campaign sees it."""

    process: ForkProcess
    connection: connection.Connection
    shared: mmap.mmap
    log: Path
    range: Range | None = None  # what of its work it has not reported yet
    is_ready: bool = False
    _clock: WorkClock = field(init=False)  # of the case that runs, at first of what they share
    _clocked: tuple[int, float] = (-1, 0.0)

    def __attrs_post_init__(self) -> None:
        self._clock = WorkClock(self.process.pid or 0)

    @property
    def case(self) -> tuple[int, float]:
        """The seed that runs, -1 for none, and when it began."""
        return CASE.unpack_from(self.shared, 0)

    def is_overdue(self, hang_s: float) -> bool:
        """Whether the case, or what comes before the first one, has been at work for too long."""
        if not self.is_ready:
            return self._clock.look() > START_S
        case = self.case
        if case[0] < 0:
            return False
        if case != self._clocked:
            self._clocked, self._clock = case, WorkClock(self.process.pid or 0)
        return self._clock.look() > hang_s


@define(eq=False)
class Campaign:
    """Cases `first` up to `first + cases` of a kind."""

    kind: Kind
    first: int
    cases: int
    jobs: int = 1
    tell: Callable[[str], None] = lambda line: None
    hang_s: float = HANG_S
    result: Result = field(init=False)
    _todo: deque[Range] = field(init=False)
    _crew: list[Crew] = field(factory=list)
    _folder: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="fuzz-")))

    def __attrs_post_init__(self) -> None:
        self.result = Result(self.kind.name, self.kind.target)
        size = self.kind.batch * CHUNK
        last = self.first + self.cases
        self._todo = deque((start, min(start + size, last), False) for start in range(self.first, last, size))

    def run(self) -> Result:
        """Run all cases to their end."""
        began, told = time.monotonic(), time.monotonic()
        before = os.times()
        try:
            while self._todo or any(one.range for one in self._crew):
                while len(self._crew) < min(self.jobs, len(self._crew) + len(self._todo)):
                    self._hire()
                self._wait()
                now = time.monotonic()
                for one in [c for c in self._crew if c.is_overdue(self.hang_s)]:
                    self._kill(one)
                if now - told > TELL_S:
                    told = now
                    self.tell(self._progress(now - began))
        finally:
            for one in list(self._crew):
                self._dismiss(one)
        after = os.times()
        self.result.seconds = time.monotonic() - began
        self.result.cpu_seconds = (
            after.children_user + after.children_system - before.children_user - before.children_system
        )
        return self.result

    def _progress(self, seconds: float) -> str:
        done = self.result
        return (
            f"{done.kind} {done.target}: {done.cases:,} of {self.cases:,}, {done.cases / seconds:,.0f} a second,"
            f" {len(done.findings)} findings"
        )

    def _hire(self) -> None:
        ours, theirs = FORK.Pipe()
        shared = mmap.mmap(-1, mmap.PAGESIZE)
        note_case(shared, -1)
        log = self._folder / f"{time.monotonic_ns()}.log"
        process = FORK.Process(target=_live, args=(self.kind, theirs, shared, log, ours), daemon=True)
        process.start()
        theirs.close()
        self._crew.append(Crew(process, ours, shared, log))

    def _wait(self) -> None:
        """Take what workers say, and see who died."""
        by_pipe = {one.connection: one for one in self._crew}
        for pipe in connection.wait(list(by_pipe), timeout=0.2):
            one = by_pipe[pipe]  # type: ignore[index]
            try:
                said = one.connection.recv()
            except (EOFError, OSError):
                self._bury(one, "death")
                continue
            if said is None:
                one.is_ready = True
            else:
                self._take(one, said)
            if one in self._crew and one.range is None:
                self._give(one)

    def _give(self, one: Crew) -> None:
        if self._todo:
            one.range = self._todo.popleft()
            one.connection.send(one.range)

    def _take(self, one: Crew, report: Report) -> None:
        assert one.range is not None
        _, last, single = one.range
        if report.repeat:
            self._todo.appendleft((report.first, report.next, True))
        else:
            self.result.add(report)
        one.range = (report.next, last, single) if report.next < last else None
        if report.ends:
            if one.range is not None:
                self._todo.appendleft(one.range)
                one.range = None
            self._dismiss(one)

    def _kill(self, one: Crew) -> None:
        """End a worker that hangs, after it said where."""
        os.kill(one.process.pid or 0, signal.SIGUSR1)
        time.sleep(0.3)
        one.process.kill()
        self._bury(one, "hang")

    def _bury(self, one: Crew, what: str) -> None:
        """Note whose case ended a worker, and let others do what it left."""
        one.process.join(5)
        seed, _ = one.case
        code = one.process.exitcode
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit {code}"
        self._crew.remove(one)
        log = one.log.read_text(errors="replace") if one.log.exists() else ""
        if one.range is None or seed < 0:
            if not one.is_ready or one.range is None or one.range[2]:
                raise RuntimeError(f"a worker for {self.kind.name} ended between cases: {name}\n{log[-2000:]}")
            first, last, _ = one.range  # one of these left something behind: each with a look at it
            self._todo.appendleft((first, last, True))
            return
        where = name if what == "death" else "watchdog"
        self.result.findings.append(Finding(what, seed, f"{where}: {crash(log)}", log[-400:]))
        self.result.cases += 1
        self.result.outcomes[what] += 1
        first, last, single = one.range
        for left in ((seed + 1, last, single), (first, seed, single)):
            if left[0] < left[1]:
                self._todo.appendleft(left)

    def _dismiss(self, one: Crew) -> None:
        if one.process.is_alive():
            with suppress(OSError):
                one.connection.send(None)
            one.process.join(2)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
        one.connection.close()
        self._crew.remove(one)


def _live(kind: Kind, pipe: connection.Connection, shared: mmap.mmap, log: Path, other_end: Any) -> None:
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Worker(kind, pipe, shared, log).live()


def crash(log: str) -> str:
    """The innermost place of the library that a log of faulthandler names."""
    for line in log.splitlines():
        if "/rocmkern/" in line and line.strip().startswith("File"):
            path, _, rest = line.strip().removeprefix('File "').partition('", line ')
            number, _, function = rest.partition(" in ")
            return f"{path.rpartition('/rocmkern/')[2]}:{number} in {function}"
    return "no place of the library"


def write(results: list[Result], path: Path) -> None:
    """Keep what campaigns came to."""
    path.write_text(json.dumps([one.as_dict() for one in results], indent=1) + "\n", "utf-8")


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
