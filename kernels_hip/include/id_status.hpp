// What a check of indices tells the host.
#pragma once

#include "device.hpp"

namespace rk {

// All bits are set where every index was inside its axis.
struct IdStatus {
    u64 position;  // of the first index outside, in the order of the ids
    u64 value;     // that index, sign-extended
    u64 reserved[2];
};

constexpr u64 no_position = ~static_cast<u64>(0);

// Tells of an index outside its axis; of several the first stays told. value_of(position) is the index there.
template <typename Value>
RK_DEVICE void report(IdStatus *status, u64 position, Value value_of) {
    if (atomic_min(&status->position, position) <= position) {
        return;
    }
    // Another thread may tell of an earlier one meanwhile: whose value lands last sees that, and corrects it.
    u64 told = position;
    do {
        position = told;
        status->value = static_cast<u64>(value_of(position));
        device_fence();
        told = atomic_min(&status->position, no_position);
    } while (told != position);
}

}  // namespace rk
