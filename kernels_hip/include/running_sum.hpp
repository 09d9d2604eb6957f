// Running sums across a wave and a block, for compaction and sorting: integers, so any order gives the same bits.
#pragma once

#include "device.hpp"
#include "reduce.hpp"

namespace rk {

RK_DEVICE u32 count_bits(u64 mask) { return static_cast<u32>(__builtin_popcountl(mask)); }

// Lanes below this one, as a ballot mask.
RK_DEVICE u64 lanes_below() { return (u64(1) << lane()) - 1; }

// The sum over the lanes up to this one. All lanes of the wave must call it.
template <typename T>
RK_DEVICE T wave_running_sum(T value) {
    const u32 self = lane();
#pragma unroll
    for (u32 distance = 1; distance < wave_size; distance *= 2) {
        const T below = shuffle(value, self >= distance ? self - distance : self);
        value += self >= distance ? below : T(0);
    }
    return value;
}

template <typename T>
struct Running {
    T before;  // sum over the threads below this one
    T total;   // sum over the block
};

// `scratch` is an element of LDS for each of the block's waves, free again on return. The block consists of whole waves.
template <typename T>
RK_DEVICE Running<T> block_running_sum(T value, T *scratch, u32 waves) {
    const u32 wave = thread_x() / wave_size;
    const T inclusive = wave_running_sum(value);
    if (lane() == wave_size - 1) {
        scratch[wave] = inclusive;
    }
    barrier();
    T below = 0;
    T total = 0;
    for (u32 w = 0; w < waves; ++w) {
        below += w < wave ? scratch[w] : T(0);
        total += scratch[w];
    }
    barrier();
    return {static_cast<T>(below + inclusive - value), total};
}

template <typename T>
RK_DEVICE Running<T> block_running_sum(T value, T *scratch) {
    return block_running_sum(value, scratch, block_size_x() / wave_size);
}

}  // namespace rk
