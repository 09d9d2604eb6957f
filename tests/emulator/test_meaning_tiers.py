"""Compiled code (tier 1) computes what threaded code (tier 0) does, for every integer, mask and scalar instruction."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.cases import Case, integers, known
from tests.emulator.instructions import SCALAR_RESULTS, VECTOR_RESULTS, Bench, Dialect, bench
from tests.emulator.test_meaning_integer import EVERY, HALVES, SATURATING
from tests.emulator.test_meaning_masks import COMPARISONS, comparison_text
from tests.emulator.test_meaning_scalar import KNOWN as SCALAR

SLOW = [pytest.param(target, marks=pytest.mark.slow) for target in ("gfx950", "gfx1030", "gfx1201")]
KEPT = 4  # rows per instruction: v10, v11, the low half of VCC or of the scalar result, SCC
TOGETHER = 48  # instructions in one program: compiling all in one takes half as long again
Part = list[tuple[str, str]]
FIRST = len(VECTOR_RESULTS) + len(SCALAR_RESULTS)


def parts(target: str) -> list[Part]:
    """Name and text of what each program runs, one after another; comparisons of floats see no NaN."""
    lanewise: list[Case] = [*EVERY, *HALVES, *SATURATING]
    compared = [c for c in COMPARISONS if not c.name.startswith("v_cmpx")]
    every = [
        *((c.name + c.suffix, c.text) for _, c in known(lanewise, (target,))),
        *((c.name, comparison_text(target, c)) for _, c in known(compared, (target,))),
        *((row.name, row.text) for t, row in SCALAR if t == target),
    ]
    assert len(every) > 250
    return [every[first : first + TOGETHER] for first in range(0, len(every), TOGETHER)]


def program(target: str, part: Part, alike: bool) -> str:
    """The part, each on fresh registers, each leaving its results in rows of its own.

    `alike`: inputs come from scalar registers, which the compiler of hot code sees.
    """
    d = Dialect(target)
    row = 4 * d.wave_size
    bits, pair = ("b64", "s[22:23]") if d.wide else ("b32", "s22")
    lines = [f"s_add_u32 s46, s18, {FIRST * row}", "s_addc_u32 s47, s19, 0"]
    if alike:
        lines += [f"v_mov_b32 v{r}, s{24 + r % 8}" for r in range(2, 12)]
    lines += ["v_mov_b32 v20, v10", "v_mov_b32 v21, v11"]
    vcc = f"v_cmp_lt_u32 {d.mask('vcc')}, v20, v21" if alike else f"s_mov_{bits} {d.mask('vcc')}, {pair}"
    for _, text in part:
        lines += [
            "v_mov_b32 v10, v20",
            "v_mov_b32 v11, v21",
            vcc,
            *(f"s_mov_b32 s{40 + i}, s{28 + i}" for i in range(2)),
            "s_cmp_lg_u32 s32, 0",
            text,
            "s_cselect_b32 s48, 1, 0",
            "s_xor_b32 s40, s40, s41",
            "s_xor_b32 s40, s40, vcc_lo",
            "v_mov_b32 v22, s40",
            "v_mov_b32 v23, s48",
            *(f"{d.names['store']} v1, v{r}, s[46:47] offset:{i * row}" for i, r in enumerate((10, 11, 22, 23))),
            f"s_add_u32 s46, s46, {KEPT * row}",
            "s_addc_u32 s47, s47, 0",
        ]
    return "\n ".join(lines)


def results(on: Bench, name: str, count: int, mask: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    rng = np.random.default_rng(mask & 0xFFFF)
    inputs = {r: integers(rng, "u64", on.lanes) for r in (2, 4, 6, 8, 10)}
    scalars = tuple(int(v) for v in rng.integers(0, 2**32, 8))
    outcome = on.run(name, inputs, exec_mask=mask, vcc=0x5A5A3C3C0FF0F00F, scc=1, scalars=scalars, more=KEPT * count)
    return outcome.words[FIRST:].reshape(-1, KEPT, on.lanes)


@pytest.mark.parametrize("alike", [False, True], ids=["lanes differ", "lanes alike"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", *SLOW])
def test_compiled_code_equals_threaded_code(target: str, alike: bool) -> None:
    """With all lanes on and with some off; bit by bit."""
    programs = {f"part{i}": part for i, part in enumerate(parts(target))}
    on = bench(target, {name: program(target, part, alike) for name, part in programs.items()})
    masks = (-1, 0x0123456789ABCDEF, 1 << 31 | 1)
    for name, part in programs.items():
        threaded = [results(on, name, len(part), mask) for mask in masks]
        on.module.program.compile(on.module.kernel(name).kernel)
        for mask, before in zip(masks, threaded, strict=True):
            after = results(on, name, len(part), mask)
            different = sorted({part[i][0] for i in np.nonzero((before != after).any((1, 2)))[0]})
            assert different == [], hex(mask)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_what_is_kept_of_a_unit_is_not_used_before_other_code(target: str) -> None:
    """Kernels that are alike up to a barrier: what is read behind it has to be in the wave's memory."""
    for register, result in ((30, 3), (31, 4)):
        text = f"v_mov_b32 v30, s24\n v_mov_b32 v31, s25\n s_barrier\n v_mov_b32 v10, v{register}"
        on, name = bench(target, {"after": text}), "after"
        on.run(name, {}, scalars=(1, 2))
        on.module.program.compile(on.module.kernel(name).kernel)
        assert (on.run(name, {}, scalars=(3, 4)).vector(10) == result).all()


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_lanes_beyond_the_last_begin_again(target: str) -> None:
    """The low bits of a lane's number count, in both tiers, whether code or a register has it."""
    on, name = bench(target, {
        "lanes": "v_readlane_b32 s40, v2, s24\n v_writelane_b32 v10, 7, s24\n v_mov_b32 v11, s40",
    }), "lanes"  # fmt: skip
    values, old = np.arange(on.lanes, dtype=np.uint32) + 100, np.zeros(on.lanes, np.uint32)
    for _ in range(2):
        for lane in (5, on.lanes + 5, 2**31 + 5):
            found = on.run(name, {2: values, 10: old}, scalars=(lane,))
            assert found.vector(11)[0] == 105
            assert np.flatnonzero(found.vector(10)).tolist() == [5]
        on.module.program.compile(on.module.kernel(name).kernel)
