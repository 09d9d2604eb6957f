"""Does a package hold what its tables promise? Files, symbols, archs, arguments, LDS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from attrs import define, field, frozen

from rocmkern import codeobject
from rocmkern.codeobject import CodeObject
from rocmkern.errors import CodeObjectError
from rocmkern.packages.kinds import KINDS
from rocmkern.packages.package import KernelFile, KernelPackage, PackagedTable
from rocmkern.packages.tables import KernelRow
from rocmkern.targets import TARGETS, strip_features


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
    codes: dict[Path, CodeObject] = field(factory=dict)

    def say(self, rule: str, place: str, fact: str) -> None:
        self.report.findings.append(Finding(rule, place, fact))

    def file(self, file: KernelFile) -> None:
        place = str(file.path.relative_to(self.package.root))
        self.report.files += 1
        self.report.by_arch[file.arch] += 1
        try:
            code = self.codes[file.path] = codeobject.read(file.path.read_bytes())
        except CodeObjectError as error:
            self.say("readable", place, str(error))
            return
        if strip_features(code.target) != file.arch:
            self.say("arch of folder", place, f"the ELF is for {code.target}")
        if code.undefined_symbols:
            self.say("undefined symbols", place, ", ".join(code.undefined_symbols))
        row = TARGETS.get(file.arch)
        for kernel in code.kernels.values():
            if row is not None and kernel.lds_size > row.lds_bytes:
                self.say("LDS", place, f"{kernel.lds_size} bytes, {file.arch} has {row.lds_bytes}")
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
        code = self.codes.get(table.file(row))
        if code is None:
            variants = self.package.elsewhere(table, row)
            self.report.in_subfolders += bool(variants)
            self.report.dangling += not variants
            if not variants:
                self.say("file present", place, f"{row.file} is missing")
            return
        kernel = code.kernels.get(row.symbol)
        if kernel is None:
            self.say("symbol in file", place, f"{row.file} has {', '.join(code.kernels)}, not {row.symbol}")
            return
        self.report.matching += 1
        kind = KINDS.get(table.kind)
        if kind is not None and not any(args.fits(kernel) for args in kind.arguments):
            sizes = ", ".join(f"{args.__name__} {args.nbytes()}" for args in kind.arguments)
            self.say("host arguments", place, f"kernarg_segment_size is {kernel.kernarg_size}, known layouts: {sizes}")


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
