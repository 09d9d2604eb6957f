"""`rocmkern tune`: which instance of a kernel is fastest for the shapes of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from rocmkern.build import instances, toolchain
from rocmkern.cli.build import build_instances, build_progress
from rocmkern.cli.output import console as new_console
from rocmkern.cli.output import jobs_option, json_option, print_json, table
from rocmkern.errors import BuildError
from rocmkern.kernels import families, instance_files
from rocmkern.paths import config_folder
from rocmkern.runtime import Device, default_device
from rocmkern.tuning import problems
from rocmkern.tuning import tune as tuning
from rocmkern.tuning.measure import is_emulator
from rocmkern.tuning.problems import Problem
from rocmkern.tuning.process import Worker

_file = click.Path(dir_okay=False, path_type=Path)
_present = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("op")
@click.option(
    "--shapes", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True, help="A CSV file."
)
@click.option("--device", "name", help="`hip:0`, `cuda:0`; the default device if absent.")
@click.option(
    "--out", type=_file, help="The table; <configuration folder>/tuned/<op>.csv, where it is used, if absent."
)
@click.option("--profile", type=_file, help="Also note every candidate in this file.")
@click.option("--warmup", default=3, show_default=True, type=click.IntRange(0), help="Launches before the timed ones.")
@click.option("--iterations", default=20, show_default=True, type=click.IntRange(1), help="Launches of each median.")
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds that a candidate may take.",
)
@click.option("--emulator", "on_emulator", is_flag=True, help="Allow an emulator, whose times say nothing of a GPU.")
@jobs_option
@click.option("--toolchain", "compiler", type=click.Choice(["auto", "hipcc", "zig"]), default="auto", show_default=True)
@json_option
@click.pass_context
def tune(
    context: click.Context,
    op: str,
    shapes: Path,
    name: str | None,
    out: Path | None,
    profile: Path | None,
    warmup: int,
    iterations: int,
    timeout: float,
    on_emulator: bool,
    jobs: int,
    compiler: toolchain.Name,
    as_json: bool,
) -> None:
    """Measure every instance of OP for each shape of a CSV file, and keep the fastest right one.

    A wrong result never wins. Candidates run in a process of their own: one that faults or hangs costs itself only. An
    existing table is continued: what has a row is not measured again. Instances that do not ship are built first, into
    the user's cache.

    \b
    Examples:
      rocmkern tune matmul --shapes shapes.csv --device hip:0
      rocmkern tune mat_vec --shapes decode.csv --out mat_vec.csv
    """
    todo = problems.read(op, shapes)
    device = default_device() if name is None else Device(name)
    if is_emulator(device) and not on_emulator:
        raise click.UsageError(f"{device.name} is no GPU, and its times say nothing of one; --emulator times it anyway")
    path = out or config_folder() / "tuned" / f"{op}.csv"
    done = tuning.already_tuned(path)
    todo = [problem for problem in todo if tuning.key(problem, device.info) not in done]
    out_console = Console(stderr=True) if as_json else new_console()
    if not todo:
        out_console.print(f"every shape has its row in {path}", highlight=False)
        if as_json:
            print_json({"table": str(path), "rows": []})
        return
    _build(out_console, todo, device, compiler, jobs)
    results = []
    with Worker.on(str(device.name), warmup, iterations) as worker, build_progress(out_console) as progress:
        for result in _measured(todo, worker, timeout, progress):
            if profile is not None:
                tuning.append_candidates(profile, result, device.info)
            if result.best is not None:
                tuning.append(path, result, device.info)
            results.append(result)
    if as_json:
        print_json({"table": str(path), "rows": [dict(zip(_TITLES, _cells(r), strict=True)) for r in results]})
    else:
        out_console.print(table(f"{op} on {device.name}", _TITLES, map(_cells, results)))
    found = sum(result.best is not None for result in results)
    out_console.print(f"{found} of {len(results)} shapes tuned in {path}", highlight=False)
    if found < len(results):
        context.exit(1)


_TITLES = ("M", "N", "K", "dtype", "default µs", "best µs", "faster", "kernel")


def _cells(result: tuning.Result) -> tuple[object, ...]:
    best, default = result.best, result.default_microseconds
    shape = (*result.problem.key, result.problem.dtype)
    shown = "" if default is None else f"{default:.1f}"
    if best is None or best.microseconds is None:
        return *shape, shown, "", "", "none was right"
    faster = "" if default is None else f"{default / best.microseconds:.2f}×"
    return *shape, shown, f"{best.microseconds:.1f}", faster, best.name


def _build(console: Console, todo: list[Problem], device: Device, compiler: toolchain.Name, workers: int) -> None:
    """Builds what the candidates need; without a compiler only what is there takes part."""
    kernels = [k for p in todo for i in families.instances(p.op, p.dtype) for k in i.unshipped]
    missing = [kernel for kernel in kernels if instance_files.find(kernel, device.info.arch) is None]
    jobs = instances.plan(missing, device.info.target)
    if not jobs:
        return
    try:
        chosen = toolchain.detect(compiler)
    except BuildError as error:
        console.print(f"[yellow]only built instances take part[/]: {error}", highlight=False)
        return
    build_instances(console, jobs, chosen, workers)


def _measured(todo: list[Problem], worker: Worker, seconds: float, progress: Progress) -> Iterator[tuning.Result]:
    total = sum(len(families.instances(p.op, p.dtype)) + 1 for p in todo)
    task = progress.add_task("", total=total)

    def tried(problem: Problem, candidate: tuning.Candidate) -> None:
        progress.advance(task)
        m, n, k = problem.key
        progress.update(task, description=f"{problem.op} {m}×{n}×{k} {problem.dtype}")
        if candidate.error is not None:
            progress.console.print(f"[yellow]out[/] {candidate.name}: {candidate.error}", highlight=False)

    yield from tuning.tune(todo, worker, seconds=seconds, tried=tried)
