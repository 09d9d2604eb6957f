"""The CSV tables that name a package's kernels: which symbol in which file serves which problem."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from attrs import field, frozen

from rocmkern.errors import PackageError
from rocmkern.kernels.csv_table import Cell, read_csv

LONGEST_NAME: Final = 4096  # a path's, and a symbol's
_SYMBOL: Final = "knl_name"
_FILES: Final = ("co_name", "knl_file")  # today's column and the older one


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
            f"read table {path.name}: of its {len(header)} columns none is {_SYMBOL}, or none {' or '.join(_FILES)}"
        )
    rows = []
    for line, cells in lines:
        symbol, file = cells.pop(_SYMBOL), cells.pop(file_column)
        if symbol is None or file is None:
            raise PackageError(f"read table {path.name}: line {line} names no symbol or no file")
        longest = max(len(str(symbol)), len(str(file)))
        if longest > LONGEST_NAME:
            raise PackageError(
                f"read table {path.name}: line {line} has a name of {longest} letters, {LONGEST_NAME} are the most"
            )
        rows.append(KernelRow(str(symbol), str(file), cells, line))
    columns = tuple(name for name in header if name not in (_SYMBOL, file_column))
    return KernelTable(path, columns, tuple(rows))
