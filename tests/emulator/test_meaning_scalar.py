"""Scalar instructions against definitions in Python integers and NumPy: result, SCC, EXEC."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings

from rocmkern.targets import TARGETS as ALL_TARGETS
from tests.emulator.cases import TARGETS, floats, fused, integers, masks, seeds, width, wrapped
from tests.emulator.instructions import Bench, Outcome, bench, knows

EXAMPLES = 10
ALL32 = (1 << 32) - 1

# A definition returns the result and SCC; None leaves SCC alone, which the tests set beforehand.
Answer = tuple[int, bool | None]
Define = Callable[..., Answer]


def nonzero(function: Callable[..., int], kind: str) -> Define:
    """SCC is whether the result is not 0."""

    def define(*arguments: int) -> Answer:
        result = wrapped(function(*arguments), kind)
        return result, result != 0

    return define


def untouched(function: Callable[..., int]) -> Define:
    return lambda *arguments: (function(*arguments), None)


def overflows(value: int) -> bool:
    return not -(1 << 31) <= value < 1 << 31


def first(mask: int, bit: int, bits: int) -> int:
    """Index of the lowest bit of that value, −1 without any."""
    return next((i for i in range(bits) if mask >> i & 1 == bit), -1)


def last(mask: int, bits: int) -> int:
    """Zeros above the highest one, −1 without any."""
    return bits - mask.bit_length() if mask else -1


def sign_run(value: int, bits: int) -> int:
    return last(value if value >= 0 else ~value, bits)


def field(a: int, control: int, bits: int) -> int:
    offset, count = control & (bits - 1), control >> 16 & 0x7F
    return a >> offset & ((1 << count) - 1) if count < bits else a >> offset & ((1 << bits) - 1)


def signed_field(a: int, control: int, bits: int) -> int:
    count = min(control >> 16 & 0x7F, bits)
    found = field(a, control, bits)
    return found - (1 << count) if count and found >> (count - 1) & 1 else found


def replicated(a: int) -> int:
    return sum((3 << 2 * i) for i in range(32) if a >> i & 1)


def halves(a: int) -> tuple[int, int]:
    return a & 0xFFFF, a >> 16 & 0xFFFF


Table = dict[str, tuple[str, str, Define]]


def logic(bits: int) -> Table:
    """Bitwise operations of 32 or 64 bits, each under the names of both families."""
    kind = f"u{bits}"
    two = f"{kind} {kind}"
    return {
        f"s_and_b{bits}": (kind, two, nonzero(operator.and_, kind)),
        f"s_or_b{bits}": (kind, two, nonzero(operator.or_, kind)),
        f"s_xor_b{bits}": (kind, two, nonzero(operator.xor, kind)),
        f"s_andn2_b{bits} s_and_not1_b{bits}": (kind, two, nonzero(lambda a, b: a & ~b, kind)),
        f"s_orn2_b{bits} s_or_not1_b{bits}": (kind, two, nonzero(lambda a, b: a | ~b, kind)),
        f"s_nand_b{bits}": (kind, two, nonzero(lambda a, b: ~(a & b), kind)),
        f"s_nor_b{bits}": (kind, two, nonzero(lambda a, b: ~(a | b), kind)),
        f"s_xnor_b{bits}": (kind, two, nonzero(lambda a, b: ~(a ^ b), kind)),
        f"s_not_b{bits}": (kind, kind, nonzero(operator.invert, kind)),
        f"s_lshl_b{bits}": (kind, f"{kind} u32", nonzero(lambda a, b: a << (b & bits - 1), kind)),
        f"s_lshr_b{bits}": (kind, f"{kind} u32", nonzero(lambda a, b: a >> (b & bits - 1), kind)),
        f"s_ashr_i{bits}": (f"i{bits}", f"i{bits} u32", nonzero(lambda a, b: a >> (b & bits - 1), f"i{bits}")),
        f"s_bfe_u{bits}": (kind, f"{kind} u32", nonzero(lambda a, b: field(a, b, bits), kind)),
        f"s_bfe_i{bits}": (f"i{bits}", f"{kind} u32", nonzero(lambda a, b: signed_field(a, b, bits), f"i{bits}")),
        f"s_bfm_b{bits}": (kind, "u32 u32", untouched(lambda a, b: ((1 << (a & bits - 1)) - 1) << (b & bits - 1))),
        f"s_brev_b{bits}": (kind, kind, untouched(lambda a: int(f"{a:0{bits}b}"[::-1], 2))),
        f"s_bcnt0_i32_b{bits}": ("u32", kind, nonzero(lambda a: bits - a.bit_count(), "u32")),
        f"s_bcnt1_i32_b{bits}": ("u32", kind, nonzero(int.bit_count, "u32")),
        f"s_ff0_i32_b{bits}": ("i32", kind, untouched(lambda a: first(a, 0, bits))),
        f"s_ff1_i32_b{bits} s_ctz_i32_b{bits}": ("i32", kind, untouched(lambda a: first(a, 1, bits))),
        f"s_flbit_i32_b{bits} s_clz_i32_u{bits}": ("i32", kind, untouched(lambda a: last(a, bits))),
        f"s_mov_b{bits}": (kind, kind, untouched(lambda a: a)),
        f"s_wqm_b{bits}": (kind, kind, nonzero(lambda a: sum(15 << i for i in range(0, bits, 4) if a >> i & 15), kind)),
        f"s_quadmask_b{bits}": (
            kind, kind, nonzero(lambda a: sum(1 << i // 4 for i in range(0, bits, 4) if a >> i & 15), kind)
        ),
    }  # fmt: skip


# s_max sets SCC on strict inequality, as silicon does and against the manuals' ≥.
ARITHMETIC: Table = {
    "s_add_u32 s_add_co_u32": ("u32", "u32 u32", lambda a, b: (a + b, a + b > ALL32)),
    "s_sub_u32 s_sub_co_u32": ("u32", "u32 u32", lambda a, b: (a - b, a < b)),
    "s_add_i32 s_add_co_i32": ("i32", "i32 i32", lambda a, b: (a + b, overflows(a + b))),
    "s_sub_i32 s_sub_co_i32": ("i32", "i32 i32", lambda a, b: (a - b, overflows(a - b))),
    "s_addc_u32 s_add_co_ci_u32": ("u32", "u32 u32 scc", lambda a, b, c: (a + b + c, a + b + c > ALL32)),
    "s_subb_u32 s_sub_co_ci_u32": ("u32", "u32 u32 scc", lambda a, b, c: (a - b - c, a - b - c < 0)),
    "s_add_nc_u64 s_add_u64": ("u64", "u64 u64", untouched(lambda a, b: a + b)),
    "s_sub_nc_u64 s_sub_u64": ("u64", "u64 u64", untouched(lambda a, b: a - b)),
    "s_mul_u64": ("u64", "u64 u64", untouched(lambda a, b: a * b)),
    "s_mul_i32": ("i32", "i32 i32", untouched(lambda a, b: a * b)),
    "s_mul_hi_u32": ("u32", "u32 u32", untouched(lambda a, b: a * b >> 32)),
    "s_mul_hi_i32": ("i32", "i32 i32", untouched(lambda a, b: a * b >> 32)),
    "s_min_i32": ("i32", "i32 i32", lambda a, b: (min(a, b), a < b)),
    "s_min_u32": ("u32", "u32 u32", lambda a, b: (min(a, b), a < b)),
    "s_max_i32": ("i32", "i32 i32", lambda a, b: (max(a, b), a > b)),
    "s_max_u32": ("u32", "u32 u32", lambda a, b: (max(a, b), a > b)),
    "s_absdiff_i32": ("u32", "i32 i32", nonzero(lambda a, b: abs(wrapped(a - b, "i32")), "u32")),
    "s_abs_i32": ("u32", "i32", nonzero(abs, "u32")),
    "s_cselect_b32": ("u32", "u32 u32 scc", lambda a, b, c: (a if c else b, None)),
    "s_cselect_b64": ("u64", "u64 u64 scc", lambda a, b, c: (a if c else b, None)),
    "s_cmov_b32": ("u32", "u32 scc old", lambda a, c, old: (a if c else old, None)),
    "s_cmov_b64": ("u64", "u64 scc old", lambda a, c, old: (a if c else old, None)),
    "s_lshl1_add_u32": ("u32", "u32 u32", lambda a, b: ((a << 1) + b, (a << 1) + b > ALL32)),
    "s_lshl2_add_u32": ("u32", "u32 u32", lambda a, b: ((a << 2) + b, (a << 2) + b > ALL32)),
    "s_lshl3_add_u32": ("u32", "u32 u32", lambda a, b: ((a << 3) + b, (a << 3) + b > ALL32)),
    "s_lshl4_add_u32": ("u32", "u32 u32", lambda a, b: ((a << 4) + b, (a << 4) + b > ALL32)),
    "s_pack_ll_b32_b16": ("u32", "u32 u32", untouched(lambda a, b: halves(a)[0] | halves(b)[0] << 16)),
    "s_pack_lh_b32_b16": ("u32", "u32 u32", untouched(lambda a, b: halves(a)[0] | halves(b)[1] << 16)),
    "s_pack_hh_b32_b16": ("u32", "u32 u32", untouched(lambda a, b: halves(a)[1] | halves(b)[1] << 16)),
    "s_pack_hl_b32_b16": ("u32", "u32 u32", untouched(lambda a, b: halves(a)[1] | halves(b)[0] << 16)),
    "s_sext_i32_i8": ("i32", "u32", untouched(lambda a: (a & 0xFF ^ 0x80) - 0x80)),
    "s_sext_i32_i16": ("i32", "u32", untouched(lambda a: (a & 0xFFFF ^ 0x8000) - 0x8000)),
    "s_flbit_i32 s_cls_i32": ("i32", "i32", untouched(lambda a: sign_run(a, 32))),
    "s_flbit_i32_i64 s_cls_i32_i64": ("i32", "i64", untouched(lambda a: sign_run(a, 64))),
    "s_bitset0_b32": ("u32", "u32 old", lambda a, old: (old & ~(1 << (a & 31)), None)),
    "s_bitset1_b32": ("u32", "u32 old", lambda a, old: (old | 1 << (a & 31), None)),
    "s_bitset0_b64": ("u64", "u32 old", lambda a, old: (old & ~(1 << (a & 63)), None)),
    "s_bitset1_b64": ("u64", "u32 old", lambda a, old: (old | 1 << (a & 63), None)),
    "s_bitreplicate_b64_b32": ("u64", "u32", untouched(replicated)),
}
COMPARE = {
    "eq": operator.eq, "lg": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


def compared(function: Callable[[Any, Any], bool]) -> Define:
    return lambda a, b: (0, bool(function(a, b)))


COMPARISONS: Table = {
    **{f"s_cmp_{n}_{k}": ("none", f"{k} {k}", compared(f)) for n, f in COMPARE.items() for k in ("i32", "u32", "u64")},
    "s_bitcmp0_b32": ("none", "u32 u32", lambda a, b: (0, not a >> (b & 31) & 1)),
    "s_bitcmp1_b32": ("none", "u32 u32", lambda a, b: (0, bool(a >> (b & 31) & 1))),
    "s_bitcmp0_b64": ("none", "u64 u32", lambda a, b: (0, not a >> (b & 63) & 1)),
    "s_bitcmp1_b64": ("none", "u64 u32", lambda a, b: (0, bool(a >> (b & 63) & 1))),
}


@frozen
class Scalar:
    """One scalar instruction; sources `scc` and `old` are implicit, result `none` is SCC alone."""

    name: str
    result: str
    sources: tuple[str, ...]
    define: Define

    @property
    def explicit(self) -> list[str]:
        return [s for s in self.sources if s not in ("scc", "old")]

    @property
    def text(self) -> str:
        operands = [] if self.result == "none" else [span(40, self.result)]
        operands += [span(24 + 2 * i, kind) for i, kind in enumerate(self.explicit)]
        return f"{self.name} {', '.join(operands)}"


def span(index: int, kind: str) -> str:
    return f"s[{index}:{index + 1}]" if width(kind) == 64 else f"s{index}"


def rows(table: Table) -> list[Scalar]:
    return [Scalar(n, r, tuple(s.split()), d) for names, (r, s, d) in table.items() for n in names.split()]


EVERY = rows(logic(32) | logic(64) | ARITHMETIC | COMPARISONS)
KNOWN = [(t, s) for t in TARGETS for s in EVERY if knows(t, s.name)]


@cache
def assembled(target: str) -> Bench:
    return bench(target, {s.name: s.text for t, s in KNOWN if t == target})


def result_of(outcome: Outcome, kind: str) -> int:
    return wrapped(outcome.s40, kind)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, scc=masks)
def test_scalar_results_and_scc_are_as_defined(target: str, seed: int, scc: int) -> None:
    """The result modulo its width, and SCC, which many instructions leave alone."""
    for number, row in enumerate(s for t, s in KNOWN if t == target):
        check(target, row, seed + number, scc & 1)


def check(target: str, row: Scalar, seed: int, scc: int) -> None:
    rng = np.random.default_rng(seed)
    sources = [int(integers(rng, kind, 1)[0]) for kind in row.explicit]
    if len(set(row.explicit)) == 1 and rng.random() < 0.25:
        sources = sources[:1] * len(sources)
    old = int(integers(rng, "u64", 1)[0])
    scalars = [0] * 8
    for i, value in enumerate(sources):
        scalars[2 * i : 2 * i + 2] = [value & ALL32, value >> 32 & ALL32]
    scalars[4:6] = [old & ALL32, old >> 32]
    outcome = assembled(target).run(row.name, {}, scc=scc, scalars=tuple(scalars))
    implicit = {"scc": scc, "old": old & ((1 << width(row.result)) - 1) if row.result != "none" else 0}
    wanted, flag = row.define(*sources, *(implicit[s] for s in row.sources if s in implicit))
    if row.result != "none":
        assert result_of(outcome, row.result) == wrapped(wanted, row.result), row.name
    assert outcome.scc == (scc if flag is None else flag), row.name


SAVE = {
    "and": lambda s, e: s & e, "or": lambda s, e: s | e, "xor": lambda s, e: s ^ e, "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e), "xnor": lambda s, e: ~(s ^ e), "andn1": lambda s, e: ~s & e,
    "andn2": lambda s, e: s & ~e, "orn1": lambda s, e: ~s | e, "orn2": lambda s, e: s | ~e,
    "and_not0": lambda s, e: ~s & e, "and_not1": lambda s, e: s & ~e, "or_not0": lambda s, e: ~s | e,
    "or_not1": lambda s, e: s | ~e,
}  # fmt: skip


def saving(target: str) -> dict[str, str]:
    """The forms of the target's wave size."""
    wide = ALL_TARGETS[target].wave_size == 64
    bits, to, source = ("b64", "s[40:41]", "s[24:25]") if wide else ("b32", "s40", "s24")
    names = [f"s_{n}_{kind}_{bits}" for n in SAVE for kind in ("saveexec", "wrexec")]
    return {n: f"{n} {to}, {source}" for n in names if knows(target, n)}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds, mask=masks)
