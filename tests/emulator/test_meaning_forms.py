"""What encodings add to an instruction: constants, sign modifiers, clamp and omod, op_sel, SDWA, DPP, packed halves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.emulator.cases import TARGETS, active, floats, halves, integers, masks, seeds
from tests.emulator.instructions import Bench, bench

Array = NDArray[Any]
ALL32 = 0xFFFFFFFF
FLOATS = {"0.5": 0.5, "-0.5": -0.5, "1.0": 1.0, "-1.0": -1.0, "2.0": 2.0, "-2.0": -2.0, "4.0": 4.0, "-4.0": -4.0}
INTEGERS = (0, 1, 17, 63, 64, -1, -5, -16)


def zeros(on: Bench, dtype: type[Any] = np.uint32) -> Array:
    return np.zeros(on.lanes, dtype)


@pytest.mark.parametrize("target", TARGETS)
def test_inline_integers(target: str) -> None:
    """0…64 and −1…−16 are sign-extended to the operand's width."""
    forms = {f"w{i}": f"v_or_b32_e32 v10, {v}, v2" for i, v in enumerate(INTEGERS)}
    forms |= {f"d{i}": f"v_ashrrev_i64 v[10:11], 0, {v}" for i, v in enumerate(INTEGERS)}
    on = bench(target, forms)
    for i, value in enumerate(INTEGERS):
        assert (on.run(f"w{i}", {2: zeros(on)}).vector(10, np.int32) == value).all()
        assert (on.run(f"d{i}", {2: zeros(on)}).vector(10, np.int64) == value).all()


@pytest.mark.parametrize("target", TARGETS)
def test_inline_floats_have_the_operands_type(target: str) -> None:
    """1.0 is 1.0 in f16, f32 and f64; in a 32-bit integer operand it is the bits of f32."""
    forms = {}
    for i, text in enumerate(FLOATS):
        forms[f"h{i}"] = f"v_add_f16_e32 v10, {text}, v2"
        forms[f"s{i}"] = f"v_add_f32_e32 v10, {text}, v2"
        forms[f"d{i}"] = f"v_add_f64 v[10:11], {text}, v[2:3]"
        forms[f"b{i}"] = f"v_or_b32_e32 v10, {text}, v2"
    on = bench(target, forms)
    for i, value in enumerate(FLOATS.values()):
        for letter, dtype in (("h", np.float16), ("s", np.float32), ("d", np.float64)):
            assert (on.run(f"{letter}{i}", {2: zeros(on, dtype)}).vector(10, dtype) == value).all()
        assert (on.run(f"b{i}", {2: zeros(on)}).vector(10, np.float32) == value).all()


@pytest.mark.parametrize("target", TARGETS)
def test_literals_fill_the_operand_as_its_type_says(target: str) -> None:
    """32 bits as they are; the high word of f64; zero-extended into 64 bits of a scalar mask."""
    forms = {
        "word": "v_add_u32_e32 v10, 0x89abcdef, v2",
        "half": "v_add_f16_e32 v10, 0x4248, v2",
        "mul": "v_fmac_f32_e32 v10, 0x40490fdb, v2",
        "mask": "s_or_b64 s[40:41], s[24:25], 0x12345678",
    }
    if not target.startswith("gfx9"):
        forms["word"] = forms["word"].replace("v_add_u32", "v_add_nc_u32")
        forms["three"] = "v_add3_u32 v10, v2, 0x89abcdef, v4"
        forms["double"] = "v_add_f64 v[10:11], v[2:3], 0x40091eb8"
    on = bench(target, forms)
    assert (on.run("word", {2: zeros(on) + 1}).vector(10) == 0x89ABCDF0).all()
    assert (on.run("half", {2: zeros(on, np.float16)}).vector(10, np.uint16) == 0x4248).all()
    ones = zeros(on, np.float32) + 1
    assert (on.run("mul", {2: ones, 10: ones * 0}).vector(10) == 0x40490FDB).all()
    assert on.run("mask", {}, scalars=(0, 0x80000000)).s40 == 0x8000000012345678
    if "three" in forms:
        assert (on.run("three", {2: zeros(on) + 1, 4: zeros(on) + 2}).vector(10) == 0x89ABCDF2).all()
        assert (on.run("double", {2: zeros(on, np.float64)}).vector(10, np.uint64) == 0x40091EB8 << 32).all()


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds, mask=masks)
def test_scalars_are_sources_for_every_lane(target: str, seed: int, mask: int) -> None:
    """A scalar register, VCC's half, EXEC's half, M0 and SCC as operands."""
    forms = {
        "scalar": "v_xor_b32_e32 v10, s24, v2",
        "pair": "v_lshlrev_b64 v[10:11], 0, s[24:25]",
        "vcc": "v_xor_b32_e32 v10, vcc_lo, v2",
        "exec": "v_xor_b32_e32 v10, exec_lo, v2",
        "m0": "v_xor_b32_e32 v10, m0, v2",
        "scc": "v_xor_b32_e32 v10, src_scc, v2",
    }
    on = bench(target, forms)
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    vcc, low, high = (int(v) for v in rng.integers(0, 2**32, 3))
    sources = {"scalar": low, "vcc": vcc, "exec": mask & ALL32, "m0": ALL32, "scc": 1}
    lanes = active(mask, on.lanes)
    for name, value in sources.items():
        outcome = on.run(name, {2: x, 10: old}, exec_mask=mask, vcc=vcc, scc=1, scalars=(low, high))
        np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, x ^ np.uint32(value), old), name)
    wide = on.run("pair", {}, exec_mask=-1, scalars=(low, high))
    assert (wide.vector(10, np.uint64) == (high << 32 | low)).all()


