// Products of a matrix with up to eight vectors, which read it once at the memory's rate: a wave takes rows of it where k
// is contiguous, else a block takes a band of columns and its waves share the rows.
#pragma once

#include "gemm.hpp"
#include "gemm_parts.hpp"

namespace rk {

constexpr u32 gemv_threads = 256;

// Where results go: element (vector, row of the matrix). Of a bias there is one for each column of the result, which
// are the matrix's rows or the vectors.
template <typename Out>
struct SkinnyResult {
    Out *first;
    u64 vector_stride;
    u64 row_stride;
    const Out *bias;
    bool rows_are_columns;

    template <typename Acc>
    RK_DEVICE void store(u64 vector, u64 row, Acc sum) const {
        auto total = static_cast<arith<Out>>(sum);
        if (bias != nullptr) {
            total += widen(bias[rows_are_columns ? row : vector]);
        }
        first[vector * vector_stride + row * row_stride] = narrow<Out>(total);
    }
};

template <typename T>
RK_DEVICE bool has_packs(const Operand2d<T> &source) {
    constexpr u32 width = vector_bytes / sizeof(T);
    const bool along_k = source.depth_stride == 1;
    return (along_k ? source.outer_stride : source.depth_stride) % width == 0 &&
           (along_k || source.outer_stride == 1) && is_aligned(source.data, vector_bytes);
}

// Vectors from `count` on read the last one's elements; their sums are not stored.
template <u32 Vectors>
RK_DEVICE u64 vector_at(u32 v, u64 count, u64 stride) {
    return Vectors == 1 ? 0 : (v < count ? v : count - 1) * stride;
}

// A wave's share: `Rows` rows of the matrix from `row` on, over the whole depth.
template <u32 Vectors, u32 Rows, typename T, typename Out>
RK_DEVICE void multiply_rows(const Operand2d<T> &matrix, const Operand2d<T> &vectors, u64 row, u64 depth,
                             const SkinnyResult<Out> &result) {
    using Acc = arith<T>;
    constexpr u32 width = vector_bytes / sizeof(T);
    constexpr u32 steps_at_once = Vectors == 1 ? 2 : 1;
    const bool packs = uniform(has_packs(matrix) && matrix.depth_stride == 1 && has_packs(vectors) &&
                               vectors.depth_stride == 1);
    Acc sum[Rows][Vectors] = {};
    const T *lines[Rows];
    const T *others[Vectors];
#pragma unroll
    for (u32 r = 0; r < Rows; ++r) {
        lines[r] =
            per_lane(matrix.data + (row + r < matrix.outer ? row + r : matrix.outer - 1) * matrix.outer_stride);
    }
#pragma unroll
    for (u32 v = 0; v < Vectors; ++v) {
        others[v] = per_lane(vectors.data + vector_at<Vectors>(v, vectors.outer, vectors.outer_stride));
    }
    const u64 in_packs = packs ? depth / width * width : 0;
#pragma unroll steps_at_once
    for (u64 k = lane() * width; k < in_packs; k += wave_size * width) {
        Pack<T, width> a[Rows];
#pragma unroll
        for (u32 r = 0; r < Rows; ++r) {
            a[r] = *reinterpret_cast<const Pack<T, width> *>(lines[r] + k);
        }
#pragma unroll
        for (u32 v = 0; v < Vectors; ++v) {
            const auto b = *reinterpret_cast<const Pack<T, width> *>(others[v] + k);
#pragma unroll
            for (u32 r = 0; r < Rows; ++r) {
#pragma unroll
                for (u32 j = 0; j < width; ++j) {
                    sum[r][v] = multiply_add(widen(a[r].lane[j]), widen(b.lane[j]), sum[r][v]);
                }
            }
        }
    }
#pragma unroll 1
    for (u64 k = in_packs + lane(); k < depth; k += wave_size) {
        Acc a[Rows];
#pragma unroll
        for (u32 r = 0; r < Rows; ++r) {
            a[r] = widen(lines[r][k * matrix.depth_stride]);
        }
#pragma unroll
        for (u32 v = 0; v < Vectors; ++v) {
            const Acc b = widen(others[v][k * vectors.depth_stride]);
#pragma unroll
            for (u32 r = 0; r < Rows; ++r) {
                sum[r][v] = multiply_add(a[r], b, sum[r][v]);
            }
        }
    }
    const u32 me = apart(lane());
#pragma unroll
    for (u32 v = 0; v < Vectors; ++v) {
        if (v != 0 && v >= vectors.outer) {
            break;
        }
#pragma unroll
        for (u32 r = 0; r < Rows; ++r) {
            Acc total = sum[r][v];
#pragma unroll
            for (u32 mask = wave_size / 2; mask != 0; mask /= 2) {
                total += shuffle_xor(total, mask);
            }
            if (me == (r * Vectors + v) % wave_size && row + r < matrix.outer) {
                result.store(v, row + r, total);
            }
        }
    }
}

// A block's share: a band of the matrix's rows, which lie side by side in memory, from `row` on. A lane has `width` of
// them; the waves take turns along k. The vectors wait in LDS, a piece at a time, and there the waves' sums meet.
template <u32 Vectors, typename T, typename Out>
RK_DEVICE void multiply_band(const Operand2d<T> &matrix, const Operand2d<T> &vectors, u64 row, u64 depth,
                             const SkinnyResult<Out> &result) {
    using Acc = arith<T>;
    using Together = Pack<Acc, Vectors>;
    constexpr u32 width = vector_bytes / sizeof(T);
    constexpr u32 band = wave_size * width;
    constexpr u32 waves = gemv_threads / wave_size;
    constexpr u32 piece = 256;
    constexpr u32 steps_at_once = Vectors == 1 ? 4 : 2;
    __shared__ Acc lds[waves * band > piece * Vectors ? waves * band : piece * Vectors] __attribute__((aligned(64)));
    const u32 wave = uniform(thread_x() / wave_size);
    const u32 left = left_of(matrix.outer, row);
    const bool whole = uniform(has_packs(matrix) && matrix.outer_stride == 1 && left >= band);
    Acc sum[Vectors][width] = {};
    const T *line = per_lane(matrix.data + row * matrix.outer_stride + wave * matrix.depth_stride);
    const auto add = [&](const Pack<T, width> &a, u32 k) __attribute__((always_inline)) {
        const auto b = *reinterpret_cast<const Together *>(lds + k * Vectors);
#pragma unroll
        for (u32 v = 0; v < Vectors; ++v) {
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                sum[v][j] = multiply_add(widen(a.lane[j]), b.lane[v], sum[v][j]);
            }
        }
        line += waves * matrix.depth_stride;
    };
#pragma unroll 1
    for (u64 first = 0; first < depth; first += piece) {
        const u32 count = depth - first < piece ? static_cast<u32>(depth - first) : piece;
        const T *others = vectors.data + first * vectors.depth_stride;
        barrier();
#pragma unroll 1
        for (u32 k = thread_x(); k < count; k += gemv_threads) {
            Together b;
#pragma unroll
            for (u32 v = 0; v < Vectors; ++v) {
                const u64 place = vector_at<Vectors>(v, vectors.outer, vectors.outer_stride);
                b.lane[v] = widen(others[place + k * vectors.depth_stride]);
            }
            *reinterpret_cast<Together *>(lds + k * Vectors) = b;
        }
        barrier();
        if (whole) {
#pragma unroll steps_at_once
            for (u32 k = wave; k < count; k += waves) {
                add(*reinterpret_cast<const Pack<T, width> *>(line + lane() * width), k);
            }
        } else {
#pragma unroll 1
            for (u32 k = wave; k < count; k += waves) {
                Pack<T, width> a;
#pragma unroll
                for (u32 j = 0; j < width; ++j) {
                    const u32 place = j * wave_size + lane();
                    a.lane[j] = line[(place < left ? place : left - 1) * matrix.outer_stride];
                }
                add(a, k);
            }
        }
    }
#pragma unroll
    for (u32 v = 0; v < Vectors; ++v) {
        const u32 me = apart(lane());
        barrier();
#pragma unroll
        for (u32 j = 0; j < width; ++j) {
            lds[wave * band + (whole ? me * width + j : j * wave_size + me)] = sum[v][j];
        }
        barrier();
#pragma unroll 1
        for (u32 i = thread_x(); i < band; i += gemv_threads) {
            Acc total = lds[i];
#pragma unroll
            for (u32 w = 1; w < waves; ++w) {
                total += lds[w * band + i];
            }
            if (apart(v) < vectors.outer && i < left) {
                result.store(v, row + i, total);
            }
        }
    }
}