def test_exec_is_combined_and_saved(target: str, seed: int, mask: int) -> None:
    """saveexec returns the old EXEC, wrexec the new one; SCC is whether any lane is left."""
    forms = saving(target)
    on = bench(target, forms)
    full = (1 << on.lanes) - 1
    source = int(integers(np.random.default_rng(seed), "u64", 1)[0])
    assert len(forms) >= 10
    for name in forms:
        outcome = on.run(name, {}, exec_mask=mask, scalars=(source & ALL32, source >> 32))
        operation = name.removeprefix("s_").rsplit("_", 2)[0]
        combined = SAVE[operation](source, mask) & full
        saved = mask & full if "saveexec" in name else combined
        assert (outcome.exec_mask, outcome.s40 & full, outcome.scc) == (combined, saved, combined != 0), name


def immediate(target: str) -> dict[str, str]:
    found = {
        "s_movk_i32": "s_movk_i32 s40, 0x8765",
        "s_cmovk_i32": "s_cmovk_i32 s40, 0x8765",
        "s_mulk_i32": "s_mulk_i32 s40, 0x8765",
        "s_addk_i32": "s_addk_i32 s40, 0x8765",
        "s_addk_co_i32": "s_addk_co_i32 s40, 0x8765",
        **{f"s_cmpk_{n}_{k}": f"s_cmpk_{n}_{k} s24, 0x8765" for n in COMPARE for k in ("i32", "u32")},
    }
    return {name: text for name, text in found.items() if knows(target, name)}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds, scc=masks)