SIGNS = {"": lambda v: v, "-": np.negative, "|": np.abs, "-|": lambda v: np.negative(np.abs(v))}


def signed(text: str, sign: str) -> str:
    return {"": text, "-": f"-{text}", "|": f"|{text}|", "-|": f"-|{text}|"}[sign]


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_neg_and_abs_act_before_the_operation(target: str, seed: int, mask: int) -> None:
    """On both sources of additions in f16, f32, f64; on bits only where nothing is computed."""
    forms = {}
    for i, a in enumerate(SIGNS):
        for j, b in enumerate(SIGNS):
            forms[f"h{i}{j}"] = f"v_add_f16_e64 v10, {signed('v2', a)}, {signed('v4', b)}"
            forms[f"s{i}{j}"] = f"v_add_f32_e64 v10, {signed('v2', a)}, {signed('v4', b)}"
            double = "v_add_f64_e64" if target == "gfx1201" else "v_add_f64"
            forms[f"d{i}{j}"] = f"{double} v[10:11], {signed('v[2:3]', a)}, {signed('v[4:5]', b)}"
    on = bench(target, forms)
    rng = np.random.default_rng(seed)
    for letter, kind in (("h", "f16"), ("s", "f32"), ("d", "f64")):
        x, y, old = (floats(rng, kind, on.lanes) for _ in range(3))
        for i, a in enumerate(SIGNS.values()):
            for j, b in enumerate(SIGNS.values()):
                outcome = on.run(f"{letter}{i}{j}", {2: x, 4: y, 10: old}, exec_mask=mask)
                with np.errstate(all="ignore"):
                    wanted = np.where(active(mask, on.lanes), a(x) + b(y), old)
                np.testing.assert_array_equal(outcome.vector(10, x.dtype.type), wanted)


OMOD = {"": 1.0, " mul:2": 2.0, " mul:4": 4.0, " div:2": 0.5}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_output_modifier_scales_and_clamp_limits_to_0_and_1(target: str, seed: int) -> None:
    """omod multiplies the rounded result, clamp then takes it into [0, 1], NaN to 0.

    omod counts where denormal results do not, and IEEE mode is off.
    """
    forms = {f"k{i}{c}": f"v_mul_f32_e64 v10, v2, v4{' clamp' * c}{m}" for i, m in enumerate(OMOD) for c in (0, 1)}
    modes = {"float_denorm_mode_32": 0} | ({} if target == "gfx1201" else {"ieee_mode": 0})
    rng = np.random.default_rng(seed)
    for counts, on in ((False, bench(target, forms)), (True, bench(target, forms, modes))):
        x, y = (floats(rng, "f32", on.lanes) for _ in range(2))
        with np.errstate(all="ignore"):
            normal = (np.abs(x * y) >= 4 * np.finfo(np.float32).tiny) & (np.abs(x) > 1e-37) & (np.abs(y) > 1e-37)
        for i, factor in enumerate(OMOD.values()):
            with np.errstate(all="ignore"):
                scaled = x * y * np.float32(factor if counts else 1)
            for clamps in (0, 1):
                got = on.run(f"k{i}{clamps}", {2: x, 4: y}).vector(10, np.float32)
                held = np.clip(np.nan_to_num(scaled, nan=0.0, posinf=np.inf, neginf=-np.inf), 0, 1)
                np.testing.assert_array_equal(got[normal], (held if clamps else scaled)[normal])


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_op_sel_picks_halves_of_sources_and_destination(target: str, seed: int, mask: int) -> None:
    """v_mad_u16 on every choice of halves; the other half of the destination stays."""
    forms = {}
    for bits in range(16):
        a, b, c, d = (bits >> i & 1 for i in range(4))
        if target == "gfx1100":
            part = ["l", "h"]
            forms[f"k{bits}"] = f"v_mad_u16 v10.{part[d]}, v2.{part[a]}, v4.{part[b]}, v6.{part[c]}"
        else:
            forms[f"k{bits}"] = f"v_mad_u16 v10, v2, v4, v6 op_sel:[{a},{b},{c},{d}]"
    on = bench(target, forms)
    rng = np.random.default_rng(seed)
    x, y, z, old = (integers(rng, "u32", on.lanes) for _ in range(4))
    for bits in range(16):
        a, b, c, d = (bool(bits >> i & 1) for i in range(4))
        outcome = on.run(f"k{bits}", {2: x, 4: y, 6: z, 10: old}, exec_mask=mask)
        result = (halves(x, a) * halves(y, b) + halves(z, c)).astype(np.uint32)
        placed = (old & 0xFFFF) | result << 16 if d else (old & 0xFFFF0000) | result
        np.testing.assert_array_equal(outcome.vector(10), np.where(active(mask, on.lanes), placed, old))


