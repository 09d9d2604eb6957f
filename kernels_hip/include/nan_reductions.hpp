// The reductions that pass over NaN, in the form of reductions.hpp. Where nothing else is there a sum is 0, and all
// others are NaN.
#pragma once

#include "squares.hpp"

namespace rk {

template <typename T>
struct Mean {
    u64 count;
    TwoSums<T> sum;
};

// Squared distances from the mean of those they are of: two of these join by Chan's formula.
template <typename T>
struct Spread {
    u64 count;
    T mean;
    ThreeSums<T> squares;
};

namespace reduction {

template <typename T>
struct nansum : sum<T> {
    RK_DEVICE static total<T> element(T x, u64) {
        const arith<T> value = widen(x);
        return is_nan(value) ? 0 : value;
    }
};

template <typename T>
struct nanmean {
    static constexpr bool idempotent = false;
    static constexpr u32 in_flight = 1;  // choosing between states would spill them
    using State = Mean<arith<T>>;
    using Out = T;
    RK_DEVICE static State identity() { return {0, {0, 0}}; }
    RK_DEVICE static State element(T x, u64) {
        const bool counts = !is_nan(widen(x));
        const arith<T> value = counts ? widen(x) : 0;
        return {counts, {value, value * TwoSums<arith<T>>::scale}};
    }
    RK_DEVICE static State join(const State &x, const State &y) { return {x.count + y.count, x.sum + y.sum}; }
    RK_DEVICE static Out result(const State &state, u64) {
        return narrow<T>(state.sum.over(static_cast<arith<T>>(state.count)));
    }
};

template <typename T, bool Largest>
struct nan_extreme {
    static constexpr bool idempotent = true;
    static constexpr u32 in_flight = 4;
    using State = arith<T>;
    using Out = T;
    RK_DEVICE static State identity() { return static_cast<State>(__builtin_nanf("")); }
    RK_DEVICE static State element(T x, u64) { return widen(x); }
    RK_DEVICE static State join(State x, State y) {
        return is_nan(y) || (Largest ? x >= y : x <= y) ? x : y;
    }
    RK_DEVICE static Out result(State state, u64) { return narrow<T>(state); }
};

template <typename T>
using nanmax = nan_extreme<T, true>;
template <typename T>
using nanmin = nan_extreme<T, false>;

template <typename T>
struct nanvar {
    static constexpr bool idempotent = false;
    static constexpr u32 in_flight = 1;
    using Value = arith<T>;
    using State = Spread<Value>;
    RK_DEVICE static State identity() { return {0, 0, {0, 0, 0}}; }
    // An infinity is no distance from itself: NaN.
    RK_DEVICE static State element(T x, u64) {
        const Value value = widen(x);
        const bool counts = !is_nan(value);
        const Value nothing = counts ? value - value : 0;
        return {counts, counts ? value : 0, {nothing, nothing, nothing}};
    }
    RK_DEVICE static State join(const State &x, const State &y) {
        const u64 count = x.count + y.count;
        const Value share = count == 0 ? 0 : static_cast<Value>(y.count) / static_cast<Value>(count);
        const Value distance = y.mean - x.mean, weight = static_cast<Value>(x.count) * share;
        // What is empty adds 0, however far its mean of 0 is.
        const ThreeSums<Value> apart = weight == 0 ? ThreeSums<Value>{0, 0, 0} : three_squares(distance, weight);
        return {count, x.mean + distance * share, x.squares + y.squares + apart};
    }
    template <u32 Width>
    RK_DEVICE static State pack(const Pack<T, Width> &pack, u64) {
        u32 count = 0;
        Value first = 0, sum = 0;
        ThreeSums<Value> squares = {0, 0, 0};
#pragma unroll
        for (u32 j = 0; j < Width; ++j) {
            const Value value = widen(pack.lane[j]);
            first = count == 0 && !is_nan(value) ? value : first;
            count += is_nan(value) ? 0 : 1;
            sum += is_nan(value) ? 0 : value - first;  // of large numbers not the sum itself, which may overflow
        }
        const Value mean = count == 0 ? 0 : first + sum / static_cast<Value>(count);
#pragma unroll
        for (u32 j = 0; j < Width; ++j) {
            const Value value = widen(pack.lane[j]), distance = is_nan(value) ? 0 : value - mean;
            squares = squares + three_squares(distance, Value(1));
        }
        return {count, mean, squares};
    }
    RK_DEVICE static T result(const State &state, f64 correction, bool root) {
        const Value freedom = static_cast<Value>(static_cast<f64>(state.count) - correction);
        return narrow<T>(mean_square(state.squares, freedom > 0 ? freedom : static_cast<Value>(__builtin_nanf("")), root));
    }
};

}  // namespace reduction
}  // namespace rk
