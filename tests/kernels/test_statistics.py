"""The statistics family against NumPy in the widest type: every kernel, any strides, whole rows and rows in parts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from rocmkern.dtypes import DType, float32, float64
from rocmkern.kernels.families.reduce import FLOATS, state_bytes
from rocmkern.kernels.families.statistics import MOST_BINS, MOST_VARIABLES, NAN_REDUCTIONS
from rocmkern.runtime import Device
from tests.kernels.launching import layout, run
from tests.kernels.test_reduce_norms import assert_near

Array = np.ndarray[Any, Any]
BY_FLOAT = pytest.mark.parametrize("t", FLOATS, ids=lambda t: t.short)
WIDE = np.longdouble


def rows_with_nan(t: DType, cols: int) -> Array:
    """Rows of some, of none and of nothing but NaN, one with an infinity, one around a number far from 0."""
    x = np.random.default_rng(cols).standard_normal((5, cols))
    x[1, ::3], x[2], x[3, 5], x[4] = np.nan, np.nan, -np.inf, x[4] + 100
    x[4, 1::2] = np.nan
    return x.astype(t.numpy)


@np.errstate(all="ignore")
def passing_over_nan(op: str, x: Array, correction: float) -> Array:
    """Of each row, in the widest type."""
    wide = x.astype(WIDE)
    there = ~np.isnan(wide)
    count, total = there.sum(1), np.where(there, wide, 0).sum(1)
    if op in ("nanmax", "nanmin"):
        chosen: Any = np.fmax if op == "nanmax" else np.fmin
        return chosen.reduce(wide, axis=1)
    if op == "nansum":
        return total
    mean = total / count
    if op == "nanmean":
        return mean
    squares = (np.where(there, wide - mean[:, None], 0) ** 2).sum(1)
    return np.where(count > correction, squares / (count - correction), np.nan)


@pytest.mark.parametrize("op", NAN_REDUCTIONS)
@BY_FLOAT
def test_what_passes_over_nan(device: Device, op: str, t: DType) -> None:
    """Of whole packs, of columns, of rows shorter than a team; in one launch, and in parts, the last a short one."""
    for x in (rows_with_nan(t, 64), rows_with_nan(t, 43)[:, ::-1], rows_with_nan(t, 24).T.copy().T):
        rows, cols = x.shape
        for root in (False, True) if op == "nanvar" else (False,):
            options = (1.0, root) if op == "nanvar" else ()
            want = passing_over_nan(op, x, 1.0)
            want = np.sqrt(want) if root else want
            given = (2, None if x.flags.c_contiguous else layout(x))
            whole, merged = (np.zeros(rows, t.numpy) for _ in range(2))
            run(device, f"fast_{op}_{t.short}", x.size, cols, *given, *options, x, whole, grid=2, block=(16, 4))
            part, per_row = 16, -(-cols // 16)
            states = np.zeros(rows * per_row * state_bytes(op, t), np.uint8)
            run(device, f"split_{op}_{t.short}", x.size, cols, part, *given, x, states, grid=3, block=(4, 16))
            run(device, f"merge_{op}_{t.short}", rows, cols, per_row, *options, states, merged, grid=2, block=(4, 16))
            for found in (whole, merged):
                assert_near(found, want, t, slack=200, floor=float(op == "nansum"))


SCALES: Final = {"f16": (0, 10, -10), "f64": (0, 1000, -1000)}


@BY_FLOAT
def test_roots_of_squares_of_any_scale(device: Device, t: DType) -> None:
    """Sums of squares over a divisor and deviations, though squares overflow or vanish: in one launch and in parts."""
    exponents = SCALES.get(t.short, (0, 100, -100))
    row = np.random.default_rng(8).standard_normal(43)
    x = np.stack([np.ldexp(row, e) for e in exponents]).astype(t.numpy)
    rows, cols = x.shape
    wide = x.astype(WIDE)
    want = {"squares": np.sqrt((wide**2).sum(1) / 4), "nanvar": wide.std(1, ddof=1)}
    for op, options in (("squares", (4.0, True)), ("nanvar", (1.0, True))):
        whole, merged = (np.zeros(rows, t.numpy) for _ in range(2))
        run(device, f"fast_{op}_{t.short}", x.size, cols, 0, None, *options, x, whole, grid=2, block=(16, 4))
        states = np.zeros(rows * 3 * state_bytes(op, t), np.uint8)
        run(device, f"split_{op}_{t.short}", x.size, cols, 16, 0, None, x, states, grid=3, block=(4, 16))
        run(device, f"merge_{op}_{t.short}", rows, cols, 3, *options, states, merged, grid=2, block=(4, 16))
        for found in (whole, merged):
            assert_near(found, want[op], t, slack=60, floor=0.0)
    plain = np.zeros(1, t.numpy)
    run(device, f"fast_squares_{t.short}", cols, cols, 0, None, 2.0, False, x[:1].copy(), plain, grid=1, block=64)
    assert_near(plain, (wide[:1] ** 2).sum(1) / 2, t, slack=60)


@BY_FLOAT
def test_averages(device: Device, t: DType) -> None:
    """Short floats round once; the weights' strides are their own, and 0 where they are shared."""
    x = np.random.default_rng(2).integers(-8, 9, (6, 40)).astype(t.numpy)[::-1]
    weights = np.random.default_rng(3).integers(1, 5, 40).astype(t.numpy)
    for cols, given in ((40, np.broadcast_to(weights, x.shape)), (1, np.ones((6, 40), t.numpy))):
        rows, out = x.size // cols, np.zeros(x.size // cols, t.numpy)
        run(device, f"average_{t.short}", x.size, cols, 2, layout(x, given), x, given, out, grid=2, block=(16, 4))
        products = (x.astype(WIDE) * given.astype(WIDE)).reshape(rows, cols).sum(1)
        assert_near(out, products / given.astype(WIDE).reshape(rows, cols).sum(1), t, slack=2)
    flat, ones, out = np.ascontiguousarray(x), np.ones((6, 40), t.numpy), np.zeros(6, t.numpy)
    run(device, f"average_{t.short}", x.size, 40, 0, None, flat, ones, out, grid=1, block=(64, 1))
    assert_near(out, flat.astype(WIDE).mean(1), t, slack=2)


