"""reduce: reductions of rows, running totals, softmax, norms and rotary embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType, bool_, float64, int32, uint8, uint32, uint64
from rocmkern.kernels.catalogue import INTEGERS, Family, KernelSpec, Parameter, result, scalar, source
from rocmkern.kernels.tunable import Tunable, Values

FLOATS: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
NUMBERS: Final = (*INTEGERS, *FLOATS)
EVERY: Final = (bool_, *NUMBERS)
DTYPES: Final[dict[str, tuple[DType, ...]]] = {
    "sum": NUMBERS, "prod": NUMBERS, "mean": FLOATS, "min": EVERY, "max": EVERY, "argmin": EVERY, "argmax": EVERY,
    "any": EVERY, "all": EVERY, "logsumexp": FLOATS,
}  # fmt: skip
NORM_PACKS: Final = 4  # of 16 bytes of its row, that a thread of softmax and the norms keeps in registers
NORM_THREADS: Final = {2: 512, 4: 1024, 8: 1024}  # of a block at most, by size of an element
SOFTMAX_BLOCKS: Final = {2: 3, 4: 1, 8: 1}  # of so many threads, that are to overlap on a multiprocessor
NORM_BLOCKS: Final = {2: 2, 4: 1, 8: 1}
SCANNED: Final = ("sum", "prod")
PACKS: Final = 4  # of 16 bytes that a thread reads before a row is worth more threads
TEAM: Final = 512  # threads beyond which a reduced row is better split into parts
INDEXED: Final = ("argmin", "argmax")


def accumulator(t: DType) -> DType:
    """The dtype that sums of `t` are carried in: a word that wraps, f32 for the short floats, else `t`."""
    if t.is_float:
        return t if t.itemsize >= 4 else dtypes.float32
    return uint64 if t.itemsize == 8 else uint32


def compared(t: DType) -> DType:
    """The dtype that values of `t` are compared in, as the states of argmin and argmax hold them."""
    if t.is_float:
        return accumulator(t)
    if t.itemsize == 8:
        return t
    return int32 if t.kind == "signed" else uint32


def output(op: str, t: DType) -> DType:
    """The dtype of a reduction's result."""
    return {"argmin": uint32, "argmax": uint32, "any": bool_, "all": bool_}.get(op, t)


def state_bytes(op: str, t: DType) -> int:
    """The size of one part's state between the passes of a split reduction."""
    word = 8 if t.itemsize == 8 else 4
    special = {
        "argmin": 16,
        "argmax": 16,
        "logsumexp": 2 * word,
        "mean": 2 * word,
        "nanmean": 8 + 2 * word,
        "nanvar": 8 + 4 * word,
        "squares": 3 * word,
    }
    return special.get(op, word)


