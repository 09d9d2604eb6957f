"""`rocmkern build`: kernel sources to code objects."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rocmkern.build import builder, device_library, hip_source, instances, toolchain
from rocmkern.build.instances import InstanceJob
from rocmkern.cli.output import jobs_option, json_option, print_json
from rocmkern.kernels import families, instance_files, sources
from rocmkern.kernels.catalogue import KernelSpec
from rocmkern.ops import tuned
from rocmkern.targets import BUILT, candidates, file_name


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path(), help="Folder for code objects of FILES.")
@click.option("--target", "targets", multiple=True, help="A gfx target, or sm_90 for PTX; all shipped ones if absent.")
@click.option("--family", "names", multiple=True, help="A kernel family; all if absent.")
@jobs_option
@click.option("--toolchain", "compiler", type=click.Choice(["auto", "hipcc", "zig"]), default="auto", show_default=True)
@click.option(
    "--instances",
    "which",
    type=click.Choice(["tuned", "all", "none"]),
    default="tuned",
    show_default=True,
    help="Instances of tunable kernels to make besides the shipped ones.",
)
@click.option("--tuned", "tables", multiple=True, type=click.Path(exists=True), help="Tables to use instead of yours.")
@click.option(
    "--instances-dir", type=click.Path(path_type=Path), help="Where instances go; the user's cache if absent."
)
@click.option("--render", is_flag=True, help="Only write the instance lists from the catalogue.")
@click.option("--force", is_flag=True, help="Compile also what is up to date or was compiled before.")
@json_option
@click.pass_context
def build(
    context: click.Context,
    files: tuple[Path, ...],
    out: Path,
    targets: tuple[str, ...],
    names: tuple[str, ...],
    jobs: int,
    compiler: toolchain.Name,
    which: str,
    tables: tuple[str, ...],
    instances_dir: Path | None,
    render: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Compile kernels_hip/ into the bundles of hsaco/, or your own FILES to <target>/<name>.hsaco.

    Instances of tunable kernels that do not ship go to the user's cache, where operations find them: those that your
    tuned tables name, or all of the families and targets.

    Your sources can include the package's headers: `#include "include/device.hpp"`.

    \b
    Examples:
      rocmkern build --target gfx942 --family affine
      rocmkern build --instances all --family matmul --target gfx942
      rocmkern build saxpy.hip --target gfx942 --target gfx11-generic --out kernels
    """
    console = Console(stderr=as_json)
    device_library.check_targets(targets)
    if files:
        build_files(console, files, targets, out, compiler, as_json=as_json)
        return
    chosen = tuple(map(families.family, names)) if names else families.families()
    if render:
        written = [family.name for family in chosen if sources.render(family)]
        console.print(f"rendered {', '.join(written) or 'nothing: all instance lists are current'}")
        if as_json:
            print_json({"rendered": written})
        return
    waiting = builder.plan(chosen, targets or BUILT, force=force)
    wanted = {} if which == "none" else _instances(which, tables, {family.name for family in chosen}, targets)
    folder = instances_dir or instance_files.default_folder()
    settings = [job for target, ks in wanted.items() for job in instances.plan(ks, target, folder, force=force)]
    if not waiting and not settings:
        console.print("everything is up to date")
    else:
        found = toolchain.detect(compiler)
        if waiting:
            _compile(console, waiting, found, jobs, force=force)
        if settings and not build_instances(console, settings, found, jobs):
            context.exit(1)
    if as_json:
        print_json({"built": [job.name for job in waiting], "instances": [job.name for job in settings]})


def build_files(
    console: Console, files: tuple[Path, ...], targets: tuple[str, ...], out: Path, compiler: toolchain.Name,
    options: tuple[str, ...] = (), *, as_json: bool = False,
) -> None:  # fmt: skip
    """Compiles sources to <out>/<target>/<name>.hsaco, and tells what the compiler warns of."""
    chosen, written = hip_source.compiler(compiler), []
    for source in files:
        for target in targets or BUILT:
            output = out / target / file_name(source.stem, target)
            warnings = builder.build_file(source, target, output, chosen, options)
            click.echo(warnings, err=True, nl=False)
            nbytes = output.stat().st_size
            written.append({"file": str(output), "target": target, "bytes": nbytes, "warnings": warnings})
            console.print(f"{output}  {nbytes / 1024:.0f} KiB", highlight=False)
    if as_json:
        print_json(written)


def _instances(
    which: str, tables: tuple[str, ...], chosen: set[str], wanted: tuple[str, ...]
) -> dict[str, list[KernelSpec]]:
    """The unshipped kernels to make, by target."""
    if which == "all":
        kernels = [kernel for kernel in families.unshipped().values() if kernel.family in chosen]
        return dict.fromkeys(wanted or BUILT, kernels)
    found: dict[str, list[KernelSpec]] = {}
    for measured, rows in tuned.named_instances(tables).items():
        for target in [t for t in wanted if t in candidates(measured)] if wanted else [measured]:
            kernels = [kernel for row in rows for kernel in row.unshipped if kernel.family in chosen]
            found.setdefault(target, []).extend(kernels)
    return found


def build_progress(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console)


def build_instances(console: Console, jobs: list[InstanceJob], chosen: toolchain.Toolchain, workers: int) -> bool:
    """Builds instances and says what failed; whether nothing did."""
    failed = []
    with build_progress(console) as progress:
        task = progress.add_task("instances", total=len(jobs))

        def done(job: InstanceJob, error: Exception | None) -> None:
            progress.advance(task)
            if error is not None:
                failed.append(job)
                progress.console.print(f"[red]failed[/] {job.name}: {error}", highlight=False)

        instances.build_all(jobs, chosen, workers=workers, done=done)
    console.print(f"{len(jobs) - len(failed)} of {len(jobs)} instances", highlight=False)
    return not failed


def _compile(
    console: Console, waiting: tuple[builder.Job, ...], chosen: toolchain.Toolchain, jobs: int, *, force: bool
) -> None:
    with build_progress(console) as progress:
        task = progress.add_task(chosen.compiler, total=len(waiting))

        def done(job: builder.Job, nbytes: int) -> None:
            progress.console.print(f"{job.name}  {nbytes / 1024:.0f} KiB")
            progress.advance(task)

        builder.build_all(waiting, chosen, workers=jobs, done=done, force=force)
