// The ways to multiply a tile, and which one a type takes on this target.
#pragma once

#include "gemm_matrix.hpp"

namespace rk {

// By every thread for itself, from steps staged k by k.
template <typename T, typename Acc, typename Shape>
struct ThreadTiles {
    using Sums = Accumulators<Acc, Shape>;
    using Left = Walk<T, Shape::rows, Shape::depth, Shape::threads>;
    using Right = Walk<T, Shape::columns, Shape::depth, Shape::threads>;
};

// From steps staged row by row.
template <typename T, typename RowSums, typename Shape>
struct RowTiles {
    using Sums = RowSums;
    using Left = BlockWalk<T, Shape::rows, Sums::depth, Shape::threads>;
    using Right = BlockWalk<T, Shape::columns, Sums::depth, Shape::threads>;
};

// Wave by wave on matrix cores; bytes into i32 four at a time; else by every thread for itself.
template <typename T, typename Acc, typename Shape>
RK_DEVICE auto tiles_for() {
    if constexpr (MatrixCore<T>::exists && sizeof(Acc) >= sizeof(i32)) {
        return RowTiles<T, MatrixAccumulators<T, Shape>, Shape>{};
    } else if constexpr (is_same<T, i8> && sizeof(Acc) >= sizeof(i32)) {
        return RowTiles<T, DotAccumulators<Shape>, Shape>{};
    } else {
        return ThreadTiles<T, Acc, Shape>{};
    }
}

}  // namespace rk
