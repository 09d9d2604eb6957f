"""`rocmkern lint-code FILE`: missing waits and wait states of kernels, found without running them."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from rocmkern.checking import Finding, Instruction, Report, lint
from rocmkern.cli.code_file import CodeFile, parts
from rocmkern.cli.output import console, json_option, print_json
from rocmkern.errors import KernelNotFound


@click.command()
@click.argument("path", metavar="FILE|FAMILY", type=CodeFile())
@click.option("--target", help="Of a bundle, the part for this device.")
@click.option("--kernel", "name", help="Only this kernel.")
@json_option
@click.pass_context
def lint_code(context: click.Context, path: Path, target: str | None, name: str | None, as_json: bool) -> None:
    """Find missing waits and missing wait states in a code object. Exits with 1 where there are some."""
    found = [part for part in parts(path.read_bytes(), target) if name is None or name in part.kernels]
    if not found:
        raise KernelNotFound(f"lint-code: no kernel {name!r} in {path.name}; `rocmkern inspect` lists them")
    reports = [lint(part, name) for part in found]
    if as_json:
        print_json([report.as_dict() for report in reports])
    else:
        out = console()
        for report in reports:
            _show(out, report)
    if any(report.findings for report in reports):
        context.exit(1)


def _show(out: Console, report: Report) -> None:
    for finding in report.findings:
        _show_finding(out, finding)
    count = len(report.findings)
    out.print(
        f"{report.target}: {count or 'no'} finding{'s' * (count != 1)} in {len(report.kernels):,} "
        f"kernel{'s' * (len(report.kernels) != 1)}, {report.instructions:,} instructions",
        highlight=False,
        style="red" if count else "green",
    )
    for reason, places in sorted(report.unfollowed.items()):
        out.print(f"  not followed: {reason}, {places:,} place{'s' * (places != 1)}", highlight=False, style="yellow")


def _show_finding(out: Console, finding: Finding) -> None:
    of = f" of {finding.registers}" if finding.registers else ""
    out.print(f"[bold]{finding.kernel}[/]: {finding.kind}{escape(of)}", highlight=False)
    for instruction in (finding.after, finding.at):
        if instruction is not None:
            out.print(f"  {_line(instruction)}", highlight=False, soft_wrap=True)
    out.print(f"  {escape(finding.rule)}; put {escape(finding.remedy)}", highlight=False, soft_wrap=True)


def _line(instruction: Instruction) -> str:
    where = f"  ; {instruction.source}" if instruction.source else ""
    return escape(f"{instruction.pc:#06x}  {instruction.text}{where}")
