"""`rocmkern build`: kernel sources to code objects."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rocmkern.build import builder, sources, toolchain
from rocmkern.kernels import families
from rocmkern.targets import BUILT, file_name


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path(), help="Folder for code objects of FILES.")
@click.option("--target", "targets", multiple=True, help="A gfx target, or sm_90 for PTX; all shipped ones if absent.")
@click.option("--family", "names", multiple=True, help="A kernel family; all if absent.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Compilers side by side.")
@click.option("--toolchain", "compiler", type=click.Choice(["auto", "hipcc", "zig"]), default="auto", show_default=True)
@click.option("--render", is_flag=True, help="Only write the instance lists from the catalogue.")
@click.option("--force", is_flag=True, help="Compile also what is up to date or was compiled before.")
def build(
    files: tuple[Path, ...],
    out: Path,
    targets: tuple[str, ...],
    names: tuple[str, ...],
    jobs: int,
    compiler: toolchain.Name,
    render: bool,
    force: bool,
) -> None:
    """Compile kernels_hip/ to hsaco/<target>/<family>.hsaco, or your own FILES to <target>/<name>.hsaco.

    Your sources can include the package's headers: `#include "include/device.hpp"`.

    \b
    Examples:
      rocmkern build --target gfx942 --family affine
      rocmkern build saxpy.hip --target gfx942 --target gfx11-generic --out kernels
    """
    console = Console()
    if files:
        chosen_toolchain = toolchain.detect(compiler)
        for source in files:
            for target in targets or BUILT:
                output = out / target / file_name(source.stem, target)
                builder.build_file(source, target, output, chosen_toolchain)
                console.print(f"{output}  {output.stat().st_size / 1024:.0f} KiB", highlight=False)
        return
    chosen = tuple(map(families.family, names)) if names else families.families()
    if render:
        written = [family.name for family in chosen if sources.render(family)]
        console.print(f"rendered {', '.join(written) or 'nothing: all instance lists are current'}")
        return
    _compile(console, builder.plan(chosen, targets or BUILT, force=force), compiler, jobs, force=force)


def _compile(
    console: Console, waiting: tuple[builder.Job, ...], compiler: toolchain.Name, jobs: int, *, force: bool
) -> None:
    if not waiting:
        console.print("everything is up to date")
        return
    chosen = toolchain.detect(compiler)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(chosen.compiler, total=len(waiting))

        def done(job: builder.Job) -> None:
            progress.console.print(f"{job.name}  {job.output.stat().st_size / 1024:.0f} KiB")
            progress.advance(task)

        builder.build_all(waiting, chosen, workers=jobs, done=done, force=force)
