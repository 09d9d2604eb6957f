// reduce: reductions of the last axes of a strided tensor, whole or in two passes; running totals; softmax, the norms
// and rotary embeddings of contiguous rows.
#include "include/normalize.hpp"
#include "include/rope.hpp"
#include "include/scan.hpp"

namespace rk {

// One block, or NVIDIA's assembler spills the loads in flight to have two of 1024 threads side by side.
#define FAST(op, T)                                                                                          \
    RK_BLOCKS_KERNEL(1024, 1) fast_##op##_##T(u64 numel, u64 el_per_block, u64 num_dims,                     \
                                              const u64 *info, const stored<T> *src,                         \
                                              reduction::op<stored<T>>::Out *dst) {                          \
        const Rows<stored<T>> rows(numel, el_per_block, num_dims, info, src);                                \
        reduce_rows<reduction::op<stored<T>>>(rows, dst);                                                    \
    }

#define SPLIT(op, T)                                                                                         \
    RK_BLOCK_KERNEL(1024) split_##op##_##T(u64 numel, u64 cols, u64 part, u64 num_dims,                      \
                                           const u64 *info, const stored<T> *src,                            \
                                           reduction::op<stored<T>>::State *parts) {                         \
        const Rows<stored<T>> rows(numel, cols, num_dims, info, src);                                        \
        reduce_parts<reduction::op<stored<T>>>(rows, part, parts);                                           \
    }

#define MERGE(op, T)                                                                                         \
    RK_BLOCK_KERNEL(1024) merge_##op##_##T(u64 rows, u64 cols, u64 parts_per_row,                            \
                                           const reduction::op<stored<T>>::State *parts,                     \
                                           reduction::op<stored<T>>::Out *dst) {                             \
        merge_parts<reduction::op<stored<T>>>(rows, cols, parts_per_row, parts, dst);                        \
    }

#define SUM_AXES(T)                                                                                          \
    RK_BLOCK_KERNEL(1024) sum_##T(u64 numel, u64 num_dims, u64 num_sum_dims,                                 \
                                  const u64 *info, const T *inp, T *out) {                                   \
        sum_axes(numel, num_dims, num_sum_dims, info, inp, out);                                             \
    }

#define SCAN(op, T)                                                                                          \
    RK_BLOCK_KERNEL(1024) cum##op##_##T(u64 left, u64 n, u64 right, u64 part,                                \
                                        const total<T> *carry, const T *src, T *dst) {                       \
        scan<reduction::op<T>>(left, n, right, part, carry, src, dst);                                       \
    }

#define SOFTMAX(T)                                                                                           \
    RK_BLOCK_KERNEL(1024) softmax_##T(const T *src, T *dst, i32 n_cols) {                                    \
        normalize_block_row(n_cols, src, dst, Softmax<T, false>{});                                          \
    }

// The same with the number of rows, so that a block takes several: of up to `threads`, `blocks` of which are to overlap.
#define SOFTMAX_ROWS(name, is_log, threads, blocks, T)                                                       \
    RK_BLOCKS_KERNEL(threads, blocks) name##_rows_##T(u64 rows, u64 cols, const T *src, T *dst) {            \
        normalize_rows(rows, cols, src, dst, Softmax<T, is_log>{});                                          \
    }

#define RMSNORM(T)                                                                                           \
    RK_BLOCK_KERNEL(1024) rmsnorm_##T(const T *src, T *dst, const T *alpha, i32 n_cols,                      \
                                      i32, f32 eps) {                                                        \
        normalize_block_row(n_cols, src, dst, RmsNorm<T>{{alpha, nullptr}, eps});                            \
    }

#define RMSNORM_ROWS(threads, blocks, T)                                                                     \
    RK_BLOCKS_KERNEL(threads, blocks) rmsnorm_rows_##T(u64 rows, u64 cols, f64 eps, const T *src,            \
                                                       const T *alpha, T *dst) {                             \
        const RmsNorm<T> norm{{alpha, nullptr}, static_cast<arith<T>>(eps)};                                 \
        normalize_rows(rows, cols, src, dst, norm);                                                          \
    }

#define LAYERNORM(T)                                                                                         \
    RK_BLOCK_KERNEL(1024) layernorm_##T(const T *src, T *dst, const T *alpha, const T *beta,                 \
                                        i32 n_cols, i32, f32 eps) {                                          \
        normalize_block_row(n_cols, src, dst, LayerNorm<T>{{alpha, beta}, eps});                             \
    }

#define LAYERNORM_ROWS(threads, blocks, T)                                                                   \
    RK_BLOCKS_KERNEL(threads, blocks) layernorm_rows_##T(u64 rows, u64 cols, f64 eps, const T *src,          \
                                                         const T *alpha, const T *beta, T *dst) {            \
        const LayerNorm<T> norm{{alpha, beta}, static_cast<arith<T>>(eps)};                                  \
        normalize_rows(rows, cols, src, dst, norm);                                                          \
    }

#define ROPE(T)                                                                                              \
    RK_BLOCK_KERNEL(1024) rope_##T(const T *src, const T *cos, const T *sin, T *dst,                         \
                                   u32 bh, u32 td, u32 d, u32 stride_b) {                                    \
        rope_halves(Rope<T>{src, cos, sin, dst, stride_b}, bh, td, d);                                       \
    }

#define ROPE_I(T)                                                                                            \
    RK_BLOCK_KERNEL(1024) rope_i_##T(const T *src, const T *cos, const T *sin, T *dst,                       \
                                     u32 bh, u32 td, u32 stride_b) {                                         \
        rope_interleaved(Rope<T>{src, cos, sin, dst, stride_b}, bh, td);                                     \
    }

#define ROPE_THD(T)                                                                                          \
    RK_BLOCK_KERNEL(1024) rope_thd_##T(const T *src, const T *cos, const T *sin, T *dst,                     \
                                       u32 b, u32 t, u32 h, u32 d, u32 stride_b) {                           \
        rope_heads_inside(Rope<T>{src, cos, sin, dst, stride_b}, b, t, h, d);                                \
    }

#include "instances/reduce.inc"

}  // namespace rk
