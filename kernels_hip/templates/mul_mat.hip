// ggml's matrix product of fixed shape: out[m, n] = Σₖ a[k, m] · b[k, n] for each of b's matrices; a's repeat along dims
// that they divide. Sums are f32 (integers: i32, wrapping), in the tiles of the generic product, whose sizes and strides
// are constants here.
#include "include/gemm_tiles.hpp"
#include "templates/shape.hpp"

namespace rk {

struct ggml_op_mul_mat {};

// Where a tile's results go in a matrix of any strides.
template <typename Out, u64 RowStride, u64 ColumnStride>
struct Scattered {
    Out *first;
    u32 rows_left;
    u32 columns_left;

    template <typename Acc>
    RK_DEVICE void store_one(u32 row, u32 column, Acc sum) const {
        if (row < rows_left && column < columns_left) {
            first[row * RowStride + column * ColumnStride] = narrow<Out>(static_cast<arith<Out>>(sum));
        }
    }
    template <typename Acc>
    RK_DEVICE void store(u32 row, u32 column, const Acc *sums) const {
#pragma unroll
        for (u32 j = 0; j < quad; ++j) {
            store_one(row, column + j, sums[j]);
        }
    }
};

// The rows of the product are b's, its columns a's.
template <typename Tile, typename T, typename Out, typename A, typename PitchA, typename B, typename PitchB, typename PitchOut>
RK_DEVICE void fixed_product(const T *a, const T *b, Out *out) {
    using Tiles = decltype(tiles_for<T, product<Out>, Tile>());
    constexpr u64 depth = A::dims[0], rows = B::dims[1], columns = A::dims[1], matrices = B::dims[2] * B::dims[3];
    constexpr u32 tile_rows = (rows + Tile::rows - 1) / Tile::rows;
    constexpr u32 tile_columns = (columns + Tile::columns - 1) / Tile::columns;
    constexpr u32 per_matrix = tile_rows * tile_columns;
    constexpr bool dense = PitchOut::strides[0] == 1 && PitchOut::strides[1] == columns;
    __shared__ typename Tiles::Sums::Staged lds[2 * Tiles::Sums::buffer] __attribute__((aligned(32)));
#pragma unroll 1
    for (u64 work = block_x(); work < per_matrix * matrices; work += grid_x()) {
        const u64 matrix = work / per_matrix;
        const TilePlace place = tile_place(static_cast<u32>(work - matrix * per_matrix), tile_rows, tile_columns);
        const u64 row = static_cast<u64>(place.row) * Tile::rows, column = static_cast<u64>(place.column) * Tile::columns;
        const u64 i = matrix % B::dims[2], j = matrix / B::dims[2];
        const T *from_a = a + i % A::dims[2] * PitchA::strides[2] + j % A::dims[3] * PitchA::strides[3];
        const T *from_b = b + i * PitchB::strides[2] + j * PitchB::strides[3];
        Out *to = out + i * PitchOut::strides[2] + j * PitchOut::strides[3];
        typename Tiles::Left left({from_b, rows, PitchB::strides[1], PitchB::strides[0]}, row);
        typename Tiles::Right right({from_a, columns, PitchA::strides[1], PitchA::strides[0]}, column);
        barrier();  // the buffers may still be read for the tile before
        const auto sums = multiply_tile<typename Tiles::Sums>(left, right, depth, lds);
        if constexpr (dense) {
            sums.store(Corner<Out>(to, rows, columns, row, column));
        } else {
            using Target = Scattered<Out, PitchOut::strides[1], PitchOut::strides[0]>;
            sums.store(Target{to + row * PitchOut::strides[1] + column * PitchOut::strides[0], left_of(rows, row),
                              left_of(columns, column)});
        }
    }
}

}  // namespace rk

#define RK_SPECIALIZE(name, Op, T, A, PitchA, B, PitchB, Out, ShapeOut, PitchOut, M, N, K, M1, N1)                 \
    RK_BLOCKS_KERNEL((rk::TileShape<M, N, K, M1, N1>::threads), (M1 * N1 > 64 ? 1 : 2))                            \
    name(const rk::T *a, const rk::T *b, rk::Out *out) {                                                           \
        rk::fixed_product<rk::TileShape<M, N, K, M1, N1>, rk::T, rk::Out, A, PitchA, B, PitchB, PitchOut>(a, b, out); \
    }
