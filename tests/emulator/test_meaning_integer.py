"""Vector integer instructions against definitions in Python integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.emulator.cases import (
    TARGETS,
    Case,
    assembled,
    cases,
    known,
    masks,
    run_lanewise,
    seeds,
    wrapped,
)
from tests.emulator.instructions import bench

EXAMPLES = 6
ALL32 = 0xFFFFFFFF


def leading(value: int) -> int:
    """Zeros above the highest one of 32 bits, −1 without any."""
    return 32 - value.bit_length() if value else -1


def sign_run(value: int) -> int:
    """Leading bits that equal the sign, −1 where all do."""
    return leading(value if value >= 0 else ~value)


def trailing(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else -1


def low24(value: int, signed: bool) -> int:
    value &= 0xFFFFFF
    return value - (1 << 24) if signed and value >> 23 else value


def byte(value: int, i: int) -> int:
    return value >> 8 * i & 0xFF


def half(value: int, i: int) -> int:
    return value >> 16 * i & 0xFFFF


def median(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


def permuted(a: int, b: int, selector: int) -> int:
    """Byte selectors: 0…7 bytes of b then a, 8…11 sign of the odd bytes, 12 zero, above that 0xFF."""
    both = a << 32 | b
    result = 0
    for i in range(4):
        s = byte(selector, i)
        if s < 8:
            chosen = byte(both, s)
        elif s < 12:
            chosen = 0xFF * (both >> (16 * (s - 8) + 15) & 1)
        else:
            chosen = 0 if s == 12 else 0xFF
        result |= chosen << 8 * i
    return result


def signed_field(a: int, offset: int, count: int) -> int:
    count &= 31
    if not count:
        return 0
    a = a >> (offset & 31)
    return wrapped(a << (32 - count), "i32") >> (32 - count)


def field(a: int, offset: int, count: int) -> int:
    return a >> (offset & 31) & ((1 << (count & 31)) - 1)


def sums_of_differences(a: int, b: int, start: int) -> int:
    return start + sum(abs(byte(a, i) - byte(b, i)) for i in range(4))


def masked_differences(a: int, b: int, start: int) -> int:
    """Only where the byte of b is not 0."""
    return start + sum(abs(byte(a, i) - byte(b, i)) for i in range(4) if byte(b, i))


def shifted_bytes(a: int, b: int, count: int, low: int, high: int) -> int:
    first, second = (min(max(v >> count, low), high) & 0xFF for v in (a, b))
    return first | second << 8


def signed16(value: int) -> int:
    return wrapped(value & 0xFFFF, "i16")


def limited_pair(a: int, b: int, low: int, high: int) -> int:
    first, second = (min(max(v, low), high) & 0xFFFF for v in (a, b))
    return first | second << 16


def looked_up(a: int, b: int, c: int) -> int:
    """Bit by bit in the table 0x1B, at the place that a, b and c spell."""
    return sum((0x1B >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))


def averaged(a: int, b: int, round_up: int) -> int:
    return sum(((byte(a, i) + byte(b, i) + (byte(round_up, i) & 1)) >> 1) << 8 * i for i in range(4))


def quad_differences(a: int, b: int, start: int, masked: bool) -> int:
    """Four sums of differences of 4 bytes at a sliding place, each modulo 2¹⁶."""
    result = 0
    for i in range(4):
        total = start >> 16 * i & 0xFFFF
        for k in range(4):
            if not masked or byte(b, k):
                total += abs(byte(a, i + k) - byte(b, k))
        result |= (total & 0xFFFF) << 16 * i
    return result


Table = dict[str, tuple[str, str, Callable[..., int]]]

ARITHMETIC: Table = {
    "v_add_u32 v_add_nc_u32": ("u32", "u32 u32", lambda a, b: a + b),
    "v_sub_u32 v_sub_nc_u32": ("u32", "u32 u32", lambda a, b: a - b),
    "v_subrev_u32 v_subrev_nc_u32": ("u32", "u32 u32", lambda a, b: b - a),
    "v_add_i32 v_add_nc_i32": ("i32", "i32 i32", lambda a, b: a + b),
    "v_sub_i32 v_sub_nc_i32": ("i32", "i32 i32", lambda a, b: a - b),
    "v_add3_u32": ("u32", "u32 u32 u32", lambda a, b, c: a + b + c),
    "v_mul_lo_u32": ("u32", "u32 u32", lambda a, b: a * b),
    "v_mul_hi_u32": ("u32", "u32 u32", lambda a, b: a * b >> 32),
    "v_mul_hi_i32": ("i32", "i32 i32", lambda a, b: a * b >> 32),
    "v_mul_u32_u24": ("u32", "u32 u32", lambda a, b: low24(a, False) * low24(b, False)),
    "v_mul_hi_u32_u24": ("u32", "u32 u32", lambda a, b: low24(a, False) * low24(b, False) >> 32),
    "v_mul_i32_i24": ("i32", "u32 u32", lambda a, b: low24(a, True) * low24(b, True)),
    "v_mul_hi_i32_i24": ("i32", "u32 u32", lambda a, b: low24(a, True) * low24(b, True) >> 32),
    "v_mad_u32_u24": ("u32", "u32 u32 u32", lambda a, b, c: low24(a, False) * low24(b, False) + c),
    "v_mad_i32_i24": ("i32", "u32 u32 i32", lambda a, b, c: low24(a, True) * low24(b, True) + c),
    "v_min_u32": ("u32", "u32 u32", min),
    "v_max_u32": ("u32", "u32 u32", max),
    "v_min_i32": ("i32", "i32 i32", min),
    "v_max_i32": ("i32", "i32 i32", max),
    "v_min3_u32": ("u32", "u32 u32 u32", min),
    "v_max3_u32": ("u32", "u32 u32 u32", max),
    "v_min3_i32": ("i32", "i32 i32 i32", min),
    "v_max3_i32": ("i32", "i32 i32 i32", max),
    "v_med3_u32": ("u32", "u32 u32 u32", median),
    "v_med3_i32": ("i32", "i32 i32 i32", median),
    "v_maxmin_u32": ("u32", "u32 u32 u32", lambda a, b, c: min(max(a, b), c)),
    "v_minmax_u32": ("u32", "u32 u32 u32", lambda a, b, c: max(min(a, b), c)),
    "v_maxmin_i32": ("i32", "i32 i32 i32", lambda a, b, c: min(max(a, b), c)),
    "v_minmax_i32": ("i32", "i32 i32 i32", lambda a, b, c: max(min(a, b), c)),
    "v_sad_u8": ("u32", "u32 u32 u32", sums_of_differences),
    "v_sad_hi_u8": ("u32", "u32 u32 u32", lambda a, b, c: (sums_of_differences(a, b, 0) << 16) + c),
    "v_sad_u16": ("u32", "u32 u32 u32", lambda a, b, c: c + sum(abs(half(a, i) - half(b, i)) for i in (0, 1))),
    "v_sad_u32": ("u32", "u32 u32 u32", lambda a, b, c: abs(a - b) + c),
    "v_msad_u8": ("u32", "u32 u32 u32", masked_differences),
    "v_lerp_u8": ("u32", "u32 u32 u32", averaged),
    "v_lshl_add_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c),
    "v_add_lshl_u32": ("u32", "u32 u32 u32", lambda a, b, c: ((a + b) & ALL32) << (c & 31)),
    "v_xad_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_lshl_add_u64": ("u64", "u64 u32 u64", lambda a, b, c: (a << (b & 7)) + c),
    "v_mad_u32_u16": ("u32", "u16 u16 u32", lambda a, b, c: a * b + c),
    "v_mad_i32_i16": ("i32", "i16 i16 i32", lambda a, b, c: a * b + c),
}

BITS: Table = {
    "v_and_b32": ("u32", "u32 u32", lambda a, b: a & b),
    "v_or_b32": ("u32", "u32 u32", lambda a, b: a | b),
    "v_xor_b32": ("u32", "u32 u32", lambda a, b: a ^ b),
    "v_xnor_b32": ("u32", "u32 u32", lambda a, b: ~(a ^ b)),
    "v_not_b32": ("u32", "u32", lambda a: ~a),
    "v_mov_b32": ("u32", "u32", lambda a: a),
    "v_mov_b64": ("u64", "u64", lambda a: a),
    "v_or3_b32": ("u32", "u32 u32 u32", lambda a, b, c: a | b | c),
    "v_xor3_b32": ("u32", "u32 u32 u32", lambda a, b, c: a ^ b ^ c),
    "v_and_or_b32": ("u32", "u32 u32 u32", lambda a, b, c: a & b | c),
    "v_lshl_or_b32": ("u32", "u32 u32 u32", lambda a, b, c: a << (b & 31) | c),
    "v_lshlrev_b32": ("u32", "u32 u32", lambda a, b: b << (a & 31)),
    "v_lshrrev_b32": ("u32", "u32 u32", lambda a, b: b >> (a & 31)),
    "v_ashrrev_i32": ("i32", "u32 i32", lambda a, b: b >> (a & 31)),
    "v_lshlrev_b64": ("u64", "u32 u64", lambda a, b: b << (a & 63)),
    "v_lshrrev_b64": ("u64", "u32 u64", lambda a, b: b >> (a & 63)),
    "v_ashrrev_i64": ("i64", "u32 i64", lambda a, b: b >> (a & 63)),
    "v_bfm_b32": ("u32", "u32 u32", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "v_bfe_u32": ("u32", "u32 u32 u32", field),
    "v_bfe_i32": ("i32", "u32 u32 u32", signed_field),
    "v_bfi_b32": ("u32", "u32 u32 u32", lambda a, b, c: a & b | ~a & c),
    "v_alignbit_b32": ("u32", "u32 u32 u32", lambda a, b, c: (a << 32 | b) >> (c & 31)),
    "v_alignbyte_b32": ("u32", "u32 u32 u32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3)),
    "v_perm_b32": ("u32", "u32 u32 u32", permuted),
    "v_bcnt_u32_b32": ("u32", "u32 u32", lambda a, b: a.bit_count() + b),
    "v_bfrev_b32": ("u32", "u32", lambda a: int(f"{a:032b}"[::-1], 2)),
    "v_pack_b32_f16": ("u32", "u16 u16", lambda a, b: a | b << 16),
    "v_cvt_pk_i16_i32": ("u32", "i32 i32", lambda a, b: limited_pair(a, b, -0x8000, 0x7FFF)),
    "v_cvt_pk_u16_u32": ("u32", "u32 u32", lambda a, b: limited_pair(a, b, 0, 0xFFFF)),
    "v_prng_b32": ("u32", "u32", lambda a: a << 1 ^ 197 * (a >> 31)),
    "v_ffbh_u32 v_clz_i32_u32": ("i32", "u32", leading),
    "v_ffbh_i32 v_cls_i32": ("i32", "i32", sign_run),
    "v_ffbl_b32 v_ctz_i32_b32": ("i32", "u32", trailing),
}

SHORT: Table = {
    "v_add_u16 v_add_nc_u16": ("u16", "u16 u16", lambda a, b: a + b),
    "v_sub_u16 v_sub_nc_u16": ("u16", "u16 u16", lambda a, b: a - b),
    "v_subrev_u16": ("u16", "u16 u16", lambda a, b: b - a),
    "v_add_i16 v_add_nc_i16": ("i16", "i16 i16", lambda a, b: a + b),
    "v_sub_i16 v_sub_nc_i16": ("i16", "i16 i16", lambda a, b: a - b),
    "v_mul_lo_u16": ("u16", "u16 u16", lambda a, b: a * b),
    "v_mad_u16 v_mad_legacy_u16": ("u16", "u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_i16 v_mad_legacy_i16": ("i16", "i16 i16 i16", lambda a, b, c: a * b + c),
    "v_lshlrev_b16": ("u16", "u16 u16", lambda a, b: b << (a & 15)),
    "v_lshrrev_b16": ("u16", "u16 u16", lambda a, b: b >> (a & 15)),
    "v_ashrrev_i16": ("i16", "u16 i16", lambda a, b: b >> (a & 15)),
    "v_min_u16": ("u16", "u16 u16", min),
    "v_max_u16": ("u16", "u16 u16", max),
    "v_min_i16": ("i16", "i16 i16", min),
    "v_max_i16": ("i16", "i16 i16", max),
    "v_min3_u16": ("u16", "u16 u16 u16", min),
    "v_max3_u16": ("u16", "u16 u16 u16", max),
    "v_min3_i16": ("i16", "i16 i16 i16", min),
    "v_max3_i16": ("i16", "i16 i16 i16", max),
    "v_and_b16": ("u16", "u16 u16", lambda a, b: a & b),
    "v_or_b16": ("u16", "u16 u16", lambda a, b: a | b),
    "v_xor_b16": ("u16", "u16 u16", lambda a, b: a ^ b),
    "v_not_b16": ("u16", "u16", lambda a: ~a),
    "v_sat_pk_u8_i16": ("u16", "u32", lambda a: shifted_bytes(signed16(a), signed16(a >> 16), 0, 0, 255)),
    "v_med3_u16": ("u16", "u16 u16 u16", median),
    "v_med3_i16": ("i16", "i16 i16 i16", median),
    "v_ashr_pk_i8_i32": ("u16", "i32 i32 u32", lambda a, b, c: shifted_bytes(a, b, c & 31, -128, 127)),
    "v_ashr_pk_u8_i32": ("u16", "i32 i32 u32", lambda a, b, c: shifted_bytes(a, b, c & 31, 0, 255)),
}

QUAD: Table = {
    "v_qsad_pk_u16_u8": ("u64", "u64 u32 u64", lambda a, b, c: quad_differences(a, b, c, False)),
    "v_mqsad_pk_u16_u8": ("u64", "u64 u32 u64", lambda a, b, c: quad_differences(a, b, c, True)),
}

TABLE = " bitop3:0x1b"
EVERY = (*cases(ARITHMETIC | BITS | QUAD), Case("v_bitop3_b32", "u32", ("u32",) * 3, looked_up, suffix=TABLE))


def check(target: str, table: tuple[Case, ...], seed: int, mask: int) -> None:
    """Every instruction of the table that the target has, each on inputs of its own."""
    on, mine = assembled(target, table), known(table, (target,))
    for number, (_, case) in enumerate(mine):
        outcome, _, _, wanted = run_lanewise(on, case, seed + number, mask)
        np.testing.assert_array_equal(outcome.vector(10, wanted.dtype.type), wanted, case.name)
    assert mine


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, mask=masks)
def test_integer_results_are_as_defined(target: str, seed: int, mask: int) -> None:
    """Active lanes get the result modulo the width, the others keep what they had."""
    check(target, EVERY, seed, mask)


HALVES = (*cases(SHORT), Case("v_bitop3_b16", "u16", ("u16",) * 3, looked_up, suffix=TABLE))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, mask=masks)
def test_short_integer_results_are_as_defined(target: str, seed: int, mask: int) -> None:
    """The low half of the register."""
    check(target, HALVES, seed, mask)


OTHER_HALF = {
    "clears": "v_add_u16 v10, v2, v4",
    "keeps": "v_mad_u16 v10, v2, v4, v6",
}


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_gfx9_short_results_clear_the_high_half_but_for_mad(target: str) -> None:
    """Two-operand 16-bit instructions write 0 above, the VOP3 ones of GFX9 leave it (LLVM's register rules)."""
    on = bench(target, OTHER_HALF)
    ones = np.ones(on.lanes, np.uint32)
    inputs = {2: ones, 4: ones, 6: ones, 10: np.full(on.lanes, 0xABCD1234, np.uint32)}
    assert (on.run("clears", inputs).vector(10) == 2).all()
    assert (on.run("keeps", inputs).vector(10) == 0xABCD0002).all()


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
def test_rdna_short_results_keep_the_high_half(target: str) -> None:
    """From gfx10 on 16-bit results leave the other half alone."""
    on = bench(target, {"keeps": "v_add_nc_u16 v10, v2, v4"})
    ones = np.ones(on.lanes, np.uint32)
    outcome = on.run("keeps", {2: ones, 4: ones, 10: np.full(on.lanes, 0xABCD1234, np.uint32)})
    assert (outcome.vector(10) == 0xABCD0002).all()


LIMITS = {"u16": (0, 0xFFFF), "i16": (-0x8000, 0x7FFF), "u32": (0, ALL32), "i32": (-(1 << 31), (1 << 31) - 1)}


def held(define: Callable[..., int], kind: str) -> Callable[..., int]:
    low, high = LIMITS[kind]
    return lambda *arguments: min(max(define(*arguments), low), high)


SATURATING = tuple(
    Case(name, kind, (kind, kind), held(define, kind), suffix=" clamp")
    for names, kind, define in (
        ("v_add_u32_e64 v_add_nc_u32_e64", "u32", lambda a, b: a + b),
        ("v_sub_u32_e64 v_sub_nc_u32_e64", "u32", lambda a, b: a - b),
        ("v_subrev_u32_e64", "u32", lambda a, b: b - a),
        ("v_add_i32 v_add_nc_i32", "i32", lambda a, b: a + b),
        ("v_sub_i32 v_sub_nc_i32", "i32", lambda a, b: a - b),
        ("v_add_u16_e64 v_add_nc_u16", "u16", lambda a, b: a + b),
        ("v_sub_u16_e64 v_sub_nc_u16", "u16", lambda a, b: a - b),
        ("v_add_i16 v_add_nc_i16", "i16", lambda a, b: a + b),
        ("v_sub_i16 v_sub_nc_i16", "i16", lambda a, b: a - b),
    )
    for name in names.split()
)


SATURATING += tuple(
    Case(case.name, case.result, case.sources, held(case.define, "u32"), suffix=" clamp")
    for case in EVERY
    if case.name in ("v_sad_u8", "v_sad_hi_u8", "v_sad_u16", "v_sad_u32", "v_msad_u8")
)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=seeds, mask=masks)
def test_clamp_saturates_integers(target: str, seed: int, mask: int) -> None:
    """With the clamp bit sums and differences stay at the type's limits."""
    check(target, SATURATING, seed, mask)
