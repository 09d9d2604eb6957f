"""The quantized kernels against the gguf package: dequantization bit for bit, products to rounding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.kernels.block_formats import FORMATS, Q8_1, BlockFormat
from rocmkern.kernels.cache import get_kernel
from rocmkern.kernels.families.quantized import FAMILY, MAX_VECTORS, expert_symbol
from rocmkern.runtime import Device, DeviceMemory
from tests.kernels import quantized_reference as reference
from tests.kernels.launching import same_bits

Array = np.ndarray[Any, Any]
DATA = Path(__file__).parents[1] / "data"
CANDLE = json.loads((DATA / "candle_kernels.json").read_text())["quantized"]
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
MATMUL = [f for f in FORMATS if f.has_matmul]
CANDLE_MATMUL = [f for f in MATMUL if f.symbol.startswith("q")]
QUANTIZABLE = [f for f in FORMATS if f.can_quantize]
GUARD = 64  # bytes after each output that must keep their value


def named(rows: list[BlockFormat] | tuple[BlockFormat, ...]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


def upload(device: Device, array: Array) -> DeviceMemory:
    memory = device.alloc(array.nbytes)
    memory.copy_from_host(np.ascontiguousarray(array))
    return memory


def run(
    device: Device, symbol: str, grid: tuple[int, ...], block: tuple[int, ...], out: Array, *arguments: Any
) -> Array:
    """Launches a kernel; `out` among the arguments is where it writes. Every array is exactly as long as it says."""
    guard = np.full(GUARD, 0xA5, np.uint8)
    held = upload(device, np.concatenate([np.full(out.nbytes, 0x5A, np.uint8), guard]))
    converted = [held if a is out else upload(device, a) if isinstance(a, np.ndarray) else a for a in arguments]
    kernel = get_kernel("quantized", symbol, device)
    kernel(*converted, grid=grid, block=block)
    device.synchronize()
    content = held.copy_to_host()
    assert (content[out.nbytes :] == 0xA5).all(), f"{symbol} writes past the end"
    return np.frombuffer(content[: out.nbytes].tobytes(), out.dtype).reshape(out.shape)


def test_every_candle_symbol_is_declared() -> None:
    """A Candle port finds all 142 symbols of its quantized module."""
    assert len(CANDLE) == 142
    assert set(CANDLE) - set(FAMILY.by_symbol) == set()


# Dequantization


def dequantize(device: Device, row: BlockFormat, blocks: Array, short: str, grid: int = 0, block: int = 32) -> Array:
    """By Candle's launch: one block of the grid for each 256 values, or any other for the formats that get a count."""
    out = np.empty((len(blocks), row.values), TYPES[short])
    counts = [] if row.values == 256 else [out.size if row.symbol in ("q5_0", "q5_1") else len(blocks)]
    grid = len(blocks) if row.values == 256 else grid or -(-out.size // 256)
    return run(
        device, f"dequantize_block_{row.symbol}_{short}", (grid,), (block,), out, blocks.reshape(-1), out, *counts
    )


@named(FORMATS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 9), block=st.sampled_from([32, 64, 256]))
def test_dequantization_is_bit_equal(device: Device, row: BlockFormat, seed: int, count: int, block: int) -> None:
    """Any bytes give the bits that the gguf package gives, whatever the launch."""
    blocks = reference.random_blocks(row, count, np.random.default_rng(seed))
    got = dequantize(device, row, blocks, "f32", grid=seed % 3, block=block)
    assert same_bits(got, reference.dequantized(row, blocks))


@named(FORMATS)
def test_extreme_blocks_are_bit_equal(device: Device, row: BlockFormat) -> None:
    """Zero, subnormal, largest, infinite and NaN scales, and blocks of all zeros and all ones."""
    blocks = reference.extreme_blocks(row)
    assert same_bits(dequantize(device, row, blocks, "f32"), reference.dequantized(row, blocks))


@pytest.mark.parametrize("short", ["f16", "bf16"])
@named(FORMATS)
def test_short_floats_are_the_rounded_f32(device: Device, row: BlockFormat, short: str) -> None:
    """f16 and bf16 output is the f32 output rounded once, overflow to infinity included."""
    blocks = np.concatenate([reference.random_blocks(row, 7, np.random.default_rng(1)), reference.extreme_blocks(row)])
    with np.errstate(over="ignore"):
        wanted = reference.dequantized(row, blocks).astype(TYPES[short])
    assert same_bits(dequantize(device, row, blocks, short), wanted)


def test_a_product_rounded_to_f16_keeps_the_sign_of_zero() -> None:
    """Scale -1 times quant 0 is -0: the compiler's fused form of product and rounding, for RDNA, would give +0."""
    block = np.zeros((1, 34), np.uint8)
    block[0, :2] = np.array([-1], np.float16).view(np.uint8)
    for name in ("emulator:gfx1030", "emulator:gfx942"):
        got = dequantize(Device(name), next(f for f in FORMATS if f.name == "q8_0"), block, "f16")
        assert (got.view(np.uint16) == 0x8000).all()


