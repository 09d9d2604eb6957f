"""LDS instructions and movement between lanes against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.emulator.cases import TARGETS, active, floats, integers, masks, seeds
from tests.emulator.instructions import Dialect, bench, knows

Array = NDArray[Any]
SHORT = ("gfx1100", "gfx1201")


def named(target: str, old: str, new: str) -> str:
    return new if target in SHORT else old


def waiting(target: str, *lines: str) -> str:
    wait = Dialect(target).wait
    return "\n ".join(part for line in lines for part in (line, wait))


def store(target: str, address: str, data: str, bits: int = 32) -> str:
    return f"{named(target, 'ds_write_b', 'ds_store_b')}{bits} {address}, {data}"


ATOMICS: dict[tuple[str, str], Callable[[int, int], int]] = {
    ("ds_add_rtn_u", "ds_add_rtn_u"): lambda old, data: old + data,
    ("ds_sub_rtn_u", "ds_sub_rtn_u"): lambda old, data: old - data,
    ("ds_rsub_rtn_u", "ds_rsub_rtn_u"): lambda old, data: data - old,
    ("ds_inc_rtn_u", "ds_inc_rtn_u"): lambda old, data: 0 if old >= data else old + 1,
    ("ds_dec_rtn_u", "ds_dec_rtn_u"): lambda old, data: data if old == 0 or old > data else old - 1,
    ("ds_min_rtn_u", "ds_min_rtn_u"): min,
    ("ds_max_rtn_u", "ds_max_rtn_u"): max,
    ("ds_and_rtn_b", "ds_and_rtn_b"): lambda old, data: old & data,
    ("ds_or_rtn_b", "ds_or_rtn_b"): lambda old, data: old | data,
    ("ds_xor_rtn_b", "ds_xor_rtn_b"): lambda old, data: old ^ data,
    ("ds_wrxchg_rtn_b", "ds_storexchg_rtn_b"): lambda old, data: data,
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=5, deadline=None)
@given(seed=seeds, mask=masks)
def test_lds_atomics_return_the_old_value_and_store_the_new(target: str, bits: int, seed: int, mask: int) -> None:
    """Each lane on a place of its own."""
    data, result, again = ("v4", "v10", "v12") if bits == 32 else ("v[4:5]", "v[10:11]", "v[12:13]")
    start = "v6" if bits == 32 else "v[6:7]"
    read = named(target, "ds_read_b", "ds_load_b")
    texts = {}
    for old_name, new_name in ATOMICS:
        name = f"{named(target, old_name, new_name)}{bits}"
        texts[name] = waiting(
            target,
            store(target, "v2", start, bits),
            f"{name} {result}, v2, {data} offset:0",
            f"{read}{bits} {again}, v2",
        )
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    kind = f"u{bits}"
    x, before, kept = (integers(rng, kind, on.lanes) for _ in range(3))
    before = np.where(rng.random(on.lanes) < 0.2, x, before)
    address = (rng.permutation(on.lanes) * 8).astype(np.uint32)
    lanes = active(mask, on.lanes)
    for (old_name, new_name), function in ATOMICS.items():
        name = f"{named(target, old_name, new_name)}{bits}"
        outcome = on.run(name, {2: address, 4: x, 6: before, 10: kept, 12: kept}, exec_mask=mask)
        after = [function(int(before[i]), int(x[i])) & ((1 << bits) - 1) for i in range(on.lanes)]
        np.testing.assert_array_equal(outcome.vector(10, x.dtype.type), np.where(lanes, before, kept), name)
        np.testing.assert_array_equal(
            outcome.vector(12, x.dtype.type), np.where(lanes, np.array(after, x.dtype), kept), name
        )


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=5, deadline=None)
@given(seed=seeds, mask=masks)
def test_lds_atomics_of_many_lanes_on_one_place_add_up(target: str, seed: int, mask: int) -> None:
    """All active lanes add to one word."""
    read = named(target, "ds_read_b32", "ds_load_b32")
    text = waiting(target, store(target, "v2", "v6"), "ds_add_u32 v2, v4", f"{read} v10, v2")
    on = bench(target, {"k": text})
    x = integers(np.random.default_rng(seed), "u32", on.lanes)
    zeros, lanes = np.zeros(on.lanes, np.uint32), active(mask, on.lanes)
    outcome = on.run("k", {2: zeros + 16, 4: x, 6: zeros, 10: zeros}, exec_mask=mask)
    total = np.uint32(int(x[lanes].astype(np.uint64).sum()) & 0xFFFFFFFF)
    np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, total, 0))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_lds_compare_and_store(target: str, bits: int, seed: int, mask: int) -> None:
    """gfx9 and gfx10 give the comparand first, ds_cmpstore of gfx11 the new value first."""
    one, two = ("v4", "v8") if bits == 32 else ("v[4:5]", "v[8:9]")
    result, again, start = ("v10", "v12", "v6") if bits == 32 else ("v[10:11]", "v[12:13]", "v[6:7]")
    name = f"{named(target, 'ds_cmpst_rtn_b', 'ds_cmpstore_rtn_b')}{bits}"
    read = f"{named(target, 'ds_read_b', 'ds_load_b')}{bits}"
    text = waiting(
        target, store(target, "v2", start, bits), f"{name} {result}, v2, {one}, {two}", f"{read} {again}, v2"
    )
    on = bench(target, {"k": text})
    rng = np.random.default_rng(seed)
    comparand, new, before, kept = (integers(rng, f"u{bits}", on.lanes) for _ in range(4))
    before = np.where(rng.random(on.lanes) < 0.5, comparand, before)
    first, second = (new, comparand) if target in SHORT else (comparand, new)
    address = (np.arange(on.lanes) * 8).astype(np.uint32)
    lanes = active(mask, on.lanes)
    outcome = on.run("k", {2: address, 4: first, 8: second, 6: before, 10: kept, 12: kept}, exec_mask=mask)
    after = np.where(before == comparand, new, before)
    np.testing.assert_array_equal(outcome.vector(10, before.dtype.type), np.where(lanes, before, kept))
    np.testing.assert_array_equal(outcome.vector(12, before.dtype.type), np.where(lanes, after, kept))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_two_address_forms_scale_their_offsets(target: str, seed: int, mask: int) -> None:
    """By the element's size, or 64 times that in the stride64 forms."""
    write2, read2 = (named(target, a, b) for a, b in (("ds_write2", "ds_store_2addr"), ("ds_read2", "ds_load_2addr")))
    wide = named(target, "st64", "_stride64")
    texts = {
        "near": waiting(target, f"{write2}_b32 v2, v4, v5 offset0:3 offset1:9",
                        f"{named(target, 'ds_read_b32', 'ds_load_b32')} v10, v2 offset:12",
                        f"{named(target, 'ds_read_b32', 'ds_load_b32')} v11, v2 offset:36"),
        "far": waiting(target, f"{write2}{wide}_b32 v2, v4, v5 offset0:1 offset1:3",
                       f"{read2}{wide}_b32 v[10:11], v2 offset0:1 offset1:3"),
        "wide": waiting(target, f"{write2}_b64 v2, v[4:5], v[6:7] offset0:2 offset1:5",
                        f"{read2}_b64 v[10:13], v2 offset0:2 offset1:5"),
    }  # fmt: skip
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    rows = [integers(rng, "u32", on.lanes) for _ in range(8)]
    lanes = active(mask, on.lanes)
    inputs = {4 + i: r for i, r in enumerate(rows[:4])} | {10 + i: r for i, r in enumerate(rows[4:])}
    for name, count, step in (("near", 2, 48), ("far", 2, 4), ("wide", 4, 48)):
        address = (np.arange(on.lanes) * step).astype(np.uint32)
        outcome = on.run(name, inputs | {2: address}, exec_mask=mask)
        for i in range(count):
            np.testing.assert_array_equal(outcome.vector(10 + i)[lanes], rows[i][lanes], name)
            np.testing.assert_array_equal(outcome.vector(10 + i)[~lanes], rows[4 + i][~lanes], name)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds)
