// What a check of indices tells the host.
#pragma once

#include "types.hpp"

namespace rk {

// All bits are set where every index was inside its axis.
struct IdStatus {
    u64 position;  // of the first index outside, in the order of the ids
    u64 value;     // that index, sign-extended
    u64 blocks_done;
    u64 reserved;
};

constexpr u64 no_position = ~static_cast<u64>(0);

}  // namespace rk