@named(MATMUL)
def test_selected_rows_are_dequantized(device: Device, row: BlockFormat) -> None:
    """Rows in any order, repeated, with one or several blocks of the grid for a row."""
    table = reference.weights(row, 5, 512, np.random.default_rng(2))
    ids = np.array([4, 0, 4, 2], np.uint32)
    wanted = reference.dequantized(row, table)[ids]
    for grid_y, block in ((1, 32), (3, 64)):
        out = np.empty((4, 512), np.float32)
        got = run(device, f"get_rows_{row.symbol}", (4, grid_y), (block,), out, table, ids, out, 512, table.shape[1])
        assert same_bits(got, wanted)


@pytest.mark.parametrize("short", list(TYPES))
def test_selected_rows_of_floats(device: Device, short: str) -> None:
    """Float tables go through the same kernels' argument list; a row may be longer than its values."""
    table = np.random.default_rng(3).normal(size=(6, 37)).astype(TYPES[short])
    ids, out = np.array([5, 1], np.uint32), np.empty((2, 33), np.float32)
    got = run(device, f"get_rows_{short}", (2, 2), (32,), out, table, ids, out, 33, table.strides[0])
    assert np.array_equal(got, table[ids, :33].astype(np.float32))


# Quantization


def activations(device: Device, x: Array, padded: int, short: str = "f32", block: int = 256) -> Array:
    """Rows of q8_1 blocks by Candle's launch."""
    out = np.empty((len(x), padded // 32 * Q8_1.nbytes), np.uint8)
    symbol = "quantize_q8_1" if short == "f32" else f"quantize_q8_1_{short}"
    return run(device, symbol, (-(-padded // block), len(x)), (block,), out, x, out, x.shape[1], padded)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 600),
    rows=st.integers(1, 3),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e3]),
)
def test_activations_are_quantized_exactly(device: Device, seed: int, columns: int, rows: int, scale: float) -> None:
    """Scale, quants and sum of each block; a row is padded with zeros to 512, of any length."""
    x = (np.random.default_rng(seed).normal(size=(rows, columns)) * scale).astype(np.float32)
    padded = -(-columns // 512) * 512
    got = activations(device, x, padded).reshape(-1, Q8_1.nbytes).view(Q8_1.layout)
    wanted = reference.quantized_activations(x, padded).reshape(-1, Q8_1.nbytes).view(Q8_1.layout)
    assert np.array_equal(got["d"], wanted["d"])
    assert np.array_equal(got["qs"], wanted["qs"])
    np.testing.assert_allclose(got["s"].astype(np.float64), wanted["s"], rtol=2e-3, atol=np.abs(x).max() * 1e-3)


@pytest.mark.parametrize("short", ["f16", "bf16"])
def test_activations_of_short_floats(device: Device, short: str) -> None:
    """f16 and bf16 values quantize as their f32 values do."""
    x = np.random.default_rng(4).normal(size=(2, 96)).astype(TYPES[short])
    wide = activations(device, x.astype(np.float32), 128)
    assert np.array_equal(activations(device, x, 128, short), wide)


def test_a_nan_among_activations_is_kept(device: Device) -> None:
    """A block with a NaN has a NaN scale, so the product shows it; its neighbours are right."""
    x = np.ones((1, 64), np.float32)
    x[0, 5] = np.nan
    scales = activations(device, x, 64).reshape(-1, Q8_1.nbytes).view(Q8_1.layout)["d"].ravel()
    assert np.isnan(scales[0])
    assert scales[1] == np.float16(1 / 127)


@pytest.mark.parametrize("short", list(TYPES))
@named([f for f in QUANTIZABLE if f.values == 32])
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 40))
def test_blocks_of_32_are_quantized_bit_equal(
    device: Device, row: BlockFormat, short: str, seed: int, count: int
) -> None:
    """The bytes are the gguf package's, for f32, f16 and bf16 values, constant and zero blocks included."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(count, 32)) * 10.0 ** rng.integers(-3, 4, (count, 1))).astype(TYPES[short])
    x[:1], x[1:2], x[2:3], x[3:4, ::2] = 0, 1, -abs(x[2:3]), 0
    wanted = gguf.quants.quantize(x.astype(np.float32), gguf.GGMLQuantizationType[row.struct])
    assert np.array_equal(quantize(device, row, x, short), wanted)


def quantize(device: Device, row: BlockFormat, x: Array, short: str) -> Array:
    blocks = x.size // row.values
    out = np.empty((blocks, row.nbytes), np.uint8)
    return run(device, f"quantize_block_{row.symbol}_{short}", (2,), (64,), out, x, out, blocks)


@pytest.mark.parametrize("short", list(TYPES))
@named([f for f in QUANTIZABLE if f.values == 256])
def test_blocks_of_256_are_quantized_as_ggml_does(device: Device, row: BlockFormat, short: str) -> None:
    """The bytes are those that ggml's own library gives for the same values (kept in ggml_quantized.npz)."""
    golden = np.load(DATA / "ggml_quantized.npz")
    x, wanted = golden["values"], golden[row.name]
    if short == "bf16":
        exact = (x.astype(ml_dtypes.bfloat16).astype(np.float16) == x).all(1)
        x, wanted = x[exact], wanted[exact]
        assert len(x) >= 2
    assert np.array_equal(quantize(device, row, x.astype(TYPES[short]), short), wanted)


# Products


def products(row: BlockFormat, blocks: Array, y: Array) -> Array:
    """The exact product of dequantized weights and q8_1 activations, vectors by rows."""
    values = reference.activation_values(y)
    w = reference.dequantized(row, blocks).astype(np.float64)
    return values[:, : w.shape[1]] @ w.T


@pytest.mark.parametrize("vectors", range(1, MAX_VECTORS + 1))
@named(MATMUL)
def test_matrix_times_vectors(device: Device, row: BlockFormat, vectors: int) -> None:
    """Right to f32 rounding, and within 1 % of the unquantized vectors; rows that no tile divides, padded vectors."""
    rows, columns, padded = 9, 768, 1024
    rng = np.random.default_rng(vectors)
    blocks = reference.weights(row, rows, columns, rng)
    x = rng.normal(size=(vectors, columns)).astype(np.float32)
    y = reference.quantized_activations(x, padded)
    out = np.empty((vectors, rows), np.float32)
    block = (32, 4 if vectors <= 4 else 2)
    got = run(
        device, f"mul_mat_vec_{row.symbol}_q8_1_cuda{vectors}", (-(-rows // 2),), block,
        out, blocks, y, out, columns, rows, padded, rows,
    )  # fmt: skip
    assert reference.relative_error(got, products(row, blocks, y)) < 1e-5
    exact = x.astype(np.float64) @ reference.dequantized(row, blocks).astype(np.float64).T
    norms = np.linalg.norm(reference.dequantized(row, blocks), axis=1) * np.linalg.norm(x, axis=1)[:, None]
    assert np.abs((got - exact) / norms).max() < 1e-2


@pytest.mark.parametrize("block", [(32, 1), (32, 4), (64, 1), (256, 1), (48, 1), (80, 1)])
def test_any_block_gives_the_same_product(device: Device, block: tuple[int, int]) -> None:
    """Less than a wave, several waves, a wave that is not full; and the same bits on every run."""
    row, rows, columns = next(f for f in FORMATS if f.name == "q4_k"), 7, 1024
    rng = np.random.default_rng(5)
    blocks = reference.weights(row, rows, columns, rng)
    y = reference.quantized_activations(rng.normal(size=(3, columns)).astype(np.float32), columns)
    out = np.empty((3, rows), np.float32)
    runs = [
        run(device, "mul_mat_vec_q4_K_q8_1_cuda3", (grid,), block, out, blocks, y, out, columns, rows, columns, rows)
        for grid in (1, 3, 1)
    ]
    assert reference.relative_error(runs[0], products(row, blocks, y)) < 1e-5
    assert all(np.array_equal(runs[0], again) for again in runs)


@pytest.mark.parametrize("columns", [2304, 6144])
@named(MATMUL)
def test_few_waves_walk_many_long_rows(device: Device, row: BlockFormat, columns: int) -> None:
    """One vector by rows of several turns of a wave, the last in part; packs of 16 bytes fill them, or do not."""
    rows, rng = 7, np.random.default_rng(columns)
    blocks = reference.weights(row, rows, columns, rng)
    y = reference.quantized_activations(rng.normal(size=(1, columns)).astype(np.float32), columns)
    out = np.empty((1, rows), np.float32)
    symbol = f"mul_mat_vec_{row.symbol}_q8_1_cuda1"
    got = run(device, symbol, (1,), (32, 2), out, blocks, y, out, columns, rows, columns, rows)
    assert reference.relative_error(got, products(row, blocks, y)) < 1e-5


@pytest.mark.parametrize("vectors", range(1, MAX_VECTORS + 1))
def test_ones_times_ones(device: Device, vectors: int) -> None:
    """Case G18: q4_0 weights of 1 and 256 activations of 1 give 256, finite, for each batch."""
    blocks = gguf.quants.quantize(np.ones((1, 256), np.float32), gguf.GGMLQuantizationType.Q4_0)
    y = activations(device, np.ones((vectors, 256), np.float32), 512)
    out = np.empty((vectors, 1), np.float32)
    got = run(device, f"mul_mat_vec_q4_0_q8_1_cuda{vectors}", (1,), (32, 4), out, blocks, y, out, 256, 1, 512, 1)
    np.testing.assert_allclose(got, 256, rtol=2e-4)


@named(CANDLE_MATMUL)
def test_matrix_times_f32_vector(device: Device, row: BlockFormat) -> None:
    """Dequantized weights times an f32 vector, right to f32 rounding, by Candle's block of 32 threads."""
    rows, columns = 5, 512
    rng = np.random.default_rng(6)
    blocks, x = reference.weights(row, rows, columns, rng), rng.normal(size=columns).astype(np.float32)
    symbol = row.name if row.values == 256 else f"{row.symbol}_cuda"
    counts = (columns,) if row.symbol == "q5_K" else (columns, rows)
    out = np.empty(rows, np.float32)
    got = run(device, f"dequantize_mul_mat_vec_{symbol}", (rows,), (32, 1), out, blocks, x, out, *counts)
    exact = reference.dequantized(row, blocks).astype(np.float64) @ x
    assert reference.relative_error(got, exact) < 1e-5


@named(MATMUL)
def test_matrix_times_matrix(device: Device, row: BlockFormat) -> None:
    """Tiles that rows, vectors and columns do not divide; a grid smaller than the tiles and one that covers them."""
    rows, vectors = 70, 35
    columns = 256 if row.values == 256 else 160
    rng = np.random.default_rng(7)
    blocks = reference.weights(row, rows, columns, rng)
    y = reference.quantized_activations(rng.normal(size=(vectors, columns)).astype(np.float32), columns)
    wanted = products(row, blocks, y)
    out = np.empty((vectors, rows), np.float32)
    for grid in ((1, 1), (2, 2)):
        got = run(
            device, f"mul_mat_{row.symbol}", grid, (32, 4),
            out, blocks, y, out, columns, rows, vectors, columns, rows,
        )  # fmt: skip
        assert reference.relative_error(got, wanted) < 1e-5


@pytest.mark.parametrize("per_token", [True, False])
@named(MATMUL)
def test_experts_multiply_their_tokens(device: Device, row: BlockFormat, per_token: bool) -> None:
    """Each slot of a token takes its expert's matrix (L6: the stride of q8_0's too); one vector a token or a slot."""
    experts, rows, columns, tokens, slots, padded = 3, 6, 256, 2, 2, 512
    rng = np.random.default_rng(8)
    blocks = reference.weights(row, experts * rows, columns, rng)
    vectors = tokens if per_token else tokens * slots
    y = reference.quantized_activations(rng.normal(size=(vectors, columns)).astype(np.float32), padded)
    ids = np.array([[2, 0], [1, 2]], np.uint32)
    symbol = expert_symbol(row)
    out = np.empty((tokens, slots, rows), np.float32)
    got = run(
        device, f"indexed_moe_forward_{symbol}_q8_1", (rows, tokens, slots), (32, 4),
        out, blocks, y, ids, out, rows, columns, tokens, slots, padded, 1 if per_token else slots,
    )  # fmt: skip
    every = products(row, blocks, y).reshape(vectors, experts, rows)
    wanted = np.stack([
        np.stack([every[t if per_token else t * slots + s, ids[t, s]] for s in range(slots)]) for t in range(tokens)
    ])  # fmt: skip
    assert reference.relative_error(got, wanted) < 1e-5


@named(FORMATS)
def test_no_access_outside_the_arrays(row: BlockFormat) -> None:
    """Each kind of kernel, with every array as long as its values: no padding is read, none is written."""
    device = Device("emulator:gfx942:checked")
    blocks = reference.random_blocks(row, 1, np.random.default_rng(9))
    dequantize(device, row, blocks, "f32")
    if row.can_quantize:
        quantize(device, row, np.ones((1, row.values), np.float32), "f32")
    if not row.has_matmul:
        return
    columns, y = row.values, activations(device, np.ones((9, row.values), np.float32), row.values)
    one, nine = np.empty((1, 1), np.float32), np.empty((9, 1), np.float32)
    run(device, f"get_rows_{row.symbol}", (1, 1), (64,), out := np.empty((1, columns), np.float32), blocks,
        np.zeros(1, np.uint32), out, columns, row.nbytes)  # fmt: skip
    run(device, f"mul_mat_vec_{row.symbol}_q8_1_cuda1", (1,), (32, 4), one, blocks, y[:1], one, columns, 1, columns, 1)
    run(device, f"mul_mat_{row.symbol}", (1, 1), (32, 4), nine, blocks, y, nine, columns, 1, 9, columns, 1)
