"""Branches, barriers, ends, and what has no effect here."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, control


def _set(c: Context, bits: Value) -> Value:
    return bits.ne(0)


def _clear(c: Context, bits: Value) -> Value:
    return bits.eq(0)


control("s_endpgm s_endpgm_saved", "end")
control("s_barrier", "barrier")
control("s_branch", "branch")
control("s_cbranch_scc0", "branch", "scc", _clear)
control("s_cbranch_scc1", "branch", "scc", _set)
control("s_cbranch_execz", "branch", "exec", _clear)
control("s_cbranch_execnz", "branch", "exec", _set)
control("s_cbranch_vccz", "branch", "vcc", _clear)
control("s_cbranch_vccnz", "branch", "vcc", _set)

# Loads to LDS land at waits for vector memory.
control("s_waitcnt s_waitcnt_vmcnt", "wait")

# Memory is coherent and all else completes in order, so other waits, cache control and scheduling hints do nothing.
# There are no exceptions, and no debugger for which to branch.
control(
    """
    s_nop s_waitcnt_vscnt s_waitcnt_expcnt s_waitcnt_lgkmcnt s_waitcnt_depctr
    s_setprio s_inst_prefetch s_icache_inv s_dcache_inv s_dcache_wb s_clause s_delay_alu s_sethalt
    s_ttracedata s_code_end s_wait_idle s_wait_event s_wait_loadcnt s_wait_storecnt s_wait_kmcnt s_wait_dscnt
    s_wait_samplecnt s_wait_bvhcnt s_wait_expcnt s_wait_loadcnt_dscnt s_wait_storecnt_dscnt s_wait_alu
    s_set_inst_prefetch_distance s_incperflevel s_decperflevel s_sendmsg buffer_wbinvl1 buffer_wbinvl1_vol
    buffer_wbl2 buffer_invl2 buffer_inv buffer_gl0_inv buffer_gl1_inv global_inv global_wb global_wbinv v_nop
    s_prefetch_inst s_prefetch_inst_pc_rel s_prefetch_data s_prefetch_data_pc_rel s_buffer_prefetch_data ds_nop
    v_clrexcp v_pipeflush s_cbranch_cdbgsys s_cbranch_cdbguser s_cbranch_cdbgsys_or_user s_cbranch_cdbgsys_and_user
    s_dcache_discard s_dcache_discard_x2 s_atc_probe s_atc_probe_buffer
    """,
    "nop",
)

# What sleeps waits for others: the wave's time slice ends sooner.
control("s_sleep s_sleep_var", "sleep")

# Two instructions at once (VOPD); what each does is said by its own row.
control("v_dual", "dual")

# No instructions: what begins a block in tier 0, and what stands for code that nothing has reached.
control("count", "count")
control("untranslated", "untranslated")
