"""Kernels with and without missing waits, in `spelling.said`'s words, and how many findings each has."""

from __future__ import annotations

from typing import Final

from attrs import field, frozen

from tests.checking.kernels import CDNA, NAMES

NOT_ON_12: Final = NAMES[:5]


@frozen
class Case:
    """One kernel: the number of findings on the targets where it has another one than `findings`."""

    body: str
    findings: int
    otherwise: dict[str, int] = field(factory=dict)
    targets: tuple[str, ...] = NAMES

    def on(self, target: str) -> int:
        return self.otherwise.get(target, self.findings)


def only(targets: tuple[str, ...], findings: int) -> dict[str, int]:
    return dict.fromkeys(targets, findings)


LOADS: Final = {
    "load_waited": Case("{load} v2, v0, s[4:5]; wait loads 0; {store} v0, v2, s[4:5]", 0),
    "load_stored": Case("{load} v2, v0, s[4:5]; s_nop 0; {store} v0, v2, s[4:5]", 1),
    "load_as_address": Case("{load} v2, v0, s[4:5]; {load} v3, v2, s[4:5]; wait loads 0", 1),
    "load_over_its_own_address": Case("{load} v0, v0, s[4:5]; {load} v1, v0, s[4:5]; wait loads 0", 1),
    "second_of_two": Case("{load} v2, v0, s[4:5]; {load} v3, v0, s[4:5]; wait loads 1; {add} v4, v2, v3", 1),
    "both_of_two": Case("{load} v2, v0, s[4:5]; {load} v3, v0, s[4:5]; {add} v4, v2, v3", 2),
    "both_waited": Case("{load} v2, v0, s[4:5]; {load} v3, v0, s[4:5]; wait loads 0; {add} v4, v2, v3", 0),
    "three_in_turn": Case(
        "{load} v2, v0, s[4:5]; {load} v3, v0, s[4:5]; {load} v4, v0, s[4:5]; wait loads 2; v_mov_b32 v5, v2;"
        "wait loads 1; v_mov_b32 v5, v3; wait loads 0; v_mov_b32 v5, v4", 0),
    "three_one_ahead": Case(
        "{load} v2, v0, s[4:5]; {load} v3, v0, s[4:5]; {load} v4, v0, s[4:5]; wait loads 2; v_mov_b32 v5, v3;"
        "wait loads 0", 1),
    "four_registers": Case("{load4} v[4:7], v0, s[4:5]; wait loads 0; {add} v8, v4, v7", 0),
    "first_of_four_registers": Case("{load4} v[4:7], v0, s[4:5]; v_mov_b32 v8, v4", 1),
    "last_of_four_registers": Case("{load4} v[4:7], v0, s[4:5]; v_mov_b32 v8, v7", 1),
    "beside_four_registers": Case("{load4} v[4:7], v0, s[4:5]; {add} v9, v3, v8; wait loads 0", 0),
    "stored_from_four": Case("{load4} v[4:7], v0, s[4:5]; {store4} v0, v[4:7], s[4:5]", 1),
    "overwritten": Case("{load} v2, v0, s[4:5]; v_mov_b32 v2, 0", 1),
    "overwritten_after_the_wait": Case("{load} v2, v0, s[4:5]; wait loads 0; v_mov_b32 v2, 0", 0),
    "double_multiplied": Case("{load2} v[2:3], v0, s[4:5]; wait loads 0; v_fma_f64 v[4:5], v[2:3], v[2:3], v[2:3]", 0),
    "double_not_waited": Case("{load2} v[2:3], v0, s[4:5]; v_fma_f64 v[4:5], v[2:3], v[2:3], v[2:3]", 1),
    "double_overwritten": Case("{load2} v[2:3], v0, s[4:5]; v_fma_f64 v[2:3], v[4:5], v[4:5], v[4:5]", 1),
    "product_over_load": Case(
        "{load4} v[4:7], v0, s[4:5]; v_mfma_f32_16x16x4f32 v[4:7], v8, v9, v[12:15]", 1, targets=CDNA),
    "wave_product_over_load": Case(
        "{load4} v[4:7], v0, s[4:5]; v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[24:31]", 1,
        targets=("gfx1100",)),
    "no_wait_count": Case("{load} v2, v0, s[4:5]; wait loads 63; v_mov_b32 v3, v2", 1),
    "delay_is_no_wait": Case("{load} v2, v0, s[4:5]; s_delay_alu instid0(VALU_DEP_1); v_mov_b32 v3, v2", 1,
                             targets=("gfx1100", "gfx1201")),
    "nop_is_no_wait": Case("{load} v2, v0, s[4:5]; s_nop 7; s_nop 7; v_mov_b32 v3, v2", 1),
    "load_with_no_lanes": Case("s_mov_b64 exec, 0; {load} v2, v0, s[4:5]; s_nop 4; v_mov_b32 v3, v2", 1),
    "store_behind_it": Case("{store} v0, v1, s[4:5]; {load} v2, v0, s[4:5]; wait loads 1; v_mov_b32 v3, v2", 1),
    "stored_data_overwritten": Case("{store} v0, v1, s[4:5]; v_mov_b32 v1, 0", 0),
    "address_overwritten": Case("{load} v2, v0, s[4:5]; v_mov_b32 v0, 0; wait loads 0", 0),
    "scratch_loaded": Case("{scratch_load} v2, v0, off; v_mov_b32 v3, v2", 1),
    "scratch_waited": Case("{scratch_load} v2, v0, off; wait loads 0; v_mov_b32 v3, v2", 0),
    "full_of_loads": Case(
        "".join(f"{{load}} v{i}, v0, s[4:5];" for i in range(2, 72)) + "v_mov_b32 v1, v2", 0),
    "full_but_for_the_youngest": Case(
        "".join(f"{{load}} v{i}, v0, s[4:5];" for i in range(2, 72)) + "v_mov_b32 v1, v70", 1),
    "flat_waited": Case("{flat} v2, v[0:1]; wait loads 0; wait lds 0; v_mov_b32 v3, v2", 0),
    "flat_vector_counter_only": Case("{flat} v2, v[0:1]; wait loads 0; v_mov_b32 v3, v2", 1),
    "flat_lds_counter_only": Case("{flat} v2, v[0:1]; wait lds 0; v_mov_b32 v3, v2", 1),
    "flat_behind_a_load": Case(
        "{load} v2, v0, s[4:5]; {flat} v3, v[0:1]; wait loads 1; v_mov_b32 v4, v2; wait loads 0; wait lds 0", 0,
        only(CDNA, 1)),
    "returned_count_used": Case("{count} v2, v0, v1, s[4:5] {returns}; v_mov_b32 v3, v2", 1),
    "returned_count_waited": Case("{count} v2, v0, v1, s[4:5] {returns}; wait loads 0; v_mov_b32 v3, v2", 0),
    "returned_count_export_counter": Case(
        "{count} v2, v0, v1, s[4:5] {returns}; s_waitcnt expcnt(0); v_mov_b32 v3, v2", 1, targets=NOT_ON_12),
    "count_without_result": Case("{count} v0, v1, s[4:5]; v_mov_b32 v1, 0", 0),
    "two_loads_of_one_register": Case("{load} v2, v0, s[4:5]; {load} v2, v1, s[4:5]; wait loads 0", 0, {"gfx1201": 1}),
    "load_and_lds_of_one_register": Case("{load} v2, v0, s[4:5]; {read} v2, v1; wait loads 0; wait lds 0", 1),
    "masked_move_over_load": Case(
        "{load} v2, v0, s[4:5]; s_mov_b64 exec, 1; v_mov_b32 v2, 0; s_mov_b64 exec, -1; v_mov_b32 v3, v2", 1),
}  # fmt: skip

