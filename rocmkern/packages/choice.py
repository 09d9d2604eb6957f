"""Which of a package's kernels serves a problem, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from rocmkern.drivers.protocol import Dims
from rocmkern.errors import KernelNotFound, ShapeError
from rocmkern.packages import faults
from rocmkern.packages.args import KernelArgs
from rocmkern.packages.kind import Kind, Problem
from rocmkern.packages.package import KernelPackage, PackagedTable
from rocmkern.packages.tables import KernelRow
from rocmkern.targets import strip_features


@frozen
class Candidate:
    """One row that was looked at: why it was rejected, or what it costs."""

    table: PackagedTable
    row: KernelRow
    path: Path
    rejected: str | None
    score: tuple[float, ...] = ()

    def __str__(self) -> str:
        if self.rejected is not None:
            return f"{self.row.symbol}: rejected, {self.rejected}"
        return f"{self.row.symbol}: cost {', '.join(f'{n:g}' for n in self.score)}"


@frozen
class Choice:
    """The kernel that was chosen, with its launch; `candidates` are all rows in table order."""

    kind: Kind
    row: KernelRow
    path: Path
    splits: int
    grid: Dims
    block: Dims
    arguments: type[KernelArgs]  # of the kind's classes the one that the file has
    tile: tuple[int, int] | None  # of the order in which it reads its weights; None where these are not reordered
    problem: Problem = field(hash=False)
    candidates: tuple[Candidate, ...]
    step: str = "heuristic"

    def explain(self) -> str:
        """Why this kernel: one line per candidate, the chosen one marked."""
        lines = [f"{'→' if c.row is self.row else ' '} {c}" for c in self.candidates]
        asked = ", ".join(f"{key}={value}" for key, value in self.problem.items())
        return "\n".join([f"{self.kind.name} for {asked}: {self.row.symbol} ({self.step})", *lines])


@frozen(eq=False)
class KernelTable:
    """All rows of one kind of kernel for one arch."""

    package: KernelPackage
    kind: Kind
    arch: str
    tables: tuple[PackagedTable, ...]

    @staticmethod
    def of(package: KernelPackage, kind: Kind, arch: str) -> KernelTable:
        """The package's tables of `kind`; where it has none, what the files' names say."""
        base = strip_features(arch)
        tables = package.of_kind(kind.name, base) or package.from_names(kind.name, base, kind.file_name)
        return KernelTable(package, kind, base, tuple(package.with_chips(table) for table in tables))

    def select(self, compute_units: int, **problem: object) -> Choice:
        """The cheapest row that can serve `problem`; of equal ones the first in the table.

        Only rows that check() finds nothing wrong with count. Raises KernelNotFound with every candidate's reason,
        ShapeError for a problem that misses a key.
        """
        given: Problem = dict(problem)
        missing = [key for key in self.kind.needs if key not in given]
        if missing:
            raise ShapeError(
                f"select {self.kind.name}: {', '.join(missing)} missing; give {', '.join(self.kind.needs)}"
            )
        candidates = [
            self._candidate(table, row, given, compute_units) for table in self.tables for row in table.table.rows
        ]
        order = sorted((n for n, c in enumerate(candidates) if c.rejected is None), key=lambda n: candidates[n].score)
        for n in order:
            candidates[n] = self._read(candidates[n], given)
            if candidates[n].rejected is None:
                return self.choice(candidates[n], given, compute_units, tuple(candidates))
        raise KernelNotFound(self._none(given, candidates))

    def named(
        self, symbol: str, compute_units: int, step: str, path: Path | None = None, /, **problem: object
    ) -> Choice:
        """The row of that symbol, and file, if it can serve `problem`. Raises KernelNotFound with the reason if not."""
        given: Problem = dict(problem)
        rows = [(table, row) for table in self.tables for row in table.table.rows if row.symbol == symbol]
        rows = [(table, row) for table, row in rows if path in (None, table.file(row))]
        if not rows:
            raise KernelNotFound(f"select {self.kind.name}: the tables have no kernel {symbol}")
        candidates = tuple(self._read(self._candidate(*row, given, compute_units), given) for row in rows)
        best = next((c for c in candidates if c.rejected is None), None)
        if best is None:
            raise KernelNotFound(f"select {self.kind.name}: {'; '.join(map(str, candidates))}")
        return evolve(self.choice(best, given, compute_units, candidates), step=step)

    def tiles(self) -> dict[tuple[int, int], str]:
        """The tiles in whose order the kernels that can be launched read weights, each with the first one's symbol."""
        found: dict[tuple[int, int], str] = {}
        for table in self.tables:
            for row in table.table.rows:
                if faults.of_row(self.package, table, row, self.kind) is None:
                    tile = self._tile(table.file(row), row.symbol)
                    if tile is not None:
                        found.setdefault(tile, row.symbol)
        return found

    def choice(self, best: Candidate, given: Problem, units: int, candidates: tuple[Candidate, ...]) -> Choice:
        splits = self.kind.splits(best.row, given, units)
        grid = self.kind.grid(best.row, given, splits)
        arguments = self.kind.arguments_of(self.package.code(best.path).kernels[best.row.symbol])
        assert arguments is not None  # else the row has a fault
        tile = self._tile(best.path, best.row.symbol)
        return Choice(
            self.kind, best.row, best.path, splits, grid, self.kind.block(best.row), arguments, tile, given, candidates
        )

    def _tile(self, path: Path, symbol: str) -> tuple[int, int] | None:
        """The tile in whose order a kernel of the kind reads weights; None where these are not reordered."""
        return None if self.kind.multiplies is None else self.package.tile(path, symbol, self.kind.multiplies)

    def _candidate(self, table: PackagedTable, row: KernelRow, given: Problem, units: int) -> Candidate:
        path = table.file(row)
        missing, wrong = self.package.absence(path), self.kind.untiled(row)
        why = f"{row.file} {missing}" if missing is not None else wrong
        if why is None:
            why = next((why for rule in self.kind.rules if (why := rule.test(row, given)) is not None), None)
        return Candidate(table, row, path, why, () if why is not None else self.kind.score(row, given, units))

    def _read(self, candidate: Candidate, given: Problem) -> Candidate:
        """The candidate, rejected where its file is not as the row says, or reads weights of another order."""
        if candidate.rejected is not None:
            return candidate
        fault = faults.of_row(self.package, candidate.table, candidate.row, self.kind)
        why = fault.fact if fault is not None else self._other_order(candidate, given)
        return candidate if why is None else evolve(candidate, rejected=why)

    def _other_order(self, candidate: Candidate, given: Problem) -> str | None:
        tile, rows = self._tile(candidate.path, candidate.row.symbol), given.get("tile_rows")
        if tile is None or rows is None or tile[0] == rows:
            return None
        return f"it reads weights in tiles of {tile[0]} rows, these are in tiles of {rows}"

    def _none(self, given: Problem, candidates: Sequence[Candidate]) -> str:
        asked = ", ".join(f"{key}={value}" for key, value in given.items())
        if not candidates:
            return (
                f"select {self.kind.name}: the package has no table of it for {self.arch}; it has {self.package.archs}"
            )
        reasons = "\n".join(f"  {candidate}" for candidate in candidates)
        return f"select {self.kind.name}: no kernel for {asked} on {self.arch}; candidates:\n{reasons}"
