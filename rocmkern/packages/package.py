"""A folder of foreign code objects, as AITER ships them: `<arch>/<kind>/**/*.{co,csv}`."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

from attrs import define, frozen

from rocmkern.codeobject import read
from rocmkern.errors import PackageError
from rocmkern.packages.tables import KernelRow, KernelTable, read_table

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
    """The code objects and tables below a folder. Open it with KernelPackage.open or KernelPackage.installed."""

    root: Path

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
        return tuple(KernelFile(path, arch, kind) for arch, kind, path in self._walk("*.co"))

    @cached_property
    def tables(self) -> tuple[PackagedTable, ...]:
        return tuple(PackagedTable(read_table(path), arch, kind) for arch, kind, path in self._walk("*.csv"))

    def of_kind(self, kind: str, arch: str | None = None) -> tuple[PackagedTable, ...]:
        """The tables of one kind of kernel, of one arch or all."""
        return tuple(t for t in self.tables if t.kind == kind and arch in (None, t.arch))

    def from_names(self, kind: str, arch: str, pattern: re.Pattern[str] | None) -> tuple[PackagedTable, ...]:
        """A table of the files of a kind whose names match `pattern`, its groups being the columns."""
        found = [file for file in self.files if (file.kind, file.arch) == (kind, arch)]
        matched = [(file, match) for file in found if pattern is not None and (match := pattern.fullmatch(file.name))]
        if pattern is None or not matched:
            return ()
        rows = []
        for file, match in matched:
            (symbol,) = read(file.path.read_bytes()).kernels
            values = {key: int(text) if text.isdigit() else text for key, text in match.groupdict().items() if text}
            rows.append(KernelRow(symbol, file.name, dict(values), 0))
        table = KernelTable(matched[0][0].path.parent / "names", tuple(pattern.groupindex), tuple(rows))
        return (PackagedTable(table, arch, kind),)

    def elsewhere(self, table: PackagedTable, row: KernelRow) -> tuple[Path, ...]:
        """Files of the row's name in sub-folders: variants by chip, of which the caller chooses at run time."""
        return tuple(sorted(table.table.path.parent.glob(f"*/{row.file}")))

    def _walk(self, pattern: str) -> Iterator[tuple[str, str, Path]]:
        for folder in _arch_folders(self.root):
            for path in sorted(folder.rglob(pattern)):
                inner = path.relative_to(folder).parts
                yield folder.name, inner[0] if len(inner) > 1 else "", path


def _arch_folders(root: Path) -> list[Path]:
    return sorted(p for p in root.iterdir() if p.is_dir() and _ARCH.fullmatch(p.name)) if root.is_dir() else []
