// Determinants from LU factors. The product of the diagonal is carried with an exponent of its own, so that no part of it
// overflows where the whole does not, and its logarithm exists where the product itself does not.
#pragma once

#include "factors.hpp"

namespace rk {

template <typename F>
constexpr u32 mantissa_bits = is_same<F, f32> ? 23 : 52;
template <typename F>
constexpr i32 exponent_bias = is_same<F, f32> ? 127 : 1023;

// 2^exponent, where that is normal.
template <typename F>
RK_DEVICE F power_of_two(i64 exponent) {
    return bit_cast<F>(static_cast<bits_of<F>>(exponent + exponent_bias<F>) << mantissa_bits<F>);
}

// value·2^exponent
template <typename T>
struct Scaled {
    using F = real_of<T>;

    T value;
    i64 exponent;

    // With the larger part from 1 to 2 where there is such a number.
    RK_DEVICE static Scaled of(T x, i64 exponent) {
        F size = larger(x);
        if (!(size > 0) || is_infinite(size)) {
            return {x, exponent};
        }
        if (size < 1 / huge_size<F>) {
            x = times_real(x, huge_size<F>);
            exponent -= is_same<F, f32> ? 100 : 900;
            size = larger(x);
        }
        const i64 own = static_cast<i64>(bit_cast<bits_of<F>>(size) >> mantissa_bits<F>) - exponent_bias<F>;
        const i64 half = own / 2;
        return {times_real(times_real(x, power_of_two<F>(-half)), power_of_two<F>(half - own)), exponent + own};
    }

    RK_DEVICE T rounded() const {
        constexpr i64 step = exponent_bias<F> - 27;
        T x = plus_product(number<T>(0), value, number<T>(1));  // −0 becomes 0
        i64 left = exponent;
        for (u32 i = 0; i < 3; ++i) {  // three of them are beyond the largest and the smallest number
            const i64 part = left > step ? step : left < -step ? -step : left;
            x = times_real(x, power_of_two<F>(part));
            left -= part;
        }
        return x;
    }

    RK_DEVICE f64 log_size() const {
        const f64 re = real_part(value), im = imaginary_part(value);
        return log(is_complex<T> ? magnitude(c128{re, im}) : fabs(re)) + static_cast<f64>(exponent) * ln_2;
    }

    RK_DEVICE T sign() const {
        if constexpr (is_complex<T>) {
            return narrow_complex<T>(complex_sign(wide(value)));
        } else {
            return value == 0 ? 0 : is_nan(value) ? value : copysign(static_cast<T>(1), value);
        }
    }

    RK_DEVICE static F larger(T x) {
        const F re = fabs(real_part(x)), im = fabs(imaginary_part(x));
        return is_complex<T> && !(re >= im) ? im : re;
    }
};

template <typename T>
struct ScaledProduct {
    RK_DEVICE static Scaled<T> identity() { return {number<T>(1), 0}; }
    RK_DEVICE static Scaled<T> join(Scaled<T> x, Scaled<T> y) {
        return Scaled<T>::of(times(x.value, y.value), x.exponent + y.exponent);
    }
};

// A matrix's determinant, or its sign and its size's logarithm, where there is memory for them.
template <typename T>
RK_DEVICE void store_determinant(const Scaled<T> &found, u64 matrix, T *det, T *sign, real_of<T> *log_size) {
    if (det != nullptr) {
        det[matrix] = found.rounded();
    }
    if (log_size != nullptr) {
        sign[matrix] = found.sign();
        log_size[matrix] = static_cast<real_of<T>>(found.log_size());
    }
}

template <typename Team, typename T>
RK_DEVICE void determinants(u64 n, u64 batch, const T *lu, const i32 *pivots, T *det, T *sign, real_of<T> *log_size) {
    using Product = ScaledProduct<T>;
    __shared__ Scaled<T> scratch[max_waves];
#pragma unroll 1
    for (u64 matrix = Team::number(); matrix < batch; matrix += Team::count()) {
        const T *a = lu + matrix * n * n;
        const i32 *rows = pivots + matrix * n;
        Scaled<T> total = Product::identity();
#pragma unroll 1
        for (u64 i = Team::thread(); i < n; i += Team::size()) {
            const T pivot = times_real(a[i * (n + 1)], static_cast<u64>(rows[i]) == i ? 1 : -1);
            total = Product::join(total, Scaled<T>::of(pivot, 0));
        }
        total = Team::template join<Product>(total, scratch);
        if (Team::thread() == 0) {
            store_determinant(total, matrix, det, sign, log_size);
        }
    }
}

}  // namespace rk
