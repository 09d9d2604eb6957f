"""Quantized tensors: made, multiplied, looked up, and loaded from GGUF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.errors import DTypeError, FormatNotFound, KernelIndexError, ShapeError
from rocmkern.kernels import families
from rocmkern.kernels.block_formats import BY_NAME, FORMATS
from rocmkern.ops import tuned
from rocmkern.quant import QTensor, from_blocks, load_gguf, quantize
from rocmkern.runtime import Device
from tests.kernels import quantized_reference as reference

Array = np.ndarray[Any, Any]
QUANTIZABLE = [f.name for f in FORMATS if f.can_quantize]
MATMUL = [f.name for f in FORMATS if f.has_matmul]


def normal(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def cosine(a: Array, b: Array) -> float:
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def stored(name: str, rows: int, columns: int, device: Device) -> tuple[QTensor, Array]:
    """A matrix of random blocks, and its float64 values."""
    row = BY_NAME[name]
    blocks = reference.weights(row, rows, columns, np.random.default_rng(1))
    return from_blocks(blocks, name, (rows, columns), device), reference.dequantized(row, blocks).astype(np.float64)


@pytest.mark.parametrize("name", QUANTIZABLE)
def test_values_survive_quantization(device: Device, name: str) -> None:
    """The error is what the bits allow: a cosine of 0.995 with 4 bits, 0.9995 with more."""
    x = normal((8, 512))
    q = quantize(rk.asarray(x, device=device), name)
    assert q.nbytes == 8 * 512 // q.format.values * q.format.nbytes
    assert cosine(q.dequantize().numpy(), x) > (0.995 if "4_" in name else 0.999)


@pytest.mark.parametrize("name", ["q8_0", "q4_0"])
def test_stored_bytes_are_ggufs(device: Device, name: str) -> None:
    """blocks() gives what the gguf package makes of the same values."""
    x = normal((3, 64))
    q = quantize(rk.asarray(x, device=device), name)
    assert np.array_equal(q.blocks(), gguf.quants.quantize(x, gguf.GGMLQuantizationType[name.upper()]))


@pytest.mark.parametrize("dtype", [rk.float32, rk.float16, rk.bfloat16], ids=str)
def test_dequantize_rounds_once(device: Device, dtype: rk.DType) -> None:
    """float16 and bfloat16 are the float32 values rounded."""
    q, values = stored("q4_k", 3, 512, device)
    got = q.dequantize(dtype)
    assert got.dtype is dtype
    assert np.array_equal(got.numpy(), values.astype(np.float32).astype(dtype.numpy))


@pytest.mark.parametrize("name", MATMUL)
@pytest.mark.parametrize("batch", [(), (2,), (3,), (2, 4), (2, 7)], ids=str)
def test_matmul_is_x_times_the_transpose(device: Device, name: str, batch: tuple[int, ...]) -> None:
    """Vectors, few and many rows: within 1 % of the exact product of the dequantized weights."""
    q, values = stored(name, 19, 512, device)
    x = normal((*batch, 512))
    got = q.matmul(rk.asarray(x, device=device))
    exact = x.astype(np.float64) @ values.T
    assert got.shape == exact.shape
    assert reference.relative_error(got.numpy(), exact) < 1e-2
    assert np.array_equal(got.numpy(), q.matmul(rk.asarray(x, device=device)).numpy())


def test_candles_golden_product(device: Device) -> None:
    """Candle's test of q4_0: 0…191 by 0…255; its CPU's first value is 85120 with float16 scales of the activations, its
    CUDA row lies within a percent.
    """
    x, w = np.arange(192, dtype=np.float32).reshape(3, 64), np.arange(256, dtype=np.float32).reshape(4, 64)
    got = quantize(rk.asarray(w, device=device), "q4_0").matmul(rk.asarray(x, device=device)).numpy()
    assert float(got[0, 0]) == pytest.approx(85120, rel=2e-4)
    np.testing.assert_allclose(got[0], [84866, 214045, 344676, 473707], rtol=1e-2)


def test_operators_are_products_with_the_matrix(device: Device) -> None:
    """`W @ x` of vectors and matrices is `matmul`'s product, turned; `x @ W` that with the dequantized matrix."""
    q, values = stored("q8_0", 48, 64, device)
    vector, matrix, left = normal((64,)), normal((64, 3)), normal((2, 48))
    for x in (vector, matrix, normal((2, 64, 3))):
        got = (q @ rk.asarray(x, device=device)).numpy()
        exact = values @ x
        assert got.shape == exact.shape
        assert cosine(got, exact) > 0.9999
    got = (rk.asarray(left, device=device) @ q).numpy()
    np.testing.assert_allclose(got, left @ values, rtol=1e-4, atol=1e-3)
    with pytest.raises(TypeError, match="unsupported operand"):
        q @ 3


