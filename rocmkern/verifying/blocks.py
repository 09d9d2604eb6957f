"""Cases of block formats: blocks made, read, chosen and multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.block_formats import FORMATS, Q8_1, BlockFormat
from rocmkern.kernels.families.quantized import MAX_VECTORS, expert_symbol
from rocmkern.verifying.block_values import activation_values, dequantized, is_known, quantized_activations, weights
from rocmkern.verifying.case import Array, Case, numbers
from rocmkern.verifying.launched import launch

_FLOATS: Final = (dtypes.float32, dtypes.float16, dtypes.bfloat16)
_ROWS: Final = 9
_NEAR: Final[dict[str, Any]] = {"ulps": 256.0, "of_largest": True}  # f32 sums of some hundred products
_ROUNDED: Final[dict[str, Any]] = {"ulps": 0.03 * 2**23, "of_largest": True}  # vectors are quantized to 8 bits first


def _columns(row: BlockFormat) -> int:
    return 512 if row.values == 256 else 160


def _blocks(row: BlockFormat, rows: int, columns: int) -> Array:
    return weights(row, rows, columns, np.random.default_rng(rows))


def _vectors(count: int, columns: int) -> Array:
    return np.random.default_rng(count).standard_normal((count, columns)).astype(np.float32)


def values() -> Iterator[Case]:
    for row in FORMATS:
        columns = _columns(row)
        blocks = _blocks(row, _ROWS, columns)
        for t in _FLOATS:
            yield Case(
                f"dequantize {row.name} to {t.name}", partial(_dequantize, row, t), (blocks,),
                partial(dequantized, row) if is_known(row) else None, ulps=0.5,
            )  # fmt: skip
            if row.can_quantize:
                yield Case(
                    f"quantize {t.name} to {row.name}",
                    partial(_quantize, row),
                    (numbers(t, 9, columns, special=False),),
                )
    table = _vectors(6, 37)
    for t in _FLOATS:
        rows, ids = table.astype(t.numpy), np.array([5, 1], np.uint32)
        out = np.zeros((2, 33), np.float32)
        yield launch(f"get_rows_{t.short}", (rows.view(np.uint8), ids, out, 33, rows.strides[0]),
                     lambda x, ids, out, t=t: x.view(t.numpy)[ids, :33], grid=(2, 2), block=32)  # fmt: skip
        yield Case(f"quantize_q8_1 of {t.name}", partial(_activations, t), (_vectors(3, 100).astype(t.numpy),),
                   _as_activations if t is dtypes.float32 else None)  # fmt: skip


def _weights(row: BlockFormat, blocks: Any, rows: int) -> Any:
    shape = (rows, blocks.shape[-1] // row.nbytes * row.values)
    return rk.from_blocks(blocks.numpy(), row, shape, blocks.device)


def _dequantize(row: BlockFormat, t: DType, blocks: Any) -> Any:
    return _weights(row, blocks, len(blocks)).dequantize(t)


def _quantize(row: BlockFormat, x: Any) -> Any:
    return rk.asarray(rk.quantize(x, row.name).blocks(), device=x.device)


def _activations(t: DType, x: Any) -> Any:
    """The quants of q8_1 blocks, beside which lie scales and sums that are f16."""
    out = rk.zeros((len(x), 128 // 32 * Q8_1.nbytes), dtype=rk.uint8, device=x.device)
    symbol = "quantize_q8_1" if t is dtypes.float32 else f"quantize_q8_1_{t.short}"
    rk.get_kernel("quantized", symbol, x.device)(x, out, x.shape[1], 128, grid=(1, len(x)), block=256)
    return out.reshape((-1, Q8_1.nbytes))[:, 4:]


def _as_activations(x: Array) -> Array:
    blocks = quantized_activations(x.astype(np.float32), 128)
    return blocks.reshape(-1, Q8_1.nbytes)[:, 4:]


def products() -> Iterator[Case]:
    for row in FORMATS:
        if not row.has_matmul:
            continue
        columns = _columns(row)
        blocks = _blocks(row, _ROWS, columns)
        for count in (1, 2, 4, MAX_VECTORS, 35):
            yield Case(f"{row.name} matrix by {count} vectors", lambda w, x, row=row: _weights(row, w, _ROWS).matmul(x),
                       (blocks, _vectors(count, columns)), _reference(row, _by_rows), **_ROUNDED)  # fmt: skip
        ids = np.array([4, 0, 4, 2])
        yield Case(f"rows of {row.name} by ids", lambda w, i, row=row: _weights(row, w, _ROWS).embedding(i),
                   (blocks, ids), _reference(row, lambda w, i: w[i]))  # fmt: skip
        yield from _of_candle(row)
        yield from _of_experts(row)


def _by_rows(w: Array, x: Array) -> Any:
    return x @ w.T


def _reference(row: BlockFormat, f: Any) -> Any:
    """`f` of the matrix's values and the other operand."""
    if not is_known(row):
        return None
    return lambda blocks, *more: f(dequantized(row, blocks).astype(np.float64), *more)


