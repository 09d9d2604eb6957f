"""sort: argsort as Candle has it, sorted rows of any length, search in sorted data, the largest of a softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import (
    Family,
    KernelSpec,
    Parameter,
    bits_name,
    bits_type,
    by_size,
    changed,
    result,
    scalar,
    source,
)

GATED: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32)  # of topk_softmax
MOST_EXPERTS: Final = 1024
_U32: Final = dtypes.uint32
_ROWS: Final = (scalar("rows"), scalar("ncols"), scalar("tiles"), scalar("shift", _U32))


def _spec(symbol: str, parameters: tuple[Parameter, ...], macro: str, *arguments: str) -> KernelSpec:
    return KernelSpec(symbol, "sort", parameters, f"{macro}({', '.join(arguments)})")


def _element(t: DType) -> Iterator[KernelSpec]:
    x, elements, descending = source("x", t), source("x", t, "numel"), scalar("descending", dtypes.bool_)
    positions = (x, result("dst", _U32), scalar("ncols", dtypes.int32), scalar("ncols_pad", dtypes.int32))
    rows = (
        source("x", t, "rows", "ncols"), result("values", t, "rows", "kept", nullable=True),
        result("indices", dtypes.int64, "rows", "kept", nullable=True), scalar("rows"),
        scalar("ncols", _U32), scalar("kept", _U32), scalar("lanes", _U32), descending,
    )  # fmt: skip
    keys = (scalar("numel"), elements, result("keys", bits_type(t), "numel"), descending)
    take = (
        scalar("numel"), source("positions", _U32), x, result("values", t, nullable=True),
        result("indices", dtypes.int64, nullable=True), scalar("ncols"), scalar("kept"),
    )  # fmt: skip
    search = (
        scalar("n"), scalar("numel"), source("sorted", t, "n"), source("values", t, "numel"),
        result("out", dtypes.int64, "numel"), scalar("right", dtypes.bool_),
    )  # fmt: skip
    yield _spec(f"asort_asc_{t.short}", positions, "ARGSORT_ASCENDING", t.short)
    yield _spec(f"asort_desc_{t.short}", positions, "ARGSORT_DESCENDING", t.short)
    yield _spec(f"sort_rows_{t.short}", rows, "SORT_ROWS", t.short)
    yield _spec(f"sort_keys_{t.short}", keys, "SORT_KEYS", t.short)
    yield _spec(f"sort_take_{t.short}", take, "TAKE_SORTED", t.short, bits_name(t))
    yield _spec(f"searchsorted_{t.short}", search, "SEARCH_SORTED", t.short)
    yield _spec(
        f"changes_{t.short}",
        (scalar("numel"), elements, result("flags", dtypes.bool_, "numel")),
        "MARK_CHANGES",
        t.short,
    )


def _radix(key: DType) -> Iterator[KernelSpec]:
    count = (source("keys", key), result("counts", _U32), *_ROWS)
    scatter = (
        source("keys_in", key), source("positions_in", _U32, nullable=True),
        result("keys_out", key, nullable=True), result("positions_out", _U32),
        source("counts", _U32), source("totals", _U32), *_ROWS,
    )  # fmt: skip
    yield _spec(f"radix_count_{key.short}", count, "RADIX_COUNT", key.short)
    yield _spec(f"radix_scatter_{key.short}", scatter, "RADIX_SCATTER", key.short)


def _topk_softmax(t: DType) -> KernelSpec:
    parameters = (
        source("gating", t, "rows", "experts"), result("weights", dtypes.float32, "rows", "k"),
        result("columns", dtypes.int32, "rows", "k"), scalar("rows"),
        scalar("experts", _U32), scalar("k", _U32), scalar("renormalize", dtypes.bool_),
    )  # fmt: skip
    return _spec(f"topk_softmax_{t.short}", parameters, "TOPK_SOFTMAX", t.short)


_SCAN: Final = _spec(
    "radix_scan",
    (scalar("lines"), scalar("n"), changed("counts", _U32), result("totals", _U32)),
    "SCAN_LINES",
    "radix_scan",
)

FAMILY: Final = Family(
    "sort",
    "stable order of rows of any length, NaN last; search and comparison in sorted data; the largest of a softmax",
    tuple(
        sorted(
            (
                *(k for t in by_size(dtypes.REAL) for k in _element(t)),
                *(k for key in (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64) for k in _radix(key)),
                *map(_topk_softmax, GATED),
                _SCAN,
            ),
            key=lambda kernel: kernel.instance.partition("(")[0],
        )
    ),
)