@pytest.mark.parametrize("dtype", [rk.float16, rk.bfloat16], ids=str)
def test_matmul_keeps_the_dtype(device: Device, dtype: rk.DType) -> None:
    """Short floats in, short floats out; strided input is copied first."""
    q, values = stored("q6_k", 5, 256, device)
    x = rk.astype(rk.asarray(normal((256, 4)), device=device), dtype).T
    got = q.matmul(x)
    exact = x.numpy().astype(np.float64) @ values.T
    assert (got.dtype, got.shape) == (dtype, (4, 5))
    assert reference.relative_error(got.numpy().astype(np.float64), exact) < 2e-2


@pytest.mark.parametrize("size", [1e-8, 1e12])
def test_few_vectors_may_be_of_any_size(device: Device, size: float) -> None:
    """Their scales are float32: no vector is too small or too large, and each has its own."""
    q, values = stored("q4_0", 5, 512, device)
    x = normal((3, 512)) * np.array([[size], [1], [size]], np.float32)
    got, exact = q.matmul(rk.asarray(x, device=device)).numpy(), x.astype(np.float64) @ values.T
    assert all(reference.relative_error(got[i], exact[i]) < 2e-2 for i in range(3))


@pytest.mark.parametrize("count", [4, 5, 8])
@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("q4_0", 33, 96),
        ("q8_0", 40, 2880),
        ("q5_1", 7, 4384),
        ("mxfp4", 17, 2912),
        ("q2_k", 16, 4608),
        ("q6_k", 4300, 256),
    ],
)
def test_vectors_of_whole_numbers_are_exact(device: Device, name: str, rows: int, columns: int, count: int) -> None:
    """Each 32 hold 127, so that 8 bits lose nothing: right to f32 rounding, whatever is left over of a tile."""
    q, values = stored(name, rows, columns, device)
    x = np.random.default_rng(count).integers(-127, 128, (count, columns)).astype(np.float32)
    x[:, ::32] = 127
    got = q.matmul(rk.asarray(x, device=device)).numpy()
    assert reference.relative_error(got, x.astype(np.float64) @ values.T) < 1e-5


def test_what_is_not_finite_shows_in_its_own_row(device: Device) -> None:
    """A NaN or an infinity among the activations spoils the products of its vector alone."""
    q, _ = stored("q8_0", 4, 256, device)
    x = normal((4, 256))
    x[0, 7], x[2, 200] = np.nan, np.inf
    finite = np.isfinite(q.matmul(rk.asarray(x, device=device)).numpy())
    assert not finite[[0, 2]].any()
    assert finite[[1, 3]].all()


def test_a_setting_changes_the_launch_and_not_the_product(device: Device) -> None:
    """The tunable setting that needs no kernel of its own: half the threads, the same bits."""
    q, _ = stored("q4_k", 37, 512, device)
    setting = next(i for i in families.instances("mat_vec", "q4_k") if not i.is_default and not i.unshipped)
    for count in (1, 3, 8):
        x = rk.asarray(normal((count, 512)), device=device)
        wanted = q.matmul(x).numpy()
        with tuned.forced(setting):
            assert np.array_equal(q.matmul(x).numpy(), wanted)


@pytest.mark.parametrize("batch", [1, 12])
@pytest.mark.parametrize("name", ["q4_k", "q5_k", "q6_k"])
def test_rows_of_384_are_padded_on_request(device: Device, name: str, batch: int) -> None:
    """Rows that blocks of 256 don't divide: the padding shows in nbytes and nowhere else."""
    w, x = normal((10, 384), 1), normal((batch, 384), 2)
    q = quantize(rk.asarray(w, device=device), name, pad=True)
    assert (q.shape, q.padded_columns, q.nbytes) == ((10, 384), 512, 10 * 2 * q.format.nbytes)
    values = q.dequantize()
    assert values.shape == (10, 384)
    assert cosine(values.numpy(), w) > 0.995
    exact = x.astype(np.float64) @ values.numpy().astype(np.float64).T
    assert reference.relative_error(q.matmul(rk.asarray(x, device=device)).numpy(), exact) < 1e-2
    assert np.array_equal(q.embedding([3, -1]).numpy(), values.numpy()[[3, 9]])


