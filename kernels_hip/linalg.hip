// linalg: factorizations of batches of matrices in place, for panels of up to `panel` columns, and solutions of triangular
// systems of up to as many equations. A block or a thread has a matrix, or some columns of one, to itself. Rows are
// contiguous.
#include "include/factors.hpp"
#include "include/determinant.hpp"
#include "include/reflections.hpp"

namespace rk {

#define LU(name, Team, T)                                                                                            \
    RK_BLOCK_KERNEL(256) name(u64 rows, u64 columns, u64 batch, u64 first, u64 stride, u64 step,                     \
                              u64 pivots_step, T *a, i32 *pivots, u64 *status) {                                     \
        factor_lu<Team>(rows, columns, batch, first, stride, step, pivots_step, a, pivots, status);                  \
    }

#define CHOLESKY(name, Team, T)                                                                                      \
    RK_BLOCK_KERNEL(256) name(u64 n, u64 batch, u64 first, u64 stride, u64 step, T *a, u64 *status) {                \
        factor_cholesky<Team>(n, batch, first, stride, step, a, status);                                             \
    }

#define SWAP_ROWS(T)                                                                                                 \
    RK_BLOCK_KERNEL(256) swap_rows_##T(u64 columns, u64 gap, u64 gap_width, u64 batch, u64 first, u64 count,         \
                                       u64 stride, u64 step, u64 pivots_step, const i32 *pivots, T *a) {             \
        swap_rows(columns, gap, gap_width, batch, first, count, stride, step, pivots_step, pivots, a);               \
    }

#define TRIANGULAR(name, Team, T)                                                                                    \
    RK_BLOCK_KERNEL(256) name(u64 n, u64 columns, u64 batch, u64 t_row, u64 t_column, u64 t_step,                    \
                              u64 x_row, u64 x_column, u64 x_step, bool backward, bool unit,                         \
                              bool conjugated, const T *t, T *x) {                                                   \
        solve_triangular<Team>(n, columns, batch, {t_row, t_column, t_step}, {x_row, x_column, x_step},              \
                            backward, unit, conjugated, t, x);                                                       \
    }

#define SUBTRACT_BLOCK(T)                                                                                            \
    RK_BLOCK_KERNEL(256) subtract_block_##T(u64 rows, u64 columns, u64 batch, u64 stride, u64 step,                  \
                                            const T *b, T *a) {                                                      \
        subtract_block(rows, columns, batch, stride, step, b, a);                                                    \
    }

#define DETERMINANT(name, Team, T)                                                                                   \
    RK_BLOCK_KERNEL(256) name(u64 n, u64 batch, const T *lu, const i32 *pivots, T *det, T *sign,                     \
                              real_of<T> *log_size) {                                                                \
        determinants<Team>(n, batch, lu, pivots, det, sign, log_size);                                               \
    }

#define QR(name, Team, T)                                                                                            \
    RK_BLOCK_KERNEL(256) name(u64 rows, u64 columns, u64 batch, u64 stride, u64 step, u64 tau_step, T *a,            \
                              T *tau) {                                                                              \
        factor_qr<Team>(rows, columns, batch, stride, step, tau_step, a, tau);                                       \
    }

#define REFLECT(name, Team, T)                                                                                       \
    RK_BLOCK_KERNEL(256) name(u64 rows, u64 columns, u64 count, u64 batch, u64 v_stride, u64 v_step,                 \
                              u64 tau_step, u64 stride, u64 step, bool backward, const T *v,                         \
                              const T *tau, T *x) {                                                                  \
        reflect<Team>(rows, columns, count, batch, {v_stride, v_step, tau_step}, stride, step, backward, v, tau, x); \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/linalg.inc"

}  // namespace rk
