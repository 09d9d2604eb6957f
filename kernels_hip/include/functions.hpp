// Functions of one or two numbers where C++ and NumPy part ways, or where the plain formula loses accuracy.
#pragma once

#include "device.hpp"
#include "power.hpp"

namespace rk {

// Division by zero gives 0, the most negative value over -1 wraps; neither may reach the hardware's division.
template <typename T>
RK_DEVICE T divide_integers(T x, T y) {
    if constexpr (is_signed_integer<T>) {
        if (y == -1) {
            return subtract(static_cast<T>(0), x);
        }
    }
    return y == 0 ? static_cast<T>(0) : static_cast<T>(x / y);
}

// Not named divide: the division of sizes below 2^53 in index.hpp would win for u64.
template <typename T>
RK_DEVICE T quotient(T x, T y) {
    if constexpr (is_integer<T>) {
        return divide_integers(x, y);
    } else {
        return x / y;
    }
}

// The remainder with the divisor's sign, as in Python; by zero it is 0 for integers, NaN for floats.
template <typename T>
RK_DEVICE T remainder(T x, T y) {
    if constexpr (is_integer<T>) {
        if (y == 0) {
            return 0;
        }
        const T rest = subtract(x, multiply(divide_integers(x, y), y));
        return rest != 0 && (rest < 0) != (y < 0) ? add(rest, y) : rest;
    } else {
        const T rest = fmod(x, y);
        if (rest == 0) {
            return copysign(rest, y);
        }
        return (rest < 0) != (y < 0) ? rest + y : rest;
    }
}

// The quotient rounded down, as Python's `//`; NumPy's steps, because floor(x / y) may be one too large.
template <typename T>
RK_DEVICE T floor_divide(T x, T y) {
    if constexpr (is_integer<T>) {
        const T quotient = divide_integers(x, y);
        const T rest = subtract(x, multiply(quotient, y));
        return y != 0 && rest != 0 && (rest < 0) != (y < 0) ? subtract(quotient, static_cast<T>(1)) : quotient;
    } else {
        if (y == 0) {
            return x / y;
        }
        T rest = fmod(x, y);
        T quotient = (x - rest) / y;
        if (rest != 0 && (rest < 0) != (y < 0)) {
            quotient -= 1;
        }
        if (quotient == 0) {
            return copysign(static_cast<T>(0), x / y);
        }
        const T down = floor(quotient);
        return quotient - down > static_cast<T>(0.5) ? down + 1 : down;
    }
}

// Powers by squaring; they wrap. A negative exponent gives the truncated reciprocal: 0 unless the base is 1 or -1.
template <typename T>
RK_DEVICE T power(T base, T exponent) {
    if constexpr (is_integer<T>) {
        if constexpr (is_signed_integer<T>) {
            if (exponent < 0) {
                return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
            }
        }
        T result = 1;
#pragma unroll 1
        for (; exponent != 0; exponent = static_cast<T>(exponent >> 1)) {
            result = (exponent & 1) != 0 ? multiply(result, base) : result;
            base = multiply(base, base);
        }
        return result;
    } else {
        return raised(base, exponent);
    }
}

// log(exp(x) + exp(y)) without overflow.
template <typename T>
RK_DEVICE T log_add_exp(T x, T y) {
    const T larger = maximum(x, y);
    return x == y ? x + static_cast<T>(0.693147180559945309417) : larger + log1p(exp(-fabs(x - y)));
}

// Counts beyond the width shift everything out, as in NumPy.
template <typename T>
RK_DEVICE T shift_left(T x, T count) {
    constexpr bits_of<T> width = 8 * sizeof(T);
    const bits_of<T> places = static_cast<bits_of<T>>(count);
    // The remainder keeps LLVM from taking PTX's own shift, which looks at the low half of a 64-bit count alone.
    const T shifted = static_cast<T>(static_cast<wrapping<T>>(x) << places % width);
    return places < width ? shifted : static_cast<T>(0);
}

template <typename T>
RK_DEVICE T shift_right(T x, T count) {
    constexpr bits_of<T> last = 8 * sizeof(T) - 1;
    const bits_of<T> bounded = static_cast<bits_of<T>>(count) < last ? static_cast<bits_of<T>>(count) : last;
    const T shifted = static_cast<T>(x >> bounded);
    return is_signed_integer<T> || static_cast<bits_of<T>>(count) <= last ? shifted : static_cast<T>(0);
}

// 1/x within an ulp, 1 <= x <= 2.
RK_DEVICE f32 near_reciprocal(f32 x) { return rough_reciprocal(x); }
RK_DEVICE f64 near_reciprocal(f64 x) { return 1 / x; }

// x / (1 + exp(-v)), v an exponent whose rounding error the exponential would magnify. Where exp(-|v|) itself would be
// subnormal, it is computed e^64 larger and the result scaled down. The quotient is corrected by what its numerator,
// its denominator and itself were rounded by: the exponential's error is all that is left.
template <typename C>
RK_DEVICE C logistic_times(C x, Twofold<C> v) {
    constexpr C smallest = is_same<C, f32> ? C(-87) : C(-708);
    constexpr C e_to_minus_64 = C(1.603810890548637853e-28);
    const bool tiny = v.hi < smallest;
    const C magnitude = v.hi < 0 ? v.hi : -v.hi;
    const C e = exp(tiny ? magnitude + 64 : magnitude);
    const C power = fma(e, v.hi < 0 ? v.lo : -v.lo, e);
    const Twofold<C> weighted = twofold_product(x, v.hi < 0 ? power : static_cast<C>(1));
    if (tiny) {
        return weighted.hi * e_to_minus_64;
    }
    const Twofold<C> denominator = twofold_sum(static_cast<C>(1), power);
    const C reciprocal = near_reciprocal(denominator.hi);
    const C quotient = weighted.hi * reciprocal;
    const C rest = fma(-quotient, denominator.lo, fma(-quotient, denominator.hi, weighted.hi) + weighted.lo);
    // Of an infinite x the rest is NaN, and adding a rest of +0 would make +0 of -0.
    return fabs(rest) > 0 ? fma(rest, reciprocal, quotient) : quotient;
}

// The same for results of 11 digits or fewer. The root is a normal number wherever the result is not 0.
RK_DEVICE f32 rough_logistic_times(f32 x, f32 v) {
    const f32 root = exp2_or_zero(fabs(v) * -0.72134752f);
    return (v < 0 ? x * root * root : x) * rough_reciprocal(fma(root, root, 1.0f));
}

// What keeps products with 0 from being NaN, for functions that vanish long before.
RK_DEVICE f32 bounded_below(f32 x) { return x < -1000 ? -1000.0f : x; }

template <typename C>
RK_DEVICE C sigmoid(C x) {
    return logistic_times(static_cast<C>(1), {x, 0});
}

template <typename C>
RK_DEVICE C silu(C x) {
    return x == -__builtin_huge_val() ? static_cast<C>(-0.0) : logistic_times(x, {x, 0});
}

// The tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x / (1 + exp(-x (a + b x^2))).
RK_DEVICE f64 gelu(f64 x) {
    constexpr Twofold<f64> a = {0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54};
    constexpr Twofold<f64> b = {0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c70p-61};
    const f64 bounded = x < -32 ? -32.0 : x > 32 ? 32.0 : x;  // the cube stays finite; beyond, the result is 0 or x
    const Twofold<f64> square = twofold_product(bounded, bounded);
    const Twofold<f64> cubic = twofold_product(b.hi, square.hi);
    const f64 cubic_lo = fma(b.hi, square.lo, fma(b.lo, square.hi, cubic.lo));
    const Twofold<f64> sum = a.hi > cubic.hi ? twofold_sum(a.hi, cubic.hi) : twofold_sum(cubic.hi, a.hi);
    const Twofold<f64> product = twofold_product(bounded, sum.hi);
    const f64 v_lo = fma(bounded, sum.lo + (a.lo + cubic_lo), product.lo);
    return logistic_times(x < -32 ? -32.0 : x, {product.hi, v_lo});
}

// relu(x) less |x| / (1 + 2^v), v = |x| (a + b x^2) to twice the precision. a.hi has so few bits that a.hi - sum is exact.
// The quotient is 2^64 times too large until the end, where it may become subnormal.
RK_DEVICE f32 gelu(f32 x) {
    constexpr Twofold<f32> a = {0x1.26aec0p+1f, 0x1.0de73ap-22f};
    constexpr Twofold<f32> b = {0x1.a5a7d0p-4f, -0x1.151aaep-29f};
    const f32 magnitude = fabs(x) > 11 ? 11.0f : fabs(x);
    const Twofold<f32> square = twofold_product(magnitude, magnitude);
    const f32 sum = fma(square.hi, b.hi, a.hi);
    const f32 sum_lo = fma(square.hi, b.hi, a.hi - sum) + fma(square.hi, b.lo, fma(square.lo, b.hi, a.lo));
    const Twofold<f32> v = twofold_product(magnitude, sum);
    const f32 shifted = fma(magnitude, -sum, 0x1.8p23f);  // the exponent in its lowest bits
    const f32 r = (v.hi + (shifted - 0x1.8p23f)) + fma(magnitude, sum_lo, v.lo);
    f32 q = fma(r, 0x1.416d08p-13f, -0x1.5f09a6p-10f);
    q = fma(r, q, 0x1.3b2de0p-7f);
    q = fma(r, q, -0x1.c6af7ap-5f);
    q = fma(r, q, 0x1.ebfbdcp-3f);
    q = fma(r, q, -0x1.62e430p-1f);
    q = r * q;  // 2^-r - 1
    const f32 scale = bit_cast<f32>((bit_cast<u32>(shifted) << 23) + (191u << 23));
    const Twofold<f32> denominator = twofold_sum(1.0f, fma(scale, q, scale) * 0x1p-64f);
    const f32 numerator = fma(magnitude * scale, q, magnitude * scale);
    const f32 inverse = near_reciprocal(denominator.hi);
    const f32 quotient = numerator * inverse;
    const f32 rest = fma(-denominator.lo, quotient, fma(-denominator.hi, quotient, numerator));
    return fma(fma(rest, inverse, quotient), -0x1p-64f, x < 0 ? -0.0f : x);
}

RK_DEVICE f32 rough_exp(f32 x) { return rough_exp2(x * 1.44269504f); }
RK_DEVICE f32 rough_sigmoid(f32 x) { return rough_logistic_times(1, x); }
RK_DEVICE f32 rough_silu(f32 x) { return rough_logistic_times(bounded_below(x), x); }
RK_DEVICE f32 rough_gelu(f32 x) {
    return rough_logistic_times(bounded_below(x), x * fma(x * x, 0.071354816f, 1.5957691f));
}

template <typename C>
RK_DEVICE C elu(C x, C alpha) {
    return x >= 0 ? x : alpha * expm1(x);
}

// Zero for both zeros, NaN for NaN.
template <typename T>
RK_DEVICE T sign(T x) {
    if constexpr (is_float<T>) {
        return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
    } else {
        return static_cast<T>((x > 0) - (x < 0));
    }
}

}  // namespace rk
