"""The MODE register: what a kernel begins with, what changes it, and what it means besides rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rocmkern.emulator.mode import DENORMALS, Translated
from tests.emulator import device
from tests.emulator.exact import DOWN, NEAREST, TO_ZERO, UP, lifted, rounded, total
from tests.emulator.instructions import Bench, Dialect, _bench, bench, knows

Array = NDArray[Any]
TARGETS = ("gfx942", "gfx1100")
TINY = np.float32(1e-40)

every_target = pytest.mark.parametrize("target", TARGETS)


def alike(on: Bench, value: np.generic | float, dtype: type[Any] = np.float32) -> Array:
    return np.full(on.lanes, value, dtype)


def sums(x: Array, y: Array, how: int) -> Array:
    each = [rounded(total(lifted(a), lifted(b), how), "f32", how) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return np.array(each, np.float32)


HIP = """
typedef unsigned u32;
#define SET(low, bits, value) __builtin_amdgcn_s_setreg(1 | low << 6 | (bits - 1) << 11, value)
#define HERE(x) asm volatile("" : "+v"(x))
__attribute__((device, noinline)) void told(u32 how) { SET(0, 2, __builtin_amdgcn_readfirstlane(how)); }
KERNEL void sums(const float *x, const float *y, float *out, u32 how) {
    u32 i = __builtin_amdgcn_workitem_id_x();
    float a = x[i], b = y[i], before, after, some;
    HERE(a); before = a + b; HERE(before);
    told(how);
    HERE(a); some = after = a + b; HERE(after);
    if (i & 1) {
        SET(0, 2, 0);
        HERE(a); some = a + b; HERE(some);
        SET(0, 2, how);
    }
    HERE(a); out[192 + i] = a + b;
    out[i] = before; out[64 + i] = after; out[128 + i] = some;
}
KERNEL void quotients(const float *x, const float *y, float *out) {
    u32 i = __builtin_amdgcn_workitem_id_x();
    out[i] = x[i] / y[i];
}
"""


@every_target
@pytest.mark.parametrize("compiled", [False, True])
def test_code_changes_how_sums_are_rounded(target: str, compiled: bool) -> None:
    """A function that is called does, for its caller; lanes that go another way do, until they set it again."""
    on, rng = device.bench(HIP, target, compiled=compiled), np.random.default_rng(1)
    x = (rng.standard_normal(64) * 10.0 ** rng.integers(-5, 5, 64)).astype(np.float32)
    y = rng.standard_normal(64).astype(np.float32)
    near = sums(x, y, NEAREST)
    for how in (NEAREST, UP, DOWN, TO_ZERO):
        out = np.zeros(256, np.float32)
        on.run("sums", x, y, out, np.uint32(how))
        other = sums(x, y, how)
        np.testing.assert_array_equal(out, [*near, *other, *np.where(np.arange(64) & 1, near, other), *other])


@every_target
def test_division_in_a_build_that_flushes_denormals(target: str) -> None:
    """clang keeps them for the steps of a division alone: operands and results are flushed, the rest is rounded."""
    on, rng = device.bench(HIP, target, ("-fgpu-flush-denormals-to-zero",)), np.random.default_rng(2)
    x, y = rng.integers(0, 2**32, (2, 4096), dtype=np.uint32).view(np.float32)
    x[:4], y[:4] = (TINY, 1, 1e-30, TINY), (1, TINY, 1e10, TINY)
    found = np.empty_like(x)
    for i in range(0, len(x), 64):
        part = np.empty(64, np.float32)
        on.run("quotients", x[i : i + 64], y[i : i + 64], part)
        found[i : i + 64] = part
    with np.errstate(all="ignore"):
        wanted = flushed(flushed(x) / flushed(y))
    np.testing.assert_array_equal(found, wanted)


def flushed(x: Array) -> Array:
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


@every_target
@pytest.mark.parametrize("single", [UP, DOWN])
def test_descriptor_says_how_a_kernel_begins(target: str, single: int) -> None:
    """Rounding and denormals, those of f32 apart; s_getreg reads them."""
    double = UP + DOWN - single
    settings = {
        "float_round_mode_32": single, "float_round_mode_16_64": double, "float_denorm_mode_32": 1,
        "float_denorm_mode_16_64": 2, "dx10_clamp": 1, "ieee_mode": 0,
    }  # fmt: skip
    on = bench(target, {
        "k": "v_add_f32 v10, v2, v4\n v_mul_f32 v11, 1.0, v6\n v_add_f16 v12, v7, v8\n"
        " s_getreg_b32 s40, hwreg(HW_REG_MODE, 0, 10)"
    }, settings)  # fmt: skip
    one, ulp = alike(on, 1), alike(on, 1e-20)
    got = on.run("k", {2: one, 4: ulp, 6: alike(on, TINY), 7: alike(on, 1, np.float16), 8: alike(on, 1e-4, np.float16)})
    assert got.scalar("s40") == single | double << 2 | 1 << 4 | 2 << 6 | 1 << 8
    assert (got.vector(10, np.float32) == (np.nextafter(np.float32(1), np.float32(2)) if single == UP else 1)).all()
    assert (got.vector(11) == 0).all()
    up = np.nextafter(np.float16(1), np.float16(2))
    assert (got.vector(12, np.float16) == (up if double == UP else 1)).all()


def test_short_instructions_set_four_bits_each() -> None:
    """s_round_mode and s_denorm_mode of gfx10 and later."""
    on = bench("gfx1100", {
        "k": "s_round_mode 0x9\n s_denorm_mode 0x6\n s_getreg_b32 s40, hwreg(HW_REG_MODE, 0, 8)\n"
        " v_add_f32 v10, v2, v4\n s_round_mode 0x0\n v_add_f32 v11, v2, v4\n v_mul_f32 v12, 1.0, v6\n"
        " s_denorm_mode 0xf\n v_mul_f32 v13, 1.0, v6"
    })  # fmt: skip
    got = on.run("k", {2: alike(on, 1), 4: alike(on, 1e-20), 6: alike(on, TINY)})
    assert got.scalar("s40") == 0x69
    assert (got.vector(10, np.float32) == np.nextafter(np.float32(1), np.float32(2))).all()
    assert (got.vector(11, np.float32) == 1).all()
    assert (got.vector(12) == 0).all()
    assert (got.vector(13, np.float32) == TINY).all()


def test_scalar_floats_round_too() -> None:
    """s_add_f32, s_fmac_f16 and the conversions of gfx1150 and later."""
    on = bench("gfx1201", {
        "k": "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s26\n s_add_f32 s40, s24, s25\n s_cvt_f16_f32 s41, s27"
    })  # fmt: skip
    words = [int(np.float32(v).view(np.uint32)) for v in (1, 1e-20, 1.0001)]
    for how, (single, half) in {UP: (1 + 2.0**-23, 1 + 2.0**-10), DOWN: (1, 1), TO_ZERO: (1, 1)}.items():
        got = on.run("k", {}, scalars=(words[0], words[1], how | how << 2 | DENORMALS, words[2]))
        assert np.uint32(got.scalar("s40")).view(np.float32) == single
        assert np.uint32(got.scalar("s41")).astype(np.uint16).view(np.float16) == half


def test_scalar_halves_of_any_register() -> None:
    """From even and odd scalar registers, in both tiers: a scalar of compiled code is half of a pair."""
    on = bench("gfx1201", {"k": "s_add_f16 s40, s24, s25\n s_mul_f16 s40, s40, s27"})
    words = [int(np.float16(v).view(np.uint16)) for v in (1.5, 2.25, 3, 4)]
    for tier in (0, 1):
        got = on.run("k", {}, scalars=tuple(words))
        assert np.uint32(got.scalar("s40")).astype(np.uint16).view(np.float16) == 15, tier
        on.module.program.compile(on.module.kernel("k").kernel)


@every_target
def test_denormal_operands_compare_as_mode_says(target: str) -> None:
    """A flushed one is equal to 0; the class is that of the bits. Mixed products take each source by its own type."""
    mixed = "v_fma_mix_f32 v{}, v6, v7, v8 op_sel_hi:[{},0,0]"
    vcc, pair = ("vcc", "s[40:41]") if Dialect(target).wide else ("vcc_lo", "s40")
    on = bench(target, {
        "k": f"s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s24\n v_cmp_lt_f32 {vcc}, v2, v4\n"
        f" v_cmp_class_f32 {pair}, v4, v9\n {mixed.format(10, 0)}\n {mixed.format(11, 1)}"
    })  # fmt: skip
    half = np.uint32(np.float16(2.0**-20).view(np.uint16))  # a denormal of f16, and of f32 where it is one
    given = {2: alike(on, 0), 4: alike(on, TINY), 6: np.full(on.lanes, half), 7: alike(on, 1e30), 8: alike(on, 0)}
    given[9] = np.full(on.lanes, 0x80, np.uint32)
    full = (1 << on.lanes) - 1
    for single in range(4):
        for double in range(4):
            got = on.run("k", given, scalars=(single | double << 2,))
            assert got.vcc == (full if single & 1 else 0)
            assert got.s40 & full == full
            assert ((got.vector(10) != 0) == bool(single & 1)).all()
            assert ((got.vector(11) != 0) == bool(double & 1)).all()


@every_target
def test_atomics_of_lds_flush_as_mode_says(target: str) -> None:
    """Operands and results, but not the sum of f64; what is flushed equals 0 when a swap compares."""
    wide, has_sums_of_f64 = Dialect(target).wide, knows(target, "ds_add_f64")
    write, read = ("ds_write", "ds_read") if wide else ("ds_store", "ds_load")
    wait = "s_waitcnt lgkmcnt(0)"

    def on_lds(bits: int, instruction: str, data: str, result: str) -> str:
        setting = "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s24"
        lines = (setting, f"{write}_b{bits} v2, {data}", wait, instruction, wait, f"{read}_b{bits} {result}, v2", wait)
        return "\n ".join(lines)

    on = bench(target, {
        "add": on_lds(32, "ds_add_f32 v2, v5", "v4", "v10"), "max": on_lds(32, "ds_max_f32 v2, v5", "v4", "v10"),
        "double": on_lds(64, "ds_add_f64 v2, v[4:5]" if has_sums_of_f64 else "", "v[4:5]", "v[10:11]"),
        "swap": on_lds(32, "ds_cmpst_f32 v2, v5, v6" if wide else "ds_cmpstore_f32 v2, v6, v5", "v4", "v10"),
    })  # fmt: skip
    least, place = np.finfo(np.float32).tiny, np.arange(on.lanes, dtype=np.uint32) * 8

    def left(name: str, mode: int, *values: float) -> float:
        given = {4 + i: alike(on, v) for i, v in enumerate(values)} | {2: place}
        (found,) = set(on.run(name, given, scalars=(mode | 0xC,)).vector(10, np.float32).tolist())
        return float(found)

    for mode in range(4):
        assert left("add", mode, 1.5 * least, -least) == (least / 2 if mode & 2 else 0)
        assert left("add", mode, TINY, least) == (least + TINY if mode & 1 else least)
        assert left("max", mode, TINY, -1) == (TINY if mode == 3 else 0)
        assert left("swap", mode, TINY, 0, 5) == (TINY if mode & 1 else 5)
    doubles = {4: alike(on, 1e-310, np.float64), 2: place}
    assert (on.run("double", doubles, scalars=(0,)).vector(10, np.float64) == (1 + has_sums_of_f64) * 1e-310).all()


@every_target
def test_flushing_singles_leaves_doubles_alone(target: str) -> None:
    """What has no f64 flushes by the CPU's own mode, at no cost."""
    on = bench(target, {
        "singles": "v_mul_f32 v10, 1.0, v2",
        "both": "v_mul_f32 v10, 1.0, v2\n v_mul_f64 v[12:13], 1.0, v[4:5]",
        "product": "v_mul_f32 v10, v2, v3",
    }, {"float_denorm_mode_32": 0})  # fmt: skip
    given = {2: alike(on, TINY), 4: alike(on, 1e-310, np.float64)}
    for name in ("singles", "both"):
        assert (on.run(name, given).vector(10) == 0).all()
        assert on.module.program.mode(on.module.kernel(name).kernel).flushes == (name == "singles")
    assert (on.run("both", given).vector(12, np.float64) == 1e-310).all()
    for a, b in ((TINY, 2.0**126), (2.0**-100, 2.0**-40)):  # the operand, the result
        assert (on.run("product", {2: alike(on, a), 3: alike(on, b)}).vector(10) == 0).all()


