// The tiled matrix product on matrix cores: 128×128 results a block of four waves, 64×64 a wave. Operands are staged as
// they are, row by row along k, so that a lane reads the eight values that it multiplies as sixteen bytes.
#pragma once

#include "gemm.hpp"

namespace rk {

constexpr u32 matrix_extent = 128;
constexpr u32 matrix_depth = 32;
constexpr u32 matrix_pitch = matrix_depth + 8;  // whole sixteen bytes, spread over the banks

// One operand on its way to LDS: a thread carries a block of 4×4, so that it can turn one whose k is not contiguous.
template <typename T>
struct BlockWalk {
    using Words = u32 __attribute__((ext_vector_type(sizeof(T) * quad / sizeof(u32))));
    static_assert(matrix_extent * matrix_depth == gemm_threads * quad * quad, "every thread stages one block");

    const T *corner;
    u64 step_stride;
    u64 line_stride;
    u32 outer_left;
    bool along_k;
    bool has_quads;
    Pack<T, quad> lines[quad];

    RK_DEVICE BlockWalk(const Operand2d<T> &source, u64 outer)
        : corner(source.data + outer * source.outer_stride),
          outer_left(left_of(source.outer, outer)) {
        along_k = source.depth_stride == 1 || source.outer_stride != 1;
        step_stride = along_k ? source.depth_stride : source.outer_stride;
        line_stride = along_k ? source.outer_stride : source.depth_stride;
        has_quads = step_stride == 1 && line_stride % quad == 0 && is_aligned(source.data, quad * sizeof(T));
        line_stride = per_lane(line_stride);
    }
    RK_DEVICE u32 blocks_per_line() const { return (along_k ? matrix_depth : matrix_extent) / quad; }
    RK_DEVICE u32 first_line() const { return thread_x() / blocks_per_line() * quad; }
    RK_DEVICE u32 first_step() const { return thread_x() % blocks_per_line() * quad; }

    RK_DEVICE void load(u32 depth_left) {
        const bool whole = has_quads && outer_left >= matrix_extent && depth_left >= matrix_depth;
        const u32 lines_left = along_k ? outer_left : depth_left;
        const u32 steps_left = along_k ? depth_left : outer_left;
        const T *first = corner + first_line() * line_stride + first_step() * step_stride;
#pragma unroll
        for (u32 i = 0; i < quad; ++i) {
            if (whole) {
                lines[i] = bit_cast<Pack<T, quad>>(*reinterpret_cast<const Words *>(first));
            } else {
                const bool inside = first_line() + i < lines_left && first_step() < steps_left;
                const u32 count = inside ? steps_left - first_step() : 0;
                const T *element = first;
#pragma unroll
                for (u32 j = 0; j < quad; ++j) {
                    lines[i].lane[j] = j < count ? *element : T{};
                    element += step_stride;
                }
            }
            first += line_stride;
        }
        corner += matrix_depth * (along_k ? step_stride : line_stride);
    }
    RK_DEVICE void store(T *tile) const {
        const u32 outer = along_k ? first_line() : first_step();
        const u32 depth = along_k ? first_step() : first_line();
        T *first = tile + outer * matrix_pitch + depth;
#pragma unroll
        for (u32 i = 0; i < quad; ++i) {
            Pack<T, quad> row;
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                row.lane[j] = along_k ? lines[i].lane[j] : lines[j].lane[i];
            }
            *reinterpret_cast<Pack<T, quad> *>(first + i * matrix_pitch) = row;
        }
    }
};

// One wave's share of a tile of the result, as 2×2 squares of 32×32. The product is computed transposed, so that a lane's
// four adjacent sums are four adjacent columns.
template <typename T>
struct MatrixAccumulators {
    using Staged = T;
    static constexpr u32 depth = matrix_depth;
    static constexpr u32 left_words = matrix_extent * matrix_pitch;
    static constexpr u32 buffer = 2 * left_words;
    static constexpr u32 square = 32;
    static constexpr u32 squares = 2;  // a wave has two times two
    MatrixSums sum[squares][squares];

    RK_DEVICE static u32 wave_row() { return thread_x() / wave_size / 2 * squares * square; }
    RK_DEVICE static u32 wave_column() { return thread_x() / wave_size % 2 * squares * square; }

    RK_DEVICE void clear() {
#pragma unroll
        for (auto &line : sum) {
#pragma unroll
            for (MatrixSums &x : line) {
                x.value = 0.0f;
            }
        }
    }
    RK_DEVICE void multiply_step(const T *left, const T *right) {
        using Eight = Pack<T, 8>;
        const u32 place = lane() % square * matrix_pitch + lane() / square * 8;
#pragma unroll
        for (u32 k = 0; k < matrix_depth; k += 16) {
            Eight rows[squares];
            Eight columns[squares];
#pragma unroll
            for (u32 s = 0; s < squares; ++s) {
                rows[s] = *reinterpret_cast<const Eight *>(left + (wave_row() + s * square) * matrix_pitch + place + k);
                columns[s] =
                    *reinterpret_cast<const Eight *>(right + (wave_column() + s * square) * matrix_pitch + place + k);
            }
#pragma unroll
            for (u32 i = 0; i < squares; ++i) {
#pragma unroll
                for (u32 j = 0; j < squares; ++j) {
                    matrix_multiply_add(sum[i][j], columns[j], rows[i]);
                }
            }
        }
    }
    template <typename Out>
    RK_DEVICE void store(const Corner<Out> &corner) const {
        // Rows innermost: whether a column is left is asked once for all of them, and then forgotten.
#pragma unroll
        for (u32 j = 0; j < squares; ++j) {
#pragma unroll
            for (u32 r = 0; r < 16; r += quad) {
                const u32 column = wave_column() + j * square + r * 2 + lane() / square * quad;
#pragma unroll
                for (u32 i = 0; i < squares; ++i) {
                    const f32 four[quad] = {sum[i][j].value[r], sum[i][j].value[r + 1], sum[i][j].value[r + 2],
                                            sum[i][j].value[r + 3]};
                    corner.store(wave_row() + i * square + lane() % square, column, four);
                }
            }
        }
    }
};

}  // namespace rk
