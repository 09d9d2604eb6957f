// Rounding to decimal places.
#pragma once

#include "convert.hpp"
#include "twofold.hpp"

namespace rk {

// A power of ten: the digits, from 1 to 2, times 2^exponent.
struct PowerOfTen {
    Twofold<f64> digits;
    i32 exponent;

    RK_DEVICE Twofold<f64> times(f64 x) const {
        const Twofold<f64> product = twofold_product(x, digits.hi);
        return twofold_sum(product.hi, fma(x, digits.lo, product.lo));
    }
    RK_DEVICE Twofold<f64> into(f64 x) const {
        const f64 quotient = x / digits.hi;
        const f64 rest = fma(-quotient, digits.lo, fma(-quotient, digits.hi, x));
        return twofold_sum(quotient, rest / digits.hi);
    }
};

RK_DEVICE f64 f64_power_of_two(i32 exponent) { return bit_cast<f64>(static_cast<u64>(exponent + 1023) << 52); }

// Also where the factor is no number, or the result is subnormal.
RK_DEVICE f64 scaled_by_power(f64 x, i32 exponent) {
    const i32 half = exponent / 2;
    return x * f64_power_of_two(half) * f64_power_of_two(exponent - half);
}

// The nearest integer, halves to even. x is below 2^53.
RK_DEVICE f64 nearest_integer(const Twofold<f64> &x) {
    const f64 nearest = rint(x.hi);
    const f64 apart = x.hi - nearest;
    const f64 up = apart == 0.5 && x.lo > 0 ? 1 : 0;
    const f64 down = apart == -0.5 && x.lo < 0 ? 1 : 0;
    return nearest + up - down;
}

// A positive f64 to which a rounding gives what it would give of hi + lo: the last bit is set where there are more.
RK_DEVICE f64 round_to_odd(const Twofold<f64> &x) {
    const u64 bits = bit_cast<u64>(x.hi) - (x.lo < 0 ? 1 : 0);
    return bit_cast<f64>(x.lo != 0 ? bits | 1 : bits);
}

// x rounded to a multiple of the power of ten, or of its reciprocal, halves to even, as the nearest number that there
// is. x itself where all numbers of its size are such multiples to its precision, or where no number is near enough.
template <typename T>
RK_DEVICE T round_to(T x, const PowerOfTen &ten, bool is_reciprocal) {
    constexpr bool is_double = is_same<T, f64>;
    const f64 size = fabs(convert<f64>(x));
    const bool is_subnormal = size < 0x1p-1022;
    const u64 bits = bit_cast<u64>(is_subnormal ? size * 0x1p64 : size);
    const i32 exponent = static_cast<i32>(bits >> 52) - 1023 - (is_subnormal ? 64 : 0);
    const f64 fraction = bit_cast<f64>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    const i32 at = exponent + (is_reciprocal ? ten.exponent : -ten.exponent);
    if (!(size > 0 && size < highest<f64>()) || at > 53) {
        return x;
    }
    Twofold<f64> found = {0, 0};
    if (at > -4) {
        const Twofold<f64> quotient = is_reciprocal ? ten.times(fraction) : ten.into(fraction);
        const f64 scale = f64_power_of_two(at);
        if (quotient.hi * scale >= 0x1p53) {
            return x;
        }
        const f64 multiple = nearest_integer({quotient.hi * scale, quotient.lo * scale});
        found = is_reciprocal ? ten.into(multiple) : ten.times(multiple);
    }
    const f64 multiple_of_power = is_double ? found.hi : round_to_odd(found);
    const f64 rounded = scaled_by_power(multiple_of_power, is_reciprocal ? -ten.exponent : ten.exponent);
    const T result = convert<T>(copysign(rounded, convert<f64>(x)));
    return fabs(widen(result)) < highest<arith<T>>() ? result : x;
}

// An integer rounded to a multiple of a unit, halves to even; itself where that is beyond the type.
template <typename T>
RK_DEVICE T round_to_multiple(T x, u64 unit) {
    const bool is_below = is_signed_integer<T> && x < 0;
    const u64 size = is_below ? 0 - static_cast<u64>(x) : static_cast<u64>(x);
    const u64 most = static_cast<u64>(highest<T>()) + (is_below ? 1 : 0);
    const u64 quotient = size / unit;
    const u64 rest = size - quotient * unit;
    const bool goes_up = rest > unit - rest || (rest == unit - rest && quotient % 2 == 1);
    const u64 base = size - rest;
    if (goes_up && unit > most - base) {
        return x;
    }
    const u64 rounded = goes_up ? base + unit : base;
    return static_cast<T>(is_below ? 0 - rounded : rounded);
}

}  // namespace rk
