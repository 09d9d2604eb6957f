// matmul: dst = lhs · rhs for batches of matrices of any strides, accumulated in f32, f64 or a wrapping integer; long inner
// axes may be split into parts, whose results a second pass adds.
#include "include/gemm_parts.hpp"
#include "include/gemm_tiles.hpp"
#include "include/gemv.hpp"

namespace rk {

template <typename T, typename Acc, typename Shape, typename Out, typename Finish>
RK_DEVICE void matmul(const Extents &whole, const Batch &batch, const Strides &lefts, const Strides &rights,
                      const T *lhs, const T *rhs, Out *dst, const Finish &finish) {
    using Tiles = decltype(tiles_for<T, Acc, Shape>());
    __shared__ typename Tiles::Sums::Staged lds[2 * Tiles::Sums::buffer] __attribute__((aligned(32)));
    const u32 tile_rows = static_cast<u32>((whole.m + Shape::rows - 1) / Shape::rows);
    const u32 tile_columns = static_cast<u32>((whole.n + Shape::columns - 1) / Shape::columns);
    const u32 per_matrix = tile_rows * tile_columns;  // 2^32 tiles would be 2^44 results
    const u64 count = per_matrix * batch.count * whole.parts();
#pragma unroll 1
    for (u64 work = block_x(); work < count; work += grid_x()) {
        const Extents size = whole.anew();
        const Strides left = lefts.anew();
        const Strides right = rights.anew();
        const u64 number = per_lane(divide(work, per_matrix));
        const TilePlace place = tile_place(static_cast<u32>(work - number * per_matrix), tile_rows, tile_columns);
        const Share share = size.share(number, batch);
        const BatchOffsets offset = batch.offsets(share.matrix, left, right);
        const u64 row = static_cast<u64>(uniform(place.row)) * Shape::rows;
        const u64 column = static_cast<u64>(uniform(place.column)) * Shape::columns;
        typename Tiles::Left a({lhs + offset.left + share.first * left.column, size.m, left.row, left.column}, row);
        typename Tiles::Right b({rhs + offset.right + share.first * right.row, size.n, right.column, right.row}, column);
        barrier();  // the buffers may still be read for the tile before
        const auto sums = multiply_tile<typename Tiles::Sums>(a, b, uniform64(share.depth), lds);
        sums.store(Corner<Out, Finish>(dst + number * size.m * size.n, size.m, size.n, row, column, finish));
    }
}

#define PRODUCT_ARGUMENTS(T)                                                                                 \
    u64 m, u64 n, u64 k, u64 part, u64 batch, u64 lhs_batch, u64 lhs_row, u64 lhs_col, u64 rhs_batch,        \
        u64 rhs_row, u64 rhs_col, u64 num_dims, const u64 *info, const T *lhs, const T *rhs

#define PRODUCT_VALUES                                                                                       \
    {m, n, k, part}, {batch, per_lane(num_dims), per_lane(info)}, {per_lane(lhs_batch), lhs_row, lhs_col},   \
        {per_lane(rhs_batch), rhs_row, rhs_col}, per_lane(lhs), per_lane(rhs)

#define MATMUL(name, T, Out, M, N, K, M1, N1)                                                                \
    RK_BLOCKS_KERNEL((TileShape<M, N, K, M1, N1>::threads), (M1 * N1 > 64 ? 1 : 2))                          \
    name(PRODUCT_ARGUMENTS(T), Out *dst) {                                                                   \
        matmul<T, product<Out>, TileShape<M, N, K, M1, N1>>(PRODUCT_VALUES, per_lane(dst), Rounded<Out>{});  \
    }

#define GEMM(name, T, Acc, Out, M, N, K, M1, N1)                                                             \
    RK_BLOCKS_KERNEL((TileShape<M, N, K, M1, N1>::threads), 2)                                               \
    name(PRODUCT_ARGUMENTS(T), const f32 *scale_lhs, const f32 *scale_rhs, const f32 *bias, Out *dst) {      \
        matmul<T, Acc, TileShape<M, N, K, M1, N1>>(PRODUCT_VALUES, per_lane(dst),                            \
                                                   scaled<Out>(scale_lhs, scale_rhs, bias));                 \
    }

#define MATVEC(name, Way, Vectors, T, Out)                                                                   \
    RK_BLOCKS_KERNEL(gemv_threads, 2) name(PRODUCT_ARGUMENTS(T), const Out *bias, Out *dst) {                \
        skinny<Way<Vectors, T, Out>>(PRODUCT_VALUES, per_lane(bias), per_lane(dst));                         \
    }

#define MATMUL_SUM(name, Acc, Out)                                                                           \
    RK_KERNEL name(u64 m, u64 n, u64 batch, u64 parts, const f32 *scale_lhs, const f32 *scale_rhs,           \
                   const f32 *bias, const Acc *src, Out *dst) {                                              \
        add_parts<Out>(m, n, batch, parts, scaled<Out>(scale_lhs, scale_rhs, bias), src, dst);               \
    }

#define MATMUL_SUM_PLAIN(name, Acc, Out)                                                                     \
    RK_KERNEL name(u64 m, u64 n, u64 batch, u64 parts, const Acc *src, Out *dst) {                           \
        add_parts<Out>(m, n, batch, parts, Rounded<Out>{}, src, dst);                                        \
    }

#include "instances/matmul.inc"

}  // namespace rk
