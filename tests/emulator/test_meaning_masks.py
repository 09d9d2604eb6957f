"""Instructions with lane masks: carries, comparisons, selection; and the pairs of multiply and add with 64 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.cases import (
    TARGETS,
    Case,
    active,
    assembled,
    integers,
    known,
    masks,
    seeds,
    values,
    wrapped,
)
from tests.emulator.instructions import Bench, bench, knows

EXAMPLES = 6
ALL32 = 0xFFFFFFFF


def mask_of(bits: list[bool]) -> int:
    return sum(1 << i for i, bit in enumerate(bits) if bit)


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "f": lambda a, b: False, "lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt,
    "ne": operator.ne, "ge": operator.ge, "t": lambda a, b: True,
}  # fmt: skip
COMPARISONS = tuple(
    Case(f"v_{kind}_{predicate}_{of}", "u32", (of, of), define)
    for kind in ("cmp", "cmpx")
    for predicate, define in COMPARE.items()
    for of in ("u16", "i16", "u32", "i32", "u64", "i64")
)
FLOAT_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "f": lambda a, b: False, "lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt,
    "lg": lambda a, b: a < b or a > b, "ge": operator.ge, "o": lambda a, b: a == a and b == b,
    "u": lambda a, b: a != a or b != b, "nge": lambda a, b: not a >= b, "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b, "nle": lambda a, b: not a <= b, "neq": operator.ne,
    "nlt": lambda a, b: not a < b, "tru": lambda a, b: True,
}  # fmt: skip
COMPARISONS += tuple(
    Case(f"v_{kind}_{predicate}_{of}", "u32", (of, of), define)
    for kind in ("cmp", "cmpx")
    for predicate, define in FLOAT_COMPARE.items()
    for of in ("f16", "f32", "f64")
)


def comparison_text(target: str, case: Case) -> str:
    dst = "" if case.name.startswith("v_cmpx") and target in ("gfx1030", "gfx1100", "gfx1201") else "vcc, "
    if dst and target in ("gfx1030", "gfx1100", "gfx1201"):
        dst = "vcc_lo, "
    pair = "v[2:3], v[4:5]" if case.sources[0] in ("u64", "i64", "f64") else "v2, v4"
    return f"{case.name}_e32 {dst}{pair}"


@cache
def compared(target: str) -> Bench:
    return bench(target, {c.key: comparison_text(target, c) for _, c in known(COMPARISONS, (target,))})


@pytest.mark.parametrize("kind", ["u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"])
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_comparison_sets_the_bits_of_active_lanes(target: str, kind: str, seed: int, mask: int) -> None:
    """VCC gets the comparison in active lanes and 0 elsewhere; v_cmpx narrows EXEC, and writes VCC on CDNA only."""
    on = compared(target)
    rng = np.random.default_rng(seed)
    a, b = (values(rng, kind, on.lanes) for _ in range(2))
    b = np.where(rng.random(on.lanes) < 0.3, a, b)
    lanes = active(mask, on.lanes)
    number = float if kind[0] == "f" else int
    for _, case in known([c for c in COMPARISONS if c.sources[0] == kind], (target,)):
        wanted = mask_of([bool(lanes[i] and case.define(number(a[i]), number(b[i]))) for i in range(on.lanes)])
        outcome = on.run(case.key, {2: a, 4: b}, exec_mask=mask, vcc=0x5555)
        writes_exec = case.name.startswith("v_cmpx")
        writes_vcc = not writes_exec or target in ("gfx90a", "gfx942", "gfx950")
        assert outcome.vcc == (wanted if writes_vcc else 0x5555), case.name
        assert outcome.exec_mask == (wanted if writes_exec else mask & ((1 << on.lanes) - 1)), case.name


CARRIES: dict[str, Callable[[int, int, int], tuple[int, bool]]] = {
    "v_add_co_u32": lambda a, b, c: (a + b, a + b > ALL32),
    "v_sub_co_u32": lambda a, b, c: (a - b, a < b),
    "v_subrev_co_u32": lambda a, b, c: (b - a, b < a),
    "v_addc_co_u32": lambda a, b, c: (a + b + c, a + b + c > ALL32),
    "v_subb_co_u32": lambda a, b, c: (a - b - c, a - b - c < 0),
    "v_subbrev_co_u32": lambda a, b, c: (b - a - c, b - a - c < 0),
    "v_add_co_ci_u32": lambda a, b, c: (a + b + c, a + b + c > ALL32),
    "v_sub_co_ci_u32": lambda a, b, c: (a - b - c, a - b - c < 0),
    "v_subrev_co_ci_u32": lambda a, b, c: (b - a - c, b - a - c < 0),
}


@pytest.mark.parametrize(
    ("target", "name"), [(t, n) for t in TARGETS for n in CARRIES if knows(t, n)], ids=lambda v: str(v)
)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, mask=masks, clamp=st.booleans())
def test_carry_goes_in_and_out_by_mask(target: str, name: str, seed: int, mask: int, clamp: bool) -> None:
    """Sum modulo 2³², or at its limit with clamp, and carry per lane; in VOP3 the masks are any scalar registers."""
    wide = target.startswith("gfx9")
    takes_carry = "_ci_" in name or name.startswith(("v_addc", "v_subb"))
    to, source = ("s[40:41]", "s[24:25]") if wide else ("s40", "s24")
    text = f"{name}_e64 v10, {to}, v2, v4" + (f", {source}" if takes_carry else "")
    on = bench(target, {"carry": text, "held": f"{text} clamp"})
    rng = np.random.default_rng(seed)
    a, b, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    carry = int(rng.integers(0, 2**63))
    outcome = on.run("held" if clamp else "carry", {2: a, 4: b, 10: old}, exec_mask=mask, scalars=(carry, carry >> 32))
    lanes = active(mask, on.lanes)
    results = [CARRIES[name](int(a[i]), int(b[i]), carry >> i & 1) for i in range(on.lanes)]
    limited = [min(max(r, 0), ALL32) if clamp else r & ALL32 for r, _ in results]
    wanted = np.where(lanes, np.array(limited, np.uint32), old)
    np.testing.assert_array_equal(outcome.vector(10), wanted)
    out = outcome.s40 if wide else outcome.scalar("s40")
    assert out == mask_of([bool(lanes[i] and c) for i, (_, c) in enumerate(results)])


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, mask=masks)
def test_selection_takes_the_second_source_where_the_mask_is_set(target: str, seed: int, mask: int) -> None:
    """v_cndmask_b32 by VCC."""
    on = bench(
        target, {"select": "v_cndmask_b32_e32 v10, v2, v4, " + ("vcc" if target.startswith("gfx9") else "vcc_lo")}
    )
    rng = np.random.default_rng(seed)
    a, b, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    vcc = int(rng.integers(0, 2**63)) << 1 | 1
    outcome = on.run("select", {2: a, 4: b, 10: old}, exec_mask=mask, vcc=vcc)
    wanted = np.where(active(vcc, on.lanes), b, a)
    np.testing.assert_array_equal(outcome.vector(10), np.where(active(mask, on.lanes), wanted, old))


WIDE = {
    "v_mad_u64_u32": ("u32", "u64", 64), "v_mad_i64_i32": ("i32", "i64", 63),
    "v_mad_co_u64_u32": ("u32", "u64", 64), "v_mad_co_i64_i32": ("i32", "i64", 63),
}  # fmt: skip


@pytest.mark.parametrize(("target", "name"), [(t, n) for t in TARGETS for n in WIDE if knows(t, n)], ids=str)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, mask=masks, clamp=st.booleans())
def test_wide_multiply_add(target: str, name: str, seed: int, mask: int, clamp: bool) -> None:
    """32 × 32 + 64 bits, modulo 2⁶⁴, or at the limits with clamp."""
    of, into, _ = WIDE[name]
    text = f"{name} v[10:11], {'s[40:41]' if target.startswith('gfx9') else 's40'}, v2, v4, v[6:7]"
    on = bench(target, {"wide": text, "held": f"{text} clamp"})
    rng = np.random.default_rng(seed)
    a, b = (integers(rng, of, on.lanes) for _ in range(2))
    c, old = (integers(rng, into, on.lanes) for _ in range(2))
    outcome = on.run("held" if clamp else "wide", {2: a, 4: b, 6: c, 10: old}, exec_mask=mask)
    limits = np.iinfo(c.dtype)
    sums = [int(a[i]) * int(b[i]) + int(c[i]) for i in range(on.lanes)]
    exact = [min(max(s, limits.min), limits.max) if clamp else wrapped(s, into) for s in sums]
    wanted = np.where(active(mask, on.lanes), np.array(exact, c.dtype), old)
    np.testing.assert_array_equal(outcome.vector(10, c.dtype.type), wanted)


CLASSES = ("snan", "qnan", "-inf", "-normal", "-subnormal", "-0", "+0", "+subnormal", "+normal", "+inf")


def class_of(value: np.floating) -> int:
    """The class bit of one number."""
    info = np.finfo(value.dtype)
    bits = int(value.view(f"u{value.dtype.itemsize}"))
    if value != value:
        return 1 if bits >> (info.nmant - 1) & 1 else 0
    size = abs(value)
    kind = 3 if size == np.inf else 0 if size == 0 else 1 if size < info.tiny else 2
    return 5 - kind if np.signbit(value) else 6 + kind


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds, mask=masks)
def test_class_test_looks_up_a_bit(target: str, seed: int, mask: int) -> None:
    """Bit i of the mask operand says whether class i counts; f16, f32, f64."""
    vcc = "vcc" if target.startswith("gfx9") else "vcc_lo"
    texts = {k: f"v_cmp_class_{k}_e32 {vcc}, {'v[2:3]' if k == 'f64' else 'v2'}, v4" for k in ("f16", "f32", "f64")}
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    for kind in texts:
        x = values(rng, kind, on.lanes)
        wanted = rng.integers(0, 1 << len(CLASSES), on.lanes).astype(np.uint32)
        outcome = on.run(kind, {2: x, 4: wanted}, exec_mask=mask)
        lanes = active(mask, on.lanes)
        bits = [bool(lanes[i] and wanted[i] >> class_of(x[i]) & 1) for i in range(on.lanes)]
        assert outcome.vcc == mask_of(bits), kind


def test_cases_are_found_on_every_target() -> None:
    """No target lost its comparisons through a misspelt name."""
    assert all(len(known(COMPARISONS, (target,))) >= 60 for target in TARGETS)
    assert assembled is not None
