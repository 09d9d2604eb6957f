"""Scalar instructions of gfx11 (RDNA 3): what differs from gfx10. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[SOP1]
   8 s_ctz_i32_b32           1 1 -
   9 s_ctz_i32_b64           1 2 -
  10 s_clz_i32_u32           1 1 -
  11 s_clz_i32_u64           1 2 -
  12 s_cls_i32               1 1 -
  13 s_cls_i32_i64           1 2 -
  44 s_and_not0_saveexec_b32 1 1 -
  45 s_and_not0_saveexec_b64 2 2 -
  46 s_or_not0_saveexec_b32  1 1 -
  47 s_or_not0_saveexec_b64  2 2 -
  48 s_and_not1_saveexec_b32 1 1 -
  49 s_and_not1_saveexec_b64 2 2 -
  50 s_or_not1_saveexec_b32  1 1 -
  51 s_or_not1_saveexec_b64  2 2 -
  52 s_and_not0_wrexec_b32   1 1 -
  53 s_and_not0_wrexec_b64   2 2 -
  54 s_and_not1_wrexec_b32   1 1 -
  55 s_and_not1_wrexec_b64   2 2 -
  76 s_sendmsg_rtn_b32       1 q -
  77 s_sendmsg_rtn_b64       2 q -
  96 s_ceil_f32              1 1 -
  97 s_floor_f32             1 1 -
  98 s_trunc_f32             1 1 -
  99 s_rndne_f32             1 1 -
 100 s_cvt_f32_i32           1 1 -
 101 s_cvt_f32_u32           1 1 -
 102 s_cvt_i32_f32           1 1 -
 103 s_cvt_u32_f32           1 1 -
 104 s_cvt_f16_f32           1 1 -
 105 s_cvt_f32_f16           1 1 -
 106 s_cvt_hi_f32_f16        1 1 -
 107 s_ceil_f16              1 1 -
 108 s_floor_f16             1 1 -
 109 s_trunc_f16             1 1 -
 110 s_rndne_f16             1 1 -
= s_mov_b32=0 s_mov_b64=1 s_cmov_b32=2 s_cmov_b64=3 s_brev_b32=4 s_brev_b64=5 s_sext_i32_i8=14 s_sext_i32_i16=15
= s_bitset0_b32=16 s_bitset0_b64=17 s_bitset1_b32=18 s_bitset1_b64=19 s_bitreplicate_b64_b32=20 s_abs_i32=21
= s_bcnt0_i32_b32=22 s_bcnt0_i32_b64=23 s_bcnt1_i32_b32=24 s_bcnt1_i32_b64=25 s_quadmask_b32=26 s_quadmask_b64=27
= s_wqm_b32=28 s_wqm_b64=29 s_not_b32=30 s_not_b64=31 s_and_saveexec_b32=32 s_and_saveexec_b64=33
= s_or_saveexec_b32=34 s_or_saveexec_b64=35 s_xor_saveexec_b32=36 s_xor_saveexec_b64=37 s_nand_saveexec_b32=38
= s_nand_saveexec_b64=39 s_nor_saveexec_b32=40 s_nor_saveexec_b64=41 s_xnor_saveexec_b32=42 s_movrels_b32=64
= s_movrels_b64=65 s_movreld_b32=66 s_movreld_b64=67 s_movrelsd_2_b32=68 s_getpc_b64=71 s_setpc_b64=72
= s_swappc_b64=73 s_rfe_b64=74
- s_andn1_saveexec_b32 s_andn1_saveexec_b64 s_andn1_wrexec_b32 s_andn1_wrexec_b64 s_andn2_saveexec_b32
- s_andn2_saveexec_b64 s_andn2_wrexec_b32 s_andn2_wrexec_b64 s_ff0_i32_b32 s_ff0_i32_b64 s_ff1_i32_b32 s_ff1_i32_b64
- s_flbit_i32 s_flbit_i32_b32 s_flbit_i32_b64 s_flbit_i32_i64 s_orn1_saveexec_b32 s_orn1_saveexec_b64
- s_orn2_saveexec_b32 s_orn2_saveexec_b64
[SOP2]
  34 s_and_not1_b32       1 1,1   -
  35 s_and_not1_b64       2 2,2   -
  36 s_or_not1_b32        1 1,1   -
  37 s_or_not1_b64        2 2,2   -
  53 s_pack_hl_b32_b16    1 1,1   -
  64 s_add_f32            1 1,1   -
  65 s_sub_f32            1 1,1   -
  66 s_min_f32            1 1,1   -
  67 s_max_f32            1 1,1   -
  68 s_mul_f32            1 1,1   -
  69 s_fmaak_f32          1 1,1,K -
  70 s_fmamk_f32          1 1,K,1 -
  71 s_fmac_f32           1 1,1   -
  72 s_cvt_pk_rtz_f16_f32 1 1,1   -
  73 s_add_f16            1 h,h   -
  74 s_sub_f16            1 h,h   -
  75 s_min_f16            1 h,h   -
  76 s_max_f16            1 h,h   -
  77 s_mul_f16            1 h,h   -
  78 s_fmac_f16           1 h,h   -
= s_absdiff_i32=6 s_lshl_b32=8 s_lshl_b64=9 s_lshr_b32=10 s_lshr_b64=11 s_ashr_i32=12 s_ashr_i64=13
= s_lshl1_add_u32=14 s_lshl2_add_u32=15 s_lshl3_add_u32=16 s_lshl4_add_u32=17 s_min_i32=18 s_min_u32=19 s_max_i32=20
= s_max_u32=21 s_and_b32=22 s_and_b64=23 s_or_b32=24 s_or_b64=25 s_xor_b32=26 s_xor_b64=27 s_nand_b32=28
= s_nand_b64=29 s_nor_b32=30 s_nor_b64=31 s_xnor_b32=32 s_xnor_b64=33 s_bfe_u32=38 s_bfe_i32=39 s_bfe_u64=40
= s_bfe_i64=41 s_bfm_b32=42 s_bfm_b64=43 s_mul_i32=44 s_mul_hi_u32=45 s_mul_hi_i32=46 s_cselect_b32=48
= s_cselect_b64=49
- s_andn2_b32 s_andn2_b64 s_orn2_b32 s_orn2_b64
[SOPC]
  65 s_cmp_lt_f32  - 1,1 -
  66 s_cmp_eq_f32  - 1,1 -
  67 s_cmp_le_f32  - 1,1 -
  68 s_cmp_gt_f32  - 1,1 -
  69 s_cmp_lg_f32  - 1,1 -
  70 s_cmp_ge_f32  - 1,1 -
  71 s_cmp_o_f32   - 1,1 -
  72 s_cmp_u_f32   - 1,1 -
  73 s_cmp_nge_f32 - 1,1 -
  74 s_cmp_nlg_f32 - 1,1 -
  75 s_cmp_ngt_f32 - 1,1 -
  76 s_cmp_nle_f32 - 1,1 -
  77 s_cmp_neq_f32 - 1,1 -
  78 s_cmp_nlt_f32 - 1,1 -
  81 s_cmp_lt_f16  - i,i -
  82 s_cmp_eq_f16  - i,i -
  83 s_cmp_le_f16  - i,i -
  84 s_cmp_gt_f16  - i,i -
  85 s_cmp_lg_f16  - i,i -
  86 s_cmp_ge_f16  - i,i -
  87 s_cmp_o_f16   - i,i -
  88 s_cmp_u_f16   - i,i -
  89 s_cmp_nge_f16 - i,i -
  90 s_cmp_nlg_f16 - i,i -
  91 s_cmp_ngt_f16 - i,i -
  92 s_cmp_nle_f16 - i,i -
  93 s_cmp_neq_f16 - i,i -
  94 s_cmp_nlt_f16 - i,i -
= s_cmp_eq_u64=16 s_cmp_lg_u64=17
[SOPK]
= s_getreg_b32=17 s_setreg_b32=18 s_setreg_imm32_b32=19 s_call_b64=20 s_subvector_loop_begin=22
= s_subvector_loop_end=23 s_waitcnt_vscnt=24 s_waitcnt_vmcnt=25 s_waitcnt_expcnt=26 s_waitcnt_lgkmcnt=27
[SOPP]
   4 s_set_inst_prefetch_distance - k -
   7 s_delay_alu                  - f -
  11 s_wait_event                 - k -
= s_setkill=1 s_sethalt=2 s_sleep=3 s_clause=5 s_waitcnt_depctr=8 s_waitcnt=9 s_wait_idle=10 s_trap=16
= s_round_mode=17 s_denorm_mode=18 s_branch=32 s_cbranch_scc0=33 s_cbranch_scc1=34 s_cbranch_vccz=35
= s_cbranch_vccnz=36 s_cbranch_execz=37 s_cbranch_execnz=38 s_cbranch_cdbgsys=39 s_cbranch_cdbguser=40
= s_cbranch_cdbgsys_or_user=41 s_cbranch_cdbgsys_and_user=42 s_endpgm=48 s_endpgm_saved=49
= s_endpgm_ordered_ps_done=50 s_wakeup=52 s_setprio=53 s_sendmsg=54 s_sendmsghalt=55 s_incperflevel=56
= s_decperflevel=57 s_ttracedata=58 s_ttracedata_imm=59 s_icache_inv=60 s_barrier=61
- s_inst_prefetch
[SMEM]
   0 s_load_b32         1  2 -
   1 s_load_b64         2  2 -
   2 s_load_b128        4  2 -
   3 s_load_b256        8  2 -
   4 s_load_b512        16 2 -
   8 s_buffer_load_b32  1  4 -
   9 s_buffer_load_b64  2  4 -
  10 s_buffer_load_b128 4  4 -
  11 s_buffer_load_b256 8  4 -
  12 s_buffer_load_b512 16 4 -
= s_gl1_inv=32 s_dcache_inv=33 s_atc_probe=34 s_atc_probe_buffer=35
- s_buffer_load_dword s_buffer_load_dwordx16 s_buffer_load_dwordx2 s_buffer_load_dwordx4 s_buffer_load_dwordx8
- s_load_dword s_load_dwordx16 s_load_dwordx2 s_load_dwordx4 s_load_dwordx8 s_memrealtime s_memtime
"""
