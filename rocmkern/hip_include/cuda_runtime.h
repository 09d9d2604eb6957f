// CUDA's runtime API and device functions, which HIP's are.
#pragma once

#include <rocmkern/cuda_names.h>
