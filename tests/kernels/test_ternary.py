"""where: t where the condition is not zero, f elsewhere, bit for bit; clip: values between two bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rocmkern.dtypes import BY_SHORT, REAL, DType
from rocmkern.kernels.catalogue import NUMBERS
from rocmkern.kernels.families.ternary import CONDITIONS, FAMILY
from rocmkern.runtime import Device
from tests.kernels.candle import symbols
from tests.kernels.launching import bits, layout, run, same_bits, small_numbers


@pytest.mark.parametrize("short", [d.short for d in REAL])
@pytest.mark.parametrize("i", [c.short for c in CONDITIONS])
def test_where_selects_bit_for_bit(device: Device, i: str, short: str) -> None:
    """NaN payloads and signed zeros pass unchanged; any non-zero condition is true; the odd end is right."""
    rng = np.random.default_rng(1)
    dtype, n = BY_SHORT[short], 1031
    condition = rng.integers(-1 if BY_SHORT[i].kind == "signed" else 0, 2, n).astype(BY_SHORT[i].numpy)
    t, f, out = bits(rng, dtype, n), bits(rng, dtype, n), np.zeros(n, dtype.numpy)
    run(device, f"where_{i}_{short}", n, 1, None, condition, t, f, out, grid=2)
    assert out.tobytes() == np.where(condition != 0, t, f).tobytes()


def test_where_takes_any_strides(device: Device) -> None:
    """Masks along either axis, transposed conditions and values, a scalar: what Candle's own tests have."""
    rng = np.random.default_rng(2)
    f32, shape = BY_SHORT["f32"], (5, 7)
    mask, column = rng.integers(0, 2, 7).astype(np.uint8), rng.integers(0, 2, 5).astype(np.uint8)
    square = rng.integers(0, 2, 35).astype(np.uint8).reshape(7, 5)
    t, across, one = (
        bits(rng, f32, shape),
        bits(rng, f32, (7, 5)).T,
        np.broadcast_to(np.array([3.5], np.float32), shape),
    )
    for condition in (np.broadcast_to(mask, shape), np.broadcast_to(column[:, None], shape), square.T):
        for f in (across, one):
            out = np.zeros(shape, np.float32)
            views = (condition, t, f)
            run(device, "where_u8_f32", 35, 2, layout(*views), *views, out, grid=1)
            assert same_bits(out, np.where(condition != 0, t, f))


def test_no_grid_leaves_elements_out(device: Device) -> None:
    """A grid smaller than the work loops over it; a larger one idles."""
    rng = np.random.default_rng(3)
    condition, t, f = (bits(rng, BY_SHORT[s], 3000) for s in ("bool", "u8", "u8"))
    for grid, block in ((1, 64), (1, 1024), (500, 64)):
        out = np.zeros(3000, np.uint8)
        run(device, "where_bool_u8", 3000, 1, None, condition, t, f, out, grid=grid, block=block)
        assert (out == np.where(condition, t, f)).all()


def test_candle_symbols_are_there() -> None:
    """Every where of Candle's, whatever its condition."""
    assert symbols("ternary") <= set(FAMILY.by_symbol)


@pytest.mark.parametrize("t", NUMBERS, ids=lambda t: t.short)
def test_clip_between_bounds_of_any_strides(device: Device, t: DType) -> None:
    """As NumPy's minimum of maximum: NaN where one is NaN, the upper bound where the lower is above it."""
    rng = np.random.default_rng(4)
    x, line = small_numbers(rng, t, (5, 7)), small_numbers(rng, t, 7)
    high = small_numbers(rng, t, (7, 5)).T
    for low in (np.broadcast_to(line, (5, 7)), np.broadcast_to(line[:1], (5, 7))):
        out = np.zeros((5, 7), t.numpy)
        run(device, f"clip_{t.short}", 35, 2, layout(x, low, high), x, low, high, out, grid=1)
        with np.errstate(invalid="ignore"):
            expected = np.minimum(np.maximum(x, low), high)
        assert not unequal_values(out, expected)


def unequal_values(left: Any, right: Any) -> bool:
    """A zero of either sign is zero."""
    return bool(((left != right) & ~((left != left) & (right != right))).any())
