"""`rocmkern gen-kernels`: kernels made ahead of time for the shapes of a model."""

from __future__ import annotations

import traceback
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rocmkern.build import toolchain
from rocmkern.cli.output import jobs_option, json_option, print_json
from rocmkern.specialize.config import Request, load
from rocmkern.specialize.generate import generate, output_path

_folder = click.Path(file_okay=False, path_type=Path)


@click.command("gen-kernels")
@click.option("--config", "path", type=click.Path(path_type=Path), required=True, help="The JSON configuration.")
@click.option("--output-dir", "out", type=_folder, required=True, help="Where <arch>/<exported_name>.hsaco goes.")
@click.option("--arch", "targets", multiple=True, help="Make every kernel for this target instead of its own.")
@click.option("--kernels-dir", type=_folder, help="Where kernel_source is looked for before the package's templates.")
@click.option("--dry-run", is_flag=True, help="Check everything, compile nothing.")
@jobs_option
@click.option("--toolchain", "compiler", type=click.Choice(["auto", "hipcc", "zig"]), default="auto", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="Say what is kept, and show tracebacks.")
@json_option
@click.pass_context
def gen_kernels(
    context: click.Context,
    path: Path,
    out: Path,
    targets: tuple[str, ...],
    kernels_dir: Path | None,
    dry_run: bool,
    jobs: int,
    compiler: toolchain.Name,
    verbose: bool,
    as_json: bool,
) -> None:
    """Compile the kernels of a configuration for their shapes, dtypes and targets.

    A failing kernel does not stop the rest; the exit code is 1 if any failed. What is up to date is kept. Set
    ROCMKERN_KERNEL_DIR to the output folder, and operations of those shapes use the kernels.

    \b
    Examples:
      rocmkern gen-kernels --config model.json --output-dir kernels --dry-run
      rocmkern gen-kernels --config model.json --output-dir kernels --arch gfx942 --arch gfx11-generic
    """
    console = Console(stderr=as_json)
    outcomes = list[dict[str, str]]()
    requests = load(path, kernels_dir, targets)
    if dry_run:
        for request in requests:
            console.print(f"{output_path(out, request)}: {request.kernel_name}", highlight=False)
        console.print(f"{len(requests)} kernels, nothing compiled (--dry-run)")
        if as_json:
            print_json([{"file": str(output_path(out, r)), "kernel": r.kernel_name} for r in requests])
        return
    chosen = toolchain.detect(compiler)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(chosen.compiler, total=len(requests))

        def report(request: Request, outcome: str, error: Exception | None) -> None:
            progress.advance(task)
            name = output_path(out, request)
            told = {"file": str(name), "kernel": request.kernel_name, "outcome": "failed" if error else outcome}
            outcomes.append({**told, "error": str(error)} if error else told)
            if error is not None:
                progress.console.print(f"[red]failed[/] {name}: {error}", highlight=False)
                if verbose:
                    progress.console.print("".join(traceback.format_exception(error)), highlight=False)
            elif outcome != "kept" or verbose:
                progress.console.print(f"{outcome} {name}", highlight=False)

        failed = generate(requests, out, chosen, jobs=jobs, report=report)
    console.print(f"{len(requests) - len(failed)} of {len(requests)} kernels in {out}", highlight=False)
    if as_json:
        print_json(outcomes)
    if failed:
        context.exit(1)
