// The mean of what softmax takes the target classes for, as a negative logarithm. f16 and bf16 compute in f32 and round
// once.
#pragma once

#include "any_ids.hpp"
#include "math.hpp"
#include "reductions.hpp"
#include "team.hpp"

namespace rk {

struct LogitSizes {
    u64 rows;
    u64 cols;
    u64 row_step;
    u64 col_step;
    u64 id_step;
};

// One block of whole waves, whose lanes share a row as far as they go.
template <typename T>
RK_DEVICE void cross_entropy(const LogitSizes &size, const AnyIds &ids, const T *logits, T *out, IdStatus *status) {
    using Value = arith<T>;
    using Sum = reduction::sum<Value>;
    __shared__ Value scratch[max_waves];
    report_outside(ids, size.rows, size.cols, status, [=](u64 i) { return i * size.id_step; });
    u32 width = 1;
    while (width < size.cols && width < wave_size) {
        width *= 2;
    }
    const u32 rank = thread_x() % width;
    const u32 teams = block_size_x() / width;
    Value total = 0;
#pragma unroll 1
    for (u64 first = 0; first < size.rows; first += teams) {
        const u64 row = first + thread_x() / width;
        const u64 cols = row < size.rows ? size.cols : 0;
        const T *line = logits + row * size.row_step;
        Value largest = lowest<Value>();
#pragma unroll 1
        for (u64 j = rank; j < cols; j += width) {
            largest = maximum(largest, widen(line[j * size.col_step]));
        }
        largest = lanes_join<reduction::max<Value>>(largest, width);
        const Value origin = largest == lowest<Value>() ? 0 : largest;  // two infinities have no difference
        Value sum = 0;
#pragma unroll 1
        for (u64 j = rank; j < cols; j += width) {
            sum += exp(widen(line[j * size.col_step]) - origin);
        }
        sum = lanes_join<Sum>(sum, width);
        if (rank == 0 && cols > 0) {
            const u64 place = ids.place(row * size.id_step, size.cols);
            const Value found = place < size.cols ? widen(line[place * size.col_step]) : Value(0);
            total += log(sum) - (found - largest);
        }
    }
    total = block_reduce<Sum>(total, scratch);
    if (thread_x() == 0) {
        *out = narrow<T>(total / static_cast<Value>(size.rows));
    }
}

}  // namespace rk
