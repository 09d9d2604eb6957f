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

# Candle's three, the i32 of everybody else, and the i16 that Candle has for f8.
IDS: Final = (dtypes.uint8, dtypes.uint32, dtypes.int32, dtypes.int64, dtypes.int16)
_SOURCE_EXTENTS: Final = tuple(map(scalar, ("left", "src_dim", "ids_dim", "right")))
_TARGET_EXTENTS: Final = tuple(map(scalar, ("left", "src_dim", "dst_dim", "right")))


def _spec(symbol: str, parameters: tuple[Parameter, ...], macro: str, *arguments: str) -> KernelSpec:
    return KernelSpec(symbol, "indexing", parameters, f"{macro}({', '.join(arguments)})")


def _moving(i: DType, t: DType) -> Iterator[KernelSpec]:
    """The kernels that move elements as raw bits."""
    ids, inp, out, target = source("ids", i), source("inp", t), result("out", t), changed("out", t)
    names = (i.short, t.short, bits_name(t))
    pair = f"{i.short}_{t.short}"
    strided = (*LAYOUT, ids, inp, out, scalar("src_dim"), scalar("src_stride"))
    yield _spec(f"is_{pair}", (*LAYOUT, ids, inp, out, *_SOURCE_EXTENTS), "INDEX_SELECT", *names)
    yield _spec(f"gather_{pair}", (scalar("numel"), ids, inp, out, *_SOURCE_EXTENTS), "GATHER", *names)
    yield _spec(f"gather_strided_{pair}", strided, "GATHER_STRIDED", *names)
    yield _spec(f"ic_{pair}", (ids, scalar("ids_dim"), inp, target, *_TARGET_EXTENTS), "INDEX_COPY", *names)
    yield _spec(f"s_{pair}", (ids, inp, target, *_TARGET_EXTENTS), "SCATTER", *names)


def _adding(i: DType, t: DType) -> Iterator[KernelSpec]:
    ids, inp, target = source("ids", i), source("inp", t), changed("out", t)
    pair = f"{i.short}_{t.short}"
    yield _spec(f"ia_{pair}", (ids, scalar("ids_dim"), inp, target, *_TARGET_EXTENTS), "INDEX_ADD", i.short, t.short)
    yield _spec(f"sa_{pair}", (ids, inp, target, *_TARGET_EXTENTS), "SCATTER_ADD", i.short, t.short)


def _check_ids(i: DType) -> KernelSpec:
    parameters = (
        *LAYOUT, source("ids", i), result("out", dtypes.int64), scalar("bound"), changed("status", dtypes.uint64),
    )  # fmt: skip
    return _spec(f"check_ids_{i.short}", parameters, "CHECK_IDS", i.short)


def _nonzero(t: DType) -> Iterator[KernelSpec]:
    x, counts = (scalar("numel"), scalar("tile"), source("x", t)), dtypes.uint64
    yield _spec(f"nonzero_count_{t.short}", (*x, result("counts", counts)), "COUNT_NON_ZEROS", t.short)
    write = (*x, source("starts", counts), result("out", dtypes.int64))
    yield _spec(f"nonzero_write_{t.short}", write, "WRITE_NON_ZEROS", t.short)


_SCAN: Final = _spec("nonzero_scan", (scalar("n"), changed("counts", dtypes.uint64)), "SCAN_COUNTS", "nonzero_scan")
_UNRAVEL: Final = _spec(
    "nonzero_unravel",
    (
        scalar("numel"), scalar("num_dims"), source("dims", dtypes.uint64), source("flat", dtypes.int64),
        result("coordinates", dtypes.int64),
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
                *(k for t in by_size(dtypes.ALL) for i in IDS for k in (*_moving(i, t), *_adding(i, t))),
                *map(_check_ids, INTEGERS),
                *(k for t in by_size(dtypes.ALL) for k in _nonzero(t)),
                _SCAN,
                _UNRAVEL,
            ),
            key=lambda kernel: kernel.instance.partition("(")[0],
        )
    ),
)
