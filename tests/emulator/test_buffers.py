"""Buffer resources, loads to LDS, register indexing: what hand-written kernels live on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emulator import instructions
from tests.emulator.device import bench

CDNA = ("gfx90a", "gfx942", "gfx950")
LANES = 64

BUFFERS = """
typedef __amdgpu_buffer_rsrc_t Resource;
#define RESOURCE(p, bytes) __builtin_amdgcn_make_buffer_rsrc((void *)(p), 0, bytes, 0x00027000)
KERNEL void gather(unsigned records, unsigned soffset, const unsigned *offsets, const unsigned *x, unsigned *out) {
    unsigned i = __builtin_amdgcn_workitem_id_x();
    out[i] = __builtin_amdgcn_raw_buffer_load_b32(RESOURCE(x, records), offsets[i], soffset, 0);
}
KERNEL void scatter(unsigned records, const unsigned *offsets, unsigned *out) {
    unsigned i = __builtin_amdgcn_workitem_id_x();
    __builtin_amdgcn_raw_buffer_store_b32(i + 1, RESOURCE(out, records), offsets[i], 0, 0);
}
KERNEL void staged(unsigned records, const unsigned *offsets, const unsigned *x, unsigned *out) {
    __attribute__((shared)) static unsigned lds[256];
    unsigned i = __builtin_amdgcn_workitem_id_x();
    for (unsigned k = i; k < 256; k += 64) lds[k] = 7;
    __builtin_amdgcn_s_barrier();
    asm volatile("s_mov_b32 m0, %0\\n buffer_load_dword %1, %2, 0 offen offset:260 lds\\n s_waitcnt vmcnt(0)"
                 :: "s"((unsigned)(unsigned long)(__attribute__((address_space(3))) unsigned *)lds + 128),
                    "v"(offsets[i] - 260), "s"(RESOURCE(x, records)) : "memory");
    __builtin_amdgcn_s_barrier();
    for (unsigned k = i; k < 256; k += 64) out[k] = lds[k];
}
"""
INDEXED = """
KERNEL void read_at(unsigned index, unsigned *out) {
    unsigned r;
    asm volatile("v_mov_b32 v40, 100\\n v_mov_b32 v41, 101\\n v_mov_b32 v42, 102\\n v_mov_b32 v43, 103\\n"
                 "s_set_gpr_idx_on %1, gpr_idx(SRC0)\\n v_add_u32 %0, v40, v40\\n s_set_gpr_idx_off\\n"
                 : "=v"(r) : "s"(index) : "v40", "v41", "v42", "v43", "m0");
    out[__builtin_amdgcn_workitem_id_x()] = r;
}
KERNEL void write_at(unsigned index, unsigned *out) {
    unsigned a, b, c;
    asm volatile("v_mov_b32 v40, 0\\n v_mov_b32 v41, 0\\n v_mov_b32 v42, 0\\n"
                 "s_set_gpr_idx_on %3, gpr_idx(DST)\\n v_mov_b32 v40, 9\\n v_writelane_b32 v40, 5, 3\\n"
                 "s_set_gpr_idx_off\\n"
                 "v_mov_b32 %0, v40\\n v_mov_b32 %1, v41\\n v_mov_b32 %2, v42"
                 : "=v"(a), "=v"(b), "=v"(c) : "s"(index) : "v40", "v41", "v42", "m0");
    unsigned i = __builtin_amdgcn_workitem_id_x();
    out[i] = a; out[64 + i] = b; out[128 + i] = c;
}
"""
OFFSETS = st.lists(st.integers(0, 400).map(lambda n: 4 * n) | st.just(0xFFFFFFFC), min_size=LANES, max_size=LANES)


@pytest.mark.parametrize("target", CDNA)
@given(offsets=OFFSETS, records=st.integers(0, 300).map(lambda n: 4 * n), soffset=st.sampled_from([0, 64, 2000]))
def test_loads_beyond_the_records_are_zero(target: str, offsets: list[int], records: int, soffset: int) -> None:
    """A lane whose offset is not below the records, less the scalar offset, reads 0 and is no fault."""
    x = np.arange(1, 1025, dtype=np.uint32)
    out = np.full(LANES, 99, np.uint32)
    bench(BUFFERS, target).run("gather", np.uint32(records), np.uint32(soffset), np.array(offsets, np.uint32), x, out)
    expected = [x[(o + soffset) // 4] if o < records - soffset else 0 for o in offsets]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("target", CDNA)
def test_stores_beyond_the_records_are_dropped(target: str) -> None:
    """Lanes inside write, lanes outside do nothing."""
    offsets = np.arange(LANES, dtype=np.uint32) * 8
    out = np.zeros(200, np.uint32)
    bench(BUFFERS, target).run("scatter", np.uint32(256), offsets, out)
    expected = np.zeros(200, np.uint32)
    expected[:64:2] = np.arange(1, 33)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("target", CDNA)
def test_load_to_lds(target: str) -> None:
    """Lane i goes to M0 + immediate + 4i; the immediate is part of the global offset too, which may wrap below 0."""
    rng = np.random.default_rng(1)
    offsets = (rng.permutation(LANES) * 4).astype(np.uint32)
    x, out = np.arange(100, 164, dtype=np.uint32), np.zeros(256, np.uint32)
    bench(BUFFERS, target).run("staged", np.uint32(160), offsets, x, out)
    expected = np.full(256, 7, np.uint32)
    start = (128 + 260) // 4
    expected[start : start + LANES] = np.where(offsets < 160, x[offsets // 4], 0)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("target", CDNA)
@pytest.mark.parametrize("index", [0, 1, 3])
def test_register_chosen_by_index(target: str, index: int) -> None:
    """Between s_set_gpr_idx_on and off, M0 is added to the operands that its mode names, and to no other."""
    out = np.zeros(LANES, np.uint32)
    bench(INDEXED, target).run("read_at", np.uint32(index), out)
    assert set(out.tolist()) == {100 + index + 100}
    if index < 3:
        written = np.zeros(3 * LANES, np.uint32)
        bench(INDEXED, target).run("write_at", np.uint32(index), written)
        expected = np.zeros((3, LANES), np.uint32)
        expected[index] = 9
        expected[index, 3] = 5
        np.testing.assert_array_equal(written.reshape(3, LANES), expected)


def test_every_page_is_resident() -> None:
    """The register behind the data says so with 0, in active lanes."""
    resource = "s_mov_b64 s[44:45], s[16:17]\n s_mov_b64 s[46:47], -1\n s_mov_b32 s47, 0x31016000"
    on = instructions.bench("gfx1030", {"k": f"{resource}\n buffer_load_dword v[10:11], v1, s[44:47], 0 offen tfe"})
    x = np.arange(32, dtype=np.uint32)
    outcome = on.run("k", {2: x, 10: x + 7, 11: x + 9}, exec_mask=0xFF)
    np.testing.assert_array_equal(outcome.vector(10), np.where(x < 8, x, x + 7))
    np.testing.assert_array_equal(outcome.vector(11), np.where(x < 8, 0, x + 9))
