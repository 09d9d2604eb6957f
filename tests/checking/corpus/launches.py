"""Kernels that run, right ones beside wrong ones, and what must be found in each.

All have the parameters `u32 *x, u32 *y, u32 *gone, u32 n`: 256 dwords that the host wrote, 256 that nothing wrote, 256
that were freed, and 64. `V(p)` is `p` for accesses that the compiler leaves alone.
"""

from __future__ import annotations

from typing import Final

from attrs import field, frozen

RDNA: Final = ("gfx1030", "gfx1100", "gfx1201")
PAST, FREED, UNSET = "out of bounds", "use after free", "uninitialised"
RAW, WAR, WAW = "race, read after write", "race, write after read", "race, write after write"
LANES, SAME, ODD = "race, lanes of a wave", "race, same value", "unaligned"
SKIPPED, DIFFERENT, DIVERGENT = "barrier skipped", "different barriers", "barrier in divergent lanes"


@frozen
class Case:
    """One kernel. `kinds` are found, notes too; nothing is wrong with one that has none, but for `otherwise`."""

    body: str
    kinds: tuple[str, ...] = ()
    otherwise: dict[str, tuple[str, ...]] = field(factory=dict)  # by target
    grid: int = 1
    block: int = 64

    def on(self, target: str) -> frozenset[str]:
        return frozenset(self.otherwise.get(target, self.kinds))


