"""Moves between registers whose numbers M0 changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.cases import active, integers, masks, seeds
from tests.emulator.instructions import bench, knows

RDNA = ("gfx1030", "gfx1100", "gfx1201")
FAR = 0x40000000


def scalar_moves(index: int) -> dict[str, tuple[int, str]]:
    """M0 and the move, by name."""
    pair = 2 * (index & 1)
    return {
        f"source{index}": (index, "s_movrels_b32 s40, s24"),
        f"pair{index}": (2 * index, "s_movrels_b64 s[40:41], s[24:25]"),
        f"result{index}": (index, "s_movreld_b32 s40, s24"),
        f"constant{index}": (index, "s_movreld_b32 s40, -7"),
        f"result_pair{index}": (pair, "s_movreld_b64 s[40:41], s[24:25]"),
        f"both{index}": (index << 16 | 2 - index, "s_movrelsd_2_b32 s40, s24"),
        "far_source": (FAR, "s_movrels_b32 s40, s24"),
        "next_source": (82, "s_movrels_b32 s40, s24"),
        "far_result": (FAR, "s_movreld_b64 s[40:41], s[24:25]"),
    }


def moved(words: list[int], index: int) -> dict[str, dict[str, int]]:
    """What changes."""
    pair = 2 * (index & 1)
    return {
        f"source{index}": {"s40": words[index]},
        f"pair{index}": {"s40": words[2 * index], "s41": words[2 * index + 1]},
        f"result{index}": {f"s{40 + index}": words[0]},
        f"constant{index}": {f"s{40 + index}": 2**32 - 7},
        f"result_pair{index}": {f"s{40 + pair}": words[0], f"s{41 + pair}": words[1]},
        f"both{index}": {f"s{40 + index}": words[2 - index]},
        "far_source": {"s40": 77},
        "next_source": {"s40": 77},
        "far_result": {},
    }


@pytest.mark.parametrize("target", ["gfx90a", *RDNA])
@settings(max_examples=3, deadline=None)
@given(words=st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8))
def test_scalar_registers_are_chosen_by_m0(target: str, words: list[int]) -> None:
    """The source's number or the destination's grows by M0; s24 and so on hold the words.

    Beyond the last register s0 is read, and nothing is written.
    """
    old = dict(zip(("s40", "s41", "s42", "s43"), words[4:], strict=True))
    moves = {
        n: move for index in range(3) for n, move in scalar_moves(index).items() if knows(target, move[1].split()[0])
    }
    on = bench(target, {n: f"s_mov_b32 s0, 77\n s_mov_b32 m0, {m0}\n {move}" for n, (m0, move) in moves.items()})
    for index in range(3):
        for name, changes in moved(words, index).items():
            if name in moves:
                outcome = on.run(name, {}, scalars=tuple(words))
                assert {r: outcome.scalar(r) for r in old} == old | changes, name


def test_compiled_code_hands_over_what_an_index_may_reach() -> None:
    """Where it leaves for a block that never ran before, all registers that the block may read are up to date."""
    lines = [
        *(f"s_add_u32 s{r}, s{r}, s{r}" for r in (26, 27, 28)),
        "s_mov_b32 s40, 11",
        "s_mov_b32 s41, 12",
        "s_cmp_eq_u32 s24, 0",
        "s_cbranch_scc1 skipped",
        "s_mov_b32 m0, 2",
        "s_movreld_b64 s[40:41], s[26:27]",
        "s_mov_b32 m0, 4",
        "s_movrels_b32 s42, s24",
        "skipped:",
    ]
    on = bench("gfx1100", {"k": "\n ".join(lines)})
    on.run("k", {}, scalars=(0, 1, 2, 3))
    on.module.program.compile(on.module.kernel("k").kernel)
    outcome = on.run("k", {}, scalars=(1, 2, 3, 4, 5))
    assert [outcome.scalar(f"s{40 + i}") for i in range(4)] == [11, 12, 10, 8]


@pytest.mark.parametrize("target", RDNA)
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks, source=st.integers(0, 3), result=st.integers(0, 3))
def test_vector_registers_are_chosen_by_both_halves_of_m0(
    target: str, seed: int, mask: int, source: int, result: int
) -> None:
    """The low half moves the source, the high half the destination."""
    move = "s_mov_b32 m0, s24\n {} v10, v2"
    texts = {n: move.format(n) for n in ("v_movrelsd_2_b32", "v_swaprel_b32", "v_movrelsd_b32")}
    texts["swapped"] = f"{texts['v_swaprel_b32']}\n" + "\n".join(f"v_mov_b32 v{10 + i}, v{2 + i}" for i in range(4))
    on, rng = bench(target, texts), np.random.default_rng(seed)
    words = {r: integers(rng, "u32", on.lanes) for r in (2, 3, 4, 5, 10, 11, 12, 13)}
    lanes, chosen = active(mask, on.lanes), (result << 16 | source,)
    for name in ("v_movrelsd_2_b32", "v_swaprel_b32"):
        outcome = on.run(name, words, exec_mask=mask, scalars=chosen)
        for i in range(4):
            wanted = np.where(lanes & (i == result), words[2 + source], words[10 + i])
            np.testing.assert_array_equal(outcome.vector(10 + i), wanted, name)
    outcome = on.run("v_movrelsd_b32", words, exec_mask=mask, scalars=(source,))
    for i in range(4):
        wanted = np.where(lanes & (i == source), words[2 + source], words[10 + i])
        np.testing.assert_array_equal(outcome.vector(10 + i), wanted, "one index for both")
    outcome = on.run("swapped", words, exec_mask=-1, scalars=chosen)
    for i in range(4):
        np.testing.assert_array_equal(outcome.vector(10 + i), words[10 + result] if i == source else words[2 + i])


@pytest.mark.parametrize("target", RDNA)
def test_a_vector_register_beyond_the_last_is_left_alone(target: str) -> None:
    """v0 is read for it; nothing is written, in the wave's registers or behind them."""
    on = bench(target, {
        "source": "v_mov_b32 v0, v3\n s_mov_b32 m0, s24\n v_movrels_b32 v10, v2",
        "result": "v_mov_b32 v0, v3\n s_mov_b32 m0, s24\n v_movreld_b32 v10, v2\n v_mov_b32 v13, v0",
    })  # fmt: skip
    words = {r: np.arange(on.lanes, dtype=np.uint32) + 100 * r for r in (2, 3, 10, 11, 12, 13)}
    for far in (254, 255, 4096, FAR, 2**32 - 1):
        got = on.run("source", words, scalars=(far,))
        np.testing.assert_array_equal(got.vector(10), words[3])
        got = on.run("result", words, scalars=(far,))
        for register, kept in ((10, 10), (11, 11), (12, 12), (13, 3)):
            np.testing.assert_array_equal(got.vector(register), words[kept])