def _kernel(symbol: str, instance: str, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(symbol, "reduce", parameters, instance)


def _layout(t: DType) -> tuple[Parameter, ...]:
    return scalar("num_dims"), source("info", uint64, nullable=True), source("src", t)


def _reductions(op: str, t: DType) -> Iterator[KernelSpec]:
    out, arguments = output(op, t), f"({op}, {t.short})"
    sizes = scalar("numel"), scalar("el_per_block")
    yield _kernel(f"fast_{op}_{t.short}", f"FAST{arguments}", *sizes, *_layout(t), result("dst", out))
    sizes = scalar("numel"), scalar("cols")
    yield _kernel(
        f"split_{op}_{t.short}", f"SPLIT{arguments}", *sizes, scalar("part"), *_layout(t), result("parts", uint8)
    )
    sizes = scalar("rows"), scalar("cols")
    yield _kernel(
        f"merge_{op}_{t.short}", f"MERGE{arguments}", *sizes, scalar("parts_per_row"), source("parts", uint8),
        result("dst", out, "rows"),
    )  # fmt: skip


def _elements(t: DType, *counts: str) -> tuple[Parameter, Parameter]:
    return source("src", t, *counts), result("dst", t, *counts)


def _wide_merge(op: str, t: DType) -> KernelSpec:
    """The second pass over rows of 2³² elements and more, for the states that hold values of `t`."""
    sizes = scalar("rows"), scalar("cols"), scalar("parts_per_row")
    return _kernel(
        f"merge_wide_{op}_{t.short}", f"MERGE(wide_{op}, {t.short})", *sizes, source("parts", uint8),
        result("dst", dtypes.int64, "rows"),
    )  # fmt: skip


def _scan(op: str, t: DType) -> KernelSpec:
    sizes = tuple(map(scalar, ("left", "n", "right", "part")))
    carry = source("carry", accumulator(t), nullable=True)
    return _kernel(f"cum{op}_{t.short}", f"SCAN({op}, {t.short})", *sizes, carry, *_elements(t, "left", "n", "right"))


def _sum_axes(t: DType) -> KernelSpec:
    sizes = tuple(map(scalar, ("numel", "num_dims", "num_sum_dims")))
    out = Parameter("out", "inout", t)
    return _kernel(f"sum_{t.short}", f"SUM_AXES({t.short})", *sizes, source("info", uint64), source("inp", t), out)


def _norms(t: DType) -> Iterator[KernelSpec]:
    s = t.short
    src, dst = source("src", t), result("dst", t)
    alpha, beta = source("alpha", t, nullable=True), source("beta", t, nullable=True)
    candle = scalar("n_cols", int32), scalar("block_size", int32), scalar("eps", dtypes.float32)
    rows = scalar("rows"), scalar("cols")
    by_row = _elements(t, "rows", "cols")
    gain, bias = (source(name, t, "cols", nullable=True) for name in ("alpha", "beta"))
    eps = scalar("eps", float64)
    yield _kernel(f"softmax_{s}", f"SOFTMAX({s})", src, dst, scalar("n_cols", int32))
    yield _kernel(f"rmsnorm_{s}", f"RMSNORM({s})", src, dst, alpha, *candle)
    yield _kernel(f"layernorm_{s}", f"LAYERNORM({s})", src, dst, alpha, beta, *candle)
    threads = NORM_THREADS[t.itemsize]
    geometry = f"{threads}, {SOFTMAX_BLOCKS[t.itemsize]}, {s}"
    for name, is_log in (("softmax", "false"), ("log_softmax", "true")):
        yield _kernel(f"{name}_rows_{s}", f"SOFTMAX_ROWS({name}, {is_log}, {geometry})", *rows, *by_row)
    geometry = f"{threads}, {NORM_BLOCKS[t.itemsize]}, {s}"
    yield _kernel(f"rmsnorm_rows_{s}", f"RMSNORM_ROWS({geometry})", *rows, eps, by_row[0], gain, by_row[1])
    yield _kernel(f"layernorm_rows_{s}", f"LAYERNORM_ROWS({geometry})", *rows, eps, by_row[0], gain, bias, by_row[1])


def _ropes(t: DType) -> Iterator[KernelSpec]:
    tensors = source("src", t), source("cos", t), source("sin", t), result("dst", t)
    sizes = {"rope": ("bh", "td", "d", "stride_b"), "rope_i": ("bh", "td", "stride_b"),
             "rope_thd": ("b", "t", "h", "d", "stride_b")}  # fmt: skip
    for name, words in sizes.items():
        yield _kernel(
            f"{name}_{t.short}", f"{name.upper()}({t.short})", *tensors, *(scalar(word, uint32) for word in words)
        )


def _kernels() -> Iterator[KernelSpec]:
    for op, element_types in DTYPES.items():
        for t in element_types:
            yield from _reductions(op, t)
    yield from (_wide_merge(op, t) for op in INDEXED for t in sorted(set(map(compared, EVERY)), key=NUMBERS.index))
    yield from (_scan(op, t) for op in SCANNED for t in NUMBERS)
    yield from map(_sum_axes, (*FLOATS, uint32))
    for t in FLOATS:
        yield from _norms(t)
        yield from _ropes(t)


FAMILY: Final = Family(
    "reduce", "reductions of rows, running totals, softmax, norms, rotary embeddings", tuple(_kernels())
)


def _setting(op: str, dtype: str, _: Values) -> tuple[KernelSpec, ...]:
    """The kernels are the same for all settings, which shape the launch."""
    return tuple(FAMILY.by_symbol[f"{kind}_{op}_{dtype}"] for kind in ("fast", "split", "merge"))


TUNABLES: Final = tuple(
    Tunable(
        op,
        "reduce",
        tuple(t.short for t in element_types),
        ("widest", "packs"),
        (
            (TEAM, PACKS), (64, 4), (128, 4), (256, 4), (1024, 4), (256, 1), (256, 2), (256, 8), (256, 16), (1024, 16),
        ),
        partial(_setting, op),
    )
    for op, element_types in DTYPES.items()
)  # fmt: skip