SELECTORS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")


def selected(words: Array, selector: int, sext: bool) -> Array:
    """The byte or word as 32 bits."""
    if selector == 6:
        return words
    bits, shift = (8, 8 * selector) if selector < 4 else (16, 16 * (selector - 4))
    part = (words >> shift & ((1 << bits) - 1)).astype(np.int64)
    return (part - (part >> (bits - 1) << bits) * sext).astype(np.uint32)


def placed(result: Array, old: Array, selector: int, unused: int) -> Array:
    """`result` in the selected part of the register; the rest is 0, the sign, or the old content."""
    if selector == 6:
        return result
    bits, shift = (8, 8 * selector) if selector < 4 else (16, 16 * (selector - 4))
    part = result & np.uint32((1 << bits) - 1)
    keep = np.uint32(ALL32 ^ ((1 << bits) - 1) << shift)
    if unused == 2:
        return (old & keep) | part << np.uint32(shift)
    above = np.uint32(ALL32 & ~((1 << (bits + shift)) - 1))
    sign = np.where(part >> np.uint32(bits - 1) & 1, above, 0).astype(np.uint32) if unused == 1 else 0
    return part << np.uint32(shift) | sign


UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030"])
@settings(max_examples=25, deadline=None)
@given(
    seed=seeds,
    mask=masks,
    parts=st.tuples(*[st.integers(0, 6)] * 3),
    unused=st.integers(0, 2),
    sext=st.tuples(st.booleans(), st.booleans()),
)
@example(seed=1, mask=-1, parts=(0, 1, 5), unused=1, sext=(True, False))
def test_sdwa_selects_parts(
    target: str, seed: int, mask: int, parts: tuple[int, int, int], unused: int, sext: tuple[bool, bool]
) -> None:
    """Any byte or word of both sources, extended either way, into any part of the destination."""
    add = "v_add_nc_u32_sdwa" if target == "gfx1030" else "v_add_u32_sdwa"
    a, b = (f"sext({r})" if s else r for r, s in zip(("v2", "v4"), sext, strict=True))
    text = (
        f"{add} v10, {a}, {b} dst_sel:{SELECTORS[parts[0]]} dst_unused:{UNUSED[unused]}"
        f" src0_sel:{SELECTORS[parts[1]]} src1_sel:{SELECTORS[parts[2]]}"
    )
    on = bench(target, {"k": text})
    rng = np.random.default_rng(seed)
    x, y, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    outcome = on.run("k", {2: x, 4: y, 10: old}, exec_mask=mask)
    result = selected(x, parts[1], sext[0]) + selected(y, parts[2], sext[1])
    wanted = np.where(active(mask, on.lanes), placed(result, old, parts[0], unused), old)
    np.testing.assert_array_equal(outcome.vector(10), wanted)


