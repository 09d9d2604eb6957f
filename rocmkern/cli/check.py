"""`rocmkern check`: a program, or one kernel of a file, on a device that checks what it does."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from rocmkern import drivers
from rocmkern.cli.output import OutputFile, console, print_json
from rocmkern.cli.programs import program_options, start
from rocmkern.targets import strip_features


def _share(context: click.Context, parameter: click.Parameter, text: str) -> int:
    """`1/8`: of how many one is looked at."""
    one, _, count = text.partition("/")
    if one != "1" or not count.isdigit() or not int(count):
        raise click.BadParameter(f"{text!r} is not 1/N")
    return int(count)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--only", multiple=True, help="A subject (memory, uninitialised, race, barrier) or a kind of finding.")
@click.option("--suppressions", type=click.Path(exists=True, dir_okay=False), help="A file of findings to leave out.")
@click.option(
    "--sample", default="1/1", metavar="1/N", callback=_share, help="Look at one of N workgroups, for large grids."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--sarif", type=OutputFile(), help="Write SARIF, for code review sites.")
@click.option("--save", type=OutputFile(), help="Write the first launch with an error, for `rocmkern replay`.")
@click.option("--target", default="gfx942", show_default=True, help="The emulated device.")
@program_options
@click.pass_context
def check(
    context: click.Context,
    /,
    only: tuple[str, ...],
    suppressions: str | None,
    sample: int,
    as_json: bool,
    sarif: Path | None,
    save: Path | None,
    target: str,
    **program: Any,
) -> None:
    """Run a Python PROGRAM with its ARGUMENTS, or a kernel of a code object FILE, and tell what kernels do wrong.

    Exits with 1 where there are errors, or where the program fails.

    \b
    Example:
      rocmkern check model.py --layers 2
      rocmkern check kernels.hsaco --kernel scale --grid 4 --block 256 --arg f32[1000]=arange --arg u32:1000
    """
    from rocmkern.checking import report
    from rocmkern.runtime.checks import check as checking
    from rocmkern.runtime.replays import save_reproducer

    device = f"emulator:{strip_features(target)}"
    saving = save_reproducer(save) if save is not None else nullcontext()
    with checking(only=only, suppressions=suppressions, sample=sample) as findings, saving, drivers.checked():
        failed = start(device, **program)
    if sarif is not None:
        sarif.write_text(json.dumps(report.as_sarif(findings), indent=2), "utf-8")
    if as_json:
        print_json(report.as_dict(findings))
    else:
        out = console()
        for one in findings:
            first, *more = report.lines(one)
            out.print(escape(first), style="bold yellow" if one.is_note else "bold red", highlight=False)
            _print(out, more)
        out.print(report.summary(findings), style="red" if findings.errors else "green", highlight=False)
    if failed or findings.errors:
        context.exit(1)


def _print(out: Console, lines: list[str]) -> None:
    for line in lines:
        style = "cyan" if line.lstrip().startswith("→") else None
        out.print(escape(line), style=style, highlight=False, soft_wrap=True)
