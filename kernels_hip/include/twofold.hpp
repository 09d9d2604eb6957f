// Numbers of twice the precision.
#pragma once

#include "math.hpp"

namespace rk {

// hi + lo, lo below half an ulp of hi.
template <typename C>
struct Twofold {
    C hi;
    C lo;
};

template <typename C>
RK_DEVICE Twofold<C> twofold_product(C x, C y) {
    const C product = x * y;
    return {product, fma(x, y, -product)};
}

// hi must be the larger magnitude.
template <typename C>
RK_DEVICE Twofold<C> twofold_sum(C hi, C lo) {
    const C sum = hi + lo;
    return {sum, lo - (sum - hi)};
}

}  // namespace rk
