// 2^x by one instruction.
#pragma once

#include "device.hpp"

namespace rk {

// Within an ulp or two; 0 where the result would be subnormal.
RK_DEVICE f32 exp2_or_zero(f32 x) {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_exp2f(x);
#elif defined(__NVPTX__)
    return __nvvm_ex2_approx_ftz_f(x);
#else
    return rough_exp2(x);
#endif
}

}  // namespace rk
