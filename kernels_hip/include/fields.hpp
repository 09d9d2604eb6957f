// Arithmetic that is written once for real and complex numbers.
#pragma once

#include "complex.hpp"

namespace rk {

template <typename T>
struct Field {
    using Part = T;
};
template <typename F>
struct Field<Complex<F>> {
    using Part = F;
};
template <typename T>
using real_of = typename Field<T>::Part;
template <typename T>
constexpr bool is_complex = !is_same<T, real_of<T>>;

template <typename T>
RK_DEVICE T number(real_of<T> x) {
    if constexpr (is_complex<T>) {
        return {x, 0};
    } else {
        return x;
    }
}

template <typename T>
RK_DEVICE real_of<T> real_part(T x) {
    if constexpr (is_complex<T>) {
        return x.re;
    } else {
        return x;
    }
}

template <typename T>
RK_DEVICE real_of<T> imaginary_part(T x) {
    if constexpr (is_complex<T>) {
        return x.im;
    } else {
        return 0;
    }
}

template <typename T>
RK_DEVICE T conjugate(T x) {
    if constexpr (is_complex<T>) {
        return {x.re, -x.im};
    } else {
        return x;
    }
}

template <typename T>
RK_DEVICE T times(T x, T y) {
    if constexpr (is_complex<T>) {
        return product(x, y);
    } else {
        return x * y;
    }
}

template <typename T>
RK_DEVICE T times_real(T x, real_of<T> by) {
    if constexpr (is_complex<T>) {
        return {x.re * by, x.im * by};
    } else {
        return x * by;
    }
}

// z + x·y and z − x·y.
template <typename T>
RK_DEVICE T plus_product(T z, T x, T y) {
    if constexpr (is_complex<T>) {
        return {fma(-x.im, y.im, fma(x.re, y.re, z.re)), fma(x.im, y.re, fma(x.re, y.im, z.im))};
    } else {
        return fma(x, y, z);
    }
}
template <typename T>
RK_DEVICE T minus_product(T z, T x, T y) {
    if constexpr (is_complex<T>) {
        return {fma(x.im, y.im, fma(-x.re, y.re, z.re)), fma(-x.im, y.re, fma(-x.re, y.im, z.im))};
    } else {
        return fma(-x, y, z);
    }
}

// |x| within a factor of √2, and exactly of real numbers: what LAPACK chooses pivots by.
template <typename T>
RK_DEVICE real_of<T> rough_size(T x) {
    if constexpr (is_complex<T>) {
        return fabs(x.re) + fabs(x.im);
    } else {
        return fabs(x);
    }
}

template <typename F>
constexpr F huge_size = is_same<F, f32> ? static_cast<F>(0x1p100) : static_cast<F>(0x1p900);
template <typename F>
constexpr F scale_up = is_same<F, f32> ? static_cast<F>(0x1p60) : static_cast<F>(0x1p200);

// A power of two that brings a number of that size to where its reciprocal is normal.
template <typename F>
RK_DEVICE F middle_scale(F size) {
    return size > huge_size<F> ? 1 / scale_up<F> : size < 1 / huge_size<F> ? scale_up<F> : static_cast<F>(1);
}

// Quotients by one number, formed as products; of numbers not much larger than it, none overflows on the way.
template <typename T>
struct Divisor {
    T inverse;
    real_of<T> scale;

    RK_DEVICE static Divisor none() { return {number<T>(1), 1}; }
    RK_DEVICE static Divisor by(T x) {
        const real_of<T> scale = middle_scale(rough_size(x));
        if constexpr (is_complex<T>) {
            return {narrow_complex<T>(reciprocal_of(wide(times_real(x, scale)))), scale};
        } else {
            return {1 / (x * scale), scale};
        }
    }
    // Of a complex number by a real one too.
    template <typename Z>
    RK_DEVICE Z quotient(Z x) const {
        if constexpr (is_same<Z, T>) {
            return times(times_real(x, scale), inverse);
        } else {
            return times_real(times_real(x, scale), inverse);
        }
    }
};

}  // namespace rk
