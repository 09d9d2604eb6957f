"""Products with a sum, fused or not, of one type or mixed; normalized integers: against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.emulator.cases import DTYPES, active, floats, halves, integers, masks, seeds
from tests.emulator.exact import lifted, product, rounded, total
from tests.emulator.instructions import bench, knows

Array = NDArray[Any]
TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")

every_target = pytest.mark.parametrize("target", TARGETS)
few = settings(max_examples=2, deadline=None)


def fused(a: float, b: float, c: float, kind: str) -> float:
    """a·b + c, rounded once."""
    return rounded(total(product(lifted(a), lifted(b)), lifted(c)), kind)


def all_fused(a: Array, b: Array, c: Array, kind: str) -> Array:
    each = [fused(float(x), float(y), float(z), kind) for x, y, z in zip(a, b, c, strict=True)]
    return np.array(each).astype(DTYPES[kind])


def zero_wins(a: Array, b: Array, c: Array, kind: str) -> Array:
    zero = (a == 0) | (b == 0)
    return all_fused(np.where(zero, 0, a), np.where(zero, 0, b), c, kind)


def rounded_twice(a: Array, b: Array, c: Array, kind: str) -> Array:
    """On inputs without subnormals of f32, which the hardware takes for zeros in these."""
    with np.errstate(all="ignore"):
        return a * b + c


def assert_same(found: Array, wanted: Array, name: str) -> None:
    """The same bits, or both NaN."""
    bits = f"u{wanted.itemsize}"
    both = np.isnan(found) & np.isnan(wanted)
    np.testing.assert_array_equal(np.where(both, 0, found.view(bits)), np.where(both, 0, wanted.view(bits)), name)


CONSTANT = {"f16": "0x3e48", "f32": "0x3fc90fdb"}
SHAPES = {
    "acc": ("{n} {d}, {a}, {b}", lambda a, b, old, k: (a, b, old)),
    "mk": ("{n} {d}, {a}, {k}, {b}", lambda a, b, old, k: (a, k, b)),
    "ak": ("{n} {d}, {a}, {b}, {k}", lambda a, b, old, k: (a, b, k)),
}
ROWS: dict[str, tuple[str, Callable[..., Array]]] = {
    "v_fmac_f16": ("acc", all_fused), "v_fmac_f32": ("acc", all_fused), "v_fmac_f64": ("acc", all_fused),
    "v_fmamk_f16": ("mk", all_fused), "v_fmamk_f32": ("mk", all_fused), "v_fmaak_f16": ("ak", all_fused),
    "v_fmaak_f32": ("ak", all_fused),
    "v_fmac_legacy_f32": ("acc", zero_wins), "v_fmac_dx9_zero_f32": ("acc", zero_wins),
    "v_mac_f16": ("acc", rounded_twice), "v_mac_f32": ("acc", rounded_twice), "v_madmk_f16": ("mk", rounded_twice),
    "v_madmk_f32": ("mk", rounded_twice), "v_madak_f16": ("ak", rounded_twice), "v_madak_f32": ("ak", rounded_twice),
}  # fmt: skip


def text_of(name: str) -> str:
    kind = name[-3:]
    registers = ["v[10:11]", "v[2:3]", "v[4:5]"] if kind == "f64" else ["v10", "v2", "v4"]
    d, a, b = registers
    return SHAPES[ROWS[name][0]][0].format(n=name, d=d, a=a, b=b, k=CONSTANT.get(kind))


@every_target
@few
@given(seed=seeds, mask=masks)
def test_products_onto_a_register_or_a_constant(target: str, seed: int, mask: int) -> None:
    """One rounding or two; an f16 leaves the other half as it was."""
    texts = {n: text_of(n) for n in ROWS if knows(target, n)}
    on, rng = bench(target, texts), np.random.default_rng(seed)
    lanes = active(mask, on.lanes)
    for name in texts:
        shape, define = ROWS[name]
        kind = name[-3:]
        a, b, old = (floats(rng, kind, on.lanes) for _ in range(3))
        if define is rounded_twice and kind == "f32":
            a, b, old = (np.where(np.abs(x) < 1e-20, np.float32(0), x) for x in (a, b, old))
        upper = integers(rng, "u16", on.lanes)
        before = np.stack((old.view(np.uint16), upper), 1).view(np.uint32)[:, 0] if kind == "f16" else old
        constant = np.full(on.lanes, int(CONSTANT.get(kind, "0"), 16)).astype(f"u{a.itemsize}").view(a.dtype)
        wanted = np.where(lanes, define(*SHAPES[shape][1](a, b, old, constant), kind), old)
        outcome = on.run(name, {2: a, 4: b, 10: before}, exec_mask=mask)
        assert_same(outcome.vector(10, DTYPES[kind]), wanted, name)
        if kind == "f16":
            np.testing.assert_array_equal(halves(outcome.vector(10), high=True), upper, name)


@every_target
@few
@given(seed=seeds, mask=masks)
def test_packed_products_onto_a_register(target: str, seed: int, mask: int) -> None:
    """Each half by itself, rounded once."""
    on, rng = bench(target, {"k": "v_pk_fmac_f16 v10, v2, v4"}), np.random.default_rng(seed)
    a, b, old = (floats(rng, "f16", 2 * on.lanes) for _ in range(3))
    got = on.run("k", {r: x.view(np.uint32) for r, x in ((2, a), (4, b), (10, old))}, exec_mask=mask).vector(10)
    wanted = np.where(np.repeat(active(mask, on.lanes), 2), all_fused(a, b, old, "f16"), old)
    assert_same(got.view(np.float16), wanted, "v_pk_fmac_f16")


# Per source: which half ("f": all 32 bits), |x|, -x. Then whether clamped.
MIXED = {
    10: ("v_fma_mix_f32 v10, v2, v4, v6 op_sel:[0,1,0] op_sel_hi:[1,1,0]", ("l", "h", "f"), False),
    11: ("v_fma_mix_f32 v11, -v2, |v4|, -|v6| op_sel:[0,0,1] op_sel_hi:[0,1,1] clamp", ("-f", "|l", "-|h"), True),
    12: ("v_fma_mixlo_f16 v12, v2, -|v4|, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]", ("h", "-|f", "l"), False),
    13: ("v_fma_mixhi_f16 v13, |v2|, v4, -v6 op_sel:[0,1,1] op_sel_hi:[1,1,1]", ("|l", "h", "-h"), False),
}
MORE = {
    10: ("v_fma_mix_f32 v10, v2, v4, v6", ("f", "f", "f"), False),
    11: ("v_fma_mixlo_f16 v11, v2, v4, v6 clamp", ("f", "f", "f"), True),
    12: ("v_fma_mixhi_f16 v12, -v2, v4, v6 op_sel:[1,0,1] op_sel_hi:[1,1,0] clamp", ("-h", "l", "f"), True),
    13: ("v_fma_mixlo_f16 v13, v2, v4, v6 op_sel:[0,0,1] op_sel_hi:[0,0,1]", ("f", "f", "h"), False),
}


def source(words: Array, form: str) -> Array:
    kept = words.view(np.float32) if form[-1] == "f" else halves(words, form[-1] == "h").view(np.float16)
    kept = kept.astype(np.float32)
    kept = np.abs(kept) if "|" in form else kept
    return -kept if "-" in form else kept


@every_target
@few
@given(seed=seeds, mask=masks)
def test_products_of_mixed_types(target: str, seed: int, mask: int) -> None:
    """Rounded once to f32, and from there to the half that the name says; the other half stays."""
    kernels = {f"k{i}": "\n ".join(text for text, *_ in table.values()) for i, table in enumerate((MIXED, MORE))}
    on, rng = bench(target, kernels), np.random.default_rng(seed)
    lanes = active(mask, on.lanes)
    packed = [floats(rng, "f16", 2 * on.lanes).view(np.uint32) for _ in range(3)]
    a, b = rng.uniform(16, 64, (2, on.lanes)).astype(np.float32)
    cancelling = rng.random(on.lanes) < 0.5  # a sum that is all rounding error, unless fused
    single = [
        np.where(cancelling, x, floats(rng, "f32", on.lanes)).astype(np.float32).view(np.uint32) for x in (a, b, -a * b)
    ]
    halved = rng.random(on.lanes) < 0.5
    words = [np.where(halved, p, s) for p, s in zip(packed, single, strict=True)]
    old = {r: integers(rng, "u32", on.lanes) for r in range(10, 14)}
    for key, table in zip(kernels, (MIXED, MORE), strict=True):
        outcome = on.run(key, dict(zip((2, 4, 6), words, strict=True)) | old, exec_mask=mask)
        for register, (text, forms, clamped) in table.items():
            with np.errstate(all="ignore"):
                wanted = all_fused(*(source(w, f) for w, f in zip(words, forms, strict=True)), "f32")
                wanted = wanted if "mix_f32" in text else wanted.astype(np.float16)
            if clamped:
                wanted = np.where(wanted > 0, np.minimum(wanted, wanted.dtype.type(1)), wanted.dtype.type(0))
            got = outcome.vector(register)
            np.testing.assert_array_equal(got[~lanes], old[register][~lanes], text)
            if "mix_f32" in text:
                assert_same(got.view(np.float32)[lanes], wanted[lanes], text)
                continue
            high = "mixhi" in text
            assert_same(halves(got, high).view(np.float16)[lanes], wanted[lanes], text)
            np.testing.assert_array_equal(halves(got, not high), halves(old[register], not high), text)


def normalized(x: float, most: int, least: int) -> int:
    """x of −1 (or 0) … 1 as a part of the largest integer; of two the even one."""
    return 0 if math.isnan(x) else round(Fraction(min(max(x, least), 1)) * most)


@every_target
@few
@given(seed=seeds, mask=masks)
def test_normalized_integers(target: str, seed: int, mask: int) -> None:
    """The nearest of the 16-bit integers that stand for −1 … 1 or 0 … 1, saturated; a NaN is 0."""
    word = "norm" if knows(target, "v_cvt_pknorm_i16_f32") else "_norm"
    texts = {
        f"{to}_{kind}": f"v_cvt_pk{word}_{to}_{kind} v10, v2, v4" for to in ("i16", "u16") for kind in ("f16", "f32")
    }
    on, rng = bench(target, texts), np.random.default_rng(seed)
    old = integers(rng, "u32", on.lanes)
    for key in texts:
        to, kind = key.split("_")
        most, least = (32767, -1) if to == "i16" else (65535, 0)
        any_, ties = floats(rng, kind, 2 * on.lanes), (rng.integers(-65536, 65536, 2 * on.lanes) + 0.5) / most
        x = np.where(rng.random(2 * on.lanes) < 0.4, any_, ties).astype(DTYPES[kind])
        each = np.array([normalized(float(v), most, least) & 0xFFFF for v in x], np.uint16)
        low, high = x[: on.lanes], x[on.lanes :]
        wanted = each[: on.lanes].astype(np.uint32) | each[on.lanes :].astype(np.uint32) << 16
        got = on.run(key, {2: low, 4: high, 10: old}, exec_mask=mask).vector(10)
        np.testing.assert_array_equal(got, np.where(active(mask, on.lanes), wanted, old), key)
