"""Instructions of gfx12 (RDNA 4): what differs from gfx11. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[SOP1]
  78 s_barrier_signal         - 1 -
  79 s_barrier_signal_isfirst - 1 -
  80 s_get_barrier_state      1 1 -
  81 s_barrier_init           - 1 -
  82 s_barrier_join           - 1 -
  83 s_alloc_vgpr             - 1 -
  88 s_sleep_var              - 1 -
[SOP2]
   0 s_add_co_u32    1 1,1 -
   1 s_sub_co_u32    1 1,1 -
   2 s_add_co_i32    1 1,1 -
   3 s_sub_co_i32    1 1,1 -
   4 s_add_co_ci_u32 1 1,1 -
   5 s_sub_co_ci_u32 1 1,1 -
  66 s_min_num_f32   1 1,1 -
  67 s_max_num_f32   1 1,1 -
  75 s_min_num_f16   1 h,h -
  76 s_max_num_f16   1 h,h -
  79 s_minimum_f32   1 1,1 -
  80 s_maximum_f32   1 1,1 -
  81 s_minimum_f16   1 h,h -
  82 s_maximum_f16   1 h,h -
  83 s_add_nc_u64    2 2,2 -
  84 s_sub_nc_u64    2 2,2 -
  85 s_mul_u64       2 2,2 -
- s_add_i32 s_add_u32 s_addc_u32 s_max_f16 s_max_f32 s_min_f16 s_min_f32 s_sub_i32 s_sub_u32 s_subb_u32
[SOPK]
  15 s_addk_co_i32 1 k -
- s_addk_i32 s_cmpk_eq_i32 s_cmpk_eq_u32 s_cmpk_ge_i32 s_cmpk_ge_u32 s_cmpk_gt_i32 s_cmpk_gt_u32 s_cmpk_le_i32
- s_cmpk_le_u32 s_cmpk_lg_i32 s_cmpk_lg_u32 s_cmpk_lt_i32 s_cmpk_lt_u32 s_subvector_loop_begin s_subvector_loop_end
- s_waitcnt_expcnt s_waitcnt_lgkmcnt s_waitcnt_vmcnt s_waitcnt_vscnt
[SOPP]
   8 s_wait_alu            - k -
  20 s_barrier_wait        - k -
  21 s_barrier_leave       - - -
  64 s_wait_loadcnt        - k -
  65 s_wait_storecnt       - k -
  66 s_wait_samplecnt      - k -
  67 s_wait_bvhcnt         - k -
  68 s_wait_expcnt         - k -
  70 s_wait_dscnt          - k -
  71 s_wait_kmcnt          - k -
  72 s_wait_loadcnt_dscnt  - k -
  73 s_wait_storecnt_dscnt - k -
- s_barrier s_cbranch_cdbgsys s_cbranch_cdbgsys_and_user s_cbranch_cdbgsys_or_user s_cbranch_cdbguser
- s_endpgm_ordered_ps_done s_set_inst_prefetch_distance s_waitcnt_depctr
[SMEM]
   5 s_load_b96             3 2 -
   8 s_load_i8              1 2 -
   9 s_load_u8              1 2 -
  10 s_load_i16             1 2 -
  11 s_load_u16             1 2 -
  21 s_buffer_load_b96      3 4 -
  24 s_buffer_load_i8       1 4 -
  25 s_buffer_load_u8       1 4 -
  26 s_buffer_load_i16      1 4 -
  27 s_buffer_load_u16      1 4 -
  36 s_prefetch_inst        - 2 p
  37 s_prefetch_inst_pc_rel - - p
  38 s_prefetch_data        - 2 p
  39 s_buffer_prefetch_data - 4 p
  40 s_prefetch_data_pc_rel - - p
= s_buffer_load_b32=16 s_buffer_load_b64=17 s_buffer_load_b128=18 s_buffer_load_b256=19 s_buffer_load_b512=20
- s_gl1_inv
[VOP1]
 108 v_cvt_f32_fp8    1 1 o
 109 v_cvt_f32_bf8    1 1 o
 110 v_cvt_pk_f32_fp8 2 h o
 111 v_cvt_pk_f32_bf8 2 h o
[VOP2]
   2 v_add_f64     2 2,2 -
   6 v_mul_f64     2 2,2 -
  13 v_min_num_f64 2 2,2 -
  14 v_max_num_f64 2 2,2 -
  21 v_min_num_f32 1 1,1 -
  22 v_max_num_f32 1 1,1 -
  31 v_lshlrev_b64 2 1,2 -
  48 v_min_num_f16 h h,h o
  49 v_max_num_f16 h h,h o
- v_dot2acc_f32_f16 v_fmac_dx9_zero_f32 v_max_f16 v_max_f32 v_min_f16 v_min_f32
[VOPD]
  10 v_max_num_f32 1 1,1 -
  11 v_min_num_f32 1 1,1 -
- v_max_f32 v_min_f32
[VOPC]
- v_cmp_f_f16 v_cmp_f_f32 v_cmp_f_f64 v_cmp_f_i32 v_cmp_f_i64 v_cmp_f_u32 v_cmp_f_u64 v_cmp_t_f16 v_cmp_t_f32
- v_cmp_t_f64 v_cmp_t_i32 v_cmp_t_i64 v_cmp_t_u32 v_cmp_t_u64 v_cmpx_f_f16 v_cmpx_f_f32 v_cmpx_f_f64 v_cmpx_f_i32
- v_cmpx_f_i64 v_cmpx_f_u32 v_cmpx_f_u64 v_cmpx_t_f16 v_cmpx_t_f32 v_cmpx_t_f64 v_cmpx_t_i32 v_cmpx_t_i64
- v_cmpx_t_u32 v_cmpx_t_u64
[VOP3]
 553 v_min3_num_f32        1   1,1,1 -
 554 v_max3_num_f32        1   1,1,1 -
 555 v_min3_num_f16        h   h,h,h o
 556 v_max3_num_f16        h   h,h,h o
 557 v_minimum3_f32        1   1,1,1 -
 558 v_maximum3_f32        1   1,1,1 -
 559 v_minimum3_f16        h   h,h,h o
 560 v_maximum3_f16        h   h,h,h o
 561 v_med3_num_f32        1   1,1,1 -
 562 v_med3_num_f16        h   h,h,h o
 616 v_minmax_num_f32      1   1,1,1 -
 617 v_maxmin_num_f32      1   1,1,1 -
 618 v_minmax_num_f16      h   h,h,h o
 619 v_maxmin_num_f16      h   h,h,h o
 620 v_minimummaximum_f32  1   1,1,1 -
 621 v_maximumminimum_f32  1   1,1,1 -
 622 v_minimummaximum_f16  h   h,h,h o
 623 v_maximumminimum_f16  h   h,h,h o
 640 v_s_exp_f32           s1  1     -
 641 v_s_exp_f16           s1  h     -
 642 v_s_log_f32           s1  1     -
 643 v_s_log_f16           s1  h     -
 644 v_s_rcp_f32           s1  1     -
 645 v_s_rcp_f16           s1  h     -
 646 v_s_rsq_f32           s1  1     -
 647 v_s_rsq_f16           s1  h     -
 648 v_s_sqrt_f32          s1  1     -
 649 v_s_sqrt_f16          s1  h     -
 766 v_mad_co_u64_u32      2,m 1,1,2 -
 767 v_mad_co_i64_i32      2,m 1,1,2 -
 783 v_permlane16_var_b32  1   v1,v1 o
 784 v_permlanex16_var_b32 1   v1,v1 o
 833 v_minimum_f64         2   2,2   -
 834 v_maximum_f64         2   2,2   -
 869 v_minimum_f32         1   1,1   -
 870 v_maximum_f32         1   1,1   -
 871 v_minimum_f16         h   h,h   o
 872 v_maximum_f16         h   h,h   o
 873 v_cvt_pk_fp8_f32      h   1,1   o
 874 v_cvt_pk_bf8_f32      h   1,1   o
 875 v_cvt_sr_fp8_f32      1   1,1   o
 876 v_cvt_sr_bf8_f32      1   1,1   o
- v_add_f64 v_lshlrev_b64 v_mad_i64_i32 v_mad_u64_u32 v_max3_f16 v_max3_f32 v_max_f64 v_maxmin_f16 v_maxmin_f32
- v_med3_f16 v_med3_f32 v_min3_f16 v_min3_f32 v_min_f64 v_minmax_f16 v_minmax_f32 v_mul_f64
[VOP3P]
  27 v_pk_min_num_f16              1 1,1      -
  28 v_pk_max_num_f16              1 1,1      -
  29 v_pk_minimum_f16              1 1,1      -
  30 v_pk_maximum_f16              1 1,1      -
  36 v_dot4_f32_fp8_bf8            1 1,1,1    -
  37 v_dot4_f32_bf8_fp8            1 1,1,1    -
  38 v_dot4_f32_fp8_fp8            1 1,1,1    -
  39 v_dot4_f32_bf8_bf8            1 1,1,1    -
  64 v_wmma_f32_16x16x16_f16       8 v4,v4,c8 -
  65 v_wmma_f32_16x16x16_bf16      8 v4,v4,c8 -
  66 v_wmma_f16_16x16x16_f16       4 v4,v4,c4 -
  67 v_wmma_bf16_16x16x16_bf16     4 v4,v4,c4 -
  68 v_wmma_i32_16x16x16_iu8       8 v2,v2,c8 -
  69 v_wmma_i32_16x16x16_iu4       8 v1,v1,c8 -
  70 v_wmma_f32_16x16x16_fp8_fp8   8 v2,v2,c8 -
  71 v_wmma_f32_16x16x16_fp8_bf8   8 v2,v2,c8 -
  72 v_wmma_f32_16x16x16_bf8_fp8   8 v2,v2,c8 -
  73 v_wmma_f32_16x16x16_bf8_bf8   8 v2,v2,c8 -
  74 v_wmma_i32_16x16x32_iu4       8 v2,v2,c8 -
  80 v_swmmac_f32_16x16x32_f16     8 v4,v8,v1 -
  81 v_swmmac_f32_16x16x32_bf16    8 v4,v8,v1 -
  82 v_swmmac_f16_16x16x32_f16     4 v4,v8,v1 -
  83 v_swmmac_bf16_16x16x32_bf16   4 v4,v8,v1 -
  84 v_swmmac_i32_16x16x32_iu8     8 v2,v4,v1 -
  85 v_swmmac_i32_16x16x32_iu4     8 v1,v2,v1 -
  86 v_swmmac_i32_16x16x64_iu4     8 v2,v4,v1 -
  87 v_swmmac_f32_16x16x32_fp8_fp8 8 v2,v4,v1 -
  88 v_swmmac_f32_16x16x32_fp8_bf8 8 v2,v4,v1 -
  89 v_swmmac_f32_16x16x32_bf8_fp8 8 v2,v4,v1 -
  90 v_swmmac_f32_16x16x32_bf8_bf8 8 v2,v4,v1 -
- v_pk_max_f16 v_pk_min_f16
[DS]
  18 ds_min_num_f32                  - a,1   -
  19 ds_max_num_f32                  - a,1   -
  50 ds_min_num_rtn_f32              1 a,1   -
  51 ds_max_num_rtn_f32              1 a,1   -
  82 ds_min_num_f64                  - a,2   -
  83 ds_max_num_f64                  - a,2   -
 114 ds_min_num_rtn_f64              2 a,2   -
 115 ds_max_num_rtn_f64              2 a,2   -
 152 ds_cond_sub_u32                 - a,1   -
 153 ds_sub_clamp_u32                - a,1   -
 154 ds_pk_add_f16                   - a,1   -
 155 ds_pk_add_bf16                  - a,1   -
 168 ds_cond_sub_rtn_u32             1 a,1   -
 169 ds_sub_clamp_rtn_u32            1 a,1   -
 170 ds_pk_add_rtn_f16               1 a,1   -
 171 ds_pk_add_rtn_bf16              1 a,1   -
 205 ds_bpermute_fi_b32              1 a,1   -
 224 ds_bvh_stack_push4_pop1_rtn_b32 1 a,1,4 -
 225 ds_bvh_stack_push8_pop1_rtn_b32 1 a,1,8 -
 226 ds_bvh_stack_push8_pop2_rtn_b64 2 a,1,8 -
- ds_bvh_stack_rtn_b32 ds_cmpstore_f32 ds_cmpstore_f64 ds_cmpstore_rtn_f32 ds_cmpstore_rtn_f64 ds_max_f32 ds_max_f64
- ds_max_rtn_f32 ds_max_rtn_f64 ds_min_f32 ds_min_f64 ds_min_rtn_f32 ds_min_rtn_f64 ds_wrap_rtn_b32
[FLAT]
  55 flat_atomic_sub_clamp_u32 1 1 r
  80 flat_atomic_cond_sub_u32  1 1 r
  81 flat_atomic_min_num_f32   1 1 r
  82 flat_atomic_max_num_f32   1 1 r
  89 flat_atomic_pk_add_f16    1 1 r
  90 flat_atomic_pk_add_bf16   1 1 r
- flat_atomic_cmpswap_f32 flat_atomic_max_f32 flat_atomic_min_f32
[GLOBAL]
  43 global_inv                    -  -  z
  44 global_wb                     -  -  z
  55 global_atomic_sub_clamp_u32   1  1  r
  79 global_wbinv                  -  -  z
  80 global_atomic_cond_sub_u32    1  1  r
  81 global_atomic_min_num_f32     1  1  r
  82 global_atomic_max_num_f32     1  1  r
  83 global_load_block             32 -  -
  84 global_store_block            -  32 -
  87 global_load_tr_b128           4  -  -
  88 global_load_tr_b64            2  -  -
  89 global_atomic_pk_add_f16      1  1  r
  90 global_atomic_pk_add_bf16     1  1  r
 115 global_atomic_ordered_add_b64 2  2  r
- global_atomic_cmpswap_f32 global_atomic_csub_u32 global_atomic_max_f32 global_atomic_min_f32
[SCRATCH]
  83 scratch_load_block  32 -  -
  84 scratch_store_block -  32 -
[MUBUF]
  55 buffer_atomic_sub_clamp_u32 1 1 r
  80 buffer_atomic_cond_sub_u32  1 1 r
  81 buffer_atomic_min_num_f32   1 1 r
  82 buffer_atomic_max_num_f32   1 1 r
  89 buffer_atomic_pk_add_f16    1 1 r
  90 buffer_atomic_pk_add_bf16   1 1 r
- buffer_atomic_cmpswap_f32 buffer_atomic_csub_u32 buffer_atomic_max_f32 buffer_atomic_min_f32 buffer_gl0_inv
- buffer_gl1_inv
"""