def test_narrow_lds_access_extends_and_places(target: str, seed: int) -> None:
    """Bytes and shorts, signed and not, into a half and out of one."""
    read = named(target, "ds_read_", "ds_load_")
    write = named(target, "ds_write_", "ds_store_")
    loads = {
        "u8": lambda w, old: w & 0xFF,
        "i8": lambda w, old: ((w & 0xFF).astype(np.uint8).view(np.int8).astype(np.int32)).view(np.uint32),
        "u16": lambda w, old: w & 0xFFFF,
        "i16": lambda w, old: ((w & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.int32)).view(np.uint32),
        "u16_d16": lambda w, old: old & 0xFFFF0000 | w & 0xFFFF,
        "u16_d16_hi": lambda w, old: old & 0xFFFF | (w & 0xFFFF) << 16,
        "u8_d16_hi": lambda w, old: old & 0xFFFF | (w & 0xFF) << 16,
    }
    texts = {n: waiting(target, store(target, "v2", "v4"), f"{read}{n} v10, v2") for n in loads}
    texts["b8"] = waiting(target, store(target, "v2", "v4"), f"{write}b8 v2, v6", f"{read}b32 v10, v2")
    texts["b16_d16_hi"] = waiting(target, store(target, "v2", "v4"), f"{write}b16_d16_hi v2, v6", f"{read}b32 v10, v2")
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    word, data, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    address = (np.arange(on.lanes) * 4).astype(np.uint32)
    inputs = {2: address, 4: word, 6: data, 10: old}
    for name, function in loads.items():
        np.testing.assert_array_equal(on.run(name, inputs).vector(10), function(word, old), name)
    np.testing.assert_array_equal(on.run("b8", inputs).vector(10), word & 0xFFFFFF00 | data & 0xFF)
    np.testing.assert_array_equal(on.run("b16_d16_hi", inputs).vector(10), word & 0xFFFF0000 | data >> 16)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks, offset=st.sampled_from([0, 4, 60]))
