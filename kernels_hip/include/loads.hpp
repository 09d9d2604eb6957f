// What packed, unaligned operands in memory need: loads by words, requests for cache lines, LDS to hold a part.
#pragma once

#include "device.hpp"

namespace rk {

#if defined(__NVPTX__)

// How much of LDS a block that keeps operands there may take, as a multiple of what lets three blocks share 64 KiB.
constexpr u32 staging_factor = 2;

// Whether memory reaches LDS while a wave does something else.
constexpr bool copies_beside_work = true;

// Begins to copy 16 bytes, which the wave's other lanes may read after `await_copies` and `wave_sync`.
RK_DEVICE void begin_copy(u8 *lds, const u8 *from) {
    const u32 to = static_cast<u32>(reinterpret_cast<u64>((__attribute__((address_space(3))) u8 *)lds));
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
RK_DEVICE void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for this lane's copies except those of the last GROUPS groups.
template <u32 GROUPS>
RK_DEVICE void await_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

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

constexpr bool copies_beside_work = false;

RK_DEVICE void begin_copy(u8 *lds, const u8 *from) { __builtin_memcpy(lds, from, 16); }
RK_DEVICE void end_group_of_copies() {}
template <u32>
RK_DEVICE void await_copies() {}

template <u32 N, u32 ALIGNMENT>
RK_DEVICE Pack<u32, N> packed_words(const u8 *at) {
    Pack<u32, N> words;
    __builtin_memcpy(&words, __builtin_assume_aligned(at, ALIGNMENT), sizeof words);
    return words;
}

#endif

}  // namespace rk
