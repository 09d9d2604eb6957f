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

from tests.emulator.cases import DTYPES, active, floats, integers, masks, seeds
from tests.emulator.exact import FORMATS, TO_ZERO, Number, flushed, lifted, product, rounded, total
from tests.emulator.instructions import bench, knows

Array = NDArray[Any]
TARGETS = ("gfx942", "gfx1100")
Define = Callable[..., Number]


@frozen
class Case:
    """What an instruction computes of its operands, exactly; `define(how, *operands)`."""

    result: str
    sources: str
    define: Define
    rounding: str = ""  # type whose field of MODE says how it is rounded; the result's where nothing is said

    def expected(self, mode: int, operands: tuple[float, ...]) -> float:
        kinds = self.sources.split()
        how = TO_ZERO if self.rounding == "zero" else rounding_of(mode, self.rounding or self.result)
        taken = [
            lifted(flushed(x, k) if k[0] == "f" and not keeps(mode, k, 0) else x)
            for x, k in zip(operands, kinds, strict=True)
        ]
        found = rounded(self.define(how, *taken), self.result, how)
        found = min(found, 1 - 2.0 ** -FORMATS[self.result][0]) if self.define is fraction else found
        return found if keeps(mode, self.result, 1) else flushed(found, self.result)


def rounding_of(mode: int, kind: str) -> int:
    return (mode if kind == "f32" else mode >> 2) & 3


def keeps(mode: int, kind: str, which: int) -> bool:
    return bool(mode >> (4 if kind == "f32" else 6) + which & 1)


def plus(how: int, a: Number, b: Number) -> Number:
    return total(a, b, how)


def minus(how: int, a: Number, b: Number) -> Number:
    return total(a, -b, how)


def times(how: int, a: Number, b: Number) -> Number:
    return product(a, b)


def fused(how: int, a: Number, b: Number, c: Number) -> Number:
    return total(product(a, b), c, how)


def same(how: int, a: Number) -> Number:
    return a


def scaled(how: int, a: Number, power: Number) -> Number:
    return product(a, Fraction(2) ** int(power))


def fraction(how: int, a: Number) -> Number:
    return total(a, -(a if isinstance(a, float) else lifted(math.floor(a))), how)


def larger(how: int, a: Number, b: Number) -> Number:
    if isinstance(a, float) and math.isnan(a):
        return b
    if isinstance(b, float) and math.isnan(b):
        return a
    if not a and not b:
        return a if math.copysign(1, a) > 0 else b
    return max(a, b)


def integral(how: int, a: Number) -> Number:
    whole = a if isinstance(a, float) else math.trunc(a)
    return lifted(whole) if whole else math.copysign(0.0, a)


def table() -> dict[str, Case]:
    found = dict[str, Case]()
    for k in FORMATS:
        two, three = f"{k} {k}", f"{k} {k} {k}"
        found |= {f"v_add_{k}": Case(k, two, plus), f"v_mul_{k}": Case(k, two, times)}
        found |= {f"v_fma_{k}": Case(k, three, fused), f"v_max_{k}": Case(k, two, larger)}
        found |= {f"v_trunc_{k}": Case(k, k, integral), f"v_fract_{k}": Case(k, k, fraction)}
        found[f"v_ldexp_{k}"] = Case(k, f"{k} {'i16' if k == 'f16' else 'i32'}", scaled)
        if k != "f64":
            found |= {f"v_sub_{k}": Case(k, two, minus), f"v_subrev_{k}": Case(k, two, lambda h, a, b: minus(h, b, a))}
            found[f"v_pk_add_{k}"] = found[f"v_add_{k}"]
            found[f"v_pk_mul_{k}"] = found[f"v_mul_{k}"]
            found[f"v_pk_fma_{k}"] = found[f"v_fma_{k}"]
    return found | {
        "v_fma_mix_f32": Case("f32", "f32 f32 f32", fused),
        "v_cvt_f16_f32": Case("f16", "f32", same), "v_cvt_f32_f16": Case("f32", "f16", same),
        "v_cvt_f32_f64": Case("f32", "f64", same, "f64"), "v_cvt_f64_f32": Case("f64", "f32", same),
        "v_cvt_f32_i32": Case("f32", "i32", same), "v_cvt_f32_u32": Case("f32", "u32", same),
        "v_cvt_f16_i16": Case("f16", "i16", same), "v_cvt_f16_u16": Case("f16", "u16", same),
        "v_cvt_f64_i32": Case("f64", "i32", same),
        "v_cvt_pkrtz_f16_f32": Case("f16", "f32", same, "zero"),
        "v_cvt_pk_rtz_f16_f32": Case("f16", "f32", same, "zero"),
    }  # fmt: skip


