"""Swaps, moves between wave halves, wide sums of differences, and conversions to integers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.emulator.cases import active, floats, integers, masks, seeds
from tests.emulator.instructions import bench, knows

BOTH = pytest.mark.parametrize("target", ["gfx90a", "gfx1201"])
TO_INTEGER = {
    "v_cvt_rpi_i32_f32": lambda x: np.floor(x + np.float32(0.5)), "v_cvt_flr_i32_f32": np.floor,
    "v_cvt_nearest_i32_f32": lambda x: np.floor(x + np.float32(0.5)), "v_cvt_floor_i32_f32": np.floor,
}  # fmt: skip


@BOTH
@settings(max_examples=3, deadline=None)
@given(seed=seeds, mask=masks)
def test_registers_change_places_and_sums_of_differences_fill_four(target: str, seed: int, mask: int) -> None:
    """Where lanes are on; a byte whose reference is 0 does not count; in a wave of 32 lanes v_permlane64 is a move."""
    texts = {"swap": "v_swap_b32 v10, v11", "sums": "v_mqsad_u32_u8 v[10:13], v[2:3], v4, v[6:9]"}
    if knows(target, "v_permlane64_b32"):
        texts["move"] = "v_permlane64_b32 v10, v2"
    on, rng = bench(target, texts), np.random.default_rng(seed)
    words = {r: integers(rng, "u32", on.lanes) for r in (2, 3, 4, *range(6, 14))}
    words[4] &= np.where(rng.random(on.lanes) < 0.5, np.uint32(0xFF00FF), np.uint32(0xFFFFFFFF))
    lanes = active(mask, on.lanes)
    outcome = on.run("swap", words, exec_mask=mask)
    for own, other in ((10, 11), (11, 10)):
        np.testing.assert_array_equal(outcome.vector(own), np.where(lanes, words[other], words[own]))
    data = np.stack([words[2 + i // 4] >> np.uint32(8 * (i % 4)) & 0xFF for i in range(7)]).astype(np.int64)
    reference = np.stack([words[4] >> np.uint32(8 * i) & 0xFF for i in range(4)]).astype(np.int64)
    outcome = on.run("sums", words, exec_mask=mask)
    for place in range(4):
        total = (np.abs(data[place : place + 4] - reference) * (reference != 0)).sum(0) + words[6 + place]
        wanted = np.where(lanes, total.astype(np.uint32), words[10 + place])
        np.testing.assert_array_equal(outcome.vector(10 + place), wanted)
    if "move" in texts:
        outcome = on.run("move", words, exec_mask=mask)
        np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, words[2], words[10]))


@BOTH
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_floats_become_integers(target: str, seed: int, mask: int) -> None:
    """Saturated, a NaN is 0; the low four bits as sixteenths; a byte into one of the third source's."""
    texts = {n: f"{n} v10, v2" for n in TO_INTEGER if knows(target, n)}
    assert len(texts) == 2
    texts |= {"off": "v_cvt_off_f32_i4 v10, v4", "byte": "v_cvt_pk_u8_f32 v10, v2, v4, v6"}
    on, rng = bench(target, texts), np.random.default_rng(seed)
    x = np.where(rng.random(on.lanes) < 0.5, rng.integers(-9, 600, on.lanes) / 2, floats(rng, "f32", on.lanes))
    x = x.astype(np.float32)
    place, third, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    with np.errstate(all="ignore"):
        wanted = {
            n: np.nan_to_num(np.clip(define(x).astype(np.float64), -(2.0**31), 2.0**31 - 1)).astype(np.int32)
            for n, define in TO_INTEGER.items()
        }
        byte = np.nan_to_num(np.clip(np.rint(x), 0, 255)).astype(np.uint32)
    nibble = (place & 15).astype(np.int32)
    wanted["off"] = ((nibble - 16 * (nibble > 7)) / 16).astype(np.float32)
    shift = place % 4 * 8
    wanted["byte"] = third & ~(np.uint32(0xFF) << shift) | byte << shift
    for name in texts:
        got = on.run(name, {2: x, 4: place, 6: third, 10: old}, exec_mask=mask).vector(10)
        expected = np.where(active(mask, on.lanes), wanted[name].view(np.uint32), old)
        np.testing.assert_array_equal(got, expected, name)


@pytest.mark.parametrize("target", ["gfx90a", "gfx950"])
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_accumulators_take_and_give_back(target: str, seed: int, mask: int) -> None:
    """Registers, scalars and constants, in lanes that are on; the others keep what was there."""
    sources = {"register": "v2", "scalar": "s24", "number": "1.0", "negative": "-16"}
    give_back = "s_mov_b64 exec, -1\n s_nop 7\n v_accvgpr_read_b32 v10, {}\n s_mov_b64 exec, s[36:37]"
    fill = "s_mov_b64 s[36:37], exec\n s_mov_b64 exec, -1\n v_accvgpr_write_b32 a3, v4\n v_accvgpr_write_b32 a5, v6"
    restored = "s_mov_b64 exec, s[36:37]\n s_nop 7"
    texts = {
        name: f"{fill}\n {restored}\n v_accvgpr_write_b32 a3, {source}\n {give_back.format('a3')}"
        for name, source in sources.items()
    }
    texts["moved"] = f"{fill}\n {restored}\n v_accvgpr_mov_b32 a5, a3\n {give_back.format('a5')}"
    texts["read"] = f"{fill}\n {restored}\n v_accvgpr_read_b32 v10, a3"
    on, rng = bench(target, texts), np.random.default_rng(seed)
    words = {r: integers(rng, "u32", on.lanes) for r in (2, 4, 6, 10)}
    scalar = int(integers(rng, "u32", 1)[0])
    new = {
        "register": words[2], "scalar": np.uint32(scalar), "number": np.uint32(0x3F800000),
        "negative": np.uint32(0xFFFFFFF0), "moved": words[4], "read": words[4],
    }  # fmt: skip
    for name, value in new.items():
        kept = {"moved": words[6], "read": words[10]}.get(name, words[4])
        outcome = on.run(name, words, exec_mask=mask, scalars=(scalar,))
        np.testing.assert_array_equal(outcome.vector(10), np.where(active(mask, on.lanes), value, kept), name)
