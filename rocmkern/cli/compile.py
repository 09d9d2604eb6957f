"""`rocmkern compile FILE`: HIP and CUDA sources to code objects, without ROCm."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from rocmkern.build import toolchain
from rocmkern.cli.build import build_files
from rocmkern.cli.output import json_option


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", "targets", multiple=True, help="A gfx target, or sm_90 for PTX; all shipped ones if absent.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path(), help="Folder for the code objects.")
@click.option("-g", "debug", is_flag=True, help="Keep the debug information.")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.")
@click.option("-I", "folders", multiple=True, metavar="DIR", help="A folder of headers.")
@click.option("--toolchain", "compiler", type=click.Choice(["auto", "hipcc", "zig"]), default="auto", show_default=True)
@json_option
def compile(
    files: tuple[Path, ...],
    targets: tuple[str, ...],
    out: Path,
    debug: bool,
    defines: tuple[str, ...],
    folders: tuple[str, ...],
    compiler: toolchain.Name,
    as_json: bool,
) -> None:
    """Compile HIP or CUDA FILES to OUT/<target>/<name>.hsaco, with HIP's headers from ROCm or from this package.

    \b
    Examples:
      rocmkern compile saxpy.hip --target gfx942 -o kernels
      rocmkern compile reduce.cu --target gfx1100 --target gfx942
    """
    options = (*(f"-D{name}" for name in defines), *(f"-I{Path(folder).resolve()}" for folder in folders))
    chosen = (*options, *(("-g",) if debug else ()))
    build_files(Console(stderr=as_json), files, targets, out, compiler, chosen, as_json=as_json)
