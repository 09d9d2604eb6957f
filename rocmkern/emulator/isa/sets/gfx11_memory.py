"""Memory instructions of gfx11 (RDNA 3): what differs from gfx10. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[DS]
  13 ds_store_b32                        - a,1   -
  14 ds_store_2addr_b32                  - a,1,1 2
  15 ds_store_2addr_stride64_b32         - a,1,1 2
  16 ds_cmpstore_b32                     - a,1,1 -
  17 ds_cmpstore_f32                     - a,1,1 -
  30 ds_store_b8                         - a,1   -
  31 ds_store_b16                        - a,1   -
  45 ds_storexchg_rtn_b32                1 a,1   -
  46 ds_storexchg_2addr_rtn_b32          2 a,1,1 2
  47 ds_storexchg_2addr_stride64_rtn_b32 2 a,1,1 2
  48 ds_cmpstore_rtn_b32                 1 a,1,1 -
  49 ds_cmpstore_rtn_f32                 1 a,1,1 -
  54 ds_load_b32                         1 a     -
  55 ds_load_2addr_b32                   2 a     2
  56 ds_load_2addr_stride64_b32          2 a     2
  57 ds_load_i8                          1 a     -
  58 ds_load_u8                          1 a     -
  59 ds_load_i16                         1 a     -
  60 ds_load_u16                         1 a     -
  77 ds_store_b64                        - a,2   -
  78 ds_store_2addr_b64                  - a,2,2 2
  79 ds_store_2addr_stride64_b64         - a,2,2 2
  80 ds_cmpstore_b64                     - a,2,2 -
  81 ds_cmpstore_f64                     - a,2,2 -
 109 ds_storexchg_rtn_b64                2 a,2   -
 110 ds_storexchg_2addr_rtn_b64          4 a,2,2 2
 111 ds_storexchg_2addr_stride64_rtn_b64 4 a,2,2 2
 112 ds_cmpstore_rtn_b64                 2 a,2,2 -
 113 ds_cmpstore_rtn_f64                 2 a,2,2 -
 118 ds_load_b64                         2 a     -
 119 ds_load_2addr_b64                   4 a     2
 120 ds_load_2addr_stride64_b64          4 a     2
 160 ds_store_b8_d16_hi                  - a,1   -
 161 ds_store_b16_d16_hi                 - a,1   -
 162 ds_load_u8_d16                      1 a     -
 163 ds_load_u8_d16_hi                   1 a     -
 164 ds_load_i8_d16                      1 a     -
 165 ds_load_i8_d16_hi                   1 a     -
 166 ds_load_u16_d16                     1 a     -
 167 ds_load_u16_d16_hi                  1 a     -
 173 ds_bvh_stack_rtn_b32                1 a,1,4 -
 176 ds_store_addtid_b32                 - 1     -
 177 ds_load_addtid_b32                  1 -     -
 222 ds_store_b96                        - a,3   -
 223 ds_store_b128                       - a,4   -
 254 ds_load_b96                         3 a     -
 255 ds_load_b128                        4 a     -
= ds_add_rtn_f32=121
- ds_cmpst_b32 ds_cmpst_b64 ds_cmpst_f32 ds_cmpst_f64 ds_cmpst_rtn_b32 ds_cmpst_rtn_b64 ds_cmpst_rtn_f32
- ds_cmpst_rtn_f64 ds_read2_b32 ds_read2_b64 ds_read2st64_b32 ds_read2st64_b64 ds_read_addtid_b32 ds_read_b128
- ds_read_b32 ds_read_b64 ds_read_b96 ds_read_i16 ds_read_i8 ds_read_i8_d16 ds_read_i8_d16_hi ds_read_u16
- ds_read_u16_d16 ds_read_u16_d16_hi ds_read_u8 ds_read_u8_d16 ds_read_u8_d16_hi ds_write2_b32 ds_write2_b64
- ds_write2st64_b32 ds_write2st64_b64 ds_write_addtid_b32 ds_write_b128 ds_write_b16 ds_write_b16_d16_hi
- ds_write_b32 ds_write_b64 ds_write_b8 ds_write_b8_d16_hi ds_write_b96 ds_wrxchg2_rtn_b32 ds_wrxchg2_rtn_b64
- ds_wrxchg2st64_rtn_b32 ds_wrxchg2st64_rtn_b64 ds_wrxchg_rtn_b32 ds_wrxchg_rtn_b64
[FLAT]
  16 flat_load_u8            1 - -
  17 flat_load_i8            1 - -
  18 flat_load_u16           1 - -
  19 flat_load_i16           1 - -
  20 flat_load_b32           1 - -
  21 flat_load_b64           2 - -
  22 flat_load_b96           3 - -
  23 flat_load_b128          4 - -
  24 flat_store_b8           - 1 -
  25 flat_store_b16          - 1 -
  26 flat_store_b32          - 1 -
  27 flat_store_b64          - 2 -
  28 flat_store_b96          - 3 -
  29 flat_store_b128         - 4 -
  30 flat_load_d16_u8        1 - -
  31 flat_load_d16_i8        1 - -
  32 flat_load_d16_b16       1 - -
  33 flat_load_d16_hi_u8     1 - -
  34 flat_load_d16_hi_i8     1 - -
  35 flat_load_d16_hi_b16    1 - -
  36 flat_store_d16_hi_b8    - 1 -
  37 flat_store_d16_hi_b16   - 1 -
  51 flat_atomic_swap_b32    1 1 r
  52 flat_atomic_cmpswap_b32 1 2 r
  53 flat_atomic_add_u32     1 1 r
  54 flat_atomic_sub_u32     1 1 r
  56 flat_atomic_min_i32     1 1 r
  57 flat_atomic_min_u32     1 1 r
  58 flat_atomic_max_i32     1 1 r
  59 flat_atomic_max_u32     1 1 r
  60 flat_atomic_and_b32     1 1 r
  61 flat_atomic_or_b32      1 1 r
  62 flat_atomic_xor_b32     1 1 r
  63 flat_atomic_inc_u32     1 1 r
  64 flat_atomic_dec_u32     1 1 r
  65 flat_atomic_swap_b64    2 2 r
  66 flat_atomic_cmpswap_b64 2 4 r
  67 flat_atomic_add_u64     2 2 r
  68 flat_atomic_sub_u64     2 2 r
  69 flat_atomic_min_i64     2 2 r
  70 flat_atomic_min_u64     2 2 r
  71 flat_atomic_max_i64     2 2 r
  72 flat_atomic_max_u64     2 2 r
  73 flat_atomic_and_b64     2 2 r
  74 flat_atomic_or_b64      2 2 r
  75 flat_atomic_xor_b64     2 2 r
  76 flat_atomic_inc_u64     2 2 r
  77 flat_atomic_dec_u64     2 2 r
  80 flat_atomic_cmpswap_f32 1 2 r
  81 flat_atomic_min_f32     1 1 r
  82 flat_atomic_max_f32     1 1 r
  86 flat_atomic_add_f32     1 1 r
- flat_atomic_add flat_atomic_add_x2 flat_atomic_and flat_atomic_and_x2 flat_atomic_cmpswap flat_atomic_cmpswap_x2
- flat_atomic_dec flat_atomic_dec_x2 flat_atomic_fcmpswap flat_atomic_fcmpswap_x2 flat_atomic_fmax
- flat_atomic_fmax_x2 flat_atomic_fmin flat_atomic_fmin_x2 flat_atomic_inc flat_atomic_inc_x2 flat_atomic_or
- flat_atomic_or_x2 flat_atomic_smax flat_atomic_smax_x2 flat_atomic_smin flat_atomic_smin_x2 flat_atomic_sub
- flat_atomic_sub_x2 flat_atomic_swap flat_atomic_swap_x2 flat_atomic_umax flat_atomic_umax_x2 flat_atomic_umin
- flat_atomic_umin_x2 flat_atomic_xor flat_atomic_xor_x2 flat_load_dword flat_load_dwordx2 flat_load_dwordx3
- flat_load_dwordx4 flat_load_sbyte flat_load_sbyte_d16 flat_load_sbyte_d16_hi flat_load_short_d16
- flat_load_short_d16_hi flat_load_sshort flat_load_ubyte flat_load_ubyte_d16 flat_load_ubyte_d16_hi
- flat_load_ushort flat_store_byte flat_store_byte_d16_hi flat_store_dword flat_store_dwordx2 flat_store_dwordx3
- flat_store_dwordx4 flat_store_short flat_store_short_d16_hi
[GLOBAL]
  16 global_load_u8            1 - -
  17 global_load_i8            1 - -
  18 global_load_u16           1 - -
  19 global_load_i16           1 - -
  20 global_load_b32           1 - -
  21 global_load_b64           2 - -
  22 global_load_b96           3 - -
  23 global_load_b128          4 - -
  24 global_store_b8           - 1 -
  25 global_store_b16          - 1 -
  26 global_store_b32          - 1 -
  27 global_store_b64          - 2 -
  28 global_store_b96          - 3 -
  29 global_store_b128         - 4 -
  30 global_load_d16_u8        1 - -
  31 global_load_d16_i8        1 - -
  32 global_load_d16_b16       1 - -
  33 global_load_d16_hi_u8     1 - -
  34 global_load_d16_hi_i8     1 - -
  35 global_load_d16_hi_b16    1 - -
  36 global_store_d16_hi_b8    - 1 -
  37 global_store_d16_hi_b16   - 1 -
  40 global_load_addtid_b32    1 - n
  41 global_store_addtid_b32   - 1 n
  51 global_atomic_swap_b32    1 1 r
  52 global_atomic_cmpswap_b32 1 2 r
  53 global_atomic_add_u32     1 1 r
  54 global_atomic_sub_u32     1 1 r
  55 global_atomic_csub_u32    1 1 r
  56 global_atomic_min_i32     1 1 r
  57 global_atomic_min_u32     1 1 r
  58 global_atomic_max_i32     1 1 r
  59 global_atomic_max_u32     1 1 r
  60 global_atomic_and_b32     1 1 r
  61 global_atomic_or_b32      1 1 r
  62 global_atomic_xor_b32     1 1 r
  63 global_atomic_inc_u32     1 1 r
  64 global_atomic_dec_u32     1 1 r
  65 global_atomic_swap_b64    2 2 r
  66 global_atomic_cmpswap_b64 2 4 r
  67 global_atomic_add_u64     2 2 r
  68 global_atomic_sub_u64     2 2 r
  69 global_atomic_min_i64     2 2 r
  70 global_atomic_min_u64     2 2 r
  71 global_atomic_max_i64     2 2 r
  72 global_atomic_max_u64     2 2 r
  73 global_atomic_and_b64     2 2 r
  74 global_atomic_or_b64      2 2 r
  75 global_atomic_xor_b64     2 2 r
  76 global_atomic_inc_u64     2 2 r
  77 global_atomic_dec_u64     2 2 r
  80 global_atomic_cmpswap_f32 1 2 r
  81 global_atomic_min_f32     1 1 r
  82 global_atomic_max_f32     1 1 r
  86 global_atomic_add_f32     1 1 r
- global_atomic_add global_atomic_add_x2 global_atomic_and global_atomic_and_x2 global_atomic_cmpswap
- global_atomic_cmpswap_x2 global_atomic_csub global_atomic_dec global_atomic_dec_x2 global_atomic_fcmpswap
- global_atomic_fcmpswap_x2 global_atomic_fmax global_atomic_fmax_x2 global_atomic_fmin global_atomic_fmin_x2
- global_atomic_inc global_atomic_inc_x2 global_atomic_or global_atomic_or_x2 global_atomic_smax
- global_atomic_smax_x2 global_atomic_smin global_atomic_smin_x2 global_atomic_sub global_atomic_sub_x2
- global_atomic_swap global_atomic_swap_x2 global_atomic_umax global_atomic_umax_x2 global_atomic_umin
- global_atomic_umin_x2 global_atomic_xor global_atomic_xor_x2 global_load_dword global_load_dword_addtid
- global_load_dwordx2 global_load_dwordx3 global_load_dwordx4 global_load_sbyte global_load_sbyte_d16
- global_load_sbyte_d16_hi global_load_short_d16 global_load_short_d16_hi global_load_sshort global_load_ubyte
- global_load_ubyte_d16 global_load_ubyte_d16_hi global_load_ushort global_store_byte global_store_byte_d16_hi
- global_store_dword global_store_dword_addtid global_store_dwordx2 global_store_dwordx3 global_store_dwordx4
- global_store_short global_store_short_d16_hi
[SCRATCH]
  16 scratch_load_u8          1 - -
  17 scratch_load_i8          1 - -
  18 scratch_load_u16         1 - -
  19 scratch_load_i16         1 - -
  20 scratch_load_b32         1 - -
  21 scratch_load_b64         2 - -
  22 scratch_load_b96         3 - -
  23 scratch_load_b128        4 - -
  24 scratch_store_b8         - 1 -
  25 scratch_store_b16        - 1 -
  26 scratch_store_b32        - 1 -
  27 scratch_store_b64        - 2 -
  28 scratch_store_b96        - 3 -
  29 scratch_store_b128       - 4 -
  30 scratch_load_d16_u8      1 - -
  31 scratch_load_d16_i8      1 - -
  32 scratch_load_d16_b16     1 - -
  33 scratch_load_d16_hi_u8   1 - -
  34 scratch_load_d16_hi_i8   1 - -
  35 scratch_load_d16_hi_b16  1 - -
  36 scratch_store_d16_hi_b8  - 1 -
  37 scratch_store_d16_hi_b16 - 1 -
- scratch_load_dword scratch_load_dwordx2 scratch_load_dwordx3 scratch_load_dwordx4 scratch_load_sbyte
- scratch_load_sbyte_d16 scratch_load_sbyte_d16_hi scratch_load_short_d16 scratch_load_short_d16_hi
- scratch_load_sshort scratch_load_ubyte scratch_load_ubyte_d16 scratch_load_ubyte_d16_hi scratch_load_ushort
- scratch_store_byte scratch_store_byte_d16_hi scratch_store_dword scratch_store_dwordx2 scratch_store_dwordx3
- scratch_store_dwordx4 scratch_store_short scratch_store_short_d16_hi
[MUBUF]
   8 buffer_load_d16_format_x     1 - -
   9 buffer_load_d16_format_xy    1 - -
  10 buffer_load_d16_format_xyz   2 - -
  11 buffer_load_d16_format_xyzw  2 - -
  12 buffer_store_d16_format_x    - 1 -
  13 buffer_store_d16_format_xy   - 1 -
  14 buffer_store_d16_format_xyz  - 2 -
  15 buffer_store_d16_format_xyzw - 2 -
  16 buffer_load_u8               1 - -
  17 buffer_load_i8               1 - -
  18 buffer_load_u16              1 - -
  19 buffer_load_i16              1 - -
  20 buffer_load_b32              1 - -
  21 buffer_load_b64              2 - -
  22 buffer_load_b96              3 - -
  23 buffer_load_b128             4 - -
  24 buffer_store_b8              - 1 -
  25 buffer_store_b16             - 1 -
  26 buffer_store_b32             - 1 -
  27 buffer_store_b64             - 2 -
  28 buffer_store_b96             - 3 -
  29 buffer_store_b128            - 4 -
  30 buffer_load_d16_u8           1 - -
  31 buffer_load_d16_i8           1 - -
  32 buffer_load_d16_b16          1 - -
  33 buffer_load_d16_hi_u8        1 - -
  34 buffer_load_d16_hi_i8        1 - -
  35 buffer_load_d16_hi_b16       1 - -
  36 buffer_store_d16_hi_b8       - 1 -
  37 buffer_store_d16_hi_b16      - 1 -
  38 buffer_load_d16_hi_format_x  1 - -
  39 buffer_store_d16_hi_format_x - 1 -
  51 buffer_atomic_swap_b32       1 1 r
  52 buffer_atomic_cmpswap_b32    1 2 r
  53 buffer_atomic_add_u32        1 1 r
  54 buffer_atomic_sub_u32        1 1 r
  55 buffer_atomic_csub_u32       1 1 r
  56 buffer_atomic_min_i32        1 1 r
  57 buffer_atomic_min_u32        1 1 r
  58 buffer_atomic_max_i32        1 1 r
  59 buffer_atomic_max_u32        1 1 r
  60 buffer_atomic_and_b32        1 1 r
  61 buffer_atomic_or_b32         1 1 r
  62 buffer_atomic_xor_b32        1 1 r
  63 buffer_atomic_inc_u32        1 1 r
  64 buffer_atomic_dec_u32        1 1 r
  65 buffer_atomic_swap_b64       2 2 r
  66 buffer_atomic_cmpswap_b64    2 4 r
  67 buffer_atomic_add_u64        2 2 r
  68 buffer_atomic_sub_u64        2 2 r
  69 buffer_atomic_min_i64        2 2 r
  70 buffer_atomic_min_u64        2 2 r
  71 buffer_atomic_max_i64        2 2 r
  72 buffer_atomic_max_u64        2 2 r
  73 buffer_atomic_and_b64        2 2 r
  74 buffer_atomic_or_b64         2 2 r
  75 buffer_atomic_xor_b64        2 2 r
  76 buffer_atomic_inc_u64        2 2 r
  77 buffer_atomic_dec_u64        2 2 r
  80 buffer_atomic_cmpswap_f32    1 2 r
  81 buffer_atomic_min_f32        1 1 r
  82 buffer_atomic_max_f32        1 1 r
  86 buffer_atomic_add_f32        1 1 r
= buffer_gl0_inv=43 buffer_gl1_inv=44
- buffer_atomic_add buffer_atomic_add_x2 buffer_atomic_and buffer_atomic_and_x2 buffer_atomic_cmpswap
- buffer_atomic_cmpswap_x2 buffer_atomic_csub buffer_atomic_dec buffer_atomic_dec_x2 buffer_atomic_fcmpswap
- buffer_atomic_fcmpswap_x2 buffer_atomic_fmax buffer_atomic_fmax_x2 buffer_atomic_fmin buffer_atomic_fmin_x2
- buffer_atomic_inc buffer_atomic_inc_x2 buffer_atomic_or buffer_atomic_or_x2 buffer_atomic_smax
- buffer_atomic_smax_x2 buffer_atomic_smin buffer_atomic_smin_x2 buffer_atomic_sub buffer_atomic_sub_x2
- buffer_atomic_swap buffer_atomic_swap_x2 buffer_atomic_umax buffer_atomic_umax_x2 buffer_atomic_umin
- buffer_atomic_umin_x2 buffer_atomic_xor buffer_atomic_xor_x2 buffer_load_dword buffer_load_dwordx2
- buffer_load_dwordx3 buffer_load_dwordx4 buffer_load_format_d16_hi_x buffer_load_format_d16_x
- buffer_load_format_d16_xy buffer_load_format_d16_xyz buffer_load_format_d16_xyzw buffer_load_sbyte
- buffer_load_sbyte_d16 buffer_load_sbyte_d16_hi buffer_load_short_d16 buffer_load_short_d16_hi buffer_load_sshort
- buffer_load_ubyte buffer_load_ubyte_d16 buffer_load_ubyte_d16_hi buffer_load_ushort buffer_store_byte
- buffer_store_byte_d16_hi buffer_store_dword buffer_store_dwordx2 buffer_store_dwordx3 buffer_store_dwordx4
- buffer_store_format_d16_hi_x buffer_store_format_d16_x buffer_store_format_d16_xy buffer_store_format_d16_xyz
- buffer_store_format_d16_xyzw buffer_store_short buffer_store_short_d16_hi
[MTBUF]
   8 tbuffer_load_d16_format_x     1 - -
   9 tbuffer_load_d16_format_xy    1 - -
  10 tbuffer_load_d16_format_xyz   2 - -
  11 tbuffer_load_d16_format_xyzw  2 - -
  12 tbuffer_store_d16_format_x    - 1 -
  13 tbuffer_store_d16_format_xy   - 1 -
  14 tbuffer_store_d16_format_xyz  - 2 -
  15 tbuffer_store_d16_format_xyzw - 2 -
- tbuffer_load_format_d16_x tbuffer_load_format_d16_xy tbuffer_load_format_d16_xyz tbuffer_load_format_d16_xyzw
- tbuffer_store_format_d16_x tbuffer_store_format_d16_xy tbuffer_store_format_d16_xyz tbuffer_store_format_d16_xyzw
"""
