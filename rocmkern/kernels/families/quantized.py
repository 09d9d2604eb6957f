"""quantized: ggml's block formats, under Candle's symbols and argument lists and beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern.dtypes import DType, bfloat16, float16, float32, int32, int64, uint8, uint32
from rocmkern.kernels.block_formats import BY_NAME, FORMATS, BlockFormat
from rocmkern.kernels.catalogue import Family, KernelSpec, Parameter, result, scalar, source
from rocmkern.kernels.tunable import Tunable, Values, setting_name

MAX_VECTORS: Final = 8  # of the mat-vec kernels
VECTOR_COUNTS: Final = (1, 2, 4, 8)  # the most vectors of each kernel
QUANTIZES: Final = 2  # the most of a kernel that quantizes them itself; the others take slabs
VECTOR_BLOCK: Final = 256  # threads of a block that multiplies vectors
ROWS: Final = 2  # of the matrix, for a wave with up to four vectors
UNITS: Final = 1  # of each row that a lane asks for before it waits for them
_TYPES: Final = (float32, float16, bfloat16)
KINDS: Final = {t: i for i, t in enumerate(_TYPES)}  # as the kernels number the types of vectors
_MATMUL: Final = tuple(f for f in FORMATS if f.has_matmul)
_CANDLE: Final = tuple(f for f in _MATMUL if f.symbol.startswith("q"))
SLAB_VALUES: Final = 256  # columns that prepared vectors are kept in
SLAB_BYTES: Final = 3072  # of MAX_VECTORS vectors
COUNTS_VALUES: Final = ("q5_0", "q5_1")  # whose dequantization counts values, where the others count blocks

_WEIGHTS: Final = source("w", uint8)
_BLOCKS: Final = source("src", uint8)
_ACTIVATIONS: Final = source("y", uint8)
_VALUES: Final = source("x", uint8)  # of the type that `kind` says, as the result is
_RESULT: Final = result("dst", uint8)
_IDS: Final = source("ids", uint32)


def _counts(*names: str) -> tuple[Parameter, ...]:
    return tuple(scalar(name, int32) for name in names)


def _kernel(symbol: str, macro: str, parameters: tuple[Parameter, ...], *arguments: object) -> KernelSpec:
    return KernelSpec(symbol, "quantized", parameters, f"{macro}({', '.join(map(str, (symbol, *arguments)))})")


def _dequantize(f: BlockFormat, t: DType) -> KernelSpec:
    symbol, parameters = f"dequantize_block_{f.symbol}_{t.short}", (_BLOCKS, result("dst", t))
    if f.values != 32:
        return _kernel(symbol, "DEQUANTIZE", parameters, f.struct, t.short)
    per_block = f.values if f.symbol in COUNTS_VALUES else 1
    return _kernel(symbol, "DEQUANTIZE_COUNTED", (*parameters, *_counts("n")), f.struct, t.short, per_block)


def _get_rows() -> Iterator[KernelSpec]:
    parameters = (_BLOCKS, _IDS, result("dst", float32), scalar("columns", int64), scalar("row_bytes"))
    for t in _TYPES:
        yield _kernel(f"get_rows_{t.short}", "GET_FLOAT_ROWS", parameters, t.short)
    for f in _MATMUL:
        yield _kernel(f"get_rows_{f.symbol}", "GET_ROWS", parameters, f.struct)


def _quantize(f: BlockFormat, t: DType) -> KernelSpec:
    function = {32: "quantize_blocks", 256: "quantize_with_minima"}[f.values] + f"<rk::quantized::{f.struct}>"
    if f.symbol == "q6_K":
        function = "quantize_around_zero"
    parameters = (source("src", t), result("dst", uint8), scalar("blocks"))
    return _kernel(f"quantize_block_{f.symbol}_{t.short}", "QUANTIZE", parameters, function, t.short)


def _quantize_activations(t: DType) -> KernelSpec:
    suffix = "" if t is float32 else f"_{t.short}"
    parameters = (source("x", t), result("y", uint8), *_counts("columns", "padded"))
    return _kernel(f"quantize_q8_1{suffix}", "QUANTIZE_ACTIVATIONS", parameters, t.short)


def _multiply_floats(f: BlockFormat) -> KernelSpec:
    parameters = (_WEIGHTS, source("y", float32), result("dst", float32), *_counts("columns"))
    if f.symbol == "q5_K":
        return _kernel("dequantize_mul_mat_vec_q5_k", "MULTIPLY_FLOATS_UNCOUNTED", parameters, f.struct)
    symbol = f.name if f.values == 256 else f"{f.symbol}_cuda"
    parameters = (*parameters[:2], result("dst", float32, "rows"), *_counts("columns", "rows"))
    return _kernel(f"dequantize_mul_mat_vec_{symbol}", "MULTIPLY_FLOATS", parameters, f.struct)


_ROW_BY_ROW: Final = frozenset(("q4_1", "q5_1", "q8_0"))  # without copies ahead, an H100 was up to 9 % faster so
_MOST_SUMS: Final = 32  # rows times vectors of a wave, which its lanes hold one each in the end


def rows_per_wave(vectors: int, rows: int = ROWS) -> int:
    """How many rows of the matrix a wave multiplies side by side, of a setting with `rows` for few vectors."""
    return rows if vectors <= 4 else min(2 * rows, _MOST_SUMS // vectors)


def rows_and_units(name: str, vectors: int, rows: int = ROWS, units: int = UNITS) -> tuple[int, int]:
    """Both constants of a kernel that quantizes the vectors itself, by the name of the matrix's format."""
    if (vectors, rows, units) == (1, ROWS, UNITS) and name in _ROW_BY_ROW:
        return 1, 2
    return rows_per_wave(vectors, rows), units


