"""What graphics have left behind, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.emulator.cases import TARGETS, active, floats, integers, masks, seeds
from tests.emulator.instructions import bench

Array = NDArray[Any]


def chosen(x: Array, y: Array, z: Array, by_axis: tuple[Array, Array, Array]) -> Array:
    """Of z, y, x, as given, what belongs to the coordinate of the largest magnitude; the first of equal ones."""
    which = np.argmax(np.abs(np.stack((z, y, x))), 0)
    return np.choose(which, by_axis).astype(np.float32)


def turned(v: Array, negative: Any, other: Any) -> Array:
    return np.where(v < 0, negative, other)


CUBE: dict[str, Callable[[Array, Array, Array], Array]] = {
    "v_cubeid_f32": lambda x, y, z: chosen(x, y, z, (turned(z, 5, 4), turned(y, 3, 2), turned(x, 1, 0))),
    "v_cubesc_f32": lambda x, y, z: chosen(x, y, z, (turned(z, -x, x), x, turned(x, z, -z))),
    "v_cubetc_f32": lambda x, y, z: chosen(x, y, z, (-y, turned(y, -z, z), -y)),
    "v_cubema_f32": lambda x, y, z: chosen(x, y, z, (2 * z, 2 * y, 2 * x)),
}


def coordinates(rng: np.random.Generator, lanes: int) -> list[Array]:
    """No NaN; many of equal magnitude."""
    found = [np.nan_to_num(floats(rng, "f32", lanes), nan=1.5, posinf=np.inf, neginf=-np.inf) for _ in range(3)]
    few = [rng.choice(np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0], np.float32), lanes) for _ in range(3)]
    return [np.where(np.arange(lanes) % 2, a, b) for a, b in zip(found, few, strict=True)]


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=3, deadline=None)
@given(seed=seeds, mask=masks)
def test_faces_of_a_cube(target: str, seed: int, mask: int) -> None:
    """The face that a vector points to, the coordinates there, twice the coordinate along its axis."""
    on, rng = bench(target, {n: f"{n} v10, v2, v4, v6" for n in CUBE}), np.random.default_rng(seed)
    x, y, z = coordinates(rng, on.lanes)
    old = integers(rng, "u32", on.lanes)
    for name, define in CUBE.items():
        with np.errstate(over="ignore"):
            wanted = np.where(active(mask, on.lanes), define(x, y, z).view(np.uint32), old)
        outcome = on.run(name, {2: x, 4: y, 6: z, 10: old}, exec_mask=mask)
        np.testing.assert_array_equal(outcome.vector(10), wanted, name)


@pytest.mark.parametrize("target", ["gfx90a", "gfx950"])
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_bytes_put_beside_each_other(target: str, seed: int, mask: int) -> None:
    """Rounded to nearest even, saturated, into the byte that the second source names; a NaN is 0."""
    on, rng = bench(target, {"k": "v_cvt_pkaccum_u8_f32 v10, v2, v4"}), np.random.default_rng(seed)
    x = np.where(rng.random(on.lanes) < 0.7, rng.integers(-8, 520, on.lanes) / 2, floats(rng, "f32", on.lanes))
    x = x.astype(np.float32)
    place, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    byte = np.nan_to_num(np.clip(np.rint(x), 0, 255)).astype(np.uint32)
    shift = place % 4 * 8
    wanted = np.where(active(mask, on.lanes), old & ~(np.uint32(0xFF) << shift) | byte << shift, old)
    outcome = on.run("k", {2: x, 4: place, 10: old}, exec_mask=mask)
    np.testing.assert_array_equal(outcome.vector(10), wanted)


@pytest.mark.parametrize("target", ["gfx90a", "gfx950"])
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_products_of_old(target: str, seed: int, mask: int) -> None:
    """f32: zero wins, and two roundings; f16: two, or one fused, with the other half cleared."""
    texts = {n: f"{n} v10, v2, v4, v6" for n in ("v_mad_legacy_f16", "v_fma_legacy_f16")}
    if target == "gfx90a":
        texts["v_mad_legacy_f32"] = "v_mad_legacy_f32 v10, v2, v4, v6"
    on, rng, lanes = bench(target, texts), np.random.default_rng(seed), 64
    old = integers(rng, "u32", lanes)
    for name in texts:
        kind = name[-3:]
        a, b, d = (floats(rng, kind, lanes) for _ in range(3))
        with np.errstate(all="ignore"):
            if name == "v_fma_legacy_f16":  # exact in f64, but for what f16 does not see
                wanted = (a.astype(np.float64) * b.astype(np.float64) + d.astype(np.float64)).astype(np.float16)
            else:
                product = np.where((a == 0) | (b == 0), 0, a * b) if kind == "f32" else a * b
                wanted = (product + d).astype(a.dtype)
        got = on.run(name, {2: a, 4: b, 6: d, 10: old}, exec_mask=mask).vector(10)
        on_lanes = active(mask, lanes)
        bits = np.where(np.isnan(wanted), 0, wanted.view(f"u{a.itemsize}")).astype(np.uint32)
        found = np.where(np.isnan(wanted) & np.isnan(got.astype(f"u{a.itemsize}").view(a.dtype)), 0, got)
        np.testing.assert_array_equal(found[on_lanes], bits[on_lanes], name)
        np.testing.assert_array_equal(got[~on_lanes], old[~on_lanes])
