"""A folder of foreign code objects, as AITER ships them: `<arch>/<kind>/**/*.{co,csv}`."""

from __future__ import annotations

import importlib.util
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from attrs import define, evolve, field, frozen

from rocmkern.codeobject import CodeObject, read
from rocmkern.errors import CodeObjectError, PackageError
from rocmkern.packages.matrix_tiles import tile_of
from rocmkern.packages.tables import KernelRow, KernelTable, read_table
from rocmkern.paths import leads_into, open_regular

_ARCH: Final = re.compile(r"gfx[0-9a-f]+")
_INSIDE: Final = ("", "hsa", "aiter_meta/hsa")  # where a checkout and an installed amd-aiter keep the tree
_INSTALLED: Final = "aiter_meta"


@frozen
class KernelFile:
    """One code object of a package."""

    path: Path
    arch: str
    kind: str  # the folder below the arch; empty for a file that lies beside the folders

    @property
    def name(self) -> str:
        return self.path.name


@frozen
class Fault:
    """Why something of a package is not used: which rule is broken, and what the file or row says."""

    rule: str
    fact: str


@frozen(eq=False)
class PackagedTable:
    """A table of a package: whose arch, which kind of kernel."""

    table: KernelTable
    arch: str
    kind: str

    def file(self, row: KernelRow) -> Path:
        """Where the row's code object should lie."""
        return self.table.path.parent / row.file


