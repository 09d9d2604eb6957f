"""Cases of rows: reductions, running totals, norms, orders, statistics and what walks along an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import INTEGERS
from rocmkern.kernels.families.reduce import EVERY, FLOATS, NUMBERS
from rocmkern.verifying.case import Array, Case, numbers, whole

_ROWS: Final = (40, 70)
_LONG: Final = (2, 40_000)  # rows that several workgroups share
_SUMS: Final = 24.0  # units in the last place, of sums of some thousand numbers
_COMPLEX: Final = (dtypes.complex64, dtypes.complex128)


def _values(t: DType, shape: tuple[int, int]) -> Array:
    return numbers(t, *shape, special=False)


def _both_ways(f: Callable[..., Any]) -> Callable[..., Any]:
    """Along the rows, along the columns, and over all."""
    return lambda x: (f(x, axis=1), f(x, axis=0), f(x))


def _of(name: str, t: DType, shape: tuple[int, int]) -> str:
    return f"{name} of {t.name} {list(shape)}"


def reductions() -> Iterator[Case]:
    for shape in (_ROWS, _LONG):
        for t in EVERY:
            for name in ("max", "min", "argmax", "argmin"):
                if t.kind != "bool" or name.startswith("arg"):
                    yield _reduction(name, t, shape, _values(t, shape), 0)
            for name in ("any", "all"):
                yield _reduction(name, t, shape, whole(t, *shape), 0)
        for t in NUMBERS:
            yield _reduction("sum", t, shape, _values(t, shape), _SUMS)
            factors = np.where(np.random.default_rng(0).random(shape) < 0.5, t.numpy.type(1), t.numpy.type(3))
            near_one = (1 + _values(t, shape).astype(np.float64) / 4096).astype(t.numpy) if t.is_float else factors
            yield _reduction("prod", t, shape, near_one, 512 * _SUMS)
        for t in FLOATS:
            for name in ("mean", "var", "std"):
                yield _reduction(name, t, shape, _values(t, shape), _SUMS)
            yield Case(_of("logsumexp", t, shape), _both_ways(rk.logsumexp), (_values(t, shape),),
                       _both_ways(_logsumexp), ulps=4.0, of_largest=True, grows=shape is _ROWS)  # fmt: skip


def _reduction(name: str, t: DType, shape: tuple[int, int], x: Array, ulps: float) -> Case:
    ours, theirs = getattr(rk, name), getattr(np, name)

    def reference(x: Array, axis: int | None = None) -> Array:
        found: Array = theirs(x, axis=axis, **({"dtype": x.dtype} if name in ("sum", "prod") else {}))
        return found

    return Case(_of(name, t, shape), _in_dtype(name, ours), (x,), _both_ways(reference), ulps=ulps, of_largest=True,
                grows=shape is _ROWS)  # fmt: skip


def _in_dtype(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """Sums and products in the dtype of what is summed."""
    if name not in ("sum", "prod"):
        return _both_ways(f)
    return lambda x: _both_ways(lambda x, axis=None: f(x, axis=axis, dtype=x.dtype))(x)


def _logsumexp(x: Array, axis: int | None = None) -> Array:
    largest = x.max(axis=axis, keepdims=True)
    found: Array = np.squeeze(np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest, axis)
    return found


def totals() -> Iterator[Case]:
    for t in NUMBERS:
        x = whole(t, *_ROWS)
        for name in ("cumsum", "cumprod"):
            ours, theirs = getattr(rk, name), getattr(np, name)
            y = np.where(x > 0, t.numpy.type(1), x) if name == "cumprod" else x
            yield Case(
                _of(name, t, _ROWS), lambda x, f=ours: tuple(f(x, axis=a, dtype=x.dtype) for a in (0, 1)), (y,),
                lambda x, f=theirs: tuple(f(x, axis=a, dtype=x.dtype) for a in (0, 1)), ulps=_SUMS, of_largest=True,
                grows=True,
            )  # fmt: skip
    for t in _COMPLEX:
        x = numbers(t, *_ROWS)
        yield Case(_of("cumprod", t, _ROWS), lambda x: rk.cumprod(x, axis=1), (x,), lambda x: np.cumprod(x, axis=1),
                   ulps=1e3, of_largest=True)  # fmt: skip
        yield Case(_of("sum", t, _ROWS), lambda x: rk.sum(x, axis=1), (x,), lambda x: np.sum(x, axis=1),
                   ulps=_SUMS, of_largest=True)  # fmt: skip


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * weight + bias)


def _rms_norm(x: Array, weight: Array) -> Array:
    return np.asarray(x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * weight)


def _normalize(x: Array) -> Array:
    return np.asarray(x / np.sqrt((x**2).sum(axis=-1, keepdims=True)))


def norms() -> Iterator[Case]:
    for t in FLOATS:
        for shape in (_ROWS, (3, 5000)):
            x, weight, bias = (numbers(t, *s, special=False, seed=i) for i, s in enumerate((shape, *2 * (shape[1:],))))
            rows: tuple[tuple[str, tuple[Array, ...], Callable[..., Any]], ...] = (
                ("softmax", (x,), _softmax), ("log_softmax", (x,), lambda x: np.log(_softmax(x))),
                ("layer_norm", (x, weight, bias), _layer_norm), ("rms_norm", (x, weight), _rms_norm),
                ("normalize", (x,), _normalize),
            )  # fmt: skip
            for name, arrays, reference in rows:
                yield Case(_of(name, t, shape), getattr(rk, name), arrays, reference, ulps=8.0, of_largest=True,
                           grows=shape is _ROWS)  # fmt: skip
        yield from _transformers(t)


def _transformers(t: DType) -> Iterator[Case]:
    ids = np.random.default_rng(0).integers(0, _ROWS[1], _ROWS[0])
    x = _values(t, _ROWS)
    yield Case(_of("cross_entropy", t, _ROWS), rk.cross_entropy, (x, ids),
               lambda x, ids: np.mean(_logsumexp(x, 1) - x[np.arange(len(ids)), ids]), ulps=8.0)  # fmt: skip
    heads = (2, 4, 6, 16)
    q, k, v = (numbers(t, *heads, special=False, seed=i) for i in range(3))

    def attention(q: Array, k: Array, v: Array) -> Array:
        return np.asarray(_softmax(q @ k.swapaxes(-1, -2) / 4) @ v)

    yield Case(f"attention of {t.name} {list(heads)}", rk.scaled_dot_product_attention, (q, k, v), attention,
               ulps=16.0, of_largest=True)  # fmt: skip
    angles = np.random.default_rng(0).random((6, 8))
    turns = tuple(f(angles).astype(t.numpy) for f in (np.cos, np.sin))

    def rope(x: Array, cos: Array, sin: Array) -> Array:
        a, b = x[..., :8], x[..., 8:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def rope_interleaved(x: Array, cos: Array, sin: Array) -> Any:
        a, b = x[..., ::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(x.shape)

    yield Case(f"rope of {t.name}", rk.rope, (q, *turns), rope, ulps=2.0, of_largest=True)
    yield Case(f"rope of {t.name}, interleaved", lambda *x: rk.rope(*x, interleaved=True), (q, *turns),
               rope_interleaved, ulps=2.0, of_largest=True)  # fmt: skip


def orders() -> Iterator[Case]:
    for t in dtypes.REAL:
        for shape in (_ROWS, (3, 3000)):
            x = numbers(t, *shape, special=False)
            yield Case(_of("sort", t, shape), lambda x: (rk.sort(x, axis=1), rk.sort(x, axis=0)), (x,),
                       lambda x: (np.sort(x, axis=1), np.sort(x, axis=0)), grows=shape is _ROWS)  # fmt: skip
            yield Case(
                _of("argsort", t, shape), lambda x: rk.argsort(x, axis=1, stable=True), (x,),
                lambda x: np.argsort(x, axis=1, kind="stable"), grows=shape is _ROWS,
            )  # fmt: skip
            yield Case(_of("argsort down", t, shape), lambda x: rk.argsort(x, axis=1, descending=True), (x,))
        flat = numbers(t, 20_000, special=False)
        yield Case(f"sort of {t.name} [20000]", rk.sort, (flat,), np.sort)
        yield Case(f"unique of {t.name} [20000]", rk.unique_values, (flat,), np.unique)
        few = numbers(t, 50, special=False)
        yield Case(f"unique of {t.name} [50]", rk.unique_values, (few,), np.unique)
        yield Case(f"isin of {t.name}", rk.isin, (flat[:300], few), np.isin)
        yield Case(f"searchsorted of {t.name}", rk.searchsorted, (np.sort(few), flat), np.searchsorted)
        yield Case(_of("top_k", t, _ROWS), lambda x: rk.top_k(x, 5)[0], (numbers(t, *_ROWS, special=False),),
                   lambda x: np.sort(x, axis=1)[:, :-6:-1])  # fmt: skip
    for t in FLOATS[:3]:
        yield Case(_of("topk_softmax", t, (9, 64)), lambda x: rk.topk_softmax(x, 4), (_values(t, (9, 64)),))


def statistics() -> Iterator[Case]:
    for t in FLOATS:
        for shape in (_ROWS, _LONG):
            x = np.where(np.random.default_rng(1).random(shape) < 0.1, np.nan, _values(t, shape)).astype(t.numpy)
            for name in ("nansum", "nanmean", "nanmax", "nanmin", "nanvar"):
                yield Case(_of(name, t, shape), _both_ways(getattr(rk, name)), (x,), _both_ways(getattr(np, name)),
                           ulps=_SUMS, of_largest=True, grows=shape is _ROWS)  # fmt: skip
            yield Case(_of("norm", t, shape), lambda x: rk.linalg.norm(x, axis=1), (_values(t, shape),),
                       lambda x: np.sqrt((x**2).sum(axis=1)), ulps=4.0, grows=shape is _ROWS)  # fmt: skip
        x, weights = _values(t, _ROWS), np.abs(numbers(t, _ROWS[1], special=False)) + t.numpy.type(1)
        yield Case(_of("average", t, _ROWS), lambda x, w: rk.average(x, axis=1, weights=w), (x, weights),
                   lambda x, w: np.average(x, axis=1, weights=w), ulps=_SUMS, of_largest=True)  # fmt: skip
        yield Case(_of("cov", t, (6, 70)), rk.cov, (_values(t, (6, 70)),), _cov, ulps=_SUMS, of_largest=True)
        for q in (0.5, 0.3):
            yield Case(_of(f"quantile {q}", t, _ROWS), lambda x, q=q: rk.quantile(x, q, axis=1), (x,),
                       lambda x, q=q: np.quantile(x, q, axis=1), ulps=4.0, of_largest=True)  # fmt: skip
        yield Case(f"histogram of {t.name}", lambda x: rk.histogram(x, 7, (-2.0, 2.0))[0], (x.ravel(),),
                   None if t.itemsize < 4 else (lambda x: np.histogram(x, 7, (-2.0, 2.0))[0]))  # fmt: skip


def _cov(x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    return np.asarray(centred @ centred.T / (x.shape[1] - 1))


def series() -> Iterator[Case]:
    for t in (dtypes.float8_e4m3, *FLOATS):
        x = _values(t, _ROWS)
        yield Case(_of("gradient", t, _ROWS), lambda x: rk.gradient(x, axis=1), (x,),
                   None if t.itemsize == 1 else (lambda x: np.gradient(x, axis=1)), ulps=4.0, of_largest=True,
                   grows=True)  # fmt: skip
    for t in FLOATS:
        x, places = _values(t, _ROWS), np.linspace(-2, 2, 9).astype(t.numpy)
        yield Case(_of("interp", t, _ROWS), rk.interp, (x, places, whole(t, 9)),
                   lambda x, p, y: np.interp(x.astype(np.float64), p.astype(np.float64), y.astype(np.float64)),
                   ulps=8.0, of_largest=True)  # fmt: skip
        y = np.sort(_values(t, _ROWS))
        yield Case(_of("trapezoid", t, _ROWS), lambda x, y: rk.trapezoid(x, y, axis=1), (x, y),
                   lambda x, y: np.trapezoid(x, y, axis=1), ulps=_SUMS, of_largest=True)  # fmt: skip
    for t in (*INTEGERS, *FLOATS, *_COMPLEX):
        p = whole(t, 4) if not t.is_complex else numbers(t, 4)
        x = whole(t, *_ROWS) if not t.is_complex else numbers(t, *_ROWS)
        yield Case(_of("polyval", t, _ROWS), rk.polyval, (p, x), lambda p, x, t=t: _polyval(p, x, t), ulps=16.0,
                   of_largest=True)  # fmt: skip


def _polyval(p: Array, x: Array, t: DType) -> Array:
    found = np.zeros_like(x)
    for c in p:
        found = found * x + c
    return found


def cases() -> Iterator[Case]:
    for made in (reductions, totals, norms, orders, statistics, series):
        yield from made()
