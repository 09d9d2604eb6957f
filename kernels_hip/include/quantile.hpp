// The value below which a share of a row lies, for rows that a block puts in order.
#pragma once

#include "bitonic.hpp"

namespace rk {

constexpr u32 most_for_quantile = 1024;

// Of each row the value number `low` in order, and where the share of the next one is not zero both by their shares,
// each product and the sum rounded to T; NaN where there is one. A row a block.
template <typename T>
RK_DEVICE void quantile(u64 rows, u32 cols, u32 low, T first_share, T second_share, const T *src, T *dst) {
    __shared__ u32 positions[most_for_quantile];
    u32 padded = 1;
    while (padded < cols) {
        padded *= 2;
    }
    const auto part = [](T x, T share) { return widen(narrow<T>(widen(x) * widen(share))); };
#pragma unroll 1
    for (u64 row = block_x(); row < rows; row += grid_x()) {
        const T *line = src + row * cols;
        order_positions<false>(line, positions, cols, padded);
        if (thread_x() == 0) {
            const T last = line[positions[cols - 1]];
            T found = line[positions[low]];
            if (widen(second_share) != 0) {
                found = narrow<T>(part(found, first_share) + part(line[positions[low + 1]], second_share));
            }
            dst[row] = is_nan(widen(last)) ? last : found;
        }
        barrier();
    }
}

}  // namespace rk
