// Joining values across a wave and a block, in an order that depends on the block's size alone: the same bits each run.
#pragma once

#include "device.hpp"
#include "math.hpp"

namespace rk {

// A reduction carries the value that changes nothing and the join of two values; both work in the accumulating type.
template <typename T>
struct Sum {
    RK_DEVICE static T identity() { return static_cast<T>(0); }
    RK_DEVICE static T join(T x, T y) { return add(x, y); }
};

template <typename T>
struct Product {
    RK_DEVICE static T identity() { return static_cast<T>(1); }
    RK_DEVICE static T join(T x, T y) { return multiply(x, y); }
};

template <typename T>
struct Maximum {
    RK_DEVICE static T identity() { return lowest<T>(); }
    RK_DEVICE static T join(T x, T y) { return maximum(x, y); }
};

template <typename T>
struct Minimum {
    RK_DEVICE static T identity() { return highest<T>(); }
    RK_DEVICE static T join(T x, T y) { return minimum(x, y); }
};

// The join over the wave's first `active` lanes, in every lane. All lanes below `active` must call it. A lane whose
// partner does not exist joins the identity; lane 0 then still sees everything, and the others copy from it.
template <typename Reduction, typename T>
RK_DEVICE T wave_reduce(T value, u32 active = wave_size) {
    const u32 self = lane();
#pragma unroll
    for (u32 distance = wave_size / 2; distance > 0; distance /= 2) {
        const u32 partner = self ^ distance;
        const T other = shuffle(value, partner);
        value = Reduction::join(value, partner < active ? other : Reduction::identity());
    }
    return active < wave_size ? shuffle(value, 0) : value;
}

constexpr u32 max_block_size = 1024;
constexpr u32 max_waves = max_block_size / wave_size;

// The join over a one-dimensional block, in every thread. `scratch` is max_waves elements of LDS, free again on return.
template <typename Reduction, typename T>
RK_DEVICE T block_reduce(T value, T *scratch) {
    const u32 size = block_size_x();
    const u32 wave = thread_x() / wave_size;
    const u32 waves = (size + wave_size - 1) / wave_size;
    const u32 active = size - wave * wave_size < wave_size ? size - wave * wave_size : wave_size;
    value = wave_reduce<Reduction>(value, active);
    if (waves == 1) {
        return value;
    }
    if (lane() == 0) {
        scratch[wave] = value;
    }
    barrier();
    T total = scratch[0];
    for (u32 w = 1; w < waves; ++w) {
        total = Reduction::join(total, scratch[w]);
    }
    barrier();
    return total;
}

}  // namespace rk