@every_target
def test_short_products_are_rounded_once(target: str) -> None:
    """f16 to nearest: 1 + 2⁻¹¹ + 2⁻²⁶ lies above the middle of 1 and the next; rounded to f32 it is the middle."""
    on = bench(target, {"f": "v_fma_f16 v10, v2, v3, v4"}, {"float_round_mode_32": 1})
    given = {r: alike(on, x, np.float16) for r, x in ((2, 99 * 2.0**-13), (3, 331 * 2.0**-13), (4, 1.0))}
    assert (on.run("f", given).vector(10, np.float16) == np.float16(1 + 2.0**-10)).all()


def test_what_is_kept_of_a_kernel_belongs_to_its_mode() -> None:
    """Equal code of another mode is other code to a later process."""
    for mode, wanted in ((3, 2.0**-140), (0, 0), (3, 2.0**-140)):
        on = _bench.__wrapped__("gfx942", (("f", "v_mul_f32 v10, v2, v3"),), (("float_denorm_mode_32", mode),))
        given = {2: alike(on, 2.0**-100), 3: alike(on, 2.0**-40)}
        assert (on.run("f", given).vector(10, np.float32) == np.float32(wanted)).all()
        on.module.program._keep(on.module.kernel("f").kernel)


SIGNALLING = np.uint32(0x7F800001).view(np.float32)


