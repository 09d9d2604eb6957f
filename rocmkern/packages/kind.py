"""What a kind of foreign kernels is: arguments, which row can serve a problem, which does it best, its launch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field, frozen

from rocmkern.codeobject import Kernel
from rocmkern.drivers.protocol import Dims
from rocmkern.kernels.csv_table import Cell
from rocmkern.packages.args import KernelArgs
from rocmkern.packages.tables import KernelRow

Problem = dict[str, Any]

BLOCK: Final[Dims] = (256, 1, 1)  # of nearly all of AITER's kernels
_LARGEST_TILE: Final = 1 << 20


@frozen
class Rule:
    """One condition on a row. `test` answers None if the row passes, else why not."""

    name: str
    test: Callable[[KernelRow, Problem], str | None]


@frozen(eq=False)
class Kind:
    """One kind of kernel. `score` is what a row costs for a problem on so many compute units, smallest first."""

    name: str
    needs: tuple[str, ...]
    tiles: tuple[str, ...]  # columns of how much a workgroup does
    arguments: tuple[type[KernelArgs], ...]
    rules: tuple[Rule, ...]
    score: Callable[[KernelRow, Problem, int], tuple[float, ...]]
    splits: Callable[[KernelRow, Problem, int], int]
    grid: Callable[[KernelRow, Problem, int], Dims]
    block: Callable[[KernelRow], Dims] = lambda row: BLOCK
    file_name: re.Pattern[str] | None = None  # its groups are the columns, where a package has files but no table
    tuned: Mapping[str, Cell] = field(factory=dict)  # what columns of tuned tables hold in rows for such kernels
    multiplies: re.Pattern[str] | None = None  # the instructions whose `rows` a reordered B is laid out for

    def untiled(self, row: KernelRow) -> str | None:
        """Why a row's launch can't be told; None where it can."""
        wrong = [column for column in self.tiles if not 1 <= row.number(column) <= _LARGEST_TILE]
        return f"{', '.join(wrong)} is no number from 1 to {_LARGEST_TILE}" if wrong else None

    def arguments_of(self, kernel: Kernel) -> type[KernelArgs] | None:
        """The class that the file's argument block has; None where it has none of them."""
        return next((args for args in self.arguments if args.fits(kernel)), None)


def ceil_div(n: int, step: int) -> int:
    return -(-n // step)


def rounds(tiles: int, tile_m: int, tile_n: int, units: int) -> tuple[float, ...]:
    """AITER's rule: fewest rounds over the compute units, then fewest idle ones, then the most work per byte loaded."""
    turns = ceil_div(tiles, units)
    return turns, turns * units - tiles, -tile_m * tile_n / (tile_m + tile_n)


def equal(column: str, missing: Cell = None) -> Rule:
    """The row's value is the problem's; `missing` is what a row without one means."""

    def test(row: KernelRow, given: Problem) -> str | None:
        have = row.values.get(column)
        have, want = missing if have is None else have, given[column]
        return None if have == want else f"{column} is {have}, {want} is wanted"

    return Rule(f"{column} equal", test)


def divides(column: str, key: str) -> Rule:
    """The row's tile divides the problem's size."""

    def test(row: KernelRow, given: Problem) -> str | None:
        tile = row.number(column)
        return None if tile and given[key] % tile == 0 else f"{key}={given[key]} is no multiple of {column}={tile}"

    return Rule(f"{key} is a multiple of {column}", test)


def multiple(key: str, step: int) -> Rule:
    """The problem's size is a multiple of a constant."""

    def test(row: KernelRow, given: Problem) -> str | None:
        return None if given[key] % step == 0 else f"{key}={given[key]} is no multiple of {step}"

    return Rule(f"{key} is a multiple of {step}", test)
