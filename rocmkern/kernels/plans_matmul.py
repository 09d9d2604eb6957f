"""Launch plans of matrix products: which tile, and how many blocks."""

from __future__ import annotations

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.dtypes import DType
from rocmkern.kernels.families.matmul import THREADS, TILES, symbol
from rocmkern.kernels.plans import WORK_ITEMS, LaunchPlan


def _tiles(kind: str, m: int, n: int) -> int:
    tile = TILES[kind][0]
    return -(-m // tile[0]) * -(-n // tile[1])


def product(batch: int, m: int, n: int, t: DType, out: DType, device: DeviceInfo) -> LaunchPlan:
    """A plan for one (m, k) · (k, n) product of each of `batch` matrices; its variant is the symbol.

    Wide tiles read each operand less often, and are taken where they still give every compute unit one.
    """
    wide_exists = (t, out) in TILES["matmul_wide"][1]
    wide = wide_exists and batch * _tiles("matmul_wide", m, n) >= device.compute_units
    kind = "matmul_wide" if wide else "matmul"
    tile = TILES[kind][0]
    count = batch * _tiles(kind, m, n)
    grid = min(count, device.max_grid[0], WORK_ITEMS // THREADS)
    why = f"{count} tiles of {tile[0]}×{tile[1]} for {device.compute_units} compute units"
    return LaunchPlan((grid, 1, 1), (THREADS, 1, 1), 0, symbol(kind, t, out), why)
