"""`rocmkern run`: a program, and what it asked for that no specialised kernel was there for."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path

import click

from rocmkern.cli.output import OutputFile


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--record", type=OutputFile(), help="The configuration to write.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(record: Path | None, program: Path, arguments: tuple[str, ...]) -> None:
    """Run a Python PROGRAM with its ARGUMENTS; --record writes what `rocmkern gen-kernels` can make faster.

    \b
    Example:
      rocmkern run --record misses.json model.py
      rocmkern gen-kernels --config misses.json --output-dir kernels
      ROCMKERN_KERNEL_DIR=kernels python model.py
    """
    from rocmkern.ops import specialized

    if record is not None:
        os.environ[specialized.RECORD] = str(record.resolve())
        specialized.configure()
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        runpy.run_path(str(program), run_name="__main__")
    except Exception as error:
        show_error(error, str(program))
        raise SystemExit(1) from None


def show_error(error: Exception, program: str) -> None:
    """The program's own traceback, as if Python had run it."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != program:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)