@every_target
def test_nan_in_minimum_and_clamp(target: str) -> None:
    """IEEE mode keeps a signalling NaN, the other one the number; clamp takes a NaN to 0 or leaves it."""
    on = bench(target, {
        "k": "s_setreg_b32 hwreg(HW_REG_MODE, 8, 2), s24\n v_min_f32 v10, v2, v4\n v_add_f32 v11, v2, v4 clamp"
    })  # fmt: skip
    given = {2: alike(on, SIGNALLING), 4: alike(on, 0.25)}
    for clamps in (0, 1):
        for ieee in (0, 1):
            got = on.run("k", given, scalars=(clamps | ieee << 1,))
            assert np.isnan(got.vector(10, np.float32)).all() == bool(ieee)
            assert np.isnan(got.vector(11, np.float32)).all() == (not clamps)
            assert ieee or (got.vector(10, np.float32) == 0.25).all()


@every_target
def test_output_modifier_needs_flushed_results(target: str) -> None:
    """omod counts where denormal results are flushed and IEEE mode is off; then a denormal product is 0."""
    on = bench(target, {
        "k": "s_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s24\n v_mul_f32 v10, v2, v4 mul:2\n v_mul_f32 v11, v2, v6 div:2"
    })  # fmt: skip
    given = {2: alike(on, 1), 4: alike(on, 3), 6: alike(on, np.finfo(np.float32).tiny)}
    for mode, factor in ((0x0C0, 2), (0x2C0, 1), (0x0E0, 1), (0x0D0, 2)):
        got = on.run("k", given, scalars=(mode,))
        assert (got.vector(10, np.float32) == 3 * factor).all(), hex(mode)
        assert ((got.vector(11) == 0) == (factor == 2)).all(), hex(mode)


