"""fused: operations of several steps in one launch, for tensors so small that launches are what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import FLOATS as ALL_FLOATS
from rocmkern.kernels.catalogue import (
    INTEGERS,
    LAYOUT,
    Family,
    KernelSpec,
    Parameter,
    bits_name,
    bits_type,
    by_size,
    result,
    scalar,
    source,
)
from rocmkern.kernels.families.reduce import FLOATS, NORM_THREADS

MOST_UNIQUE: Final = 1024  # elements that unique_* takes
MOST_KEYS: Final = 1024  # of attention_*
MOST_IN_ORDER: Final = 1024  # elements of a row that quantile_* takes
BITS: Final = tuple(t for t in INTEGERS if t.kind == "unsigned")
_U8, _U32, _I32, _I64, _U64, _F64 = (
    dtypes.uint8, dtypes.uint32, dtypes.int32, dtypes.int64, dtypes.uint64, dtypes.float64,
)  # fmt: skip
ANY_IDS: Final = (scalar("id_type", _I32), source("ids", _U8))
_STATUS: Final = Parameter("status", "inout", _U64)
_TWO_AXES: Final = (
    *ANY_IDS, scalar("length"), scalar("step"), scalar("other_type", _I32), source("other", _U8, nullable=True),
    scalar("other_length"), scalar("other_step"), _STATUS,
    Parameter("other_status", "inout", _U64, nullable=True),
)  # fmt: skip
_ROWS: Final = (scalar("numel"), scalar("cols"), scalar("num_dims"), source("info", _U64, nullable=True))


def _spec(symbol: str, instance: str, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(symbol, "fused", parameters, instance)


def _by_bits(t: DType) -> Iterator[KernelSpec]:
    s, total = t.short, result("total", _U64)
    moved = source("inp", t), result("out", t)
    yield _spec(
        f"take_{s}", f"TAKE({s})", *LAYOUT[:2], source("info", _U64), scalar("count"), scalar("id_dims"),
        source("id_info", _U64), *moved, *_TWO_AXES,
    )  # fmt: skip
    yield _writes("write_last", "WRITE_LAST", t)
    places = scalar("count"), scalar("num_dims"), source("info", _U64)
    slices = scalar("right"), scalar("rest_dims"), source("rest_info", _U64)
    values = source("values", t), Parameter("out", "inout", t)
    yield _spec(f"write_at_{s}", f"WRITE_AT({s})", *places, *slices, *values, *_TWO_AXES)
    yield _spec(
        f"write_true_{s}", f"WRITE_TRUE({s})", *places, *slices, scalar("expected"), scalar("step"),
        source("mask", _U8), *values, total,
    )  # fmt: skip
    yield _spec(
        f"repeat_each_{s}", f"REPEAT_EACH({s})", *map(scalar, ("left", "count", "right", "total")), *ANY_IDS,
        scalar("step"), source("x", t), result("out", t),
    )  # fmt: skip
    yield _spec(
        f"non_zeros_{s}", f"NON_ZEROS({s})", *LAYOUT[:2], source("info", _U64), scalar("mask", t),
        scalar("flat", dtypes.bool_), source("x", t), result("coordinates", _I64), total,
    )  # fmt: skip
    yield _spec(
        f"select_true_{s}", f"SELECT_TRUE({s})", scalar("count"), scalar("right"), source("mask", _U8),
        source("x", t), result("out", t), total,
    )  # fmt: skip
    yield _spec(
        f"triangle_{s}", f"TRIANGLE({s})", *LAYOUT, scalar("rows"), scalar("columns"), scalar("words"),
        scalar("diagonal", _I64), scalar("below", dtypes.bool_), *moved,
    )  # fmt: skip
    yield _spec(
        f"count_non_zeros_{s}", f"COUNT_NON_ZEROS({s})", *_ROWS, scalar("mask", t), source("src", t),
        result("dst", _U64),
    )  # fmt: skip


def _writes(name: str, macro: str, t: DType) -> KernelSpec:
    sizes = tuple(map(scalar, ("left", "count", "length", "right")))
    tensors = source("inp", t), source("values", t), Parameter("out", "inout", t)
    return _spec(f"{name}_{t.short}", f"{macro}({t.short})", *sizes, source("info", _U64), *ANY_IDS, *tensors, _STATUS)


def _of_sets(t: DType) -> Iterator[KernelSpec]:
    s = t.short
    bits, values = (f"bits_of<{s}>", t) if t.is_complex else (bits_name(t), bits_type(t))
    optional = (result(name, _I64, nullable=True) for name in ("indices", "inverse", "counts"))
    yield _spec(
        f"unique_{s}", f"UNIQUE({s}, {bits})", scalar("count", _U32), source("x", t), result("values", values),
        *optional, result("total", _U64),
    )  # fmt: skip
    yield _spec(
        f"is_among_{s}", f"IS_AMONG({s})", scalar("numel"), scalar("count"), source("x", t, "numel"),
        source("given", t, "count"), scalar("inverted", dtypes.bool_), result("out", dtypes.bool_, "numel"),
    )  # fmt: skip


def _of_floats(t: DType) -> Iterator[KernelSpec]:
    s, src, dst = t.short, source("src", t), result("dst", t)
    lines = tuple(map(scalar, ("rows", "cols", "row_step", "col_step", "id_step")))
    yield _spec(
        f"cross_entropy_{s}", f"CROSS_ENTROPY({s})", *lines, *ANY_IDS, source("logits", t), result("out", t), _STATUS
    )
    yield _spec(
        f"variance_{s}", f"VARIANCE({s})", *_ROWS, scalar("divisor", _F64), scalar("root", dtypes.bool_), src, dst
    )
    yield _spec(
        f"unit_rows_{s}", f"UNIT_ROWS({NORM_THREADS[t.itemsize]}, {s})", scalar("rows"), scalar("cols"),
        scalar("eps", _F64), source("src", t, "rows", "cols"), result("dst", t, "rows", "cols"),
    )  # fmt: skip
    sizes = tuple(map(scalar, ("batches", "queries", "keys", "features", "outputs", "num_dims")))
    operands = (source(name, t) for name in ("query", "key", "value"))
    yield _spec(
        f"attention_{s}", f"ATTENTION({s})", *sizes, source("info", _U64), scalar("scale", _F64),
        scalar("is_truth", dtypes.bool_), *operands, source("mask", _U8, nullable=True), result("out", t),
    )  # fmt: skip


def _quantile(t: DType) -> KernelSpec:
    sizes = scalar("rows"), scalar("cols", _U32), scalar("low", _U32)
    return _spec(
        f"quantile_{t.short}", f"QUANTILE({t.short})", *sizes, scalar("share", _F64),
        source("src", t, "rows", "cols"), result("dst", t, "rows"),
    )  # fmt: skip


_ONE_HOT: Final = _spec(
    "one_hot", "ONE_HOT(one_hot)", scalar("count"), scalar("num_dims"), source("info", _U64), *ANY_IDS, scalar("depth"),
    result("out", dtypes.float32, "count", "depth"), _STATUS,
)  # fmt: skip

_LEAD: Final = _spec(
    "lead", "LEAD(lead)", scalar("count"), scalar("num_dims"), source("info", _U64), scalar("first"),
    result("out", _U64), *_TWO_AXES,
)  # fmt: skip

FAMILY: Final = Family(
    "fused",
    "operations of several steps in one launch, for small tensors",
    tuple(
        sorted(
            (
                *(k for t in BITS for k in _by_bits(t)),
                *(_writes("write_sum", "WRITE_SUM", t) for t in by_size(dtypes.REAL)),
                *(k for t in (*by_size(dtypes.REAL), *dtypes.COMPLEX) for k in _of_sets(t)),
                *(k for t in FLOATS for k in _of_floats(t)),
                *map(_quantile, ALL_FLOATS),
                _LEAD,
                _ONE_HOT,
            ),
            key=lambda kernel: kernel.instance.partition("(")[0],
        )
    ),
)
