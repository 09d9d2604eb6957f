"""`rocmkern profile`: what a program's kernels, or one kernel of a file, ask of a GPU."""

from __future__ import annotations

from typing import Any

import click

from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.cli.programs import program_options, start
from rocmkern.targets import strip_features

HOT_LINES = 5


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--chip", help="The GPU whose times are estimated: mi210, mi250x, mi300x, mi350x, rx6800xt, rx7900xtx, …")
@click.option(
    "--lines", "hot", default=HOT_LINES, type=click.IntRange(0), show_default=True, help="Hot lines a kernel."
)
@json_option
@click.option("--target", help="The emulated device; the chip's, or gfx942.")
@program_options
@click.pass_context
def profile(
    context: click.Context,
    /,
    chip: str | None,
    hot: int,
    as_json: bool,
    target: str | None,
    **program: Any,
) -> None:
    """Run a Python PROGRAM with its ARGUMENTS, or a kernel of a code object FILE, and tell what kernels ask of a GPU.

    Counts are exact, of an emulated device. Times are the least that a chip needs for them.

    \b
    Example:
      rocmkern profile --chip mi300x model.py --layers 2
      rocmkern profile kernels.hsaco --kernel scale --grid 4 --block 256 --arg f32[1000]=arange --arg u32:1000
    """
    from rocmkern.profiling import report
    from rocmkern.profiling.chips import chip as chip_named
    from rocmkern.runtime import profile as counting

    device = f"emulator:{strip_features(target or (chip_named(chip).target if chip else 'gfx942'))}"
    with counting(chip=chip) as found:
        failed = start(device, **program)
    if as_json:
        print_json([report.as_dict(one) for one in found])
    else:
        out, rows = console(), [*found]
        out.print(table("Kernels", report.COLUMNS, (report.row(one, size) for one in rows)))
        for one in rows:
            for line in report.notes(one, hot):
                out.print(line, highlight=False, markup=False, soft_wrap=True)
    if failed:
        context.exit(1)
