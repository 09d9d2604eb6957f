"""Memory straight to LDS, which lands at a wait, and subtractions that stop at 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.emulator import device
from tests.emulator.cases import integers, seeds
from tests.emulator.instructions import bench

SOURCE = r"""
typedef unsigned u32;
#define DEVICE static __attribute__((device)) inline
DEVICE u32 tid() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE void load(u32 first, const u32 *from) {  // a dword for each lane, to LDS from `first` on
    u32 scalar = __builtin_amdgcn_readfirstlane(first);
    asm volatile("s_mov_b32 m0, %0\n s_nop 0\n global_load_lds_dword %1, off" :: "s"(scalar), "v"(from) : "memory");
}
DEVICE u32 read(u32 place) {
    u32 x;
    asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(x) : "v"(place) : "memory");
    return x;
}
DEVICE void write(u32 place, u32 x) {
    asm volatile("ds_write_b32 %0, %1\n s_waitcnt lgkmcnt(0)" :: "v"(place), "v"(x) : "memory");
}
DEVICE void wait() { asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); }

KERNEL void pass_on(const u32 *x, u32 *out, u32 rounds) {
    write(4 * tid(), x[tid()]);
    __builtin_amdgcn_s_barrier();
    for (u32 i = 0; i < rounds; i++) {
        u32 next = read(4 * ((tid() + 64) % 256));  // what another wave replaces right behind its own read
        load(4 * (tid() & ~63), &x[256 * (i + 1) + tid()]);
        out[256 * i + tid()] = next;
        wait();
        __builtin_amdgcn_s_barrier();
    }
}
KERNEL void hurry(const u32 *x, u32 *out, u32 count) {
    write(4 * tid(), 7);
    for (u32 i = 0; i < count; i++) load(256 * i, &x[64 * i + tid()]);
    u32 early = read(4 * tid());
    wait();
    out[tid()] = early;
    for (u32 i = 0; i < count; i++) out[64 * (i + 1) + tid()] = read(256 * i + 4 * tid());
}
KERNEL void leave(const u32 *x, u32 *out) {
    if (tid() < 64) {
        write(4 * tid(), 7);
        load(0, &x[tid()]);
    } else {
        while (read(4 * (tid() - 64)) == 7) __builtin_amdgcn_s_sleep(1);
        out[tid() - 64] = read(4 * (tid() - 64));
    }
}
"""
BOTH_TIERS = pytest.mark.parametrize("compiled", [False, True], ids=["threaded", "compiled"])
READ_BACK = "\n s_waitcnt vmcnt(0)\n ds_read_b32 v10, v1 offset:256\n s_waitcnt lgkmcnt(0)"


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("kind", "dtype"), [("dword", "u4"), ("ubyte", "u1"), ("sbyte", "i1"), ("ushort", "u2"), ("sshort", "i2")]
)
def test_global_memory_goes_to_lds(target: str, kind: str, dtype: str) -> None:
    """Lane after lane a dword behind M0 and the offset, whatever the address; here of the inputs of v3."""
    on = bench(target, {"load": f"s_mov_b32 m0, 0\n global_load_lds_{kind} v1, s[16:17] offset:256{READ_BACK}"})
    x = integers(np.random.default_rng(3), "u32", on.lanes)
    wanted = x.view(dtype)[:: 4 // np.dtype(dtype).itemsize].astype(np.int64).astype(np.uint32)
    np.testing.assert_array_equal(on.run("load", {3: x}).vector(10), wanted)


def test_three_dwords_to_lds_leave_the_fourth_alone() -> None:
    """Lanes follow each other by 16 bytes."""
    lines = (
        "v_lshlrev_b32 v20, 2, v1",
        "ds_write_b32 v20, v1 offset:268",
        "v_mul_u32_u24 v21, 3, v1",
        "s_mov_b32 m0, 256",
        "global_load_lds_dwordx3 v21, s[16:17]",
        "s_waitcnt vmcnt(0)",
        "ds_read_b128 v[10:13], v20 offset:256",
        "s_waitcnt lgkmcnt(0)",
    )
    on = bench("gfx950", {"load": "\n ".join(lines)})
    x = integers(np.random.default_rng(3), "u32", 3 * on.lanes).reshape(3, on.lanes)
    outcome = on.run("load", {2 + i: row for i, row in enumerate(x)})
    for i in range(3):
        np.testing.assert_array_equal(outcome.vector(10 + i), x.ravel()[i::3])
    np.testing.assert_array_equal(outcome.vector(13), np.arange(on.lanes) * 4)


@BOTH_TIERS
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_waves_read_what_others_are_about_to_replace(target: str, compiled: bool) -> None:
    """A wave that is ahead loads over what the others have not read yet: hardware's latency lets them."""
    rounds = 5
    x = integers(np.random.default_rng(5), "u32", 256 * (rounds + 1)).reshape(-1, 4, 64)
    out = np.zeros((rounds, 4, 64), np.uint32)
    device.bench(SOURCE, target, compiled=compiled).run(
        "pass_on", x, out, np.uint32(rounds), block=256, shared_bytes=1024
    )
    np.testing.assert_array_equal(out, np.roll(x[:-1], -1, axis=1))


@BOTH_TIERS
@pytest.mark.parametrize(("count", "early"), [(1, False), (64, False), (65, True), (70, True)])
def test_loads_land_at_the_wait(count: int, early: bool, compiled: bool) -> None:
    """Until then LDS holds what it held. More than six bits count are never under way: earlier ones have landed."""
    x = integers(np.random.default_rng(6), "u32", 64 * count).reshape(count, 64)
    out = np.zeros((count + 1, 64), np.uint32)
    device.bench(SOURCE, "gfx950", compiled=compiled).run("hurry", x, out, np.uint32(count), shared_bytes=256 * count)
    np.testing.assert_array_equal(out[0], x[0] if early else np.full(64, 7, np.uint32))
    np.testing.assert_array_equal(out[1:], x)


@BOTH_TIERS
def test_loads_of_a_wave_that_ends_land(compiled: bool) -> None:
    """Another wave of the workgroup sees them, though the one that loaded never waited."""
    x, out = integers(np.random.default_rng(7), "u32", 64) | 8, np.zeros(64, np.uint32)
    device.bench(SOURCE, "gfx942", compiled=compiled).run("leave", x, out, block=128, shared_bytes=256)
    np.testing.assert_array_equal(out, x)


@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_subtractions_that_stop(seed: int) -> None:
    """sub_clamp stays at 0, cond_sub subtracts only what is there; both return the old value."""
    head, tail = "ds_store_b32 v1, v2\n ds_{}_rtn_u32 v10, v1, v4", "\n ds_load_b32 v11, v1\n s_wait_dscnt 0x0"
    on = bench("gfx1201", {name: head.format(name) + tail for name in ("sub_clamp", "cond_sub")})
    rng = np.random.default_rng(seed)
    a, b = (integers(rng, "u32", on.lanes) for _ in range(2))
    for name, less in (("sub_clamp", np.zeros_like(a)), ("cond_sub", a)):
        outcome = on.run(name, {2: a, 4: b})
        np.testing.assert_array_equal(outcome.vector(10), a)
        np.testing.assert_array_equal(outcome.vector(11), np.where(a >= b, a - b, less))
