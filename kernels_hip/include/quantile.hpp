// The value below which a share of a row lies, for rows that a block puts in order.
#pragma once

#include "bitonic.hpp"

namespace rk {

constexpr u32 most_for_quantile = 1024;

// Of each row the value number `low` in order, or a share of the way from there to the next, rounded once from what
// sums are carried in; NaN where there is one. A row a block.
template <typename T>
RK_DEVICE void quantile(u64 rows, u32 cols, u32 low, f64 share, const T *src, T *dst) {
    using Value = arith<T>;
    const Value first_share = static_cast<Value>(1 - share), second_share = static_cast<Value>(share);
    __shared__ u32 positions[most_for_quantile];
    u32 padded = 1;
    while (padded < cols) {
        padded *= 2;
    }
#pragma unroll 1
    for (u64 row = block_x(); row < rows; row += grid_x()) {
        const T *line = src + row * cols;
        order_positions<false>(line, positions, cols, padded);
        if (thread_x() == 0) {
            const T last = line[positions[cols - 1]], first = line[positions[low]];
            const T second = share == 0 ? first : line[positions[low + 1]];
            const Value x = widen(first), y = widen(second);
            const Value of_first = x * first_share, of_second = y * second_share;  // no product joins the sum
            dst[row] = is_nan(widen(last)) ? last : x == y ? first : narrow<T>(of_first + of_second);
        }
        barrier();
    }
}

}  // namespace rk
