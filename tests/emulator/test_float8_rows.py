"""Conversions to eight-bit floats are ml_dtypes' to nearest, and its neighbours' when rounded at random."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

from tests.emulator.cases import seeds
from tests.emulator.instructions import bench

FORMATS = {
    ("gfx942", "fp8"): ml_dtypes.float8_e4m3fnuz, ("gfx942", "bf8"): ml_dtypes.float8_e5m2fnuz,
    ("gfx950", "fp8"): ml_dtypes.float8_e4m3fn, ("gfx950", "bf8"): ml_dtypes.float8_e5m2,
    ("gfx1201", "fp8"): ml_dtypes.float8_e4m3fn, ("gfx1201", "bf8"): ml_dtypes.float8_e5m2,
}  # fmt: skip
EACH = pytest.mark.parametrize(("target", "name"), FORMATS, ids=lambda v: str(v))


def numbers(rng: np.random.Generator, lanes: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Around the formats' ranges, halfway between their numbers too, with infinities, NaN and zeros."""
    value = rng.standard_normal(lanes) * np.exp2(rng.integers(-20, 18, lanes))
    short = (value.astype(np.float32).view(np.uint32) & np.uint32(0xFFF80000)).view(np.float32)
    special = rng.choice(
        np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 448, 464, 465, 240, 57344, 61440], np.float32), lanes
    )
    return np.choose(rng.integers(0, 4, lanes), [value, value, short, special]).astype(np.float32)


@EACH
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_narrowed_to_nearest(target: str, name: str, seed: int) -> None:
    """Into the half that op_sel selects; the other half stays. MODE's bit 23 holds what is too large."""
    text = f"v_cvt_pk_{name}_f32 v10, v2, v4"
    held = f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n {text}"
    on = bench(target, {"low": text, "high": f"{text} op_sel:[0,0,1]", "held": held})
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, on.lanes), numbers(rng, on.lanes)
    old = rng.integers(0, 2**32, on.lanes, np.uint32)
    with np.errstate(all="ignore"):
        codes = [v.astype(FORMATS[target, name]) for v in (a, b)]
    for half in ("low", "high", "held"):
        got = on.run(half, {2: a, 4: b, 10: old}).vector(10)
        new, kept = (got >> 16, got & 0xFFFF) if half == "high" else (got & 0xFFFF, got >> 16)
        np.testing.assert_array_equal(kept, old & 0xFFFF if half == "high" else old >> 16)
        for i, (value, wanted) in enumerate(zip((a, b), codes, strict=True)):
            if half == "held":
                over = np.isfinite(value) & ~np.isfinite(wanted.astype(np.float32))
                largest = ml_dtypes.finfo(wanted.dtype).max
                wanted = np.where(over, np.where(value < 0, -largest, largest), wanted).astype(wanted.dtype)
            found = (new >> 8 * i & 0xFF).astype(np.uint8).view(FORMATS[target, name])
            np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


@EACH
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_narrowed_at_random(target: str, name: str, seed: int) -> None:
    """A number of the format stays; of others the neighbour below with 0, mostly the one above with all bits set."""
    on = bench(target, {"sr": f"v_cvt_sr_{name}_f32 v10, v2, v4"})
    kind, rng = FORMATS[target, name], np.random.default_rng(seed)
    codes = rng.integers(1, 0x7B, on.lanes).astype(np.uint8)
    exact = codes.view(kind).astype(np.float32)
    between = (exact + 0.75 * ((codes + 1).astype(np.uint8).view(kind).astype(np.float32) - exact)).astype(np.float32)
    ones, old = np.full(on.lanes, 0xFFFFFFFF, np.uint32), np.full(on.lanes, 0x12345678, np.uint32)
    for values, random, wanted in ((exact, ones, codes), (between, 0 * ones, codes), (between, ones, codes + 1)):
        got = on.run("sr", {2: values, 4: random, 10: old}).vector(10)
        np.testing.assert_array_equal(got, 0x12345600 | wanted.astype(np.uint32))
