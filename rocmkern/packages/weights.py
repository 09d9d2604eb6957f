"""Weights reordered once, into the order in which a package's kernels load them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from rocmkern.dtypes import DType, int8
from rocmkern.errors import ArgumentError, PackageError, ShapeError
from rocmkern.layout import normal_integer
from rocmkern.ops.casting import packed
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.manipulation import permute_dims, reshape
from rocmkern.packages.choice import KernelTable
from rocmkern.packages.kinds import I8GEMM
from rocmkern.packages.package import KernelPackage
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

_I8_TILE: Final = (32, 16)
_OTHER_TILE: Final = (16, 16)


@frozen(eq=False)
class ShuffledWeight:
    """A matrix (n, k) in the order that kernels with matrix tiles of `rows` × `columns` load it."""

    tensor: Tensor
    n: int
    k: int
    tile: tuple[int, int]

    def plain(self) -> Tensor:
        """The matrix in its usual order."""
        rows, columns = self.tile
        per_load = _per_load(self.tensor.dtype)
        parts = (self.n // rows, self.k // (2 * columns), 2 * columns // per_load, rows, per_load)
        return reshape(permute_dims(reshape(self.tensor, parts), (0, 3, 1, 2, 4)), (self.n, self.k))


def _per_load(dtype: DType) -> int:
    return 16 // dtype.itemsize


def shuffle_weight(
    b: Tensor, tile: tuple[int, int] | None = None, *, package: KernelPackage | None = None
) -> ShuffledWeight:
    """`b` (n, k) reordered once for kernels that want it so, in the order that those of `package` read.

    `tile` says it in place of a package; without either it is (32, 16) for int8, (16, 16) for others. Raises ShapeError
    unless n is a multiple of the tile's rows and k of twice its columns, PackageError where kernels of the package read
    different orders.
    """
    n, k = matrix_sides("shuffle_weight", "b", b)
    if package is not None and not isinstance(package, KernelPackage):
        raise ArgumentError(f"shuffle_weight: {type(package).__name__} is no package; open one with KernelPackage.open")
    if tile is None and package is not None and b.dtype is int8:
        tile = _tile_of(package, b.device)
    rows, columns = (_I8_TILE if b.dtype is int8 else _OTHER_TILE) if tile is None else _tile(tile)
    if n % rows or k % (2 * columns):
        raise ShapeError(f"shuffle_weight: shape {b.shape}; rows come in {rows}, columns in {2 * columns}: pad it")
    per_load = _per_load(b.dtype)
    parts = reshape(b, (n // rows, rows, k // (2 * columns), 2 * columns // per_load, per_load))
    return ShuffledWeight(packed(permute_dims(parts, (0, 2, 3, 1, 4))), n, k, (rows, columns))


def _tile_of(package: KernelPackage, device: Device) -> tuple[int, int] | None:
    """The tile of a package's int8 kernels for a device; None where it has none."""
    found = KernelTable.of(package, I8GEMM, device.info.arch).tiles()
    if len(found) > 1:
        kernels = "; ".join(f"{tile} is that of {symbol}" for tile, symbol in found.items())
        raise PackageError(f"shuffle_weight: the package's kernels read different orders: {kernels}; give tile")
    return next(iter(found), None)


def _tile(given: object) -> tuple[int, int]:
    sides = [normal_integer(n, "shuffle_weight", "tile") for n in given] if isinstance(given, Sequence) else []
    if len(sides) != 2 or min(sides) < 1:
        raise ShapeError(f"shuffle_weight: tile {given!r}; give its rows and columns, from 1 on")
    return sides[0], sides[1]


def matrix_sides(operation: str, name: str, t: Tensor) -> tuple[int, int]:
    if as_tensor(operation, t).ndim != 2:
        raise ShapeError(f"{operation}: {name} has shape {t.shape}; two dimensions are wanted")
    return t.shape[0], t.shape[1]
