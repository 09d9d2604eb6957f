"""`rocmkern check`: a program, or one kernel of a file, on a device that checks what it does."""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from rocmkern import drivers
from rocmkern.cli.kernel_arguments import ARGUMENT, given
from rocmkern.cli.output import OutputFile, console, print_json
from rocmkern.cli.run import show_error
from rocmkern.errors import ConfigError
from rocmkern.targets import strip_features

DIMS = "X[,Y[,Z]]"


def _dims(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= 3:
        raise click.BadParameter(f"{text!r} is not {DIMS}")
    return found


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--only", multiple=True, help="A subject (memory, uninitialised, race, barrier) or a kind of finding.")
@click.option("--suppressions", type=click.Path(exists=True, dir_okay=False), help="A file of findings to leave out.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--sarif", type=OutputFile(), help="Write SARIF, for code review sites.")
@click.option("--target", default="gfx942", show_default=True, help="The emulated device.")
@click.option("--hip", "with_hip", is_flag=True, help="The program uses hip-python.")
@click.option("--kernel", "name", help="Of a file of kernels, the one to launch.")
@click.option("--grid", default="1", callback=_dims, metavar=DIMS, help="Workgroups.")
@click.option("--block", default="64", callback=_dims, metavar=DIMS, help="Threads of a workgroup.")
@click.option("--shared", default=0, type=click.IntRange(0), help="Bytes of LDS beside those of the kernel.")
@click.option("--arg", "values", multiple=True, metavar=ARGUMENT, help="An argument of the kernel, in their order.")
@click.argument("path", metavar="PROGRAM|FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def check(
    context: click.Context,
    only: tuple[str, ...],
    suppressions: str | None,
    as_json: bool,
    sarif: Path | None,
    target: str,
    with_hip: bool,
    name: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    values: tuple[str, ...],
    path: Path,
    arguments: tuple[str, ...],
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

    device = f"emulator:{strip_features(target)}"
    failed = False
    with checking(only=only, suppressions=suppressions) as findings, drivers.checked():
        if name is not None:
            _launch(device, path, name, grid, block, shared, values)
        else:
            failed = _run(device, path, arguments, with_hip)
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


def _launch(
    device: str,
    path: Path,
    name: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    values: tuple[str, ...],
) -> None:
    from rocmkern.runtime import Device, Module

    on = Device(device)
    function = Module.load(path, on).get_function(name)
    wanted = len(function.kernel.logical_arguments)
    if len(values) != wanted:
        raise ConfigError(f"check: {name} takes {wanted} arguments, {len(values)} are given; say each with --arg")
    function(*(given(on, value) for value in values), grid=grid, block=block, shared_bytes=shared)
    on.synchronize()


def _run(device: str, path: Path, arguments: tuple[str, ...], with_hip: bool) -> bool:
    """Run a program; whether it failed, which is shown."""
    if with_hip:
        from rocmkern import hip_on_cpu

        hip_on_cpu.activate(device.split(":")[1])
    os.environ[drivers.VARIABLE] = device
    with _program(path, arguments):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            return end.code not in (None, 0)
        except Exception as error:
            show_error(error, str(path))
            return True
    return False


@contextmanager
def _program(path: Path, arguments: tuple[str, ...]) -> Iterator[None]:
    """The interpreter as a program finds it."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before
