"""Instructions of gfx10.3 (RDNA 2): what differs from gfx90a. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[SOP1]
  60 s_and_saveexec_b32   1 1  -
  61 s_or_saveexec_b32    1 1  -
  62 s_xor_saveexec_b32   1 1  -
  63 s_andn2_saveexec_b32 1 1  -
  64 s_orn2_saveexec_b32  1 1  -
  65 s_nand_saveexec_b32  1 1  -
  66 s_nor_saveexec_b32   1 1  -
  67 s_xnor_saveexec_b32  1 1  -
  68 s_andn1_saveexec_b32 1 1  -
  69 s_orn1_saveexec_b32  1 1  -
  70 s_andn1_wrexec_b32   1 1  -
  71 s_andn2_wrexec_b32   1 1  -
  73 s_movrelsd_2_b32     1 s1 -
= s_mov_b32=3 s_mov_b64=4 s_cmov_b32=5 s_cmov_b64=6 s_not_b32=7 s_not_b64=8 s_wqm_b32=9 s_wqm_b64=10 s_brev_b32=11
= s_brev_b64=12 s_bcnt0_i32_b32=13 s_bcnt0_i32_b64=14 s_bcnt1_i32_b32=15 s_bcnt1_i32_b64=16 s_ff0_i32_b32=17
= s_ff0_i32_b64=18 s_ff1_i32_b32=19 s_ff1_i32_b64=20 s_flbit_i32_b32=21 s_flbit_i32_b64=22 s_flbit_i32=23
= s_flbit_i32_i64=24 s_sext_i32_i8=25 s_sext_i32_i16=26 s_bitset0_b32=27 s_bitset0_b64=28 s_bitset1_b32=29
= s_bitset1_b64=30 s_getpc_b64=31 s_setpc_b64=32 s_swappc_b64=33 s_rfe_b64=34 s_and_saveexec_b64=36
= s_or_saveexec_b64=37 s_xor_saveexec_b64=38 s_andn2_saveexec_b64=39 s_orn2_saveexec_b64=40 s_nand_saveexec_b64=41
= s_nor_saveexec_b64=42 s_xnor_saveexec_b64=43 s_quadmask_b32=44 s_quadmask_b64=45 s_movrels_b32=46 s_movrels_b64=47
= s_movreld_b32=48 s_movreld_b64=49 s_abs_i32=52 s_andn1_saveexec_b64=55 s_orn1_saveexec_b64=56
= s_andn1_wrexec_b64=57 s_andn2_wrexec_b64=58 s_bitreplicate_b64_b32=59
- s_cbranch_join s_set_gpr_idx_idx
[SOP2]
= s_and_b32=14 s_and_b64=15 s_or_b32=16 s_or_b64=17 s_xor_b32=18 s_xor_b64=19 s_andn2_b32=20 s_andn2_b64=21
= s_orn2_b32=22 s_orn2_b64=23 s_nand_b32=24 s_nand_b64=25 s_nor_b32=26 s_nor_b64=27 s_xnor_b32=28 s_xnor_b64=29
= s_lshl_b32=30 s_lshl_b64=31 s_lshr_b32=32 s_lshr_b64=33 s_ashr_i32=34 s_ashr_i64=35 s_bfm_b32=36 s_bfm_b64=37
= s_mul_i32=38 s_bfe_u32=39 s_bfe_i32=40 s_bfe_u64=41 s_bfe_i64=42 s_absdiff_i32=44 s_mul_hi_u32=53 s_mul_hi_i32=54
- s_cbranch_g_fork s_rfe_restore_b64
[SOPC]
- s_set_gpr_idx_on s_setvskip
[SOPK]
   1 s_version              - k   -
  23 s_waitcnt_vscnt        - 1,k -
  24 s_waitcnt_vmcnt        - 1,k -
  25 s_waitcnt_expcnt       - 1,k -
  26 s_waitcnt_lgkmcnt      - 1,k -
  27 s_subvector_loop_begin 1 b   -
  28 s_subvector_loop_end   1 b   -
= s_cmovk_i32=2 s_cmpk_eq_i32=3 s_cmpk_lg_i32=4 s_cmpk_gt_i32=5 s_cmpk_ge_i32=6 s_cmpk_lt_i32=7 s_cmpk_le_i32=8
= s_cmpk_eq_u32=9 s_cmpk_lg_u32=10 s_cmpk_gt_u32=11 s_cmpk_ge_u32=12 s_cmpk_lt_u32=13 s_cmpk_le_u32=14 s_addk_i32=15
= s_mulk_i32=16 s_getreg_b32=18 s_setreg_b32=19 s_setreg_imm32_b32=21 s_call_b64=22
- s_cbranch_i_fork
[SOPP]
  31 s_code_end       - - -
  32 s_inst_prefetch  - k -
  33 s_clause         - k -
  34 s_wait_idle      - - -
  35 s_waitcnt_depctr - k -
  36 s_round_mode     - k -
  37 s_denorm_mode    - k -
  40 s_ttracedata_imm - k -
- s_set_gpr_idx_mode s_set_gpr_idx_off
[SMEM]
  31 s_gl1_inv - - -
- s_atomic_add s_atomic_add_x2 s_atomic_and s_atomic_and_x2 s_atomic_cmpswap s_atomic_cmpswap_x2 s_atomic_dec
- s_atomic_dec_x2 s_atomic_inc s_atomic_inc_x2 s_atomic_or s_atomic_or_x2 s_atomic_smax s_atomic_smax_x2
- s_atomic_smin s_atomic_smin_x2 s_atomic_sub s_atomic_sub_x2 s_atomic_swap s_atomic_swap_x2 s_atomic_umax
- s_atomic_umax_x2 s_atomic_umin s_atomic_umin_x2 s_atomic_xor s_atomic_xor_x2 s_buffer_atomic_add
- s_buffer_atomic_add_x2 s_buffer_atomic_and s_buffer_atomic_and_x2 s_buffer_atomic_cmpswap
- s_buffer_atomic_cmpswap_x2 s_buffer_atomic_dec s_buffer_atomic_dec_x2 s_buffer_atomic_inc s_buffer_atomic_inc_x2
- s_buffer_atomic_or s_buffer_atomic_or_x2 s_buffer_atomic_smax s_buffer_atomic_smax_x2 s_buffer_atomic_smin
- s_buffer_atomic_smin_x2 s_buffer_atomic_sub s_buffer_atomic_sub_x2 s_buffer_atomic_swap s_buffer_atomic_swap_x2
- s_buffer_atomic_umax s_buffer_atomic_umax_x2 s_buffer_atomic_umin s_buffer_atomic_umin_x2 s_buffer_atomic_xor
- s_buffer_atomic_xor_x2 s_buffer_store_dword s_buffer_store_dwordx2 s_buffer_store_dwordx4 s_dcache_discard
- s_dcache_discard_x2 s_dcache_inv_vol s_dcache_wb s_dcache_wb_vol s_scratch_load_dword s_scratch_load_dwordx2
- s_scratch_load_dwordx4 s_scratch_store_dword s_scratch_store_dwordx2 s_scratch_store_dwordx4 s_store_dword
- s_store_dwordx2 s_store_dwordx4
[VOP1]
  27 v_pipeflush      - -  -
  66 v_movreld_b32    1 1  -
  67 v_movrels_b32    1 v1 -
  68 v_movrelsd_b32   1 v1 -
  72 v_movrelsd_2_b32 1 v1 -
 104 v_swaprel_b32    1 v1 xw
= v_fract_f32=32 v_trunc_f32=33 v_ceil_f32=34 v_rndne_f32=35 v_floor_f32=36 v_exp_f32=37 v_log_f32=39 v_rcp_f32=42
= v_rcp_iflag_f32=43 v_rsq_f32=46 v_rcp_f64=47 v_rsq_f64=49 v_sqrt_f32=51 v_sqrt_f64=52 v_sin_f32=53 v_cos_f32=54
= v_not_b32=55 v_bfrev_b32=56 v_ffbh_u32=57 v_ffbl_b32=58 v_ffbh_i32=59 v_frexp_exp_i32_f64=60 v_frexp_mant_f64=61
= v_fract_f64=62 v_frexp_exp_i32_f32=63 v_frexp_mant_f32=64 v_clrexcp=65 v_cvt_f16_u16=80 v_cvt_f16_i16=81
= v_cvt_u16_f16=82 v_cvt_i16_f16=83 v_rcp_f16=84 v_sqrt_f16=85 v_rsq_f16=86 v_log_f16=87 v_exp_f16=88
= v_frexp_mant_f16=89 v_frexp_exp_i16_f16=90 v_floor_f16=91 v_ceil_f16=92 v_trunc_f16=93 v_rndne_f16=94
= v_fract_f16=95 v_sin_f16=96 v_cos_f16=97 v_sat_pk_u8_i16=98 v_cvt_norm_i16_f16=99 v_cvt_norm_u16_f16=100
= v_swap_b32=101
- v_accvgpr_mov_b32 v_exp_legacy_f32 v_log_legacy_f32 v_screen_partition_4se_b32
[VOP2]
   0 v_illegal           -   -     x
   6 v_fmac_legacy_f32   1   1,1   -
   7 v_mul_legacy_f32    1   1,1   -
  37 v_add_nc_u32        1   1,1   -
  38 v_sub_nc_u32        1   1,1   -
  39 v_subrev_nc_u32     1   1,1   -
  40 v_add_co_ci_u32     1,m 1,1,m -
  41 v_sub_co_ci_u32     1,m 1,1,m -
  42 v_subrev_co_ci_u32  1,m 1,1,m -
  44 v_fmamk_f32         1   1,K,1 x
  45 v_fmaak_f32         1   1,1,K x
  47 v_cvt_pkrtz_f16_f32 1   1,1   -
  54 v_fmac_f16          h   h,h   o
  55 v_fmamk_f16         1   1,K,1 x
  56 v_fmaak_f16         1   1,1,K x
= v_cndmask_b32=1 v_dot2c_f32_f16=2 v_add_f32=3 v_sub_f32=4 v_subrev_f32=5 v_mul_f32=8 v_mul_i32_i24=9
= v_mul_hi_i32_i24=10 v_mul_u32_u24=11 v_mul_hi_u32_u24=12 v_dot4c_i32_i8=13 v_min_f32=15 v_max_f32=16 v_min_i32=17
= v_max_i32=18 v_min_u32=19 v_max_u32=20 v_lshrrev_b32=22 v_ashrrev_i32=24 v_lshlrev_b32=26 v_and_b32=27 v_or_b32=28
= v_xor_b32=29 v_xnor_b32=30 v_fmac_f32=43 v_add_f16=50 v_sub_f16=51 v_subrev_f16=52 v_mul_f16=53 v_max_f16=57
= v_min_f16=58 v_ldexp_f16=59
- v_add_co_u32 v_add_u16 v_add_u32 v_addc_co_u32 v_ashrrev_i16 v_dot2c_i32_i16 v_dot8c_i32_i4 v_fmac_f64
- v_lshlrev_b16 v_lshrrev_b16 v_mac_f16 v_mac_f32 v_madak_f16 v_madak_f32 v_madmk_f16 v_madmk_f32 v_max_i16
- v_max_u16 v_min_i16 v_min_u16 v_mul_lo_u16 v_sub_co_u32 v_sub_u16 v_sub_u32 v_subb_co_u32 v_subbrev_co_u32
- v_subrev_co_u32 v_subrev_u16 v_subrev_u32
[VOPC]
= v_cmp_f_f32=0 v_cmp_lt_f32=1 v_cmp_eq_f32=2 v_cmp_le_f32=3 v_cmp_gt_f32=4 v_cmp_lg_f32=5 v_cmp_ge_f32=6
= v_cmp_o_f32=7 v_cmp_u_f32=8 v_cmp_nge_f32=9 v_cmp_nlg_f32=10 v_cmp_ngt_f32=11 v_cmp_nle_f32=12 v_cmp_neq_f32=13
= v_cmp_nlt_f32=14 v_cmp_tru_f32=15 v_cmpx_f_f32=16 v_cmpx_lt_f32=17 v_cmpx_eq_f32=18 v_cmpx_le_f32=19
= v_cmpx_gt_f32=20 v_cmpx_lg_f32=21 v_cmpx_ge_f32=22 v_cmpx_o_f32=23 v_cmpx_u_f32=24 v_cmpx_nge_f32=25
= v_cmpx_nlg_f32=26 v_cmpx_ngt_f32=27 v_cmpx_nle_f32=28 v_cmpx_neq_f32=29 v_cmpx_nlt_f32=30 v_cmpx_tru_f32=31
= v_cmp_f_f64=32 v_cmp_lt_f64=33 v_cmp_eq_f64=34 v_cmp_le_f64=35 v_cmp_gt_f64=36 v_cmp_lg_f64=37 v_cmp_ge_f64=38
= v_cmp_o_f64=39 v_cmp_u_f64=40 v_cmp_nge_f64=41 v_cmp_nlg_f64=42 v_cmp_ngt_f64=43 v_cmp_nle_f64=44 v_cmp_neq_f64=45
= v_cmp_nlt_f64=46 v_cmp_tru_f64=47 v_cmpx_f_f64=48 v_cmpx_lt_f64=49 v_cmpx_eq_f64=50 v_cmpx_le_f64=51
= v_cmpx_gt_f64=52 v_cmpx_lg_f64=53 v_cmpx_ge_f64=54 v_cmpx_o_f64=55 v_cmpx_u_f64=56 v_cmpx_nge_f64=57
= v_cmpx_nlg_f64=58 v_cmpx_ngt_f64=59 v_cmpx_nle_f64=60 v_cmpx_neq_f64=61 v_cmpx_nlt_f64=62 v_cmpx_tru_f64=63
= v_cmp_f_i32=128 v_cmp_lt_i32=129 v_cmp_eq_i32=130 v_cmp_le_i32=131 v_cmp_gt_i32=132 v_cmp_ne_i32=133
= v_cmp_ge_i32=134 v_cmp_t_i32=135 v_cmp_class_f32=136 v_cmp_lt_i16=137 v_cmp_eq_i16=138 v_cmp_le_i16=139
= v_cmp_gt_i16=140 v_cmp_ne_i16=141 v_cmp_ge_i16=142 v_cmp_class_f16=143 v_cmpx_f_i32=144 v_cmpx_lt_i32=145
= v_cmpx_eq_i32=146 v_cmpx_le_i32=147 v_cmpx_gt_i32=148 v_cmpx_ne_i32=149 v_cmpx_ge_i32=150 v_cmpx_t_i32=151
= v_cmpx_class_f32=152 v_cmpx_lt_i16=153 v_cmpx_eq_i16=154 v_cmpx_le_i16=155 v_cmpx_gt_i16=156 v_cmpx_ne_i16=157
= v_cmpx_ge_i16=158 v_cmpx_class_f16=159 v_cmp_f_i64=160 v_cmp_lt_i64=161 v_cmp_eq_i64=162 v_cmp_le_i64=163
= v_cmp_gt_i64=164 v_cmp_ne_i64=165 v_cmp_ge_i64=166 v_cmp_t_i64=167 v_cmp_class_f64=168 v_cmpx_f_i64=176
= v_cmpx_lt_i64=177 v_cmpx_eq_i64=178 v_cmpx_le_i64=179 v_cmpx_gt_i64=180 v_cmpx_ne_i64=181 v_cmpx_ge_i64=182
= v_cmpx_t_i64=183 v_cmpx_class_f64=184 v_cmp_f_u32=192 v_cmp_lt_u32=193 v_cmp_eq_u32=194 v_cmp_le_u32=195
= v_cmp_gt_u32=196 v_cmp_ne_u32=197 v_cmp_ge_u32=198 v_cmp_t_u32=199 v_cmp_f_f16=200 v_cmp_lt_f16=201
= v_cmp_eq_f16=202 v_cmp_le_f16=203 v_cmp_gt_f16=204 v_cmp_lg_f16=205 v_cmp_ge_f16=206 v_cmp_o_f16=207
= v_cmpx_f_u32=208 v_cmpx_lt_u32=209 v_cmpx_eq_u32=210 v_cmpx_le_u32=211 v_cmpx_gt_u32=212 v_cmpx_ne_u32=213
= v_cmpx_ge_u32=214 v_cmpx_t_u32=215 v_cmpx_f_f16=216 v_cmpx_lt_f16=217 v_cmpx_eq_f16=218 v_cmpx_le_f16=219
= v_cmpx_gt_f16=220 v_cmpx_lg_f16=221 v_cmpx_ge_f16=222 v_cmpx_o_f16=223 v_cmp_f_u64=224 v_cmp_lt_u64=225
= v_cmp_eq_u64=226 v_cmp_le_u64=227 v_cmp_gt_u64=228 v_cmp_ne_u64=229 v_cmp_ge_u64=230 v_cmp_t_u64=231
= v_cmp_u_f16=232 v_cmp_nge_f16=233 v_cmp_nlg_f16=234 v_cmp_ngt_f16=235 v_cmp_nle_f16=236 v_cmp_neq_f16=237
= v_cmp_nlt_f16=238 v_cmp_tru_f16=239 v_cmpx_f_u64=240 v_cmpx_lt_u64=241 v_cmpx_eq_u64=242 v_cmpx_le_u64=243
= v_cmpx_gt_u64=244 v_cmpx_ne_u64=245 v_cmpx_ge_u64=246 v_cmpx_t_u64=247 v_cmpx_u_f16=248 v_cmpx_nge_f16=249
= v_cmpx_nlg_f16=250 v_cmpx_ngt_f16=251 v_cmpx_nle_f16=252 v_cmpx_neq_f16=253 v_cmpx_nlt_f16=254 v_cmpx_tru_f16=255
- v_cmp_f_i16 v_cmp_f_u16 v_cmp_t_i16 v_cmp_t_u16 v_cmpx_f_i16 v_cmpx_f_u16 v_cmpx_t_i16 v_cmpx_t_u16
[VOP3]
 320 v_fma_legacy_f32  1   1,1,1    -
 336 v_mullit_f32      1   1,1,1    -
 376 v_xor3_b32        1   1,1,1    -
 771 v_add_nc_u16      h   i,i      o
 772 v_sub_nc_u16      h   i,i      o
 773 v_mul_lo_u16      h   i,i      o
 775 v_lshrrev_b16     h   i,i      o
 776 v_ashrrev_i16     h   i,i      o
 777 v_max_u16         h   i,i      o
 778 v_max_i16         h   i,i      o
 779 v_min_u16         h   i,i      o
 780 v_min_i16         h   i,i      o
 781 v_add_nc_i16      h   i,i      o
 782 v_sub_nc_i16      h   i,i      o
 783 v_add_co_u32      1,m 1,1      -
 784 v_sub_co_u32      1,m 1,1      -
 788 v_lshlrev_b16     h   i,i      o
 793 v_subrev_co_u32   1,m 1,1      -
 886 v_sub_nc_i32      1   1,1      -
 887 v_permlane16_b32  1   v1,u1,u1 o
 888 v_permlanex16_b32 1   v1,u1,u1 o
 895 v_add_nc_i32      1   1,1      -
= v_mad_i32_i24=322 v_mad_u32_u24=323 v_cubeid_f32=324 v_cubesc_f32=325 v_cubetc_f32=326 v_cubema_f32=327
= v_bfe_u32=328 v_bfe_i32=329 v_bfi_b32=330 v_fma_f32=331 v_fma_f64=332 v_lerp_u8=333 v_alignbit_b32=334
= v_alignbyte_b32=335 v_min3_f32=337 v_min3_i32=338 v_min3_u32=339 v_max3_f32=340 v_max3_i32=341 v_max3_u32=342
= v_med3_f32=343 v_med3_i32=344 v_med3_u32=345 v_sad_u8=346 v_sad_hi_u8=347 v_sad_u16=348 v_sad_u32=349
= v_cvt_pk_u8_f32=350 v_div_fixup_f32=351 v_div_fixup_f64=352 v_add_f64=356 v_mul_f64=357 v_min_f64=358
= v_max_f64=359 v_ldexp_f64=360 v_mul_lo_u32=361 v_mul_hi_u32=362 v_mul_hi_i32=364 v_div_scale_f32=365
= v_div_scale_f64=366 v_div_fmas_f32=367 v_div_fmas_f64=368 v_msad_u8=369 v_qsad_pk_u16_u8=370 v_mqsad_pk_u16_u8=371
= v_trig_preop_f64=372 v_mqsad_u32_u8=373 v_mad_u64_u32=374 v_mad_i64_i32=375 v_lshlrev_b64=767 v_lshrrev_b64=768
= v_ashrrev_i64=769 v_pack_b32_f16=785 v_cvt_pknorm_i16_f16=786 v_cvt_pknorm_u16_f16=787 v_mad_u16=832
= v_perm_b32=836 v_xad_u32=837 v_lshl_add_u32=838 v_add_lshl_u32=839 v_fma_f16=843 v_min3_f16=849 v_min3_i16=850
= v_min3_u16=851 v_max3_f16=852 v_max3_i16=853 v_max3_u16=854 v_med3_f16=855 v_med3_i16=856 v_med3_u16=857
= v_mad_i16=862 v_div_fixup_f16=863 v_readlane_b32=864 v_writelane_b32=865 v_ldexp_f32=866 v_bfm_b32=867
= v_bcnt_u32_b32=868 v_mbcnt_lo_u32_b32=869 v_mbcnt_hi_u32_b32=870 v_cvt_pknorm_i16_f32=872 v_cvt_pknorm_u16_f32=873
= v_cvt_pk_u16_u32=874 v_cvt_pk_i16_i32=875 v_add3_u32=877 v_lshl_or_b32=879 v_and_or_b32=881 v_or3_b32=882
= v_mad_u32_u16=883 v_mad_i32_i16=885
- v_add_i16 v_add_i32 v_cvt_pkaccum_u8_f32 v_cvt_pkrtz_f16_f32 v_div_fixup_legacy_f16 v_dot2c_f32_f16 v_dot4c_i32_i8
- v_fma_legacy_f16 v_mad_f16 v_mad_f32 v_mad_legacy_f16 v_mad_legacy_f32 v_mad_legacy_i16 v_mad_legacy_u16
- v_mul_legacy_f32 v_pk_fmac_f16 v_sub_i16 v_sub_i32
[VOP3P]
= v_dot2_f32_f16=19 v_dot2_i32_i16=20 v_dot2_u32_u16=21 v_dot4_i32_i8=22 v_dot4_u32_u8=23 v_dot8_i32_i4=24
= v_dot8_u32_u4=25
- v_accvgpr_read_b32 v_accvgpr_write_b32 v_mfma_f32_16x16x16bf16_1k v_mfma_f32_16x16x16f16 v_mfma_f32_16x16x1f32
- v_mfma_f32_16x16x2bf16 v_mfma_f32_16x16x4bf16_1k v_mfma_f32_16x16x4f16 v_mfma_f32_16x16x4f32
- v_mfma_f32_16x16x8bf16 v_mfma_f32_32x32x1f32 v_mfma_f32_32x32x2bf16 v_mfma_f32_32x32x2f32 v_mfma_f32_32x32x4bf16
- v_mfma_f32_32x32x4bf16_1k v_mfma_f32_32x32x4f16 v_mfma_f32_32x32x8bf16_1k v_mfma_f32_32x32x8f16
- v_mfma_f32_4x4x1f32 v_mfma_f32_4x4x2bf16 v_mfma_f32_4x4x4bf16_1k v_mfma_f32_4x4x4f16 v_mfma_f64_16x16x4f64
- v_mfma_f64_4x4x4f64 v_mfma_i32_16x16x16i8 v_mfma_i32_16x16x4i8 v_mfma_i32_32x32x4i8 v_mfma_i32_32x32x8i8
- v_mfma_i32_4x4x4i8 v_pk_add_f32 v_pk_fma_f32 v_pk_mov_b32 v_pk_mul_f32
[DS]
= ds_swizzle_b32=53 ds_consume=61 ds_append=62 ds_add_rtn_f32=85 ds_write_b8_d16_hi=160 ds_write_b16_d16_hi=161
= ds_read_u8_d16=162 ds_read_u8_d16_hi=163 ds_read_i8_d16=164 ds_read_i8_d16_hi=165 ds_read_u16_d16=166
= ds_read_u16_d16_hi=167 ds_write_addtid_b32=176 ds_read_addtid_b32=177 ds_permute_b32=178 ds_bpermute_b32=179
- ds_add_f64 ds_add_rtn_f64
[FLAT]
  62 flat_atomic_fcmpswap    1 2 r
  63 flat_atomic_fmin        1 1 r
  64 flat_atomic_fmax        1 1 r
  94 flat_atomic_fcmpswap_x2 2 4 r
  95 flat_atomic_fmin_x2     2 2 r
  96 flat_atomic_fmax_x2     2 2 r
= flat_load_ubyte=8 flat_load_sbyte=9 flat_load_ushort=10 flat_load_sshort=11 flat_load_dword=12
= flat_load_dwordx2=13 flat_load_dwordx4=14 flat_load_dwordx3=15 flat_store_dwordx4=30 flat_store_dwordx3=31
= flat_atomic_swap=48 flat_atomic_cmpswap=49 flat_atomic_add=50 flat_atomic_sub=51 flat_atomic_smin=53
= flat_atomic_umin=54 flat_atomic_smax=55 flat_atomic_umax=56 flat_atomic_and=57 flat_atomic_or=58
= flat_atomic_xor=59 flat_atomic_inc=60 flat_atomic_dec=61 flat_atomic_swap_x2=80 flat_atomic_cmpswap_x2=81
= flat_atomic_add_x2=82 flat_atomic_sub_x2=83 flat_atomic_smin_x2=85 flat_atomic_umin_x2=86 flat_atomic_smax_x2=87
= flat_atomic_umax_x2=88 flat_atomic_and_x2=89 flat_atomic_or_x2=90 flat_atomic_xor_x2=91 flat_atomic_inc_x2=92
= flat_atomic_dec_x2=93
- flat_atomic_add_f64 flat_atomic_max_f64 flat_atomic_min_f64
[GLOBAL]
  22 global_load_dword_addtid  1 - n
  23 global_store_dword_addtid - 1 n
  52 global_atomic_csub        1 1 r
  62 global_atomic_fcmpswap    1 2 r
  63 global_atomic_fmin        1 1 r
  64 global_atomic_fmax        1 1 r
  94 global_atomic_fcmpswap_x2 2 4 r
  95 global_atomic_fmin_x2     2 2 r
  96 global_atomic_fmax_x2     2 2 r
= global_load_ubyte=8 global_load_sbyte=9 global_load_ushort=10 global_load_sshort=11 global_load_dword=12
= global_load_dwordx2=13 global_load_dwordx4=14 global_load_dwordx3=15 global_store_dwordx4=30
= global_store_dwordx3=31 global_atomic_swap=48 global_atomic_cmpswap=49 global_atomic_add=50 global_atomic_sub=51
= global_atomic_smin=53 global_atomic_umin=54 global_atomic_smax=55 global_atomic_umax=56 global_atomic_and=57
= global_atomic_or=58 global_atomic_xor=59 global_atomic_inc=60 global_atomic_dec=61 global_atomic_swap_x2=80
= global_atomic_cmpswap_x2=81 global_atomic_add_x2=82 global_atomic_sub_x2=83 global_atomic_smin_x2=85
= global_atomic_umin_x2=86 global_atomic_smax_x2=87 global_atomic_umax_x2=88 global_atomic_and_x2=89
= global_atomic_or_x2=90 global_atomic_xor_x2=91 global_atomic_inc_x2=92 global_atomic_dec_x2=93
- global_atomic_add_f32 global_atomic_add_f64 global_atomic_max_f64 global_atomic_min_f64 global_atomic_pk_add_f16
[SCRATCH]
= scratch_load_ubyte=8 scratch_load_sbyte=9 scratch_load_ushort=10 scratch_load_sshort=11 scratch_load_dword=12
= scratch_load_dwordx2=13 scratch_load_dwordx4=14 scratch_load_dwordx3=15 scratch_store_dwordx4=30
= scratch_store_dwordx3=31
[MUBUF]
  52 buffer_atomic_csub        1 1 r
  62 buffer_atomic_fcmpswap    1 2 r
  63 buffer_atomic_fmin        1 1 r
  64 buffer_atomic_fmax        1 1 r
  94 buffer_atomic_fcmpswap_x2 2 4 r
  95 buffer_atomic_fmin_x2     2 2 r
  96 buffer_atomic_fmax_x2     2 2 r
 113 buffer_gl0_inv            - - z
 114 buffer_gl1_inv            - - z
= buffer_load_ubyte=8 buffer_load_sbyte=9 buffer_load_ushort=10 buffer_load_sshort=11 buffer_load_dword=12
= buffer_load_dwordx2=13 buffer_load_dwordx4=14 buffer_load_dwordx3=15 buffer_store_dwordx4=30
= buffer_store_dwordx3=31 buffer_atomic_swap=48 buffer_atomic_cmpswap=49 buffer_atomic_add=50 buffer_atomic_sub=51
= buffer_atomic_smin=53 buffer_atomic_umin=54 buffer_atomic_smax=55 buffer_atomic_umax=56 buffer_atomic_and=57
= buffer_atomic_or=58 buffer_atomic_xor=59 buffer_atomic_inc=60 buffer_atomic_dec=61 buffer_atomic_swap_x2=80
= buffer_atomic_cmpswap_x2=81 buffer_atomic_add_x2=82 buffer_atomic_sub_x2=83 buffer_atomic_smin_x2=85
= buffer_atomic_umin_x2=86 buffer_atomic_smax_x2=87 buffer_atomic_umax_x2=88 buffer_atomic_and_x2=89
= buffer_atomic_or_x2=90 buffer_atomic_xor_x2=91 buffer_atomic_inc_x2=92 buffer_atomic_dec_x2=93
= buffer_load_format_d16_x=128 buffer_load_format_d16_xy=129 buffer_load_format_d16_xyz=130
= buffer_load_format_d16_xyzw=131 buffer_store_format_d16_x=132 buffer_store_format_d16_xy=133
= buffer_store_format_d16_xyz=134 buffer_store_format_d16_xyzw=135
- buffer_atomic_add_f32 buffer_atomic_add_f64 buffer_atomic_max_f64 buffer_atomic_min_f64 buffer_atomic_pk_add_f16
- buffer_invl2 buffer_store_lds_dword buffer_wbinvl1 buffer_wbinvl1_vol buffer_wbl2
"""