LDS: Final = {
    "read_used": Case("{read} v2, v0; v_mov_b32 v3, v2", 1),
    "read_waited": Case("{read} v2, v0; wait lds 0; v_mov_b32 v3, v2", 0),
    "read_waited_for_loads": Case("{read} v2, v0; wait loads 0; v_mov_b32 v3, v2", 1),
    "load_waited_for_lds": Case("{load} v2, v0, s[4:5]; wait lds 0; v_mov_b32 v3, v2", 1),
    "both_counters_one_waited": Case(
        "{load} v2, v0, s[4:5]; {read} v3, v0; wait loads 0; v_mov_b32 v4, v2; v_mov_b32 v5, v3", 1),
    "second_address": Case("{read2} v[2:3], v0 offset1:1; v_mov_b32 v4, v3", 1),
    "second_address_waited": Case("{read2} v[2:3], v0 offset1:1; wait lds 0; v_mov_b32 v4, v3", 0),
    "two_wide_first_waited": Case(
        "{read4} v[4:7], v0; {read4} v[8:11], v0; wait lds 1; v_mov_b32 v4, 0; wait lds 0; v_mov_b32 v8, 0", 0),
    "two_wide_not_waited": Case("{read4} v[4:7], v0; {read4} v[8:11], v0; v_mov_b32 v4, 0; v_mov_b32 v8, 0", 2),
    "full_of_reads": Case("".join(f"{{read}} v{i}, v0;" for i in range(2, 80)) + "v_mov_b32 v1, v2", 0),
    "scalars_between": Case("{read} v2, v0; {scalar} s8, s[4:5], 0x0; wait lds 1; v_mov_b32 v3, v2", 1, {"gfx1201": 1}),
    "write_then_barrier": Case("{write} v0, v1; barrier", 1),
    "write_waited_then_barrier": Case("{write} v0, v1; wait lds 0; barrier", 0),
    "second_write_waited": Case("{write} v0, v1; {write} v0, v1; wait lds 1; barrier", 1),
    "read_then_barrier": Case("{read} v2, v0; barrier; wait lds 0; v_mov_b32 v3, v2", 0),
    "write_then_read_of_a_wave": Case("{write} v0, v1; {read} v2, v0; wait lds 0; v_mov_b32 v3, v2", 0),
    "data_overwritten": Case("{write} v0, v1; v_mov_b32 v1, 0; wait lds 0", 0),
    "permuted": Case("ds_bpermute_b32 v2, v0, v1; v_mov_b32 v3, v2", 1),
    "permuted_waited": Case("ds_bpermute_b32 v2, v0, v1; wait lds 0; v_mov_b32 v3, v2", 0),
    "swizzled": Case("ds_swizzle_b32 v2, v0 offset:swizzle(SWAP,1); v_mov_b32 v3, v2", 1),
}  # fmt: skip

