"""Instructions of gfx940 and gfx942 (MI300): what differs from gfx90a. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[VOP1]
  56 v_mov_b64        2 2 -
  84 v_cvt_f32_fp8    1 1 o
  85 v_cvt_f32_bf8    1 1 o
  86 v_cvt_pk_f32_fp8 2 1 o
  87 v_cvt_pk_f32_bf8 2 1 o
[VOP2]
  23 v_fmamk_f32 1 1,K,1 x
  24 v_fmaak_f32 1 1,1,K x
- v_mac_f32 v_madak_f32 v_madmk_f32
[VOP3]
 520 v_lshl_add_u64   2 2,1,2 -
 674 v_cvt_pk_fp8_f32 h 1,1   o
 675 v_cvt_pk_bf8_f32 h 1,1   o
 676 v_cvt_sr_fp8_f32 1 1,1   o
 677 v_cvt_sr_bf8_f32 1 1,1   o
- v_mad_f32 v_mad_legacy_f32
[VOP3P]
  62 v_mfma_f32_16x16x8_xf32       4  v2,v2,c4  -
  63 v_mfma_f32_32x32x4_xf32       16 v2,v2,c16 -
  64 v_mfma_f32_32x32x1_2b_f32     32 v1,v1,c32 -
  65 v_mfma_f32_16x16x1_4b_f32     16 v1,v1,c16 -
  66 v_mfma_f32_4x4x1_16b_f32      4  v1,v1,c4  -
  68 v_mfma_f32_32x32x2_f32        16 v1,v1,c16 -
  69 v_mfma_f32_16x16x4_f32        4  v1,v1,c4  -
  72 v_mfma_f32_32x32x4_2b_f16     32 v2,v2,c32 -
  73 v_mfma_f32_16x16x4_4b_f16     16 v2,v2,c16 -
  74 v_mfma_f32_4x4x4_16b_f16      4  v2,v2,c4  -
  76 v_mfma_f32_32x32x8_f16        16 v2,v2,c16 -
  77 v_mfma_f32_16x16x16_f16       4  v2,v2,c4  -
  80 v_mfma_i32_32x32x4_2b_i8      32 v1,v1,c32 -
  81 v_mfma_i32_16x16x4_4b_i8      16 v1,v1,c16 -
  82 v_mfma_i32_4x4x4_16b_i8       4  v1,v1,c4  -
  86 v_mfma_i32_32x32x16_i8        16 v2,v2,c16 -
  87 v_mfma_i32_16x16x32_i8        4  v2,v2,c4  -
  93 v_mfma_f32_32x32x4_2b_bf16    32 v2,v2,c32 -
  94 v_mfma_f32_16x16x4_4b_bf16    16 v2,v2,c16 -
  95 v_mfma_f32_4x4x4_16b_bf16     4  v2,v2,c4  -
  96 v_mfma_f32_32x32x8_bf16       16 v2,v2,c16 -
  97 v_mfma_f32_16x16x16_bf16      4  v2,v2,c4  -
  98 v_smfmac_f32_16x16x32_f16     4  v2,v4,v1  -
 100 v_smfmac_f32_32x32x16_f16     16 v2,v4,v1  -
 102 v_smfmac_f32_16x16x32_bf16    4  v2,v4,v1  -
 104 v_smfmac_f32_32x32x16_bf16    16 v2,v4,v1  -
 106 v_smfmac_i32_16x16x64_i8      4  v2,v4,v1  -
 108 v_smfmac_i32_32x32x32_i8      16 v2,v4,v1  -
 110 v_mfma_f64_16x16x4_f64        8  v2,v2,c8  -
 111 v_mfma_f64_4x4x4_4b_f64       2  v2,v2,c2  -
 112 v_mfma_f32_16x16x32_bf8_bf8   4  v2,v2,c4  -
 113 v_mfma_f32_16x16x32_bf8_fp8   4  v2,v2,c4  -
 114 v_mfma_f32_16x16x32_fp8_bf8   4  v2,v2,c4  -
 115 v_mfma_f32_16x16x32_fp8_fp8   4  v2,v2,c4  -
 116 v_mfma_f32_32x32x16_bf8_bf8   16 v2,v2,c16 -
 117 v_mfma_f32_32x32x16_bf8_fp8   16 v2,v2,c16 -
 118 v_mfma_f32_32x32x16_fp8_bf8   16 v2,v2,c16 -
 119 v_mfma_f32_32x32x16_fp8_fp8   16 v2,v2,c16 -
 120 v_smfmac_f32_16x16x64_bf8_bf8 4  v2,v4,v1  -
 121 v_smfmac_f32_16x16x64_bf8_fp8 4  v2,v4,v1  -
 122 v_smfmac_f32_16x16x64_fp8_bf8 4  v2,v4,v1  -
 123 v_smfmac_f32_16x16x64_fp8_fp8 4  v2,v4,v1  -
 124 v_smfmac_f32_32x32x32_bf8_bf8 16 v2,v4,v1  -
 125 v_smfmac_f32_32x32x32_bf8_fp8 16 v2,v4,v1  -
 126 v_smfmac_f32_32x32x32_fp8_bf8 16 v2,v4,v1  -
 127 v_smfmac_f32_32x32x32_fp8_fp8 16 v2,v4,v1  -
- v_mfma_f32_16x16x16bf16_1k v_mfma_f32_16x16x16f16 v_mfma_f32_16x16x1f32 v_mfma_f32_16x16x2bf16
- v_mfma_f32_16x16x4bf16_1k v_mfma_f32_16x16x4f16 v_mfma_f32_16x16x4f32 v_mfma_f32_16x16x8bf16 v_mfma_f32_32x32x1f32
- v_mfma_f32_32x32x2bf16 v_mfma_f32_32x32x2f32 v_mfma_f32_32x32x4bf16 v_mfma_f32_32x32x4bf16_1k
- v_mfma_f32_32x32x4f16 v_mfma_f32_32x32x8bf16_1k v_mfma_f32_32x32x8f16 v_mfma_f32_4x4x1f32 v_mfma_f32_4x4x2bf16
- v_mfma_f32_4x4x4bf16_1k v_mfma_f32_4x4x4f16 v_mfma_f64_16x16x4f64 v_mfma_f64_4x4x4f64 v_mfma_i32_16x16x16i8
- v_mfma_i32_16x16x4i8 v_mfma_i32_32x32x4i8 v_mfma_i32_32x32x8i8 v_mfma_i32_4x4x4i8
[DS]
  23 ds_pk_add_f16      - a,1 -
  24 ds_pk_add_bf16     - a,1 -
 183 ds_pk_add_rtn_f16  1 a,1 -
 184 ds_pk_add_rtn_bf16 1 a,1 -
[FLAT]
  77 flat_atomic_add_f32     1 1 r
  78 flat_atomic_pk_add_f16  1 1 r
  82 flat_atomic_pk_add_bf16 1 1 r
[GLOBAL]
  38 global_load_lds_ubyte     - - -
  39 global_load_lds_sbyte     - - -
  40 global_load_lds_ushort    - - -
  41 global_load_lds_sshort    - - -
  42 global_load_lds_dword     - - -
  82 global_atomic_pk_add_bf16 1 1 r
[SCRATCH]
  38 scratch_load_lds_ubyte  - - -
  39 scratch_load_lds_sbyte  - - -
  40 scratch_load_lds_ushort - - -
  41 scratch_load_lds_sshort - - -
  42 scratch_load_lds_dword  - - -
[MUBUF]
  41 buffer_inv - - z
- buffer_invl2 buffer_store_lds_dword buffer_wbinvl1 buffer_wbinvl1_vol
"""
