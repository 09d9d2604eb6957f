// Complex numbers and their functions. What takes more than a few operations is computed in f64 for both types, so of
// c64 each part is right to about an ulp. Special values are those of C99's Annex G, except that products and quotients
// are the plain formulas, as in NumPy: an infinite part beside a NaN is no infinity there.
#pragma once

#include "functions.hpp"

namespace rk {

template <typename F>
struct alignas(2 * sizeof(F)) Complex {
    using Part = F;
    F re;
    F im;
};
using c64 = Complex<f32>;
using c128 = Complex<f64>;

template <typename Z>
RK_DEVICE c128 wide(Z z) {
    return {static_cast<f64>(z.re), static_cast<f64>(z.im)};
}

template <typename Z>
RK_DEVICE Z narrow_complex(c128 z) {
    return {static_cast<typename Z::Part>(z.re), static_cast<typename Z::Part>(z.im)};
}

constexpr f64 half_pi = 0x1.921fb54442d18p+0;
constexpr f64 ln_2 = 0x1.62e42fefa39efp-1;

template <typename F>
RK_DEVICE bool is_infinite(F x) {
    return fabs(x) == highest<F>();
}
template <typename F>
RK_DEVICE bool is_finite(F x) {
    return fabs(x) < highest<F>();
}
template <typename F>
RK_DEVICE bool is_nan(Complex<F> z) {
    return is_nan(z.re) || is_nan(z.im);
}
template <typename F>
RK_DEVICE bool is_zero(Complex<F> z) {
    return z.re == 0 && z.im == 0;
}
RK_DEVICE f64 not_a_number() { return __builtin_nan(""); }

// |z|: f64 holds the squares of f32 without overflow.
RK_DEVICE f64 magnitude(c128 z) { return hypot(z.re, z.im); }
RK_DEVICE f32 magnitude(c64 z) {
    const f64 x = z.re, y = z.im;
    const f64 size = sqrt(x * x + y * y);
    return static_cast<f32>(is_infinite(z.re) || is_infinite(z.im) ? highest<f64>() : size);
}

template <typename F>
RK_DEVICE Complex<F> product(Complex<F> x, Complex<F> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

RK_DEVICE c128 scaled(c128 z, f64 by) { return {z.re * by, z.im * by}; }
RK_DEVICE c128 times_i(c128 z) { return {-z.im, z.re}; }
RK_DEVICE c128 over_i(c128 z) { return {z.im, -z.re}; }

RK_DEVICE f64 larger_part(c128 z) { return maximum(fabs(z.re), fabs(z.im)); }

// A power of two that brings a number whose parts reach `size` to where squares neither overflow nor lose digits.
RK_DEVICE f64 safe_scale(f64 size) { return size > 0x1p500 ? 0x1p-600 : size < 0x1p-500 ? 0x1p600 : 1.0; }

// a·b + c·d with one rounding's worth of error however much of it cancels.
RK_DEVICE f64 sum_of_products(f64 a, f64 b, f64 c, f64 d) {
    const f64 second = c * d;
    const f64 lost = fma(c, d, -second);
    const f64 sum = fma(a, b, second);
    return is_finite(second) ? sum + lost : sum;
}

RK_DEVICE c128 quotient_of(c128 x, c128 y) {
    const f64 size = larger_part(y);
    if (size == 0 || is_infinite(size) || is_nan(size)) {
        const f64 square = y.re * y.re + y.im * y.im;
        if (is_finite(x.re) && is_finite(x.im) && is_infinite(size)) {
            return {0 * (x.re * copysign(1.0, y.re)), 0 * (x.im * copysign(1.0, y.re))};
        }
        return size == 0 ? c128{x.re / size, x.im / size} : c128{square / square, square / square};
    }
    const f64 scale = safe_scale(size), size_x = larger_part(x);
    const f64 scale_x = is_finite(size_x) && size_x != 0 ? safe_scale(size_x) : 1.0;
    const c128 d = scaled(y, scale), n = scaled(x, scale_x);
    const f64 square = d.re * d.re + d.im * d.im;
    const c128 ratio = {sum_of_products(n.re, d.re, n.im, d.im) / square,
                        sum_of_products(n.im, d.re, -n.re, d.im) / square};
    return scaled(scaled(ratio, scale), 1 / scale_x);
}

// Of 0 it is infinite with no angle.
RK_DEVICE c128 reciprocal_of(c128 z) {
    const f64 size = larger_part(z);
    if (size == 0 || !is_finite(size)) {
        const bool infinite = is_infinite(z.re) || is_infinite(z.im);
        return size == 0  ? c128{highest<f64>(), not_a_number()}
               : infinite ? c128{copysign(0.0, z.re), -copysign(0.0, z.im)}
                          : c128{not_a_number(), not_a_number()};
    }
    const f64 scale = safe_scale(size);
    const c128 w = scaled(z, scale);
    const f64 square = w.re * w.re + w.im * w.im;
    return {w.re / square * scale, -w.im / square * scale};
}

// log|z|. Near |z| = 1 the square less 1 is formed from exact products, so that nothing cancels.
RK_DEVICE f64 log_abs(c128 z) {
    const f64 a = maximum(fabs(z.re), fabs(z.im)), b = minimum(fabs(z.re), fabs(z.im));
    if (is_nan(z) || !is_finite(a) || a == 0) {
        return log(hypot(z.re, z.im));
    }
    if (a >= 0.5 && a <= 1.5) {
        const f64 aa = a * a, bb = b * b;
        if (aa + bb >= 0.5 && aa + bb <= 3) {
            const f64 rest = fma(a, a, -aa) + fma(b, b, -bb);
            const f64 above_one = bb >= 0.25 ? (aa - 0.5) + (bb - 0.5) : (aa - 1) + bb;
            return 0.5 * log1p(above_one + rest);
        }
    }
    const f64 scale = safe_scale(a);
    const f64 shift = scale == 1 ? 0 : scale > 1 ? -600 * ln_2 : 600 * ln_2;
    return log(hypot(a * scale, b * scale)) + shift;
}

RK_DEVICE c128 complex_log(c128 z) { return {log_abs(z), atan2(z.im, z.re)}; }

RK_DEVICE c128 complex_log1p(c128 z) {
    if (is_zero(z)) {
        return z;
    }
    const f64 angle = atan2(z.im, 1 + z.re);
    if (fabs(z.re) < 0.5 && fabs(z.im) < 1) {
        const f64 xx = z.re * z.re, yy = z.im * z.im;
        const f64 rest = fma(z.re, z.re, -xx) + fma(z.im, z.im, -yy);
        return {0.5 * log1p(((2 * z.re + yy) + xx) + rest), angle};
    }
    return {log_abs({1 + z.re, z.im}), angle};
}

// e^x·(cos y + i sin y), for x where e^x overflows and the product need not.
RK_DEVICE c128 turned(f64 x, f64 factor, f64 y) {
    const f64 root = exp(0.5 * x);
    return {(factor * root * cos(y)) * root, (factor * root * sin(y)) * root};
}

constexpr f64 exp_is_safe = 709;

RK_DEVICE c128 complex_exp(c128 z) {
    if (z.im == 0) {
        return {exp(z.re), z.im};
    }
    if (is_infinite(z.re) && !is_finite(z.im)) {
        return z.re < 0 ? c128{0, 0} : c128{z.re, not_a_number()};
    }
    if (z.re > exp_is_safe) {
        return turned(z.re, 1, z.im);
    }
    const f64 size = exp(z.re);
    return {size * cos(z.im), size * sin(z.im)};
}

RK_DEVICE c128 complex_expm1(c128 z) {
    if (z.im == 0) {
        return {z.re == 0 ? 0 : expm1(z.re), z.im};  // the standard has no -0 here
    }
    if (is_infinite(z.re) && z.re < 0) {
        return {-1, is_finite(z.im) ? copysign(0.0, sin(z.im)) : 0};
    }
    if (z.re > exp_is_safe) {
        return complex_exp(z);
    }
    const f64 half = sin(0.5 * z.im);
    return {sum_of_products(expm1(z.re), cos(z.im), -2 * half, half), exp(z.re) * sin(z.im)};
}

RK_DEVICE c128 complex_sinh(c128 z) {
    if (!is_finite(z.im)) {
        return {z.re == 0 || is_infinite(z.re) ? z.re : not_a_number(), not_a_number()};
    }
    if (z.im == 0) {
        return {sinh(z.re), z.im};
    }
    if (fabs(z.re) > exp_is_safe) {
        const c128 w = turned(fabs(z.re), 0.5, z.im);
        return {z.re < 0 ? -w.re : w.re, w.im};
    }
    return {sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)};
}

RK_DEVICE c128 complex_cosh(c128 z) {
    if (!is_finite(z.im)) {
        return {is_infinite(z.re) ? highest<f64>() : not_a_number(), z.re == 0 ? z.re : not_a_number()};
    }
    if (z.im == 0) {
        return {cosh(z.re), copysign(1.0, z.re) * z.im};
    }
    if (fabs(z.re) > exp_is_safe) {
        const c128 w = turned(fabs(z.re), 0.5, z.im);
        return {w.re, z.re < 0 ? -w.im : w.im};
    }
    return {cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)};
}

