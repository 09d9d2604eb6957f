// Fourier transforms of few elements along up to three axes at once, as the sums that define them: a thread has an
// element of the result.
#pragma once

#include "fft.hpp"

namespace rk {

template <typename F>
struct SummedAxis {
    u32 n;
    u32 count;   // elements that there are
    u64 stride;
    const Complex<F> *roots;  // of unity of n, clockwise
};

template <typename F>
struct SummedTransform {
    SummedAxis<F> axis[3];
    const F *src;
    bool is_real;
    bool is_inverse;
    bool is_half;  // of the last axis, the first half is given of elements whose second half is its conjugate
    bool is_line;  // along no other axis

    RK_DEVICE Complex<F> element(u64 offset, u32 last) const {
        Complex<F> z = fft_read(src, offset, is_real);
        if (is_half) {
            const bool is_alone = last == 0 || 2 * last == axis[2].n;
            const F weight = is_alone ? 1 : 2;
            z = {z.re * weight, is_alone && is_line ? 0 : z.im * weight};
        }
        return z;
    }

    // The sum along axes from this one on; eight bits of `wanted` are a place on an axis, the last axis the lowest.
    template <u32 Axis>
    RK_DEVICE Complex<F> sum(u64 offset, u32 wanted, u32 last = 0) const {
        if constexpr (Axis == 3) {
            return element(offset, last);
        } else {
            const SummedAxis<F> &along = axis[Axis];
            const u32 step = wanted >> (16 - 8 * Axis) & 0xffu;
            Complex<F> total = {0, 0};
            u32 turn = 0;
#pragma unroll 1
            for (u32 i = 0; i < along.count; ++i) {
                const Complex<F> root = conjugate(along.roots[turn], is_inverse);
                const Complex<F> z = sum<Axis + 1>(offset, wanted, i);
                total = {fma(-z.im, root.im, fma(z.re, root.re, total.re)),
                         fma(z.im, root.re, fma(z.re, root.im, total.im))};
                offset += along.stride;
                turn += step;
                turn = turn >= along.n ? turn - along.n : turn;
            }
            return total;
        }
    }
};

// info is the result's dims, the strides of the source, 0 along the axes that are transformed, and what a step along
// one adds to `wanted`. `plan` has n, count and stride of each axis, then how the elements are meant.
template <typename F>
RK_DEVICE void fft_sums(u64 numel, u64 num_dims, const u64 *info, const u64 *plan, f64 scale, bool to_real,
                        const Complex<F> *first, const Complex<F> *second, const Complex<F> *third, const F *src,
                        F *dst) {
    const auto axis = [=](u32 number, const Complex<F> *roots) {
        const u64 *words = plan + 3 * number;
        return SummedAxis<F>{static_cast<u32>(words[0]), static_cast<u32>(words[1]), words[2], roots};
    };
    const u64 flags = plan[9];
    const SummedTransform<F> transform = {{axis(0, first), axis(1, second), axis(2, third)},
                                          src,
                                          (flags & 1) != 0,
                                          (flags & 2) != 0,
                                          (flags & 4) != 0,
                                          (flags & 8) != 0};
    const F by = static_cast<F>(scale);
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const auto at = strided_offsets<2>(i, numel, num_dims, info, info + num_dims);
        const Complex<F> total = transform.template sum<0>(at.of[0], static_cast<u32>(at.of[1]));
        if (to_real) {
            dst[i] = total.re * by;
        } else {
            reinterpret_cast<Complex<F> *>(dst)[i] = {total.re * by, total.im * by};
        }
    }
}

}  // namespace rk
