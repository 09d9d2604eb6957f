"""The steps of a division: scaling, fused steps that undo it, the fix-up; and divisions as compilers write them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given

from tests.emulator.cases import DTYPES, active, floats, masks, seeds
from tests.emulator.exact import FORMATS, rounded
from tests.emulator.instructions import bench
from tests.emulator.test_fused_rows import Array, assert_same, every_target, few, fused

STEP = {"f32": 64, "f64": 128}
FAR = {"f32": 96, "f64": 768}
TINY = {"f32": 23, "f64": 53}
ORDINARY_MASK = {"gfx9": "s[44:45]", "gfx1": "s44"}
VCC = {"gfx9": "vcc", "gfx1": "vcc_lo"}


def names(kind: str, *first: int) -> list[str]:
    return [f"v[{i}:{i + 1}]" if kind == "f64" else f"v{i}" for i in first]


def operands(rng: np.random.Generator, kind: str, count: int) -> tuple[Array, Array]:
    """Numerators and denominators: any, ordinary ones and zeros over such, pairs whose quotient is subnormal or
    overflows, tiny numerators, denominators whose inverse is subnormal; often the same in lanes side by side, which are
    worked on together."""
    dtype, (digits, least, most) = DTYPES[kind], FORMATS[kind]
    choice = rng.integers(0, 6, count)
    if rng.random() < 0.7:
        choice = np.where(rng.random(count // 16) < 0.6, 1, choice[::16]).repeat(16)
    apart = FAR[kind] // 2 - 4 if rng.random() < 0.7 else FAR[kind]
    ordinary = np.ldexp(rng.standard_normal((2, count)), rng.integers(-apart, apart, (2, count)))
    ordinary[0] *= rng.random(count) < 0.9
    below = np.ldexp(1 + rng.random(count), rng.integers(-20, -least, count))
    quotient = rng.integers(1, 1 << rng.integers(2, digits, count)) + rng.choice([0, 0.25, 0.5, 0.75], count)
    with np.errstate(all="ignore"):
        small = np.ldexp(below, least - digits + 1) * quotient
        sizes = rng.random((2, count)) + 1
        near = np.ldexp(sizes, [rng.integers(most - 40, most, count), rng.integers(-40, 40, count)])
        tiny = np.ldexp(sizes, [least + TINY[kind] - 1 + rng.integers(-2, 3, count), rng.integers(least, 0, count)])
        large = np.ldexp(sizes, [rng.integers(-4, 4, count), most - rng.integers(0, 3, count)])
        pairs = (floats(rng, kind, 2 * count).reshape(2, count), ordinary, (small, below), near, tiny, large)
        n, d = (np.choose(choice, [pair[i] for pair in pairs]).astype(dtype) for i in (0, 1))
    return n, d


def scaled(a: float, d: float, n: float, kind: str) -> tuple[float, bool]:
    """What the manuals define, by exponents and exact quotients; but a denominator whose inverse is subnormal is
    lowered where they raise it to infinity."""
    _, least, most = FORMATS[kind]
    smallest, step = Fraction(2) ** least, STEP[kind]

    def biased(x: float) -> int:
        if not math.isfinite(x):
            return 2 * most + 1
        return max(math.frexp(x)[1] - 1 + most, 0) if x else 0

    def is_subnormal(x: Fraction) -> bool:
        return 0 < abs(x) < smallest

    if d == 0 or n == 0:
        return math.nan, False
    power, undone = 0, False
    finite = math.isfinite(d)
    inverse = finite and is_subnormal(1 / Fraction(d))
    quotient = finite and math.isfinite(n) and is_subnormal(Fraction(n) / Fraction(d))
    if biased(n) - biased(d) >= FAR[kind]:
        power, undone = (step if a == d else 0), True
    elif finite and is_subnormal(Fraction(d)):
        power = step
    elif inverse and quotient:
        power, undone = (-step if a == d else 0), True
    elif inverse:
        power = -step
    elif quotient:
        power, undone = (step if a == n else 0), True
    elif biased(n) <= TINY[kind]:
        power = step
    exact = Fraction(a) * Fraction(2) ** power if math.isfinite(a) and a else None
    return (a if exact is None else rounded(exact, kind)), undone


@every_target
@few
@given(seed=seeds, mask=masks)
def test_scaling(target: str, seed: int, mask: int) -> None:
    texts = {}
    for kind in STEP:
        n, d, below, above = names(kind, 2, 4, 10, 12)
        first, second = ORDINARY_MASK[target[:4]], VCC[target[:4]]
        texts[kind] = (
            f"v_div_scale_{kind} {below}, {first}, {d}, {d}, {n}\n v_div_scale_{kind} {above}, {second}, {n}, {d}, {n}"
        )
    on, rng = bench(target, texts), np.random.default_rng(seed)
    lanes = active(mask, on.lanes)
    for kind in texts:
        n, d = operands(rng, kind, on.lanes)
        outcome = on.run(kind, {2: n, 4: d}, exec_mask=mask)
        pairs = list(zip(n.tolist(), d.tolist(), strict=True))
        for register, which in ((10, 1), (12, 0)):
            wanted = [scaled(pair[which], pair[1], pair[0], kind) for pair in pairs]
            values = np.array([value for value, _ in wanted]).astype(DTYPES[kind])
            assert_same(outcome.vector(register, DTYPES[kind])[lanes], values[lanes], kind)
        flags = sum(1 << i for i, (_, undone) in enumerate(wanted) if undone and lanes[i])
        assert outcome.vcc == flags


@every_target
@few
@given(seed=seeds, vcc=masks)
def test_sums_that_undo_the_scaling(target: str, seed: int, vcc: int) -> None:
    """Lanes outside VCC are plain fused products; inside, a power of two belongs to the one rounding. A sum that
    overflows stays infinite."""
    texts = {kind: "v_div_fmas_{} {}, {}, {}, {}".format(kind, *names(kind, 10, 2, 4, 6)) for kind in STEP}
    on, rng = bench(target, texts), np.random.default_rng(seed)
    chosen = active(vcc, on.lanes)
    for kind in texts:
        digits, least, _ = FORMATS[kind]
        any_ = [floats(rng, kind, on.lanes) for _ in range(3)]
        # an estimate, scaled up, of a subnormal quotient that is half way between two, and a correction far below
        half = (rng.integers(0, 1 << 10, on.lanes) + 0.5) * 2.0 ** (least - digits + 1) * 2.0 ** STEP[kind]
        tiny = np.ldexp(half, -digits - 4)
        kept = [rng.choice([-1.0, 1.0], on.lanes), tiny * rng.choice([0, 1], on.lanes), half]
        usual = rng.random(on.lanes) < 0.5
        a, b, c = (np.where(usual, k, x).astype(DTYPES[kind]) for k, x in zip(kept, any_, strict=True))
        wanted = []
        for x, y, z, undone in zip(a.tolist(), b.tolist(), c.tolist(), chosen.tolist(), strict=True):
            plain = fused(x, y, z, kind)
            finite = all(map(math.isfinite, (x, y, z)))
            exact = Fraction(x) * Fraction(y) + Fraction(z) if finite else Fraction(0)
            power = STEP[kind] if abs(z) >= 2 else -STEP[kind]
            moves = undone and exact and math.isfinite(plain)
            wanted.append(rounded(exact * Fraction(2) ** power, kind) if moves else plain)
        got = on.run(kind, {2: a, 4: b, 6: c}, vcc=vcc).vector(10, DTYPES[kind])
        assert_same(got, np.array(wanted).astype(DTYPES[kind]), kind)


@every_target
@few
@given(seed=seeds)
def test_fix_up(target: str, seed: int) -> None:
    """The quotient's size with the operands' sign; IEEE's answer where one of them is special."""
    names_of = {"f16": ["v10", "v6", "v4", "v2"]} | {kind: names(kind, 10, 6, 4, 2) for kind in STEP}
    texts = {kind: "v_div_fixup_{} {}, {}, {}, {}".format(kind, *names_of[kind]) for kind in names_of}
    on, rng = bench(target, texts), np.random.default_rng(seed)
    for kind in texts:
        dtype, (digits, least, _) = DTYPES[kind], FORMATS[kind]
        n, d, q = (floats(rng, kind, on.lanes) for _ in range(3))
        if kind != "f16" and rng.random() < 0.5:
            n, d = operands(rng, kind, on.lanes)
        with np.errstate(all="ignore"):
            exact = n / d
            gap = np.frexp(n)[1] - np.frexp(d)[1]
        special = ~(np.isfinite(n) & np.isfinite(d)) | (n == 0) | (d == 0)
        size = np.where(np.isnan(q), dtype(math.inf), np.abs(q))
        if kind != "f16":
            normal = (np.abs(n) >= 2.0**least) & (np.abs(d) >= 2.0**least)
            size = np.where(normal & (gap < least - digits), dtype(0), size)
            known = normal | special
        else:
            known = np.full(on.lanes, True)
        wanted = np.where(special, exact, np.copysign(size, np.copysign(1, n) * np.copysign(1, d)))
        got = on.run(kind, {2: n, 4: d, 6: q}).vector(10)
        got = (
            got.astype(np.uint16).view(np.float16)
            if kind == "f16"
            else on.run(kind, {2: n, 4: d, 6: q}).vector(10, dtype)
        )
        assert_same(got[known], wanted.astype(dtype)[known], kind)


