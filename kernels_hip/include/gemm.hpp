// Tiled matrix product: a block of 256 threads computes BM×BN of the result, walking k in steps of BK through two LDS
// buffers, so that the next step's global loads are in flight while this one multiplies. A thread owns groups of four
// adjacent rows and columns, which it reads from LDS sixteen bytes at a time.
#pragma once

#include "index.hpp"
#include "math.hpp"
#include "device.hpp"

namespace rk {

constexpr u32 gemm_threads = 256;
constexpr u32 quad = 4;

// Steps of k whose LDS reads are in flight together. The waves of an AMD compute unit cover each other's latencies.
#if defined(__NVPTX__)
constexpr u32 product_unroll = 8;
#else
constexpr u32 product_unroll = 2;
#endif

// A matrix seen along k: element (o, k) of the left operand is row o, of the right one column o.
template <typename T>
struct Operand2d {
    using type = T;
    const T *data;
    u64 outer;         // rows of the left operand, columns of the right one
    u64 outer_stride;  // in elements
    u64 depth_stride;
};

// Integer products accumulate in a word that wraps, the short floats in f32.
template <typename T>
using product = choose<is_float<T>, arith<T>, wrapping<T>>;

// Keeps 16-byte alignment, and spreads a quad along k over the banks.
RK_DEVICE constexpr u32 pitch_of(u32 extent) { return extent + quad; }

template <u32 Extent, u32 Depth>
struct Tile {
    static constexpr u32 pitch = pitch_of(Extent);
    static constexpr u32 words = Depth * pitch;
    static constexpr u32 quads = Extent * Depth / quad / gemm_threads;  // per thread
    static_assert(quads * quad * gemm_threads == Extent * Depth, "every thread stages the same number of quads");
};

// min(whole - done, 2^31): what is left of an axis, in the word that lanes compare in.
RK_DEVICE u32 left_of(u64 whole, u64 done) {
    const u64 left = whole - done;
    return left < 0x80000000u ? static_cast<u32>(left) : 0x80000000u;
}

// One operand on its way through a tile's steps, from global memory to LDS. Quads lie along the axis of stride 1, whichever
// it is; the other axis counts lines of quads. All that depends on the direction is a number, so there is one path for both.
template <typename T, u32 Extent, u32 Depth>
struct Walk {
    using Shape = Tile<Extent, Depth>;
    // A quad moves as whole words, or the compiler shares single loads with the path that has no quads.
    using Words = u32 __attribute__((ext_vector_type(sizeof(T) * quad / sizeof(u32))));

    const T *corner;
    u64 step_stride;
    u64 line_stride;
    u32 outer_left;
    u32 lds_step;
    u32 lds_line;
    bool along_k;
    bool has_quads;
    Pack<T, quad> staged[Shape::quads];

    RK_DEVICE Walk(const Operand2d<T> &source, u64 outer)
        : corner(source.data + outer * source.outer_stride),
          outer_left(left_of(source.outer, outer)) {
        along_k = source.depth_stride == 1 || source.outer_stride != 1;
        step_stride = along_k ? source.depth_stride : source.outer_stride;
        line_stride = along_k ? source.outer_stride : source.depth_stride;
        lds_step = along_k ? Shape::pitch : 1;
        lds_line = along_k ? 1 : Shape::pitch;
        has_quads = step_stride == 1 && line_stride % quad == 0 && is_aligned(source.data, quad * sizeof(T));
    }
    RK_DEVICE u32 quads_per_line() const { return (along_k ? Depth : Extent) / quad; }

    // Of the k axis `depth_left` elements are left; what lies outside the operand reads as zero.
    RK_DEVICE void load(u32 depth_left) {
        const bool whole = has_quads && outer_left >= Extent && depth_left >= Depth;
        const u32 lines_left = along_k ? outer_left : depth_left;
        const u32 steps_left = along_k ? depth_left : outer_left;
#pragma unroll
        for (u32 q = 0; q < Shape::quads; ++q) {
            const u32 number = thread_x() + q * gemm_threads;
            const u32 line = number / quads_per_line();
            const u32 along = number % quads_per_line() * quad;
            const T *first = corner + line * line_stride + along * step_stride;
            if (whole) {
                staged[q] = bit_cast<Pack<T, quad>>(*reinterpret_cast<const Words *>(first));
            } else {
                const u32 count = line < lines_left && along < steps_left ? steps_left - along : 0;
#pragma unroll
                for (u32 j = 0; j < quad; ++j) {
                    staged[q].lane[j] = j < count ? *first : T{};
                    first += step_stride;
                }
            }
        }
        corner += Depth * (along_k ? step_stride : line_stride);
    }
    template <typename Acc>
    RK_DEVICE void store(Acc *tile) const {
#pragma unroll
        for (u32 q = 0; q < Shape::quads; ++q) {
            const u32 number = thread_x() + q * gemm_threads;
            const u32 line = number / quads_per_line();
            const u32 along = number % quads_per_line() * quad;
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                tile[line * lds_line + (along + j) * lds_step] = static_cast<Acc>(widen(staged[q].lane[j]));
            }
        }
    }
};

// Where a tile's results go: its first element in a matrix of `pitch` columns, and how much of the matrix is left there.
template <typename Out>
struct Corner {
    Out *first;
    u64 pitch;
    u32 rows_left;
    u32 columns_left;
    bool has_quads;

