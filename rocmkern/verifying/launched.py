"""Cases that launch kernels themselves: those of Candle's names and layouts that no function of ours uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import BY_SHORT, DType
from rocmkern.kernels import families
from rocmkern.kernels.catalogue import FLOATS, INTEGERS, NUMBERS
from rocmkern.kernels.families.indexing import ids_for
from rocmkern.kernels.families.matmul import SCALED_TILES, TILES, VECTOR_KINDS, VECTOR_THREADS
from rocmkern.verifying import convolutions
from rocmkern.verifying.case import Array, Case, integers, numbers, whole
from rocmkern.verifying.convolutions import Geometry, Pair

_N: Final = 1000
_KINDS: Final = sorted((*TILES, *SCALED_TILES, *VECTOR_KINDS), key=len, reverse=True)
_GRID: Final = 3  # a few blocks that loop over what there is


def launch(
    symbol: str, values: tuple[Any, ...], reference: Callable[..., Any] | None, *, grid: Any = _GRID, block: Any = 256,
    shared_bytes: int = 0, **tolerance: Any,
) -> Case:  # fmt: skip
    """A case of one launch, whose arguments are `values`, arrays for pointers: the result is what it writes."""
    spec = families.spec(symbol)

    def call(*tensors: Any) -> Any:
        left = iter(tensors)
        arguments = [next(left) if isinstance(v, np.ndarray) else v for v in values]
        device = tensors[0].device
        for i, p in enumerate(spec.parameters):
            if p.role != "in" and isinstance(arguments[i], rk.Tensor):
                arguments[i] = arguments[i].copy()
        kernel = rk.get_kernel(spec.family, symbol, device)
        kernel(*arguments, grid=grid, block=block, shared_bytes=shared_bytes)
        return tuple(
            a for p, a in zip(spec.parameters, arguments, strict=True) if p.role != "in" and isinstance(a, rk.Tensor)
        )

    arrays = tuple(v for v in values if isinstance(v, np.ndarray))
    return Case(f"kernel {symbol}", call, arrays, reference, **tolerance)


def zeros(t: DType, *shape: int) -> Array:
    return np.zeros(shape, t.numpy)


def _elementwise(symbol: str, inputs: tuple[Array, ...], f: Callable[..., Array], ulps: float = 0.0) -> Case:
    """A kernel of Candle's elementwise layout, on contiguous operands."""
    out = next(p.dtype for p in families.spec(symbol).parameters if p.role == "out")
    values = (inputs[0].size, inputs[0].ndim, None, *inputs, np.zeros(inputs[0].shape, out.numpy))
    return launch(symbol, values, lambda *a: f(*a[:-1]), ulps=ulps)


