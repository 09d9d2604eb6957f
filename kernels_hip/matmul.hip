// matmul: dst = lhs · rhs for batches of matrices of any strides, accumulated in f32, f64 or a wrapping integer.
#include "include/gemm_matrix.hpp"

namespace rk {

struct Extents {
    u64 m;
    u64 n;
    u64 k;
};

struct Strides {
    u64 batch;
    u64 row;
    u64 column;
};

// The batch axes: one of the operands' own batch strides, or with `info` several (dims, lhs strides, rhs strides).
struct Batch {
    u64 count;
    u64 num_dims;
    const u64 *info;
};

// How a tile is multiplied: by every thread for itself, or wave by wave on matrix cores.
template <typename T, typename Out, u32 BM, u32 BN, u32 BK>
struct ThreadTiles {
    using Sums = Accumulators<product<Out>, GemmShape<product<Out>, BM, BN, BK>>;
    using Left = Walk<T, BM, BK>;
    using Right = Walk<T, BN, BK>;
    static constexpr u32 rows = BM;
    static constexpr u32 columns = BN;
};

template <typename T>
struct MatrixTiles {
    using Sums = MatrixAccumulators<T>;
    using Left = BlockWalk<T>;
    using Right = BlockWalk<T>;
    static constexpr u32 rows = matrix_extent;
    static constexpr u32 columns = matrix_extent;
};

template <typename Tiles, typename T, typename Out>
RK_DEVICE void matmul(const Extents &size, const Batch &batch, const Strides &left, const Strides &right, const T *lhs,
                      const T *rhs, Out *dst) {
    __shared__ typename Tiles::Sums::Staged lds[2 * Tiles::Sums::buffer] __attribute__((aligned(16)));
    const u32 tile_rows = static_cast<u32>((size.m + Tiles::rows - 1) / Tiles::rows);
    const u32 tile_columns = static_cast<u32>((size.n + Tiles::columns - 1) / Tiles::columns);
    const u32 per_matrix = tile_rows * tile_columns;  // 2^32 tiles would be 2^44 results
#pragma unroll 1
    for (u64 work = block_x(); work < per_matrix * batch.count; work += grid_x()) {
        const u64 matrix = per_lane(divide(work, per_matrix));
        const TilePlace place = tile_place(static_cast<u32>(work - matrix * per_matrix), tile_rows, tile_columns);
        u64 left_offset = matrix * left.batch;
        u64 right_offset = matrix * right.batch;
        if (batch.info) {
            left_offset = right_offset = 0;
            u64 rest = matrix;
#pragma unroll 1
            for (const u64 *axis = batch.info + batch.num_dims; axis-- != batch.info;) {
                const u64 quotient = divide(rest, axis[0]);
                const u64 position = rest - quotient * axis[0];
                left_offset += position * axis[batch.num_dims];
                right_offset += position * axis[2 * batch.num_dims];
                rest = quotient;
            }
        }
        const u64 row = static_cast<u64>(place.row) * Tiles::rows;
        const u64 column = static_cast<u64>(place.column) * Tiles::columns;
        typename Tiles::Left a({lhs + left_offset, size.m, left.row, left.column}, row);
        typename Tiles::Right b({rhs + right_offset, size.n, right.column, right.row}, column);
        barrier();  // the buffers may still be read for the tile before
        const auto sums = multiply_tile<typename Tiles::Sums>(a, b, size.k, lds);
        sums.store(Corner<Out>(dst + matrix * size.m * size.n, size.m, size.n, row, column));
    }
}

// Wide tiles go to the matrix cores where the target has some for the type.
template <typename T, u32 BM, u32 BN, u32 BK>
using WideTiles = choose<has_matrix_cores<T>, MatrixTiles<T>, ThreadTiles<T, T, BM, BN, BK>>;

#define MATMUL_ARGUMENTS(T, Out)                                                                             \
    u64 m, u64 n, u64 k, u64 batch, u64 lhs_batch, u64 lhs_row, u64 lhs_col, u64 rhs_batch, u64 rhs_row,     \
        u64 rhs_col, u64 num_dims, const u64 *info, const T *lhs, const T *rhs, Out *dst

#define MATMUL_VALUES                                                                                        \
    {m, n, k}, {batch, num_dims, info}, {lhs_batch, lhs_row, lhs_col}, {rhs_batch, rhs_row, rhs_col}, lhs,   \
        rhs, dst

#define MATMUL(name, BM, BN, BK, T, Out)                                                                     \
    RK_BLOCKS_KERNEL(256, 2) name(MATMUL_ARGUMENTS(T, Out)) {                                                \
        matmul<ThreadTiles<T, Out, BM, BN, BK>, T, Out>(MATMUL_VALUES);                                      \
    }

#define MATMUL_WIDE(name, BM, BN, BK, T, Out)                                                                \
    RK_BLOCKS_KERNEL(256, 2) name(MATMUL_ARGUMENTS(T, Out)) {                                                \
        matmul<WideTiles<T, BM, BN, BK>, T, Out>(MATMUL_VALUES);                                             \
    }

#include "instances/matmul.inc"

}  // namespace rk
