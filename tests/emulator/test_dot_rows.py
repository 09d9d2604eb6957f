"""Dot products of packed numbers against exact integers and sums that round as documented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from rocmkern.emulator.meaning import ROWS
from tests.emulator.cases import active, floats, fused, integers, masks, seeds
from tests.emulator.instructions import bench, knows
from tests.emulator.rows import run

Array = NDArray[Any]
RNG = np.random.default_rng(3)
A, B, C = (RNG.integers(0, 2**32, 4000, dtype=np.uint32) for _ in range(3))
A[:3], B[:3], C[:3] = 0x80808080, [0x80808080, 0x7F7F7F7F, 0x80808080], [0x7FFFFFFF, 0x80000000, 0]


def exact(kind: type[np.integer[Any]]) -> Array:
    """Sum of the products of the four bytes, and C, without wrapping."""
    a, b = (x.view(kind).reshape(-1, 4).astype(np.int64) for x in (A, B))
    return (a * b).sum(1) + (C.view(np.int32) if kind is np.int8 else C).astype(np.int64)


@pytest.mark.parametrize(
    ("name", "kind"), [("v_dot4_i32_i8", np.int8), ("v_dot4c_i32_i8", np.int8), ("v_dot4_u32_u8", np.uint8)]
)
def test_dot_products_wrap(name: str, kind: type[np.integer[Any]]) -> None:
    """Without clamp the sum is taken modulo 2³²."""
    assert np.array_equal(run(name, A, B, C), exact(kind).astype(np.uint64).astype(np.uint32))


def test_every_dot_row_has_a_saturating_form() -> None:
    """The clamp bit is never dropped in silence."""
    rows: list[Callable[..., Any] | None] = [row.integer_clamp for name, row in ROWS.items() if "_dot4" in name]
    assert len(rows) >= 4
    assert None not in rows


# bits of a part, whether each source is signed, text behind the mnemonic; the sum is signed where a source may be
INTEGER = {
    "v_dot8_i32_i4": (4, (True, True), " v10, v2, v4, v6"),
    "v_dot8_u32_u4": (4, (False, False), " v10, v2, v4, v6"),
    "v_dot8c_i32_i4": (4, (True, True), " v10, v2, v4"),
    "v_dot2c_i32_i16": (16, (True, True), " v10, v2, v4"),
    "v_dot2_i32_i16": (16, (True, True), " v10, v2, v4, v6"),
    "v_dot2_u32_u16": (16, (False, False), " v10, v2, v4, v6"),
    "v_dot4c_i32_i8": (8, (True, True), " v10, v2, v4"),
    **{
        f"v_dot8_i32_iu4 {int(x)}{int(y)}": (4, (x, y), f" v10, v2, v4, v6 neg_lo:[{int(x)},{int(y)},0]")
        for x in (False, True)
        for y in (False, True)
    },
}
CLAMPS = ["v_dot8_i32_i4", "v_dot8_u32_u4", "v_dot8_i32_iu4", "v_dot2_i32_i16", "v_dot2_u32_u16"]


def parts(words: Array, bits: int, signed: bool) -> Array:
    """The packed numbers of each word, one row per place."""
    found = np.stack([words >> np.uint32(at) & np.uint32((1 << bits) - 1) for at in range(0, 32, bits)])
    return found.astype(np.int64) - (found >> np.uint32(bits - 1) << np.uint32(bits) if signed else 0)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030", "gfx1100", "gfx1201"])
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_integers_wrap_or_saturate(target: str, seed: int, mask: int) -> None:
    """neg_lo tells which source of iu4 is signed; with clamp the exact sum is held within 32 bits."""
    texts = {}
    for name, (_, _, operands) in INTEGER.items():
        mnemonic = name.split()[0]
        if knows(target, mnemonic):
            texts[name.replace(" ", "_")] = mnemonic + operands
            if mnemonic in CLAMPS:
                texts[name.replace(" ", "_") + "_clamp"] = f"{mnemonic}{operands} clamp"
    on, rng = bench(target, texts), np.random.default_rng(seed)
    a, b, third, old = (integers(rng, "u32", on.lanes) for _ in range(4))
    third[::3] = rng.choice(np.array([0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0], np.uint32), len(third[::3]))
    a[::4], b[::4] = 0x88888888, rng.choice(np.array([0x77777777, 0x88888888], np.uint32), len(b[::4]))
    for name, (bits, signs, operands) in INTEGER.items():
        start = third if operands.count("v6") else old
        signed = "_i32_" in name
        total = (parts(a, bits, signs[0]) * parts(b, bits, signs[1])).sum(0)
        total += start.view(np.int32) if signed else start
        low, high = (-(2**31), 2**31 - 1) if signed else (0, 2**32 - 1)
        key = name.replace(" ", "_")
        for text, value in ((key, total), (f"{key}_clamp", total.clip(low, high))):
            if text in texts:
                got = on.run(text, {2: a, 4: b, 6: third, 10: old}, exec_mask=mask).vector(10)
                wanted = np.where(active(mask, on.lanes), value.astype(np.uint64).astype(np.uint32), old)
                np.testing.assert_array_equal(got, wanted, text)


def packed(rng: np.random.Generator, kind: Any, lanes: int) -> tuple[Array, Array]:
    """Words of two 16-bit floats (or four of 8 bits), and the f64 values by place."""
    if kind is np.float16:
        numbers = np.stack([floats(rng, "f16", lanes) for _ in range(2)], 1)
        words = numbers.view(np.uint32)[:, 0]
    elif kind is ml_dtypes.bfloat16:
        tops = np.stack([floats(rng, "f32", lanes).view(np.uint32) >> np.uint32(16) for _ in range(2)], 1)
        numbers = tops.astype(np.uint16).view(kind)
        words = numbers.view(np.uint32)[:, 0]
    else:
        words = integers(rng, "u32", lanes)
        numbers = words.view(np.uint8).reshape(-1, 4).view(kind)
    with np.errstate(invalid="ignore"):
        return words, numbers.astype(np.float64).T


def chained(a: Array, b: Array, start: Array, kind: Any) -> Array:
    """Lowest product first; a product is exact, each sum rounds once to the type."""
    with np.errstate(all="ignore"):
        total = list(start.astype(kind))
        for x, y in zip(a, b, strict=True):
            total = [fused(p, q, t, kind) for p, q, t in zip(x, y, total, strict=True)]
    return np.array(total, kind)


def same(found: Array, wanted: Array, message: str) -> None:
    """Equal bits, any NaN for any other."""
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan, message)
    bits = f"u{found.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[~nan], wanted.view(bits)[~nan], message)


HALF, BRAIN = np.float16, ml_dtypes.bfloat16
SINGLE = {
    "v_dot2_f32_f16": (HALF, HALF), "v_dot2c_f32_f16": (HALF, HALF), "v_dot2acc_f32_f16": (HALF, HALF),
    "v_dot2_f32_bf16": (BRAIN, BRAIN), "v_dot2c_f32_bf16": (BRAIN, BRAIN), "v_dot2acc_f32_bf16": (BRAIN, BRAIN),
    **{
        f"v_dot4_f32_{m}_{n}": (x, y)
        for m, x in (("fp8", ml_dtypes.float8_e4m3fn), ("bf8", ml_dtypes.float8_e5m2))
        for n, y in (("fp8", ml_dtypes.float8_e4m3fn), ("bf8", ml_dtypes.float8_e5m2))
    },
}  # fmt: skip


def spelt(name: str) -> str:
    if "dot2acc" in name:
        return f"v_dual_mov_b32 v11, v7 :: {name.replace('v_', 'v_dual_')} v10, v2, v4"
    return f"{name} v10, v2, v4{'' if 'dot2c' in name else ', v6'}"


@pytest.mark.parametrize("target", ["gfx90a", "gfx950", "gfx1100", "gfx1201"])
@settings(max_examples=3, deadline=None)
@given(seed=seeds, mask=masks)
def test_floats_add_up_in_single_precision(target: str, seed: int, mask: int) -> None:
    """Sixteen- and eight-bit floats, into a third source or onto the destination, special values included."""
    texts = {n: spelt(n) for n in SINGLE if knows(target, n)}
    on, rng = bench(target, texts), np.random.default_rng(seed)
    lanes = active(mask, on.lanes)
    third, old = (floats(rng, "f32", on.lanes) for _ in range(2))
    for name, text in texts.items():
        (a, x), (b, y) = (packed(rng, kind, on.lanes) for kind in SINGLE[name])
        got = on.run(name, {2: a, 4: b, 6: third, 10: old}, exec_mask=mask).vector(10, np.float32)
        wanted = chained(x, y, third if text.endswith("v6") else old, np.float32)
        same(got[lanes], wanted[lanes], name)
        np.testing.assert_array_equal(got.view(np.uint32)[~lanes], old.view(np.uint32)[~lanes])


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@settings(max_examples=3, deadline=None)
@given(seed=seeds, mask=masks)
def test_floats_add_up_in_sixteen_bits(target: str, seed: int, mask: int) -> None:
    """f16 rounds each sum; bf16 may round once or each time, and is exact where that makes no difference.

    op_sel chooses the half of the third source and of the destination, whose other half stays.
    """
    kinds = {"v_dot2_f16_f16": HALF, "v_dot2_bf16_bf16": BRAIN}
    halves = {"low": "", "high": " op_sel:[0,0,1,1]"}
    texts = {f"{n}_{h}": f"{n} v10, v2, v4, v6{s}" for n in kinds for h, s in halves.items()}
    on, rng = bench(target, texts), np.random.default_rng(seed)
    old, lanes = integers(rng, "u32", on.lanes), active(mask, on.lanes)
    for name, kind in kinds.items():
        (a, x), (b, y), (d, z) = (packed(rng, kind, on.lanes) for _ in range(3))
        small = [rng.integers(-8, 9, (on.lanes, 2)).astype(np.float32).astype(kind) for _ in range(3)]
        for half in halves:
            shift = 16 * (half == "high")
            for words, places in (
                ((a, b, d), (x, y, z)),
                ([s.view(np.uint32)[:, 0] for s in small], [s.astype(np.float64).T for s in small]),
            ):
                inputs = dict(zip((2, 4, 6), words, strict=True)) | {10: old}
                got = on.run(f"{name}_{half}", inputs, exec_mask=mask).vector(10)
                kept = np.uint32(0xFFFF << (16 - shift))
                np.testing.assert_array_equal(got & kept, old & kept)
                np.testing.assert_array_equal(got[~lanes], old[~lanes])
                found = (got >> np.uint32(shift)).astype(np.uint16).view(kind)[lanes]
                p, q, start = places[0][:, lanes], places[1][:, lanes], places[2][shift // 16][lanes]
                if kind is HALF or words[0] is not a:
                    same(found, chained(p, q, start, HALF).astype(kind), name)
                    continue
                with np.errstate(all="ignore"):
                    terms = np.stack([*(p * q), start])
                    total, size = terms.sum(0), np.abs(terms).sum(0)
                    fine = size < 2.0**126
                    error = np.abs(found.astype(np.float64) - total)
                assert (error[fine] <= 2.0**-7 * size[fine] + 2.0**-133).all(), name
                assert np.isnan(found[np.isnan(total)]).all()