def _of_candle(row: BlockFormat) -> Iterator[Case]:
    columns = _columns(row)
    blocks, padded = _blocks(row, _ROWS, columns), -(-columns // 512) * 512
    for count in range(1, MAX_VECTORS + 1):
        y = quantized_activations(_vectors(count, columns), padded)
        yield launch(
            f"mul_mat_vec_{row.symbol}_q8_1_cuda{count}",
            (blocks, y, np.zeros((count, _ROWS), np.float32), columns, _ROWS, padded, _ROWS),
            _reference(row, _by_activations), grid=5, block=(32, 4 if count <= 4 else 2), **_NEAR,
        )  # fmt: skip
    if row.symbol.startswith("q"):
        name = row.name if row.values == 256 else f"{row.symbol}_cuda"
        sizes = (columns,) if row.symbol == "q5_K" else (columns, _ROWS)
        operands = blocks, _vectors(1, columns)[0], np.zeros(_ROWS, np.float32)
        yield launch(f"dequantize_mul_mat_vec_{name}", (*operands, *sizes),
                     _reference(row, lambda w, x, out: w @ x), grid=_ROWS, block=(32, 1), **_NEAR)  # fmt: skip


def _by_activations(w: Array, y: Array, out: Array) -> Any:
    return activation_values(y)[:, : w.shape[1]] @ w.T


def _of_experts(row: BlockFormat) -> Iterator[Case]:
    experts, rows, columns, tokens, slots = 3, 6, 512, 2, 2
    blocks = _blocks(row, experts * rows, columns)
    ids, x = np.array([[2, 0], [1, 2]], np.uint32), _vectors(tokens, columns)
    y = quantized_activations(x, columns)

    def chosen(w: Array, vectors: Array) -> Any:
        return np.einsum("tsrc,tc->tsr", w.reshape(experts, rows, columns)[ids], vectors)

    yield launch(
        f"indexed_moe_forward_{expert_symbol(row)}_q8_1",
        (blocks, y, ids, np.zeros((tokens, slots, rows), np.float32), rows, columns, tokens, slots, columns, 1),
        _reference(row, lambda w, y, ids, out: chosen(w, activation_values(y))), grid=(rows, tokens, slots),
        block=(32, 4), **_NEAR,
    )  # fmt: skip

    def call(w: Any, x: Any, ids: Any) -> Any:
        held = rk.from_blocks(w.numpy(), row, (experts, rows, columns), w.device)
        return held.matmul_experts(x, ids.astype(rk.int64))

    yield Case(
        f"experts of {row.name}", call, (blocks, x, ids), _reference(row, lambda w, x, ids: chosen(w, x)), **_ROUNDED
    )


def cases() -> Iterator[Case]:
    for made in (values, products):
        yield from made()
