// Quantized matrix times a few vectors. A wave takes ROWS rows of the matrix and all vectors; a lane takes every
// lanes-th unit of 32 values. The vectors come as q8_1 blocks, which the block's waves share in LDS, and meet the
// quants in integer dot products; or as f32.
#pragma once

#include "../include/reduce.hpp"
#include "formats.hpp"

namespace rk::quantized {

constexpr u32 ROWS = 2;

// The threads of a wave that work on the same rows, whatever the block's shape. Candle launches blocks of (32, 1),
// (32, 2) and (32, 4) threads: on a wave of 64 that is half a wave, one wave and two waves.
struct Team {
    u32 lane, lanes;   // this thread's place among the threads that the wave really has
    u32 index, count;  // this wave's place among the waves of the block
};

RK_DEVICE Team this_team() {
    const u32 threads = block_size_x() * block_size_y();
    const u32 index = uniform((thread_y() * block_size_x() + thread_x()) / wave_size);
    const u32 rest = threads - index * wave_size;
    return {lane(), rest < wave_size ? rest : wave_size, index, (threads + wave_size - 1) / wave_size};
}

// Hands half of the values to the partner lane and keeps the sums of the other half, until one is left. The values stay
// in registers because every index is a constant of the template.
template <u32 MASK, u32 COUNT>
RK_DEVICE f32 halved(const f32 (&values)[COUNT], u32 lane) {
    if constexpr (COUNT == 1) {
        return values[0];
    } else {
        const bool is_upper = lane & MASK;
        f32 kept[COUNT / 2];
#pragma unroll
        for (u32 i = 0; i < COUNT / 2; ++i) {
            const f32 lower = values[i], upper = values[i + COUNT / 2];
            kept[i] = (is_upper ? upper : lower) + shuffle_xor(is_upper ? lower : upper, MASK);
        }
        return halved<MASK * 2>(kept, lane);
    }
}

// Sums COUNT values (a power of two, at most 16) over the team at once; lane l < COUNT then has value
// `summed_index<COUNT>(l)`. The team must be a multiple of 16 lanes, and blocks therefore of 16 threads.
template <u32 COUNT>
RK_DEVICE f32 summed(const f32 (&values)[COUNT], const Team &team) {
    f32 sum = halved<1>(values, team.lane);
#pragma unroll
    for (u32 mask = COUNT; mask < wave_size; mask *= 2) {
        const f32 other = shuffle_xor(sum, mask);
        sum += (team.lane ^ mask) < team.lanes ? other : 0;
    }
    return sum;
}

// The lowest bit of the lane chose between halves, the next between quarters, and so on.
template <u32 COUNT>
RK_DEVICE u32 summed_index(u32 lane) {
    u32 index = 0;
#pragma unroll
    for (u32 kept = COUNT / 2; kept > 0; kept /= 2, lane /= 2) {
        index += (lane & 1) * kept;
    }
    return index;
}

constexpr u32 power_of_two_from(u32 n) {
    u32 power = 1;
    while (power < n) {
        power *= 2;
    }
    return power;
}

// 16 values of a weight row that share a scale.
struct Half {
    u32 quants[4];
    f32 scale, minimum;
};

template <typename F, bool LEVELS = false>
RK_DEVICE Half weights_at(const u8 *block, u32 p) {
    Half half;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        half.quants[i] = LEVELS ? F::levels(block, p + 4 * i) : quants_at<F>(block, p + 4 * i);
    }
    half.scale = F::scale(block, p);
    half.minimum = F::minimum(block, p);
    return half;
}

// 16 values of a vector; `p` is a position in the row, a multiple of 16.
struct Activations {
    u32 quants[4];
    f32 scale;
};

RK_DEVICE Activations activations_at(const u8 *row, u32 p) {
    const u8 *block = block_at<Q8_1>(row, p / 32);
    Activations values;
    __builtin_memcpy(values.quants, block + 4 + p % 32, sizeof values.quants);
    values.scale = half_at(block);
    return values;
}