SCALARS: Final = {
    "scalar_used": Case("{scalar} s8, s[4:5], 0x0; s_add_u32 s9, s8, s8", 1),
    "scalar_waited": Case("{scalar} s8, s[4:5], 0x0; wait scalars 0; s_add_u32 s9, s8, s8", 0),
    "scalar_overwritten": Case("{scalar} s8, s[4:5], 0x0; s_mov_b32 s8, 0", 1),
    "scalar_overwritten_after_the_wait": Case("{scalar} s8, s[4:5], 0x0; wait scalars 0; s_mov_b32 s8, 0", 0),
    "scalar_loaded_over": Case("{scalar} s8, s[4:5], 0x0; {scalar} s8, s[4:5], 0x4; wait scalars 0", 1),
    "scalar_loaded_over_after_the_wait": Case(
        "{scalar} s8, s[4:5], 0x0; wait scalars 0; {scalar} s8, s[4:5], 0x4; wait scalars 0", 0),
    "one_of_two_scalars": Case(
        "{scalar} s8, s[4:5], 0x0; {scalar} s9, s[4:5], 0x4; wait scalars 1; s_mov_b32 s10, s8", 1),
    "scalar_waited_as_a_load": Case(
        "{load} v2, v0, s[4:5]; {scalar} s8, s[4:5], 0x0; wait loads 0; v_mov_b32 v3, v2; s_mov_b32 s9, s8", 1),
    "pair_used": Case("{scalar2} s[8:9], s[4:5], 0x0; s_mov_b32 s10, s9", 1),
    "pair_as_address": Case("{scalar2} s[8:9], s[4:5], 0x0; {load} v2, v0, s[8:9]; wait loads 0", 1),
    "pair_as_address_waited": Case(
        "{scalar2} s[8:9], s[4:5], 0x0; wait scalars 0; {load} v2, v0, s[8:9]; wait loads 0", 0),
    "loaded_condition": Case("{scalar2} vcc, s[4:5], 0x0; s_cbranch_vccz 0", 1),
    "loaded_condition_waited": Case("{scalar2} vcc, s[4:5], 0x0; wait scalars 0; s_cbranch_vccz 0", 0),
    "loaded_mask": Case("{scalar2} s[8:9], s[4:5], 0x0; s_mov_b64 exec, s[8:9]", 1),
    "loaded_jump": Case("{scalar2} s[8:9], s[4:5], 0x0; s_setpc_b64 s[8:9]", 1),
}  # fmt: skip