CASES = table()


def registers(first: int, kind: str) -> str:
    return f"v[{first}:{first + 1}]" if kind == "f64" else f"v{first}"


def text_of(name: str, case: Case) -> str:
    pairs = name.startswith("v_pk_") and case.result == "f32"
    named = ["f64" if pairs else k for k in (case.result, *case.sources.split())]
    listed = [registers(r, k) for r, k in zip((10, 2, 4, 6), named, strict=False)]
    if "rtz" in name:
        listed.append(listed[-1])
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


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=1, deadline=None)
@given(seed=seeds, mask=masks)
def test_results_are_rounded_and_flushed_as_mode_says(target: str, seed: int, mask: int) -> None:
    """Each of four roundings and of four denormal modes, f32 and f16 with f64 told apart."""
    known = {n: c for n, c in CASES.items() if knows(target, n)}
    on, rng = bench(target, {n: text_of(n, c) for n, c in known.items()}), np.random.default_rng(seed)
    lanes = active(mask, on.lanes)
    for name, case in known.items():
        for fields in zip(*(rng.permutation(4).tolist() for _ in range(4)), strict=True):
            mode = sum(field << 2 * i for i, field in enumerate(fields))
            check(on, name, case, rng, mode, mask, lanes)


def check(on: Any, name: str, case: Case, rng: np.random.Generator, mode: int, mask: int, lanes: Array) -> None:
    kinds, packed = case.sources.split(), 2 if "_pk_" in name and "rtz" not in name else 1
    given_ = operands(rng, kinds, packed * on.lanes)
    if "ldexp" in name:
        digits, least, most = FORMATS[case.result]
        given_[1] = rng.integers(least - most - digits, most - least + digits, on.lanes).astype(given_[1].dtype)
    if case.define is larger:  # of quiet ones
        given_ = [np.where(np.isnan(x), x.dtype.type(np.nan), x) for x in given_]
    old = integers(rng, "u64", on.lanes)
    expected = [case.expected(mode, tuple(x.item() for x in each)) for each in zip(*given_, strict=True)]
    dtype = DTYPES[case.result]
    with np.errstate(all="ignore"):
        wanted = np.array(expected, np.float64).astype(dtype)
    words = [x.view(np.uint64 if x.itemsize == 4 else np.uint32) if packed == 2 else x for x in given_]
    outcome = on.run(name, dict(zip((2, 4, 6), words, strict=False)) | {10: old}, exec_mask=mask, scalars=(mode,))
    found = outcome.vector(10, (np.uint64 if dtype is np.float32 else np.uint32) if packed == 2 else dtype).view(dtype)
    nan = np.isnan(wanted) & np.isnan(found)
    bits = f"u{wanted.itemsize}"
    differ = (found.view(bits) != wanted.view(bits)) & ~nan & np.repeat(lanes, packed)
    where = np.flatnonzero(differ)[:1]
    assert not differ.any(), (name, hex(mode), [x[where] for x in given_], found[where], wanted[where])
    kept = outcome.vector(10, np.uint64)[~lanes]
    np.testing.assert_array_equal(kept, old[~lanes], name)
