// AMD's additions to the runtime: launches that record events around themselves.
#pragma once

#include <hip/hip_runtime.h>

template <typename... P, typename... A>
inline void hipExtLaunchKernelGGL(void (*kernel)(P...), const dim3 &grid, const dim3 &block, unsigned shared_bytes,
                                  hipStream_t stream, hipEvent_t start, hipEvent_t stop, unsigned, A... passed) {
    if (start) {
        (void)hipEventRecord(start, stream);
    }
    kernel<<<grid, block, shared_bytes, stream>>>(static_cast<P>(passed)...);
    if (stop) {
        (void)hipEventRecord(stop, stream);
    }
}