def elementwise() -> Iterator[Case]:
    t = dtypes.bool_
    x, y = integers(t, _N), integers(t, _N, seed=1)
    for op, f in (
        ("badd", np.logical_or),
        ("bmul", np.logical_and),
        ("bmaximum", np.maximum),
        ("bminimum", np.minimum),
    ):
        yield _elementwise(f"{op}_bool", (x, y), f)
    for t in INTEGERS:
        odd = whole(t, _N) * 2 + np.asarray(1, t.numpy)
        yield _elementwise(f"bdiv_{t.short}", (whole(t, _N, seed=1) * odd, odd), lambda x, y: x // y)
        if t.kind == "unsigned":
            yield _elementwise(f"uneg_{t.short}", (integers(t, _N),), lambda x: np.negative(x))
            yield _elementwise(f"uabs_{t.short}", (integers(t, _N),), lambda x: x)
    for t in FLOATS:
        x = numbers(t, _N, special=False)
        yield _elementwise(f"uround_{t.short}", (x,), lambda x: np.trunc(x + np.copysign(0.5, x)))
        yield _elementwise(f"uexp2_{t.short}", (x,), np.exp2, 4.0)
        yield _elementwise(f"unormcdf_{t.short}", (x,), _normal_distribution, 256.0)
    for t in dtypes.REAL:
        x, y = numbers(t, _N, special=False), numbers(t, _N, special=False, seed=1)
        for short in ("bool", "u8", "u32", "i64", "i32", "i16", "u16", "i8", "u64"):
            if f"where_{short}_{t.short}" in families.family("ternary").by_symbol:
                yield _elementwise(f"where_{short}_{t.short}", (whole(BY_SHORT[short], _N), x, y), np.where)
        yield _elementwise(f"cast_{t.short}_{t.short}", (x,), lambda x: x)
        yield launch(f"const_set_{t.short}", (_N, 1, None, 1, zeros(t, _N)), np.ones_like)
        yield launch(f"fill_{t.short}", (zeros(t, _N), 1, _N), np.ones_like)
        matrix = numbers(t, 30, 40, special=False)
        yield launch(f"copy2d_{t.short}", (matrix, zeros(t, 30, 33), 30, 33, 40, 33), lambda x, out: x[:, :33])
    for t in (dtypes.complex64, dtypes.complex128):
        yield _elementwise(f"cast_{t.short}_bool", (numbers(t, _N),), lambda x: x != 0)


def _normal_distribution(x: Array) -> Array:
    from math import erfc, sqrt

    return np.asarray([erfc(-float(v) / sqrt(2)) / 2 for v in x])


def indexed() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for t in dtypes.REAL:
        for kind in ids_for(t):
            name, x = f"{kind.short}_{t.short}", whole(t, 3, 9, 5)
            ids, each = (rng.integers(0, 9, n).astype(kind.numpy) for n in (21, (3, 4, 5)))
            yield launch(f"is_{name}", (315, 1, None, ids, x, zeros(t, 3, 21, 5), 3, 9, 21, 5), _select)
            yield launch(f"gather_{name}", (60, each, x, zeros(t, 3, 4, 5), 3, 9, 4, 5), gather)
            once = rng.permuted(np.tile(np.arange(9), (3, 5, 1)), axis=2).transpose(0, 2, 1)[:, :4].astype(kind.numpy)
            source = whole(t, 3, 4, 5, seed=1)
            yield launch(f"s_{name}", (once, source, x, 3, 4, 9, 5), partial(_put, False))
            yield launch(f"sa_{name}", (once, source, x, 3, 4, 9, 5), partial(_put, True))
            yield launch(f"ia_{name}", (ids[:4].copy(), 4, source, x, 3, 4, 9, 5), _index_add)


def _select(ids: Array, x: Array, out: Array) -> Array:
    return x[:, ids.astype(np.int64)]


def gather(ids: Array, x: Array, out: Array) -> Array:
    return np.take_along_axis(x, ids.astype(np.int64), 1)


def _put(adds: bool, ids: Array, source: Array, x: Array) -> Any:
    found, at = x.copy(), ids.astype(np.int64)
    values = np.take_along_axis(x, at, 1) + source if adds else source
    np.put_along_axis(found, at, values, 1)
    return found


def _index_add(ids: Array, source: Array, x: Array) -> Any:
    found = x.copy()
    for place, row in zip(ids.astype(np.int64), source.swapaxes(0, 1), strict=True):
        found[:, place] += row
    return found


def rows() -> Iterator[Case]:
    for t in dtypes.REAL:
        x = numbers(t, 6, 50, special=False)
        for name, down in (("asc", False), ("desc", True)):
            yield launch(f"asort_{name}_{t.short}", (x, np.zeros((6, 50), np.uint32), 50, 64),
                         partial(_order, down), grid=6, block=64, shared_bytes=256)  # fmt: skip
    for t in FLOATS[1:]:
        x, gain, bias = numbers(t, 6, 64, special=False), numbers(t, 64, special=False), whole(t, 64)
        near: dict[str, Any] = {"ulps": 16.0, "of_largest": True}
        yield launch(f"softmax_{t.short}", (x, zeros(t, 6, 64), 64), _softmax, grid=6, block=(1, 32), **near)
        yield launch(
            f"rmsnorm_{t.short}", (x, zeros(t, 6, 64), gain, 64, 64, 1e-5), _rms_norm, grid=6, block=64, **near
        )
        yield launch(f"layernorm_{t.short}", (x, zeros(t, 6, 64), gain, bias, 64, 64, 1e-5), _layer_norm, grid=6,
                     block=64, **near)  # fmt: skip
        y, angles = numbers(t, 2, 6, 3, 8, special=False), np.random.default_rng(0).random((6, 4))
        turns = tuple(f(angles).astype(t.numpy) for f in (np.cos, np.sin))
        yield launch(f"rope_thd_{t.short}", (y, *turns, np.zeros_like(y), 2, 6, 3, 8, 0), _rope, block=64, **near)
    for t in (*FLOATS[1:], dtypes.uint32):
        info = np.array([6, 64, 64, 1, 64, 1], np.uint64)  # dims, strides, then the length and stride of what is summed
        yield launch(f"sum_{t.short}", (384, 2, 1, info, whole(t, 6, 64), whole(t, 6)),
                     lambda info, x, out: x.sum(axis=1, dtype=x.dtype) + out)  # fmt: skip
    yield from _wide_indices()


def _wide_indices() -> Iterator[Case]:
    """The second pass over rows of 2³² elements and more, on states as a first pass would leave them."""
    for spec in families.family("reduce").kernels:
        if not spec.symbol.startswith("merge_wide"):
            continue
        t = BY_SHORT[spec.symbol.rpartition("_")[2]]
        state = np.dtype(
            {"names": ["value", "index"], "formats": [t.numpy, np.uint64], "offsets": [0, 8], "itemsize": 16}
        )
        states = np.zeros((3, 1000), state)
        states["value"], states["index"] = 3, np.arange(1000, dtype=np.uint64) << np.uint64(30)
        for row, part in enumerate((4, 5, 999)):
            states["value"][row, part] = 1 if "argmin" in spec.symbol else 5
        yield launch(spec.symbol, (3, 1000 << 30, 1000, states.reshape(-1).view(np.uint8), np.zeros(3, np.int64)),
                     lambda states, out: np.array([4, 5, 999], np.int64) << 30, block=64)  # fmt: skip


def _order(down: bool, x: Array, out: Array) -> Any:
    """Equal ones in the order in which they lie."""
    if not down:
        return np.argsort(x, axis=1, kind="stable")
    return x.shape[1] - 1 - np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1]


