// fft: discrete Fourier transforms of lines, and the tables of roots of unity that they multiply by.
#include "include/fft_sums.hpp"

namespace rk {

#define FFT_LINES(T, F)                                                                                          \
    RK_BLOCK_KERNEL(fft_block_size<F>)                                                                           \
    fft_lines_##T(const F *src, F *dst, const u64 *plan, f64 scale, const T *roots, const T *load_factor,        \
                  const T *between, const T *store_factor, const T *coarse, const T *fine) {                     \
        fft_lines<F>(src, dst, plan, scale, roots, load_factor, between, store_factor, coarse, fine);            \
    }
#define FFT_SUMS(T, F)                                                                                           \
    RK_KERNEL fft_sums_##T(u64 numel, u64 num_dims, const u64 *info, const u64 *plan, f64 scale, bool to_real,   \
                           const T *first, const T *second, const T *third, const F *src, F *dst) {              \
        fft_sums(numel, num_dims, info, plan, scale, to_real, first, second, third, src, dst);                   \
    }
#define FFT_STAGE_ROOTS(T) \
    RK_KERNEL fft_stage_roots_##T(u64 numel, u64 factors, T *out) { fft_stage_roots(numel, factors, out); }
#define FFT_ROOTS(T) \
    RK_KERNEL fft_roots_##T(u64 numel, u64 step, u64 n, T *out) { fft_roots(numel, step, n, out); }
#define FFT_CHIRP(T) \
    RK_KERNEL fft_chirp_##T(u64 numel, u64 n, T *out) { fft_chirp(numel, n, out); }

#include "instances/fft.inc"

}  // namespace rk
