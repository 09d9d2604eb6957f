"""Launch plans of matrix products: which tile or which way, how many blocks, how many parts of the inner axis."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.dtypes import DType, float32, float64, int8, int32
from rocmkern.kernels.families.matmul import (
    PLAIN_SUMS,
    SCALED_TILES,
    SHORT,
    TILES,
    VECTOR_KINDS,
    VECTOR_PAIRS,
    VECTOR_THREADS,
    VECTORS,
    Tile,
    symbol,
)
from rocmkern.kernels.plans import VECTOR_BYTES, WORK_ITEMS, LaunchPlan, over_units
from rocmkern.kernels.tunable import Instance

# What a tile's results cost, relative to the largest tiles': those read each operand least often.
_COST: Final = {
    "matmul_little": 1.8, "matmul": 1.3, "matmul_tall": 1.1, "matmul_broad": 1.1, "matmul_wide": 1.0,
    "gemm": 1.3, "gemm_wide": 1.0,
}  # fmt: skip
_ROWS_AT_ONCE: Final = {1: 2, VECTORS: 4}  # of the matrix, that a wave multiplies with one vector or several
_SHORTEST_PART: Final = 256
_PART_MULTIPLE: Final = 64  # parts begin on whole cache lines
_BLOCKS_A_UNIT: Final = 4  # that hide the memory's latency where nothing is read twice


@frozen
class ProductPlan:
    """The launch of a product; where its inner axis is split, also that of the sum of the parts' results.

    `is_scaled` says that the first launch's kernel takes scales and a bias, `is_plain` that the second's does not;
    `partial` is the dtype that the first writes.
    """

    first: LaunchPlan
    is_scaled: bool
    is_plain: bool
    part: int
    parts: int
    partial: DType
    total: LaunchPlan | None

    @property
    def takes_bias(self) -> bool:
        """Whether the first launch's kernel takes a bias, and no scales."""
        return self.first.variant.startswith(tuple(VECTOR_KINDS))

    def __str__(self) -> str:
        if self.total is None:
            return str(self.first)
        return f"{self.first}, in {self.parts} parts of {self.part}\n{self.total}"


@frozen
class _Way:
    """A kernel that could be launched: so many blocks, of so many threads, for each part."""

    kind: str
    blocks: int
    threads: int
    why: str