def _softmax(x: Array, out: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _rms_norm(x: Array, out: Array, gain: Array) -> Array:
    return np.asarray(x / np.sqrt((x**2).mean(axis=1, keepdims=True) + np.float32(1e-5)) * gain)


def _layer_norm(x: Array, out: Array, gain: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt(x.var(axis=1, keepdims=True) + np.float32(1e-5)) * gain + bias)


def _rope(x: Array, cos: Array, sin: Array, out: Array) -> Array:
    a, b, c, s = x[..., :4], x[..., 4:], cos[:, None], sin[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)


def described(*arrays: Array) -> Array:
    """Dims and strides in elements of each array."""
    return np.array([n for a in arrays for n in (*a.shape, *(s // a.itemsize for s in a.strides))], np.uint64)


def grids() -> Iterator[Case]:
    g = Geometry((2, 2), (1, 1))
    flat = Geometry((1, 2), (0, 1))
    for t in NUMBERS[:8] + FLOATS[1:]:
        s = t.short
        x, kernel, back = whole(t, 2, 3, 9, 8), whole(t, 4, 3, 3, 3), whole(t, 3, 4, 3, 3)
        line, taps, taps_back = (np.ascontiguousarray(a[:, :, 1]) for a in (x, kernel, back))
        out = g.out((9, 8), (3, 3))
        yield launch(f"conv2d_{s}",
                     (x.size, out[1], out[0], 2, 1, 1, described(x, kernel), x, kernel, zeros(t, 2, 4, *out)),
                     lambda i, x, k, o: convolutions.convolve(x, k, g))  # fmt: skip
        yield launch(f"conv1d_{s}",
                     (line.size, out[1], 2, 1, 1, described(line, taps), line, taps, zeros(t, 2, 4, out[1])),
                     lambda i, x, k, o: convolutions.convolve(x[:, :, None], k[:, :, None], flat)[:, :, 0])  # fmt: skip
        wide = g.transposed_out((9, 8), (3, 3))
        yield launch(
            f"conv_transpose2d_{s}",
            (x.size, wide[1], wide[0], 2, 1, 0, 1, described(x, back), x, back, zeros(t, 2, 4, *wide)),
            lambda i, x, k, o: convolutions.convolve_transposed(x, k, g, g.transposed_out((9, 8), (3, 3))),
        )  # fmt: skip
        yield launch(
            f"conv_transpose1d_{s}",
            (line.size, wide[1], 2, 1, 0, 1, described(line, taps_back), line, taps_back, zeros(t, 2, 4, wide[1])),
            lambda i, x, k, o: convolutions.convolve_transposed(
                x[:, :, None], k[:, :, None], flat, flat.transposed_out((1, 8), (1, 3)))[:, :, 0],
        )  # fmt: skip
        columns = zeros(t, 2, *out, 3, 3, 3)
        yield launch(f"im2col_{s}", (columns.size, *out, 3, 3, 2, 1, 1, described(x), x, columns),
                     lambda i, x, o: _columns(x, (3, 3), g, (9, 8)))  # fmt: skip
        lines = zeros(t, 2, out[1], 3, 3)
        yield launch(
            f"im2col1d_{s}", (2 * out[1] * 3, out[1], 3, 2, 1, 1, described(line), line, lines),
            lambda i, x, o: _columns(x[:, :, None], (1, 3), flat, (1, 8))[:, 0, :, :, 0],
        )  # fmt: skip
        col = whole(t, 2, 5, 4, 3)
        yield launch(f"col2im1d_{s}", (2 * 4 * 11, 11, 5, 4, 3, 2, col, zeros(t, 2, 4, 11)), _from_columns)
        for name, f in (("max", np.max), ("avg", np.mean)):
            yield launch(
                f"{name}_pool2d_{s}", (x.size, 3, 2, 3, 2, described(x), x, zeros(t, 2, 3, 3, 4)),
                (lambda i, x, o, f=f: f(convolutions.windows(x, (3, 2), (3, 2)), axis=-1))
                if t.is_float or name == "max" else None, ulps=1.0,
            )  # fmt: skip


def _columns(x: Array, kernel: Pair, g: Geometry, size: Pair) -> Any:
    return convolutions.columns(x, kernel, g, g.out(size, kernel)).transpose(0, 4, 5, 1, 2, 3)


def _from_columns(col: Array, out: Array) -> Array:
    found = np.zeros(out.shape, col.dtype)
    for i in range(5):
        found[:, :, 2 * i : 2 * i + 3] += col[:, i]
    return found


def products() -> Iterator[Case]:
    """Every shipped tile and way, on matrices that it does not divide."""
    for spec in families.family("matmul").kernels:
        types = {p.name: p.dtype for p in spec.parameters}
        if "parts" in types:
            source = whole(types["src"], 3, 2, 7, 10)
            before = (None,) * (len(spec.parameters) - 6)
            yield launch(spec.symbol, (7, 10, 2, 3, *before, source, zeros(types["dst"], 2, 7, 10)), _sum_of_parts)
            continue
        kind = next(k for k in _KINDS if spec.symbol.startswith(f"{k}_"))
        m, n, k = VECTOR_KINDS[kind][1] if kind in VECTOR_KINDS else 70, 90, 48
        a, b = whole(types["lhs"], m, k), whole(types["rhs"], k, n)
        sizes = (m, n, k, k, 1, 0, k, 1, 0, n, 1, 0, None, a, b)
        finish = (None,) * (len(spec.parameters) - len(sizes) - 1)
        tile = TILES[kind][0] if kind in TILES else SCALED_TILES.get(kind)
        yield launch(spec.symbol, (*sizes, *finish, zeros(types["dst"], m, n)), _product,
                     block=tile.threads if tile else VECTOR_THREADS)  # fmt: skip


def _sum_of_parts(parts: Array, out: Array) -> Any:
    return parts.sum(axis=0)


def _product(a: Array, b: Array, out: Array) -> Any:
    if a.dtype.kind in "iu":
        a, b = a.astype(np.int64), b.astype(np.int64)
    return np.matmul(a, b)


def cases() -> Iterator[Case]:
    for made in (elementwise, indexed, rows, grids, products):
        yield from made()
