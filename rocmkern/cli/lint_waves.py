"""`rocmkern lint-waves FILE…`: what sources take for granted of 32 lanes."""

from __future__ import annotations

from pathlib import Path

import click

from rocmkern.build import wave_lint
from rocmkern.cli.output import json_option, print_json


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--fix", is_flag=True, help="Rewrite what can be rewritten safely, and list the rest.")
@json_option
@click.pass_context
def lint_waves(context: click.Context, files: tuple[Path, ...], fix: bool, as_json: bool) -> None:
    """List the places of HIP or CUDA FILES that count on warps of 32 lanes, with the reason and what to write instead.
    The exit status is 1 where any is left.

    \b
    Examples:
      rocmkern lint-waves reduce.cu
      rocmkern lint-waves --fix src/*.hip
    """
    left = list[dict[str, object]]()
    for path in files:
        text = path.read_text()
        if fix:
            changed = wave_lint.fixed(text)
            if changed != text:
                path.write_text(changed)
            text = changed
        for each in wave_lint.findings(text):
            written = " ".join(text[each.start : each.end].split())
            instead = "" if each.fix is None else f"; write `{each.fix}`" if each.fix else "; leave it out"
            if not as_json:
                click.echo(f"{path}:{each.line}: {each.rule}: `{written}`: {each.reason}{instead}")
            place = {"file": str(path), "line": each.line, "rule": each.rule, "text": written}
            left.append({**place, "reason": each.reason, "instead": each.fix})
    if as_json:
        print_json(left)
    if left:
        context.exit(1)
