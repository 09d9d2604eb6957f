// Sums of squares that neither overflow nor vanish where their root is a number.
#pragma once

#include "reductions.hpp"
#include "team.hpp"

namespace rk {

// Powers of two that bring what is large or small to where its squares are numbers, and the sums of squares between
// which no such power is needed.
template <typename V>
struct SquareRange {
    static constexpr V up = 0x1p80f;
    static constexpr V down = 0x1p-80f;
    static constexpr V lowest = 0x1p-90f;
    static constexpr V highest = 0x1p100f;
    static constexpr V negligible = 0x1p-60f;  // beside which sums below the lowest change no digit
    static constexpr V near_zero = 0x1p-20f;
};
template <>
struct SquareRange<f64> {
    static constexpr f64 up = 0x1p600;
    static constexpr f64 down = 0x1p-600;
    static constexpr f64 lowest = 0x1p-900;
    static constexpr f64 highest = 0x1p900;
    static constexpr f64 negligible = 0x1p-700;
    static constexpr f64 near_zero = 0x1p-380;
};

// The power of two for values whose squares have this sum; of NaN, which infinities may give, the one for large ones.
template <typename V>
RK_DEVICE V scale_of_squares(V squares) {
    using Range = SquareRange<V>;
    return !(squares <= Range::highest) ? Range::down : squares < Range::lowest ? Range::up : V(1);
}

// Values times `scale`: the sum of their squares.
template <typename V>
struct ScaledSquares {
    V sum;
    V scale;
};

// Of values times `scale`: how many, their mean, and the sum of their squared distances from it.
template <typename V>
struct ScaledMoments {
    V count;
    V mean;
    V squares;
    V scale;
};

template <typename V>
RK_DEVICE V least_scale(V scale) {
    return lanes_join<reduction::min<V>>(scale, max_block_waves);
}

// A team's sum of squares, where sum(scale) is a thread's share of it. What `floor` stands beside may vanish. Each wave
// finds its own scale; waves meet once.
template <typename V, typename Sum>
RK_DEVICE ScaledSquares<V> team_squares(Team &team, V floor, Sum sum) {
    using Total = reduction::sum<V>;
    using Range = SquareRange<V>;
    const u32 lanes = lanes_of(team);
    V squares = lanes_join<Total>(sum(V(1)), lanes);
    V scale = scale_of_squares(squares);
    scale = scale > 1 && floor >= Range::negligible ? V(1) : scale;
    if (ballot(scale != 1) != 0) {
        squares = lanes_join<Total>(sum(scale), lanes);
    }
    if (team.width > wave_size) {
        const auto other = exchange_waves(team, ScaledSquares<V>{squares, scale}, ScaledSquares<V>{0, Range::up});
        scale = least_scale(other.scale);
        const V by = scale / other.scale;
        squares = lanes_join<Total>(other.sum * by * by, max_block_waves);
    }
    return {squares, scale};
}

// A team's moments, where moments(scale) are those of a wave's lanes: two passes, the mean and then the distances from
// it, so that a large mean costs no digits. The squares of waves move from their means to the common one.
template <typename V, typename Moments>
RK_DEVICE ScaledMoments<V> team_moments(Team &team, V count, V floor, Moments moments) {
    using Total = reduction::sum<V>;
    using Range = SquareRange<V>;
    ScaledMoments<V> found = moments(V(1));
    V scale = scale_of_squares(found.squares);
    scale = scale > 1 && (floor >= Range::negligible || fabs(found.mean) > Range::near_zero) ? V(1) : scale;
    if (ballot(scale != 1) != 0) {
        found = moments(scale);
    }
    if (team.width > wave_size) {
        const auto other = exchange_waves(team, found, ScaledMoments<V>{0, 0, 0, Range::up});
        found.scale = least_scale(other.scale);
        const V by = found.scale / other.scale;
        const V mean = other.mean * by;
        found.mean = lanes_join<Total>(mean * (other.count / count), max_block_waves);
        const V apart = mean - found.mean;
        found.squares = lanes_join<Total>(other.squares * by * by + other.count * apart * apart, max_block_waves);
        found.count = count;
    }
    return found;
}

// A wave's moments of elements that each(take) hands to a thread one by one.
template <typename V, typename Each>
RK_DEVICE ScaledMoments<V> moments_of_lanes(u32 lanes, V scale, Each each) {
    using Total = reduction::sum<V>;
    u64 own = 0;
    V sum = 0;
    V squares = 0;
    each([&](V x) {
        sum += x * scale;
        ++own;
    });
    const V count = lanes_join<Total>(static_cast<V>(own), lanes);
    sum = lanes_join<Total>(sum, lanes);
    const V mean = count > 0 ? sum / count : 0;
    each([&](V x) {
        const V distance = fma(x, scale, -mean);
        squares += distance * distance;
    });
    return {count, mean, lanes_join<Total>(squares, lanes), scale};
}

// What squares are summed as where threads and parts join by pairs: as they are, and of values scaled up and down.
template <typename V>
struct ThreeSums {
    V plain;
    V up;
    V down;

    RK_DEVICE ThreeSums operator+(const ThreeSums &other) const {
        return {plain + other.plain, up + other.up, down + other.down};
    }
};

template <typename V>
RK_DEVICE ThreeSums<V> three_squares(V x, V weight) {
    const V up = x * SquareRange<V>::up, down = x * SquareRange<V>::down;
    return {x * (x * weight), up * (up * weight), down * (down * weight)};
}

// The sum over a divisor, or the root of that.
template <typename V>
RK_DEVICE V mean_square(const ThreeSums<V> &sums, V divisor, bool root) {
    const V scale = scale_of_squares(sums.plain);
    const V sum = scale == 1 ? sums.plain : scale > 1 ? sums.up : sums.down;
    const V mean = sum / divisor, back = 1 / scale;
    return root ? sqrt(mean) * back : mean * back * back;
}

namespace reduction {

template <typename T>
struct squares {
    static constexpr bool idempotent = false;
    static constexpr u32 in_flight = 1;  // choosing between states would spill them
    using Value = arith<T>;
    using State = ThreeSums<Value>;
    using Out = T;
    RK_DEVICE static State identity() { return {0, 0, 0}; }
    RK_DEVICE static State element(T x, u64) {
        return three_squares(static_cast<Value>(widen(x)), Value(1));
    }
    RK_DEVICE static State join(const State &x, const State &y) { return x + y; }
    RK_DEVICE static T result(const State &state, f64 divisor, bool root) {
        return narrow<T>(mean_square(state, static_cast<Value>(divisor), root));
    }
};

}  // namespace reduction
}  // namespace rk
