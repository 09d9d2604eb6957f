"""CSV files with typed columns, as tables of kernels and of measurements are written.

What one may cost is bounded, and no message says what is in a file: it need not be a table.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rocmkern.errors import PackageError
from rocmkern.paths import open_regular

Cell = int | float | str | None

MOST_TEXT_BYTES: Final = 2 << 20
MOST_LINES: Final = 1 << 16  # blank ones and comments included
MOST_COLUMNS: Final = 1 << 10
MOST_CELLS: Final = 1 << 18  # those that rows leave out included
_COMMENTS: Final = re.compile(r'"[^"]*"|/\*(?:.*?\*/|(?P<open>.*))|(?://|#|(?<=\s);)[^\n]*', re.S)


def read_csv(path: Path) -> tuple[tuple[str, ...], list[tuple[int, dict[str, Cell]]]]:
    """The header of any CSV file, and its rows as (line, typed cells).

    Raises OSError as open() does, PackageError for what is no table or larger than one is.
    """
    try:
        return _parsed(_text(path))
    except (ValueError, csv.Error) as error:
        raise PackageError(f"read table {path.name}: {error}") from None


def _text(path: Path) -> str:
    with os.fdopen(open_regular(path), "rb") as file:
        content = file.read(MOST_TEXT_BYTES + 1)
    if len(content) > MOST_TEXT_BYTES:
        raise ValueError(f"it has more than {MOST_TEXT_BYTES} bytes; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text ({error.reason})") from None


def _parsed(text: str) -> tuple[tuple[str, ...], list[tuple[int, dict[str, Cell]]]]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.count("\n") > MOST_LINES:
        raise ValueError(f"it has more than {MOST_LINES} lines; split it")
    records = _records(_without_comments(text).split("\n"))
    _, header = next(records, (0, []))
    if len(set(header)) != len(header):
        raise ValueError("a column is named twice")
    body = []
    for line, record in records:
        if len(record) > len(header):
            raise ValueError(f"line {line} has {len(record)} cells, the header {len(header)}")
        body.append((line, record))
        if len(body) * len(header) > MOST_CELLS:
            raise ValueError(f"it has more than {MOST_CELLS} cells; split it")
    columns = [_typed([record[i] if i < len(record) else "" for _, record in body]) for i in range(len(header))]
    rows = [(line, {name: columns[i][n] for i, name in enumerate(header)}) for n, (line, _) in enumerate(body)]
    return tuple(header), rows


def _without_comments(text: str) -> str:
    """Comments become nothing, but the line breaks in them stay, so that lines keep their numbers."""

    def kept(found: re.Match[str]) -> str:
        if found["open"] is not None:
            raise ValueError(f"line {text.count(chr(10), 0, found.start()) + 1} begins a comment that has no end")
        return found[0] if found[0][0] == '"' else "\n" * found[0].count("\n")

    return _COMMENTS.sub(kept, text)


def _records(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        if line.count(",") >= MOST_COLUMNS:
            raise ValueError(f"line {number} has more than {MOST_COLUMNS} cells")
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
