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
RK_DEVICE u64 first_of_wave(u32 bits) { return static_cast<u64>(block_x()) * (wave_size >> bits); }
RK_DEVICE u64 teams_of_grid(u32 bits) { return static_cast<u64>(grid_x()) * (wave_size >> bits); }

}  // namespace rk
