// Any element type to any other, with one rounding. Integers wrap; a float truncates toward zero, saturates at the
// integer's ends and gives 0 for NaN; what goes to a float is rounded to nearest even; f8 is OCP e4m3fn.
#pragma once

#include "math.hpp"

namespace rk {

// 2^exponent as a constant.
template <typename F>
RK_DEVICE constexpr F power_of_two(u32 exponent) {
    F power = 1;
    for (u32 i = 0; i < exponent; ++i) {
        power *= 2;
    }
    return power;
}

// Both ends of a signed integer and the upper end plus one are powers of two: exact in f32 and f64 alike.
template <typename D, typename F>
RK_DEVICE D saturate(F x) {
    constexpr F beyond = power_of_two<F>(8 * sizeof(D) - (is_signed_integer<D> ? 1 : 0));
    constexpr F lowest_value = is_signed_integer<D> ? -beyond : F(0);
    using Wide = choose<sizeof(D) == 8, D, choose<is_signed_integer<D>, i32, u32>>;
    const D truncated = static_cast<D>(static_cast<Wide>(x));
    const D low = x > lowest_value ? truncated : (is_nan(x) ? D(0) : lowest<D>());
    return x >= beyond ? highest<D>() : low;
}

// An f32 whose last bit is set where digits were lost ("round to odd"): rounding it again to at most 22 bits gives what
// one rounding of x would have given.
RK_DEVICE f32 round_to_odd(f64 x) {
    const f32 nearest = static_cast<f32>(x);
    const f64 back = static_cast<f64>(nearest);
    const u32 toward_zero = bit_cast<u32>(nearest) - (fabs(back) > fabs(x) ? 1u : 0u);
    return bit_cast<f32>(back == x ? bit_cast<u32>(nearest) : toward_zero | 1u);
}

template <typename U>
RK_DEVICE u32 leading_zeros(U x) {
    if constexpr (sizeof(U) == 8) {
        return static_cast<u32>(__builtin_clzl(x | 1));
    } else {
        return static_cast<u32>(__builtin_clz(x | 1));
    }
}

// The same for an integer: its top 24 bits, what falls off collected in the last of them.
template <typename S>
RK_DEVICE f32 round_to_odd_integer(S x) {
    using U = bits_of<S>;
    constexpr u32 spare = 8 * sizeof(S) - 24;
    const bool negative = is_signed_integer<S> && x < S(0);
    const U magnitude = negative ? static_cast<U>(0 - static_cast<U>(x)) : static_cast<U>(x);
    const u32 zeros = leading_zeros(magnitude);
    const u32 shift = zeros < spare ? spare - zeros : 0;
    const u32 kept = static_cast<u32>(magnitude >> shift);
    const bool lost = (static_cast<U>(kept) << shift) != magnitude;
    const f32 scale = bit_cast<f32>((127 + shift) << 23);
    const f32 value = static_cast<f32>(kept | (lost ? 1u : 0u)) * scale;
    return negative ? -value : value;
}

template <typename D, typename S>
RK_DEVICE D convert(S x) {
    if constexpr (is_same<D, S>) {
        return x;
    } else if constexpr (is_bool<D>) {
        return widen(x) != static_cast<arith<S>>(0);
    } else if constexpr (is_bool<S>) {
        return narrow<D>(static_cast<arith<D>>(x));
    } else if constexpr (is_integer<D> && is_integer<S>) {
        return static_cast<D>(x);
    } else if constexpr (is_integer<D>) {
        return saturate<D>(widen(x));
    } else if constexpr (is_short_float<D> && is_same<S, f64>) {
        return narrow<D>(round_to_odd(x));
    } else if constexpr (is_short_float<D> && is_integer<S> && sizeof(S) >= 4) {
        return narrow<D>(round_to_odd_integer(x));
    } else {
        return narrow<D>(static_cast<arith<D>>(widen(x)));
    }
}

}  // namespace rk
