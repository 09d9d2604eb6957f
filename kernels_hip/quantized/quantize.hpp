// Floats to blocks, with ggml's rounding. A group of lanes takes a block: eight lanes of four values for the blocks of
// 32, one lane for each scale of the blocks of 256. A group lies within a wave because launches have blocks of a
// multiple of 16 threads.
#pragma once

#include "../include/reduce.hpp"
#include "formats.hpp"

namespace rk::quantized {

template <typename Reduction, u32 LANES, typename T>
RK_DEVICE T group_reduce(T value) {
#pragma unroll
    for (u32 mask = LANES / 2; mask > 0; mask /= 2) {
        value = Reduction::join(value, shuffle_xor(value, mask));
    }
    return value;
}

template <typename Reduction>
RK_DEVICE f32 joined(const Pack<f32, 4> &x) {
    return Reduction::join(Reduction::join(x.lane[0], x.lane[1]), Reduction::join(x.lane[2], x.lane[3]));
}

template <typename T>
RK_DEVICE Pack<f32, 4> quad_at(const T *values) {
    T raw[4];
    __builtin_memcpy(raw, values, sizeof raw);
    return {widen(raw[0]), widen(raw[1]), widen(raw[2]), widen(raw[3])};
}

RK_DEVICE void store(u8 *at, u32 value) {
    __builtin_memcpy(at, &value, sizeof value);
}

// Never by bytes: of a register that a conversion to f16 has written, ptxas makes `st.b8` store the number as an integer.
RK_DEVICE void store(u8 *at, f16 value) {
    __builtin_memcpy(__builtin_assume_aligned(at, sizeof value), &value, sizeof value);
}

// To 0…highest, NaN to 0.
RK_DEVICE f32 clamped(f32 x, f32 highest) {
    return x > highest ? highest : x > 0 ? x : 0;
}

RK_DEVICE f32 inverse(f32 x) {
    return x == 0 ? 0 : 1 / x;
}

RK_DEVICE u32 magnitude(f32 x) {
    return bit_cast<u32>(x) & 0x7fffffffu;
}

// Orders values by magnitude, NaN above all, and equal magnitudes by place: the first is the largest.
RK_DEVICE u64 ranked(f32 x, u32 place) {
    return u64(magnitude(x)) << 32 | (255 - place) << 1 | bit_cast<u32>(x) >> 31;
}

RK_DEVICE f32 value_of(u64 rank) {
    return bit_cast<f32>(u32(rank >> 32) | u32(rank & 1) << 31);
}

template <u32 LANES>
RK_DEVICE f32 largest(const Pack<f32, 4> &x, u32 part) {
    u64 rank = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        rank = maximum(rank, ranked(x.lane[i], part * 4 + i));
    }
    return value_of(group_reduce<Maximum<u64>, LANES>(rank));
}

// The largest magnitude of the block; NaN if it holds one.
RK_DEVICE f32 magnitude_max(const Pack<f32, 4> &x) {
    u32 largest = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        largest = maximum(largest, magnitude(x.lane[i]));
    }
    return bit_cast<f32>(group_reduce<Maximum<u32>, 8>(largest));
}

// Half away from zero, as ggml rounds 8-bit quants; magnitudes here are at most 127.5. NaN gives 0: the scale shows it.
RK_DEVICE i32 rounded_away(f32 x) {
    const f32 whole = round(x);
    return fabs(whole) <= 128 ? i32(whole) : 0;
}

template <typename F>
struct Levels;  // of a block of 32: how many bits a quant has

template <>
struct Levels<Q4_0> {
    static constexpr u32 BITS = 4;
};
template <>
struct Levels<Q4_1> {
    static constexpr u32 BITS = 4;
};
template <>
struct Levels<Q5_0> {
    static constexpr u32 BITS = 5;
};
template <>
struct Levels<Q5_1> {
    static constexpr u32 BITS = 5;
};

