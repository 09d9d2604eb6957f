"""`rocmkern package`: packages of foreign kernels."""

from __future__ import annotations

from pathlib import Path

import attrs
import click
from rich.progress import Progress

from rocmkern.cli.output import console, json_option, print_json, table
from rocmkern.packages import KernelPackage, check


@click.group()
def package() -> None:
    """Look into packages of foreign code objects, such as AITER's."""


@package.command("check")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@json_option
def check_command(folder: Path | None, as_json: bool) -> None:
    """Check that files, symbols, archs and arguments of FOLDER fit together; by default the installed amd-aiter.

    Exits with 1 if something does not.
    """
    found = KernelPackage.installed() if folder is None else KernelPackage.open(folder)
    with Progress(console=console(), transient=True, disable=as_json) as progress:
        task = progress.add_task("reading", total=None)
        report = check(found, lambda done, total: progress.update(task, completed=done, total=total))
    if as_json:
        findings = [attrs.asdict(finding) for finding in report.findings]
        print_json({"root": str(report.root), "totals": report.totals(), "findings": findings})
    else:
        out = console()
        out.print(table(str(report.root), ("what", "count"), report.totals().items()))
        if report.findings:
            rows = [(finding.rule, finding.place, finding.fact) for finding in report.findings]
            out.print(table("\nfindings", ("rule", "place", "fact"), rows))
    raise SystemExit(bool(report.findings))
