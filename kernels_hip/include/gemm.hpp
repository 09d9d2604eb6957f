// Tiled matrix product: a block of 256 threads computes BM×BN of the result, walking k in steps of BK through two LDS
// buffers, so that the next step's global loads are in flight while this one multiplies. A thread owns groups of four
// adjacent rows and columns, which it reads from LDS sixteen bytes at a time.
#pragma once

#include "index.hpp"
#include "math.hpp"
#include "device.hpp"
#include "gemm_parts.hpp"

namespace rk {

constexpr u32 quad = 4;

constexpr u32 product_unroll = waves_cover_latency ? 2 : 8;  // steps of k whose LDS reads are in flight together

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

// A tile of M×N results that a block computes in steps of K; a thread has M1×N1 of them.
template <u32 M, u32 N, u32 K, u32 M1, u32 N1>
struct TileShape {
    static constexpr u32 rows = M;
    static constexpr u32 columns = N;
    static constexpr u32 depth = K;
    static constexpr u32 thread_rows = M1;
    static constexpr u32 thread_columns = N1;
    static constexpr u32 down = M / M1;
    static constexpr u32 across = N / N1;
    static constexpr u32 threads = down * across;
    static_assert(down % 4 == 0 && across % 8 == 0, "threads fill their patches");

    // Where a thread is: thirty-two side by side are a patch of 4×8, so that a wave reads few rows and columns. Lanes 1
    // apart share their columns and lanes 2 apart their rows, which lets NVIDIA's LDS serve half a wave at once.
    RK_DEVICE static u32 thread_row() {
        return thread_x() / 32 / (across / 8) * 4 + thread_x() % 32 / 16 * 2 + thread_x() % 2;
    }
    RK_DEVICE static u32 thread_column() { return thread_x() / 32 % (across / 8) * 8 + thread_x() % 16 / 2; }
};

// One operand's step in LDS, k by k.
template <u32 Extent, u32 Depth, u32 Threads>
struct StagedStep {
    static constexpr u32 pitch = Extent + quad;  // keeps 16-byte alignment, and spreads a quad along k over the banks
    static constexpr u32 words = Depth * pitch;
    static constexpr u32 quads = Extent * Depth / quad / Threads;  // per thread
    static_assert(quads * quad * Threads == Extent * Depth, "every thread stages the same number of quads");
};

// min(whole - done, 2^31): what is left of an axis, in the word that lanes compare in.
RK_DEVICE u32 left_of(u64 whole, u64 done) {
    const u64 left = whole - done;
    return left < 0x80000000u ? static_cast<u32>(left) : 0x80000000u;
}

// One operand on its way through a tile's steps, from global memory to LDS. Quads lie along the axis of stride 1, whichever
// it is; the other axis counts lines of quads.
template <typename T, u32 Extent, u32 Depth, u32 Threads>
struct Walk {
    using Step = StagedStep<Extent, Depth, Threads>;
    // A quad moves as whole words, or the compiler shares single loads with the path that has no quads.
    using Words = u32 __attribute__((ext_vector_type(sizeof(T) * quad / sizeof(u32))));
    // Along k a wave takes two quads of each of its lines: whole sectors of memory, and no two lanes in one bank of LDS.
    static constexpr u32 pairs_at_once = Threads / 2;
    static constexpr u32 lines_apart_along = pairs_at_once < Extent ? pairs_at_once : 0;  // between a thread's quads
    static constexpr u32 along_apart = pairs_at_once < Extent ? 0 : pairs_at_once / Extent * 2 * quad;
    static constexpr u32 lines_apart_across = Threads / (Extent / quad);
    static_assert(Depth % (2 * quad) == 0 && (along_apart != 0 || Step::quads * pairs_at_once == Extent),
                  "a thread's quads are equally far apart");

    const T *source;  // the thread's first quad
    u64 step_stride;
    u64 line_stride;
    u64 between;  // its quads
    u32 outer_left;
    u32 place;  // of its first element in LDS
    bool along_k;
    bool has_quads;
    Pack<T, quad> staged[Step::quads];