// The minimum multiplies the sum of the quants, not the stored sum of the values: then the error of the quants weighs
// as much as the whole weight does, where it would weigh as much as scale * quant. OFFSET is what the weights' levels
// have too much.
template <typename F, u32 OFFSET>
RK_DEVICE f32 dot(const Half &weights, const Activations &values) {
    i32 product = 0, sum = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        product = dot4(i32(weights.quants[i]), i32(values.quants[i]), product);
        if constexpr (F::HAS_MINIMUM || OFFSET) {
            sum = dot4(0x01010101, i32(values.quants[i]), sum);
        }
    }
    const f32 scaled = weights.scale * f32(product - i32(OFFSET) * sum);
    return values.scale * (F::HAS_MINIMUM ? scaled - weights.minimum * f32(sum) : scaled);
}

struct MatrixShape {
    u32 columns;        // a multiple of the block's values
    u64 rows;
    u64 vector_blocks;  // q8_1 blocks from one vector to the next
    u64 out_rows;       // values from one output vector to the next
};

// The units of the vectors that a block holds in LDS at a time; whole blocks of 256, and one for each lane at least. A
// q8_1 block is nine words, an odd number, so that lanes that read neighbouring blocks meet different banks.
template <u32 VECTORS>
constexpr u32 staged_units = VECTORS <= 2 ? 128 : 64;
constexpr u32 Q8_1_WORDS = Q8_1::BYTES / 4;

template <u32 VECTORS>
struct Staged {
    static constexpr u32 UNITS = staged_units<VECTORS>;
    u32 words[VECTORS][UNITS * Q8_1_WORDS];

    // The block's threads copy `units` blocks of each vector, from block `first` on.
    RK_DEVICE void load(const u8 *vectors, u64 vector_blocks, u32 first, u32 units) {
        const u32 threads = block_size_x() * block_size_y(), thread = thread_y() * block_size_x() + thread_x();
#pragma unroll 1
        for (u32 v = 0; v < VECTORS; ++v) {
            const u8 *source = vectors + (v * vector_blocks + first) * Q8_1::BYTES;
            for (u32 i = thread; i < units * Q8_1_WORDS; i += threads) {
                words[v][i] = reinterpret_cast<const u32 *>(source)[i];
            }
        }
    }

    // 16 values from position `p` of what is held.
    RK_DEVICE Activations at(u32 v, u32 p) const {
        const u32 *block = &words[v][p / 32 * Q8_1_WORDS];
        Activations values;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            values.quants[i] = block[1 + p % 32 / 4 + i];
        }
        values.scale = f32(bit_cast<f16>(u16(block[0])));
        return values;
    }
};

