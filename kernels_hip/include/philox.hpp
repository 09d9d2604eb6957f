// Random bits that a counter and a key decide: Philox-4x64-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As
// Easy as 1, 2, 3, SC 2011). What is drawn depends on its place alone, not on threads.
#pragma once

#include "types.hpp"

namespace rk {

struct PhiloxKey {
    u64 first, second;
};

RK_DEVICE u64 high_product(u64 x, u64 y) {
    return static_cast<u64>((static_cast<unsigned __int128>(x) * y) >> 64);
}

// The four words that belong to a counter.
RK_DEVICE void philox(u64 counter, PhiloxKey key, u64 (&word)[4]) {
    word[0] = counter;
    word[1] = word[2] = word[3] = 0;
#pragma unroll 1
    for (u32 round = 0; round < 10; ++round) {
        const u64 x = word[0], y = word[2];
        word[0] = high_product(0xca5a826395121157, y) ^ word[1] ^ key.first;
        word[1] = 0xca5a826395121157 * y;
        word[2] = high_product(0xd2e7470ee14c6c93, x) ^ word[3] ^ key.second;
        word[3] = 0xd2e7470ee14c6c93 * x;
        key.first += 0x9e3779b97f4a7c15;
        key.second += 0xbb67ae8584caa73b;
    }
}

}  // namespace rk
