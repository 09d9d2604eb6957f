"""Cases that launch the kernels of checked indices, and those of dtypes for which no function of ours uses them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import families
from rocmkern.kernels.catalogue import INTEGERS
from rocmkern.verifying import convolutions
from rocmkern.verifying.case import Array, Case, numbers, whole
from rocmkern.verifying.convolutions import Geometry
from rocmkern.verifying.launched import described, gather, launch, zeros

_BYTES: Final = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)  # bits are moved as these
_IDS_OF_64_BITS: Final = -8
_CLEAN: Final = np.full(4, 2**64 - 1, np.uint64)  # a status in which no index lies outside
_WRITES: Final = (3, 9, 7, 5)  # left, count, bound, right


def _rows(t: DType, seed: int = 0) -> tuple[Array, Array]:
    left, count, bound, right = _WRITES
    return whole(t, left, count, right, seed=seed), whole(t, left, bound, right, seed=seed + 1)


def _written(x: Array, ids: Array, values: Array, *, adds: bool) -> Any:
    """The last write to a place stays; what is added to it goes in order."""
    found = x.copy()
    for left, j, r in np.ndindex(*values.shape):
        place = left, int(ids[left, j, r]), r
        found[place] = found[place] + values[left, j, r] if adds else values[left, j, r]
    return found


def writes() -> Iterator[Case]:
    left, count, bound, right = _WRITES
    each = np.random.default_rng(0).integers(0, bound, (left, count, right))
    lines = np.random.default_rng(1).integers(0, bound, count)
    spread = np.broadcast_to(lines[:, None], each.shape)
    for t in dtypes.REAL:
        values, x = _rows(t)
        extents = (left, count, bound, right, None)
        adding = partial(_written, adds=True)
        yield launch(f"scatter_add_{t.short}", (each, values, x, *extents), lambda i, v, x, f=adding: f(x, i, v))
        yield launch(f"scatter_add_tiles_{t.short}", (16, each, values, x, zeros(t, *x.shape), *extents),
                     lambda i, v, x, out, f=adding: f(x, i, v))  # fmt: skip
        yield launch(
            f"ia_sorted_{t.short}", (np.argsort(lines, kind="stable"), lines, count, values, x, left, bound, right),
            lambda order, i, v, x, f=adding: f(x, spread, v), block=64,
        )  # fmt: skip
        steps = np.array([s // a.itemsize for a in (x, each, values, x) for s in a.strides], np.uint64)
        yield launch(
            f"write_sum_{t.short}",
            (left, count, bound, right, steps, _IDS_OF_64_BITS, each.reshape(-1).view(np.uint8), x, values,
             zeros(t, *x.shape), _CLEAN),
            lambda steps, i, x, v, out, clean, f=adding: (f(x, i.view(np.int64).reshape(v.shape), v), clean), grid=1,
            block=64,
        )  # fmt: skip
    for t in _BYTES:
        values, x = _rows(t)
        extents = (left, count, bound, right, None)
        last = partial(_written, adds=False)
        once = np.random.default_rng(2).permuted(np.tile(np.arange(bound), (left, right, 1)), axis=2).swapaxes(1, 2)
        each_once, fewer = np.ascontiguousarray(once), np.ascontiguousarray(values[:, :bound])
        yield launch(f"scatter_{t.short}", (each_once, fewer, x, left, bound, bound, right, None),
                     lambda i, v, x, f=last: f(x, i, v))  # fmt: skip
        yield launch(f"scatter_tiles_{t.short}", (16, each, values, x, zeros(t, *x.shape), *extents),
                     lambda i, v, x, out, f=last: f(x, i, v))  # fmt: skip
        backwards = np.arange(bound)[::-1].copy()
        yield launch(f"index_copy_{t.short}", (backwards, bound, fewer, x, left, bound, bound, right, None),
                     lambda i, v, x: v[:, ::-1])  # fmt: skip
        info = np.array([*each.shape, *(s // each.itemsize for s in each.strides), bound * right, 0, 1], np.uint64)
        yield launch(
            f"gather_strided_{t.short}",
            (each.size, 3, info, _IDS_OF_64_BITS, each.reshape(-1).view(np.uint8), x, zeros(t, *each.shape), bound,
             right, None),
            lambda info, i, x, out: gather(i.view(np.int64).reshape(out.shape), x, out),
        )  # fmt: skip
    for kind in INTEGERS:
        ids = np.arange(100).astype(kind.numpy) % 50
        yield launch(f"check_ids_{kind.short}", (100, 1, None, ids, np.zeros(100, np.int64), 50, _CLEAN),
                     lambda i, out, clean: (i.astype(np.int64), clean))  # fmt: skip


def others() -> Iterator[Case]:
    x = whole(dtypes.bool_, 6, 300)
    for op, f in (("min", np.min), ("max", np.max)):
        info = described(x)
        yield launch(f"fast_{op}_bool", (x.size, 300, 2, info, x, np.zeros(6, bool)), lambda i, x, o, f=f: f(x, axis=1))
        yield Case(f"kernels split_{op}_bool and merge_{op}_bool", partial(_in_parts, op), (x, info),
                   lambda x, i, f=f: f(x, axis=1))  # fmt: skip
    for t in (dtypes.bool_, dtypes.float8_e4m3):
        y, p = whole(t, 3, 30), whole(t, 4)
        yield launch(f"polyval_{t.short}", (90, 2, described(y), 4, 1, y, p, zeros(t, 3, 30)), None)
    rows = numbers(dtypes.float8_e4m3, 5, 40, special=False)
    yield launch("quantile_f8_e4m3", (5, 40, 20, 0.0, rows, zeros(dtypes.float8_e4m3, 5)),
                 lambda x, out: np.sort(x, axis=1)[:, 20], block=64)  # fmt: skip
    for t in (dtypes.float16, dtypes.bfloat16, dtypes.float32):
        g, image, kernel = Geometry(padding=(1, 1)), whole(t, 1, 5, 13, 15), whole(t, 70, 5, 3, 3)
        sizes = (1, 13, 15, 1, 1, 1, 1, 1, 1, described(image, kernel))
        yield launch(f"conv2d_tiles_deep_{t.short}", (*sizes, image, kernel, zeros(t, 1, 70, 13, 15)),
                     lambda i, x, k, o, g=g: convolutions.convolve(x, k, g))  # fmt: skip
    yield from _of_complex()
    yield from _factors()


def _in_parts(op: str, x: Any, info: Any) -> Any:
    reduced = rk.zeros((6,), dtype=rk.bool_, device=x.device)
    states = rk.zeros((6 * 4 * 4,), dtype=rk.uint8, device=x.device)
    split, merge = (rk.get_kernel("reduce", f"{step}_{op}_bool", x.device) for step in ("split", "merge"))
    split(x.size, 300, 80, 2, info, x, states, grid=5, block=64)
    merge(6, 300, 4, states, reduced, grid=5, block=64)
    return reduced


def _of_complex() -> Iterator[Case]:
    for t in (dtypes.complex64, dtypes.complex128):
        x, given = (whole(dtypes.float64, n) + 1j * whole(dtypes.float64, n, seed=1) for n in (40, 9))
        arrays = x.astype(t.numpy), given.astype(t.numpy)
        yield Case(f"unique of {t.name}", lambda x, y: rk.unique_values(x), arrays, lambda x, y: np.unique(x), ulps=0.5)
        yield Case(f"isin of {t.name}", rk.isin, arrays, np.isin)
    places = np.array([4, 0, 5]), np.array([9, 2, 2], np.int32), np.array([1, 0, 1])
    yield Case("elements by three index tensors", _at_three, (np.arange(120).reshape(6, 10, 2), *places), _at_three)


def _at_three(x: Any, i: Any, j: Any, k: Any) -> Any:
    return x[i, j, k]


def _factors() -> Iterator[Case]:
    """The kernels that take a thread for each matrix or column, or a block, whatever the plans choose here."""
    for spec in families.family("linalg").kernels:
        t = spec.parameters[-1].dtype
        if spec.symbol.startswith("determinant"):
            lu = numbers(t, 40, 5, 5, special=False)
            pivots = np.tile(np.array([1, 2, 3, 4, 5], np.int32), (40, 1)) - 1
            part = np.zeros(40, spec.parameters[-1].dtype.numpy)
            out = zeros(spec.parameters[2].dtype, 40)
            lu = numbers(spec.parameters[2].dtype, 40, 5, 5, special=False)
            yield launch(spec.symbol, (5, 40, lu, pivots, out, out.copy(), part), None, block=64)
        elif spec.symbol.startswith("reflect"):
            v, tau, x = (numbers(t, 4, *s, special=False) for s in ((6, 3), (3,), (6, 5)))
            yield launch(spec.symbol, (6, 5, 3, 4, 18, 3, 1, 30, 5, False, v, tau, x), None, block=64)


def cases() -> Iterator[Case]:
    for made in (writes, others):
        yield from made()