    RK_DEVICE Walk(const Operand2d<T> &from, u64 outer) : outer_left(left_of(from.outer, outer)) {
        along_k = from.depth_stride == 1 || from.outer_stride != 1;
        step_stride = along_k ? from.depth_stride : from.outer_stride;
        line_stride = along_k ? from.outer_stride : from.depth_stride;
        has_quads = uniform(step_stride == 1 && line_stride % quad == 0 && is_aligned(from.data, quad * sizeof(T)));
        between = along_k ? lines_apart_along * line_stride + along_apart * step_stride : lines_apart_across * line_stride;
        source = from.data + outer * from.outer_stride + first_line() * line_stride + first_along() * step_stride;
        place = along_k ? first_line() + first_along() * Step::pitch : first_line() * Step::pitch + first_along();
        step_stride = per_lane(step_stride);
        line_stride = per_lane(line_stride);
        between = per_lane(between);
    }
    RK_DEVICE u32 first_line() const {
        return along_k ? thread_x() / 2 % Extent : thread_x() / (Extent / quad);
    }
    RK_DEVICE u32 first_along() const {
        return quad * (along_k ? thread_x() % 2 + thread_x() / (2 * Extent) * 2 : thread_x() % (Extent / quad));
    }

    // Whether steps that lie inside of k can be read in quads.
    RK_DEVICE bool is_whole() const { return has_quads && outer_left >= Extent; }

    RK_DEVICE void load_whole() {
#pragma unroll
        for (u32 q = 0; q < Step::quads; ++q) {
            staged[q] = bit_cast<Pack<T, quad>>(*reinterpret_cast<const Words *>(source + q * between));
        }
        advance();
    }
    // Of k `depth_left` elements are left. Nothing branches: outside the last element is read, and taken for zero.
    RK_DEVICE void load(u32 depth_left) {
        const u32 lines_left = apart(along_k ? outer_left : depth_left);
        const u32 steps_left = apart(along_k ? depth_left : outer_left);
        const u64 step = apart(step_stride);
        const u64 line = apart(line_stride);
        const u32 line_before = first_line();
        const u32 along_before = first_along();
        const T *corner = source - line_before * line - along_before * step;
#pragma unroll
        for (u32 q = 0; q < Step::quads; ++q) {
            const u32 number = line_before + q * (along_k ? lines_apart_along : lines_apart_across);
            const u32 along = along_before + q * (along_k ? along_apart : 0);
            const T *first = corner + (number < lines_left ? number : lines_left - 1) * line;
            const u32 count = number < lines_left ? steps_left : 0;
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                const T read = first[(along + j < steps_left ? along + j : steps_left - 1) * step];
                staged[q].lane[j] = along + j < count ? read : T{};
            }
        }
        advance();
    }
    RK_DEVICE void advance() { source += Depth * (along_k ? step_stride : line_stride); }
    template <typename Acc>
    RK_DEVICE void store(Acc *tile) const {
        tile += place;
#pragma unroll
        for (u32 q = 0; q < Step::quads; ++q) {
            Pack<Acc, quad> wide;
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                wide.lane[j] = static_cast<Acc>(widen(staged[q].lane[j]));
            }
            if (along_k) {
#pragma unroll
                for (u32 j = 0; j < quad; ++j) {
                    tile[q * (lines_apart_along + along_apart * Step::pitch) + j * Step::pitch] = wide.lane[j];
                }
            } else {
                *reinterpret_cast<Pack<Acc, quad> *>(tile + q * lines_apart_across * Step::pitch) = wide;
            }
        }
    }
};

// What becomes of a sum: the element of the result.
template <typename Out>
struct Rounded {
    RK_DEVICE Rounded anew() const { return *this; }
    template <typename Acc>
    RK_DEVICE Out operator()(Acc sum, u64, u64) const {
        return narrow<Out>(static_cast<arith<Out>>(sum));
    }
};

// sum · by_column[column] · by_row[row] + bias[column], where those are given, rounded once at the end.
template <typename Out>
struct Scaled {
    const f32 *by_row;
    const f32 *by_column;
    const f32 *bias;

    RK_DEVICE Scaled anew() const { return {apart(by_row), apart(by_column), apart(bias)}; }
    template <typename Acc>
    RK_DEVICE Out operator()(Acc sum, u64 row, u64 column) const {
        f32 value = static_cast<f32>(sum);
        if (by_column) {
            value = value * by_column[column] * by_row[row];
        }
        return narrow<Out>(bias ? value + bias[column] : value);
    }
};

template <typename Out>
RK_DEVICE Scaled<Out> scaled(const f32 *by_row, const f32 *by_column, const f32 *bias) {
    return {per_lane(by_row), per_lane(by_column), per_lane(bias)};
}

// Where a tile's results go: its first element in a matrix of `pitch` columns, and how much of the matrix is left there.
template <typename Out, typename Finish = Rounded<Out>>
struct Corner {
    Out *first;
    u64 pitch;
    u64 first_row;
    u64 first_column;
    u32 rows_left;
    u32 columns_left;
    bool has_quads;
    Finish finish;

