"""Cases that move elements: indexing, scattering, padding, repeating, masks and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import INTEGERS
from rocmkern.verifying.case import Array, Case, integers, numbers, whole

_ROWS: Final = (30, 100)
_COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
_SIZED: Final = (dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64)  # one of each size of element


def _ids(t: DType, high: int, *shape: int) -> Array:
    return np.random.default_rng([high, *shape]).integers(0, high, shape).astype(t.numpy)


def _permuted(t: DType, *shape: int) -> Array:
    """In each row every place once."""
    return np.random.default_rng(0).permuted(np.tile(np.arange(shape[-1]), (shape[0], 1)), axis=1).astype(t.numpy)


def taken() -> Iterator[Case]:
    for t in dtypes.REAL:
        x = numbers(t, *_ROWS, special=False)
        for kind in INTEGERS:
            name = f"of {t.name} by {kind.name}"
            yield Case(
                f"take {name}", lambda x, i: (rk.take(x, i, axis=0), rk.take(x, i, axis=1)),
                (x, _ids(kind, 30, 700)), lambda x, i: (np.take(x, i, axis=0), np.take(x, i, axis=1)),
            )  # fmt: skip
            yield Case(f"take_along_axis {name}", lambda x, i: rk.take_along_axis(x, i, axis=1),
                       (x, _ids(kind, 100, 30, 100)), lambda x, i: np.take_along_axis(x, i, axis=1))  # fmt: skip
            few = numbers(t, 5, 6, special=False), _ids(kind, 5, 4)
            yield Case(f"few rows {name}", lambda x, i: (x[i], rk.embedding(x, i)), few, lambda x, i: (x[i], x[i]))
        yield from _scattered(t)
    for kind in INTEGERS:
        yield Case(f"one_hot of {kind.name}", lambda i: rk.one_hot(i, 9), (_ids(kind, 9, 40),),
                   lambda i: np.eye(9)[i])  # fmt: skip
        flat = _ids(kind, 100, 500)
        yield Case(f"unravel_index of {kind.name}", lambda i: rk.unravel_index(i, (10, 10)), (flat,),
                   lambda i: np.unravel_index(i.astype(np.int64), (10, 10)))  # fmt: skip


def _placed(name: str, x: Array, ids: Array, values: Array) -> Any:
    """`values` written to the columns that `ids` name, or added there."""
    found = x.copy()
    rows = np.arange(len(x))[:, None]
    if name == "scatter":
        found[rows, ids] = values
    else:
        np.add.at(found, (np.broadcast_to(rows, ids.shape), ids), values)
    return found


def _scattered(t: DType) -> Iterator[Case]:
    x, values = whole(t, *_ROWS), whole(t, *_ROWS, seed=1)
    for kind in (*INTEGERS[:2], dtypes.uint32, dtypes.int64):
        for name in ("scatter", *(("scatter_add",) if t.kind != "bool" else ())):
            yield Case(
                f"{name} of {t.name} by {kind.name}", lambda *a, n=name: getattr(rk, n)(*a, axis=1),
                (x, _permuted(kind, *_ROWS), values), lambda x, i, v, n=name: _placed(n, x, i.astype(np.int64), v),
            )  # fmt: skip
        rows = _permuted(kind, 1, 30)[0]
        if t.kind != "bool":
            yield Case(f"index_add of {t.name} by {kind.name}", lambda *a: rk.index_add(*a, axis=0), (x, rows, values),
                       _index_add)  # fmt: skip
        yield Case(f"index_copy of {t.name} by {kind.name}", lambda *a: rk.index_copy(*a, axis=0), (x, rows, values),
                   _index_copy)  # fmt: skip
    wide = whole(t, 3, 5000), _permuted(dtypes.int64, 3, 5000), whole(t, 3, 5000, seed=1)
    yield Case(f"scatter of {t.name} [3, 5000]", lambda *a: rk.scatter(*a, axis=1), wide,
               lambda *a: _placed("scatter", *a))  # fmt: skip
    if t.kind != "bool":
        often = whole(t, 50, 20), _ids(dtypes.int64, 50, 4000), whole(t, 4000, 20, seed=1)
        yield Case(f"index_add of {t.name}, many to each", lambda *a: rk.index_add(*a, axis=0), often, _index_add)
        yield Case(f"scatter_add of {t.name} [3, 5000]", lambda *a: rk.scatter_add(*a, axis=1), wide,
                   lambda *a: _placed("scatter_add", *a))  # fmt: skip


def _index_add(x: Array, ids: Array, values: Array) -> Any:
    found = x.copy()
    np.add.at(found, ids.astype(np.int64), values)
    return found


def _index_copy(x: Array, ids: Array, values: Array) -> Any:
    found = x.copy()
    found[ids.astype(np.int64)] = values
    return found


def _written(change: Callable[[Any, Any, Any], None]) -> Callable[..., Any]:
    """A function that changes a copy of its first operand."""

    def call(x: Any, at: Any, values: Any) -> Any:
        found = x.copy()
        change(found, at, values)
        return found

    return call


def _set(x: Any, at: Any, values: Any) -> None:
    x[at] = values


def _set_columns(x: Any, at: Any, values: Any) -> None:
    x[:, at] = values


def _set_every_other(x: Any, at: Any, values: Any) -> None:
    x[1::2] = values[1::2]


def masked() -> Iterator[Case]:
    for t in (*dtypes.REAL, *_COMPLEX):
        for shape in ((5, 7), _ROWS, (300, 400)):
            x, name = numbers(t, *shape, special=False), f"of {t.name} {list(shape)}"
            mask = np.random.default_rng(0).random(shape) < 0.4
            ones = whole(t, *shape) if not t.is_complex else (mask * (1 + 1j)).astype(t.numpy)
            yield Case(f"nonzero {name}", lambda x: (*rk.nonzero(x), rk.flatnonzero(x), rk.count_nonzero(x)), (ones,),
                       lambda x: (*np.nonzero(x), np.flatnonzero(x), np.count_nonzero(x)))  # fmt: skip
            yield Case(f"elements {name} by a mask", lambda x, m: x[m], (x, mask), lambda x, m: x[m])
            chosen = numbers(t, int(mask.sum()), special=False, seed=1)
            yield Case(f"writing {name} by a mask", _written(_set), (x, mask, chosen), _written(_set))
            rows = np.arange(0, shape[0], 2)
            yield Case(f"writing rows {name}", _written(_set), (x, rows, x[: len(rows)].copy()), _written(_set))
            columns = np.arange(0, shape[1], 2)
            yield Case(f"writing columns {name}", _written(_set_columns), (x, columns, x[:, : len(columns)].copy()),
                       _written(_set_columns))  # fmt: skip
            yield Case(f"writing every other row {name}", _written(_set_every_other), (x, rows, x[::-1].copy()),
                       _written(_set_every_other))  # fmt: skip
            yield Case(f"triangles {name}", lambda x: (rk.tril(x), rk.triu(x, k=1)), (x,),
                       lambda x: (np.tril(x), np.triu(x, k=1)))  # fmt: skip
            times = integers(dtypes.uint8, shape[0]).astype(np.int64) % 4
            yield Case(f"repeat {name}", lambda x, n: (rk.repeat(x, n, axis=0), rk.repeat(x, 2, axis=1)), (x, times),
                       lambda x, n: (np.repeat(x, n, axis=0), np.repeat(x, 2, axis=1)))  # fmt: skip


def placed() -> Iterator[Case]:
    for t in (*_SIZED, *_COMPLEX):
        x, name = numbers(t, *_ROWS, special=False), f"of {t.name}"
        for mode in ("reflect", "edge", "wrap", "symmetric", "constant"):
            yield Case(f"pad {name}, {mode}", lambda x, m=mode: rk.pad(x, 3, mode=m), (x,),
                       lambda x, m=mode: np.pad(x, 3, mode=m))  # fmt: skip
        yield Case(f"stack, roll and flip {name}",
                   lambda x: (rk.stack([x, x], axis=2), rk.roll(x, 5, axis=1), rk.flip(x)), (x,),
                   lambda x: (np.stack([x, x], axis=2), np.roll(x, 5, axis=1), np.flip(x)))  # fmt: skip


def cases() -> Iterator[Case]:
    for made in (taken, masked, placed):
        yield from made()