def test_immediates_are_sign_extended_but_for_unsigned_comparison(target: str, seed: int, scc: int) -> None:
    """simm16 0x8765 is −30875; s_cmpk_*_u32 takes it as 34661."""
    scc &= 1
    rng = np.random.default_rng(seed)
    value = int(integers(rng, "i32", 1)[0]) if seed % 3 else 0x8765 * (1 - seed % 2 * 2)
    on = bench(target, immediate(target))
    k = 0x8765 - 0x10000
    for name in immediate(target):
        outcome = on.run(name, {}, scc=scc, scalars=(value & ALL32, 0, 0, 0, value & ALL32))
        if name.startswith("s_cmpk"):
            predicate, kind = name.split("_")[2:]
            other = 0x8765 if kind == "u32" else k
            assert outcome.scc == COMPARE[predicate](wrapped(value, kind), other), name
            continue
        wanted, flag = {
            "s_movk_i32": (k, scc), "s_cmovk_i32": (k if scc else value, scc), "s_mulk_i32": (value * k, scc),
            "s_addk_i32": (value + k, overflows(value + k)), "s_addk_co_i32": (value + k, overflows(value + k)),
        }[name]  # fmt: skip
        assert (wrapped(outcome.scalar("s40"), "i32"), outcome.scc) == (wrapped(wanted, "i32"), flag), name


