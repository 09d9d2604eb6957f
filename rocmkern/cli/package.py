"""`rocmkern package`: packages of foreign kernels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import click
from rich.progress import Progress

from rocmkern.cli.output import OutputFile, console, json_option, print_json, table
from rocmkern.packages import KINDS, KernelPackage, check, decide
from rocmkern.packages.kind import Kind, Problem
from rocmkern.packages.trials import TRIALS
from rocmkern.packages.verify import Verdict, read_verdicts, try_choice, verify, write_verdict
from rocmkern.runtime import Device
from rocmkern.targets import strip_features

folder_argument = click.argument("folder", required=False, type=click.Path(path_type=Path))
device_option = click.option(
    "--device", "device_name", default="emulator:gfx942", show_default=True, help="Where to run."
)
shape_option = click.option("--shape", default="", help="The problem: m=64,n=256,k=512,bpreshuffle=1.")
kind_argument = click.argument("kind", type=click.Choice(sorted(KINDS)))


@click.group()
def package() -> None:
    """Look into packages of foreign code objects, such as AITER's: FOLDER, or the installed amd-aiter."""


def _opened(folder: Path | None) -> KernelPackage:
    return KernelPackage.installed() if folder is None else KernelPackage.open(folder)


@package.command("list")
@folder_argument
@json_option
def list_command(folder: Path | None, as_json: bool) -> None:
    """Say which kinds of kernels FOLDER has, for which archs, how many, and which are known."""
    found = _opened(folder)
    files = Counter((file.kind, file.arch) for file in found.files)
    rows = Counter({(t.kind, t.arch): 0 for t in found.tables})
    for t in found.tables:
        rows[t.kind, t.arch] += len(t.table.rows)
    listed = [
        {"kind": kind, "arch": arch, "files": files[kind, arch], "rows": rows[kind, arch], "known": kind in KINDS}
        for kind, arch in sorted({*files, *rows})
    ]
    if as_json:
        print_json({"root": str(found.root), "kinds": listed})
        return
    cells = [
        (one["kind"] or "(no folder)", one["arch"], one["files"], one["rows"], "yes" if one["known"] else "")
        for one in listed
    ]
    console().print(table(str(found.root), ("kind", "arch", "files", "rows of tables", "known"), cells))


@package.command("check")
@folder_argument
@json_option
def check_command(folder: Path | None, as_json: bool) -> None:
    """Check that files, symbols, archs and arguments of FOLDER fit together.

    Exits with 1 if something does not.
    """
    found = _opened(folder)
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


def _problem(kind: Kind, shape: str, device: Device) -> Problem:
    """The problem that a text says; every key that the kind needs must be there."""
    given: Problem = {"arch": strip_features(device.info.arch)} if "arch" in kind.needs else {}
    for part in filter(None, shape.replace(" ", "").split(",")):
        key, equals, value = part.partition("=")
        if not equals or not value:
            raise click.UsageError(f"--shape: {part!r}; give KEY=VALUE, split by commas")
        given[key] = int(value) if value.lstrip("-").isdigit() else value
    missing = [key for key in kind.needs if key not in given]
    if missing:
        raise click.UsageError(f"--shape: {', '.join(missing)} missing; {kind.name} needs {', '.join(kind.needs)}")
    return given


@package.command("explain")
@kind_argument
@folder_argument
@shape_option
@device_option
@json_option
def explain_command(kind: str, folder: Path | None, shape: str, device_name: str, as_json: bool) -> None:
    """Say which kernel of FOLDER serves a problem, what each other one costs or why it does not.

    Exits with 1 if none does.
    """
    device = Device(device_name)
    decision = decide(KINDS[kind], _opened(folder), device, **_problem(KINDS[kind], shape, device))
    if as_json:
        print_json({"kind": kind, "serves": decision.choice is not None, "reasons": decision.explain().splitlines()})
    else:
        click.echo(decision.explain())
    raise SystemExit(decision.choice is None)


@package.command("run")
@kind_argument
@folder_argument
@shape_option
@device_option
@json_option
def run_command(kind: str, folder: Path | None, shape: str, device_name: str, as_json: bool) -> None:
    """Run the kernel of FOLDER that serves a problem on random data, and compare it with float64.

    Exits with 1 if none does, or its result is not right.
    """
    device = Device(device_name)
    decision = decide(KINDS[kind], _opened(folder), device, **_problem(KINDS[kind], shape, device))
    if decision.choice is None:
        raise click.ClickException(decision.explain())
    verdict = try_choice(decision.choice, device)
    if as_json:
        print_json(attrs.asdict(verdict))
    else:
        console().print(_verdict_table("", [verdict]))
    raise SystemExit(verdict.status != "right")


@package.command("verify")
@folder_argument
@device_option
@click.option("--kind", "kinds", multiple=True, type=click.Choice(sorted(TRIALS)), help="Only these kinds.")
@click.option("--results", type=OutputFile(), help="Keep verdicts here, and go on from those that are there.")
@json_option
def verify_command(
    folder: Path | None, device_name: str, kinds: tuple[str, ...], results: Path | None, as_json: bool
) -> None:
    """Run every kernel of FOLDER for the device's arch on random data, and compare each with float64.

    A kernel is tried on a small problem and a ragged one. Exits with 1 if a result is wrong or a launch fails.
    """
    found, device = _opened(folder), Device(device_name)
    verdicts = [] if results is None else read_verdicts(results)
    known = {verdict.key for verdict in verdicts}
    with Progress(console=console(), transient=True, disable=as_json) as progress:
        task = progress.add_task("running", total=None)
        for verdict in verify(
            found, device, kinds, known, lambda done, total: progress.update(task, completed=done, total=total)
        ):
            verdicts.append(verdict)
            if results is not None:
                write_verdict(results, verdict)
    bad = [verdict for verdict in verdicts if verdict.status in ("wrong", "failed")]
    if as_json:
        print_json(
            {"root": str(found.root), "counts": _counts(verdicts), "verdicts": list(map(attrs.asdict, verdicts))}
        )
    else:
        out = console()
        out.print(table(str(found.root), ("kind", "status", "problems", "files", "s"), _totals(verdicts)))
        if bad:
            out.print(_verdict_table("\nnot right", bad))
        reasons = Counter((v.kind, v.reason) for v in verdicts if v.status == "not judged")
        if reasons:
            rows = [(kind, reason, count) for (kind, reason), count in reasons.most_common()]
            out.print(table("\nnot judged", ("kind", "why", "count"), rows))
    raise SystemExit(bool(bad))


def _counts(verdicts: list[Verdict]) -> dict[str, int]:
    return dict(Counter(verdict.status for verdict in verdicts))


def _totals(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.kind, verdict.status), []).append(verdict)
    return [
        (kind, status, len(those), len({v.file for v in those}), f"{sum(v.seconds for v in those):.1f}")
        for (kind, status), those in sorted(groups.items())
    ]


def _verdict_table(title: str, verdicts: list[Verdict]) -> Any:
    rows = [
        (v.file, v.problem, v.status, "" if v.error is None else f"{v.error:.2g}", f"{v.seconds:.2f}", v.reason)
        for v in verdicts
    ]
    return table(title, ("file", "problem", "status", "error / allowed", "s", "reason"), rows)
