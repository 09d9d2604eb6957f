// Teams of 2^bits lanes that share a matrix of up to `small_side` rows in LDS, a column a lane: elements of a column are
// `wave_size` apart. A block is one wave.
#pragma once

#include "device.hpp"
#include "index.hpp"

namespace rk {

constexpr u32 small_side = 16;

struct Steps {
    u64 row;
    u64 column;
};

RK_DEVICE u32 lane_of_team(u32 bits) { return thread_x() & ((1u << bits) - 1); }
RK_DEVICE u32 first_of_wave(u32 bits) { return block_x() * (wave_size >> bits); }
RK_DEVICE u32 teams_of_grid(u32 bits) { return grid_x() * (wave_size >> bits); }

// An element of a result, which is small: AMD GPUs add 32 bits to an address in the store itself.
template <typename T>
RK_DEVICE void store(T *results, u32 i, T value) {
    *reinterpret_cast<T *>(reinterpret_cast<u8 *>(results) + static_cast<u32>(i * sizeof(T))) = value;
}

}  // namespace rk