@every_target
def test_halves_that_overflow_may_be_held(target: str) -> None:
    """Bit 23: at the largest number, whatever the rounding; infinity stays."""
    on = bench(target, {
        "k": "s_setreg_b32 hwreg(HW_REG_MODE, 23, 1), s24\n v_add_f16 v10, v2, v2\n v_cvt_f16_f32 v11, v4\n"
        " v_fma_f16 v12, v2, v2, v6"
    })  # fmt: skip
    given = {2: alike(on, 65504, np.float16), 4: alike(on, -1e6), 6: alike(on, np.inf, np.float16)}
    for held in (0, 1):
        got = on.run("k", given, scalars=(held,))
        assert (got.vector(10, np.float16) == (65504 if held else np.inf)).all()
        assert (got.vector(11, np.float16) == (-65504 if held else -np.inf)).all()
        assert (got.vector(12, np.float16) == np.inf).all()


@every_target
def test_the_usual_mode_costs_nothing(target: str) -> None:
    """Code that sets what is set anyway is translated as ever."""
    usual = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15"
    on = bench(target, {
        "plain": "v_add_f32 v10, v2, v4", "same": usual, "other": usual.replace("15", "14"),
        "exceptions": "s_setreg_b32 hwreg(HW_REG_MODE, 12, 7), s24\n s_getreg_b32 s40, hwreg(HW_REG_MODE)",
    })  # fmt: skip
    program = on.module.program
    asking = {n for n, k in program.code.kernels.items() if program.mode(k).translated is Translated.BY_MODE}
    assert asking == {"other"}
    assert on.run("exceptions", {}, scalars=(0x55,)).scalar("s40") == 0x3F0 | 0x55 << 12