def test_permutes_through_lds_hardware(target: str, seed: int, mask: int, offset: int) -> None:
    """ds_bpermute reads the lane that the byte address names, 0 where inactive; ds_permute writes it."""
    texts = {
        "back": waiting(target, f"ds_bpermute_b32 v10, v2, v4 offset:{offset}"),
        "forth": waiting(target, f"ds_permute_b32 v10, v2, v4 offset:{offset}"),
    }
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    lanes = active(mask, on.lanes)
    anywhere = rng.integers(0, 1 << 12, on.lanes).astype(np.uint32)
    source = (anywhere + offset >> 2) % on.lanes
    got = on.run("back", {2: anywhere, 4: x, 10: old}, exec_mask=mask).vector(10)
    np.testing.assert_array_equal(got, np.where(lanes, np.where(lanes[source], x[source], 0), old))
    order = rng.permutation(on.lanes)
    wanted = np.zeros(on.lanes, np.uint32)
    for lane in range(on.lanes):
        if lanes[lane]:
            wanted[(order[lane] + offset // 4) % on.lanes] = x[lane]
    got = on.run("forth", {2: (order * 4).astype(np.uint32), 4: x, 10: old}, exec_mask=mask).vector(10)
    np.testing.assert_array_equal(got, np.where(lanes, wanted, old))


# From the ISA documents, which count lanes from 1: bit reversal, and rotation to the left, to the right, of odd lanes.
LISTED = {
    0xE000: "1 11 9 19 5 15 d 1d 3 13 b 1b 7 17 f 1f 2 12 a 1a 6 16 e 1e 4 14 c 1c 8 18 10 20",
    0xE010: "1 9 5 d 3 b 7 f 2 a 6 e 4 c 8 10 11 19 15 1d 13 1b 17 1f 12 1a 16 1e 14 1c 18 20",
    0xC020: "2 3 4 5 6 7 8 9 a b c d e f 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f 20 1",
    0xC420: "20 1 2 3 4 5 6 7 8 9 a b c d e f 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f",
    0xC021: "1 4 3 6 5 8 7 a 9 c b e d 10 f 12 11 14 13 16 15 18 17 1a 19 1c 1b 1e 1d 20 1f 2",
}


def swizzled(pattern: int, lane: int) -> int:
    """Bit 15 set: a quad permutation; else and, or and xor masks on the lane number within 32."""
    if pattern in LISTED:
        return lane & ~31 | int(LISTED[pattern].split()[lane & 31], 16) - 1
    if pattern & 0x8000:
        return lane & ~3 | pattern >> 2 * (lane & 3) & 3
    keep, force, flip = pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31
    return lane & ~31 | ((lane & keep | force) ^ flip)


@pytest.mark.parametrize("pattern", [0x801B, 0x041F, 0x7C1F, 0x0010, 0x02F5, *LISTED])
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=2, deadline=None)
@given(seed=seeds, mask=masks)
def test_swizzle_by_pattern(target: str, pattern: int, seed: int, mask: int) -> None:
    """An inactive source gives 0."""
    on = bench(target, {"k": waiting(target, f"ds_swizzle_b32 v10, v2 offset:{pattern}")})
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    lanes = active(mask, on.lanes)
    source = np.array([swizzled(pattern, lane) for lane in range(on.lanes)])
    got = on.run("k", {2: x, 10: old}, exec_mask=mask).vector(10)
    np.testing.assert_array_equal(got, np.where(lanes, np.where(lanes[source], x[source], 0), old))


@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_permute_that_fetches_from_inactive_lanes(seed: int, mask: int) -> None:
    """ds_bpermute_fi of gfx12: EXEC says only who gets a value."""
    on = bench("gfx1201", {"k": waiting("gfx1201", "ds_bpermute_fi_b32 v10, v2, v4 offset:8")})
    rng = np.random.default_rng(seed)
    x, old, anywhere = (integers(rng, "u32", on.lanes) for _ in range(3))
    got = on.run("k", {2: anywhere, 4: x, 10: old}, exec_mask=mask).vector(10)
    source = (anywhere.astype(np.uint64) + 8 >> 2) % on.lanes
    np.testing.assert_array_equal(got, np.where(active(mask, on.lanes), x[source], old))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds, mask=masks, lane=st.integers(0, 1000))
