// HIP for kernels and for the host code around them.
#pragma once

#include <hip/hip_runtime_api.h>
#include <math.h>

#include <rocmkern/atomics.h>
#include <rocmkern/intrinsics.h>
#include <rocmkern/launch.h>
#include <rocmkern/threads.h>
#include <rocmkern/vectors.h>
#include <rocmkern/waves.h>