// The low nibbles of positions p and p + 16 share a byte, so the upper four lanes hand theirs down; the fifth bits of
// all lanes are joined to one word.
template <typename F>
RK_DEVICE void store_levels(u8 *block, u32 part, const u32 (&levels)[4]) {
    constexpr bool has_fifth = Levels<F>::BITS == 5;
    constexpr u32 header = F::HAS_MINIMUM ? 4 : 2;
    u32 nibbles = 0, fifths = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        nibbles |= (levels[i] & 15) << 8 * i;
        fifths |= (levels[i] >> 4) << i;
    }
    const u32 upper = shuffle_xor(nibbles, 4);
    if (part < 4) {
        store(block + header + (has_fifth ? 4 : 0) + part * 4, nibbles | upper << 4);
    }
    if constexpr (has_fifth) {
        fifths <<= part * 4;
        fifths |= shuffle_xor(fifths, 4);
        fifths |= shuffle_xor(fifths, 2);
        fifths |= shuffle_xor(fifths, 1);
        if (part == 0) {
            store(block + header, fifths);
        }
    }
}

// Blocks of 32 with 4 or 5 bits: with a minimum from least to greatest, else around zero with the value of largest
// magnitude on the lowest level, which has no positive counterpart.
template <typename F>
RK_DEVICE void quantize_block(const Pack<f32, 4> &x, u32 part, u8 *block) {
    constexpr f32 highest = (1 << Levels<F>::BITS) - 1, zero = 1 << (Levels<F>::BITS - 1);
    f32 scale, least = 0, shift;
    if constexpr (F::HAS_MINIMUM) {
        least = group_reduce<Minimum<f32>, 8>(joined<Minimum<f32>>(x));
        scale = (group_reduce<Maximum<f32>, 8>(joined<Maximum<f32>>(x)) - least) / highest;
        shift = 0.5f;
    } else {
        scale = largest<8>(x, part) / -zero;
        shift = zero + 0.5f;
    }
    const f32 factor = inverse(scale);
    u32 levels[4];
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        levels[i] = u32(clamped((x.lane[i] - least) * factor + shift, highest));
    }
    if (part == 0) {
        store(block, f16(scale));
        if constexpr (F::HAS_MINIMUM) {
            store(block + 2, f16(least));
        }
    }
    store_levels<F>(block, part, levels);
}

template <>
RK_DEVICE void quantize_block<Q8_0>(const Pack<f32, 4> &x, u32 part, u8 *block) {
    const f32 scale = magnitude_max(x) / 127;
    const f32 factor = inverse(scale);
    u32 quants = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        quants |= (u32(rounded_away(x.lane[i] * factor)) & 255) << 8 * i;
    }
    store(block + 2 + part * 4, quants);
    if (part == 0) {
        store(block, f16(scale));
    }
}

template <typename F, typename T>
RK_DEVICE void quantize_blocks(const T *values, u8 *blocks, u64 count) {
    for (u64 quad = global_thread(); quad < count * 8; quad += global_threads()) {
        quantize_block<F>(quad_at(values + quad * 4), u32(quad % 8), block_at<F>(blocks, quad / 8));
    }
}

// Activations: rows of `columns` values, each padded with zeros to `padded` (a multiple of 32); row block_y.
template <typename T>
RK_DEVICE void quantize_activations(const T *values, u8 *blocks, u32 columns, u32 padded) {
    const u64 row = u64(block_y()) * block_size_y() + thread_y();
    const T *source = values + row * columns;
    u8 *target = blocks + row * (padded / 32) * Q8_1::BYTES;
    for (u64 quad = global_thread(); quad < padded / 4; quad += global_threads()) {
        Pack<f32, 4> x = {};
        if (quad * 4 + 4 <= columns) {
            x = quad_at(source + quad * 4);
        } else {
            for (u32 i = 0; quad * 4 + i < columns; ++i) {
                x.lane[i] = widen(source[quad * 4 + i]);
            }
        }
        const u32 part = u32(quad % 8);
        u8 *block = block_at<Q8_1>(target, quad / 8);
        const f32 scale = magnitude_max(x) / 127;
        const f32 sum = group_reduce<Sum<f32>, 8>(joined<Sum<f32>>(x));
        u32 quants = 0;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            quants |= (scale == 0 ? 0 : u32(rounded_away(x.lane[i] / scale)) & 255) << 8 * i;
        }
        store(block + 4 + part * 4, quants);
        if (part == 0) {
            store(block, f16(scale));
            store(block + 2, f16(sum));
        }
    }
}

}  // namespace rk::quantized
