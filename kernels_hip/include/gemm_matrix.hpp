// Tiled matrix products whose operands are staged as they are, row by row along k: for matrix cores, whose lanes read
// sixteen bytes of a row, and for dot products of four bytes.
#pragma once

#include "gemm.hpp"
#include "gemm_parts.hpp"
#include "matrix_cores.hpp"

namespace rk {

// Steps of small tiles are longer, for fewer barriers.
template <typename T, typename Shape>
constexpr u32 row_depth = (Shape::rows * Shape::columns > 64 * 64 ? 64 : 128) / sizeof(T);

// Rows are whole sixteen bytes apart, spread over the banks.
template <typename T>
constexpr u32 row_pitch(u32 depth) {
    return depth + vector_bytes / sizeof(T);
}

// One operand on its way to LDS: a thread carries a block of lines, so that it can turn one whose k is not contiguous.
// Neighbours carry neighbouring k, which keeps their writes to LDS in different banks.
template <typename T, u32 Extent, u32 Depth, u32 Threads>
struct BlockWalk {
    static constexpr u32 deep = sizeof(T) == 1 ? 8 : sizeof(T) == 8 ? 2 : 4;
    static constexpr u32 wide = Extent * Depth / Threads / deep;
    static constexpr u32 across = Depth / deep;
    static_assert(wide * deep * Threads == Extent * Depth, "every thread stages one block");
    static_assert(wide * sizeof(T) % sizeof(u32) == 0, "lines are whole words");

    const T *corner;
    u64 step_stride;
    u64 line_stride;
    u32 outer_left;
    bool along_k;
    bool has_packs;
    u32 words[wide * deep * sizeof(T) / sizeof(u32)];

    RK_DEVICE BlockWalk(const Operand2d<T> &source, u64 outer)
        : corner(source.data + outer * source.outer_stride),
          outer_left(left_of(source.outer, outer)) {
        along_k = source.depth_stride == 1 || source.outer_stride != 1;
        step_stride = along_k ? source.depth_stride : source.outer_stride;
        line_stride = along_k ? source.outer_stride : source.depth_stride;
        const u32 width = along_k ? deep : wide;
        has_packs = uniform(step_stride == 1 && line_stride % width == 0 && is_aligned(source.data, width * sizeof(T)));
        corner = per_lane(corner);
        line_stride = per_lane(line_stride);
        step_stride = per_lane(step_stride);
    }
    RK_DEVICE static u32 first_k() { return thread_x() % across * deep; }
    RK_DEVICE static u32 first_row() { return thread_x() / across * wide; }

    // Whether steps that lie inside of k can be read in packs.
    RK_DEVICE bool is_whole() const { return has_packs && outer_left >= Extent; }

    RK_DEVICE void load_whole() {
        if (along_k) {
            load_packs<wide, deep>(first_row(), first_k());
        } else {
            load_packs<deep, wide>(first_k(), first_row());
        }
        advance();
    }
    // Of k `depth_left` elements are left. Nothing branches: outside the last element is read, and taken for zero.
    RK_DEVICE void load(u32 depth_left) {
        if (along_k) {
            load_within<wide, deep>(first_row(), first_k(), apart(outer_left), apart(depth_left));
        } else {
            load_within<deep, wide>(first_k(), first_row(), apart(depth_left), apart(outer_left));
        }
        advance();
    }
    RK_DEVICE void store(T *tile) const {
#pragma unroll
        for (u32 i = 0; i < wide; ++i) {
            Pack<T, deep> row;
#pragma unroll
            for (u32 j = 0; j < deep; ++j) {
                row.lane[j] = along_k ? element(i * deep + j) : element(j * wide + i);
            }
            *reinterpret_cast<Pack<T, deep> *>(tile + (first_row() + i) * row_pitch<T>(Depth) + first_k()) = row;
        }
    }

   private:
    // A line moves as whole words, or the compiler mixes elements of different lines.
    template <u32 Width>
    using Words = u32 __attribute__((ext_vector_type(Width * sizeof(T) / sizeof(u32))));

    RK_DEVICE void advance() { corner += Depth * (along_k ? step_stride : line_stride); }

