// A bitonic network over positions in LDS.
#pragma once

#include "order.hpp"
#include "device.hpp"

namespace rk {

// The block puts positions 0 … padded-1, a power of two, in the stable order of the `count` elements of a row; positions
// past the row come last.
template <bool Descending, typename T>
RK_DEVICE void order_positions(const T *row, u32 *positions, u32 count, u32 padded) {
    for (u32 i = thread_x(); i < padded; i += block_size_x()) {
        positions[i] = i;
    }
    for (u32 span = 2; span <= padded; span *= 2) {
        for (u32 distance = span / 2; distance > 0; distance /= 2) {
            barrier();
            for (u32 i = thread_x(); i < padded; i += block_size_x()) {
                const u32 partner = i ^ distance;
                if (partner < i) {
                    continue;
                }
                const u32 a = positions[i];
                const u32 b = positions[partner];
                bool above = a > b;  // positions past the row come last, in their own order
                if (a < count && b < count) {
                    const auto key_a = order_key(row[a], Descending);
                    const auto key_b = order_key(row[b], Descending);
                    above = key_a != key_b ? key_a > key_b : above;
                }
                if (above == ((i & span) == 0)) {
                    positions[i] = b;
                    positions[partner] = a;
                }
            }
        }
    }
    barrier();
}

}  // namespace rk