def row_source(lane: int, control: str, wave: int) -> int:
    """The lane that a lane reads under a DPP control, −1 where there is none. After the ISA manuals' prose."""
    name, _, number = control.partition(":")
    base, i = lane // 16 * 16, lane % 16
    if name == "quad_perm":
        return lane // 4 * 4 + [int(n) for n in number.strip("[]").split(",")][lane % 4]
    n = int(number or 0)
    return {
        "row_shl": base + i + n if i + n < 16 else -1,
        "row_shr": base + i - n if i >= n else -1,
        "row_ror": base + (i - n) % 16,
        "row_mirror": base + 15 - i,
        "row_half_mirror": base + i // 8 * 8 + 7 - i % 8,
        "row_share": base + n,
        "row_newbcast": base + n,
        "row_xmask": base + (i ^ n),
        "wave_shl": lane + 1 if lane + 1 < wave else -1,
        "wave_rol": (lane + 1) % wave,
        "wave_shr": lane - 1,
        "wave_ror": (lane - 1) % wave,
        "row_bcast": (lane // 16 * 16 - 1 if n == 15 else (31 if lane >= 32 else -1)),
    }[name]


COMMON_DPP = (
    "quad_perm:[3,1,0,2]", "row_shl:3", "row_shr:1", "row_shr:15", "row_ror:5", "row_mirror", "row_half_mirror",
)  # fmt: skip
GFX9_DPP = ("wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1", "row_bcast:15", "row_bcast:31")


def controls(target: str) -> tuple[str, ...]:
    if target in ("gfx90a", "gfx942", "gfx950"):
        return COMMON_DPP + GFX9_DPP + ("row_newbcast:7",)
    return (*COMMON_DPP, "row_share:9", "row_xmask:6")


@pytest.mark.parametrize(("target", "control"), [(t, c) for t in TARGETS for c in controls(t)])
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks, bounded=st.booleans(), rows=st.integers(0, 15), banks=st.integers(0, 15))
@example(seed=0, mask=-1, bounded=False, rows=15, banks=15)
@example(seed=0, mask=-1, bounded=True, rows=15, banks=15)
@example(seed=3, mask=0x0F0F0F0F33335555, bounded=False, rows=15, banks=15)
def test_dpp_moves_lanes(target: str, control: str, seed: int, mask: int, bounded: bool, rows: int, banks: int) -> None:
    """A lane whose source is out of range or inactive reads 0 with bound_ctrl, else is not written.

    Rows and banks that the masks leave out are not written either.
    """
    bound = " bound_ctrl:1" if bounded else ""
    rows, banks = (rows, banks) if seed % 2 else (15, 15)
    on = bench(target, {"k": f"v_mov_b32_dpp v10, v2 {control} row_mask:{rows:#x} bank_mask:{banks:#x}{bound}"})
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    outcome = on.run("k", {2: x, 10: old}, exec_mask=mask)
    lanes = active(mask, on.lanes)
    wanted = old.copy()
    for lane in range(on.lanes):
        source = row_source(lane, control, on.lanes)
        readable = source >= 0 and lanes[source]
        enabled = rows >> lane // 16 & 1 and banks >> lane % 16 // 4 & 1
        if lanes[lane] and enabled and (readable or bounded):
            wanted[lane] = x[source] if readable else 0
    np.testing.assert_array_equal(outcome.vector(10), wanted)


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
@settings(max_examples=10, deadline=None)
@given(seed=seeds, mask=masks, order=st.tuples(*[st.integers(0, 7)] * 8), fetches=st.booleans())
def test_dpp8_permutes_groups_of_eight(
    target: str, seed: int, mask: int, order: tuple[int, ...], fetches: bool
) -> None:
    """An inactive source reads 0, or what it holds with fi."""
    fi = " fi:1" if fetches else ""
    on = bench(target, {"k": f"v_mov_b32_dpp v10, v2 dpp8:[{','.join(map(str, order))}]{fi}"})
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    lanes = active(mask, on.lanes)
    source = np.array([lane // 8 * 8 + order[lane % 8] for lane in range(on.lanes)])
    moved = np.where(lanes[source] | fetches, x[source], 0)
    outcome = on.run("k", {2: x, 10: old}, exec_mask=mask)
    np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, moved, old))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_dpp_feeds_the_operation(target: str, seed: int, mask: int) -> None:
    """Source 0 is moved, with its modifiers; source 1 is not: the sum of a row by halving."""
    on = bench(target, {"k": "v_add_f32_dpp v10, -|v2|, v4 row_shr:4 row_mask:0xf bank_mask:0xf"})
    rng = np.random.default_rng(seed)
    x, y, old = (floats(rng, "f32", on.lanes) for _ in range(3))
    outcome = on.run("k", {2: x, 4: y, 10: old}, exec_mask=mask)
    lanes = active(mask, on.lanes)
    i = np.arange(on.lanes)
    written = lanes & (i % 16 >= 4) & np.roll(lanes, 4)
    with np.errstate(all="ignore"):
        wanted = np.where(written, -np.abs(np.roll(x, 4)) + y, old)
    np.testing.assert_array_equal(outcome.vector(10, np.float32), wanted)


