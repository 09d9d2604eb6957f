"""CSV files with typed columns, as tables of kernels and of measurements are written."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rocmkern.errors import PackageError

Cell = int | float | str | None

_COMMENTS: Final = re.compile(r'"[^"]*"|/\*.*?\*/|(?://|#|(?<=\s);)[^\n]*', re.S)


def read_csv(path: Path) -> tuple[tuple[str, ...], list[tuple[int, dict[str, Cell]]]]:
    """The header of any CSV file, and its rows as (line, typed cells)."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PackageError(f"read table {path.name}: it is no UTF-8 text ({error.reason})") from None
    lines = list(_records(_without_comments(text).splitlines()))
    if not lines:
        return (), []
    (_, header), *body = lines
    if len(set(header)) != len(header):
        raise PackageError(f"read table {path.name}: a column is named twice in {', '.join(header)}")
    for line, record in body:
        if len(record) > len(header):
            raise PackageError(f"read table {path.name}: line {line} has {len(record)} cells, the header {len(header)}")
    columns = [_typed([record[i] if i < len(record) else "" for _, record in body]) for i in range(len(header))]
    rows = [(line, {name: columns[i][n] for i, name in enumerate(header)}) for n, (line, _) in enumerate(body)]
    return tuple(header), rows


def _without_comments(text: str) -> str:
    """Comments become nothing, but the line breaks in them stay, so that lines keep their numbers."""
    return _COMMENTS.sub(lambda m: m.group(0) if m.group(0)[0] == '"' else "\n" * m.group(0).count("\n"), text)


def _records(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]
        if any(cells):
            yield number, cells


def _typed(cells: list[str]) -> list[Cell]:
    """A column's cells by the narrowest type that holds every one that is there."""
    return _as(int, cells) or _as(float, cells) or [cell or None for cell in cells]


def _as(kind: type[int] | type[float], cells: list[str]) -> list[Cell] | None:
    try:
        return [kind(cell) if cell else None for cell in cells]
    except ValueError:
        return None
