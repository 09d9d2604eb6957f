"""`rocmkern verify`: is every shipped kernel right on this device, and how fast?"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.progress import Progress

from rocmkern.cli import doctor
from rocmkern.cli.output import console, json_option, print_json, table
from rocmkern.runtime import Device
from rocmkern.verifying import report
from rocmkern.verifying.verify import Run, cases, is_usable, machine, note
from rocmkern.verifying.verify import verify as run_cases

_BYTES_ON_GPU: Final = 1 << 27  # beyond the caches


@click.command()
@click.option("--device", "device_name", help="hip:0, cuda:0, emulator:gfx942, …; default: the first GPU.")
@click.option("-o", "--out", "folder", default="verify", show_default=True, type=click.Path(path_type=Path))
@click.option("--only", default="", help="Only cases whose name has this text.")
@click.option(
    "--bytes", "nbytes", type=click.IntRange(0), help="Of operands that are timed; 0: none. Default: 2²⁷ on a GPU."
)
@json_option
def verify(device_name: str | None, folder: Path, only: str, nbytes: int | None, as_json: bool) -> None:
    """Run every shipped kernel on a device, and write what came out to FOLDER as a page and as JSON.

    Results are compared with NumPy's, and bit by bit with those of the emulator of the same target; kernels that move
    memory are timed against a copy. A run that was broken off goes on where it was when it is started again. Exits
    with 1 if something is not right.
    """
    device, out = Device(device_name), Console(stderr=True) if as_json else console()
    if nbytes is None:
        nbytes = 0 if device.info.unified else _BYTES_ON_GPU
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.jsonl"
    run = Run.begun(path, machine(device, nbytes))
    known, wanted = {v.case for v in run.verdicts}, [case for case in cases() if only in case.name]
    todo = [case for case in wanted if case.name not in known]
    with Progress(console=out, transient=True) as progress:
        task = progress.add_task("", total=len(wanted), completed=len(wanted) - len(todo))
        for verdict in run_cases(device, todo, nbytes, lambda case: note(path, case)):
            note(path, verdict)
            run.verdicts.append(verdict)
            progress.update(task, advance=1, description=verdict.case)
    names = {case.name for case in wanted}
    if names - {v.case for v in run.verdicts} and not is_usable(device):
        out.print(f"{run.verdicts[-1].case} left the device of no use to this process; going on in a new one")
        os.execv(sys.executable, [sys.executable, "-m", "rocmkern", *sys.argv[1:]])
    verdicts = [v for v in run.verdicts if v.case in names]
    facts = [(each.what, each.fact) for each in doctor.look(every_device=False)]
    document = report.as_json(run.machine, facts, verdicts)
    (folder / "verify.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "verify.html").write_text(report.page(run.machine, facts, verdicts))
    bad = [v for v in verdicts if v.status != "right"]
    title = f"{run.machine.device} ({run.machine.marketing})"
    out.print(table(title, report.FAMILY_TITLES, report.family_rows(report.by_kernel(run.machine, verdicts))))
    if bad:
        out.print(table("\nnot right", report.VERDICT_TITLES, report.verdict_rows(bad)))
    out.print(
        f"{len(verdicts) - len(bad)} of {len(verdicts)} cases right; {folder}/verify.html and verify.json have all"
    )
    if as_json:
        print_json(document)
    raise SystemExit(bool(bad))
