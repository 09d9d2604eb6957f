"""`rocmkern run-hip PROGRAM`: a script on hip-python or a compiled program, without a GPU."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

from rocmkern.cli.run import show_error


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--device", "targets", multiple=True, metavar="GFX", help="A device that HIP sees; gfx942 if absent.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run_hip(targets: tuple[str, ...], program: Path, arguments: tuple[str, ...]) -> None:
    """Run a PROGRAM with its ARGUMENTS, a Python script on hip-python or an executable that uses libamdhip64; HIP's
    devices are emulated on this CPU.

    \b
    Examples:
      rocmkern run-hip --device gfx1100 --device gfx942 script.py
      rocmkern run-hip ./saxpy
    """
    from rocmkern import hip_on_cpu
    from rocmkern.hip_on_cpu import programs

    with program.open("rb") as file:
        if file.read(4) == b"\x7fELF":
            programs.execute(program.resolve(), arguments, targets)
    hip_on_cpu.activate(*targets)
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        runpy.run_path(str(program), run_name="__main__")
    except Exception as error:
        show_error(error, str(program))
        raise SystemExit(1) from None
