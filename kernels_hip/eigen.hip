// eigen: eigenvalues and singular values with their vectors, a workgroup for each matrix.
#include "include/eigen_general.hpp"
#include "include/eigen_hermitian.hpp"
#include "include/singular.hpp"

namespace rk {

constexpr u32 eigen_block_size = 256;

#define EIGH(T, Real)                                                                                               \
    RK_BLOCK_KERNEL(eigen_block_size)                                                                               \
    eigh_##T(u64 count, u32 n, const T *x, T *work, Real *values, T *vectors, u64 *status) {                        \
        eigen_hermitian<T>(count, n, x, work, values, vectors, status);                                             \
    }
#define SVD(T, Real, Wide)                                                                                          \
    RK_BLOCK_KERNEL(eigen_block_size)                                                                               \
    svd_##T(u64 count, u32 rows, u32 columns, u32 kept, const T *x, Wide *work, Real *values, T *left, T *right,    \
            u64 *status) {                                                                                          \
        singular<T>(count, rows, columns, kept, x, work, values, left, right, status);                              \
    }
#define EIG(T)                                                                                                      \
    RK_BLOCK_KERNEL(eigen_block_size)                                                                               \
    eig_##T(u64 count, u32 n, bool real, const T *x, T *work, T *values, T *vectors, u64 *status) {                 \
        eigen_general(count, n, real, x, work, values, vectors, status);                                            \
    }

#include "instances/eigen.inc"

}  // namespace rk
