"""Vector instructions of gfx11 (RDNA 3): what differs from gfx10. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[VOP1]
  12 v_cvt_nearest_i32_f32 1 1  -
  13 v_cvt_floor_i32_f32   1 1  -
  28 v_mov_b16             h i  o
  57 v_clz_i32_u32         1 1  -
  58 v_ctz_i32_b32         1 1  -
  59 v_cls_i32             1 1  -
 102 v_swap_b16            h h  xw
 103 v_permlane64_b32      1 v1 x
 105 v_not_b16             h i  o
 106 v_cvt_i32_i16         1 i  o
 107 v_cvt_u32_u16         1 i  o
- v_clrexcp v_cvt_flr_i32_f32 v_cvt_rpi_i32_f32 v_ffbh_i32 v_ffbh_u32 v_ffbl_b32
[VOP2]
   2 v_dot2acc_f32_f16    1 1,1   xk
   6 v_fmac_dx9_zero_f32  1 1,1   -
   7 v_mul_dx9_zero_f32   1 1,1   -
  47 v_cvt_pk_rtz_f16_f32 1 1,1   -
  55 v_fmamk_f16          h h,K,h x
  56 v_fmaak_f16          h h,h,K x
= v_lshlrev_b32=24 v_lshrrev_b32=25 v_ashrrev_i32=26 v_add_co_ci_u32=32 v_sub_co_ci_u32=33 v_subrev_co_ci_u32=34
- v_cvt_pkrtz_f16_f32 v_dot2c_f32_f16 v_dot4c_i32_i8 v_fmac_legacy_f32 v_mul_legacy_f32
[VOPD]
   0 v_fmac_f32         1 1,1   -
   1 v_fmaak_f32        1 1,1,K -
   2 v_fmamk_f32        1 1,K,1 -
   3 v_mul_f32          1 1,1   -
   4 v_add_f32          1 1,1   -
   5 v_sub_f32          1 1,1   -
   6 v_subrev_f32       1 1,1   -
   7 v_mul_dx9_zero_f32 1 1,1   -
   8 v_mov_b32          1 1     -
   9 v_cndmask_b32      1 1,1,m -
  10 v_max_f32          1 1,1   -
  11 v_min_f32          1 1,1   -
  12 v_dot2acc_f32_f16  1 1,1   k
  13 v_dot2acc_f32_bf16 1 1,1   k
  16 v_add_nc_u32       1 1,1   -
  17 v_lshlrev_b32      1 1,1   -
  18 v_and_b32          1 1,1   -
[VOPC]
  15 v_cmp_t_f16      m h,h o
  31 v_cmp_t_f32      m 1,1 -
  47 v_cmp_t_f64      m 2,2 -
 125 v_cmp_class_f16  m h,h o
 143 v_cmpx_t_f16     m h,h o
 159 v_cmpx_t_f32     m 1,1 -
 175 v_cmpx_t_f64     m 2,2 -
 253 v_cmpx_class_f16 m h,h o
= v_cmp_f_f16=0 v_cmp_lt_f16=1 v_cmp_eq_f16=2 v_cmp_le_f16=3 v_cmp_gt_f16=4 v_cmp_lg_f16=5 v_cmp_ge_f16=6
= v_cmp_o_f16=7 v_cmp_u_f16=8 v_cmp_nge_f16=9 v_cmp_nlg_f16=10 v_cmp_ngt_f16=11 v_cmp_nle_f16=12 v_cmp_neq_f16=13
= v_cmp_nlt_f16=14 v_cmp_f_f32=16 v_cmp_lt_f32=17 v_cmp_eq_f32=18 v_cmp_le_f32=19 v_cmp_gt_f32=20 v_cmp_lg_f32=21
= v_cmp_ge_f32=22 v_cmp_o_f32=23 v_cmp_u_f32=24 v_cmp_nge_f32=25 v_cmp_nlg_f32=26 v_cmp_ngt_f32=27 v_cmp_nle_f32=28
= v_cmp_neq_f32=29 v_cmp_nlt_f32=30 v_cmp_lt_i16=49 v_cmp_eq_i16=50 v_cmp_le_i16=51 v_cmp_gt_i16=52 v_cmp_ne_i16=53
= v_cmp_ge_i16=54 v_cmp_lt_u16=57 v_cmp_eq_u16=58 v_cmp_le_u16=59 v_cmp_gt_u16=60 v_cmp_ne_u16=61 v_cmp_ge_u16=62
= v_cmp_f_i32=64 v_cmp_lt_i32=65 v_cmp_eq_i32=66 v_cmp_le_i32=67 v_cmp_gt_i32=68 v_cmp_ne_i32=69 v_cmp_ge_i32=70
= v_cmp_t_i32=71 v_cmp_f_u32=72 v_cmp_lt_u32=73 v_cmp_eq_u32=74 v_cmp_le_u32=75 v_cmp_gt_u32=76 v_cmp_ne_u32=77
= v_cmp_ge_u32=78 v_cmp_t_u32=79 v_cmp_f_i64=80 v_cmp_lt_i64=81 v_cmp_eq_i64=82 v_cmp_le_i64=83 v_cmp_gt_i64=84
= v_cmp_ne_i64=85 v_cmp_ge_i64=86 v_cmp_t_i64=87 v_cmp_f_u64=88 v_cmp_lt_u64=89 v_cmp_eq_u64=90 v_cmp_le_u64=91
= v_cmp_gt_u64=92 v_cmp_ne_u64=93 v_cmp_ge_u64=94 v_cmp_t_u64=95 v_cmp_class_f32=126 v_cmp_class_f64=127
= v_cmpx_f_f16=128 v_cmpx_lt_f16=129 v_cmpx_eq_f16=130 v_cmpx_le_f16=131 v_cmpx_gt_f16=132 v_cmpx_lg_f16=133
= v_cmpx_ge_f16=134 v_cmpx_o_f16=135 v_cmpx_u_f16=136 v_cmpx_nge_f16=137 v_cmpx_nlg_f16=138 v_cmpx_ngt_f16=139
= v_cmpx_nle_f16=140 v_cmpx_neq_f16=141 v_cmpx_nlt_f16=142 v_cmpx_f_f32=144 v_cmpx_lt_f32=145 v_cmpx_eq_f32=146
= v_cmpx_le_f32=147 v_cmpx_gt_f32=148 v_cmpx_lg_f32=149 v_cmpx_ge_f32=150 v_cmpx_o_f32=151 v_cmpx_u_f32=152
= v_cmpx_nge_f32=153 v_cmpx_nlg_f32=154 v_cmpx_ngt_f32=155 v_cmpx_nle_f32=156 v_cmpx_neq_f32=157 v_cmpx_nlt_f32=158
= v_cmpx_f_f64=160 v_cmpx_lt_f64=161 v_cmpx_eq_f64=162 v_cmpx_le_f64=163 v_cmpx_gt_f64=164 v_cmpx_lg_f64=165
= v_cmpx_ge_f64=166 v_cmpx_o_f64=167 v_cmpx_u_f64=168 v_cmpx_nge_f64=169 v_cmpx_nlg_f64=170 v_cmpx_ngt_f64=171
= v_cmpx_nle_f64=172 v_cmpx_neq_f64=173 v_cmpx_nlt_f64=174 v_cmpx_lt_i16=177 v_cmpx_eq_i16=178 v_cmpx_le_i16=179
= v_cmpx_gt_i16=180 v_cmpx_ne_i16=181 v_cmpx_ge_i16=182 v_cmpx_f_i32=192 v_cmpx_lt_i32=193 v_cmpx_eq_i32=194
= v_cmpx_le_i32=195 v_cmpx_gt_i32=196 v_cmpx_ne_i32=197 v_cmpx_ge_i32=198 v_cmpx_t_i32=199 v_cmpx_f_u32=200
= v_cmpx_lt_u32=201 v_cmpx_eq_u32=202 v_cmpx_le_u32=203 v_cmpx_gt_u32=204 v_cmpx_ne_u32=205 v_cmpx_ge_u32=206
= v_cmpx_t_u32=207 v_cmpx_f_i64=208 v_cmpx_lt_i64=209 v_cmpx_eq_i64=210 v_cmpx_le_i64=211 v_cmpx_gt_i64=212
= v_cmpx_ne_i64=213 v_cmpx_ge_i64=214 v_cmpx_t_i64=215 v_cmpx_f_u64=216 v_cmpx_lt_u64=217 v_cmpx_eq_u64=218
= v_cmpx_le_u64=219 v_cmpx_gt_u64=220 v_cmpx_ne_u64=221 v_cmpx_ge_u64=222 v_cmpx_t_u64=223 v_cmpx_class_f32=254
= v_cmpx_class_f64=255
- v_cmp_tru_f16 v_cmp_tru_f32 v_cmp_tru_f64 v_cmpx_tru_f16 v_cmpx_tru_f32 v_cmpx_tru_f64
[VOP3]
 521 v_fma_dx9_zero_f32    1 1,1,1 -
 534 v_alignbit_b32        1 1,1,i o
 535 v_alignbyte_b32       1 1,1,i o
 605 v_cndmask_b16         h i,i,m o
 606 v_maxmin_f32          1 1,1,1 -
 607 v_minmax_f32          1 1,1,1 -
 608 v_maxmin_f16          h h,h,h o
 609 v_minmax_f16          h h,h,h o
 610 v_maxmin_u32          1 1,1,1 -
 611 v_minmax_u32          1 1,1,1 -
 612 v_maxmin_i32          1 1,1,1 -
 613 v_minmax_i32          1 1,1,1 -
 614 v_dot2_f16_f16        h 1,1,h ok
 615 v_dot2_bf16_bf16      h 1,1,h ok
 774 v_cvt_pk_i16_f32      1 1,1   -
 775 v_cvt_pk_u16_f32      1 1,1   -
 786 v_cvt_pk_norm_i16_f16 1 h,h   o
 787 v_cvt_pk_norm_u16_f16 1 h,h   o
 801 v_cvt_pk_norm_i16_f32 1 1,1   -
 802 v_cvt_pk_norm_u16_f32 1 1,1   -
 866 v_and_b16             h i,i   o
 867 v_or_b16              h i,i   o
 868 v_xor_b16             h i,i   o
= v_mad_i32_i24=522 v_mad_u32_u24=523 v_cubeid_f32=524 v_cubesc_f32=525 v_cubetc_f32=526 v_cubema_f32=527
= v_bfe_u32=528 v_bfe_i32=529 v_bfi_b32=530 v_fma_f32=531 v_fma_f64=532 v_lerp_u8=533 v_mullit_f32=536
= v_min3_f32=537 v_min3_i32=538 v_min3_u32=539 v_max3_f32=540 v_max3_i32=541 v_max3_u32=542 v_med3_f32=543
= v_med3_i32=544 v_med3_u32=545 v_sad_u8=546 v_sad_hi_u8=547 v_sad_u16=548 v_sad_u32=549 v_cvt_pk_u8_f32=550
= v_div_fixup_f32=551 v_div_fixup_f64=552 v_div_fmas_f32=567 v_div_fmas_f64=568 v_msad_u8=569 v_qsad_pk_u16_u8=570
= v_mqsad_pk_u16_u8=571 v_mqsad_u32_u8=573 v_xor3_b32=576 v_mad_u16=577 v_perm_b32=580 v_xad_u32=581
= v_lshl_add_u32=582 v_add_lshl_u32=583 v_fma_f16=584 v_min3_f16=585 v_min3_i16=586 v_min3_u16=587 v_max3_f16=588
= v_max3_i16=589 v_max3_u16=590 v_med3_f16=591 v_med3_i16=592 v_med3_u16=593 v_mad_i16=595 v_div_fixup_f16=596
= v_add3_u32=597 v_lshl_or_b32=598 v_and_or_b32=599 v_or3_b32=600 v_mad_u32_u16=601 v_mad_i32_i16=602
= v_permlane16_b32=603 v_permlanex16_b32=604 v_div_scale_f32=764 v_div_scale_f64=765 v_mad_u64_u32=766
= v_mad_i64_i32=767 v_add_co_u32=768 v_sub_co_u32=769 v_subrev_co_u32=770 v_ldexp_f32=796 v_bfm_b32=797
= v_bcnt_u32_b32=798 v_mbcnt_lo_u32_b32=799 v_mbcnt_hi_u32_b32=800 v_cvt_pk_u16_u32=803 v_cvt_pk_i16_i32=804
= v_sub_nc_i32=805 v_add_nc_i32=806 v_add_f64=807 v_mul_f64=808 v_min_f64=809 v_max_f64=810 v_ldexp_f64=811
= v_mul_lo_u32=812 v_mul_hi_u32=813 v_mul_hi_i32=814 v_trig_preop_f64=815 v_lshlrev_b16=824 v_lshrrev_b16=825
= v_ashrrev_i16=826 v_lshlrev_b64=828 v_lshrrev_b64=829 v_ashrrev_i64=830
- v_cvt_pknorm_i16_f16 v_cvt_pknorm_i16_f32 v_cvt_pknorm_u16_f16 v_cvt_pknorm_u16_f32 v_fma_legacy_f32
[VOP3P]
  22 v_dot4_i32_iu8            1 1,1,1    -
  24 v_dot8_i32_iu4            1 1,1,1    -
  26 v_dot2_f32_bf16           1 1,1,1    -
  64 v_wmma_f32_16x16x16_f16   8 v8,v8,c8 -
  65 v_wmma_f32_16x16x16_bf16  8 v8,v8,c8 -
  66 v_wmma_f16_16x16x16_f16   8 v8,v8,c8 -
  67 v_wmma_bf16_16x16x16_bf16 8 v8,v8,c8 -
  68 v_wmma_i32_16x16x16_iu8   8 v4,v4,c8 -
  69 v_wmma_i32_16x16x16_iu4   8 v2,v2,c8 -
- v_dot2_i32_i16 v_dot2_u32_u16 v_dot4_i32_i8 v_dot8_i32_i4
"""
