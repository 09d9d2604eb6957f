"""Does a package hold what its tables promise? Files, symbols, archs, arguments, LDS, tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from attrs import define, field, frozen

from rocmkern.errors import PackageError
from rocmkern.packages import faults
from rocmkern.packages.package import KernelFile, KernelPackage, PackagedTable
from rocmkern.packages.tables import KernelRow


@frozen
class Finding:
    """Something wrong: which rule, where, and what the file or row says."""

    rule: str
    place: str
    fact: str

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.fact}"


@define(eq=False)
class Report:
    """What check() found, and the totals."""

    root: Path
    files: int = 0
    rows: int = 0
    matching: int = 0
    in_subfolders: int = 0
    dangling: int = 0
    unlisted: int = 0
    by_arch: Counter[str] = field(factory=Counter)
    findings: list[Finding] = field(factory=list)

    def totals(self) -> dict[str, int]:
        return {
            "files": self.files,
            "rows": self.rows,
            "matching rows": self.matching,
            "rows with files in sub-folders": self.in_subfolders,
            "dangling rows": self.dangling,
            "files in no table": self.unlisted,
            **{f"files for {arch}": count for arch, count in sorted(self.by_arch.items())},
        }


@define(eq=False)
class _Checker:
    package: KernelPackage
    report: Report

    def say(self, rule: str, place: str, fact: str) -> None:
        self.report.findings.append(Finding(rule, place, fact))

    def file(self, file: KernelFile) -> None:
        place = str(file.path.relative_to(self.package.root))
        self.report.files += 1
        self.report.by_arch[file.arch] += 1
        try:
            code = self.package.code(file.path)
        except PackageError as error:
            self.say("readable", place, str(error))
            return
        for fault in faults.of_code(code, file.arch):
            self.say(fault.rule, place, fault.fact)
        for kernel in code.kernels.values():
            end = max((a.end for a in kernel.arguments), default=0)
            if end > kernel.kernarg_size:
                self.say(
                    "argument block", place, f"arguments end at {end}, kernarg_segment_size is {kernel.kernarg_size}"
                )

    def table(self, table: PackagedTable) -> None:
        place = str(table.table.path.relative_to(self.package.root))
        seen: dict[tuple[object, ...], int] = {}
        for row in table.table.rows:
            self.report.rows += 1
            key = (row.symbol, *row.values.values())
            if key in seen:
                self.say("duplicate key", f"{place}:{row.line}", f"the same row as line {seen[key]}")
            seen.setdefault(key, row.line)
            self._row(table, row, f"{place}:{row.line}")

    def _row(self, table: PackagedTable, row: KernelRow, place: str) -> None:
        fault = faults.of_row(self.package, table, row)
        if fault is None:
            self.report.matching += 1
            return
        if self.package.absence(table.file(row)) is not None:
            is_elsewhere = bool(self.package.elsewhere(table, row))
            self.report.in_subfolders += is_elsewhere
            self.report.dangling += not is_elsewhere
            if is_elsewhere:  # the caller chooses among them
                return
        self.say(fault.rule, place, fault.fact)


def check(package: KernelPackage, progress: Callable[[int, int], None] = lambda done, total: None) -> Report:
    """Reads every file and table of `package` and reports what does not fit together."""
    checker = _Checker(package, Report(package.root))
    for done, file in enumerate(package.files, 1):
        checker.file(file)
        progress(done, len(package.files))
    for table in package.tables:
        checker.table(table)
    listed = {table.file(row) for table in package.tables for row in table.table.rows}
    checker.report.unlisted = sum(file.path not in listed for file in package.files)
    return checker.report