// W. Kahan, "Branch cuts for complex elementary functions" (1987), has this form of the hyperbolic tangent and the
// forms of the inverse functions below.
RK_DEVICE c128 complex_tanh(c128 z) {
    if (is_infinite(z.re)) {
        return {copysign(1.0, z.re), copysign(0.0, z.im)};  // C has the sign of sin 2b, the array API standard that of b
    }
    if (!is_finite(z.im)) {
        return {z.re == 0 ? z.re : not_a_number(), not_a_number()};
    }
    if (z.im == 0) {
        return {tanh(z.re), z.im};
    }
    if (fabs(z.re) > 22) {
        const f64 e = exp(-fabs(z.re));
        return {copysign(1.0, z.re), 4 * sin(z.im) * cos(z.im) * e * e};
    }
    const f64 t = tan(z.im), s = sinh(z.re);
    const f64 beta = 1 + t * t;
    const f64 denominator = 1 + beta * s * s;
    return {beta * sqrt(1 + s * s) * s / denominator, t / denominator};
}

RK_DEVICE c128 complex_sqrt(c128 z) {
    if (is_infinite(z.im)) {
        return {highest<f64>(), z.im};
    }
    if (is_infinite(z.re)) {
        const f64 small = is_nan(z.im) ? z.im : 0;
        return z.re > 0 ? c128{z.re, copysign(small, z.im)} : c128{small, copysign(highest<f64>(), z.im)};
    }
    if (is_zero(z)) {
        return {0, z.im};
    }
    const f64 size = larger_part(z);
    const f64 scale = size > 0x1p1000 ? 0x1p-60 : size < 0x1p-900 ? 0x1p100 : 1.0;
    const f64 back = scale == 1 ? 1.0 : scale < 1 ? 0x1p30 : 0x1p-50;
    const c128 w = scaled(z, scale);
    const f64 major = sqrt(0.5 * (fabs(w.re) + hypot(w.re, w.im)));
    const f64 minor = w.im / (2 * major);
    return w.re >= 0 || is_nan(w.re) ? c128{major * back, minor * back}
                                     : c128{fabs(minor) * back, copysign(major, w.im) * back};
}

