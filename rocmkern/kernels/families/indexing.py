"""indexing: select, gather, scatter and add by index tensors; checked indices; positions of non-zeros."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import (
    INTEGERS,
    LAYOUT,
    Family,
    KernelSpec,
    Parameter,
    bits_name,
    by_size,
    changed,
    result,
    scalar,
    source,
)
from rocmkern.kernels.families.fused import ANY_IDS, BITS

# Candle's three and the i32 of everybody else; Candle has i16 for f8 alone.
_IDS: Final = (dtypes.uint8, dtypes.uint32, dtypes.int32, dtypes.int64)
_SOURCE_EXTENTS: Final = tuple(map(scalar, ("left", "src_dim", "ids_dim", "right")))
_TARGET_EXTENTS: Final = tuple(map(scalar, ("left", "src_dim", "dst_dim", "right")))
_WIDE_IDS: Final = source("ids", dtypes.int64)
_STATUS: Final = Parameter("status", "inout", dtypes.uint64, nullable=True)


def _spec(symbol: str, parameters: tuple[Parameter, ...], macro: str, *arguments: str) -> KernelSpec:
    return KernelSpec(symbol, "indexing", parameters, f"{macro}({', '.join(arguments)})")


def ids_for(t: DType) -> tuple[DType, ...]:
    """The index types that kernels on elements of `t` take."""
    return (*_IDS, dtypes.int16) if t is dtypes.float8_e4m3 else _IDS


def _of_candle(i: DType, t: DType) -> Iterator[KernelSpec]:
    ids, inp, out, target = source("ids", i), source("inp", t), result("out", t, "numel"), changed("out", t)
    moving, adding = (i.short, t.short, bits_name(t)), (i.short, t.short)
    pair = f"{i.short}_{t.short}"
    by_row, by_element = (ids, scalar("ids_dim"), inp, target, *_TARGET_EXTENTS), (ids, inp, target, *_TARGET_EXTENTS)
    yield _spec(f"is_{pair}", (*LAYOUT, ids, inp, out, *_SOURCE_EXTENTS), "INDEX_SELECT", *moving)
    yield _spec(f"gather_{pair}", (scalar("numel"), ids, inp, out, *_SOURCE_EXTENTS), "GATHER", *moving)
    yield _spec(f"s_{pair}", by_element, "SCATTER", *moving)
    yield _spec(f"ia_{pair}", by_row, "INDEX_ADD", *adding)
    yield _spec(f"sa_{pair}", by_element, "SCATTER_ADD", *adding)


def _index_add_sorted(t: DType) -> KernelSpec:
    """For the i64 that check_ids gives."""
    order, ids = (source(name, dtypes.int64) for name in ("order", "ids"))
    arguments = (order, ids, scalar("ids_dim"), source("inp", t), changed("out", t))
    extents = map(scalar, ("left", "dst_dim", "right"))
    return _spec(f"ia_sorted_{t.short}", (*arguments, *extents), "INDEX_ADD_SORTED", t.short)


def _reporting(t: DType) -> Iterator[KernelSpec]:
    """Reading at indices of any type, and writing at i64, which are checked."""
    tensors = (*LAYOUT, *ANY_IDS, source("inp", t), result("out", t, "numel"))
    yield _spec(f"select_{t.short}", (*tensors, *_SOURCE_EXTENTS, _STATUS), "SELECT", t.short)
    strided = (*tensors, scalar("src_dim"), scalar("src_stride"), _STATUS)
    yield _spec(f"gather_strided_{t.short}", strided, "GATHER_STRIDED", t.short)
    yield _spec(f"index_copy_{t.short}", (_WIDE_IDS, scalar("ids_dim"), *_written(t)), "INDEX_COPY", t.short)
    yield _spec(f"scatter_{t.short}", (_WIDE_IDS, *_written(t)), "REPORTING_SCATTER", t.short)
    yield _spec(f"scatter_tiles_{t.short}", _tiles(t), "SCATTER_TILES", t.short)


def _written(t: DType) -> tuple[Parameter, ...]:
    return source("inp", t), changed("out", t), *_TARGET_EXTENTS, _STATUS


def _tiles(t: DType) -> tuple[Parameter, ...]:
    tensors = source("inp", t), source("base", t), result("out", t)
    return scalar("columns", dtypes.uint32), _WIDE_IDS, *tensors, *_TARGET_EXTENTS, _STATUS


def _reporting_scatter_add(t: DType) -> Iterator[KernelSpec]:
    yield _spec(f"scatter_add_{t.short}", (_WIDE_IDS, *_written(t)), "REPORTING_SCATTER_ADD", t.short)
    yield _spec(f"scatter_add_tiles_{t.short}", _tiles(t), "SCATTER_ADD_TILES", t.short)


def _check_ids(i: DType) -> KernelSpec:
    parameters = (
        *LAYOUT, source("ids", i, "numel"), result("out", dtypes.int64, "numel"), scalar("bound"),
        changed("status", dtypes.uint64),
    )  # fmt: skip
    return _spec(f"check_ids_{i.short}", parameters, "CHECK_IDS", i.short)


def _nonzero(t: DType) -> Iterator[KernelSpec]:
    x, counts = (scalar("numel"), scalar("tile"), source("x", t, "numel")), dtypes.uint64
    yield _spec(f"nonzero_count_{t.short}", (*x, result("counts", counts)), "COUNT_NON_ZEROS", t.short)
    write = (*x, source("starts", counts), result("out", dtypes.int64))
    yield _spec(f"nonzero_write_{t.short}", write, "WRITE_NON_ZEROS", t.short)


_SCAN: Final = _spec("nonzero_scan", (scalar("n"), changed("counts", dtypes.uint64)), "SCAN_COUNTS", "nonzero_scan")
_UNRAVEL: Final = _spec(
    "nonzero_unravel",
    (
        scalar("numel"), scalar("num_dims"), source("dims", dtypes.uint64), source("flat", dtypes.int64, "numel"),
        result("coordinates", dtypes.int64, "numel", "num_dims"),
    ),
    "UNRAVEL",
    "nonzero_unravel",
)  # fmt: skip

# Kernels alike stand side by side, so that compression finds them.
FAMILY: Final = Family(
    "indexing",
    "elements chosen by index tensors: read, written, added to; indices checked; positions of non-zeros",
    tuple(
        sorted(
            (
                *(k for t in by_size(dtypes.REAL) for i in ids_for(t) for k in _of_candle(i, t)),
                *map(_index_add_sorted, by_size(dtypes.REAL)),
                *(k for t in BITS for k in _reporting(t)),
                *(k for t in by_size(dtypes.REAL) for k in _reporting_scatter_add(t)),
                *map(_check_ids, INTEGERS),
                *(k for t in by_size(dtypes.REAL) for k in _nonzero(t)),
                _SCAN,
                _UNRAVEL,
            ),
            key=lambda kernel: kernel.instance.partition("(")[0],
        )
    ),
)
