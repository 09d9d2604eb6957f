// The normal distribution's integral and gelu's erf form. In f32 the library's functions are 3 to 4 ulp off; these stay
// within 2. The coefficients are least-maximum-error fits made for this file: 3e-9 relative, before rounding to f32.
#pragma once

#include "functions.hpp"

namespace rk {

// value * 2^exponent, rounded once also where it is subnormal; -252 <= exponent <= 0.
RK_DEVICE f32 scale(f32 value, i32 exponent) {
    const i32 half = exponent >> 1;
    const f32 first = bit_cast<f32>((half + 127) << 23);
    return value * first * bit_cast<f32>((exponent - half + 127) << 23);
}

// 1/x, but for the rounding of it.
RK_DEVICE f32 corrected_reciprocal(f32 x) {
    const f32 rough = rough_reciprocal(x);
    return fma(rough, fma(-x, rough, 1.0f), rough);
}

struct NormalTail {
    Twofold<f32> value;
    i32 exponent;
};

// exp(s) = value * 2^exponent for -120 <= s <= 0, in twice the precision but for the polynomial's rounding.
RK_DEVICE NormalTail twofold_exp(Twofold<f32> s) {
    const f32 k = rint(s.hi * 0x1.715476p+0f);
    const f32 r = fma(k, 0x1.05c610p-29f, fma(k, -0x1.62e430p-1f, s.hi)) + s.lo;
    f32 q = fma(r, 0x1.6c6d4ap-10f, 0x1.121540p-7f);
    q = fma(r, q, 0x1.5555c2p-5f);
    q = fma(r, q, 0x1.5554d4p-3f);
    q = fma(r, q, 0.5f);
    return {twofold_sum(1.0f, fma(r * r, q, r)), static_cast<i32>(k)};
}

// The integral up to -a for 0 <= a <= 15: exp(-a^2/2) times g/(1+a), g smooth in t = (a-4)/(a+4).
RK_DEVICE NormalTail normal_tail(f32 a) {
    const Twofold<f32> square = twofold_product(a, a);
    const NormalTail e = twofold_exp({-0.5f * square.hi, -0.5f * square.lo});
    const f32 t = (a - 4) * corrected_reciprocal(a + 4);
    f32 g = fma(t, -0x1.2dea98p-14f, -0x1.0221e2p-14f);
    g = fma(t, g, 0x1.6aeb64p-11f);
    g = fma(t, g, -0x1.3e2e3ap-12f);
    g = fma(t, g, -0x1.47f04ap-8f);
    g = fma(t, g, 0x1.25eec4p-6f);
    g = fma(t, g, -0x1.07c2bcp-5f);
    g = fma(t, g, 0x1.d494f6p-6f);
    g = fma(t, g, 0x1.cabd28p-7f);
    g = fma(t, g, -0x1.8c18f0p-4f);
    g = fma(t, g, 0x1.e361eap-2f);
    const Twofold<f32> denominator = a > 1 ? twofold_sum(a, 1.0f) : twofold_sum(1.0f, a);
    const f32 inverse = rough_reciprocal(denominator.hi);
    const f32 ratio = g * inverse;
    const f32 rest = fma(-ratio, denominator.lo, fma(-ratio, denominator.hi, g)) * inverse;
    const Twofold<f32> product = twofold_product(e.value.hi, ratio);
    return {{product.hi, fma(e.value.lo, ratio, fma(e.value.hi, rest, product.lo))}, e.exponent};
}

// 1 minus the tail.
RK_DEVICE Twofold<f32> complement(NormalTail tail) {
    const Twofold<f32> head = twofold_sum(1.0f, -scale(tail.value.hi, tail.exponent));
    return {head.hi, head.lo - scale(tail.value.lo, tail.exponent)};
}

RK_DEVICE f32 bounded_magnitude(f32 x) { return fabs(x) > 15 ? 15.0f : fabs(x); }

RK_DEVICE f64 normal_integral(f64 x) { return normal_cdf(x); }

RK_DEVICE f32 normal_integral(f32 x) {
    const NormalTail tail = normal_tail(bounded_magnitude(x));
    if (x > 0) {
        const Twofold<f32> head = complement(tail);
        return head.hi + head.lo;
    }
    return scale(tail.value.hi + tail.value.lo, tail.exponent);
}

// x times the integral up to x. Where that is nearly subnormal and x would magnify its rounding, the factors that erfc
// is made of are multiplied in another order.
RK_DEVICE f64 gelu_erf(f64 x) {
    if (x < -37) {
        const f64 below = x < -64 ? -64.0 : x;  // where all is 0, and an infinite x would give NaN
        const Twofold<f64> square = twofold_product(below, below);
        const f64 e = exp(-0.5 * square.hi);
        return 0.5 * below * erfcx(below * -0.70710678118654752440) * fma(e, -0.5 * square.lo, e);
    }
    return x * normal_cdf(x);
}

// relu(x) less |x| times the integral up to -|x|, which is exp(-x^2/2) times v g(v), v = |x| / (|x| + 1.75); g within 2e-8.
// What the steps with the widest rounding lose is carried along. The product is 2^64 times too large until the end, where
// it may become subnormal.
RK_DEVICE f32 gelu_erf(f32 x) {
    const f32 a = bounded_magnitude(x);
    const Twofold<f32> square = twofold_product(a, a);
    const f32 shifted = fma(square.hi, -0x1.715476p-1f, 0x1.8p23f);  // the exponent in its lowest bits
    const f32 k = shifted - 0x1.8p23f;
    const f32 r = fma(k, 0x1.62e430p+0f, square.hi) + fma(k, -0x1.05c610p-28f, square.lo);
    f32 q = fma(r, 0x1.6a4150p-16f, -0x1.1239c6p-12f);
    q = fma(r, q, 0x1.5558bcp-9f);
    q = fma(r, q, -0x1.555492p-6f);
    q = fma(r, q, 0x1.fffffcp-4f);
    q = fma(r, q, -0.5f);
    const f32 denominator = a + 1.75f;
    const f32 lost = a - (denominator - 1.75f);
    const f32 inverse = rough_reciprocal(denominator);
    const f32 ratio = a * inverse;
    const f32 v = fma(fma(-lost, ratio, fma(-denominator, ratio, a)), inverse, ratio);
    f32 g = fma(v, -0x1.37f19ep-4f, 0x1.f2ca8cp-2f);
    g = fma(v, g, -0x1.1e9af0p+0f);
    g = fma(v, g, 0x1.478ba4p+0f);
    g = fma(v, g, -0x1.cfa7dcp-1f);
    g = fma(v, g, 0x1.b33df0p-2f);
    g = fma(v, g, -0x1.bea968p-5f);
    g = fma(v, g, 0x1.559466p-4f);
    g = fma(v, g, -0x1.45f334p-6f);
    g = fma(v, g, -0x1.d42324p-3f);
    g = fma(v, g, -0x1.6315acp-2f);
    const f32 g_hi = fma(v, g, 0.875f);
    const f32 g_lo = fma(v, g, 0.875f - g_hi);
    const f32 scaled = v * bit_cast<f32>((bit_cast<u32>(shifted) << 23) + (191u << 23));
    const Twofold<f32> product = twofold_product(scaled, g_hi);
    const f32 magnified = product.hi + fma(product.hi, r * q, fma(scaled, g_lo, product.lo));
    return fma(magnified, -0x1p-64f, x < 0 ? -0.0f : x);
}

// The same for results of 11 digits or fewer: exp(-x^2/2) times q g(q), q = 1 / (1 + 0.3 |x|), within 9e-6.
RK_DEVICE f32 rough_gelu_erf(f32 x) {
    const f32 a = fabs(x) > 1000 ? 1000.0f : fabs(x);
    const f32 root = exp2_or_zero(a * a * -0.36067376f);  // a normal number wherever the tail is not 0
    const f32 q = rough_reciprocal(fma(a, 0.3f, 1.0f));
    f32 g = fma(q, -0x1.3a2ac4p-4f, 0x1.b80360p-3f);
    g = fma(q, g, -0x1.ff26d8p-7f);
    g = fma(q, g, 0x1.25d5d8p-3f);
    g = fma(q, g, 0x1.d2a07cp-4f);
    g = fma(q, g, 0x1.ebc15ap-4f);
    return fma(a * root, -root * (q * g), x < 0 ? -0.0f : x);
}

}  // namespace rk
