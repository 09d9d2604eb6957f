// Complex numbers under CUDA's names.
#pragma once

#include <hip/hip_complex.h>

#define cuComplex hipComplex
#define cuFloatComplex hipFloatComplex
#define cuDoubleComplex hipDoubleComplex
#define make_cuComplex make_hipComplex
#define make_cuFloatComplex make_hipFloatComplex
#define make_cuDoubleComplex make_hipDoubleComplex
#define cuCrealf hipCrealf
#define cuCreal hipCreal
#define cuCimagf hipCimagf
#define cuCimag hipCimag
#define cuCaddf hipCaddf
#define cuCadd hipCadd
#define cuCsubf hipCsubf
#define cuCsub hipCsub
#define cuCmulf hipCmulf
#define cuCmul hipCmul
#define cuCdivf hipCdivf
#define cuCdiv hipCdiv
#define cuCabsf hipCabsf
#define cuCabs hipCabs
#define cuCfmaf hipCfmaf
#define cuCfma hipCfma
#define cuConjf hipConjf
#define cuConj hipConj