@define(eq=False)
class KernelPackage:
    """The code objects and tables below a folder. Open it with KernelPackage.open or KernelPackage.installed.

    Nothing outside the folder is used, also where a link or a table's row leads there. What is in it is looked at once.
    """

    root: Path
    kernel_faults: dict[tuple[object, Path, str], Fault | None] = field(factory=dict, init=False)  # kind, file, symbol
    _absences: dict[Path, str | None] = field(factory=dict, init=False)
    _codes: dict[Path, CodeObject | str] = field(factory=dict, init=False)  # or why there is none
    _tiles: dict[tuple[Path, str, re.Pattern[str]], tuple[int, int]] = field(factory=dict, init=False)

    @staticmethod
    def open(folder: str | os.PathLike[str]) -> KernelPackage:
        """The package in `folder`: an `hsa` tree, a checkout that holds one, or an unpacked amd-aiter.

        Raises PackageError if no arch folder is there.
        """
        base = Path(folder)
        if not base.is_dir():
            raise PackageError(f"open package: {base} is no folder; pass the one that holds gfx942/, gfx950/, …")
        for inside in _INSIDE:
            if any(_arch_folders(base / inside)):
                return KernelPackage(base / inside)
        raise PackageError(f"open package: {base} holds no folder named after a target (gfx942/, gfx950/, …)")

    @staticmethod
    def installed() -> KernelPackage:
        """The package inside the installed amd-aiter. Raises PackageError that says how to install it."""
        found = importlib.util.find_spec(_INSTALLED)
        for place in (found.submodule_search_locations or ()) if found is not None else ():
            return KernelPackage.open(Path(place).parent)
        raise PackageError("open package: amd-aiter is not installed; pip install --no-deps --pre amd-aiter")

    @cached_property
    def archs(self) -> tuple[str, ...]:
        return tuple(folder.name for folder in _arch_folders(self.root))

    @cached_property
    def files(self) -> tuple[KernelFile, ...]:
        """Every code object, also those that no table names."""
        return tuple(KernelFile(path, arch, kind) for arch, kind, path in self._walk(".co"))

    @cached_property
    def tables(self) -> tuple[PackagedTable, ...]:
        return tuple(PackagedTable(self._table(path), arch, kind) for arch, kind, path in self._walk(".csv"))

    def _table(self, path: Path) -> KernelTable:
        absence = self.absence(path)
        if absence is not None:
            raise PackageError(f"read table {path.name}: it {absence}")
        return read_table(path)

    def absence(self, path: Path) -> str | None:
        """Why there is no file to be used at a path; None where there is one."""
        if path not in self._absences:
            self._absences[path] = self._absence(path)
        return self._absences[path]

    def _absence(self, path: Path) -> str | None:
        try:
            if not leads_into(path, self.root):
                return "leads out of the package; copy the file into it"
            return None if stat.S_ISREG(path.stat().st_mode) else "is no regular file"
        except FileNotFoundError:
            return "is missing"
        except (OSError, ValueError) as error:  # a name too long, links in a circle; a name that no file can have
            return f"can't be opened ({getattr(error, 'strerror', None) or error})"

    def code(self, path: Path) -> CodeObject:
        """What is in a code object of the package. Raises PackageError where it can't be read."""
        found = self._codes.get(path)
        if found is None:
            found = self._codes[path] = self._code(path)
        if isinstance(found, str):
            raise PackageError(found)
        return found

    def _code(self, path: Path) -> CodeObject | str:
        absence = self.absence(path)
        if absence is not None:
            return f"read {path.name}: it {absence}"
        try:
            with os.fdopen(open_regular(path), "rb") as file:
                return read(file.read())
        except CodeObjectError as error:
            return str(error)
        except (OSError, ValueError) as error:
            return f"read {path.name}: {error}"

    def tile(self, path: Path, symbol: str, multiplies: re.Pattern[str]) -> tuple[int, int]:
        """The tile in whose order a kernel reads its weights. Raises PackageError where its code does not tell."""
        key = path, symbol, multiplies
        if key not in self._tiles:
            code = self.code(path)
            self._tiles[key] = tile_of(code, code.kernels[symbol], multiplies)
        return self._tiles[key]

    def of_kind(self, kind: str, arch: str | None = None) -> tuple[PackagedTable, ...]:
        """The tables of one kind of kernel, of one arch or all."""
        return tuple(t for t in self.tables if t.kind == kind and arch in (None, t.arch))

    def from_names(self, kind: str, arch: str, pattern: re.Pattern[str] | None) -> tuple[PackagedTable, ...]:
        """A table of the files of a kind whose names match `pattern`, its groups being the columns."""
        found = [file for file in self.files if (file.kind, file.arch) == (kind, arch)]
        matched = [(file, match) for file in found if pattern is not None and (match := pattern.fullmatch(file.name))]
        if pattern is None or not matched:
            return ()
        rows, folder = list[KernelRow](), self.root / arch / kind
        for file, match in matched:
            values = {key: int(text) if text.isdigit() else text for key, text in match.groupdict().items() if text}
            with suppress(PackageError):
                place = file.path.relative_to(folder)
                rows += [
                    KernelRow(symbol, str(place), {**values, **_chip(place)}, 0)
                    for symbol in self.code(file.path).kernels
                ]
        table = KernelTable(folder / "names", tuple(pattern.groupindex), tuple(rows))
        return (PackagedTable(table, arch, kind),)

    def elsewhere(self, table: PackagedTable, row: KernelRow) -> tuple[Path, ...]:
        """Files of the row's name in sub-folders: variants by chip, of which the caller chooses at run time."""
        folders = sorted(folder for folder in table.table.path.parent.iterdir() if folder.is_dir())
        return tuple(path for folder in folders if self.absence(path := folder / row.file) is None)

    def with_chips(self, table: PackagedTable) -> PackagedTable:
        """The table with a row for each of those variants in the place of the one they are of, its column `chip`
        naming the sub-folder.
        """
        rows = list[KernelRow]()
        for row in table.table.rows:
            others = () if self.absence(table.file(row)) is None else self.elsewhere(table, row)
            places = [path.relative_to(table.table.path.parent) for path in others]
            rows += [evolve(row, file=str(place), values={**row.values, **_chip(place)}) for place in places] or [row]
        return evolve(table, table=evolve(table.table, rows=tuple(rows)))

    def _walk(self, suffix: str) -> Iterator[tuple[str, str, Path]]:
        for folder in _arch_folders(self.root):
            found = [Path(where, name) for where, _, names in os.walk(folder) for name in names]
            for path in sorted(path for path in found if path.suffix == suffix):
                inner = path.relative_to(folder).parts
                yield folder.name, inner[0] if len(inner) > 1 else "", path


def _chip(place: Path) -> dict[str, str]:
    """The chip that a kernel is for by its place below its kind's folder."""
    return {"chip": place.parts[0]} if len(place.parts) > 1 else {}


def _arch_folders(root: Path) -> list[Path]:
    return sorted(p for p in root.iterdir() if p.is_dir() and _ARCH.fullmatch(p.name)) if root.is_dir() else []
