// Reciprocals of f64 numbers and of their roots within an ulp or two, of normal numbers whose result and square are
// normal too: a few instructions, where what is right for all numbers takes twenty. Its builtins are the only ones that
// device.hpp does not name.
#pragma once

#include "device.hpp"
#include "math.hpp"

namespace rk {

#if defined(__AMDGCN__)
// Right to 22 bits or more.
RK_DEVICE f64 rough_reciprocal(f64 x) { return __builtin_amdgcn_rcp(x); }
RK_DEVICE f64 rough_reciprocal_root(f64 x) { return __builtin_amdgcn_rsq(x); }
#elif defined(__NVPTX__)
RK_DEVICE f64 rough_reciprocal(f64 x) { return __nvvm_rcp_approx_ftz_d(x); }
RK_DEVICE f64 rough_reciprocal_root(f64 x) { return __nvvm_rsqrt_approx_d(x); }
#else
__device__ f64 rough_reciprocal(f64 x);
__device__ f64 rough_reciprocal_root(f64 x);
#endif

// A step that trebles the bits that are right.
RK_DEVICE f64 quick_reciprocal(f64 x) {
    const f64 y = rough_reciprocal(x);
    const f64 e = fma(-x, y, 1.0);
    return fma(fma(e, e, e), y, y);
}
RK_DEVICE f64 quick_reciprocal_root(f64 x) {
    const f64 y = rough_reciprocal_root(x);
    const f64 e = fma(-x * y, y, 1.0);
    return fma(fma(0.375, e, 0.5) * e, y, y);
}

}  // namespace rk