def on(targets: tuple[str, ...], *kinds: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(targets, kinds)


BOUNDS: Final = {
    "inside": Case("x[T] = 1; x[255 - T] = 2;"),
    "one_past": Case("if (T == 0) x[256] = 1;", (PAST,)),
    "one_before": Case("if (T == 0) x[-1] = 1;", (PAST,)),
    "far_outside": Case("if (T == 0) x[1u << 29] = 1;", (PAST,)),
    "load_past": Case("y[T] = x[T + 200];", (PAST,)),
    "load_up_to_the_end": Case("y[T] = x[T + 192];"),
    "one_too_many": Case("if (T <= n * 4) x[T] = 1;", (PAST,), block=320),
    "as_many": Case("if (T < n * 4) x[T] = 1;", block=320),
    "second_half_outside": Case("if (T == 0) V((u64 *)(x + 255))[0] = 1;", (PAST,)),
    "last_of_four_outside": Case("if (T == 0) *(v4 *)(x + 253) = (v4){1, 2, 3, 4};", (PAST,)),
    "last_four_inside": Case("if (T == 0) *(v4 *)(x + 252) = (v4){1, 2, 3, 4};"),
    "byte_past": Case("if (T == 0) V((u8 *)x)[1024] = 1;", (PAST,)),
    "last_byte": Case("if (T == 0) V((u8 *)x)[1023] = 1;"),
    "half_of_two_bytes": Case("if (T == 0) *(volatile u16u *)((u8 *)x + 1023) = 1;", (PAST, ODD)),
    "atomic_past": Case("__atomic_fetch_add(x + 200 + T, 1u, __ATOMIC_RELAXED);", (PAST,)),
    "atomic_inside": Case("__atomic_fetch_add(x + 192 + T, 1u, __ATOMIC_RELAXED);"),
    "small_number_as_pointer": Case("V((u32 *)(u64)(n * 4))[T] = 1;", (PAST,)),
    "index_from_memory": Case("y[T] = V(x)[V(x)[T] * 4096];", (PAST,)),
    "index_from_memory_bounded": Case("y[T] = V(x)[V(x)[T] * 4096 & 255];"),
    "uniform_load_past": Case("y[T] = x[n * 4];", (PAST,)),
    "uniform_load_inside": Case("y[T] = x[n * 4 - 1];"),
    "uniform_eight_past": Case("u32 s = 0; for (int i = 0; i < 8; ++i) s += x[252 + i]; y[T] = s;", (PAST,)),
    "strided_past": Case("for (u32 i = T; i < 257; i += 64) x[i] = i;", (PAST,)),
    "strided_inside": Case("for (u32 i = T; i < 256; i += 64) x[i] = i;"),
    "freed_load": Case("y[T] = gone[T];", (FREED,)),
    "freed_store": Case("gone[T] = 1;", (FREED,)),
    "freed_atomic": Case("__atomic_fetch_add(gone + T, 1u, __ATOMIC_RELAXED);", (FREED,)),
    "lds_past": Case("SHARED u32 p[64]; V(p)[T + n * 64] = 1;", (PAST,)),
    "lds_load_past": Case("SHARED u32 p[64]; V(p)[T] = 1; y[T] = V(p)[T + n * 64];", (PAST,)),
    "lds_inside": Case("SHARED u32 p[64]; V(p)[63 - T] = 1; y[T] = V(p)[63 - T];"),
    "local_past": Case("volatile u32 a[8]; a[n & 7] = 1; y[T] = a[n << 14];", (PAST,)),
    "local_inside": Case("volatile u32 a[8]; a[n & 7] = 1; y[T] = a[n & 7];"),
    "row_of_a_matrix": Case("y[T] = x[(T / 16) * 16 + 16 + T % 16];"),
}  # fmt: skip

UNINITIALISED: Final = {
    "nothing_wrote": Case("x[T] = y[T];", (UNSET,)),
    "written_before": Case("y[T] = T; x[T] = V(y)[T];"),
    "three_bytes_of_four": Case("for (int i = 0; i < 3; ++i) V((u8 *)y)[4 * T + i] = 1; x[T] = V(y)[T];", (UNSET,)),
    "four_bytes": Case("for (int i = 0; i < 4; ++i) V((u8 *)y)[4 * T + i] = 1; x[T] = V(y)[T];"),
    "half_of_the_lanes": Case("if (T & 1) V(y)[T] = 1; x[T] = V(y)[T];", (UNSET,)),
    "half_read_back": Case("if (T & 1) V(y)[T] = 1; if (T & 1) x[T] = V(y)[T];"),
    "where_a_value_says": Case("if (V(x)[T] > 500) V(y)[T] = 1; x[T] = V(y)[T];", (UNSET,)),
    "where_a_value_says_not": Case("if (V(x)[T] < 500) V(y)[T] = 1; x[T] = V(y)[T];"),
    "counter_not_cleared": Case("__atomic_fetch_add(y, 1u, __ATOMIC_RELAXED);", (UNSET,)),
    "counter_cleared": Case("if (T == 0) y[0] = 0; barrier(); __atomic_fetch_add(y, 1u, __ATOMIC_RELAXED);"),
    "sum_from_nothing": Case("for (int i = 0; i < 4; ++i) V(y)[T] += x[T + i];", (UNSET,)),
    "sum_from_zero": Case("V(y)[T] = 0; for (int i = 0; i < 4; ++i) V(y)[T] += x[T + i];"),
    "uniform": Case("x[T] = y[n];", (UNSET,)),
    "wide": Case("*(v4 *)(x + 4 * T) = *(v4 *)(y + 4 * T);", (UNSET,)),
    "wide_but_one": Case("for (int i = 0; i < 3; ++i) V(y)[4 * T + i] = 1; *(v4 *)(x + 4 * T) = *(v4 *)(y + 4 * T);",
                         (UNSET,)),
    "lds": Case("SHARED u32 p[64]; y[T] = V(p)[T];", (UNSET,)),
    "lds_written": Case("SHARED u32 p[64]; V(p)[T] = T; barrier(); y[T] = V(p)[63 - T];"),
    "tail_of_a_tile": Case("SHARED u32 p[64]; if (T < 40) V(p)[T] = x[T]; barrier(); y[T] = V(p)[63 - T];", (UNSET,)),
    "tail_of_a_tile_filled": Case(
        "SHARED u32 p[64]; V(p)[T] = T < 40 ? x[T] : 0; barrier(); y[T] = V(p)[63 - T];"),
    "lds_of_the_wrong_round": Case(
        "SHARED u32 p[128]; for (u32 i = 0; i < 2; ++i) { y[T] = V(p)[(i ^ 1) * 64 + T]; V(p)[i * 64 + T] = T; }",
        (UNSET,)),
    "lds_of_the_round_before": Case(
        "SHARED u32 p[128]; V(p)[64 + T] = 0;"
        "for (u32 i = 0; i < 2; ++i) { y[T] = V(p)[(i ^ 1) * 64 + T]; V(p)[i * 64 + T] = T; }"),
    "lds_counter": Case("SHARED u32 c; __atomic_fetch_add(&c, 1u, __ATOMIC_RELAXED); y[T] = 1;", (UNSET,)),
    "lds_counter_cleared": Case(
        "SHARED u32 c; if (T == 0) V(&c)[0] = 0; barrier(); __atomic_fetch_add(&c, 1u, __ATOMIC_RELAXED); y[T] = 1;"),
    "local": Case("volatile u32 a[8]; a[n & 7] = 1; y[T] = a[(n + 1) & 7];", (UNSET,)),
    "local_of_a_lane": Case("volatile u32 a[8]; a[T & 7] = 1; y[T] = a[T & 6];", (UNSET,)),
    "local_written": Case("volatile u32 a[8]; for (int i = 0; i < 8; ++i) a[i] = i; y[T] = a[T & 7];"),
}  # fmt: skip

LDS: Final = {
    "exchange": Case("SHARED u32 p[128]; V(p)[T] = T; y[T] = V(p)[127 - T];", (WAR, RAW), block=128),
    "exchange_with_barrier": Case("SHARED u32 p[128]; V(p)[T] = T; barrier(); y[T] = V(p)[127 - T];", block=128),
    "exchange_with_fence": Case(
        'SHARED u32 p[128]; V(p)[T] = T; __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"); y[T] = V(p)[127 - T];',
        (WAR, RAW), block=128),
    "write_behind_the_barrier": Case(
        "SHARED u32 p[128]; V(p)[T] = 0; barrier(); V(p)[T] = T; y[T] = V(p)[127 - T];", (WAR, RAW), block=128),
    "neighbours_of_a_wave": Case("SHARED u32 p[128]; V(p)[T] = T; y[T] = V(p)[T ^ 1];", block=128),
    "halves_of_64": Case("SHARED u32 p[64]; V(p)[T] = T; y[T] = V(p)[T ^ 32];", (), on(RDNA, WAR, RAW)),
    "halves_of_64_with_barrier": Case("SHARED u32 p[64]; V(p)[T] = T; barrier(); y[T] = V(p)[T ^ 32];"),
    "one_lane_into_the_next_wave": Case(
        "SHARED u32 p[129]; V(p)[T] = 0; barrier(); V(p)[T + 1] = T; y[T] = V(p)[T];", (WAR, RAW), block=128),
    "one_lane_into_the_next_wave_with_barrier": Case(
        "SHARED u32 p[129]; V(p)[T] = 0; barrier(); V(p)[T + 1] = T; barrier(); y[T] = V(p)[T];", block=128),
    "one_slot": Case("SHARED u32 p[1]; if (T % 64 == 0) V(p)[0] = T; barrier(); y[T] = V(p)[0];", (WAW,), block=128),
    "one_slot_by_one": Case("SHARED u32 p[1]; if (T == 0) V(p)[0] = T; barrier(); y[T] = V(p)[0];", block=128),
    "bytes_apart": Case("SHARED u8 p[128]; V(p)[T] = T; y[T] = V(p)[T];", block=128),
    "bytes_together": Case("SHARED u8 p[128]; V(p)[T % 100] = T; y[T] = 0;", (WAW,), block=128),
    "atomics": Case(
        "SHARED u32 c; if (T == 0) V(&c)[0] = 0; barrier(); __atomic_fetch_add(&c, 1u, __ATOMIC_RELAXED); barrier();"
        "y[T] = V(&c)[0];", block=128),
    "atomics_read_early": Case(
        "SHARED u32 c; if (T == 0) V(&c)[0] = 0; barrier(); __atomic_fetch_add(&c, 1u, __ATOMIC_RELAXED);"
        "y[T] = V(&c)[0];", (RAW,), block=128),
    "cleared_late": Case(
        "SHARED u32 c; if (T == 0) V(&c)[0] = 0; __atomic_fetch_add(&c, 1u, __ATOMIC_RELAXED);", (WAW,), block=128),
    "tree": Case(
        "SHARED u32 p[128]; V(p)[T] = x[T]; barrier(); for (u32 k = 64; k; k /= 2) {"
        "if (T < k) V(p)[T] += V(p)[T + k]; barrier(); } if (T == 0) y[0] = V(p)[0];", block=128),
    "tree_without_first_barrier": Case(
        "SHARED u32 p[128]; V(p)[T] = x[T]; for (u32 k = 64; k; k /= 2) {"
        "if (T < k) V(p)[T] += V(p)[T + k]; barrier(); } if (T == 0) y[0] = V(p)[0];", (WAR,), block=128),
    "tree_by_one_wave_of_64": Case(
        "SHARED u32 p[128]; V(p)[T] = x[T]; barrier(); if (T < 64) for (u32 k = 64; k; k /= 2)"
        "if (T < k) V(p)[T] += V(p)[T + k]; if (T == 0) y[0] = V(p)[0];", (), on(RDNA, RAW), block=128),
    "slot_of_every_round": Case(
        "SHARED u32 p[1]; for (u32 i = 0; i < 3; ++i) { if (T == 0) V(p)[0] = x[i]; barrier(); V(y)[T] = V(p)[0]; }",
        (WAR,), block=128),
    "slot_of_every_round_with_barrier": Case(
        "SHARED u32 p[1]; for (u32 i = 0; i < 3; ++i) { if (T == 0) V(p)[0] = x[i]; barrier(); V(y)[T] = V(p)[0];"
        "barrier(); }", block=128),
    "two_buffers": Case(
        "SHARED u32 p[256]; for (u32 i = 0; i < 4; ++i) { V(p)[(i & 1) * 128 + T] = x[T]; barrier();"
        "V(y)[T] = V(p)[(i & 1) * 128 + 127 - T]; }", block=128),
    "two_buffers_swapped": Case(
        "SHARED u32 p[256]; V(p)[128 + T] = 0; barrier(); for (u32 i = 0; i < 4; ++i) { V(p)[(i & 1) * 128 + T] = x[T];"
        "barrier(); V(y)[T] = V(p)[(~i & 1) * 128 + 127 - T]; }", (WAR,), block=128),
    "only_in_the_fourth": Case(
        "SHARED u32 p[128]; V(p)[T] = 0; barrier(); V(p)[T] = T; if (G != 3) barrier(); V(x)[0] = V(p)[127 - T] * 0;",
        (WAR, RAW, SAME), grid=5, block=128),
    "transposed": Case(
        "SHARED u32 p[256]; V(p)[T] = x[T]; barrier(); y[T] = V(p)[T % 16 * 16 + T / 16];", block=256),
    "transposed_without_barrier": Case(
        "SHARED u32 p[256]; V(p)[T] = x[T]; y[T] = V(p)[T % 16 * 16 + T / 16];", (WAR, RAW), block=256),
    "wide_over_narrow": Case(
        "SHARED v4 p[32]; V((u32 *)p)[T] = T; if (T < 32) *(v4 *)(y + 4 * T) = *(volatile v4 *)(p + T);",
        (WAR, RAW), block=128),
    "two_rows_of_three": Case(
        "SHARED u32 p[384]; for (u32 i = 0; i < 6; ++i) { V(p)[i % 3 * 128 + T] = i; barrier();"
        "V(y)[T] = V(p)[i % 3 * 128 + 127 - T]; }", block=128),
}  # fmt: skip

GLOBAL: Final = {
    "groups_apart": Case("x[G * 64 + T] = 1;", grid=4),
    "groups_together": Case("if (T == 0) x[G / 2] = G;", (WAW,), grid=4),
    "groups_write_the_same": Case("if (T == 0) x[0] = 7;", (SAME,), grid=4),
    "in_place_stencil": Case("u32 i = G * 64 + T; if (i < 255) x[i] = x[i + 1] + 1000;", (WAR,), grid=4),
    "stencil": Case("u32 i = G * 64 + T; if (i < 255) y[i] = x[i + 1];", grid=4),
    "histogram": Case("V(x)[V(x)[128 + T] & 7] += 1;", (WAW,), grid=2),
    "histogram_of_atomics": Case(
        "__scoped_atomic_fetch_add(x + (V(x)[128 + T] & 7), 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);", grid=2),
    "bytes_of_a_dword": Case("if (T == 0) V((u8 *)x)[G] = G;", grid=4),
    "counter": Case("if (T == 0) V(x)[0] += 1;", (WAW,), grid=2),
    "waves_of_a_group": Case("x[T] = T + 300; x[128 + T] = x[127 - T];", (WAR, RAW), block=128),
    "waves_of_a_group_with_barrier": Case(
        "x[T] = T + 300; barrier(); x[128 + T] = x[127 - T];", block=128),
    "lanes_together": Case("V(x)[T / 2] = T + 300;", (LANES,)),
    "lanes_write_the_same": Case("V(x)[T / 2] = T / 2;"),
    "lanes_of_a_group_together": Case("SHARED u32 p[1]; V(p)[0] = T; barrier(); y[T] = V(p)[0];", (LANES,),
                                      on(RDNA, LANES, WAW)),
}  # fmt: skip

BARRIERS: Final = {
    "all_come": Case("barrier(); y[T] = 1;", block=128),
    "a_wave_leaves": Case("if (T < 64) barrier(); y[T] = 1;", (SKIPPED,), block=128),
    "a_wave_returns": Case("if (T >= 64) return; barrier(); y[T] = 1;", (SKIPPED,), block=128),
    "half_of_64_returns": Case("if (T >= 32) return; barrier(); y[T] = 1;", (DIVERGENT,), on(RDNA, SKIPPED)),
    "half_of_32_returns": Case("if (T % 32 >= 16) return; barrier(); y[T] = 1;", (DIVERGENT,)),
    "different_ones": Case(
        "if (T < 64) { V(y)[T] = 1; barrier(); } else { V(y)[T] = 2; barrier(); }", (DIFFERENT,), block=128),
    "different_rounds": Case("for (u32 i = 0; i < 1 + T / 64; ++i) { V(y)[T] = i; barrier(); }", (SKIPPED,), block=128),
    "the_same_rounds": Case("for (u32 i = 0; i < n / 16; ++i) { V(y)[T] = i; barrier(); }", block=128),
    "some_lanes": Case("if (V(x)[T] < 40) barrier(); y[T] = 1;", (DIVERGENT,), on(RDNA, DIVERGENT)),
}  # fmt: skip
GROUPS: Final = {
    "bounds": BOUNDS, "uninitialised": UNINITIALISED, "lds": LDS, "global": GLOBAL, "barriers": BARRIERS,
}  # fmt: skip


def source(cases: dict[str, Case]) -> str:
    """One file with a kernel of each case."""
    head = (
        "typedef u32 v4 __attribute__((ext_vector_type(4)));\ntypedef u16 __attribute__((aligned(1))) u16u;\n"
        "template <class E> DEVICE volatile E *V(E *p) { return p; }\n"
        "template <class E> DEVICE volatile __attribute__((address_space(3))) E *V("
        "__attribute__((address_space(3))) E *p) { return p; }\n"
    )
    parameters = "u32 *x, u32 *y, u32 *gone, u32 n"
    return head + "".join(f"KERNEL void {name}({parameters}) {{ {case.body} }}\n" for name, case in cases.items())