// Of |re| + i|im|: the real parts of the inverse sine and cosine, and their imaginary parts' magnitude.
struct Inverses {
    f64 sine;
    f64 cosine;
    f64 imaginary;
};

RK_DEVICE Inverses inverses(c128 z) {
    const f64 x = fabs(z.re), y = fabs(z.im);
    if (is_nan(z)) {
        const f64 size = is_infinite(x) || is_infinite(y) ? highest<f64>() : not_a_number();
        return {x == 0 ? 0 : not_a_number(), x == 0 ? half_pi : not_a_number(), size};
    }
    if (x > 0x1p100 || y > 0x1p100) {
        return {atan2(x, y), atan2(y, x), log_abs({x, y}) + ln_2};
    }
    const c128 less = complex_sqrt({1 - x, -y}), more = complex_sqrt({1 + x, y});
    return {atan2(x, less.re * more.re - less.im * more.im), 2 * atan2(less.re, more.re),
            asinh(less.re * more.im - less.im * more.re)};
}

RK_DEVICE c128 complex_asin(c128 z) {
    const Inverses w = inverses(z);
    return {copysign(w.sine, z.re), copysign(w.imaginary, z.im)};
}

RK_DEVICE c128 complex_asinh(c128 z) {
    const Inverses w = inverses({z.im, z.re});
    return {copysign(w.imaginary, z.re), copysign(w.sine, z.im)};
}

