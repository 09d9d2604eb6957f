"""Workgroups that wait for each other by memory come to their end, however many there are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.device import bench

SOURCE = """
KERNEL void count_in(int *arrived, int *seen, int groups, int sleeps) {
    __attribute__((shared)) static int before;
    if (__builtin_amdgcn_workitem_id_x() == 0) {
        before = __atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED);
        if (__builtin_amdgcn_workgroup_id_x() % 3 == 0)
            while (__atomic_load_n(arrived, __ATOMIC_RELAXED) < groups)
                if (sleeps) __builtin_amdgcn_s_sleep(1);
    }
    __builtin_amdgcn_s_barrier();
    if (__builtin_amdgcn_workitem_id_x() == 255)
        seen[__builtin_amdgcn_workgroup_id_x()] = before >= 0 ? __atomic_load_n(arrived, __ATOMIC_RELAXED) : -1;
}
KERNEL void clear_and_add(float *sums, int groups) {
    int mine = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x();
    if (lane == 0) sums[mine] = 0;
    __builtin_amdgcn_s_barrier();
    if (lane < groups)
        __hip_atomic_fetch_add(&sums[lane], 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL void hand_down(int *baton, int *order, int groups) {
    int mine = __builtin_amdgcn_workgroup_id_x();
    while (__atomic_load_n(baton, __ATOMIC_RELAXED) != groups - 1 - mine) __builtin_amdgcn_s_sleep(2);
    order[groups - 1 - mine] = mine;
    __atomic_store_n(baton, groups - mine, __ATOMIC_RELAXED);
}
"""
BOTH_TIERS = pytest.mark.parametrize("compiled", [False, True], ids=["threaded", "compiled"])


@BOTH_TIERS
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("sleeps", [0, 1])
def test_groups_that_wait_for_all_others(target: str, sleeps: int, compiled: bool) -> None:
    """Every third group spins until the last has arrived, far more groups than threads."""
    groups = 40
    seen = np.zeros(groups, np.int32)
    on = bench(SOURCE, target, compiled=compiled)
    on.run("count_in", np.zeros(1, np.int32), seen, np.int32(groups), np.int32(sleeps), grid=groups, block=256)
    assert (seen[::3] == groups).all()
    assert (seen > 0).all()


@BOTH_TIERS
def test_groups_that_wait_for_their_successor(compiled: bool) -> None:
    """The last group begins; each of the others waits for the one behind it."""
    groups = 24
    order = np.full(groups, -1, np.int32)
    bench(SOURCE, "gfx942", compiled=compiled).run(
        "hand_down", np.zeros(1, np.int32), order, np.int32(groups), grid=groups
    )
    assert order.tolist() == list(range(groups))[::-1]


@pytest.mark.parametrize("groups", [3, 60])
def test_groups_that_clear_what_others_add_to(groups: int) -> None:
    """Where floats are added to memory, all workgroups reach their first barrier before one goes on."""
    sums = np.full(groups, np.nan, np.float32)
    flags = ("-munsafe-fp-atomics",)
    bench(SOURCE, "gfx942", flags).run("clear_and_add", sums, np.int32(groups), grid=groups, block=128)
    assert (sums == groups).all()
