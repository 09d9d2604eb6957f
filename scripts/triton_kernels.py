"""Compiles Triton kernels without a GPU, launches them on emulated devices, and prints what became of each.

    pip install triton
    python scripts/triton_kernels.py [--target gfx942]… [--only NAME]…

Triton compiles for a target that is named; `rk.from_triton` loads what came out. Results are compared with NumPy's.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import argparse
import math
from typing import Any, Final

import numpy as np
import triton
import triton.language as tl
from attrs import frozen
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import rocmkern as rk
from rocmkern.targets import TARGETS

Array = np.ndarray[Any, Any]
WAVES: Final = 4


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def axpy(x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(y + i, a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * 0.5 * (1 + tl.erf(value * 0.7071067811865476)), mask=i < n)


@triton.jit
def swiglu(x, gate, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + i, mask=i < n)
    tl.store(out + i, tl.load(x + i, mask=i < n) * g * tl.sigmoid(g), mask=i < n)


@triton.jit
def clip(x, out, low, high, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.minimum(tl.maximum(value, low), high), mask=i < n)


@triton.jit
def to_half(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(tl.float16), mask=i < n)


@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + i, mask=i < columns, other=0.0), axis=0))


@triton.jit
def row_argmax(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    values = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
    tl.store(out + row, tl.argmax(values, axis=0))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    values = tl.load(x + start + i, mask=i < columns, other=float("-inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + start + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside, start = i < columns, tl.program_id(0) * columns
    values = tl.load(x + start + i, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    shifted = centred * scale * tl.load(weight + i, mask=inside) + tl.load(bias + i, mask=inside)
    tl.store(out + start + i, shifted, mask=inside)


@triton.jit
def rms_norm(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside, start = i < columns, tl.program_id(0) * columns
    values = tl.load(x + start + i, mask=inside, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / columns + eps)
    tl.store(out + start + i, values * scale * tl.load(weight + i, mask=inside), mask=inside)


@triton.jit
def cross_entropy(logits, targets, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    values = tl.load(logits + row * columns + i, mask=i < columns, other=float("-inf"))
    largest = tl.max(values, axis=0)
    chosen = tl.load(logits + row * columns + tl.load(targets + row))
    tl.store(out + row, tl.log(tl.sum(tl.exp(values - largest), axis=0)) + largest - chosen)


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    values = tl.load(x + start + i, mask=i < columns, other=0)
    tl.store(out + start + i, tl.cumsum(values, axis=0), mask=i < columns)


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (i < rows) & (j < columns)
    tl.store(out + j * rows + i, tl.load(x + i * columns + j, mask=inside), mask=inside)


@triton.jit
def matmul(a, b, out, m, n, k, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        d = start + tl.arange(0, DEPTH)
        left = tl.load(a + i[:, None] * k + d[None, :], mask=(i[:, None] < m) & (d[None, :] < k), other=0.0)
        right = tl.load(b + d[:, None] * n + j[None, :], mask=(d[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(out + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def matvec(a, x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(a + row * columns + i, mask=i < columns, other=0.0) * tl.load(
            x + i, mask=i < columns, other=0.0
        )
    tl.store(out + row, tl.sum(total, axis=0))


@triton.jit
def attention(q, k, v, out, keys, scale, QUERIES: tl.constexpr, KEYS: tl.constexpr, SIZE: tl.constexpr):
    i, d = tl.arange(0, QUERIES)[:, None], tl.arange(0, SIZE)
    query = tl.load(q + i * SIZE + d[None, :])
    largest = tl.full((QUERIES,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((QUERIES,), dtype=tl.float32)
    total = tl.zeros((QUERIES, SIZE), dtype=tl.float32)
    for start in range(0, keys, KEYS):
        j = start + tl.arange(0, KEYS)
        key = tl.load(k + j[None, :] * SIZE + d[:, None], mask=j[None, :] < keys, other=0.0)
        scores = tl.where(j[None, :] < keys, tl.dot(query, key) * scale, float("-inf"))
        top = tl.maximum(largest, tl.max(scores, axis=1))
        shrunk, e = tl.exp(largest - top), tl.exp(scores - top[:, None])
        value = tl.load(v + j[:, None] * SIZE + d[None, :], mask=j[:, None] < keys, other=0.0)
        total = tl.dot(e.to(value.dtype), value, total * shrunk[:, None])
        weight, largest = weight * shrunk + tl.sum(e, axis=1), top
    tl.store(out + i * SIZE + d[None, :], total / weight[:, None])


@triton.jit
def rope(x, cos, sin, out, HALF: tl.constexpr):
    i = tl.arange(0, HALF)
    row = tl.program_id(0)
    start = row * 2 * HALF
    a, b = tl.load(x + start + i), tl.load(x + start + HALF + i)
    c, s = tl.load(cos + row * HALF + i), tl.load(sin + row * HALF + i)
    tl.store(out + start + i, a * c - b * s)
    tl.store(out + start + HALF + i, b * c + a * s)


@triton.jit
def embedding(table, ids, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    values = tl.load(table + tl.load(ids + row) * columns + i, mask=i < columns)
    tl.store(out + row * columns + i, values, mask=i < columns)


@triton.jit
def histogram(ids, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(ids + i, mask=i < n, other=0), 1, mask=i < n)


@triton.jit
def largest_of_all(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out, tl.max(tl.load(x + i, mask=i < n, other=-2147483648), axis=0))


@triton.jit
def quantize_rows(x, out, scales, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    values = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    scale = tl.max(tl.abs(values), axis=0) / 127
    tl.store(out + row * columns + i, tl.floor(values / scale + 0.5).to(tl.int8), mask=i < columns)
    tl.store(scales + row, scale)


@triton.jit
def dropout(x, out, seed, share, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) >= share
    tl.store(out + i, tl.where(kept, tl.load(x + i, mask=i < n) / (1 - share), 0.0), mask=i < n)


@frozen
class Case:
    """A kernel, its arguments in order, its constants and grid, and what the arrays that `wanted` names must hold."""

    kernel: Any
    arguments: dict[str, Any]
    constants: dict[str, int]
    grid: tuple[int, ...]
    wanted: dict[str, Any]
    tolerance: float = 1e-5


def signature(case: Case) -> dict[str, str]:
    kinds: dict[str, str] = dict.fromkeys(case.constants, "constexpr")
    for name, value in case.arguments.items():
        kinds[name] = f"*{_kind(value.dtype)}" if isinstance(value, np.ndarray) else _kind(np.array(value).dtype)
    return {name: kinds[name] for name in case.kernel.arg_names}


def _kind(t: Any) -> str:
    scalars = {"int64": "i32", "float64": "fp32"}  # as Triton takes Python's numbers
    return scalars.get(t.name) or {"f": "fp", "i": "i", "u": "u"}[t.kind] + str(8 * t.itemsize)


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    n, rows, columns = 1000, 6, 200
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    m, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((rows, columns), columns, columns))
    ids = rng.integers(0, rows, 9).astype(np.int32)
    a16, b16 = (rng.standard_normal(s).astype(np.float16) for s in ((70, 50), (50, 90)))
    q, k, v = (rng.standard_normal((s, 64)).astype(np.float16) for s in (16, 100, 100))
    whole = rng.integers(-9, 9, (rows, columns)).astype(np.int32)
    angles = rng.random((rows, 32))
    turns = rng.standard_normal((rows, 64)).astype(np.float32)
    half, other = turns[:, :32], turns[:, 32:]
    cos, sin = (f(angles).astype(np.float32) for f in (np.cos, np.sin))
    flat, by_row = {"BLOCK": 256}, {"BLOCK": 256}
    blocks, each = (-(-n // 256),), (rows,)
    out, table = np.zeros(n, np.float32), np.zeros((rows, columns), np.float32)
    gaussian = x * 0.5 * (1 + np.array([math.erf(float(e) / math.sqrt(2)) for e in x]))
    e = np.exp(m - m.max(axis=1, keepdims=True))
    centred = m - m.mean(axis=1, keepdims=True)
    scale = np.abs(m).max(axis=1) / np.float32(127)
    scores = np.exp(q.astype(np.float64) @ k.T.astype(np.float64) / 8)
    targets = np.arange(rows, dtype=np.int32)
    powers = rng.standard_normal((rows, 256)).astype(np.float32)
    return [
        Case(add, {"x": x, "y": y, "out": out, "n": n}, flat, blocks, {"out": x + y}),
        Case(axpy, {"x": x, "y": y, "a": 0.5, "n": n}, flat, blocks, {"y": 0.5 * x + y}),
        Case(gelu, {"x": x, "out": out, "n": n}, flat, blocks, {"out": gaussian}),
        Case(swiglu, {"x": x, "gate": y, "out": out, "n": n}, flat, blocks, {"out": x * y / (1 + np.exp(-y))}),
        Case(clip, {"x": x, "out": out, "low": -0.5, "high": 0.5, "n": n}, flat, blocks, {"out": x.clip(-0.5, 0.5)}),
        Case(to_half, {"x": x, "out": out.astype(np.float16), "n": n}, flat, blocks, {"out": x.astype(np.float16)}, 0),
        Case(row_sum, {"x": m, "out": w[:rows], "columns": columns}, by_row, each, {"out": m.sum(axis=1)}),
        Case(row_argmax, {"x": m, "out": targets, "columns": columns}, by_row, each, {"out": m.argmax(axis=1)}, 0),
        Case(softmax, {"x": m, "out": table, "columns": columns}, by_row, each, {"out": e / e.sum(1, keepdims=True)}),
        Case(layer_norm, {"x": m, "weight": w, "bias": b, "out": table, "columns": columns, "eps": 1e-5}, by_row, each,
             {"out": centred / np.sqrt(m.var(axis=1, keepdims=True) + 1e-5) * w + b}),
        Case(rms_norm, {"x": m, "weight": w, "out": table, "columns": columns, "eps": 1e-5}, by_row, each,
             {"out": m / np.sqrt((m**2).mean(axis=1, keepdims=True) + 1e-5) * w}),
        Case(cross_entropy, {"logits": m, "targets": targets, "out": w[:rows], "columns": columns}, by_row, each,
             {"out": np.log(np.exp(m).sum(axis=1)) - m[targets, targets]}),
        Case(running_sum, {"x": whole, "out": whole, "columns": columns}, by_row, each, {"out": whole.cumsum(1)}, 0),
        Case(sort_rows, {"x": powers, "out": powers}, by_row, each, {"out": np.sort(powers, axis=1)}, 0),
        Case(transpose, {"x": m, "out": table, "rows": rows, "columns": columns}, {"BLOCK": 32}, (1, 7),
             {"out": m.T.reshape(rows, columns)}, 0),
        Case(matmul, {"a": a16, "b": b16, "out": np.zeros((70, 90), np.float32), "m": 70, "n": 90, "k": 50},
             {"BLOCK": 32, "DEPTH": 32}, (3, 3), {"out": a16.astype(np.float64) @ b16.astype(np.float64)}),
        Case(matvec, {"a": m, "x": w, "out": b[:rows], "columns": columns}, {"BLOCK": 128}, each, {"out": m @ w}, 1e-4),
        Case(attention, {"q": q, "k": k, "v": v, "out": np.zeros((16, 64), np.float32), "keys": 100, "scale": 0.125},
             {"QUERIES": 16, "KEYS": 32, "SIZE": 64}, (1,),
             {"out": scores / scores.sum(axis=1, keepdims=True) @ v.astype(np.float64)}, 2e-3),
        Case(rope, {"x": turns, "cos": cos, "sin": sin, "out": turns}, {"HALF": 32}, each,
             {"out": np.concatenate([half * cos - other * sin, other * cos + half * sin], axis=1)}),
        Case(embedding, {"table": m, "ids": ids, "out": np.zeros((9, columns), np.float32), "columns": columns}, by_row,
             (9,), {"out": m[ids]}, 0),
        Case(histogram, {"ids": np.abs(whole).reshape(-1), "counts": np.zeros(10, np.int32), "n": whole.size}, flat,
             (5,), {"counts": np.bincount(np.abs(whole).reshape(-1), minlength=10)}, 0),
        Case(largest_of_all, {"x": whole, "out": np.full(1, -99, np.int32), "n": whole.size}, flat, (5,),
             {"out": whole.max(keepdims=True).reshape(1)}, 0),
        Case(quantize_rows, {"x": m, "out": np.zeros(m.shape, np.int8), "scales": w[:rows], "columns": columns}, by_row,
             each, {"scales": scale, "out": np.floor(m / scale[:, None] + np.float32(0.5))}),
        Case(dropout, {"x": np.ones(n, np.float32), "out": out, "seed": 7, "share": 0.25, "n": n}, flat, blocks,
             {"out": _kept}),
    ]  # fmt: skip


def _kept(out: Array) -> bool:
    """Near three of four are there, each divided by that share."""
    kept = out != 0
    return bool(abs(kept.mean() - 0.75) < 0.06 and np.allclose(out[kept], 4 / 3))


def outcome(case: Case, target: str) -> str:
    """`right`, or what is wrong."""
    order = list(signature(case))
    constants = {(order.index(name),): value for name, value in case.constants.items()}
    source = ASTSource(case.kernel, signature=signature(case), constexprs=constants)
    where = GPUTarget("hip", target, TARGETS[target].wave_size)
    kernel = rk.from_triton(triton.compile(source, target=where, options={"num_warps": WAVES}), f"emulator:{target}")
    device = kernel.function.module.device
    given: dict[str, Any] = {
        n: rk.asarray(v, device=device) if isinstance(v, np.ndarray) else v for n, v in case.arguments.items()
    }
    kernel(**given, grid=case.grid)
    for name, wanted in case.wanted.items():
        found = given[name].numpy()
        if callable(wanted):
            if not wanted(found):
                return f"{name} is wrong"
        elif not np.allclose(found, wanted, rtol=case.tolerance, atol=case.tolerance):
            return f"{name} is off by {np.abs(found.astype(np.float64) - wanted).max():.3g}"
    return "right"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", action="append", help="may be repeated; gfx942 and gfx1100 if absent")
    parser.add_argument("--only", action="append", help="kernels of these names")
    options = parser.parse_args()
    targets = options.target or ["gfx942", "gfx1100"]
    chosen = [case for case in cases() if not options.only or case.kernel.__name__ in options.only]
    right = dict.fromkeys(targets, 0)
    for case in chosen:
        found = {target: outcome(case, target) for target in targets}
        print(f"{case.kernel.__name__:16} " + "  ".join(f"{t}: {found[t]}" for t in targets), flush=True)
        for target in targets:
            right[target] += found[target] == "right"
    print(", ".join(f"{target}: {count} of {len(chosen)} right" for target, count in right.items()))


if __name__ == "__main__":
    main()
