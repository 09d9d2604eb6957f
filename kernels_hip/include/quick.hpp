// Reciprocals of f64 numbers and of their roots within an ulp or two, of normal numbers whose result and square are
// normal too: a few instructions, where what is right for all numbers takes twenty.
#pragma once

#include "math.hpp"

namespace rk {

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