PACKED = {
    "v_pk_add_u16": lambda a, b: a + b,
    "v_pk_sub_i16": lambda a, b: a - b,
    "v_pk_mul_lo_u16": lambda a, b: a * b,
    "v_pk_max_u16": np.maximum,
    "v_pk_min_u16": np.minimum,
    "v_pk_lshlrev_b16": lambda a, b: (b.astype(np.uint32) << (a & 15)).astype(np.uint16),
    "v_pk_lshrrev_b16": lambda a, b: b >> (a & 15),
}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks, low=st.integers(0, 3), high=st.integers(0, 3))
@example(seed=0, mask=-1, low=0, high=3)
def test_packed_integers_by_half(target: str, seed: int, mask: int, low: int, high: int) -> None:
    """op_sel says which halves make the low result, op_sel_hi which make the high one."""
    tail = f" op_sel:[{low & 1},{low >> 1}] op_sel_hi:[{high & 1},{high >> 1}]"
    on = bench(target, {name: f"{name} v10, v2, v4{tail}" for name in PACKED})
    rng = np.random.default_rng(seed)
    x, y, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    for name, function in PACKED.items():
        parts = [
            function(halves(x, bool(choice & 1)), halves(y, bool(choice >> 1))).astype(np.uint32)
            for choice in (low, high)
        ]
        outcome = on.run(name, {2: x, 4: y, 10: old}, exec_mask=mask)
        wanted = np.where(active(mask, on.lanes), parts[0] | parts[1] << 16, old)
        np.testing.assert_array_equal(outcome.vector(10), wanted, name)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks, choice=st.integers(0, 255))
@example(seed=0, mask=-1, choice=0x0C)
def test_packed_halves_negate_each_for_itself(target: str, seed: int, mask: int, choice: int) -> None:
    """v_pk_add_f16 with op_sel, op_sel_hi, neg_lo and neg_hi."""
    fields = [[choice >> 2 * i & 1, choice >> (2 * i + 1) & 1] for i in range(4)]
    names = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
    tail = " ".join(f"{n}:[{f[0]},{f[1]}]" for n, f in zip(names, fields, strict=True))
    on = bench(target, {"k": f"v_pk_add_f16 v10, v2, v4 {tail}"})
    rng = np.random.default_rng(seed)
    x, y, old = (np.stack([floats(rng, "f16", on.lanes) for _ in range(2)], 1) for _ in range(3))
    pack = [np.ascontiguousarray(v).view(np.uint32)[:, 0] for v in (x, y, old)]
    outcome = on.run("k", {2: pack[0], 4: pack[1], 10: pack[2]}, exec_mask=mask)
    got = np.ascontiguousarray(outcome.vector(10)).view(np.float16).reshape(-1, 2)
    with np.errstate(all="ignore"):
        for half in (0, 1):
            a = x[:, fields[half][0]] * (-1 if fields[2 + half][0] else 1)
            b = y[:, fields[half][1]] * (-1 if fields[2 + half][1] else 1)
            wanted = np.where(active(mask, on.lanes), a + b, old[:, half])
            np.testing.assert_array_equal(got[:, half], wanted)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks, low=st.integers(0, 3), high=st.integers(0, 3))
def test_packed_singles_by_register_of_the_pair(target: str, seed: int, mask: int, low: int, high: int) -> None:
    """v_pk_mul_f32 takes either register of each pair for each result; scalar pairs too."""
    tail = f" op_sel:[{low & 1},{low >> 1}] op_sel_hi:[{high & 1},{high >> 1}]"
    on = bench(target, {"v": f"v_pk_mul_f32 v[10:11], v[2:3], v[4:5]{tail}",
                        "s": f"v_pk_mul_f32 v[10:11], s[24:25], v[4:5]{tail}"})  # fmt: skip
    rng = np.random.default_rng(seed)
    x, y, old = (np.stack([floats(rng, "f32", on.lanes) for _ in range(2)]) for _ in range(3))
    inputs = {2: x[0], 3: x[1], 4: y[0], 5: y[1], 10: old[0], 11: old[1]}
    lanes = active(mask, on.lanes)
    scalars = tuple(int(v) for v in x[:, 0].view(np.uint32))
    for name, a in (("v", x), ("s", np.repeat(x[:, :1], on.lanes, 1))):
        outcome = on.run(name, inputs, exec_mask=mask, scalars=scalars)
        for half, choice in enumerate((low, high)):
            with np.errstate(all="ignore"):
                product = a[choice & 1] * y[choice >> 1]
            np.testing.assert_array_equal(outcome.vector(10 + half, np.float32), np.where(lanes, product, old[half]))
