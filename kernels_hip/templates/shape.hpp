// Tensors whose shape and strides are compile-time constants, innermost dimension first: divisions become
// multiplications, and what is contiguous is known to the compiler.
#pragma once

#include "include/device.hpp"
#include "include/index.hpp"

namespace rk {

template <u64 D0, u64 D1, u64 D2, u64 D3>
struct Extent {
    static constexpr u64 dims[4] = {D0, D1, D2, D3};
    static constexpr u64 size = D0 * D1 * D2 * D3;
    // 32-bit arithmetic where every element number fits.
    using Index = choose<(size <= 0xffffffffu), u32, u64>;
};

template <u64 S0, u64 S1, u64 S2, u64 S3>
struct Pitch {
    static constexpr u64 strides[4] = {S0, S1, S2, S3};
};

template <typename Shape, typename Strides>
constexpr bool is_dense() {
    u64 expected = 1;
    for (u32 d = 0; d < 4; ++d) {
        if (Shape::dims[d] != 1 && Strides::strides[d] != expected) {
            return false;
        }
        expected *= Shape::dims[d];
    }
    return true;
}

// Where element `linear` of Shape lies in an operand of its own Extent, whose dims divide Shape's and repeat.
template <typename Shape, typename Own, typename Strides>
RK_DEVICE u64 place(typename Shape::Index linear) {
    using Index = typename Shape::Index;
    if constexpr (is_dense<Shape, Strides>() && is_same<Shape, Own>) {
        return linear;
    }
    u64 offset = 0;
    Index rest = linear;
#pragma unroll
    for (u32 d = 0; d < 4; ++d) {
        const Index position = d == 3 ? rest : static_cast<Index>(rest % static_cast<Index>(Shape::dims[d]));
        rest = d == 3 ? rest : static_cast<Index>(rest / static_cast<Index>(Shape::dims[d]));
        const Index own = Own::dims[d] == Shape::dims[d] ? position : static_cast<Index>(position % static_cast<Index>(Own::dims[d]));
        offset += own * Strides::strides[d];
    }
    return offset;
}

}  // namespace rk
