"""What the reductions should give, computed by NumPy in the widest type at hand, and how near a result has to be."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rocmkern.dtypes import DType
from rocmkern.kernels.families.reduce import output
from rocmkern.verifying.case import spacing as ulp

Array = npt.NDArray[Any]
EXACT: Final = ("min", "max", "argmin", "argmax", "any", "all")


def wide(x: Array, t: DType) -> Array:
    """`x` in a type that its dtype's arithmetic can be checked in."""
    return x.astype(np.longdouble) if t.is_float else x


def epsilon(t: DType) -> float:
    """Half the spacing at 1 of the type that `t` accumulates in."""
    return 2.0**-53 if t.short == "f64" else 2.0**-24


@np.errstate(all="ignore")
def expected(op: str, rows: Array, t: DType) -> Array:
    """The reduction of each row of a 2-d array: wide values for the rounded operations, else of the result's dtype."""
    if op in ("any", "all"):
        return getattr(np, op)(rows.astype(np.float64) != 0, axis=1)
    if op in ("argmin", "argmax"):
        return getattr(np, op)(wide(rows, t), axis=1).astype(np.uint32)
    if op in ("min", "max"):
        return getattr(np, op)(wide(rows, t), axis=1).astype(output(op, t).numpy)
    if not t.is_float:
        return getattr(np, op)(rows.astype(np.int64), axis=1).astype(t.numpy)
    values = wide(rows, t)
    if op == "logsumexp":
        largest = values.max(axis=1, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0)
        return (np.log(np.exp(values - shift).sum(axis=1, keepdims=True)) + shift)[:, 0]
    return getattr(np, op)(values, axis=1)


@np.errstate(all="ignore")
def assert_reduced(op: str, rows: Array, t: DType, came: Array) -> None:
    """Asserts equality where the operation is exact, else the error bound of a sum of that length."""
    want = expected(op, rows, t)
    if op in EXACT or not t.is_float:
        np.testing.assert_array_equal(came.astype(np.float64), want.astype(np.float64), f"{op} of {t}")
        if t.itemsize == 8:
            np.testing.assert_array_equal(came, want)
        return
    values, got = np.abs(wide(rows, t)), came.astype(np.longdouble)
    cols = rows.shape[1]
    scale = {
        "sum": values.sum(axis=1),
        "mean": values.sum(axis=1) / max(cols, 1),
        "prod": np.abs(want) * cols,
        "logsumexp": np.abs(want) + 4,
    }[op]
    rounded = want.astype(t.numpy).astype(np.longdouble)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~finite], rounded[~finite], f"{op} of {t}")
    error = np.abs(got - want)[finite]
    bound = (ulp(want, t) / 2 + scale * epsilon(t) * (8 + np.log2(cols + 1)))[finite]
    assert (error <= bound).all(), f"{op} of {t}, {rows.shape}: {error.max()} of {bound.max()}, {got} for {want}"