@settings(max_examples=10, deadline=None)
@given(ids=st.lists(st.integers(-6, 5), max_size=9))
def test_embedding_selects_rows(device: Device, ids: list[int]) -> None:
    """Rows by id, negative ids from the end, an empty list too; exactly the dequantized values."""
    q, values = stored("q5_1", 6, 96, device)
    got = q.embedding(np.array(ids, np.int64))
    assert got.shape == (len(ids), 96)
    assert np.array_equal(got.numpy(), values.astype(np.float32)[np.array(ids, np.int64)])


def test_embedding_keeps_the_shape_of_ids(device: Device) -> None:
    """A tensor of ids of any integer dtype and shape."""
    q, values = stored("q4_0", 6, 64, device)
    ids = rk.asarray(np.array([[0, 5, 1], [2, 2, 3]], np.int32), device=device)
    assert np.array_equal(q.embedding(ids).numpy(), values.astype(np.float32)[ids.numpy()])


def test_ids_outside_the_table_are_an_index_error(device: Device) -> None:
    """Never a wrong row: the error names the id and the bound."""
    q, _ = stored("q4_0", 6, 64, device)
    with pytest.raises(KernelIndexError, match="embedding: id 6 of a table with 6 rows"):
        q.embedding([0, 6])
    with pytest.raises(KernelIndexError, match=f"embedding: id {2**64 - 1} of a table with 6 rows; use -6..5"):
        q.embedding(np.array([2**64 - 1], np.uint64))
    with pytest.raises(DTypeError, match="embedding: ids of float64"):
        q.embedding(np.array([0.0]))


def test_rows_that_blocks_do_not_divide_are_refused(device: Device) -> None:
    """384 is no multiple of 256: the error says what to do."""
    x = rk.asarray(normal((2, 384)), device=device)
    with pytest.raises(ShapeError, match=r"quantize: shape \(2, 384\) for q4_k, whose blocks hold 256 .* pad=True"):
        quantize(x, "q4_k")


def test_formats_that_can_not_be_made_are_named(device: Device) -> None:
    """q2_k has no quantizer, q9 does not exist: the error lists what there is."""
    x = rk.asarray(normal((2, 256)), device=device)
    for name in ("q2_k", "q9"):
        with pytest.raises(FormatNotFound, match=f"no kernel makes blocks of '{name}'; there are q4_0, .*q6_k"):
            quantize(x, name)


def test_wrong_operands_are_refused(device: Device) -> None:
    """Columns, axes and dtypes that don't fit; q8_k has no products."""
    q, _ = stored("q4_0", 4, 64, device)
    with pytest.raises(ShapeError, match=r"matmul: \(2, 32\) and \(4, 64\); the last axes must be equal"):
        q.matmul(rk.asarray(normal((2, 32)), device=device))
    with pytest.raises(DTypeError, match="matmul: int64; it takes float32, float16, bfloat16"):
        q.matmul(rk.zeros((2, 64), dtype=rk.int64, device=device))
    with pytest.raises(DTypeError, match="quantize: float64"):
        quantize(rk.zeros((2, 64), dtype=rk.float64, device=device), "q8_0")
    with pytest.raises(ShapeError, match=r"from_blocks: 18 bytes for shape \(1, 64\) of q4_0; it takes 36"):
        from_blocks(np.zeros(18, np.uint8), "q4_0", (1, 64), device)
    k = from_blocks(np.zeros(292, np.uint8), "q8_k", (1, 256), device)
    with pytest.raises(FormatNotFound, match="matmul: no kernel for q8_k; dequantize it first"):
        k.matmul(rk.asarray(normal((256,)), device=device))


def test_empty_tensors_work(device: Device) -> None:
    """No rows, or no vectors: results of the right shape."""
    q = quantize(rk.zeros((0, 64), device=device), "q8_0")
    assert q.dequantize().shape == (0, 64)
    assert q.matmul(rk.zeros((3, 64), device=device)).shape == (3, 0)
    full, _ = stored("q8_0", 4, 64, device)
    assert full.matmul(rk.zeros((0, 64), device=device)).shape == (0, 4)


def test_products_over_no_columns_are_zero(device: Device) -> None:
    """As NumPy's (m, 0) · (0, n), in memory that held something else."""
    matrix, experts = (quantize(rk.zeros(shape, device=device), "q8_0") for shape in ((4, 0), (3, 4, 0)))
    x = rk.zeros((2, 0), device=device)
    for call in (lambda: matrix.matmul(x), lambda: experts.matmul_experts(x, [[0, 1], [1, 2]])):
        used = rk.full((2, 2, 4), 7.0, device=device)
        del used
        assert not call().numpy().any()


