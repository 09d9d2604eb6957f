// Quantized matrix times a few vectors. A wave takes some rows of the matrix and all vectors; a lane takes every
// lanes-th unit of 32 values. The vectors lie in LDS as bytes and meet the weights' levels in integer dot products; a
// block takes them there once where they fit, and goes on to other rows. Or one vector comes as f32.
#pragma once

#include "../include/reduce.hpp"
#include "activations.hpp"

namespace rk::quantized {

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

// 32 values of a weight row.
struct Unit {
    Words<4> levels[2];
    f32 scale[2], minimum[2];
};

template <typename F>
RK_DEVICE Unit unit_at(const u8 *block, u32 unit) {
    Unit weights;
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
        const u32 p = F::place(unit, h);
        weights.levels[h] = F::template levels<4>(block, p);
        weights.scale[h] = F::scale(block, p);
        weights.minimum[h] = F::minimum(block, p);
    }
    return weights;
}

RK_DEVICE i32 dot(const Words<4> &a, const Words<4> &b, i32 sum) {
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        sum = dot4(i32(a.lane[i]), i32(b.lane[i]), sum);
    }
    return sum;
}

// The minimum multiplies the sum of the quants, not q8_1's stored sum of the values: then the error of the quants weighs
// as much as the whole weight does, where it would weigh as much as scale * quant.
template <typename F>
RK_DEVICE f32 scaled(i32 product, i32 sum, f32 scale, f32 minimum) {
    const f32 value = scale * f32(product - i32(F::OFFSET) * sum);
    return F::HAS_MINIMUM ? fma(-minimum, f32(sum), value) : value;
}

struct MatrixShape {
    u32 columns;   // a multiple of the block's values
    u64 rows;
    u64 out_rows;  // values from one output vector to the next
};

// Adds the products of one unit of ROWS rows and all vectors; `block` is the block's place among the staged ones.
template <typename F, u32 VECTORS, u32 ROWS, u32 COUNT>
RK_DEVICE void add_products(const Unit (&weights)[ROWS], const Staged<VECTORS> &staged, u32 block, u32 unit,
                            f32 (&sums)[COUNT]) {
#pragma unroll
    for (u32 v = 0; v < VECTORS; ++v) {
        i32 products[ROWS] = {};
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
            const u32 p = F::place(unit, h), half = p / 16 % 2, column = block * (F::VALUES / UNIT) + p / UNIT;
            const Words<4> values = staged.quants[v][half][column];
            const auto factors = staged.factors[v][column];
            const i32 low = factors.sums[0], high = factors.sums[1], sum = F::ONE_SCALE ? low + high : half ? high : low;
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                products[r] = dot(weights[r].levels[h], values, F::ONE_SCALE ? products[r] : 0);
                if (h == 1 || !F::ONE_SCALE) {
                    const f32 value = scaled<F>(products[r], sum, weights[r].scale[h], weights[r].minimum[h]);
                    sums[v * ROWS + r] = fma(factors.scale, value, sums[v * ROWS + r]);
                }
            }
        }
    }
}

// Adds the products of UNITS units of the lines, `step` apart; all are asked for before the first is waited for.
template <typename F, u32 UNITS, u32 VECTORS, u32 ROWS, u32 COUNT>
RK_DEVICE void add_units(const u8 *const (&lines)[ROWS], const Staged<VECTORS> &staged, u32 first, u32 step,
                         f32 (&sums)[COUNT]) {
    constexpr u32 units_per_block = F::VALUES / UNIT;
    Unit weights[UNITS][ROWS];
#pragma unroll
    for (u32 i = 0; i < UNITS; ++i) {
        const u32 u = first + i * step;
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            weights[i][r] = unit_at<F>(block_at<F>(lines[r], u / units_per_block), u % units_per_block);
        }
    }
#pragma unroll
    for (u32 i = 0; i < UNITS; ++i) {
        const u32 u = first + i * step;
        add_products<F>(weights[i], staged, u / units_per_block, u % units_per_block, sums);
    }
}

// Asks for the team's first rows, or their beginning, to overlap with the work on the vectors.
RK_DEVICE void prefetch_rows(const u8 *rows, u64 bytes, const Team &team) {
    constexpr u32 line = 128, most = 8192;
    for (u32 i = team.lane * line; i < bytes && i < most; i += team.lanes * line) {
        prefetch(rows + i);
    }
}

