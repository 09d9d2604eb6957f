"""Arguments that lie in scalar registers when a kernel starts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.device import Bench, machine
from tests.samples import assemble

BODIES = {
    (0, 4): "v_mov_b32 v2, s4\n v_add_u32 v2, s5, v2\n global_store_dword v1, v2, s[2:3]",
    (2, 2): (
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\n v_mov_b32 v2, s2\n v_add_u32 v2, s3, v2\n s_waitcnt lgkmcnt(0)\n"
        " global_store_dword v1, v2, s[4:5]"
    ),
}
SOURCE = """
.text
.globl early
.type early,@function
.p2align 8
early:
 {prologue}
 .p2align 8, , 252
 v_lshlrev_b32 v1, 2, v0
 {body}
 s_endpgm
.size early, .-early
.rodata
.p2align 6
.amdhsa_kernel early
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 16
 .amdhsa_accum_offset 8
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_kernarg_preload_offset {first}
 .amdhsa_user_sgpr_kernarg_preload_length {count}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: early
    .symbol: early.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 4, .value_kind: by_value}}
      - {{.offset: 12, .size: 4, .value_kind: by_value}}
...
.end_amdgpu_metadata
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(("first", "count"), BODIES)
@pytest.mark.parametrize("prologue", ["s_trap 2", "s_branch early"])
def test_kernels_find_preloaded_arguments(target: str, first: int, count: int, prologue: str) -> None:
    """They begin behind what is there for hardware that does not preload: in AITER's compiled files a trap."""
    content = assemble(SOURCE.format(prologue=prologue, body=BODIES[first, count], first=first, count=count), target)
    on, out = Bench(machine(target), machine(target).load(content)), np.zeros(64, np.uint32)
    for a, b in ((7, 30), (1000, 1)):  # equal launches, but for the arguments
        on.run("early", out, np.uint32(a), np.uint32(b))
        np.testing.assert_array_equal(out, a + b)