def test_lanes_to_scalars_and_back(target: str, seed: int, mask: int, lane: int) -> None:
    """readlane and writelane ignore EXEC and take the lane modulo the wave; readfirstlane takes the lowest active."""
    on = bench(target, {
        "read": "v_readlane_b32 s40, v2, s24",
        "first": "v_readfirstlane_b32 s40, v2",
        "write": "v_writelane_b32 v10, 17, s24",
    })  # fmt: skip
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    full = mask & ((1 << on.lanes) - 1)
    inputs = {2: x, 10: old}
    assert on.run("read", inputs, exec_mask=mask, scalars=(lane,)).scalar("s40") == x[lane % on.lanes]
    lowest = (full & -full).bit_length() - 1 if full else 0
    assert on.run("first", inputs, exec_mask=mask).scalar("s40") == x[lowest]
    written = old.copy()
    written[lane % on.lanes] = 17
    outcome = on.run("write", inputs, exec_mask=mask, scalars=(lane,))
    np.testing.assert_array_equal(outcome.vector(10), written)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_counting_bits_below_a_lane(target: str, seed: int, mask: int) -> None:
    """mbcnt_lo then mbcnt_hi: the ones of a mask below the lane, added to the second source."""
    on = bench(target, {"k": "v_mbcnt_lo_u32_b32 v10, s24, v2\n v_mbcnt_hi_u32_b32 v10, s25, v10"})
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    bits = int(rng.integers(0, 2**63))
    outcome = on.run("k", {2: x, 10: old}, exec_mask=mask, scalars=(bits & 0xFFFFFFFF, bits >> 32))
    below = np.array([(bits & ((1 << lane) - 1)).bit_count() for lane in range(on.lanes)], np.uint32)
    np.testing.assert_array_equal(outcome.vector(10), np.where(active(mask, on.lanes), x + below, old))


