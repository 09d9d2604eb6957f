// The vectors of a product, quantized to bytes and held in LDS for the waves of a block. They come as q8_1 blocks, or as
// floats that the block quantizes itself: one scale for 32 values.
#pragma once

#include "../include/math.hpp"
#include "formats.hpp"

namespace rk::quantized {

// 16 values of a vector.
struct Quants {
    Words<4> words;
    f32 scale;
};

RK_DEVICE i32 sum_of(const Words<4> &quants) {
    i32 sum = 0;
#pragma unroll
    for (const u32 word : quants.lane) {
        sum = dot4(0x01010101, i32(word), sum);
    }
    return sum;
}

struct Blocks {
    const u8 *blocks;
    u64 stride;  // q8_1 blocks from one vector to the next

    RK_DEVICE Blocks from(u64 vector) const { return {block_at<Q8_1>(blocks, vector * stride), stride}; }

    using Read = Quants;
    RK_DEVICE Read read(u32 vector, u32 unit, u32 half) const {
        const u8 *block = block_at<Q8_1>(blocks, vector * stride + unit);
        return {words<4, Q8_1::BYTES>(block + 4 + 16 * half), half_at(block)};
    }
    RK_DEVICE static Quants quants(const Read &read) { return read; }
};

enum Kind : u32 { F32, F16, BF16 };

struct Floats {
    const u8 *values;
    u32 columns, vectors, kind;

    RK_DEVICE u32 value_bytes() const { return kind == F32 ? 4 : 2; }
    RK_DEVICE const u8 *row(u64 vector) const { return values + vector * columns * value_bytes(); }
    RK_DEVICE Floats from(u64 vector) const { return {row(vector), columns, vectors, kind}; }

    // The bits of 16 values; columns past the end are zeros.
    template <typename Bits>
    RK_DEVICE void read(u64 vector, u32 first, Bits (&x)[16]) const {
        using Packed = Pack<Bits, 16 / sizeof(Bits)>;
        const Bits *source = reinterpret_cast<const Bits *>(row(vector)) + first;
        if (first + 16 <= columns && reinterpret_cast<u64>(source) % sizeof(Packed) == 0) {
#pragma unroll
            for (u32 i = 0; i < sizeof(Bits); ++i) {
                const Packed part = reinterpret_cast<const Packed *>(source)[i];
                __builtin_memcpy(&x[i * 16 / sizeof(Bits)], &part, sizeof part);
            }
        } else {
#pragma unroll
            for (u32 i = 0; i < 16; ++i) {
                x[i] = first + i < columns ? source[i] : 0;
            }
        }
    }

    RK_DEVICE void read(u64 vector, u32 first, f32 (&x)[16]) const {
        if (kind == F32) {
            u32 bits[16];
            read(vector, first, bits);
            __builtin_memcpy(x, bits, sizeof x);
        } else {
            u16 bits[16];
            read(vector, first, bits);
#pragma unroll
            for (u32 i = 0; i < 16; ++i) {
                x[i] = kind == F16 ? widen(bit_cast<f16>(bits[i])) : widen(bf16{bits[i]});
            }
        }
    }

    struct Read {
        f32 x[16];
    };
    RK_DEVICE Read read(u32 vector, u32 unit, u32 half) const {
        Read result;
        read(vector < vectors ? vector : vectors - 1, unit * UNIT + half * 16, result.x);
        return result;
    }

    // The neighbour lane must ask for the other half. The largest magnitude of a unit becomes 127; where that is NaN or
    // infinite, so is the scale.
    RK_DEVICE static Quants quants(const Read &read) {
        u32 bits = 0;
#pragma unroll
        for (const f32 value : read.x) {
            bits = maximum(bits, bit_cast<u32>(value) & 0x7fffffffu);
        }
        const f32 largest = bit_cast<f32>(maximum(bits, shuffle_xor(bits, 1)));
        const f32 factor = largest > 0x1p-120f ? 127 / largest : 0;  // whose inverse is finite
        Quants result = {{}, largest * (1.0f / 127)};
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            u32 whole[4];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                whole[k] = bit_cast<u32>(fma(read.x[i * 4 + k], factor, ROUNDING));
            }
            const u32 low = byte_permute(whole[1], whole[0], 0x0400), high = byte_permute(whole[3], whole[2], 0x0400);
            result.words.lane[i] = byte_permute(high, low, 0x05040100);
        }
        return result;
    }

    // The sum with it is rounded to a whole number, whose lowest byte is the sum's.
    static constexpr f32 ROUNDING = 0x1.8p23f;
};

// The units that a block holds at a time: whole blocks of 256, and as many as leave LDS for other blocks.
template <u32 VECTORS>
constexpr u32 staged_units = VECTORS == 1 ? 512 : (VECTORS == 2 ? 4 : VECTORS <= 4 ? 2 : 1) * 64 * staging_factor;

template <typename F, u32 VECTORS>
struct Staged {
    static constexpr u32 UNITS = staged_units<VECTORS>;
    static constexpr bool HAS_SUMS = F::OFFSET != 0 || F::HAS_MINIMUM;
    // The halves lie apart, one pack more than a multiple of the banks, so that neighbouring lanes meet different banks.
    Words<4> quants[VECTORS][2][UNITS + 1];
    f32 scales[VECTORS][UNITS];
    alignas(4) i16 sums[VECTORS][UNITS][2];  // of the quants of both halves

    // Of a whole unit where its halves have one scale, else of a half; either fits half a word.
    RK_DEVICE i32 sum(u32 v, u32 unit, u32 half) const {
        u32 both;
        __builtin_memcpy(&both, __builtin_assume_aligned(sums[v][unit], sizeof both), sizeof both);
        return i32(F::ONE_SCALE ? both + (both << 16) : both << (1 - half) * 16) >> 16;
    }

    // The block's threads take `units` units of each vector, from unit `first` on; the lanes stay together.
    template <typename Vectors>
    RK_DEVICE void load(const Vectors &vectors, u32 first, u32 units) {
        const u32 threads = block_size_x() * block_size_y(), tasks = units * 2;
        u32 v = 0, task = thread_y() * block_size_x() + thread_x();
#pragma unroll 1
        for (u32 begin = 0; begin < tasks * VECTORS; begin += threads) {
            while (task >= tasks && v < VECTORS) {
                task -= tasks;
                ++v;
            }
            const bool is_inside = v < VECTORS;
            const u32 unit = is_inside ? task / 2 : units - 1, half = task % 2;
            const Quants values = Vectors::quants(vectors.read(is_inside ? v : VECTORS - 1, first + unit, half));
            if (is_inside) {
                quants[v][half][unit] = values.words;
                scales[v][unit] = values.scale;
                if constexpr (HAS_SUMS) {
                    sums[v][unit][half] = i16(sum_of(values.words));
                }
            }
            task += threads;
        }
    }
};

}  // namespace rk::quantized
