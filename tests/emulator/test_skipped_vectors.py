"""s_setvskip of gfx9: vector instructions that a bit says to skip."""

from __future__ import annotations

import numpy as np
import pytest

from rocmkern.errors import UnsupportedInstruction
from tests.emulator.device import bench

SOURCE = r"""
typedef unsigned u32;
KERNEL void skip(const u32 *x, u32 *out, u32 bits, u32 rounds) {
    u32 lane = __builtin_amdgcn_workitem_id_x(), moved = 1, equal = 0, scalar = 0, after = 0;
    u32 *place = out + lane;
    for (u32 i = 0; i < rounds; i++)
        asm volatile(
            "s_mov_b32 s20, %6\n s_mov_b32 s21, 0\n s_mov_b64 s[22:23], 5\n"
            ".long 0xbf108314\n"  // s_setvskip s20, 3, which the assembler does not take
            "v_mov_b32 %0, %4\n"
            "v_cmp_eq_u32 s[22:23], %4, %4\n"
            "global_store_dword %5, %4, off\n"
            "s_add_u32 s21, s21, 7\n"
            ".long 0xbf108080\n"  // s_setvskip 0, 0
            "v_mov_b32 %1, s22\n v_add_u32 %2, s21, %2\n v_add_u32 %3, %3, %4"
            : "+v"(moved), "+v"(equal), "+v"(scalar), "+v"(after) : "v"(x[lane]), "v"(place), "s"(bits)
            : "memory", "scc", "s20", "s21", "s22", "s23");
    out[64 + lane] = moved;
    out[128 + lane] = equal;
    out[192 + lane] = scalar;
    out[256 + lane] = after;
}
KERNEL void jump(u32 *out, u32 bits) {
    asm volatile(
        "s_mov_b32 s20, %0\n .long 0xbf108014\n s_cbranch_scc0 1f\n v_nop\n 1: .long 0xbf108080" :: "s"(bits) : "s20");
    out[0] = 1;
}
"""


@pytest.mark.parametrize("compiled", [False, True], ids=["threaded", "compiled"])
@pytest.mark.parametrize("bits", [0, 8, 0xFFFFFFF7])
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_vector_instructions_are_skipped_where_the_bit_is_set(target: str, bits: int, compiled: bool) -> None:
    """They write neither vector nor scalar registers nor memory; scalar instructions and what follows go on."""
    x, out, rounds = np.arange(100, 164, dtype=np.uint32), np.zeros((5, 64), np.uint32), 3
    bench(SOURCE, target, compiled=compiled).run("skip", x, out, np.uint32(bits), np.uint32(rounds))
    skipped = bits >> 3 & 1
    np.testing.assert_array_equal(out[0], 0 * x if skipped else x)
    np.testing.assert_array_equal(out[1], 0 * x + 1 if skipped else x)
    np.testing.assert_array_equal(out[2], 5 if skipped else 0xFFFFFFFF)
    np.testing.assert_array_equal(out[3], 7 * rounds)
    np.testing.assert_array_equal(out[4], rounds * x)


def test_vector_instructions_are_skipped_in_straight_code_alone() -> None:
    """What goes on skipping behind a branch is refused, in every launch."""
    for _ in range(2):
        with pytest.raises(UnsupportedInstruction, match="skips vector instructions beyond a branch"):
            bench(SOURCE).run("jump", np.zeros(1, np.uint32), np.uint32(0))
