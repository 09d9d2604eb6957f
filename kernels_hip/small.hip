// small: linear algebra of few elements in one launch each. A wave has one matrix or several; a block is one wave.
#include "include/small_eig.hpp"
#include "include/small_qr.hpp"
#include "include/small_solve.hpp"
#include "include/small_svd.hpp"

namespace rk {

// The cross product of two vectors of three elements, whose steps are `a_step` and `b_step`; info is the dims of all but
// those and both operands' strides.
template <typename T>
RK_DEVICE void cross_small(u64 numel, u64 num_dims, const u64 *info, u64 a_step, u64 b_step, const T *a, const T *b,
                           T *out) {
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const auto at = strided_offsets<2>(i, numel, num_dims, info, info + num_dims);
        const T *x = a + at.of[0], *y = b + at.of[1];
        const T u[3] = {x[0], x[a_step], x[2 * a_step]}, v[3] = {y[0], y[b_step], y[2 * b_step]};
#pragma unroll
        for (u32 k = 0; k < 3; ++k) {
            const T first = times(u[(k + 1) % 3], v[(k + 2) % 3]), second = times(u[(k + 2) % 3], v[(k + 1) % 3]);
            if constexpr (is_complex<T>) {
                out[3 * i + k] = {first.re - second.re, first.im - second.im};
            } else {
                out[3 * i + k] = first - second;
            }
        }
    }
}

#define SOLVE(T)                                                                                                     \
    RK_BLOCK_KERNEL(wave_size)                                                                                       \
    solve_##T(u32 count, u64 num_dims, const u64 *info, u32 bits, u32 n, u32 columns, u64 a_row, u64 a_column,       \
              u64 b_row, u64 b_column, const T *a, const T *b, T *x, T *det, T *sign, real_of<T> *log_size,          \
              u64 *status) {                                                                                         \
        solve_small(count, num_dims, info, bits, {n, columns, {a_row, a_column}, {b_row, b_column}}, a, b, x, det,   \
                    sign, log_size, status);                                                                         \
    }
#define QR(T)                                                                                                        \
    RK_BLOCK_KERNEL(wave_size)                                                                                       \
    small_qr_##T(u32 count, u64 num_dims, const u64 *info, u32 bits, u32 rows, u32 columns, u32 kept, u64 a_row,     \
                 u64 a_column, const T *a, T *q, T *r) {                                                             \
        qr_small(count, num_dims, info, bits, rows, columns, kept, {a_row, a_column}, a, q, r);                      \
    }
#define SVD(T)                                                                                                       \
    RK_BLOCK_KERNEL(wave_size)                                                                                       \
    small_svd_##T(u32 count, u64 num_dims, const u64 *info, u32 bits, u32 rows, u32 columns, u32 kept, u64 a_row,    \
                  u64 a_column, f64 rtol, const T *a, real_of<T> *values, T *left, T *right, T *inverse, u64 *above, \
                  u32 sides, u64 b_row, u64 b_column, const T *b, T *x, real_of<T> *rest, real_of<T> *condition,     \
                  bool inverted, u64 *status) {                                                                      \
        svd_small(count, num_dims, info, bits, {rows, columns, kept}, {a_row, a_column}, rtol, a, values, left,      \
                  right, inverse, above, {b, {b_row, b_column}, sides, x, rest}, condition, inverted, status);       \
    }
#define EIG(name)                                                                                                    \
    RK_BLOCK_KERNEL(wave_size)                                                                                       \
    name(u32 count, u64 num_dims, const u64 *info, u32 type, u32 n, u64 a_row, u64 a_column, const u8 *a,            \
         u8 *values, u8 *vectors, u64 *status) {                                                                     \
        eig_small(count, num_dims, info, {type}, n, {a_row, a_column}, a, values, vectors, status);                  \
    }
#define CROSS(T)                                                                                                     \
    RK_KERNEL cross_##T(u64 numel, u64 num_dims, const u64 *info, u64 a_step, u64 b_step, const T *a, const T *b,    \
                        T *out) {                                                                                    \
        cross_small(numel, num_dims, info, a_step, b_step, a, b, out);                                               \
    }

#include "instances/small.inc"

}  // namespace rk
