"""Is every kernel of a package right on a device? Each one is run on random data and compared with float64."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final, Literal

import attrs
import numpy as np
from attrs import frozen

from rocmkern.errors import KernelNotFound, PackageError, RocmkernError
from rocmkern.packages.choice import Choice, KernelTable
from rocmkern.packages.kind import Problem
from rocmkern.packages.package import KernelPackage
from rocmkern.packages.trials import TRIALS
from rocmkern.runtime import Device
from rocmkern.targets import strip_features

Status = Literal["right", "wrong", "failed", "not judged"]
UNNAMED: Final = "no table of its kind names it"


@frozen
class Verdict:
    """What became of one kernel and one problem. `error` is the largest one over what is allowed."""

    kind: str
    arch: str
    file: str
    symbol: str
    problem: str
    status: Status
    error: float | None = None
    seconds: float = 0.0
    reason: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return self.arch, self.file, self.symbol, self.problem


def try_choice(choice: Choice, device: Device) -> Verdict:
    """Run the kernel that was chosen on random data. Its problem is the launch's."""
    began = time.perf_counter()
    error: float | None = None
    status: Status = "failed"
    reason = ""
    try:
        error = TRIALS[choice.kind.name].run(choice, device, np.random.default_rng(0))
        status = "right" if error <= 1 else "wrong"
        if not math.isfinite(error):
            error, reason = None, "a result is no number, or no element that could have been chosen"
    except RocmkernError as fault:
        reason = f"{type(fault).__name__}: {fault}"
    text = ", ".join(f"{key}={value}" for key, value in choice.problem.items() if key != "arch")
    return Verdict(
        choice.kind.name, strip_features(device.info.arch), choice.path.name, choice.row.symbol, text,
        status, error, time.perf_counter() - began, reason,
    )  # fmt: skip


def verify(
    package: KernelPackage,
    device: Device,
    kinds: Collection[str] = (),
    known: Collection[tuple[str, ...]] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Verdict]:
    """A verdict for each kernel of `package` for the device's arch and each problem that it is tried on.

    `kinds`: only these. `known`: keys of verdicts that are left out, those of an earlier run.
    """
    arch = strip_features(device.info.arch)
    wanted = [file for file in package.files if file.arch == arch and (not kinds or file.kind in kinds)]
    left, done = {file.path: file for file in wanted}, 0
    for name, trial in TRIALS.items():
        if kinds and name not in kinds:
            continue
        table = KernelTable.of(package, trial.kind, arch)
        for each in table.tables:
            for row in each.table.rows:
                path = each.file(row)
                done += left.pop(path, None) is not None
                for problem in trial.problems(row, arch):
                    verdict = _of_problem(table, row.symbol, path, device, problem, known)
                    if verdict is not None:
                        yield verdict
                progress(done, len(wanted))
    for path, file in left.items():
        reason = UNNAMED if file.kind in TRIALS else f"kernels of kind {file.kind or 'without a folder'} are not known"
        verdict = Verdict(file.kind, arch, _place(package, path), "", "", "not judged", reason=reason)
        if verdict.key not in known:
            yield verdict


def _place(package: KernelPackage, path: Path) -> str:
    return str(path.relative_to(package.root))


def _of_problem(
    table: KernelTable, symbol: str, path: Path, device: Device, problem: Problem, known: Collection[tuple[str, ...]]
) -> Verdict | None:
    place = _place(table.package, path)
    text = ", ".join(f"{key}={value}" for key, value in problem.items() if key != "arch")
    draft = Verdict(table.kind.name, table.arch, place, symbol, text, "not judged")
    if draft.key in known:
        return None
    try:
        choice = table.named(symbol, device.info.compute_units, "verify", path, **problem)
    except (KernelNotFound, PackageError) as error:
        return attrs.evolve(draft, reason=str(error).partition("rejected, ")[2] or str(error))
    return attrs.evolve(try_choice(choice, device), file=place, problem=text)


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts of an earlier run: a line of JSON each. One that was broken off, the last, is left out."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [Verdict(**json.loads(line)) for line in lines if line.endswith("\n")]


def write_verdict(path: Path, verdict: Verdict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(attrs.asdict(verdict)) + "\n")
