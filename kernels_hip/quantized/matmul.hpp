// Quantized matrix times many vectors: a block of 128 threads computes TILE_ROWS x TILE_VECTORS sums, 16 a thread, from
// slabs of 128 columns that it unpacks to LDS. Rows and vectors past the end repeat the last one and are not stored;
// columns past the end have scale 0. Any grid is right: the tiles are walked with the grid as stride.
#pragma once

#include "matvec.hpp"

namespace rk::quantized {

constexpr u32 TILE_ROWS = 64, TILE_VECTORS = 32, TILE_THREADS = 128, SLAB = 128;
constexpr u32 SLAB_HALVES = SLAB / 16, SLAB_UNITS = SLAB / UNIT;

// 36 words from line to line: the 16-byte reads of eight neighbouring lines then fall on different banks.
struct Line {
    Words<4> halves[SLAB_HALVES];
    Words<4> gap;
};

template <typename F>
struct Tile {
    Line weights[TILE_ROWS];
    Line values[TILE_VECTORS];
    f32 scales[TILE_ROWS][SLAB_HALVES + 1];
    f32 minima[F::HAS_MINIMUM ? TILE_ROWS : 1][SLAB_HALVES + 1];
    f32 value_scales[TILE_VECTORS][SLAB_UNITS + 1];
    f32 value_sums[F::HAS_MINIMUM ? TILE_VECTORS : 1][SLAB_HALVES + 1];
};


template <typename F>
RK_DEVICE void load_weights(Tile<F> &tile, const u8 *matrix, const MatrixShape &shape, u64 first_row, u32 first_unit,
                            u32 thread) {
    constexpr u32 units = F::VALUES / UNIT;
#pragma unroll 1
    for (u32 task = thread; task < TILE_ROWS * SLAB_UNITS; task += TILE_THREADS) {
        const u32 line = task / SLAB_UNITS, unit = first_unit + task % SLAB_UNITS;
        const bool is_inside = unit < shape.columns / UNIT;
        const u32 block = is_inside ? unit / units : 0;
        const u64 row = first_row + line < shape.rows ? first_row + line : shape.rows - 1;
        const u8 *bytes = block_at<F>(matrix, row * (shape.columns / F::VALUES) + block);
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
            const u32 p = F::place(unit % units, h);
            const u32 half = (unit / units * F::VALUES + p) % SLAB / 16;
            tile.weights[line].halves[half] = quants_at<F, 4>(bytes, p);
            tile.scales[line][half] = is_inside ? F::scale(bytes, p) : 0;
            if constexpr (F::HAS_MINIMUM) {
                tile.minima[line][half] = is_inside ? F::minimum(bytes, p) : 0;
            }
        }
    }
}

template <typename F>
RK_DEVICE void load_values(Tile<F> &tile, const Blocks &vectors, const MatrixShape &shape, u64 count, u64 first_vector,
                           u32 first_unit, u32 thread) {
    static_assert(TILE_VECTORS * SLAB_UNITS == TILE_THREADS, "a thread loads one q8_1 block");
    const u32 line = thread / SLAB_UNITS, unit = thread % SLAB_UNITS;
    const bool is_inside = first_unit + unit < shape.columns / UNIT;
    const u64 vector = first_vector + line < count ? first_vector + line : count - 1;
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
        const Quants values = vectors.read(vector, is_inside ? first_unit + unit : 0, h);
        tile.values[line].halves[unit * 2 + h] = values.words;
        tile.value_scales[line][unit] = is_inside ? values.scale : 0;
        if constexpr (F::HAS_MINIMUM) {
            tile.value_sums[line][unit * 2 + h] = is_inside ? f32(sum_of(values.words)) : 0;
        }
    }
}

// A thread's rows are 16 apart and its vectors 8 apart, so that neighbouring threads read neighbouring lines.
constexpr u32 THREAD_ROWS = 4, THREAD_VECTORS = 4;
constexpr u32 ROW_STEP = TILE_ROWS / THREAD_ROWS, VECTOR_STEP = TILE_VECTORS / THREAD_VECTORS;
static_assert(ROW_STEP * VECTOR_STEP == TILE_THREADS, "the threads cover the tile");

template <typename F>
RK_DEVICE void multiply_slab(const Tile<F> &tile, u32 row, u32 vector, f32 (&sums)[THREAD_ROWS][THREAD_VECTORS]) {
#pragma unroll 1
    for (u32 half = 0; half < SLAB_HALVES; ++half) {
        Words<4> weights[THREAD_ROWS];
#pragma unroll
        for (u32 r = 0; r < THREAD_ROWS; ++r) {
            weights[r] = tile.weights[row + r * ROW_STEP].halves[half];
        }
#pragma unroll
        for (u32 v = 0; v < THREAD_VECTORS; ++v) {
            const u32 line = vector + v * VECTOR_STEP;
            const Words<4> values = tile.values[line].halves[half];
            const f32 value_scale = tile.value_scales[line][half / 2];
#pragma unroll
            for (u32 r = 0; r < THREAD_ROWS; ++r) {
                f32 sum = tile.scales[row + r * ROW_STEP][half] * f32(dot(weights[r], values, 0));
                if constexpr (F::HAS_MINIMUM) {
                    sum -= tile.minima[row + r * ROW_STEP][half] * tile.value_sums[line][half];
                }
                sums[r][v] = fma(sum, value_scale, sums[r][v]);
            }
        }
    }
}

template <typename F>
RK_DEVICE void multiply_tiles(Tile<F> &tile, const u8 *matrix, const Blocks &vectors, f32 *out, const MatrixShape &shape,
                              u64 count) {
    const u32 thread = thread_y() * block_size_x() + thread_x();
    const u32 row = thread % ROW_STEP, vector = thread / ROW_STEP;
#pragma unroll 1
    for (u64 first_row = u64(block_x()) * TILE_ROWS; first_row < shape.rows; first_row += u64(grid_x()) * TILE_ROWS) {
#pragma unroll 1
        for (u64 first = u64(block_y()) * TILE_VECTORS; first < count; first += u64(grid_y()) * TILE_VECTORS) {
            f32 sums[THREAD_ROWS][THREAD_VECTORS] = {};
#pragma unroll 1
            for (u32 unit = 0; unit < shape.columns / UNIT; unit += SLAB_UNITS) {
                load_weights(tile, matrix, shape, first_row, unit, thread);
                load_values(tile, vectors, shape, count, first, unit, thread);
                barrier();
                multiply_slab(tile, row, vector, sums);
                barrier();
            }
#pragma unroll
            for (u32 v = 0; v < THREAD_VECTORS; ++v) {
#pragma unroll
                for (u32 r = 0; r < THREAD_ROWS; ++r) {
                    const u64 i = first_row + row + r * ROW_STEP, j = first + vector + v * VECTOR_STEP;
                    if (i < shape.rows && j < count) {
                        out[j * shape.out_rows + i] = sums[r][v];
                    }
                }
            }
        }
    }
}

}  // namespace rk::quantized
