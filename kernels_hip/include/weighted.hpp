// Sums of a row by weights, and of the weights themselves.
#pragma once

#include "rows.hpp"

namespace rk {

template <typename T>
struct Weighted {
    using Value = arith<T>;
    struct State {
        TwoSums<Value> total;
        Value weight;
    };
    RK_DEVICE static State identity() { return {{0, 0}, 0}; }
    RK_DEVICE static State join(const State &x, const State &y) {
        return {x.total + y.total, x.weight + y.weight};
    }
};

// out[row] = Σ w·x / Σ w, of short floats rounded once: info is the dims and the strides of both.
template <typename T>
RK_DEVICE void average(u64 numel, u64 cols, u64 num_dims, const u64 *info, const T *x, const T *weights, T *out) {
    using Op = Weighted<T>;
    using State = typename Op::State;
    reduce_items<Op>(
        team_along_x(), divide(numel, cols, numel <= 0xffffffffu),
        [&](const Team &team, u64 row) {
            State state = Op::identity();
#pragma unroll 1
            for (u64 i = team.rank; i < cols; i += team.width) {
                Offsets<2> at = {{row * cols + i, row * cols + i}};
                if (info != nullptr) {
                    at = strided_offsets<2>(row * cols + i, numel, num_dims, info, info + num_dims);
                }
                const arith<T> weight = widen(weights[at.of[1]]), value = widen(x[at.of[0]]);
                state = Op::join(state, State{{value * weight, value * TwoSums<arith<T>>::scale * weight}, weight});
            }
            return state;
        },
        [&](u64 row, const State &state) { out[row] = narrow<T>(state.total.over(state.weight)); });
}

}  // namespace rk
