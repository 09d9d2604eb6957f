"""Tuned tables: for a shape on a chip, the kernel that was measured to be fastest.

Rows are keyed by target, compute units, problem and variant (dtypes, library, layout). They are looked up exactly, then
with M rounded up as AITER rounds it, then among rows of the same target with other compute units. No file is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import field, frozen

from rocmkern.errors import PackageError
from rocmkern.kernels.csv_table import Cell, read_csv

_LEVEL_0: Final = ((256, 16), (1024, 32), (4096, 64))  # up to → rounded up to a multiple of
_LEVEL_0_STEP: Final = 128
_LARGE_M, _LARGE_N = 8192, 4096
_TARGET_OF_UNITS: Final[dict[int, str]] = {256: "gfx950", 80: "gfx942", 304: "gfx942"}  # tables without a gfx column

VARIANTS: Final = ("dtype", "outdtype", "q_dtype_w", "libtype", "bpreshuffle", "scaleAB", "bias", "B")

Key = tuple[Cell, ...]


@frozen
class TunedRow:
    """One measured kernel."""

    values: dict[str, Cell] = field(hash=False)
    path: Path
    line: int

    @property
    def kernel(self) -> str:
        return str(self.values["kernelName"])

    @property
    def target(self) -> str:
        """The architecture that was measured, by the number of compute units in tables without a gfx column."""
        named = self.values.get("gfx")
        if named is not None:
            return str(named)
        units = self.values["cu_num"]
        return _TARGET_OF_UNITS.get(units, "") if isinstance(units, int) else ""

    @property
    def splits(self) -> int:
        """Into how many parts K was split, 0 where the table does not say."""
        value = self.values.get("splitK")
        return value if isinstance(value, int) else 0

    def is_of(self, variant: Mapping[str, Cell]) -> bool:
        """Whether the row says nothing else of a variant's columns."""
        return all(self.values.get(column) in (None, wanted) for column, wanted in variant.items())

    @property
    def microseconds(self) -> float:
        value = self.values.get("us")
        return float(value) if isinstance(value, (int, float)) and value > 0 else float("inf")


@frozen
class TunedChoice:
    """The row that was found, and how: the step says what was not exact."""

    row: TunedRow
    step: str


@frozen(eq=False)
class TunedTable:
    """Several files read as one; of rows with one key the fastest counts, and of equally fast ones the first."""

    problem_columns: tuple[str, ...]
    _rows: dict[Key, dict[Key, TunedRow]]  # of a problem by variant
    files: tuple[Path, ...]

    @staticmethod
    def read(paths: Iterable[Path], problem_columns: tuple[str, ...] = ("M", "N", "K")) -> TunedTable:
        """Reads CSV files. Raises PackageError for one that lacks a key column."""
        rows: dict[Key, dict[Key, TunedRow]] = {}
        files = tuple(paths)
        for path in files:
            for row in _read(path, ("cu_num", *problem_columns, "kernelName")):
                key = (row.target, row.values["cu_num"], *(row.values[c] for c in problem_columns))
                variants = rows.setdefault(key, {})
                variant = tuple(row.values.get(c) for c in VARIANTS)
                held = variants.get(variant)
                if held is None or row.microseconds < held.microseconds:
                    variants[variant] = row
        return TunedTable(problem_columns, rows, files)

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def rows(self) -> tuple[TunedRow, ...]:
        """The rows that count, in the files' order."""
        return tuple(row for variants in self._rows.values() for row in variants.values())

    def find(
        self, target: str, compute_units: int, variant: Mapping[str, Cell] | None = None, **problem: Cell
    ) -> TunedChoice | None:
        """The row for a problem, or None if no step finds one; of several variants the fastest.

        `variant` says what columns of VARIANTS have to hold where a table has them.
        """
        wanted = [problem[c] for c in self.problem_columns]
        units = [compute_units, *self._other_units(target, compute_units)]
        for count in units:
            for step, values in self._padded(wanted):
                rows = self._rows.get((target, count, *values), {}).values()
                fitting = [row for row in rows if row.is_of(variant or {})]
                if fitting:
                    found = min(fitting, key=lambda row: row.microseconds)
                    there = "" if count == compute_units else f", tuned for {count} compute units of {target}"
                    return TunedChoice(found, f"tuned, {step}{there}")
        return None

    def _other_units(self, target: str, compute_units: int) -> list[int]:
        counts = {key[1] for key in self._rows if key[0] == target and isinstance(key[1], int)}
        return sorted(counts - {compute_units}, key=lambda n: (abs(n - compute_units), n))

    def _padded(self, values: list[Cell]) -> Iterator[tuple[str, list[Cell]]]:
        yield "exact shape", values
        if "M" not in self.problem_columns:
            return
        at = self.problem_columns.index("M")
        m = values[at]
        if not isinstance(m, int):
            return
        n = values[self.problem_columns.index("N")] if "N" in self.problem_columns else 0
        for level in (0, 1):
            padded = padded_m(m, n if isinstance(n, int) else 0, level)
            yield f"M padded from {m} to {padded}", [*values[:at], padded, *values[at + 1 :]]


def padded_m(m: int, n: int, level: int) -> int:
    """M rounded up: at level 0 to 16, 32, 64 or 128 by size, at level 1 to a power of two (8192 for large M and N)."""
    if level == 0:
        step = next((step for most, step in _LEVEL_0 if m <= most), _LEVEL_0_STEP)
        return -(-m // step) * step
    if m > _LARGE_M and n > _LARGE_N:
        return _LARGE_M
    return 1 << max(0, m - 1).bit_length()


def _read(path: Path, needed: tuple[str, ...]) -> Iterator[TunedRow]:
    header, rows = read_csv(path)
    missing = [column for column in needed if column not in header]
    if missing:
        raise PackageError(f"read tuned table {path.name}: no column {', '.join(missing)} among its {len(header)}")
    for line, values in rows:
        yield TunedRow(values, path, line)