def test_more_rows_than_a_grid_axis_holds() -> None:
    """Case G13: 65537 rows, which padded ones take in two launches; the last row's scale is 1/127, its quants 127."""
    device = Device("emulator:gfx942")
    x = np.repeat(np.arange(65537, dtype=np.float32)[:, None] % 5 + 1, 8, axis=1)
    q = quantize(rk.asarray(np.ones((1, 8), np.float32), device=device), "q8_0", pad=True)
    got = q.matmul(rk.asarray(x, device=device)).numpy()
    np.testing.assert_allclose(got, x.sum(1, keepdims=True), rtol=1e-3)
    ones = rk.ones((65537, 32), device=device)
    blocks = quantize(ones, "q8_0").blocks().view(BY_NAME["q8_0"].layout)
    assert blocks["d"][-1] == np.float16(1 / 127)
    assert (blocks["qs"][-1] == 127).all()


def test_a_gguf_file_runs(device: Device, tmp_path: Path) -> None:
    """Written with the gguf package, loaded, multiplied and dequantized here; floats become tensors."""
    w, bias = normal((6, 256)), normal((6,), 3)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "test")
    blocks = gguf.quants.quantize(w, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("w", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("bias", bias)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = load_gguf(tmp_path / "m.gguf")
    weight, loaded_bias = file["w"].to(device), file["bias"].to(device)
    assert isinstance(weight, QTensor)
    assert isinstance(loaded_bias, rk.Tensor)
    values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.Q8_0)
    assert np.array_equal(weight.dequantize().numpy(), values)
    assert np.array_equal(loaded_bias.numpy(), bias)
    x = normal((2, 256), 4)
    exact = x.astype(np.float64) @ values.astype(np.float64).T
    assert reference.relative_error(weight.matmul(rk.asarray(x, device=device)).numpy(), exact) < 1e-2


@pytest.mark.parametrize("name", MATMUL)
def test_experts_of_every_format(device: Device, name: str) -> None:
    """Each token goes through the experts its ids name, within 1 % of the exact product of their weights."""
    q, values = stored(name, 3 * 7, 256, device)
    experts = from_blocks(q.blocks(), name, (3, 7, 256), device)
    x, ids = normal((4, 256), 2), np.array([[2, 0], [1, 1], [0, -3], [2, 1]])
    exact = np.einsum("tk,tsnk->tsn", x.astype(np.float64), values.reshape(3, 7, 256)[ids])
    assert reference.relative_error(experts.matmul_experts(rk.asarray(x, device=device), ids).numpy(), exact) < 1e-2


@pytest.mark.parametrize("per_slot", [False, True])
def test_experts_multiply_what_is_routed_to_them(device: Device, per_slot: bool) -> None:
    """Each token goes through the experts its ids name, padded rows and short floats included."""
    w = normal((4, 6, 96), 1)
    q = quantize(rk.asarray(w, device=device), "q4_k", pad=True)
    values = q.dequantize().numpy().astype(np.float64)
    assert q.shape == values.shape == (4, 6, 96)
    ids = np.array([[3, 0], [1, -4], [2, 2]])
    x = normal((3, 2, 96) if per_slot else (3, 96), 2)
    got = q.matmul_experts(rk.asarray(x, device=device), ids)
    wanted = np.einsum("tsk,tsnk->tsn", x if per_slot else np.repeat(x[:, None], 2, 1), values[ids])
    assert got.shape == (3, 2, 6)
    assert reference.relative_error(got.numpy(), wanted) < 1e-2


def test_wrong_routing_is_refused(device: Device) -> None:
    """An expert that is not there, ids that don't fit the tokens."""
    q = from_blocks(np.zeros(2 * 3 * 18, np.uint8), "q4_0", (2, 3, 32), device)
    x = rk.zeros((2, 32), device=device)
    with pytest.raises(KernelIndexError, match="matmul_experts: id 2 of a table with 2 rows"):
        q.matmul_experts(x, [[0, 1], [2, 0]])
    with pytest.raises(ShapeError, match=r"matmul_experts: \(2, 32\) for ids of shape \(3, 1\); use \(tokens, slots\)"):
        q.matmul_experts(x, [[0], [1], [0]])
    with pytest.raises(ShapeError, match=r"matmul: a quantized tensor of shape \(2, 3, 32\); it takes a matrix"):
        q.matmul(x)


def test_repr_tells_format_shape_and_size(device: Device) -> None:
    """What one wants to know of a weight at a glance."""
    q, _ = stored("q4_0", 4, 64, device)
    assert repr(q) == f"QTensor(q4_0, shape=(4, 64), 144 bytes, device={device.name})"
