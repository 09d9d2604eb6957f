"""Memory straight to LDS, and subtractions that stop at 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.emulator.cases import integers, seeds
from tests.emulator.instructions import bench

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