template <typename F, u32 VECTORS>
RK_DEVICE void multiply_rows(const u8 *matrix, const u8 *vectors, f32 *out, const MatrixShape &shape) {
    constexpr u32 rows = VECTORS > 4 ? 1 : ROWS;  // more would take more registers than there are
    constexpr u32 units_per_block = F::VALUES / UNIT, COUNT = power_of_two_from(rows * VECTORS);
    constexpr u32 chunk = staged_units<VECTORS>;
    // For one vector, taking the offset from the product once is cheaper than from each quant of both rows.
    constexpr bool has_levels = VECTORS == 1 && F::OFFSET != 0;
    __shared__ Staged<VECTORS> staged;
    const Team team = this_team();
    const u32 units = shape.columns / UNIT;
    const u64 row_bytes = u64(shape.columns / F::VALUES) * F::BYTES;
    const u64 block_rows = team.count * rows;
    // All waves go through all barriers, those without rows too; these repeat the last row and store nothing.
#pragma unroll 1
    for (u64 first = block_x() * block_rows; first < shape.rows; first += grid_x() * block_rows) {
        const u64 row = first + team.index * rows;
        const u8 *lines[rows];
        f32 sums[COUNT] = {};
#pragma unroll
        for (u32 r = 0; r < rows; ++r) {
            lines[r] = matrix + (row + r < shape.rows ? row + r : shape.rows - 1) * row_bytes;
        }
#pragma unroll 1
        for (u32 begin = 0; begin < units; begin += chunk) {
            const u32 held = units - begin < chunk ? units - begin : chunk;
            barrier();
            staged.load(vectors, shape.vector_blocks, begin, held);
            barrier();
#pragma unroll 1
            for (u32 u = team.lane; u < held; u += team.lanes) {
                const u32 block = u / units_per_block;
#pragma unroll
                for (u32 h = 0; h < 2; ++h) {
                    const u32 p = F::place(u % units_per_block, h);
                    Half weights[rows];
#pragma unroll
                    for (u32 r = 0; r < rows; ++r) {
                        const u8 *bytes = block_at<F>(lines[r], begin / units_per_block + block);
                        weights[r] = weights_at<F, has_levels>(bytes, p);
                    }
#pragma unroll
                    for (u32 v = 0; v < VECTORS; ++v) {
                        const Activations values = staged.at(v, block * F::VALUES + p);
#pragma unroll
                        for (u32 r = 0; r < rows; ++r) {
                            sums[v * rows + r] += dot<F, has_levels ? F::OFFSET : 0>(weights[r], values);
                        }
                    }
                }
            }
        }
        const f32 sum = summed(sums, team);
        const u32 index = summed_index<COUNT>(team.lane), r = index % rows, v = index / rows;
        if (team.lane < COUNT && v < VECTORS && row + r < shape.rows) {
            out[v * shape.out_rows + row + r] = sum;
        }
    }
}

// Row ids[token, slot] of the experts' matrices times the token's vector, or times the slot's own vector where there
// is one for each slot.
template <typename F>
RK_DEVICE void multiply_experts(const u8 *experts, const u8 *vectors, const u32 *ids, f32 *out,
                                const MatrixShape &shape, u32 tokens, u32 slots, bool one_vector_per_token) {
    const u64 expert_bytes = shape.rows * (shape.columns / F::VALUES) * F::BYTES;
    for (u32 token = block_y(); token < tokens; token += grid_y()) {
        for (u32 slot = block_z(); slot < slots; slot += grid_z()) {
            const u64 task = u64(token) * slots + slot;
            const u64 vector = one_vector_per_token ? token : task;
            multiply_rows<F, 1>(experts + ids[task] * expert_bytes,
                                vectors + vector * shape.vector_blocks * Q8_1::BYTES, out + task * shape.rows, shape);
        }
    }
}

// The same with an f32 vector and dequantized weights.
template <typename F>
RK_DEVICE void multiply_floats(const u8 *matrix, const f32 *vector, f32 *out, u32 columns, u64 rows) {
    constexpr u32 units = F::VALUES / UNIT;
    const Team team = this_team();
    const u64 row_bytes = u64(columns / F::VALUES) * F::BYTES;
    const u64 step = u64(grid_x()) * team.count;
#pragma unroll 1
    for (u64 row = u64(block_x()) * team.count + team.index; row < rows; row += step) {
        f32 sum = 0;
#pragma unroll 1
        for (u32 u = team.lane; u < columns / UNIT; u += team.lanes) {
            const u32 block = u / units;
#pragma unroll
            for (u32 h = 0; h < 2; ++h) {
                const u32 p = F::place(u % units, h);
                const Half weights = weights_at<F>(block_at<F>(matrix + row * row_bytes, block), p);
                f32 values[16];
                __builtin_memcpy(values, vector + block * F::VALUES + p, sizeof values);
#pragma unroll
                for (u32 i = 0; i < 16; ++i) {
                    const i32 weight = quant(weights.quants[i / 4], i % 4);
                    sum = fma(dequantized<F>(weights.scale, weights.minimum, weight), values[i], sum);
                }
            }
        }
        sum = wave_reduce<Sum<f32>>(sum, team.lanes);
        if (team.lane == 0) {
            out[row] = sum;
        }
    }
}

}  // namespace rk::quantized
