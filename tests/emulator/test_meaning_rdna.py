"""What only RDNA has: halves of registers, dual instructions, signs of dot products, pseudo-scalar floats, modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.emulator.cases import active, floats, halves, integers, masks, seeds
from tests.emulator.instructions import bench

Array = NDArray[Any]


@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_short_encodings_name_halves_by_a_bit(seed: int, mask: int) -> None:
    """v_add_f16 of gfx11 on every choice of halves; the other half of the destination stays."""
    choices = [(d, a, b) for d in (0, 1) for a in (0, 1) for b in (0, 1)]
    half = ".l", ".h"
    texts = {f"k{d}{a}{b}": f"v_add_f16_e32 v10{half[d]}, v2{half[a]}, v4{half[b]}" for d, a, b in choices}
    on = bench("gfx1100", texts)
    rng = np.random.default_rng(seed)
    x, y, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    for d, a, b in choices:
        with np.errstate(all="ignore"):
            total = halves(x, a).view(np.float16) + halves(y, b).view(np.float16)
        got = on.run(f"k{d}{a}{b}", {2: x, 4: y, 10: old}, exec_mask=mask).vector(10)
        lanes = active(mask, on.lanes)
        np.testing.assert_array_equal(halves(got, d).view(np.float16)[lanes], total[lanes])
        np.testing.assert_array_equal(halves(got, 1 - d), halves(old, 1 - d))
        np.testing.assert_array_equal(got[~lanes], old[~lanes])


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_dual_instructions_read_before_either_writes(target: str, seed: int, mask: int) -> None:
    """A swap by two moves; two sums of which one reads what the other writes."""
    on = bench(target, {
        "swap": "v_dual_mov_b32 v10, v11 :: v_dual_mov_b32 v11, v10",
        "sums": "v_dual_add_f32 v10, v3, v5 :: v_dual_mul_f32 v11, v10, v4",
        "literal": "v_dual_fmaak_f32 v10, v2, v5, 0x40490fdb :: v_dual_mov_b32 v11, 0x40490fdb",
    })  # fmt: skip
    rng = np.random.default_rng(seed)
    a, b = (integers(rng, "u32", on.lanes) for _ in range(2))
    lanes = active(mask, on.lanes)
    swapped = on.run("swap", {10: a, 11: b}, exec_mask=mask)
    np.testing.assert_array_equal(swapped.vector(10), np.where(lanes, b, a))
    np.testing.assert_array_equal(swapped.vector(11), np.where(lanes, a, b))
    x, y, z, old = (floats(rng, "f32", on.lanes) for _ in range(4))
    sums = on.run("sums", {3: x, 5: y, 4: z, 10: old, 11: z}, exec_mask=mask)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sums.vector(10, np.float32), np.where(lanes, x + y, old))
        np.testing.assert_array_equal(sums.vector(11, np.float32), np.where(lanes, old * z, z))
    ones = np.ones(on.lanes, np.float32)
    literal = on.run("literal", {2: ones, 5: ones * 0, 10: old, 11: old}, exec_mask=-1)
    assert (literal.vector(10) == 0x40490FDB).all() and (literal.vector(11) == 0x40490FDB).all()


def bytes_of(words: Array, signed: bool) -> Array:
    return words.view(np.int8 if signed else np.uint8).reshape(-1, 4).astype(np.int64)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks, signs=st.tuples(st.booleans(), st.booleans()), clamps=st.booleans())
def test_dot_product_with_a_sign_per_source(
    target: str, seed: int, mask: int, signs: tuple[bool, bool], clamps: bool
) -> None:
    """neg_lo says which source is signed; the sum wraps, or saturates with clamp."""
    tail = f" neg_lo:[{int(signs[0])},{int(signs[1])},0]{' clamp' if clamps else ''}"
    on = bench(target, {"k": f"v_dot4_i32_iu8 v10, v2, v4, v6{tail}"})
    rng = np.random.default_rng(seed)
    a, b, c, old = (integers(rng, "u32", on.lanes) for _ in range(4))
    exact = (bytes_of(a, signs[0]) * bytes_of(b, signs[1])).sum(1) + c.view(np.int32)
    if clamps:
        exact = exact.clip(-(1 << 31), (1 << 31) - 1)
    wanted = np.where(active(mask, on.lanes), exact.astype(np.uint64).astype(np.uint32), old)
    np.testing.assert_array_equal(on.run("k", {2: a, 4: b, 6: c, 10: old}, exec_mask=mask).vector(10), wanted)


DOTS = {"v_dot4_i32_i8": True, "v_dot4_u32_u8": False}


@pytest.mark.parametrize(("target", "name"), [("gfx90a", n) for n in DOTS] + [("gfx1030", n) for n in DOTS])
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_dot_product_of_bytes(target: str, name: str, seed: int, mask: int) -> None:
    """Four products and the third source, modulo 2³²."""
    on = bench(target, {"k": f"{name} v10, v2, v4, v6"})
    rng = np.random.default_rng(seed)
    a, b, c, old = (integers(rng, "u32", on.lanes) for _ in range(4))
    exact = (bytes_of(a, DOTS[name]) * bytes_of(b, DOTS[name])).sum(1) + c
    wanted = np.where(active(mask, on.lanes), exact.astype(np.uint64).astype(np.uint32), old)
    np.testing.assert_array_equal(on.run("k", {2: a, 4: b, 6: c, 10: old}, exec_mask=mask).vector(10), wanted)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030", "gfx1100"])
@settings(max_examples=8, deadline=None)
@given(seed=seeds)
def test_dot_product_of_halves_in_single_precision(target: str, seed: int) -> None:
    """v_dot2_f32_f16 on small integers is exact; op_sel and neg choose and negate halves."""
    on = bench(target, {
        "plain": "v_dot2_f32_f16 v10, v2, v4, v6",
        "chosen": "v_dot2_f32_f16 v10, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[1,0,0]",
    })  # fmt: skip
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-32, 33, (on.lanes, 2)).astype(np.float16) for _ in range(2))
    c = rng.integers(-999, 999, on.lanes).astype(np.float32)
    inputs = {2: a.view(np.uint32)[:, 0], 4: b.view(np.uint32)[:, 0], 6: c}
    x, y = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(on.run("plain", inputs).vector(10, np.float32), (x * y).sum(1) + c)
    chosen = -x[:, 1] * y[:, 0] + x[:, 0] * y[:, 1] + c
    np.testing.assert_array_equal(on.run("chosen", inputs).vector(10, np.float32), chosen)


@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f16", np.float16)])
def test_pseudo_scalar_transcendentals_of_gfx12(kind: str, dtype: type[np.floating[Any]]) -> None:
    """Exact cases of v_s_rcp, v_s_sqrt, v_s_exp, v_s_log and v_s_rsq, with a sign modifier."""
    texts = {n: f"v_s_{n}_{kind} s40, s24" for n in ("rcp", "sqrt", "exp", "log", "rsq")} | {
        "neg": f"v_s_rcp_{kind} s40, -s24"
    }
    on = bench("gfx1201", texts)
    four = dtype(4)
    wanted = {"rcp": 0.25, "sqrt": 2.0, "exp": 16.0, "log": 2.0, "rsq": 0.5, "neg": -0.25}
    for name, value in wanted.items():
        bits = on.run(name, {}, scalars=(int(four.view(f"u{four.itemsize}")),)).scalar("s40")
        assert np.array([bits], np.uint32).view(dtype)[0] == value, name


@settings(max_examples=5)
@given(seed=seeds)
def test_scalar_pairs_are_rounded_towards_zero(seed: int) -> None:
    """s_cvt_pk_rtz_f16_f32 gives each half the nearest f16 that is not larger in size."""
    on, rng = bench("gfx1201", {"k": "s_cvt_pk_rtz_f16_f32 s40, s24, s26"}), np.random.default_rng(seed)
    pair = (rng.standard_normal(2) * 100).astype(np.float32)
    bits = [int(v) for v in pair.view(np.uint32)]
    found = np.array([on.run("k", {}, scalars=(bits[0], 0, bits[1])).scalar("s40")], np.uint32).view(np.float16)
    near = pair.astype(np.float16)
    wanted = np.where(np.abs(near.astype(np.float32)) > np.abs(pair), np.nextafter(near, np.float16(0)), near)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks, index=st.integers(0, 3))
def test_moves_with_a_register_index_in_m0(target: str, seed: int, mask: int, index: int) -> None:
    """M0 is added to the source's or to the destination's number."""
    on = bench(target, {
        "source": "s_mov_b32 m0, s24\n v_movrels_b32 v10, v2",
        "destination": "s_mov_b32 m0, s24\n v_movreld_b32 v10, v2",
    })  # fmt: skip
    rng = np.random.default_rng(seed)
    words = {r: integers(rng, "u32", on.lanes) for r in (2, 3, 4, 5, 10, 11, 12, 13)}
    lanes = active(mask, on.lanes)
    got = on.run("source", words, exec_mask=mask, scalars=(index,))
    np.testing.assert_array_equal(got.vector(10), np.where(lanes, words[2 + index], words[10]))
    got = on.run("destination", words, exec_mask=mask, scalars=(index,))
    for i in range(4):
        wanted = np.where(lanes & (i == index), words[2], words[10 + i])
        np.testing.assert_array_equal(got.vector(10 + i), wanted)
