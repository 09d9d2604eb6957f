"""`rocmkern hipcc`: hipcc's command line where ROCm is not installed."""

from __future__ import annotations

from typing import Final

import click

from rocmkern.build import host_program

# Without -h, which click would find among the letters of -Ihere.
_SETTINGS: Final = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": ["--help"]}


@click.command(context_settings=_SETTINGS)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def hipcc(words: tuple[str, ...]) -> None:
    """Build a program, or objects of one, from HIP or CUDA sources with zig's clang and the package's headers.

    Takes hipcc's options, such as -c, -o, -I, -D, -O, -std, --offload-arch and -l. `rocmkern run-hip` starts the
    program.

    \b
    Examples:
      rocmkern hipcc saxpy.hip -o saxpy
      rocmkern hipcc --offload-arch=gfx942,gfx1100 main.cu reduce.cu -o reduce
      make HIPCC='rocmkern hipcc'
    """
    from rocmkern.hip_on_cpu import library

    said = host_program.build(host_program.parse(words), library.compiled().parent)
    click.echo(said, err=True, nl=False)
