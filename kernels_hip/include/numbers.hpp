// What sums over real and complex columns need beside their arithmetic: sizes, wider types, scales.
#pragma once

#include "fields.hpp"

namespace rk {

// f64, or c128 of complex numbers.
template <typename T>
using wide_of = choose<is_complex<T>, c128, f64>;

// |x|²
template <typename T>
RK_DEVICE real_of<T> squared(T x) {
    if constexpr (is_complex<T>) {
        return fma(x.re, x.re, x.im * x.im);
    } else {
        return x * x;
    }
}

// The larger of the parts' magnitudes; NaN where one is.
template <typename T>
RK_DEVICE real_of<T> larger_size(T x) {
    if constexpr (is_complex<T>) {
        return maximum(fabs(x.re), fabs(x.im));
    } else {
        return fabs(x);
    }
}

template <typename T>
RK_DEVICE T plus(T x, T y) {
    if constexpr (is_complex<T>) {
        return {x.re + y.re, x.im + y.im};
    } else {
        return x + y;
    }
}

// The number of the same kind, real or complex, in another precision.
template <typename T, typename S>
RK_DEVICE T in_precision(S x) {
    if constexpr (is_complex<S>) {
        return {static_cast<real_of<T>>(x.re), static_cast<real_of<T>>(x.im)};
    } else {
        return static_cast<T>(x);
    }
}

template <typename F>
constexpr F epsilon = is_same<F, f32> ? static_cast<F>(0x1p-23) : static_cast<F>(0x1p-52);

// 2^n, |n| at most 126 for f32 and 1022 for f64.
template <typename F>
RK_DEVICE F power_of_two(i32 n) {
    if constexpr (is_same<F, f32>) {
        return bit_cast<f32>(static_cast<u32>(127 + n) << 23);
    } else {
        return bit_cast<f64>(static_cast<u64>(1023 + n) << 52);
    }
}

// The n for which 2^n brings a finite number to 1 … 4, as near as `power_of_two` can.
template <typename F>
RK_DEVICE i32 exponent_to_one(F size) {
    constexpr i32 bias = is_same<F, f32> ? 127 : 1023, most = bias - 1;
    i32 exponent;
    if constexpr (is_same<F, f32>) {
        exponent = static_cast<i32>(bit_cast<u32>(size) >> 23 & 0xffu) - bias;
    } else {
        exponent = static_cast<i32>(bit_cast<u64>(size) >> 52 & 0x7ffu) - bias;
    }
    return exponent > most ? -most : exponent < -most ? most : -exponent;
}

// Joins of a block's numbers, as team.hpp takes them.
template <typename F>
struct Largest {
    RK_DEVICE static F identity() { return 0; }
    RK_DEVICE static F join(F x, F y) { return maximum(x, y); }
};

template <typename T>
struct Total {
    RK_DEVICE static T identity() { return number<T>(0); }
    RK_DEVICE static T join(T x, T y) { return plus(x, y); }
};

}  // namespace rk
