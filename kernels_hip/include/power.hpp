// x to the power of y: 2 to the power of y log2(x), the logarithm and the product in twice the precision.
#pragma once

#include "device.hpp"
#include "twofold.hpp"

namespace rk {

// Of log2((1 + s) / (1 - s)) / s the coefficients of s^2: `heads` as they are in the series, in twice the precision,
// then a fit for |s| <= 0.172. Of (2^r - 1 - r log(2)) / r^2 a fit for |r| <= 1/2.
template <typename C>
struct PowerTerms;

template <>
struct PowerTerms<f32> {
    static constexpr Twofold<f32> heads[] = {{0x1.715476p+1f, 0x1.4ae0cp-25f}, {0x1.ec709ep-1f, -0x1.e2fe02p-28f}};
    static constexpr f32 logarithm[] = {0x1.2776c6p-1f, 0x1.a617c6p-2f, 0x1.4808ecp-2f, 0x1.1a7bb2p-2f};
    static constexpr Twofold<f32> log_of_2 = {0x1.62e43p-1f, -0x1.05c61p-29f};
    static constexpr f32 exponential[] = {0x1.ebfbep-3f,  0x1.c6b08ep-5f,  0x1.3b2a54p-7f,
                                          0x1.5d87cp-10f, 0x1.44138ap-13f, 0x1.008a2p-16f};
    static constexpr u32 digits = 23;
    static constexpr i32 bias = 127;
    static constexpr u32 root_of_half = 0x3f3504f3u;
    static constexpr f32 farthest = 160;     // 2^±farthest is infinite, or 0
    static constexpr f32 steepest = 0x1p40f;  // an exponent that takes the neighbours of 1 as far
};

template <>
struct PowerTerms<f64> {
    static constexpr Twofold<f64> heads[] = {{0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55},
                                             {0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55},
                                             {0x1.2776c50ef9bfep-1, 0x1.e4b29ccc535d4p-55}};
    static constexpr f64 logarithm[] = {0x1.a61762a7aded9p-2, 0x1.484b13d7c0367p-2, 0x1.0c9a84991f1e6p-2,
                                        0x1.c68f56d313d4ap-3, 0x1.89f38d24d616cp-3, 0x1.5ba4fc37bc298p-3,
                                        0x1.356eeed52aee1p-3, 0x1.39bab67469dcdp-3};
    static constexpr Twofold<f64> log_of_2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    static constexpr f64 exponential[] = {0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0c2p-5,  0x1.3b2ab6fba4e78p-7,
                                          0x1.5d87fe78a5276p-10, 0x1.430912f86bf52p-13, 0x1.ffcbfc670dcd4p-17,
                                          0x1.62c022401b97dp-20, 0x1.b524fae627834p-24, 0x1.e4cf1cd08d4b8p-28,
                                          0x1.e9d3fe3952179p-32, 0x1.c48f769ad2c46p-36};
    static constexpr u32 digits = 52;
    static constexpr i32 bias = 1023;
    static constexpr u64 root_of_half = 0x3fe6a09e667f3bcdu;
    static constexpr f64 farthest = 1100;
    static constexpr f64 steepest = 0x1p80;
};

template <typename C, u32 Count>
RK_DEVICE C polynomial(const C (&coefficients)[Count], C x) {
    C sum = coefficients[Count - 1];
#pragma unroll
    for (u32 i = Count - 1; i-- > 0;) {
        sum = fma(sum, x, coefficients[i]);
    }
    return sum;
}

template <typename C>
RK_DEVICE Twofold<C> twofold_times(const Twofold<C> &x, const Twofold<C> &y) {
    const C product = x.hi * y.hi;
    return {product, fma(x.hi, y.hi, -product) + fma(x.hi, y.lo, x.lo * y.hi)};
}

// 2^exponent, a normal number.
template <typename C>
RK_DEVICE C exact_power_of_two(i32 exponent) {
    using Bits = bits_of<C>;
    return bit_cast<C>(static_cast<Bits>(static_cast<Bits>(exponent + PowerTerms<C>::bias) << PowerTerms<C>::digits));
}

RK_DEVICE f32 reciprocal_to_correct(f32 x) { return rough_reciprocal(x); }
RK_DEVICE f64 reciprocal_to_correct(f64 x) {
    const f64 rough = rough_reciprocal(x);
    const f64 near = fma(rough, fma(-x, rough, 1.0), rough);
    return fma(near, fma(-x, near, 1.0), near);
}

// log2 of a positive finite number.
template <typename C>
RK_DEVICE Twofold<C> twofold_log2(C x) {
    using Terms = PowerTerms<C>;
    using Bits = bits_of<C>;
    using Signed = choose<sizeof(C) == 8, i64, i32>;
    constexpr u32 heads = sizeof(Terms::heads) / sizeof(Terms::heads[0]);
    constexpr i32 lift = Terms::digits + 1;
    const bool is_subnormal = x < exact_power_of_two<C>(1 - Terms::bias);
    const Bits bits = bit_cast<Bits>(is_subnormal ? x * exact_power_of_two<C>(lift) : x);
    const i32 exponent = static_cast<i32>(static_cast<Signed>(bits - Terms::root_of_half) >> Terms::digits);
    const C m = bit_cast<C>(static_cast<Bits>(bits - (static_cast<Bits>(exponent) << Terms::digits)));
    const C above = m - 1, below = m + 1, rest_of_below = m - (below - 1);
    const C reciprocal = reciprocal_to_correct(below);
    const C quotient = above * reciprocal;
    const C rest = fma(-quotient, rest_of_below, fma(-quotient, below, above));
    const Twofold<C> s = twofold_sum(quotient, rest * reciprocal);
    const Twofold<C> z = twofold_times(s, s);
    Twofold<C> sum = {z.hi * polynomial(Terms::logarithm, z.hi), 0};
#pragma unroll
    for (u32 h = heads; h-- > 0;) {
        const Twofold<C> higher = twofold_sum(Terms::heads[h].hi, sum.hi);
        sum = twofold_times(h > 0 ? z : s, {higher.hi, higher.lo + (Terms::heads[h].lo + sum.lo)});
    }
    const Twofold<C> total = twofold_sum(static_cast<C>(exponent - (is_subnormal ? lift : 0)), sum.hi);
    return twofold_sum(total.hi, total.lo + sum.lo);
}

// 2^x
template <typename C>
RK_DEVICE C exp2_of_twofold(const Twofold<C> &x) {
    using Terms = PowerTerms<C>;
    const bool is_far = !(fabs(x.hi) < Terms::farthest);
    const C bounded = is_far ? copysign(Terms::farthest, x.hi) : x.hi;
    const C whole = rint(bounded);
    const Twofold<C> r = twofold_sum(bounded - whole, is_far ? C(0) : x.lo);
    const Twofold<C> linear = twofold_product(Terms::log_of_2.hi, r.hi);
    const C slope = fma(2 * Terms::exponential[0], r.hi, Terms::log_of_2.hi);  // of 2^r, for what r.hi lacks
    const C lower = fma(r.lo, slope, fma(Terms::log_of_2.lo, r.hi, linear.lo));
    const Twofold<C> head = twofold_sum(C(1), linear.hi);
    const C power = head.hi + (head.lo + fma(r.hi * r.hi, polynomial(Terms::exponential, r.hi), lower));
    const i32 exponent = static_cast<i32>(whole), half = exponent / 2;
    return power * exact_power_of_two<C>(half) * exact_power_of_two<C>(exponent - half);
}

// Special values as those of C's pow.
template <typename C>
RK_DEVICE C raised(C x, C y) {
    using Terms = PowerTerms<C>;
    constexpr C infinity = highest<C>();
    const C size = fabs(x);
    const C bounded = fabs(y) > Terms::steepest ? copysign(Terms::steepest, y) : y;
    const Twofold<C> log2 = twofold_log2(size);
    const Twofold<C> product = twofold_product(bounded, log2.hi);
    const Twofold<C> inner = {product.hi, fma(bounded, log2.lo, product.lo)};
    const C end = (size == 0) == (y > 0) ? -infinity : infinity;  // of the logarithm of 0 or infinity, times y
    const C power = exp2_of_twofold<C>(size == 0 || size == infinity ? Twofold<C>{end, 0} : inner);
    const bool is_whole = trunc(y) == y;
    const bool is_odd = is_whole && trunc(y / 2) * 2 != y;
    const C real = x < 0 && x > -infinity && !is_whole ? static_cast<C>(__builtin_nanf("")) : power;
    const C found = is_odd ? copysign(real, x) : real;
    return y == 0 || x == 1 ? C(1) : x != x || y != y ? x + y : found;
}

// x^3, rounded as if once but for the ulp's last few hundredths.
template <typename C>
RK_DEVICE C cube(C x) {
    const Twofold<C> square = twofold_product(x, x);
    const C product = square.hi * x;
    const C lost = fma(square.hi, x, -product) + square.lo * x;
    return fabs(lost) < fabs(product) ? product + lost : product;  // else it overflowed, or is a zero with its sign
}

// The power of 1/2, which is not the square root of -0 and of -infinity.
template <typename C>
RK_DEVICE C power_of_half(C x) {
    return x == lowest<C>() ? highest<C>() : sqrt(x + 0);
}

}  // namespace rk
