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

template <typename T>
RK_DEVICE void covariance(const Variables<T> &of, f64 divisor, bool correlates, T *out) {
    using Value = arith<T>;
    using Sum = reduction::sum<Value>;
    __shared__ Value means[most_variables], deviations[most_variables];
    const Value by = static_cast<Value>(divisor);
    u32 width = 1;
    while (width < of.observations && width < wave_size) {
        width *= 2;
    }
    const u32 rank = thread_x() % width, own = thread_x() / width, teams = block_size_x() / width;
#pragma unroll 1
    for (u32 start = 0; start < of.count; start += teams) {
        const u32 variable = start + own < of.count ? start + own : 0;
        Value sum = 0;
#pragma unroll 1
        for (u32 i = rank; i < of.observations; i += width) {
            sum += of.at(variable, i);
        }
        const Value mean = lanes_join<Sum>(sum, width) / static_cast<Value>(of.observations);
        if (start + own < of.count && rank == 0) {
            means[variable] = mean;
        }
    }
    barrier();
    const auto joined = [&](u32 a, u32 b) {
        Value sum = 0;
#pragma unroll 1
        for (u32 i = rank; i < of.observations; i += width) {
            sum += (of.at(a, i) - means[a]) * (of.at(b, i) - means[b]);
        }
        return lanes_join<Sum>(sum, width) / by;
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
        }
        if (start + own < pairs && rank == 0) {
            out[pair] = narrow<T>(found);
        }
    }
}

}  // namespace rk