PERMUTES = [(t, n) for t in ("gfx1030", "gfx1100", "gfx1201") for n in ("v_permlane16", "v_permlanex16")]


@pytest.mark.parametrize(("target", "name"), PERMUTES)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks, fetches=st.booleans(), bounded=st.booleans())
def test_rdna_permutes_within_and_across_rows(
    target: str, name: str, seed: int, mask: int, fetches: bool, bounded: bool
) -> None:
    """A nibble per lane of the row selects, gfx12 has it in a vector register too; op_sel is fetch-inactive and
    bound-control.
    """
    sources = {"": "s24, s25", "_var": "v4"} if target == "gfx1201" else {"": "s24, s25"}
    texts = {
        f"k{form}{f}{b}": f"{name}{form}_b32 v10, v2, {source}" + f" op_sel:[{f},{b}]" * (f or b)
        for form, source in sources.items() for f in (0, 1) for b in (0, 1)
    }  # fmt: skip
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    selector = int(rng.integers(0, 2**63))
    lanes = active(mask, on.lanes)
    wanted = old.copy()
    for lane in range(on.lanes):
        row = lane & ~15 ^ (16 if "x16" in name else 0)
        source = row | selector >> 4 * (lane & 15) & 15
        if lanes[lane] and (lanes[source] or fetches or bounded):
            wanted[lane] = x[source] if lanes[source] or fetches else 0
    own = np.array([selector >> 4 * (lane & 15) & 15 for lane in range(on.lanes)], np.uint32) | np.uint32(0xABCD0)
    halves = (selector & 0xFFFFFFFF, selector >> 32)
    for form in sources:
        key = f"k{form}{int(fetches)}{int(bounded)}"
        outcome = on.run(key, {2: x, 4: own, 10: old}, exec_mask=mask, scalars=halves)
        np.testing.assert_array_equal(outcome.vector(10), wanted)


@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_gfx950_swaps_rows_and_halves_of_two_registers(seed: int, mask: int) -> None:
    """Odd groups of the first register change places with even groups of the second."""
    texts = {f"k{step}": f"v_mov_b32 v11, v2\n v_permlane{step}_swap_b32 v10, v11" for step in (16, 32)}
    on = bench("gfx950", texts)
    rng = np.random.default_rng(seed)
    first, second, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    lanes = active(mask, on.lanes)
    for step in (16, 32):
        outcome = on.run(f"k{step}", {10: first, 2: second, 11: old}, exec_mask=mask)
        start = np.where(lanes, second, old)
        a, b = (v.reshape(-1, 2, step).copy() for v in (first, start))
        a[:, 1], b[:, 0] = start.reshape(-1, 2, step)[:, 0], first.reshape(-1, 2, step)[:, 1]
        np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, a.ravel(), first))
        np.testing.assert_array_equal(outcome.vector(11), np.where(lanes, b.ravel(), start))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_float_atomics_in_lds(target: str, seed: int, mask: int) -> None:
    """Addition in f32; minimum and maximum where the target has them."""
    read = named(target, "ds_read_b32", "ds_load_b32")
    names = [n for n in ("ds_add_rtn_f32", "ds_min_rtn_f32", "ds_max_rtn_f32") if knows(target, n)]
    texts = {n: waiting(target, store(target, "v2", "v6"), f"{n} v10, v2, v4", f"{read} v11, v2") for n in names}
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    x, before = (floats(rng, "f32", on.lanes) for _ in range(2))
    x, before = (np.where(np.isnan(v), np.float32(1), v) for v in (x, before))
    address = (np.arange(on.lanes) * 4).astype(np.uint32)
    lanes = active(mask, on.lanes)
    with np.errstate(all="ignore"):
        after = {"add": before + x, "min": np.minimum(before, x), "max": np.maximum(before, x)}
    for name in names:
        outcome = on.run(name, {2: address, 4: x, 6: before}, exec_mask=mask)
        np.testing.assert_array_equal(outcome.vector(10, np.float32)[lanes], before[lanes])
        np.testing.assert_array_equal(outcome.vector(11, np.float32)[lanes], after[name.split("_")[1]][lanes])
