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

// A dot product that starts from these bits, and stays below 2^22 in size, ends as the bits of WHOLE plus it.
constexpr u32 WHOLE_BITS = 0x4b400000u;
constexpr f32 WHOLE = 0x1.8p23f;

struct MatrixShape {
    u32 columns;   // a multiple of the block's values
    u64 rows;
    u64 out_rows;  // values from one output vector to the next
};

// Adds the products of one unit of ROWS rows and all vectors; `block` is the block's place among the staged ones. The
// minimum multiplies the sum of the quants, not q8_1's stored sum of the values: then the error of the quants weighs as
// much as the whole weight does, where it would weigh as much as scale * quant.
template <typename F, u32 VECTORS, u32 ROWS, u32 COUNT>
RK_DEVICE void add_products(const Unit (&weights)[ROWS], const Staged<F, VECTORS> &staged, u32 block, u32 unit,
                            f32 (&sums)[COUNT]) {
#pragma unroll
    for (u32 v = 0; v < VECTORS; ++v) {
        i32 products[ROWS];
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
            const u32 p = F::place(unit, h), half = p / 16 % 2, column = block * (F::VALUES / UNIT) + p / UNIT;
            const Words<4> values = staged.quants[v][half][column];
            const i32 sum = Staged<F, VECTORS>::HAS_SUMS ? staged.sum(v, column, half) : 0;
            const i32 start = i32(WHOLE_BITS) - i32(F::OFFSET) * sum;
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                products[r] = dot(weights[r].levels[h], values, F::ONE_SCALE && h == 1 ? products[r] : start);
                if (h == 1 || !F::ONE_SCALE) {
                    f32 value = weights[r].scale[h] * (bit_cast<f32>(products[r]) - WHOLE);
                    if constexpr (F::HAS_MINIMUM) {
                        value = fma(-weights[r].minimum[h], f32(sum), value);
                    }
                    sums[v * ROWS + r] = fma(staged.scales[v][column], value, sums[v * ROWS + r]);
                }
            }
        }
    }
}

