"""Instructions of gfx950 (MI350): what differs from gfx940. The lines are explained in table.py."""

from typing import Final

ROWS: Final = """\
[VOP1]
  88 v_prng_b32            1 1  -
  89 v_permlane16_swap_b32 1 v1 -
  90 v_permlane32_swap_b32 1 v1 -
  91 v_cvt_f32_bf16        1 1  -
[VOP2]
  22 v_dot2c_f32_bf16 1 1,1 k
[VOP3]
 563 v_bitop3_b16                    1  i,i,i   o
 564 v_bitop3_b32                    1  1,1,1   -
 565 v_cvt_scalef32_pk_fp8_f32       1  1,1,1   o
 566 v_cvt_scalef32_pk_bf8_f32       1  1,1,1   o
 567 v_cvt_scalef32_sr_fp8_f32       1  1,1,1   o
 568 v_cvt_scalef32_sr_bf8_f32       1  1,1,1   o
 569 v_cvt_scalef32_pk_f32_fp8       2  1,1     o
 570 v_cvt_scalef32_pk_f32_bf8       2  1,1     o
 571 v_cvt_scalef32_f32_fp8          1  1,1     o
 572 v_cvt_scalef32_f32_bf8          1  1,1     o
 573 v_cvt_scalef32_pk_fp4_f32       1  1,1,1   o
 574 v_cvt_scalef32_sr_pk_fp4_f32    1  2,1,1   o
 575 v_cvt_scalef32_pk_f32_fp4       2  1,1     o
 576 v_cvt_scalef32_pk_fp8_f16       1  1,1     o
 577 v_cvt_scalef32_pk_bf8_f16       1  1,1     o
 578 v_cvt_scalef32_sr_fp8_f16       1  1,1,1   o
 579 v_cvt_scalef32_sr_bf8_f16       1  1,1,1   o
 580 v_cvt_scalef32_pk_fp8_bf16      1  1,1     o
 581 v_cvt_scalef32_pk_bf8_bf16      1  1,1     o
 582 v_cvt_scalef32_sr_fp8_bf16      1  1,1,1   o
 583 v_cvt_scalef32_sr_bf8_bf16      1  1,1,1   o
 584 v_cvt_scalef32_pk_f16_fp8       1  1,1     o
 585 v_cvt_scalef32_pk_f16_bf8       1  1,1     o
 586 v_cvt_scalef32_f16_fp8          1  1,1     o
 587 v_cvt_scalef32_f16_bf8          1  1,1     o
 588 v_cvt_scalef32_pk_fp4_f16       1  1,1     o
 589 v_cvt_scalef32_pk_fp4_bf16      1  1,1     o
 590 v_cvt_scalef32_sr_pk_fp4_f16    1  1,1,1   o
 591 v_cvt_scalef32_sr_pk_fp4_bf16   1  1,1,1   o
 592 v_cvt_scalef32_pk_f16_fp4       1  1,1     o
 593 v_cvt_scalef32_pk_bf16_fp4      1  1,1     o
 594 v_cvt_scalef32_2xpk16_fp6_f32   6  16,16,1 -
 595 v_cvt_scalef32_2xpk16_bf6_f32   6  16,16,1 -
 596 v_cvt_scalef32_sr_pk32_fp6_f32  6  32,1,1  -
 597 v_cvt_scalef32_sr_pk32_bf6_f32  6  32,1,1  -
 598 v_cvt_scalef32_pk32_f32_fp6     32 6,1     -
 599 v_cvt_scalef32_pk32_f32_bf6     32 6,1     -
 600 v_cvt_scalef32_pk32_fp6_f16     6  16,1    -
 601 v_cvt_scalef32_pk32_fp6_bf16    6  16,1    -
 602 v_cvt_scalef32_pk32_bf6_f16     6  16,1    -
 603 v_cvt_scalef32_pk32_bf6_bf16    6  16,1    -
 604 v_cvt_scalef32_sr_pk32_fp6_f16  6  16,1,1  -
 605 v_cvt_scalef32_sr_pk32_fp6_bf16 6  16,1,1  -
 606 v_cvt_scalef32_sr_pk32_bf6_f16  6  16,1,1  -
 607 v_cvt_scalef32_sr_pk32_bf6_bf16 6  16,1,1  -
 608 v_cvt_scalef32_pk32_f16_fp6     16 6,1     -
 609 v_cvt_scalef32_pk32_bf16_fp6    16 6,1     -
 610 v_cvt_scalef32_pk32_f16_bf6     16 6,1     -
 611 v_cvt_scalef32_pk32_bf16_bf6    16 6,1     -
 613 v_ashr_pk_i8_i32                1  1,1,1   o
 614 v_ashr_pk_u8_i32                1  1,1,1   o
 615 v_cvt_pk_f16_f32                1  1,1     -
 616 v_cvt_pk_bf16_f32               1  1,1     -
 617 v_cvt_scalef32_pk_bf16_fp8      1  1,1     o
 618 v_cvt_scalef32_pk_bf16_bf8      1  1,1     o
 678 v_cvt_sr_f16_f32                1  1,1     o
 679 v_cvt_sr_bf16_f32               1  1,1     o
 680 v_minimum3_f32                  1  1,1,1   -
 681 v_maximum3_f32                  1  1,1,1   -
[VOP3P]
  26 v_dot2_f32_bf16                   1  1,1,1         -
  27 v_pk_minimum3_f16                 1  1,1,1         -
  28 v_pk_maximum3_f16                 1  1,1,1         -
  44 v_mfma_ld_scale_b32               -  1,1           -
  45 v_mfma_f32_16x16x128_f8f6f4       4  v8,v8,c4      -
  46 v_mfma_f32_32x32x64_f8f6f4        16 v8,v8,c16     -
  53 v_mfma_f32_16x16x32_bf16          4  v4,v4,c4      -
  54 v_mfma_i32_16x16x64_i8            4  v4,v4,c4      -
  55 v_mfma_f32_32x32x16_bf16          16 v4,v4,c16     -
  56 v_mfma_i32_32x32x32_i8            16 v4,v4,c16     -
  57 v_smfmac_f32_16x16x64_bf16        4  v4,v8,v1      -
  58 v_smfmac_i32_16x16x128_i8         4  v4,v8,v1      -
  59 v_smfmac_f32_16x16x128_bf8_bf8    4  v4,v8,v1      -
  60 v_smfmac_f32_16x16x128_bf8_fp8    4  v4,v8,v1      -
  61 v_smfmac_f32_16x16x128_fp8_bf8    4  v4,v8,v1      -
  67 v_smfmac_f32_16x16x128_fp8_fp8    4  v4,v8,v1      -
  70 v_smfmac_f32_32x32x32_bf16        16 v4,v8,v1      -
  71 v_smfmac_i32_32x32x64_i8          16 v4,v8,v1      -
  75 v_smfmac_f32_32x32x64_bf8_bf8     16 v4,v8,v1      -
  78 v_smfmac_f32_32x32x64_bf8_fp8     16 v4,v8,v1      -
  79 v_smfmac_f32_32x32x64_fp8_bf8     16 v4,v8,v1      -
  83 v_smfmac_f32_32x32x64_fp8_fp8     16 v4,v8,v1      -
  84 v_mfma_f32_16x16x32_f16           4  v4,v4,c4      -
  85 v_mfma_f32_32x32x16_f16           16 v4,v4,c16     -
  90 v_smfmac_f32_16x16x64_f16         4  v4,v8,v1      -
  91 v_smfmac_f32_32x32x32_f16         16 v4,v8,v1      -
 173 v_mfma_scale_f32_16x16x128_f8f6f4 4  v8,v8,c4,1,1  -
 174 v_mfma_scale_f32_32x32x64_f8f6f4  16 v8,v8,c16,1,1 -
- v_mfma_f32_16x16x8_xf32 v_mfma_f32_32x32x4_xf32
[DS]
 224 ds_read_b64_tr_b4  2 a -
 225 ds_read_b96_tr_b6  3 a -
 226 ds_read_b64_tr_b8  2 a -
 227 ds_read_b64_tr_b16 2 a -
[GLOBAL]
 125 global_load_lds_dwordx4 - - -
 126 global_load_lds_dwordx3 - - -
[MUBUF]
  82 buffer_atomic_pk_add_bf16 1 1 r
"""
