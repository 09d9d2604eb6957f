// How many elements lie in each bin. A block counts up to `most_bins` in LDS.
#pragma once

#include "elementwise.hpp"

namespace rk {

constexpr u32 most_bins = 1024;

// The edges that are given, or those of `bins` equal steps.
template <typename T>
struct Edges {
    const T *given;
    u64 bins;
    f64 low;
    f64 step;
    f64 high;

    RK_DEVICE T at(u64 i) const {
        return given != nullptr ? given[i] : static_cast<T>(i == bins ? high : low + static_cast<f64>(i) * step);
    }
};

// Adds to counts, or writes them where one block has all in LDS; writes the edges where there is memory for them.
template <typename T>
RK_DEVICE void histogram(const Space &space, const Edges<T> &edges, const T *x, T *places, u64 *counts) {
    __shared__ u32 own[most_bins];
    const u64 bins = edges.bins;
    const bool are_few = bins <= most_bins;
#pragma unroll 1
    for (u64 i = thread_x(); i < bins && are_few; i += block_size_x()) {
        own[i] = 0;
    }
#pragma unroll 1
    for (u64 i = global_thread(); i <= bins && places != nullptr; i += global_threads()) {
        places[i] = edges.at(i);
    }
    barrier();
    const T first = edges.at(0), last = edges.at(bins);
#pragma unroll 1
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        const T value = x[space.offsets<1>(i).of[0]];
        if (!(first <= value && value <= last)) {
            continue;
        }
        u64 bin = 0, end = bins;
#pragma unroll 1
        while (end - bin > 1) {
            const u64 middle = bin + (end - bin) / 2;
            const bool below = edges.at(middle) <= value;
            bin = below ? middle : bin;
            end = below ? end : middle;
        }
        if (are_few) {
            atomic_add(&own[bin], 1u);
        } else {
            atomic_add(&counts[bin], u64(1));
        }
    }
    barrier();
#pragma unroll 1
    for (u64 i = thread_x(); i < bins && are_few; i += block_size_x()) {
        if (grid_x() == 1) {
            counts[i] = own[i];
        } else if (own[i] != 0) {
            atomic_add(&counts[i], static_cast<u64>(own[i]));
        }
    }
}

}  // namespace rk