    template <u32 Lines, u32 Width>
    RK_DEVICE void load_packs(u32 line, u32 step) {
        const T *first = corner + line * line_stride + step * step_stride;
#pragma unroll
        for (u32 i = 0; i < Lines; ++i) {
            put<Width>(i, *reinterpret_cast<const Words<Width> *>(first));
            first += line_stride;
        }
    }
    // Line by line, each from the end of the block on: unrolled it would be most of the kernel.
    template <u32 Lines, u32 Width>
    RK_DEVICE void load_within(u32 line, u32 step, u32 lines_left, u32 steps_left) {
#pragma unroll 1
        for (u32 i = 0; i < Lines; ++i) {
            const u32 count = line + i < lines_left ? steps_left : 0;
            const T *first = corner + within(line + i, lines_left) * line_stride;
            Pack<T, Width> some;
#pragma unroll
            for (u32 j = 0; j < Width; ++j) {
                const auto read = bit_cast<bits_of<T>>(first[within(step + j, steps_left) * step_stride]);
                const i32 kept = static_cast<i32>(apart(step + j < count ? ~0u : 0u));  // no scalar register for each
                some.lane[j] = bit_cast<T>(static_cast<bits_of<T>>(read & static_cast<bits_of<T>>(kept)));
            }
#pragma unroll
            for (u32 before = 1; before < Lines; ++before) {
                put<Width>(before - 1, line_at<Width>(before));
            }
            put<Width>(Lines - 1, bit_cast<Words<Width>>(some));
        }
    }
    // The place, or the last of `left`.
    RK_DEVICE static u64 within(u32 place, u32 left) { return place < left ? place : left - 1; }

    template <u32 Width>
    RK_DEVICE void put(u32 line, const Words<Width> &moved) {
        constexpr u32 per_line = Width * sizeof(T) / sizeof(u32);
#pragma unroll
        for (u32 w = 0; w < per_line; ++w) {
            words[line * per_line + w] = moved[w];
        }
    }
    template <u32 Width>
    RK_DEVICE Words<Width> line_at(u32 line) const {
        constexpr u32 per_line = Width * sizeof(T) / sizeof(u32);
        Words<Width> found;
#pragma unroll
        for (u32 w = 0; w < per_line; ++w) {
            found[w] = words[line * per_line + w];
        }
        return found;
    }
    RK_DEVICE T element(u32 number) const {
        constexpr u32 per_word = sizeof(T) < sizeof(u32) ? sizeof(u32) / sizeof(T) : 1;
        if constexpr (sizeof(T) == 8) {
            return bit_cast<T>(static_cast<u64>(words[2 * number + 1]) << 32 | words[2 * number]);
        } else {
            return bit_cast<Pack<T, per_word>>(words[number / per_word]).lane[number % per_word];
        }
    }
};

// One wave's share of a tile of the result, as squares of the core's size. The product is computed transposed, so that a
// lane's four adjacent sums are four adjacent columns.
template <typename T, typename Shape>
struct MatrixAccumulators {
    using Core = MatrixCore<T>;
    using Staged = T;
    static constexpr u32 depth = row_depth<T, Shape>;
    static constexpr u32 pitch = row_pitch<T>(depth);
    static constexpr u32 left_words = Shape::rows * pitch;
    static constexpr u32 buffer = left_words + Shape::columns * pitch;
    static constexpr u32 waves_across = 2;
    static constexpr u32 waves_down = Shape::threads / wave_size / waves_across;
    static constexpr u32 wave_rows = Shape::rows / waves_down;
    static constexpr u32 wave_columns = Shape::columns / waves_across;
    static constexpr u32 down = wave_rows / Core::size;
    static constexpr u32 across = wave_columns / Core::size;
    static_assert(down * Core::size * waves_down == Shape::rows && across * Core::size * waves_across == Shape::columns,
                  "waves and squares fill the tile");
    typename Core::Sums sum[down][across];

    RK_DEVICE static u32 first_row() { return thread_x() / wave_size / waves_across * wave_rows; }
    RK_DEVICE static u32 first_column() { return thread_x() / wave_size % waves_across * wave_columns; }

