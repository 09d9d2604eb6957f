// Shuffles, votes and matches of a wave. The forms with a mask take it for the lanes that take part, of 32 or 64 bits.
#pragma once

#include "threads.h"

#include <stdint.h>

__RK_DEVICE unsigned __lane_id() {
    const unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
    if constexpr (warpSize == 64) {
        return __builtin_amdgcn_mbcnt_hi(~0u, low);
    } else {
        return low;
    }
}

template <typename T>
struct __rk_words {
    static_assert(sizeof(T) % 4 == 0, "values travel by word");
    unsigned word[sizeof(T) / 4];
};

// The value that the lane of that number holds.
template <typename T>
__RK_DEVICE T __rk_from_lane(T value, int lane) {
    if constexpr (sizeof(T) < 4) {
        unsigned word = 0;
        __builtin_memcpy(&word, &value, sizeof(T));
        word = static_cast<unsigned>(__builtin_amdgcn_ds_bpermute(lane << 2, static_cast<int>(word)));
        __builtin_memcpy(&value, &word, sizeof(T));
        return value;
    } else {
        __rk_words<T> words;
        __builtin_memcpy(&words, &value, sizeof(T));
#pragma unroll
        for (unsigned &word : words.word) {
            word = static_cast<unsigned>(__builtin_amdgcn_ds_bpermute(lane << 2, static_cast<int>(word)));
        }
        __builtin_memcpy(&value, &words, sizeof(T));
        return value;
    }
}

template <typename T>
__RK_DEVICE T __shfl(T value, int source, int width = warpSize) {
    const int self = static_cast<int>(__lane_id());
    return __rk_from_lane(value, (self & ~(width - 1)) | (source & (width - 1)));
}
template <typename T>
__RK_DEVICE T __shfl_up(T value, unsigned delta, int width = warpSize) {
    const int self = static_cast<int>(__lane_id()), source = self - static_cast<int>(delta);
    return __rk_from_lane(value, source < (self & ~(width - 1)) ? self : source);
}
template <typename T>
__RK_DEVICE T __shfl_down(T value, unsigned delta, int width = warpSize) {
    const int self = static_cast<int>(__lane_id());
    return __rk_from_lane(value, (self & (width - 1)) + static_cast<int>(delta) >= width ? self : self + static_cast<int>(delta));
}
template <typename T>
__RK_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
    const int self = static_cast<int>(__lane_id()), source = self ^ mask;
    return __rk_from_lane(value, source >= ((self + width) & ~(width - 1)) ? self : source);
}

__RK_DEVICE unsigned long long __ballot(int predicate) {
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_ballot_w32(predicate != 0);
#else
    return __builtin_amdgcn_ballot_w64(predicate != 0);
#endif
}
__RK_DEVICE unsigned long long __ballot64(int predicate) { return __ballot(predicate); }
__RK_DEVICE unsigned long long __activemask() { return __ballot(1); }
__RK_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
__RK_DEVICE int __all(int predicate) { return __ballot(!predicate) == 0; }

// Orders the wave's memory accesses; its lanes run in step.
__RK_DEVICE void __syncwarp(unsigned long long = ~0ull) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

template <typename Mask, typename T>
__RK_DEVICE T __shfl_sync(Mask, T value, int source, int width = warpSize) {
    return __shfl(value, source, width);
}
template <typename Mask, typename T>
__RK_DEVICE T __shfl_up_sync(Mask, T value, unsigned delta, int width = warpSize) {
    return __shfl_up(value, delta, width);
}
template <typename Mask, typename T>
__RK_DEVICE T __shfl_down_sync(Mask, T value, unsigned delta, int width = warpSize) {
    return __shfl_down(value, delta, width);
}
template <typename Mask, typename T>
__RK_DEVICE T __shfl_xor_sync(Mask, T value, int lanes, int width = warpSize) {
    return __shfl_xor(value, lanes, width);
}
template <typename Mask>
__RK_DEVICE unsigned long long __ballot_sync(Mask mask, int predicate) {
    return __ballot(predicate) & static_cast<unsigned long long>(mask);
}
template <typename Mask>
__RK_DEVICE int __any_sync(Mask mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}
template <typename Mask>
__RK_DEVICE int __all_sync(Mask mask, int predicate) {
    return __ballot_sync(mask, !predicate) == 0;
}

template <typename T>
__RK_DEVICE bool __rk_equal_bits(T a, T b) {
    if constexpr (sizeof(T) == 8) {
        return __builtin_bit_cast(unsigned long long, a) == __builtin_bit_cast(unsigned long long, b);
    } else {
        static_assert(sizeof(T) == 4, "values of 4 or 8 bytes are matched");
        return __builtin_bit_cast(unsigned, a) == __builtin_bit_cast(unsigned, b);
    }
}

// The lanes that hold the same bits.
template <typename T>
__RK_DEVICE unsigned long long __match_any(T value) {
    unsigned long long waiting = __activemask(), mine = 0;
    while (waiting) {
        const int first = __builtin_ctzll(waiting);
        const bool is_equal = __rk_equal_bits(__rk_from_lane(value, first), value);
        const unsigned long long equal = __ballot(is_equal) & waiting;
        if (is_equal) {
            mine = equal;
        }
        waiting &= ~equal;
    }
    return mine;
}
template <typename T>
__RK_DEVICE unsigned long long __match_all(T value, int *is_same) {
    const unsigned long long active = __activemask(), equal = __match_any(value);
    *is_same = equal == active;
    return equal == active ? active : 0;
}
template <typename Mask, typename T>
__RK_DEVICE unsigned long long __match_any_sync(Mask, T value) {
    return __match_any(value);
}
template <typename Mask, typename T>
__RK_DEVICE unsigned long long __match_all_sync(Mask, T value, int *is_same) {
    return __match_all(value, is_same);
}

// Every lane of the mask gets the result of all of them.
template <typename Mask, typename T, typename F>
__RK_DEVICE T __rk_reduce_lanes(Mask mask, T value, F f) {
    auto rest = static_cast<unsigned long long>(mask) & __activemask();
    T total = __rk_from_lane(value, __builtin_ctzll(rest));
    for (rest &= rest - 1; rest; rest &= rest - 1) {
        total = f(total, __rk_from_lane(value, __builtin_ctzll(rest)));
    }
    return total;
}
template <typename Mask, typename T>
__RK_DEVICE T __reduce_add_sync(Mask mask, T value) {
    return __rk_reduce_lanes(mask, value, [](T a, T b) { return a + b; });
}
template <typename Mask, typename T>
__RK_DEVICE T __reduce_min_sync(Mask mask, T value) {
    return __rk_reduce_lanes(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <typename Mask, typename T>
__RK_DEVICE T __reduce_max_sync(Mask mask, T value) {
    return __rk_reduce_lanes(mask, value, [](T a, T b) { return a < b ? b : a; });
}
template <typename Mask, typename T>
__RK_DEVICE T __reduce_and_sync(Mask mask, T value) {
    return __rk_reduce_lanes(mask, value, [](T a, T b) { return a & b; });
}
template <typename Mask, typename T>
__RK_DEVICE T __reduce_or_sync(Mask mask, T value) {
    return __rk_reduce_lanes(mask, value, [](T a, T b) { return a | b; });
}
template <typename Mask, typename T>
__RK_DEVICE T __reduce_xor_sync(Mask mask, T value) {
    return __rk_reduce_lanes(mask, value, [](T a, T b) { return a ^ b; });
}
