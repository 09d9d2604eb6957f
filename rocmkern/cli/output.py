"""How the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def console() -> Console:
    """A console as wide as the table needs where nobody watches: a pipe has no width."""
    found = Console()
    return found if found.is_terminal else Console(width=200)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose number columns are right-aligned."""
    held = [[*row] for row in rows]
    made = Table(title=title, title_justify="left", box=None, header_style="bold")
    for index, column in enumerate(columns):
        numbers = all(isinstance(row[index], int) for row in held)
        made.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in held:
        made.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    return made


def size(nbytes: int) -> str:
    """`64 KiB`, `192 GiB`."""
    amount, units = float(nbytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} {units[0]}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {units[0]}"