def product(
    batch: int,
    m: int,
    n: int,
    k: int,
    t: DType,
    out: DType,
    by_rows: bool,
    scaled: bool,
    device: DeviceInfo,
    *,
    tuned: Instance | None = None,
) -> ProductPlan:
    """A plan for the (m, k) · (k, n) products of `batch` matrices, or with `scaled` for one with scales and a bias.

    `by_rows` says that k is contiguous in the larger operand. Few blocks for the device's compute units share a long
    inner axis among more of them; the results of its parts are added in their order, whatever the device does first.
    A `tuned` instance has its own tile and number of parts, and gives way where k is too short for those.
    """
    found = None if tuned is None else _tuned(batch, m, n, k, t, out, tuned, device)
    if found is not None:
        return found
    partial = _partial(t, out)
    narrow = min(m, n) <= VECTORS and (t, t) in VECTOR_PAIRS and not scaled
    if narrow:
        way = split = _vector_way(batch, m, n, k, t, by_rows, device)
    else:
        way = _tile_way(batch, m, n, _tiles(t, out, scaled), device, whole_rounds=True)
        split = _tile_way(batch, m, n, _tiles(t, partial or out, t in SHORT), device, whole_rounds=False)
    wanted = device.compute_units * (_BLOCKS_A_UNIT if narrow and not by_rows else 1)
    few = partial is not None and 2 * way.blocks <= wanted
    parts = min(wanted // split.blocks, k // _SHORTEST_PART) if few and split.blocks else 1
    if partial is None or parts < 2:
        return ProductPlan(_launch(way, symbol(way.kind, t, out), 1, device), scaled, True, max(k, 1), 1, out, None)
    part, parts = _parts(k, parts)
    first = _launch(split, symbol(split.kind, t, partial), parts, device)
    total = _total(batch * m * n, parts, partial, out, device)
    return ProductPlan(first, split.kind in SCALED_TILES, (partial, out) in PLAIN_SUMS, part, parts, partial, total)


def _parts(k: int, wanted: int) -> tuple[int, int]:
    """The length of about `wanted` parts of k, and how many that makes."""
    part = -(-k // wanted)
    part = -(-part // _PART_MULTIPLE) * _PART_MULTIPLE
    return part, -(-k // part)


def _total(results: int, parts: int, partial: DType, out: DType, device: DeviceInfo) -> LaunchPlan:
    name = symbol("matmul_sum", partial, out)
    return over_units(results, device, variant=name, why=f"a thread for a sum of {parts} parts")


def _tuned(
    batch: int, m: int, n: int, k: int, t: DType, out: DType, tuned: Instance, device: DeviceInfo
) -> ProductPlan | None:
    tile = Tile(*(tuned[name] for name in ("m", "n", "k", "thread_m", "thread_n")))
    part, parts = _parts(k, tuned["splits"]) if tuned["splits"] > 1 else (max(k, 1), 1)
    if parts < 2 and tuned["splits"] > 1:
        return None
    blocks = batch * -(-m // tile.m) * -(-n // tile.n)
    way = _Way("", blocks, tile.threads, f"{blocks} tiles of {tile.m}×{tile.n}, as tuned")
    first = _launch(way, tuned.kernels[0].symbol, parts, device)
    if parts == 1:
        return ProductPlan(first, False, True, part, 1, out, None)
    return ProductPlan(
        first, t in SHORT, False, part, parts, float32, _total(batch * m * n, parts, float32, out, device)
    )


def _partial(t: DType, out: DType) -> DType | None:
    """What the results of parts are kept in; None for products that are not split."""
    if t is int8 and out is not int8:
        return int32
    return float64 if t is float64 else float32 if t.is_float else None


def _tiles(t: DType, out: DType, scaled: bool) -> dict[str, Tile]:
    return dict(SCALED_TILES) if scaled else {kind: tile for kind, (tile, pairs) in TILES.items() if (t, out) in pairs}


def _vector_way(batch: int, m: int, n: int, k: int, t: DType, by_rows: bool, device: DeviceInfo) -> _Way:
    """By bands where neighbours are columns, unless one block does all rows of a small matrix: lanes beyond the last
    column would have nothing to do.
    """
    vectors, rows = sorted((m, n))
    waves = VECTOR_THREADS // device.wave_size
    in_a_block = waves * _ROWS_AT_ONCE[1 if vectors == 1 else VECTORS]
    by_rows = by_rows or (k <= _SHORTEST_PART and rows <= in_a_block)
    name, count = next(
        (kind, c) for kind, (way, c) in VECTOR_KINDS.items() if c >= vectors and (way == "ByRows") is by_rows
    )
    at_once = in_a_block if by_rows else device.wave_size * VECTOR_BYTES // t.itemsize
    blocks = batch * -(-rows // at_once)
    how = f"a wave for {_ROWS_AT_ONCE[count]} rows" if by_rows else f"a block for {at_once} columns"
    return _Way(name, blocks, VECTOR_THREADS, f"{vectors} of at most {count} vectors: {how} of the matrix")


def _tile_way(batch: int, m: int, n: int, tiles: dict[str, Tile], device: DeviceInfo, *, whole_rounds: bool) -> _Way:
    """The tiles that take the shortest time: if every compute unit does whole ones, or parts of them."""
    kind, count = fastest_tile(batch, m, n, tiles, device.compute_units if whole_rounds else 1)
    tile = tiles[kind]
    why = f"{count} tiles of {tile.m}×{tile.n} for {device.compute_units} compute units"
    return _Way(kind, count, tile.threads, why)


def fastest_tile(batch: int, m: int, n: int, tiles: dict[str, Tile], units: int) -> tuple[str, int]:
    """Of `tiles` by kind the one that `units` are done with first, each with whole tiles; how many those are."""
    counts = {kind: batch * -(-m // tile.m) * -(-n // tile.n) for kind, tile in tiles.items() if kind in _COST}
    kind = min(counts, key=lambda kind: -(-counts[kind] // units) * tiles[kind].m * tiles[kind].n * _COST[kind])
    return kind, counts[kind]


def _launch(way: _Way, name: str, parts: int, device: DeviceInfo) -> LaunchPlan:
    grid = min(way.blocks * parts, device.max_grid[0], WORK_ITEMS // way.threads)
    return LaunchPlan((grid, 1, 1), (way.threads, 1, 1), 0, name, way.why)
