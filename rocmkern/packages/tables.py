"""The CSV tables that name a package's kernels: which symbol in which file serves which problem."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from attrs import field, frozen

from rocmkern.errors import PackageError

Cell = int | float | str | None

_SYMBOL: Final = "knl_name"
_FILES: Final = ("co_name", "knl_file")  # today's column and the older one
_COMMENTS: Final = re.compile(r'"[^"]*"|/\*.*?\*/|(?://|#|(?<=\s);)[^\n]*', re.S)


@frozen
class KernelRow:
    """One kernel: its symbol, its file relative to the table, what the other columns say, and its line in the file."""

    symbol: str
    file: str
    values: dict[str, Cell] = field(hash=False)
    line: int

    def __getitem__(self, column: str) -> Cell:
        return self.values[column]

    def number(self, column: str, default: int = 0) -> int:
        """The value of an integer column; `default` where it is missing."""
        value = self.values.get(column)
        return default if not isinstance(value, int) else value


@frozen(eq=False)
class KernelTable:
    """The rows of one CSV file, in its order. A column holds integers, numbers or text, decided by all of its rows."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[KernelRow, ...]


def read_table(path: Path) -> KernelTable:
    """Reads a table with either spelling of its columns; comments, a byte order mark and blank lines are passed over.

    A missing value is None. Raises PackageError naming file and line for a table that is none.
    """
    header, lines = read_csv(path)
    file_column = next((name for name in _FILES if name in header), None)
    if _SYMBOL not in header or file_column is None:
        raise PackageError(
            f"read table {path.name}: columns are {', '.join(header) or 'none'}; "
            f"{_SYMBOL} and {' or '.join(_FILES)} are needed"
        )
    rows = []
    for line, cells in lines:
        symbol, file = cells.pop(_SYMBOL), cells.pop(file_column)
        if symbol is None or file is None:
            raise PackageError(f"read table {path.name}: line {line} names no symbol or no file")
        rows.append(KernelRow(str(symbol), str(file), cells, line))
    columns = tuple(name for name in header if name not in (_SYMBOL, file_column))
    return KernelTable(path, columns, tuple(rows))


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
