"""Instructions under every rounding and denormal mode, against exact fractions that are rounded as MODE says."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings
from numpy.typing import NDArray

from rocmkern.emulator.meaning import ROWS
from tests.emulator.cases import DTYPES, active, floats, integers, masks, seeds
from tests.emulator.exact import FORMATS, TO_ZERO, Number, flushed, lifted, product, rounded, total
from tests.emulator.instructions import Bench, bench, knows

Array = NDArray[Any]
TARGETS = ("gfx942", "gfx1100")
OTHERS = ("gfx90a", "gfx1030", "gfx950")  # for what those lack
CONSTANT = {"f16": "0x3e48", "f32": "0x3fc90fdb"}
FORMS = {
    "": ("d", "a", "b", "c"), "old": ("d", "a", "b"), "mk": ("d", "a", "k", "b"), "ak": ("d", "a", "b", "k"),
    "pair": ("d", "a", "a"), "byte": ("d", "a", "zero", "c"), "old byte": ("d", "a", "zero"),
}  # fmt: skip


@frozen
class Modes:
    """The fields of MODE."""

    word: int

    def rounding(self, kind: str) -> int:
        return (self.word if kind == "f32" else self.word >> 2) & 3

    def keeps(self, kind: str, which: int) -> bool:
        return kind[0] != "f" or bool(self.word >> (4 if kind == "f32" else 6) + which & 1)


@frozen
class Case:
    """What an instruction computes of its operands: `define(how, *operands)`, exactly but for roundings between.

    The last operand is the old destination in the form "old"; in "ak" it is a constant, in "mk" the second one is.
    """

    result: str
    sources: str
    define: Callable[..., Number]
    rounding: str = ""  # "zero", or the type whose field says how the result is rounded; else its own
    form: str = ""
    between: str = ""  # type of what is rounded first

    @property
    def kinds(self) -> list[str]:
        return self.sources.split()

    def expected(self, mode: Modes, operands: tuple[float, ...]) -> float:
        how = TO_ZERO if self.rounding == "zero" else mode.rounding(self.rounding or self.result)
        taken = [lifted(x if mode.keeps(k, 0) else flushed(x, k)) for x, k in zip(operands, self.kinds, strict=True)]
        if self.between:
            first = mode.rounding(self.between)
            found = rounded(lifted(rounded(self.define(first, *taken), self.between, first)), self.result, how)
        elif self.result == "u8":
            return math.nan if taken[0] != taken[0] else min(max(float(self.define(how, *taken)), 0.0), 255.0)
        else:
            found = rounded(self.define(how, *taken), self.result, how)
        found = min(found, 1 - 2.0 ** -FORMATS[self.result][0]) if self.define is fraction else found
        return found if mode.keeps(self.result, 1) else flushed(found, self.result)


def plus(how: int, a: Number, b: Number) -> Number:
    return total(a, b, how)


def minus(how: int, a: Number, b: Number) -> Number:
    return total(a, -b, how)


def reversed_minus(how: int, a: Number, b: Number) -> Number:
    return minus(how, b, a)


def times(how: int, a: Number, b: Number) -> Number:
    return product(a, b)


def fused(how: int, a: Number, b: Number, c: Number) -> Number:
    return total(product(a, b), c, how)


def twice(kind: str) -> Callable[..., Number]:
    return lambda how, a, b, c: total(lifted(rounded(product(a, b), kind, how)), c, how)


def zero_wins(define: Callable[..., Number]) -> Callable[..., Number]:
    return lambda how, a, b, *c: define(how, *((0.0, 0.0) if not a or not b else (a, b)), *c)


def same(how: int, a: Number) -> Number:
    return a


def scaled(how: int, a: Number, power: Number) -> Number:
    return product(a, Fraction(2) ** int(power))


def fraction(how: int, a: Number) -> Number:
    return total(a, -(a if isinstance(a, float) else lifted(math.floor(a))), how)


def median(how: int, a: Number, b: Number, c: Number) -> Number:
    """Of numbers, zeros of both signs apart."""
    return sorted((a, b, c), key=lambda x: (x, math.copysign(1, x) if isinstance(x, float) else 0))[1]


def larger(how: int, a: Number, b: Number) -> Number:
    if a != a or b != b:
        return b if a != a else a
    return median(how, a, b, math.inf)


def integral(how: int, a: Number) -> Number:
    if isinstance(a, float):
        return a
    whole = (round, math.ceil, math.floor, math.trunc)[how](a)
    return lifted(whole) if whole else math.copysign(0.0, a)


def table() -> dict[str, Case]:
    found = dict[str, Case]()
    for k in FORMATS:
        two, three = f"{k} {k}", f"{k} {k} {k}"
        found |= {f"v_add_{k}": Case(k, two, plus), f"v_mul_{k}": Case(k, two, times)}
        found |= {f"v_fma_{k}": Case(k, three, fused), f"v_fmac_{k}": Case(k, three, fused, form="old")}
        found |= {f"v_max_{k}": Case(k, two, larger), f"v_fract_{k}": Case(k, k, fraction)}
        found |= {f"v_trunc_{k}": Case(k, k, integral, "zero"), f"v_div_fmas_{k}": Case(k, three, fused)}
        found[f"v_ldexp_{k}"] = Case(k, f"{k} {'i16' if k == 'f16' else 'i32'}", scaled)
        if k == "f64":
            continue
        found |= {f"v_sub_{k}": Case(k, two, minus), f"v_subrev_{k}": Case(k, two, reversed_minus)}
        found |= {f"v_med3_{k}": Case(k, three, median), f"v_pk_add_{k}": Case(k, two, plus)}
        found |= {f"v_pk_mul_{k}": Case(k, two, times), f"v_pk_fma_{k}": Case(k, three, fused)}
        found |= {f"v_fma{form}_{k}": Case(k, three, fused, form=form) for form in ("mk", "ak")}
        found |= {f"v_mad{form}_{k}": Case(k, three, twice(k), form=form) for form in ("mk", "ak", "")}
        found |= {f"v_mac_{k}": Case(k, three, twice(k), form="old")}
    for zero in ("legacy", "dx9_zero"):
        found[f"v_mul_{zero}_f32"] = Case("f32", "f32 f32", zero_wins(times))
        found[f"v_fma_{zero}_f32"] = Case("f32", "f32 f32 f32", zero_wins(fused))
        found[f"v_fmac_{zero}_f32"] = Case("f32", "f32 f32 f32", zero_wins(fused), form="old")
    singles = "f32 f32 f32"
    return found | {
        "v_pk_fmac_f16": Case("f16", "f16 f16 f16", fused, form="old"),
        "v_mad_legacy_f32": Case("f32", singles, zero_wins(twice("f32"))),
        "v_mad_legacy_f16": Case("f16", "f16 f16 f16", twice("f16")),
        "v_fma_legacy_f16": Case("f16", "f16 f16 f16", fused),
        "v_fma_mix_f32": Case("f32", singles, fused),
        "v_fma_mixlo_f16": Case("f16", singles, fused, between="f32"),
        "v_fma_mixhi_f16": Case("f16", singles, fused, between="f32"),
        "v_cubema_f32": Case("f32", singles, lambda how, x, y, z: product(Fraction(2), max((z, y, x), key=abs))),
        "v_cvt_f16_f32": Case("f16", "f32", same), "v_cvt_f32_f16": Case("f32", "f16", same),
        "v_cvt_f32_f64": Case("f32", "f64", same, "f64"), "v_cvt_f64_f32": Case("f64", "f32", same),
        "v_cvt_f32_i32": Case("f32", "i32", same), "v_cvt_f32_u32": Case("f32", "u32", same),
        "v_cvt_f16_i16": Case("f16", "i16", same), "v_cvt_f16_u16": Case("f16", "u16", same),
        "v_cvt_f64_i32": Case("f64", "i32", same), "v_cvt_f64_u32": Case("f64", "u32", same),
        "v_cvt_pkrtz_f16_f32": Case("f16", "f32", same, "zero", "pair"),
        "v_cvt_pk_rtz_f16_f32": Case("f16", "f32", same, "zero", "pair"),
        "v_cvt_pk_f16_f32": Case("f16", "f32", same, form="pair"),
        "v_cvt_pk_u8_f32": Case("u8", "f32", integral, "f32", "byte"),
        "v_cvt_pkaccum_u8_f32": Case("u8", "f32", integral, "f32", "old byte"),
    }  # fmt: skip


CASES = table()


def test_every_row_that_rounds_is_here() -> None:
    """Scalar instructions are their vector counterparts, once."""
    missing = {n for n, row in ROWS.items() if row.rounds and "v_" + n[2:] not in CASES}
    assert not missing


def registers(first: int, kind: str) -> str:
    return f"v[{first}:{first + 1}]" if kind == "f64" else f"v{first}"


def is_packed(name: str) -> bool:
    return name.startswith("v_pk_")


def text_of(name: str, case: Case) -> str:
    pairs = is_packed(name) and case.result == "f32"
    named = ["f64" if pairs else k for k in (case.result, *case.kinds)]
    places = [registers(r, k) for r, k in zip((10, 2, 4, 6), named + ["u32"] * 3, strict=False)]
    places = places[: len(named)] if case.form != "byte" else places
    spelled = dict(zip("dabc", places, strict=False)) | {"k": CONSTANT.get(case.result, ""), "zero": "0"}
    listed = [spelled[part] for part in FORMS[case.form] if part in spelled]
    return f"s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s24\n {name} {', '.join(listed)}"


def operands(rng: np.random.Generator, kinds: list[str], lanes: int) -> list[Array]:
    """Any operands; then such that sums cancel or are hardly changed, and that products are about denormal."""
    found = [operand(rng, k, lanes) for k in kinds]
    if kinds[1:] != kinds[:-1] or kinds[0][0] != "f" or len(kinds) == 1:
        return found
    kind, how = kinds[0], rng.integers(0, 8, lanes)
    digits, least, _ = FORMATS[kind]
    with np.errstate(all="ignore"):
        a, last = found[0], found[-1]
        wide = a.astype(np.float64)
        small = np.ldexp(np.abs(wide) * rng.choice([1.0, 1.5, 0.75], lanes), -digits - rng.integers(0, 3, lanes))
        near = np.ldexp(rng.uniform(0.25, 4, lanes), least) / wide
        chosen = np.select([how == 0, how == 1, how == 2, how == 3], [-wide, small, -small, near], last)
        found[-1] = np.where(how < 4, chosen.astype(a.dtype), last)
        if len(kinds) == 3:
            found[1] = np.where(how < 3, found[1].dtype.type(1), np.where(how == 4, near.astype(a.dtype), found[1]))
    return found


def operand(rng: np.random.Generator, kind: str, lanes: int) -> Array:
    if kind[0] == "f":
        return floats(rng, kind, lanes)
    return integers(rng, kind, lanes)


def instructions(target: str) -> dict[str, Case]:
    known = {n: c for n, c in CASES.items() if knows(target, n)}
    return known if target in TARGETS else {n: c for n, c in known.items() if not any(knows(t, n) for t in TARGETS)}


@pytest.mark.parametrize("target", TARGETS + OTHERS)
@settings(max_examples=1, deadline=None)
@given(seed=seeds, mask=masks)
def test_results_are_rounded_and_flushed_as_mode_says(target: str, seed: int, mask: int) -> None:
    """Each of four roundings and of four denormal modes, f32 and f16 with f64 told apart."""
    known = instructions(target)
    on, rng = bench(target, {n: text_of(n, c) for n, c in known.items()}), np.random.default_rng(seed)
    for name, case in known.items():
        for fields in zip(*(rng.permutation(4).tolist() for _ in range(4)), strict=True):
            check(on, name, case, rng, Modes(sum(field << 2 * i for i, field in enumerate(fields))), mask)


def inputs(rng: np.random.Generator, name: str, case: Case, lanes: int) -> list[Array]:
    found = operands(rng, case.kinds, lanes)
    if "ldexp" in name:
        digits, least, most = FORMATS[case.result]
        found[1] = rng.integers(least - most - digits, most - least + digits, lanes).astype(found[1].dtype)
    if case.define in (larger, median) or "cube" in name:  # of quiet ones, or none
        found = [np.where(np.isnan(x), x.dtype.type(np.nan if case.define is larger else 1), x) for x in found]
    if case.form in ("mk", "ak"):
        constant = np.full(lanes, int(CONSTANT[case.result], 16)).astype(f"u{found[0].itemsize}").view(found[0].dtype)
        found.insert(1 if case.form == "mk" else 2, constant)
        found.pop()
    if case.result == "u8":
        found = [np.where(rng.random(lanes) < 0.7, rng.integers(-8, 1032, lanes) / np.float32(4), x) for x in found]
    return [x.astype(DTYPES[k]) for x, k in zip(found, case.kinds, strict=True)]


def check(on: Bench, name: str, case: Case, rng: np.random.Generator, mode: Modes, mask: int) -> None:
    count, lanes, dtype = 2 if is_packed(name) else 1, active(mask, on.lanes), DTYPES.get(case.result, np.uint8)
    values = inputs(rng, name, case, count * on.lanes)
    expected = np.array([case.expected(mode, tuple(x.item() for x in each)) for each in zip(*values, strict=True)])
    with np.errstate(all="ignore"):
        wanted = (np.nan_to_num(expected) if case.result == "u8" else expected).astype(dtype)
    words = [x.view(f"u{2 * x.itemsize}") if count == 2 else x for x in values]
    places = (2, 6, 4) if case.form == "mk" else (2, 4, 10 if case.form == "old" else 6)
    by_register = dict(zip(places, words, strict=False))
    old = integers(rng, "u64", on.lanes)
    if case.form == "old":
        size = words[2].itemsize
        last = words[2].view(f"u{size}").astype(np.uint64)
        old = last if size == 8 else (old >> np.uint64(8 * size) << np.uint64(8 * size)) | last
    outcome = on.run(name, by_register | {10: old}, exec_mask=mask, scalars=(mode.word,))
    result = outcome.vector(10, np.uint64)
    found = (result >> np.uint64(16 if "mixhi" in name else 0)).astype(f"u{count * wanted.itemsize}").view(dtype)
    bits = f"u{wanted.itemsize}"
    differ = (found.view(bits) != wanted.view(bits)) & ((found == found) | (wanted == wanted)) & np.repeat(lanes, count)
    where = np.flatnonzero(differ)[:1]
    assert not differ.any(), (name, hex(mode.word), [x[where] for x in values], found[where], wanted[where])
    np.testing.assert_array_equal(result[~lanes], old[~lanes], name)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=1, deadline=None)
@given(seed=seeds)
def test_sums_that_are_scaled_round_once(target: str, seed: int) -> None:
    """v_div_fmas moves a sum by 2^64, of f64 by 2^128, up where the last operand is 2 or more, else down."""
    names = {"f32": "v_div_fmas_f32 v10, v2, v4, v6", "f64": "v_div_fmas_f64 v[10:11], v[2:3], v[4:5], v[6:7]"}
    setting = "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s24\n "
    on, rng = bench(target, {k: setting + text for k, text in names.items()}), np.random.default_rng(seed)
    for kind, step, reach in (("f32", 64, 20), ("f64", 128, 100)):
        least = FORMATS[kind][1]
        for how in range(4):
            a, b = (rng.uniform(-2, 2, on.lanes).astype(DTYPES[kind]) for _ in range(2))
            c = np.ldexp(rng.uniform(1, 2, on.lanes), rng.integers(least + step - reach, least + step, on.lanes))
            a, c = np.ldexp(a, least + step - reach).astype(a.dtype), c.astype(DTYPES[kind])
            wanted = [
                rounded(product(total(product(lifted(x), lifted(y)), lifted(z), how), Fraction(1, 2**step)), kind, how)
                for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
            ]
            got = on.run(kind, {2: a, 4: b, 6: c}, vcc=-1, scalars=(how | how << 2 | 0xF0,)).vector(10, DTYPES[kind])
            np.testing.assert_array_equal(got, np.array(wanted).astype(DTYPES[kind]), f"{kind} {how}")
