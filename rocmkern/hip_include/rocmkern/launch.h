// What the compiler calls for `kernel<<<grid, block>>>(…)`, and HIP's macros for the same.
#pragma once

#include <hip/hip_runtime_api.h>

extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                                 hipStream_t stream = nullptr);
extern "C" hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, hipStream_t *stream);

#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...)                 \
    do {                                                                                   \
        kernel<<<dim3(grid), dim3(block), (shared_bytes), (stream)>>>(__VA_ARGS__);        \
    } while (0)

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
