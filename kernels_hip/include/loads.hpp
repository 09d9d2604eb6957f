// What packed, unaligned operands in memory need: loads by words, requests for cache lines, LDS to hold a part.
#pragma once

#include "device.hpp"

namespace rk {

#if defined(__NVPTX__)

// How much of LDS a block that keeps operands there may take, as a multiple of what lets three blocks share 64 KiB.
constexpr u32 staging_factor = 2;

// Asks for a cache line that is read later.
RK_DEVICE void prefetch(const u8 *at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// N words from an address that is a multiple of ALIGNMENT. There are no unaligned loads here, so the words around are
// shifted together; no byte beyond the last one asked for is read.
template <u32 N, u32 ALIGNMENT>
RK_DEVICE Pack<u32, N> packed_words(const u8 *at) {
    Pack<u32, N> words;
    if constexpr (ALIGNMENT >= 4) {
        using Part = Pack<u32, ALIGNMENT / 4>;
#pragma unroll
        for (u32 i = 0; i < 4 * N / ALIGNMENT; ++i) {
            const Part part = reinterpret_cast<const Part *>(at)[i];
            __builtin_memcpy(&words.lane[i * ALIGNMENT / 4], &part, sizeof part);
        }
    } else if constexpr (N == 1) {
        __builtin_memcpy(&words, __builtin_assume_aligned(at, ALIGNMENT), sizeof words);
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
            asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(words.lane[i]) : "r"(here), "r"(next), "r"(ahead * 8));
            here = next;
        }
    }
    return words;
}

#else

constexpr u32 staging_factor = 1;

RK_DEVICE void prefetch(const u8 *) {}

template <u32 N, u32 ALIGNMENT>
RK_DEVICE Pack<u32, N> packed_words(const u8 *at) {
    Pack<u32, N> words;
    __builtin_memcpy(&words, __builtin_assume_aligned(at, ALIGNMENT), sizeof words);
    return words;
}

#endif

}  // namespace rk