FLOW: Final = {
    "taken_past_the_wait": Case(
        "{load} v2, v0, s[4:5]; s_cbranch_scc0 skip_{{}}; wait loads 0; skip_{{}}:; v_mov_b32 v3, v2", 1),
    "waited_on_both_ways": Case(
        "{load} v2, v0, s[4:5]; s_cbranch_scc0 skip_{{}}; wait loads 0; s_branch end_{{}}; skip_{{}}:; wait loads 0;"
        "end_{{}}:; v_mov_b32 v3, v2", 0),
    "waited_behind_the_join": Case(
        "{load} v2, v0, s[4:5]; s_cbranch_scc0 skip_{{}}; wait loads 0; skip_{{}}:; wait loads 0; v_mov_b32 v3, v2", 0),
    "branch_to_the_use": Case("{load} v2, v0, s[4:5]; s_branch use_{{}}; wait loads 0; use_{{}}:; v_mov_b32 v3, v2", 1),
    "two_producers": Case(
        "s_cbranch_scc0 other_{{}}; {load} v2, v0, s[4:5]; s_branch use_{{}}; other_{{}}:; {load} v2, v1, s[4:5];"
        "use_{{}}:; v_mov_b32 v3, v2", 2),
    "use_in_the_next_round": Case(
        "again_{{}}:; v_mov_b32 v3, v2; {load} v2, v0, s[4:5]; s_cbranch_scc0 again_{{}}", 1),
    "wait_in_the_next_round": Case(
        "again_{{}}:; wait loads 0; v_mov_b32 v3, v2; {load} v2, v0, s[4:5]; s_cbranch_scc0 again_{{}}", 0),
    "loop_that_waits_too_late": Case(
        "{load} v2, v0, s[4:5]; again_{{}}:; v_mov_b32 v3, v2; wait loads 0; {load} v2, v0, s[4:5];"
        "wait loads 0; s_cbranch_scc0 again_{{}}", 1),
    "pipelined_loop": Case(
        "{load} v2, v0, s[4:5]; again_{{}}:; {load} v3, v0, s[4:5]; wait loads 1; v_mov_b32 v4, v2; wait loads 0;"
        "{load} v2, v0, s[4:5]; v_mov_b32 v4, v3; s_cbranch_scc0 again_{{}}; wait loads 0", 0),
    "pipelined_loop_one_short": Case(
        "{load} v2, v0, s[4:5]; again_{{}}:; {load} v3, v0, s[4:5]; wait loads 2; v_mov_b32 v4, v2; wait loads 0;"
        "{load} v2, v0, s[4:5]; v_mov_b32 v4, v3; s_cbranch_scc0 again_{{}}; wait loads 0", 2),
    "never_reached": Case("s_branch end_{{}}; {load} v2, v0, s[4:5]; v_mov_b32 v3, v2; end_{{}}:", 0),
}  # fmt: skip
GROUPS: Final = {"loads": LOADS, "lds": LDS, "scalars": SCALARS, "flow": FLOW}