def _multiply_vectors(f: BlockFormat, vectors: int) -> KernelSpec:
    parameters = (_WEIGHTS, _ACTIVATIONS, result("dst", float32), *_counts("columns", "rows", "padded", "dst_rows"))
    settings = (vectors, rows_per_wave(vectors), UNITS)
    return _kernel(f"mul_mat_vec_{f.symbol}_q8_1_cuda{vectors}", "MULTIPLY_VECTORS", parameters, f.struct, *settings)


def _prepare() -> KernelSpec:
    parameters = (_VALUES, result("y", uint8), *_counts("values", "vectors", "slabs", "kind"))
    return _kernel("prepare_vectors", "PREPARE_VECTORS", parameters)


def _multiply_values(f: BlockFormat, vectors: int, rows: int = ROWS, units: int = UNITS) -> KernelSpec:
    suffix = "" if (rows, units) == (ROWS, UNITS) else f"_{setting_name((rows, units))}"
    symbol, settings = f"multiply_vectors_{f.symbol}_{vectors}{suffix}", rows_and_units(f.name, vectors, rows, units)
    if vectors > QUANTIZES:
        parameters = (_WEIGHTS, _ACTIVATIONS, _RESULT, *_counts("columns", "rows", "vectors", "kind"))
        return _kernel(symbol, "MULTIPLY_PREPARED", parameters, f.struct, vectors, *settings)
    parameters = (_WEIGHTS, _VALUES, _RESULT, *_counts("columns", "rows", "vectors", "values", "kind"))
    return _kernel(symbol, "MULTIPLY_VALUES", parameters, f.struct, vectors, *settings)


def _multiply_matrices(f: BlockFormat) -> KernelSpec:
    counts = _counts("columns", "rows", "vectors", "padded", "dst_rows")
    parameters = (_WEIGHTS, _ACTIVATIONS, result("dst", float32), *counts)
    return _kernel(f"mul_mat_{f.symbol}", "MULTIPLY_MATRICES", parameters, f.struct)


def expert_symbol(f: BlockFormat) -> str:
    """How the expert kernels spell a format: Candle writes q4k there."""
    return f.name.replace("_", "") if f.symbol.endswith("_K") else f.symbol


def _multiply_experts(f: BlockFormat) -> KernelSpec:
    counts = _counts("rows", "columns", "tokens", "slots", "padded", "vectors_per_token")
    parameters = (_WEIGHTS, _ACTIVATIONS, _IDS, result("dst", float32), *counts)
    return _kernel(f"indexed_moe_forward_{expert_symbol(f)}_q8_1", "MULTIPLY_EXPERTS", parameters, f.struct)


def _multiply_expert_values(f: BlockFormat) -> KernelSpec:
    counts = _counts("rows", "columns", "tokens", "slots", "vectors_per_token", "values", "kind")
    parameters = (_WEIGHTS, _VALUES, _IDS, _RESULT, *counts)
    return _kernel(f"multiply_experts_{f.symbol}", "MULTIPLY_EXPERT_VALUES", parameters, f.struct)


FAMILY: Final = Family(
    "quantized",
    "ggml's block formats: dequantize, select rows, quantize, multiply by vectors, matrices and experts",
    (
        *(_dequantize(f, t) for f in FORMATS for t in _TYPES),
        *_get_rows(),
        *(_quantize_activations(t) for t in _TYPES),
        *(_quantize(f, t) for f in FORMATS if f.can_quantize for t in _TYPES),
        *(_multiply_floats(f) for f in _CANDLE),
        *(_multiply_vectors(f, n + 1) for f in _MATMUL for n in range(MAX_VECTORS)),
        *(_multiply_matrices(f) for f in _MATMUL),
        *(_multiply_experts(f) for f in _MATMUL),
        _prepare(),
        *(_multiply_values(f, n) for f in _MATMUL for n in VECTOR_COUNTS),
        *(_multiply_expert_values(f) for f in _MATMUL),
    ),
)


def _setting(name: str, setting: Values) -> tuple[KernelSpec, ...]:
    """A kernel for each of VECTOR_COUNTS; the threads shape the launch."""
    rows, units, _ = setting
    return tuple(_multiply_values(BY_NAME[name], vectors, rows, units) for vectors in VECTOR_COUNTS)


TUNABLES: Final = (
    Tunable(
        "mat_vec",
        "quantized",
        tuple(f.name for f in _MATMUL),
        ("rows", "units", "threads"),
        (
            (ROWS, UNITS, VECTOR_BLOCK), (ROWS, UNITS, 128), (1, 1, 256), (1, 2, 256), (1, 2, 128), (2, 2, 256),
            (2, 4, 256), (4, 1, 256),
        ),
        _setting,
    ),
)  # fmt: skip
