// statistics: reductions of rows that pass over NaN, sums of squares, averages by weights, covariances, counts in bins.
#include "include/covariance.hpp"
#include "include/histogram.hpp"
#include "include/nan_reductions.hpp"
#include "include/rows.hpp"
#include "include/squares.hpp"
#include "include/weighted.hpp"

namespace rk {

#define REDUCTION(op, T)                                                                                            \
    RK_BLOCKS_KERNEL(1024, 1) fast_##op##_##T(u64 numel, u64 cols, u64 num_dims, const u64 *info, const T *src,     \
                                              T *dst) {                                                             \
        reduce_rows<reduction::op<T>>(Rows<T>(numel, cols, num_dims, info, src), dst);                              \
    }
// Of `divisor` and `root` the operation says what they are: dst[row] = its result by both.
#define MOMENT(op, T)                                                                                               \
    RK_BLOCKS_KERNEL(1024, 1) fast_##op##_##T(u64 numel, u64 cols, u64 num_dims, const u64 *info, f64 divisor,      \
                                              bool root, const T *src, T *dst) {                                    \
        using Op = reduction::op<T>;                                                                                \
        reduce_rows<Op>(Rows<T>(numel, cols, num_dims, info, src), [=](u64 row, const Op::State &state) {           \
            dst[row] = Op::result(state, divisor, root);                                                            \
        });                                                                                                         \
    }
#define PARTS(op, T)                                                                                                \
    RK_BLOCK_KERNEL(1024) split_##op##_##T(u64 numel, u64 cols, u64 part, u64 num_dims, const u64 *info,            \
                                           const T *src, reduction::op<T>::State *parts) {                          \
        reduce_parts<reduction::op<T>>(Rows<T>(numel, cols, num_dims, info, src), part, parts);                     \
    }
#define REDUCTION_MERGE(op, T)                                                                                      \
    RK_BLOCK_KERNEL(1024) merge_##op##_##T(u64 rows, u64 cols, u64 parts_per_row,                                   \
                                           const reduction::op<T>::State *parts, T *dst) {                          \
        merge_parts<reduction::op<T>>(rows, cols, parts_per_row, parts, dst);                                       \
    }
#define MOMENT_MERGE(op, T)                                                                                         \
    RK_BLOCK_KERNEL(1024) merge_##op##_##T(u64 rows, u64, u64 parts_per_row, f64 divisor, bool root,                \
                                           const reduction::op<T>::State *parts, T *dst) {                          \
        using Op = reduction::op<T>;                                                                                \
        merge_parts<Op>(rows, parts_per_row, parts, [=](u64 row, const Op::State &state) {                          \
            dst[row] = Op::result(state, divisor, root);                                                            \
        });                                                                                                         \
    }
#define AVERAGE(T)                                                                                                  \
    RK_BLOCK_KERNEL(1024) average_##T(u64 numel, u64 cols, u64 num_dims, const u64 *info, const T *x,               \
                                      const T *weights, T *out) {                                                   \
        average(numel, cols, num_dims, info, x, weights, out);                                                      \
    }
#define COVARIANCE(T)                                                                                               \
    RK_BLOCK_KERNEL(256) covariance_##T(u32 count, u32 first, u32 observations, u64 x_row, u64 x_column, u64 y_row, \
                                        u64 y_column, f64 divisor, bool correlates, const T *x, const T *y,         \
                                        T *out) {                                                                   \
        const Variables<T> variables = {x, y, count, first, observations, x_row, x_column, y_row, y_column};        \
        covariance(variables, divisor, correlates, out);                                                            \
    }
#define HISTOGRAM(T)                                                                                                \
    RK_BLOCK_KERNEL(256) histogram_##T(RK_LAYOUT, u64 bins, f64 low, f64 step, f64 high, const T *given,            \
                                       const T *x, T *places, u64 *counts) {                                        \
        histogram<T>({numel, num_dims, info}, {given, bins, low, step, high}, x, places, counts);                   \
    }

#include "instances/statistics.inc"

}  // namespace rk