@every_target
@few
@given(seed=seeds)
def test_divisions_as_compilers_write_them(target: str, seed: int) -> None:
    """Correctly rounded, subnormal quotients and overflows too."""
    mask, vcc = ORDINARY_MASK[target[:4]], VCC[target[:4]]
    texts = {}
    for kind in STEP:
        n, d, quotient, bottom, top, r, t, q = names(kind, 2, 4, 10, 24, 26, 28, 30, 32)
        refine = f"v_fma_{kind} {t}, -{bottom}, {r}, 1.0\n v_fma_{kind} {r}, {t}, {r}, {r}\n "
        texts[kind] = (
            f"v_div_scale_{kind} {bottom}, {mask}, {d}, {d}, {n}\n v_div_scale_{kind} {top}, {vcc}, {n}, {d}, {n}\n "
            f"v_rcp_{kind} {r}, {bottom}\n {refine * (2 if kind == 'f64' else 1)}v_mul_{kind} {q}, {top}, {r}\n "
            f"v_fma_{kind} {t}, -{bottom}, {q}, {top}\n v_fma_{kind} {q}, {t}, {r}, {q}\n "
            f"v_fma_{kind} {t}, -{bottom}, {q}, {top}\n "
            f"v_div_fmas_{kind} {q}, {t}, {r}, {q}\n v_div_fixup_{kind} {quotient}, {q}, {d}, {n}"
        )
    on, rng = bench(target, texts), np.random.default_rng(seed)
    for kind in texts:
        for _ in range(8):
            n, d = operands(rng, kind, on.lanes)
            with np.errstate(all="ignore"):
                exact = n / d
            assert_same(on.run(kind, {2: n, 4: d}, vcc=-1).vector(10, DTYPES[kind]), exact, kind)