    RK_DEVICE void clear() {
#pragma unroll
        for (auto &line : sum) {
#pragma unroll
            for (typename Core::Sums &x : line) {
                x = 0;
            }
        }
    }
    RK_DEVICE static typename Core::Fragment fragment(const T *row) {
        typename Core::Fragment read;
        u32 offset = 0;
#pragma unroll
        for (auto &part : read.part) {
            part = *reinterpret_cast<const Pack<T, Core::per_part> *>(row + offset);
            offset += Core::per_part;
        }
        return read;
    }
    RK_DEVICE void multiply_step(const T *left, const T *right) {
        const T *left_row = left + (first_row() + lane() % Core::size) * pitch + Core::first_k();
        const T *right_row = right + (first_column() + Core::row_of(lane() % Core::size)) * pitch + Core::first_k();
#pragma unroll Core::steps_at_once
        for (u32 k = 0; k < depth; k += Core::depth) {
            typename Core::Fragment rows[down];
            typename Core::Fragment columns[across];
#pragma unroll
            for (u32 i = 0; i < down; ++i) {
                rows[i] = fragment(left_row + i * Core::size * pitch + k);
            }
#pragma unroll
            for (u32 j = 0; j < across; ++j) {
                columns[j] = fragment(right_row + j * Core::size * pitch + k);
            }
#pragma unroll
            for (u32 i = 0; i < down; ++i) {
#pragma unroll
                for (u32 j = 0; j < across; ++j) {
                    Core::multiply_add(sum[i][j], columns[j], rows[i]);
                }
            }
        }
    }
    template <typename Corner>
    RK_DEVICE void store(const Corner &corner) const {
        // Rows innermost: whether a column is left is asked once for all of them, and then forgotten.
#pragma unroll
        for (u32 j = 0; j < across; ++j) {
#pragma unroll
            for (u32 q = 0; q < Core::quads; ++q) {
                const u32 column = first_column() + j * Core::size + q * Core::quad_step +
                                   lane() / Core::size * Core::group_step;
#pragma unroll
                for (u32 i = 0; i < down; ++i) {
                    const auto &square = sum[i][j];
                    const typename Core::Sum four[quad] = {square[q * quad], square[q * quad + 1], square[q * quad + 2],
                                                           square[q * quad + 3]};
                    corner.store(first_row() + i * Core::size + lane() % Core::size, column, four);
                }
            }
        }
    }
};

// One thread's share of a tile of sums of products of bytes, four k at a time. Its rows and columns lie a thread grid
// apart: neighbours read neighbouring rows of LDS.
template <typename Shape>
struct DotAccumulators {
    using Staged = i8;
    static constexpr u32 depth = row_depth<i8, Shape>;
    static constexpr u32 pitch = row_pitch<i8>(depth);
    static constexpr u32 left_words = Shape::rows * pitch;
    static constexpr u32 buffer = left_words + Shape::columns * pitch;
    static constexpr u32 words = 2;  // of k in one read
    using Words = Pack<i32, words>;
    i32 sum[Shape::thread_rows][Shape::thread_columns];

    RK_DEVICE static u32 row(u32 i) { return i * Shape::down + Shape::thread_row(); }
    RK_DEVICE static u32 column(u32 j) { return j * Shape::across + Shape::thread_column(); }

    RK_DEVICE void clear() {
#pragma unroll
        for (auto &line : sum) {
#pragma unroll
            for (i32 &x : line) {
                x = 0;
            }
        }
    }
    RK_DEVICE void multiply_step(const i8 *left, const i8 *right) {
#pragma unroll 1
        for (u32 k = 0; k < depth; k += sizeof(Words)) {
            Words a[Shape::thread_rows];
            Words b[Shape::thread_columns];
#pragma unroll
            for (u32 i = 0; i < Shape::thread_rows; ++i) {
                a[i] = *reinterpret_cast<const Words *>(left + row(i) * pitch + k);
            }
#pragma unroll
            for (u32 j = 0; j < Shape::thread_columns; ++j) {
                b[j] = *reinterpret_cast<const Words *>(right + column(j) * pitch + k);
            }
#pragma unroll
            for (u32 w = 0; w < words; ++w) {
#pragma unroll
                for (u32 i = 0; i < Shape::thread_rows; ++i) {
#pragma unroll
                    for (u32 j = 0; j < Shape::thread_columns; ++j) {
                        sum[i][j] = dot4(a[i].lane[w], b[j].lane[w], sum[i][j]);
                    }
                }
            }
        }
    }
    template <typename Corner>
    RK_DEVICE void store(const Corner &corner) const {
#pragma unroll
        for (u32 j = 0; j < Shape::thread_columns; ++j) {
#pragma unroll
            for (u32 i = 0; i < Shape::thread_rows; ++i) {
                corner.store_one(row(i), column(j), sum[i][j]);
            }
        }
    }
};

}  // namespace rk
