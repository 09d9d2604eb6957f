"""`rocmkern hipify FILE…`: CUDA's names to HIP's."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from rocmkern.build import hipify as table
from rocmkern.cli.output import json_option, print_json


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Change the files; without it the changes are only shown.")
@json_option
@click.pass_context
def hipify(context: click.Context, files: tuple[Path, ...], write: bool, as_json: bool) -> None:
    """Show CUDA FILES under HIP's names as a diff, or rewrite them. Names that the table lacks are listed, and the exit
    status is 1.

    \b
    Examples:
      rocmkern hipify reduce.cu
      rocmkern hipify --write src/*.cu src/*.cuh
    """
    lacking, converted = 0, []
    for path in files:
        text = path.read_text()
        done = table.convert(text)
        if write:
            path.write_text(done.text)
        elif not as_json:
            lines = (text.splitlines(keepends=True), done.text.splitlines(keepends=True))
            click.echo("".join(difflib.unified_diff(*lines, str(path), str(path))), nl=False)
        for each in done.unknown:
            click.echo(f"{path}:{each.line}: {each.name} has no name in HIP that the table knows", err=True)
        click.echo(f"{path}: {done.count} names replaced, {len(done.unknown)} unknown", err=True)
        lacking += len(done.unknown)
        unknown = [{"line": each.line, "name": each.name} for each in done.unknown]
        converted.append({"file": str(path), "replaced": done.count, "unknown": unknown, "text": done.text})
    if as_json:
        print_json(converted)
    if lacking:
        context.exit(1)
