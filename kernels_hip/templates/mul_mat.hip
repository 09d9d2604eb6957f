// ggml's matrix product of fixed shape: out[m, n] = Σₖ a[k, m] · b[k, n] for each of b's matrices; a's repeat along dims
// that they divide. Sums are f32 (integers: i32, wrapping).
#include "include/math.hpp"
#include "templates/shape.hpp"

namespace rk {

constexpr u32 tile = 32;
constexpr u32 tile_depth = 16;
constexpr u32 per_thread = 2;

struct ggml_op_mul_mat {};

template <typename T, typename Out, typename A, typename PitchA, typename B, typename PitchB, typename PitchOut>
RK_DEVICE void fixed_product(const T *a, const T *b, Out *out) {
    using Sum = choose<is_float<T>, arith<T>, u32>;
    constexpr u64 depth = A::dims[0], rows = A::dims[1], columns = B::dims[1];
    constexpr u64 tiles_m = (rows + tile - 1) / tile, tiles_n = (columns + tile - 1) / tile;
    constexpr u64 matrices = B::dims[2] * B::dims[3];
    __shared__ Sum left[tile_depth][tile + 1];
    __shared__ Sum right[tile_depth][tile + 1];
    const u32 at_m = thread_x() % (tile / per_thread) * per_thread, at_n = thread_x() / (tile / per_thread) * per_thread;
    for (u64 work = block_x(); work < tiles_m * tiles_n * matrices; work += grid_x()) {
        const u64 matrix = work / (tiles_m * tiles_n), in_matrix = work % (tiles_m * tiles_n);
        const u64 m0 = in_matrix % tiles_m * tile, n0 = in_matrix / tiles_m * tile;
        const u64 i2 = matrix % B::dims[2], i3 = matrix / B::dims[2];
        const T *from_a = a + i2 % A::dims[2] * PitchA::strides[2] + i3 % A::dims[3] * PitchA::strides[3];
        const T *from_b = b + i2 * PitchB::strides[2] + i3 * PitchB::strides[3];
        Sum sum[per_thread][per_thread] = {};
        for (u64 k0 = 0; k0 < depth; k0 += tile_depth) {
            barrier();
            for (u32 i = thread_x(); i < tile * tile_depth; i += block_size_x()) {
                const u32 k = i % tile_depth, o = i / tile_depth;
                const bool inside = k0 + k < depth;
                const u64 at = k0 + k;
                left[k][o] = inside && m0 + o < rows
                                 ? static_cast<Sum>(widen(from_a[at * PitchA::strides[0] + (m0 + o) * PitchA::strides[1]]))
                                 : Sum(0);
                right[k][o] = inside && n0 + o < columns
                                  ? static_cast<Sum>(widen(from_b[at * PitchB::strides[0] + (n0 + o) * PitchB::strides[1]]))
                                  : Sum(0);
            }
            barrier();
#pragma unroll
            for (u32 k = 0; k < tile_depth; ++k) {
#pragma unroll
                for (u32 i = 0; i < per_thread; ++i) {
#pragma unroll
                    for (u32 j = 0; j < per_thread; ++j) {
                        sum[i][j] = multiply_add(left[k][at_m + i], right[k][at_n + j], sum[i][j]);
                    }
                }
            }
        }
#pragma unroll
        for (u32 i = 0; i < per_thread; ++i) {
#pragma unroll
            for (u32 j = 0; j < per_thread; ++j) {
                const u64 m = m0 + at_m + i, n = n0 + at_n + j;
                if (m < rows && n < columns) {
                    out[m * PitchOut::strides[0] + n * PitchOut::strides[1] + i2 * PitchOut::strides[2] +
                        i3 * PitchOut::strides[3]] = narrow<Out>(static_cast<arith<Out>>(sum[i][j]));
                }
            }
        }
    }
}

}  // namespace rk

#define RK_SPECIALIZE(name, Op, T, A, PitchA, B, PitchB, Out, ShapeOut, PitchOut)        \
    RK_KERNEL name(const rk::T *a, const rk::T *b, rk::Out *out) {                       \
        rk::fixed_product<rk::T, rk::Out, A, PitchA, B, PitchB, PitchOut>(a, b, out);    \
    }
