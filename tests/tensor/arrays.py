"""What the tensor tests draw and compare: arrays of every dtype in every layout, equality to the last place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rocmkern as rk
from rocmkern.dtypes import REAL, DType, part_of
from rocmkern.errors import DriverUnavailable, TargetNotBuilt

Array = np.ndarray[Any, Any]

FLOATS = tuple(d for d in REAL if d.is_float)
INTEGERS = tuple(d for d in REAL if d.is_integer)
NUMBERS = (*INTEGERS, *FLOATS)
WIDE = tuple(d for d in REAL if d.short not in ("f8_e4m3", "f16", "bf16"))
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
FULL_SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float("inf"), float("-inf"), float("nan"), 1e-3, -7.0, 300.0, -65504.0)


def values(dtype: DType, *, finite: bool = False, low: float | None = None, high: float | None = None) -> Any:
    """Elements of a dtype: its whole range, or a part of it."""
    if dtype.kind == "bool":
        return st.booleans()
    if dtype.is_complex:
        part = values(part_of(dtype), finite=finite, low=low, high=high)
        return st.builds(complex, part, part)
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        return st.integers(
            int(info.min if low is None else max(low, info.min)), int(info.max if high is None else high)
        )
    width = {8: 64, 4: 32}.get(dtype.itemsize, 16)
    reals = st.floats(low, high, width=width, allow_nan=low is None and high is None and not finite,
                      allow_infinity=low is None and high is None and not finite)  # fmt: skip
    return reals if finite or low is not None else st.one_of(st.sampled_from(_SPECIAL), reals)


@st.composite
def arrays(draw: st.DrawFn, dtype: DType, shapes: Any = SHAPES, **limits: Any) -> Array:
    """A contiguous array of a dtype."""
    shape = draw(shapes) if isinstance(shapes, st.SearchStrategy) else shapes
    size = int(np.prod(shape))
    elements = draw(st.lists(values(dtype, **limits), min_size=size, max_size=size))
    with np.errstate(over="ignore"):
        return np.array(elements, np.float64 if dtype.is_float else dtype.numpy).astype(dtype.numpy).reshape(shape)


def elsewhere() -> rk.Device:
    """A device that is not the default one."""
    return opened("emulator:gfx90a" if rk.Device().name == "emulator:gfx1100" else "emulator:gfx1100")


def opened(name: str) -> rk.Device:
    """A device that a test needs beside the default one. It is skipped where that has no kernels or can't be opened."""
    try:
        device = rk.Device(name)
        rk.zeros((1,), device=device) + 1
    except (DriverUnavailable, TargetNotBuilt) as error:
        pytest.skip(f"{name} is needed too: {error}")
    return device


def both(x: Array) -> tuple[rk.Tensor, Array]:
    """A tensor and the array that it must equal."""
    return rk.asarray(x), x


@st.composite
def laid_out(draw: st.DrawFn, dtype: DType, shapes: Any = SHAPES, **limits: Any) -> tuple[rk.Tensor, Array]:
    """A tensor in some layout, a view or not, and the array that it must equal."""
    x = draw(arrays(dtype, shapes, **limits))
    return draw(relaid(x))


@st.composite
def relaid(draw: st.DrawFn, x: Array) -> tuple[rk.Tensor, Array]:
    """The array as it is, transposed in memory, reversed, or every other element of a larger one."""
    kind = draw(st.sampled_from(["plain", "transposed", "reversed", "strided", "offset"]))
    if kind == "transposed":
        return rk.asarray(x.T.copy()).permute(*reversed(range(x.ndim))), x
    if kind == "reversed" and x.ndim:
        return rk.flip(rk.asarray(np.ascontiguousarray(x[::-1])), axis=0), x
    if kind == "strided" and x.ndim:
        return rk.asarray(np.repeat(x, 2, axis=-1))[..., ::2], x
    if kind == "offset" and x.ndim:
        return rk.asarray(np.concatenate([x[:1], x]) if x.shape[0] else x)[min(x.shape[0], 1) :], x
    return rk.asarray(x), x


def assert_same(got: rk.Tensor, expected: Any, dtype: DType | None = None, *, ulp: int = 0) -> None:
    """Same shape, the dtype, and each element within `ulp` units in the last place; NaN equals NaN."""
    want = np.asarray(expected)
    wanted = rk.dtype(want.dtype) if dtype is None else dtype
    assert got.dtype is wanted, f"{got.dtype} instead of {wanted}"
    assert got.shape == want.shape, f"shape {got.shape} instead of {want.shape}"
    have = got.numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        want = want.astype(wanted.numpy)
    if not wanted.is_float:
        np.testing.assert_array_equal(have, want)
        return
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(have.astype(np.float64)), nan)
    distance = np.abs(ordinal(have) - ordinal(want))[~nan]
    assert distance.max(initial=0) <= ulp, f"{distance.max()} units in the last place:\n{have}\ninstead of\n{want}"


def ordinal(x: Array) -> Array:
    """Floats as integers of the same order, one apart for neighbours; both zeros are 0."""
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").astype(object)
    sign = 1 << (8 * x.dtype.itemsize - 1)
    return np.where(bits < 0, -(bits + sign), bits)


def ulp_of(dtype: DType) -> int:
    """The bound that the project keeps for elementwise functions."""
    return {"f32": 2, "f64": 4}.get(dtype.short, 1)


def exactly(x: Array) -> Array:
    """The values in a wider type for reference results."""
    if x.dtype == np.float64:
        return x.astype(np.longdouble)
    return x.astype(np.float64) if rk.dtype(x.dtype).is_float else x