    RK_DEVICE Corner(Out *matrix, u64 rows, u64 columns, u64 row, u64 column)
        : first(matrix + row * columns + column),
          pitch(columns),
          rows_left(left_of(rows, row)),
          columns_left(left_of(columns, column)),
          has_quads(columns % quad == 0 && is_aligned(matrix + row * columns + column, quad * sizeof(Out))) {}

    // Four results side by side.
    template <typename Acc>
    RK_DEVICE void store(u32 row, u32 column, const Acc *sums) const {
        if (row >= rows_left || column >= columns_left) {
            return;
        }
        Pack<Out, quad> out;
#pragma unroll
        for (u32 j = 0; j < quad; ++j) {
            out.lane[j] = narrow<Out>(static_cast<arith<Out>>(sums[j]));
        }
        Out *target = first + row * pitch + column;
        if (has_quads) {
            *reinterpret_cast<Pack<Out, quad> *>(target) = out;
        } else {
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                if (column + j < columns_left) {
                    target[j] = out.lane[j];
                }
            }
        }
    }
};

template <typename Acc, u32 BM, u32 BN, u32 BK>
struct GemmShape {
    static constexpr u32 rows = BM;
    static constexpr u32 columns = BN;
    static constexpr u32 depth = BK;
    static constexpr u32 threads_across = 16;
    static constexpr u32 row_groups = BM / quad / threads_across;
    static constexpr u32 column_groups = BN / quad / threads_across;
};

// One thread's share of a tile of the result.
template <typename Acc, typename Shape>
struct Accumulators {
    using Staged = Acc;
    static constexpr u32 depth = Shape::depth;
    static constexpr u32 left_words = Tile<Shape::rows, depth>::words;
    static constexpr u32 buffer = left_words + Tile<Shape::columns, depth>::words;
    Acc sum[Shape::row_groups * quad][Shape::column_groups * quad];

    RK_DEVICE static u32 row(u32 i) {
        return i / quad * (Shape::rows / Shape::row_groups) + thread_x() / Shape::threads_across * quad + i % quad;
    }
    RK_DEVICE static u32 first_column(u32 group) {
        return group * (Shape::columns / Shape::column_groups) + thread_x() % Shape::threads_across * quad;
    }
    RK_DEVICE void clear() {
#pragma unroll
        for (auto &line : sum) {
#pragma unroll
            for (Acc &x : line) {
                x = 0;
            }
        }
    }
    RK_DEVICE void multiply_step(const Acc *left, const Acc *right) {
#pragma unroll product_unroll
        for (u32 k = 0; k < Shape::depth; ++k) {
            Pack<Acc, quad> a[Shape::row_groups];
            Pack<Acc, quad> b[Shape::column_groups];
#pragma unroll
            for (u32 g = 0; g < Shape::row_groups; ++g) {
                a[g] = *reinterpret_cast<const Pack<Acc, quad> *>(left + k * pitch_of(Shape::rows) +
                                                                  row(g * quad));
            }
#pragma unroll
            for (u32 g = 0; g < Shape::column_groups; ++g) {
                b[g] = *reinterpret_cast<const Pack<Acc, quad> *>(right + k * pitch_of(Shape::columns) +
                                                                  first_column(g));
            }
#pragma unroll
            for (u32 i = 0; i < Shape::row_groups * quad; ++i) {
#pragma unroll
                for (u32 j = 0; j < Shape::column_groups * quad; ++j) {
                    sum[i][j] = multiply_add(a[i / quad].lane[i % quad], b[j / quad].lane[j % quad], sum[i][j]);
                }
            }
        }
    }
    template <typename Out>
    RK_DEVICE void store(const Corner<Out> &corner) const {
        // Rows innermost: whether a column is left is asked once for all of them, and then forgotten.
#pragma unroll
        for (u32 g = 0; g < Shape::column_groups; ++g) {
#pragma unroll
            for (u32 i = 0; i < Shape::row_groups * quad; ++i) {
                corner.store(row(i), first_column(g), &sum[i][g * quad]);
            }
        }
    }
};

// One tile of a product over `depth`: both operands walk there in steps of Sums::depth, and the sums come back.
template <typename Sums, typename Left, typename Right>
RK_DEVICE Sums multiply_tile(Left &left, Right &right, u64 depth, typename Sums::Staged *lds) {
    Sums sums;
    sums.clear();
    u32 buffer = 0;
    // Each turn loads a step, multiplies the one before and stages the new one. One barrier a turn is enough: a buffer is
    // written again only after everybody has passed the barrier of the turn between.
#pragma unroll 1
    for (u64 k = 0;; k += Sums::depth) {
        const bool more = k < depth;
        if (more) {
            left.load(left_of(depth, k));
            right.load(left_of(depth, k));
        }
        if (k > 0) {
            sums.multiply_step(lds + buffer, lds + buffer + Sums::left_words);
            buffer = Sums::buffer - buffer;
        }
        if (!more) {
            break;
        }
        left.store(lds + buffer);
        right.store(lds + buffer + Sums::left_words);
        barrier();
    }
    return sums;
}

// How tiles are numbered: in bands of eight tile rows, column by column, so that blocks running together share operands.
struct TilePlace {
    u32 row;
    u32 column;
};

RK_DEVICE TilePlace tile_place(u32 tile, u32 tile_rows, u32 tile_columns) {
    constexpr u32 band = 8;
    const u32 number = tile / (band * tile_columns);
    const u32 first = number * band;
    const u32 rows = tile_rows - first < band ? tile_rows - first : band;
    const u32 within = tile - first * tile_columns;
    const u32 column = within / rows;
    return {first + within - column * rows, column};
}

}  // namespace rk