@BY_FLOAT
def test_covariances(device: Device, t: DType) -> None:
    """Of the rows of one matrix and the columns of another, and their correlations, whose diagonal is 1."""
    rng = np.random.default_rng(4)
    for n, first, more in ((50, 3, 2), (1, 2, 0), (9, 1, 0), (3, MOST_VARIABLES, 0)):
        x, y = rng.standard_normal((first, n)).astype(t.numpy), rng.standard_normal((n, more)).astype(t.numpy).T
        both = np.concatenate([x, y]).astype(WIDE)
        for correlates in (False, True) if n > 1 else (False,):
            out, count = np.zeros((first + more,) * 2, t.numpy), first + more
            of_y = (y, y.strides[0] // t.itemsize, y.strides[1] // t.itemsize) if more else (None, 0, 0)
            run(device, f"covariance_{t.short}", count, first, n, n, 1, *of_y[1:], float(max(n - 1, 1)), correlates, x,
                of_y[0], out, grid=1, block=256)  # fmt: skip
            apart = both - both.mean(1, keepdims=True)
            want = apart @ apart.T / max(n - 1, 1)
            scale = np.sqrt(np.diag(want))
            want = want / np.outer(scale, scale) if correlates else want
            assert_near(out, want, t, slack=100, floor=1.0)
            assert correlates or (out == out.T).all()
            assert not correlates or (np.abs(out) <= 1).all()


@pytest.mark.parametrize("t", (float32, float64), ids=lambda t: t.short)
def test_counts(device: Device, t: DType) -> None:
    """Of even bins and of given ones, by one block and by several, of more bins than a block counts; an edge belongs to
    the bin above, the last to its own, and what is outside or NaN to none.
    """
    rng = np.random.default_rng(6)
    x = (
        np.append(rng.integers(-40, 41, 395) / 4, [np.nan, np.inf, -np.inf, 8.0, -8.0])
        .astype(t.numpy)
        .reshape(40, 10)
        .T
    )
    given = np.array([-8.0, -0.25, 0.0, 0.0, 3.0, 8.0], t.numpy)
    for edges, bins in ((given, 5), (None, 32), (None, 2 * MOST_BINS)):
        even = np.linspace(-8.0, 8.0, bins + 1).astype(t.numpy)
        want = np.histogram(x[np.isfinite(x)], even if edges is None else edges)[0]
        for grid in (1, 3):
            counts, places = np.zeros(bins, np.uint64), np.zeros(bins + 1, t.numpy)
            run(device, f"histogram_{t.short}", x.size, 2, layout(x), bins, -8.0, 16.0 / bins, 8.0, edges, x,
                places if edges is None else None, counts, grid=grid, block=64)  # fmt: skip
            np.testing.assert_array_equal(counts, want)
            if edges is None:
                np.testing.assert_array_equal(places, even)


FEW_BINS: Final = 3


@pytest.mark.parametrize("t", (float32, float64), ids=lambda t: t.short)
def test_one_block_needs_no_zeros(device: Device, t: DType) -> None:
    """It writes the counts of few bins, whatever was there."""
    counts, x = np.full(FEW_BINS, 9, np.uint64), np.array([0.0, 0.5, 3.0], t.numpy)
    run(device, f"histogram_{t.short}", 3, 0, None, FEW_BINS, 0.0, 1.0, 3.0, None, x, None, counts, grid=1, block=64)
    assert counts.tolist() == [2, 0, 1]
