// Loads of packed operands, which begin at any byte.
#pragma once

#include "device.hpp"

namespace rk {

// N words from an address that is a multiple of ALIGNMENT. Without unaligned loads, the words around are shifted
// together; no byte beyond the last one asked for is read.
template <u32 N, u32 ALIGNMENT>
RK_DEVICE Pack<u32, N> packed_words(const u8 *at) {
    Pack<u32, N> words;
    if constexpr (has_unaligned_loads || (N == 1 && ALIGNMENT < 4)) {
        __builtin_memcpy(&words, __builtin_assume_aligned(at, ALIGNMENT), sizeof words);
    } else if constexpr (ALIGNMENT >= 4) {
        using Part = Pack<u32, ALIGNMENT / 4>;
#pragma unroll
        for (u32 i = 0; i < 4 * N / ALIGNMENT; ++i) {
            const Part part = reinterpret_cast<const Part *>(at)[i];
            __builtin_memcpy(&words.lane[i * ALIGNMENT / 4], &part, sizeof part);
        }
    } else {
        const u32 ahead = static_cast<u32>(reinterpret_cast<u64>(at)) & (4 - ALIGNMENT);
        const u32 *around = reinterpret_cast<const u32 *>(at - ahead);
        const u8 *end = at + sizeof words;
        // The bytes asked for that the word after the last whole one holds, lowest first.
        u32 last;
        if constexpr (ALIGNMENT == 2) {
            last = *reinterpret_cast<const u16 *>(end - 2);
        } else {
            last = (end[-3] | end[-2] << 8 | end[-1] << 16) >> (3 - ahead) * 8;
        }
        u32 here = around[0];
#pragma unroll
        for (u32 i = 0; i < N; ++i) {
            const u32 next = i + 1 < N ? around[i + 1] : last;
            words.lane[i] = funnel_shift(next, here, ahead * 8);
            here = next;
        }
    }
    return words;
}

}  // namespace rk
