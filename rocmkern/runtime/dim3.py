"""Grid and block sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index
from typing import SupportsIndex

from attrs import frozen

from rocmkern.errors import LaunchError


@frozen
class Dim3:
    """Three sizes, x fastest; the ones left out are 1."""

    x: int = 1
    y: int = 1
    z: int = 1

    def __iter__(self) -> Iterator[int]:
        return iter((self.x, self.y, self.z))


DimLike = SupportsIndex | Iterable[SupportsIndex]


def sizes(dim: DimLike, what: str) -> tuple[int, int, int]:
    """`dim` as three integers. Raises LaunchError for anything but one to three integers."""
    try:
        parts = tuple(map(index, dim)) if isinstance(dim, Iterable) else (index(dim),)
    except TypeError:
        parts = ()
    if not 1 <= len(parts) <= 3:
        raise LaunchError(f"launch: {what} is {dim!r}; give one to three integers")
    x, y, z = (*parts, 1, 1)[:3]
    return x, y, z