    RK_DEVICE Corner(Out *matrix, u64 rows, u64 columns, u64 row, u64 column, const Finish &how = {})
        : first(matrix + row * columns + column),
          pitch(columns),
          first_row(row),
          first_column(column),
          rows_left(left_of(rows, row)),
          columns_left(left_of(columns, column)),
          has_quads(uniform(columns % quad == 0 && is_aligned(matrix + row * columns + column, quad * sizeof(Out)))),
          finish(how.anew()) {}

    // Four results side by side.
    template <typename Acc>
    RK_DEVICE void store(u32 row, u32 column, const Acc *sums) const {
        if (row >= rows_left || column >= columns_left) {
            return;
        }
        Pack<Out, quad> out;
#pragma unroll
        for (u32 j = 0; j < quad; ++j) {
            const u32 within = column + j < columns_left ? column + j : columns_left - 1;
            out.lane[j] = finish(sums[j], first_row + row, first_column + within);
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
    template <typename Acc>
    RK_DEVICE void store_one(u32 row, u32 column, Acc sum) const {
        if (row < rows_left && column < columns_left) {
            first[row * pitch + column] = finish(sum, first_row + row, first_column + column);
        }
    }
};

// One thread's share of a tile of the result: groups of four adjacent rows and columns.
template <typename Acc, typename Shape>
struct Accumulators {
    using Staged = Acc;
    static constexpr u32 depth = Shape::depth;
    static constexpr u32 left_pitch = StagedStep<Shape::rows, depth, Shape::threads>::pitch;
    static constexpr u32 right_pitch = StagedStep<Shape::columns, depth, Shape::threads>::pitch;
    static constexpr u32 left_words = depth * left_pitch;
    static constexpr u32 buffer = left_words + depth * right_pitch;
    static constexpr u32 row_groups = Shape::thread_rows / quad;
    static constexpr u32 column_groups = Shape::thread_columns / quad;
    Acc sum[Shape::thread_rows][Shape::thread_columns];

    RK_DEVICE static u32 row(u32 i) {
        return i / quad * (Shape::down * quad) + Shape::thread_row() * quad + i % quad;
    }
    RK_DEVICE static u32 first_column(u32 group) {
        return group * (Shape::across * quad) + Shape::thread_column() * quad;
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
            Pack<Acc, quad> a[row_groups];
            Pack<Acc, quad> b[column_groups];
#pragma unroll
            for (u32 g = 0; g < row_groups; ++g) {
                a[g] = *reinterpret_cast<const Pack<Acc, quad> *>(left + k * left_pitch + row(g * quad));
            }
#pragma unroll
            for (u32 g = 0; g < column_groups; ++g) {
                b[g] = *reinterpret_cast<const Pack<Acc, quad> *>(right + k * right_pitch + first_column(g));
            }
#pragma unroll
            for (u32 i = 0; i < Shape::thread_rows; ++i) {
#pragma unroll
                for (u32 j = 0; j < Shape::thread_columns; ++j) {
                    sum[i][j] = multiply_add(a[i / quad].lane[i % quad], b[j / quad].lane[j % quad], sum[i][j]);
                }
            }
        }
    }
    template <typename Corner>
    RK_DEVICE void store(const Corner &corner) const {
        // Rows innermost: whether a column is left is asked once for all of them, and then forgotten.
#pragma unroll
        for (u32 g = 0; g < column_groups; ++g) {
#pragma unroll
            for (u32 i = 0; i < Shape::thread_rows; ++i) {
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
    u64 k = 0;
    // Each turn has loaded a step, multiplies the one before and stages the new one. One barrier a turn is enough: a buffer
    // is written again only after everybody has passed the barrier of the turn between.
    const auto turn = [&]() __attribute__((always_inline)) {
        if (k > 0) {
            sums.multiply_step(lds + buffer, lds + buffer + Sums::left_words);
            buffer = Sums::buffer - buffer;
        }
        left.store(lds + buffer);
        right.store(lds + buffer + Sums::left_words);
        barrier();
        k += Sums::depth;
    };
    // The usual steps have a loop of their own, which what the others need does not crowd.
    if (left.is_whole() && right.is_whole()) {
#pragma unroll 1
        while (k + Sums::depth <= depth) {
            left.load_whole();
            right.load_whole();
            turn();
        }
    }
#pragma unroll 1
    while (k < depth) {
        left.load(left_of(depth, k));
        right.load(left_of(depth, k));
        turn();
    }
    if (k > 0) {
        sums.multiply_step(lds + buffer, lds + buffer + Sums::left_words);
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