// Adds the products of UNITS units of the lines, `step` apart; all are asked for before the first is waited for.
template <typename F, u32 UNITS, u32 VECTORS, u32 ROWS, u32 COUNT>
RK_DEVICE void add_units(const u8 *const (&lines)[ROWS], const Staged<F, VECTORS> &staged, u32 first, u32 step,
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

// Rows of the matrix in LDS before they are multiplied by one vector: each wave has a ring of its own, whose turns are
// copied ahead of its work. A turn is a unit a lane of two rows, where that is whole packs and leaves room for several.
template <typename F>
struct Stream {
    static constexpr u32 per_block = F::VALUES / UNIT, most_waves = 8, room = 3520;  // bytes of a wave
    static constexpr u32 bytes_of(u32 units) { return units / per_block * F::BYTES; }
    static constexpr u32 units = bytes_of(wave_size) % 16 == 0 ? wave_size : 2 * wave_size;
    static constexpr u32 line_bytes = bytes_of(units), rows = 4 * line_bytes <= room && units == wave_size ? 2 : 1;
    static constexpr u32 most_turns = room / (rows * line_bytes), turns = most_turns < 3 ? most_turns : 3;
    static_assert(line_bytes % 16 == 0 && turns > 1);
    using Ring = u8[turns][rows][line_bytes];

    alignas(16) Ring rings[most_waves];

    RK_DEVICE static bool takes(const u8 *matrix, const MatrixShape &shape, const Team &team) {
        const u32 row_units = shape.columns / UNIT;
        return row_units <= staged_units<1> && (reinterpret_cast<u64>(matrix) | bytes_of(row_units)) % 16 == 0 &&
               block_size_x() * block_size_y() % wave_size == 0 && team.count <= most_waves;
    }
};

// Where a wave's next copies come from and go to.
template <typename F>
struct Copies {
    using S = Stream<F>;
    const u8 *matrix;
    u64 row, rows, step;
    u32 row_bytes, at, turn;

    RK_DEVICE void begin(typename S::Ring &ring, u32 lane) {
        if (row < rows) {
            const u32 left = row_bytes - at;
#pragma unroll
            for (u32 r = 0; r < S::rows; ++r) {
                const u8 *line = matrix + (row + r < rows ? row + r : rows - 1) * row_bytes + at;
#pragma unroll
                for (u32 i = 0; i < S::line_bytes; i += wave_size * 16) {
                    const u32 here = i + lane * 16;
                    if (here < S::line_bytes && here < left) {
                        begin_copy(&ring[turn][r][here], line + here);
                    }
                }
            }
            at += S::line_bytes;
            if (at >= row_bytes) {
                at = 0;
                row += step;
            }
        }
        end_group_of_copies();
        turn = turn + 1 < S::turns ? turn + 1 : 0;
    }
};

template <typename F, typename Vectors, typename Store>
RK_DEVICE void multiply_stream(const u8 *matrix, const Vectors &vectors, const MatrixShape &shape, const Team &team,
                               Staged<F, 1> &staged, const Store &store) {
    using S = Stream<F>;
    __shared__ S stream;
    auto &ring = stream.rings[team.index];
    const u32 units = shape.columns / UNIT;
    // A block's waves take neighbouring rows: what is read at a time lies together.
    const u64 step = u64(grid_x()) * team.count * S::rows;
    const u64 mine = (u64(block_x()) * team.count + team.index) * S::rows;
    Copies<F> copies = {matrix, mine, shape.rows, step, S::bytes_of(units), 0, 0};
#pragma unroll 1
    for (u32 i = 0; i + 1 < S::turns; ++i) {
        copies.begin(ring, team.lane);
    }
    barrier();
    staged.load(vectors, 0, units);
    barrier();
    u32 turn = 0;
#pragma unroll 1
    for (u64 row = mine; row < shape.rows; row += step) {
        f32 sums[S::rows] = {};
#pragma unroll 1
        for (u32 begin = 0; begin < units; begin += S::units) {
            await_copies<S::turns - 2>();
            wave_sync();
            copies.begin(ring, team.lane);
#pragma unroll
            for (u32 i = 0; i < S::units; i += wave_size) {
                const u32 u = i + team.lane;
                Unit weights[S::rows];
#pragma unroll
                for (u32 r = 0; r < S::rows; ++r) {
                    weights[r] = unit_at<F>(block_at<F>(&ring[turn][r][0], u / S::per_block), u % S::per_block);
                }
                if (begin + u < units) {
                    add_products<F>(weights, staged, (begin + u) / S::per_block, u % S::per_block, sums);
                }
            }
            turn = turn + 1 < S::turns ? turn + 1 : 0;
        }
        const f32 sum = summed(sums, team);
        const u32 r = summed_index<S::rows>(team.lane);
        if (team.lane < S::rows && row + r < shape.rows) {
            store(0, row + r, sum);
        }
    }
}

// A wave takes ROWS rows at a time and a lane UNROLL units before it waits for them.
template <typename F, u32 ROWS, u32 UNROLL, u32 VECTORS, typename Vectors, typename Store>
RK_DEVICE void multiply_lines(const u8 *matrix, const Vectors &vectors, const MatrixShape &shape, const Team &team,
                              Staged<F, VECTORS> &staged, const Store &store) {
    constexpr u32 units_per_block = F::VALUES / UNIT, COUNT = power_of_two_from(ROWS * VECTORS);
    constexpr u32 chunk = staged_units<VECTORS>, nothing = ~0u;
    const u32 units = shape.columns / UNIT;
    const u64 row_bytes = u64(shape.columns / F::VALUES) * F::BYTES;
    u32 held_from = nothing;
    const u64 step = u64(grid_x()) * team.count * ROWS;
    // Blocks share the rows evenly, but a wave that is not full takes the same ones on any grid: its sums have an order of
    // their own.
    const u64 mine = block_size_x() * block_size_y() % wave_size == 0 ? u64(team.index) * grid_x() + block_x()
                                                                      : u64(block_x()) * team.count + team.index;
    // All waves go through all barriers, those without rows too.
#pragma unroll 1
    for (u64 first = 0; first < shape.rows; first += step) {
        const u64 row = first + mine * ROWS;
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
            if (row >= shape.rows) {
                continue;
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
        if (row >= shape.rows) {
            continue;
        }
        const f32 sum = summed(sums, team);
        const u32 index = summed_index<COUNT>(team.lane), r = index % ROWS, v = index / ROWS;
        if (team.lane < COUNT && v < VECTORS && row + r < shape.rows) {
            store(v, row + r, sum);
        }
    }
}

// The product, by the way that the hardware is fastest in; `store(vector, row, value)` takes a sum.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL, typename Vectors, typename Store>
RK_DEVICE void multiply_rows(const u8 *matrix, const Vectors &vectors, const MatrixShape &shape, const Store &store) {
    __shared__ Staged<F, VECTORS> staged;
    const Team team = this_team();
    if constexpr (copies_beside_work && VECTORS == 1) {
        if (Stream<F>::takes(matrix, shape, team)) {
            return multiply_stream(matrix, vectors, shape, team, staged, store);
        }
    }
    if constexpr (copies_beside_work && ROWS > 2) {
        if (shape.rows <= u64(grid_x()) * team.count * 2) {  // more waves wait better than waves with more rows
            return multiply_lines<F, 2, UNROLL>(matrix, vectors, shape, team, staged, store);
        }
    }
    multiply_lines<F, ROWS, UNROLL>(matrix, vectors, shape, team, staged, store);
}

// q8_1 vectors, f32 sums.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL>
RK_DEVICE void multiply_blocks(const u8 *matrix, const Blocks &vectors, f32 *out, const MatrixShape &shape) {
    multiply_rows<F, VECTORS, ROWS, UNROLL>(matrix, vectors, shape, [=](u32 v, u64 row, f32 sum) {
        out[v * shape.out_rows + row] = sum;
    });
}

RK_DEVICE void store_as(u32 kind, u8 *out, u64 i, f32 value) {
    if (kind == F32) {
        reinterpret_cast<f32 *>(out)[i] = value;
    } else if (kind == F16) {
        reinterpret_cast<f16 *>(out)[i] = narrow<f16>(value);
    } else {
        reinterpret_cast<bf16 *>(out)[i] = narrow<bf16>(value);
    }
}

// Up to VECTORS vectors of floats, sums of their type.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL>
RK_DEVICE void multiply_values(const u8 *matrix, const Floats &vectors, u8 *out, const MatrixShape &shape) {
    multiply_rows<F, VECTORS, ROWS, UNROLL>(matrix, vectors, shape, [=](u32 v, u64 row, f32 sum) {
        if (v < vectors.vectors) {
            store_as(vectors.kind, out, v * shape.out_rows + row, sum);
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
