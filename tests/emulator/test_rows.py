"""The table of instruction meanings is well formed, and whole."""

from __future__ import annotations

from rocmkern.emulator.isa.table import ISAS, tables
from rocmkern.emulator.meaning import ROWS, row_of
from rocmkern.emulator.meaning.api import ELEMENT, OVERRIDES

# What docs/emulator.md says is not modelled.
LEFT_OUT = {
    "ds_bvh_stack_rtn_b32", "ds_bvh_stack_push4_pop1_rtn_b32", "ds_bvh_stack_push8_pop1_rtn_b32",
    "ds_bvh_stack_push8_pop2_rtn_b64", "global_atomic_ordered_add_b64", "global_load_tr_b64", "s_alloc_vgpr",
    "s_barrier_init", "s_barrier_join", "s_barrier_leave", "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join",
    "s_endpgm_ordered_ps_done", "s_get_barrier_state", "s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt", "s_setkill",
    "s_subvector_loop_begin", "s_subvector_loop_end", "s_trap", "v_illegal", "v_mfma_ld_scale_b32",
    "v_mullit_f32", "v_screen_partition_4se_b32",
}  # fmt: skip


def test_signatures_use_known_types() -> None:
    """Every type in a signature is one that operand fetch knows."""
    unknown = {
        (row.name, t)
        for row in (*ROWS.values(), *OVERRIDES.values())
        for t in (token.removeprefix("^").removeprefix("2x") for token in (*row.destinations, *row.sources))
        if t not in ELEMENT and not (t[0] == "r" and t[1:].isdigit())
    }
    assert unknown == set()


def test_every_cmpx_row_writes_exec() -> None:
    """v_cmpx narrows EXEC, whatever it compares."""
    rows = [row for row in ROWS.values() if row.name.startswith("v_cmpx_")]
    assert len(rows) > 100
    assert [row.name for row in rows if row.destinations != ("mx",)] == []


def test_what_decodes_has_a_meaning() -> None:
    """But for what is left out."""
    missing = {
        row.name
        for isa in ISAS
        for rows in tables(isa).values()
        for row in rows
        if row is not None and row_of(isa, row.name) is None
    }
    assert missing == LEFT_OUT