RK_DEVICE f64 cosine_of(const Inverses &w, f64 x) { return copysign(1.0, x) < 0 ? 2 * half_pi - w.cosine : w.cosine; }

RK_DEVICE c128 complex_acos(c128 z) {
    const Inverses w = inverses(z);
    return {cosine_of(w, z.re), -copysign(w.imaginary, z.im)};
}

RK_DEVICE c128 complex_acosh(c128 z) {
    const Inverses w = inverses(z);
    return {w.imaginary, copysign(cosine_of(w, z.re), z.im)};
}

RK_DEVICE c128 complex_atanh(c128 z) {
    const f64 x = fabs(z.re), y = fabs(z.im);
    if (is_infinite(x) || is_infinite(y)) {
        return {copysign(0.0, z.re), is_nan(y) ? y : copysign(half_pi, z.im)};
    }
    if (is_nan(z)) {
        return {z.re == 0 ? z.re : not_a_number(), not_a_number()};
    }
    if (x > 0x1p500 || y > 0x1p500) {
        const f64 size = larger_part(z), u = x / size, v = y / size;
        return {copysign(u / (u * u + v * v) / size, z.re), copysign(half_pi, z.im)};
    }
    const f64 off = 1 - x;
    if (x == 1 && y < 0x1p-100) {
        const f64 real = y == 0 ? highest<f64>() : 0.5 * (ln_2 - log(y));
        return {copysign(real, z.re), y == 0 ? z.im : copysign(0.5 * half_pi, z.im)};
    }
    const f64 real = 0.25 * log1p(4 * x / (off * off + y * y));
    const f64 angle = 0.5 * atan2(2 * y, sum_of_products(off, 1 + x, -y, y));
    return {copysign(real, z.re), copysign(angle, z.im)};
}

// z / |z|; of 0 it is 0. One infinite part is all that counts of its number.
RK_DEVICE c128 complex_sign(c128 z) {
    if (is_zero(z)) {
        return {0, 0};
    }
    if (is_infinite(z.re) != is_infinite(z.im)) {
        return is_infinite(z.re) ? c128{copysign(1.0, z.re), 0} : c128{0, copysign(1.0, z.im)};
    }
    const c128 w = scaled(z, safe_scale(larger_part(z)));
    const f64 size = hypot(w.re, w.im);
    return {w.re / size, w.im / size};
}

// Small whole exponents by squaring; else e^(y log x). 0 to a power with a real part above 0 is 0, any other NaN.
RK_DEVICE c128 complex_pow(c128 x, c128 y) {
    if (is_zero(y)) {
        return {1, 0};
    }
    if (is_zero(x)) {
        return y.re > 0 ? c128{0, 0} : c128{not_a_number(), not_a_number()};
    }
    if (y.im == 0 && fabs(y.re) <= 64 && rint(y.re) == y.re) {
        c128 result = {1, 0};
#pragma unroll 1
        for (u32 n = static_cast<u32>(fabs(y.re)); n != 0; n >>= 1) {
            result = (n & 1) != 0 ? product(result, x) : result;
            x = n > 1 ? product(x, x) : x;
        }
        return y.re < 0 ? quotient_of({1, 0}, result) : result;
    }
    return complex_exp(product(y, complex_log(x)));
}

}  // namespace rk
