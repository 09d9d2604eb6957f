"""From problems to rows of a tuned table: every instance of every problem that has no row yet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.errors import ConfigError
from rocmkern.kernels import families
from rocmkern.kernels.csv_table import read_csv
from rocmkern.kernels.tunable import Instance
from rocmkern.ops import tuned
from rocmkern.tuning import problems
from rocmkern.tuning.problems import Problem
from rocmkern.tuning.process import Worker

COLUMNS: Final = (
    "gfx", "cu_num", "M", "N", "K", "dtype", "kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio",
)  # fmt: skip
_KEY: Final = COLUMNS[:6]
_WORTH: Final = 1.02  # an earlier candidate wins unless another is faster than this


@frozen
class Candidate:
    """What came of one instance, or of the operation by itself; `error` says why it has no time."""

    instance: Instance | None
    microseconds: float | None
    error_ratio: float | None
    error: str | None

    @property
    def name(self) -> str:
        return tuned.DEFAULT if self.instance is None else self.instance.name


@frozen
class Result:
    """All candidates of a problem, first the operation by itself; the best, None where none was right."""

    problem: Problem
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        timed = [(c.microseconds, c) for c in self.candidates if c.microseconds is not None]
        if not timed:
            return None
        least = min(us for us, _ in timed)
        return next(c for us, c in timed if us <= least * _WORTH)

    @property
    def default_microseconds(self) -> float | None:
        return next((c.microseconds for c in self.candidates if c.instance is None), None)


def key(problem: Problem, device: DeviceInfo) -> tuple[object, ...]:
    """The columns that a table's rows are told apart by."""
    return device.target, device.compute_units, *problem.key, problem.dtype


def already_tuned(path: Path) -> set[tuple[object, ...]]:
    """The keys of a table's rows. Raises ConfigError for a file that is no such table."""
    if not path.exists():
        return set()
    header, lines = read_csv(path)
    if header != COLUMNS:
        raise ConfigError(f"tune: {path.name} has other columns than {', '.join(COLUMNS)}; name another file")
    return {tuple(cells[name] for name in _KEY) for _, cells in lines}


def append(path: Path, result: Result, device: DeviceInfo) -> None:
    """Adds the best candidate of a problem to a table, which is begun where it is not there."""
    best = result.best
    assert best is not None
    _write(path, COLUMNS, [_row(result.problem, best, device)])


def append_candidates(path: Path, result: Result, device: DeviceInfo) -> None:
    """Adds every candidate of a problem to a profile: a table with errors, in which nothing is chosen."""
    rows = [(*_row(result.problem, c, device), c.error or "") for c in result.candidates]
    _write(path, (*COLUMNS, "error"), rows)


def _row(problem: Problem, candidate: Candidate, device: DeviceInfo) -> tuple[object, ...]:
    us = candidate.microseconds
    speeds = ("", "", "") if us is None else (f"{us:.3f}", problem.operations / us / 1e6, problem.nbytes / us / 1e3)
    time, tflops, bandwidth = (value if isinstance(value, str) else f"{value:.4g}" for value in speeds)
    number, splits = (-1, 0) if candidate.instance is None else (candidate.instance.number, candidate.instance.splits)
    ratio = "" if candidate.error_ratio is None else f"{candidate.error_ratio:.4g}"
    return *key(problem, device), number, splits, time, candidate.name, tflops, bandwidth, ratio


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not begun:
            writer.writerow(columns)
        writer.writerows(rows)


def tune(
    todo: Sequence[Problem], worker: Worker, *, seconds: float, tried: Callable[[Problem, Candidate], None]
) -> Iterator[Result]:
    """Measures every instance of each problem, and the operation by itself; `tried` hears of each."""
    for problem in todo:
        candidates = []
        for instance in (None, *families.instances(problem.op, problem.dtype)):
            request = {"problem": problems.as_dict(problem), "instance": None if instance is None else instance.name}
            reply = worker.ask(request, seconds)
            candidates.append(Candidate(instance, reply.get("us"), reply.get("errRatio"), _why_not(reply)))
            tried(problem, candidates[-1])
        yield Result(problem, tuple(candidates))


def _why_not(reply: dict[str, object]) -> str | None:
    if "error" in reply:
        return str(reply["error"])
    return f"{float(str(reply['errRatio'])):.3%} of the result is wrong" if reply["us"] is None else None
