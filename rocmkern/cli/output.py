"""How the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

_WIDE: Final = 200  # columns of a table in a pipe
_WHOLE: Final = 24  # letters of a name that is never parted, such as a device's
_SHORT: Final = 8  # of a few words that are not, such as `64 KiB`

jobs_option = click.option(
    "--jobs",
    default=os.cpu_count() or 1,
    show_default="as many as processors",
    type=click.IntRange(1),
    help="Compilers side by side.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


class OutputFile(click.Path):
    """A file to write, in a folder that is there: said before the work is done that it is to hold."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]  # as path_type says
        if not path.parent.is_dir():
            self.fail(f"{str(path.parent)!r} is no folder; make it first", param, ctx)
        return path


def console() -> Console:
    """A console as wide as the table needs where nobody watches: a pipe has no width, whatever COLUMNS says."""
    found = Console()
    return found if found.is_terminal else Console(width=_WIDE)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose number columns are right-aligned; short names are not parted, however narrow the terminal."""
    held = [[*row] for row in rows]
    made = Table(title=title, title_justify="left", box=None, header_style="bold")
    for index, column in enumerate(columns):
        numbers = all(isinstance(row[index], int) for row in held)
        is_name = all(len(text) <= (_SHORT if " " in text else _WHOLE) for text in (str(row[index]) for row in held))
        made.add_column(
            column, justify="right" if numbers else "left", overflow="fold", no_wrap=is_name, min_width=len(column)
        )
    for row in held:
        made.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    return made


def size(nbytes: int) -> str:
    """`64 KiB`, `192 GiB`."""
    amount, units = float(nbytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} {units[0]}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {units[0]}"
