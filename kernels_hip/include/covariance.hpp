// Covariances and correlations of few variables, by one block of whole waves. f16 and bf16 compute in f32 and round
// once.
#pragma once

#include "reductions.hpp"
#include "team.hpp"

namespace rk {

constexpr u32 most_variables = 64;

// The variables are rows of x, behind the first ones of y.
template <typename T>
struct Variables {
    const T *x;
    const T *y;
    u32 count;
    u32 first;  // of x
    u32 observations;
    u64 x_row;
    u64 x_column;
    u64 y_row;
    u64 y_column;

    RK_DEVICE arith<T> at(u32 variable, u32 i) const {
        const bool of_x = variable < first;
        const T *data = of_x ? x : y;
        const u64 row = of_x ? variable : variable - first;
        return widen(data[row * (of_x ? x_row : y_row) + i * (of_x ? x_column : y_column)]);
    }
};

// A correlation of rounded numbers may be beyond 1.
template <typename T>
RK_DEVICE T within_one(T x) {
    return x > 1 ? 1 : x < -1 ? -1 : x;
}

// A power of two that brings numbers up to this one, which is not below 0, to around 1; 1 for 0, infinity and NaN.
template <typename V>
RK_DEVICE V scale_to_one(V largest) {
    constexpr V up = is_same<V, f32> ? 0x1p100 : 0x1p900;
    const bool is_tiny = largest < 1 / up;
    const V lifted = is_tiny ? largest * up : largest;
    const V power = bit_cast<V>(bit_cast<bits_of<V>>(lifted) & bit_cast<bits_of<V>>(highest<V>()));
    return largest > 0 && largest < highest<V>() ? (is_tiny ? up : 1) / power : V(1);
}

// Each variable times a power of two, so that neither sums nor products overflow or vanish on the way.
template <typename T>
RK_DEVICE void covariance(const Variables<T> &of, f64 divisor, bool correlates, T *out) {
    using Value = arith<T>;
    using Sum = reduction::sum<Value>;
    using Largest = reduction::max<Value>;
    __shared__ Value means[most_variables], deviations[most_variables], scales[most_variables];
    const Value freedom = static_cast<Value>(divisor);
    u32 width = 1;
    while (width < of.observations && width < wave_size) {
        width *= 2;
    }
    const u32 rank = thread_x() % width, own = thread_x() / width, teams = block_size_x() / width;
#pragma unroll 1
    for (u32 start = 0; start < of.count; start += teams) {
        const u32 variable = start + own < of.count ? start + own : 0;
        Value largest = 0, sum = 0;
#pragma unroll 1
        for (u32 i = rank; i < of.observations; i += width) {
            largest = maximum(largest, fabs(of.at(variable, i)));
        }
        const Value scale = scale_to_one(lanes_join<Largest>(largest, width));
#pragma unroll 1
        for (u32 i = rank; i < of.observations; i += width) {
            sum += of.at(variable, i) * scale;
        }
        const Value mean = lanes_join<Sum>(sum, width) / static_cast<Value>(of.observations);
        if (start + own < of.count && rank == 0) {
            means[variable] = mean;
            scales[variable] = scale;
        }
    }
    barrier();
    const auto joined = [&](u32 a, u32 b) {
        Value sum = 0;
#pragma unroll 1
        for (u32 i = rank; i < of.observations; i += width) {
            sum += (of.at(a, i) * scales[a] - means[a]) * (of.at(b, i) * scales[b] - means[b]);
        }
        return lanes_join<Sum>(sum, width) / freedom;
    };
    if (correlates) {
#pragma unroll 1
        for (u32 start = 0; start < of.count; start += teams) {
            const u32 variable = start + own < of.count ? start + own : 0;
            const Value variance = joined(variable, variable);
            if (start + own < of.count && rank == 0) {
                deviations[variable] = of.count == 1 ? variance : sqrt(variance);
            }
        }
        barrier();
    }
    const u32 pairs = of.count * of.count;
#pragma unroll 1
    for (u32 start = 0; start < pairs; start += teams) {
        const u32 pair = start + own < pairs ? start + own : 0;
        const u32 a = pair / of.count, b = pair % of.count;
        Value found = joined(a, b);
        if (correlates) {
            found = of.count == 1 ? found / deviations[0] : within_one(found / deviations[a] / deviations[b]);
        } else {
            const Value by = scales[a] * scales[b];
            found = by > 0 && by < highest<Value>() ? found / by : found / scales[a] / scales[b];
        }
        if (start + own < pairs && rank == 0) {
            out[pair] = narrow<T>(found);
        }
    }
}

}  // namespace rk