// The two ways: how many rows of the matrix one worker takes at a time, and how many workers a block has.
template <u32 Vectors, typename T, typename Out>
struct ByRows {
    static constexpr u32 rows = Vectors == 1 ? 2 : 4;  // what is read of the vectors serves all of them
    static constexpr u32 workers = gemv_threads / wave_size;

    RK_DEVICE static u32 worker() { return uniform(thread_x() / wave_size); }
    RK_DEVICE static void multiply(const Operand2d<T> &matrix, const Operand2d<T> &vectors, u64 row, u64 depth,
                                   const SkinnyResult<Out> &result) {
        multiply_rows<Vectors, rows>(matrix, vectors, row, depth, result);
    }
};

template <u32 Vectors, typename T, typename Out>
struct ByBands {
    static constexpr u32 rows = wave_size * vector_bytes / sizeof(T);
    static constexpr u32 workers = 1;

    RK_DEVICE static u32 worker() { return 0; }
    RK_DEVICE static void multiply(const Operand2d<T> &matrix, const Operand2d<T> &vectors, u64 row, u64 depth,
                                   const SkinnyResult<Out> &result) {
        multiply_band<Vectors>(matrix, vectors, row, depth, result);
    }
};

template <typename Way, typename T, typename Out>
RK_DEVICE void skinny(const Extents &whole, const Batch &batch, const Strides &lefts, const Strides &rights,
                      const T *lhs, const T *rhs, const Out *bias, Out *dst) {
    const u64 per_matrix = ((whole.m <= whole.n ? whole.n : whole.m) + Way::rows - 1) / Way::rows;
    const u64 count = per_matrix * batch.count * whole.parts();
    u64 work = static_cast<u64>(block_x()) * Way::workers + Way::worker();
#pragma unroll 1
    for (; work < count; work += static_cast<u64>(grid_x()) * Way::workers) {
        const Extents size = whole.anew();
        const Strides left = lefts.anew();
        const Strides right = rights.anew();
        const bool left_is_small = size.m <= size.n;
        const u64 number = per_lane(divide(work, per_matrix));
        const u64 row = (work - number * per_matrix) * Way::rows;
        const Share share = size.share(number, batch);
        const BatchOffsets offset = batch.offsets(share.matrix, left, right);
        const Operand2d<T> a = {lhs + offset.left + share.first * left.column, size.m, left.row, left.column};
        const Operand2d<T> b = {rhs + offset.right + share.first * right.row, size.n, right.column, right.row};
        Way::multiply(left_is_small ? b : a, left_is_small ? a : b, row, share.depth,
                      {dst + number * size.m * size.n, left_is_small ? size.n : 1, left_is_small ? 1 : size.n, bias,
                       left_is_small});
    }
}

}  // namespace rk
