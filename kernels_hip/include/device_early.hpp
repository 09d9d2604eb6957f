// What a launch needs that begins before the one ahead has ended. Few families do; device.hpp, which all include, is for
// what many need.
#pragma once

#include "device.hpp"

namespace rk {

// Lets the launch behind begin, if that is an early one.
__device__ void let_next_begin();
// Waits until the launch ahead has ended and what it wrote can be read. All threads of an early launch must.
__device__ void await_launch_ahead();

// As begin_copy, of bytes that are read once: they give way to others in the cache.
__device__ void begin_copy_once(u8 *lds, const u8 *from);

#if defined(__NVPTX__)

// Devices before sm_90 begin no launch early.
RK_DEVICE void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
RK_DEVICE void await_launch_ahead() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

RK_DEVICE void begin_copy_once(u8 *lds, const u8 *from) {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(lds_address(lds)),
                 "l"(from), "l"(policy)
                 : "memory");
}

#elif defined(__AMDGCN__)
RK_DEVICE void let_next_begin() {}
#endif

}  // namespace rk