FLOAT = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
}  # fmt: skip
FLOAT_COMPARE = {
    "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "lg": lambda a, b: (a < b) | (a > b), "ge": lambda a, b: a >= b, "o": lambda a, b: (a == a) & (b == b),
    "u": lambda a, b: (a != a) | (b != b), "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b), "nle": lambda a, b: ~(a <= b), "neq": lambda a, b: a != b,
    "nlt": lambda a, b: ~(a < b),
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx1151", "gfx1201"])
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_scalar_floats(target: str, seed: int) -> None:
    """Arithmetic, comparison and conversion equal NumPy's; any NaN stands for any other."""
    forms = {f"s_{n}_{k}": f"s_{n}_{k} s40, s24, s26" for n in FLOAT for k in ("f32", "f16")}
    forms |= {f"s_cmp_{n}_{k}": f"s_cmp_{n}_{k} s24, s26" for n in FLOAT_COMPARE for k in ("f32", "f16")}
    on = bench(target, forms)
    rng = np.random.default_rng(seed)
    for kind, bits in (("f32", np.uint32), ("f16", np.uint16)):
        a, b = (floats(rng, kind, 1) for _ in range(2))
        scalars = (int(a.view(bits)[0]), 0, int(b.view(bits)[0]))
        with np.errstate(all="ignore"):
            for name, function in FLOAT.items():
                outcome = on.run(f"s_{name}_{kind}", {}, scalars=scalars)
                got = np.array([outcome.scalar("s40") & np.iinfo(bits).max], bits).view(a.dtype)
                np.testing.assert_array_equal(got, function(a, b), err_msg=name)
            for name, predicate in FLOAT_COMPARE.items():
                outcome = on.run(f"s_cmp_{name}_{kind}", {}, scalars=scalars)
                assert outcome.scc == predicate(a, b)[0], (name, a, b)


CONVERT = {
    "s_cvt_f32_i32": ("i32", lambda a: np.float32(a)), "s_cvt_f32_u32": ("u32", lambda a: np.float32(a)),
    "s_trunc_f32": ("f32", np.trunc), "s_ceil_f32": ("f32", np.ceil), "s_floor_f32": ("f32", np.floor),
    "s_rndne_f32": ("f32", np.rint),
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx1151", "gfx1201"])
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_scalar_conversions_and_rounding(target: str, seed: int) -> None:
    """One result per wave, NumPy's."""
    on = bench(target, {n: f"{n} s40, s24" for n in CONVERT})
    rng = np.random.default_rng(seed)
    for name, (kind, function) in CONVERT.items():
        a = floats(rng, kind, 1) if kind == "f32" else integers(rng, kind, 1)
        outcome = on.run(name, {}, scalars=(int(a.view(np.uint32)[0]),))
        with np.errstate(all="ignore"):
            wanted = np.asarray(function(a), np.float32)
        np.testing.assert_array_equal(np.array([outcome.scalar("s40")], np.uint32).view(np.float32), wanted, name)


def least_or_greatest(name: str, a: Any, b: Any) -> Any:
    """-0 is below +0; the 2019 operations keep a NaN, the others only a signalling one."""
    less = "min" in name
    quiet = [bool(v.view(f"u{v.itemsize}") >> (22 if v.itemsize == 4 else 9) & 1) for v in (a, b)]
    nan = [bool(np.isnan(v)) for v in (a, b)]
    if any(nan):
        keeps = "mum" in name or any(n and not q for n, q in zip(nan, quiet, strict=True))
        return a * np.nan if keeps or all(nan) else b if nan[0] else a
    below = a < b or (a == b and bool(np.signbit(a)))
    return a if below == less else b


EXTREMES = ("min", "max", "min_num", "max_num", "minimum", "maximum")
ROUNDED = {"trunc": np.trunc, "ceil": np.ceil, "floor": np.floor, "rndne": np.rint}


@pytest.mark.parametrize("target", ["gfx1151", "gfx1201"])
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_scalar_extremes_fused_sums_and_halves(target: str, seed: int) -> None:
    """fmac rounds once, onto the destination; f16 rounds to integers and widens, the high half too."""
    known = [n for n in EXTREMES if knows(target, f"s_{n}_f32")]
    assert len(known) == {"gfx1151": 2, "gfx1201": 4}[target]
    kinds = {"f32": np.uint32, "f16": np.uint16}
    texts = {f"s_{n}_{k}": f"s_{n}_{k} s40, s24, s26" for n in (*known, "fmac") for k in kinds}
    texts |= {f"s_{n}_f16": f"s_{n}_f16 s40, s24" for n in ROUNDED}
    texts |= {n: f"{n} s40, s24" for n in ("s_cvt_f32_f16", "s_cvt_hi_f32_f16", "s_cvt_f16_f32")}
    on, rng = bench(target, texts), np.random.default_rng(seed)

    def holds(name: str, wanted: Any, *sources: Any) -> None:
        bits = [int(v.view(f"u{v.itemsize}")) for v in sources]
        scalars = (bits[0], 0, bits[1] if len(bits) > 1 else 0, 0, bits[2] if len(bits) > 2 else 0)
        got = np.array(on.run(name, {}, scalars=scalars).scalar("s40"), np.uint32)
        found = got.astype(f"u{wanted.itemsize}").view(wanted.dtype)
        message = f"{name} {sources}"
        np.testing.assert_array_equal(found, wanted, message)
        assert np.isnan(wanted) or np.signbit(found) == np.signbit(wanted), message

    with np.errstate(all="ignore"):
        for kind in kinds:
            a, b, d = floats(rng, kind, 3)
            if seed % 4 == 0:
                b = -a if seed % 8 else np.copysign(a, a.dtype.type(-1))
            for name in known:
                holds(f"s_{name}_{kind}", least_or_greatest(name, a, b), a, b)
            holds(f"s_fmac_{kind}", fused(a, b, d, a.dtype.type), a, b, d)
        single = floats(rng, "f32", 1)[0]
        for name, function in ROUNDED.items():
            holds(f"s_{name}_f16", function(a), a)
        holds("s_cvt_f32_f16", a.astype(np.float32), a)
        holds("s_cvt_hi_f32_f16", b.astype(np.float32), np.uint32(int(b.view(np.uint16)) << 16 | 0x1234))
        holds("s_cvt_f16_f32", single.astype(np.float16), single)