// A wave takes ROWS rows at a time and a lane UNROLL units before it waits for them. `store(index, value)` takes a sum.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL, typename Vectors, typename Store>
RK_DEVICE void multiply_rows(const u8 *matrix, const Vectors &vectors, const MatrixShape &shape, const Store &store) {
    constexpr u32 units_per_block = F::VALUES / UNIT, COUNT = power_of_two_from(ROWS * VECTORS);
    constexpr u32 chunk = staged_units<VECTORS>, nothing = ~0u;
    __shared__ Staged<VECTORS> staged;
    const Team team = this_team();
    const u32 units = shape.columns / UNIT;
    const u64 row_bytes = u64(shape.columns / F::VALUES) * F::BYTES;
    const u64 block_rows = team.count * ROWS;
    u32 held_from = nothing;
    const u64 first_row = block_x() * block_rows + team.index * ROWS;
    if (first_row + ROWS <= shape.rows) {
        prefetch_rows(matrix + first_row * row_bytes, ROWS * row_bytes, team);
    }
    // All waves go through all barriers, those without rows too; these repeat the last row and store nothing.
#pragma unroll 1
    for (u64 first = block_x() * block_rows; first < shape.rows; first += grid_x() * block_rows) {
        const u64 row = first + team.index * ROWS;
        f32 sums[COUNT] = {};
#pragma unroll 1
        for (u32 begin = 0; begin < units; begin += chunk) {
            const u32 held = units - begin < chunk ? units - begin : chunk;
            const u8 *lines[ROWS];
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                const u64 line = row + r < shape.rows ? row + r : shape.rows - 1;
                lines[r] = matrix + line * row_bytes + u64(begin / units_per_block) * F::BYTES;
            }
            if (begin != held_from) {
                barrier();
                staged.load(vectors, begin, held);
                barrier();
                held_from = begin;
            }
            u32 u = team.lane;
            if constexpr (UNROLL > 1) {
#pragma unroll 1
                for (; u + (UNROLL - 1) * team.lanes < held; u += UNROLL * team.lanes) {
                    add_units<F, UNROLL>(lines, staged, u, team.lanes, sums);
                }
            }
#pragma unroll 1
            for (; u < held; u += team.lanes) {
                add_units<F, 1>(lines, staged, u, team.lanes, sums);
            }
        }
        const f32 sum = summed(sums, team);
        const u32 index = summed_index<COUNT>(team.lane), r = index % ROWS, v = index / ROWS;
        if (team.lane < COUNT && v < VECTORS && row + r < shape.rows) {
            store(v, row + r, sum);
        }
    }
}

// q8_1 vectors, f32 sums.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL>
RK_DEVICE void multiply_blocks(const u8 *matrix, const Blocks &vectors, f32 *out, const MatrixShape &shape) {
    multiply_rows<F, VECTORS, ROWS, UNROLL>(matrix, vectors, shape, [=](u32 v, u64 row, f32 sum) {
        out[v * shape.out_rows + row] = sum;
    });
}

// Up to VECTORS vectors of floats, sums of their type.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL>
RK_DEVICE void multiply_values(const u8 *matrix, const Floats &vectors, u8 *out, const MatrixShape &shape) {
    multiply_rows<F, VECTORS, ROWS, UNROLL>(matrix, vectors, shape, [=](u32 v, u64 row, f32 sum) {
        const u64 i = v * shape.out_rows + row;
        if (v >= vectors.vectors) {
            return;
        }
        if (vectors.kind == F32) {
            reinterpret_cast<f32 *>(out)[i] = sum;
        } else if (vectors.kind == F16) {
            reinterpret_cast<f16 *>(out)[i] = narrow<f16>(sum);
        } else {
            reinterpret_cast<bf16 *>(out)[i] = narrow<bf16>(sum);
        }
    });
}

struct Tasks {
    u32 tokens, slots;
    bool one_vector_per_token;  // else each slot has its own
};

// `multiply(matrix, vector, task)` for the matrix that ids[token, slot] names; tasks count tokens and slots.
template <typename Multiply>
RK_DEVICE void for_each_expert(const u8 *experts, u64 expert_bytes, const u32 *ids, const Tasks &tasks,
                               const Multiply &multiply) {
    for (u32 token = block_y(); token < tasks.tokens; token += grid_y()) {
        for (u32 slot = block_z(); slot < tasks.slots; slot += grid_z()) {
            const u64 task = u64(token) * tasks.slots + slot;
            multiply(experts + ids[task] * expert_bytes, tasks.one_vector_per_token ? token : task, task);
        }
    }
}

template <typename F>
RK_DEVICE u64 matrix_bytes(const MatrixShape &shape) {
    return shape.rows * (shape.columns / F::VALUES) * F::BYTES;
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
                const u8 *bytes = block_at<F>(matrix + row * row_bytes, block);
                const Words<4> quants = quants_at<F, 4>(bytes, p);
                const f32 scale = F::scale(bytes, p), minimum = F::minimum(bytes, p);
                f32 values[16];
                __builtin_memcpy(values, vector + block * F::VALUES + p, sizeof values);
#pragma unroll
                for (u32 i = 0; i < 16; ++i) {
                    const i32 weight = quant(quants.lane[i / 4], i % 4);
                    sum = fma(dequantized<F>(scale, minimum, weight), values[i], sum);
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
