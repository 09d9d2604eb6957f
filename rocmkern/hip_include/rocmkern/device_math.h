// math.h for the device: C's names, C++'s overloads and CUDA's additions, over AMD's maths library.
#pragma once

#define __RK_MATH_1(name)                                                       \
    extern "C" __device__ __attribute__((const)) float __ocml_##name##_f32(float);   \
    extern "C" __device__ __attribute__((const)) double __ocml_##name##_f64(double); \
    __RK_DEVICE float name##f(float x) { return __ocml_##name##_f32(x); }       \
    __RK_DEVICE float name(float x) { return __ocml_##name##_f32(x); }          \
    __RK_DEVICE double name(double x) { return __ocml_##name##_f64(x); }        \
    template <typename T, __rk_if<__is_integral(T)> = 0>                        \
    __RK_DEVICE double name(T x) {                                              \
        return __ocml_##name##_f64(static_cast<double>(x));                     \
    }

__RK_MATH_1(acos)
__RK_MATH_1(acosh)
__RK_MATH_1(asin)
__RK_MATH_1(asinh)
__RK_MATH_1(atan)
__RK_MATH_1(atanh)
__RK_MATH_1(cbrt)
__RK_MATH_1(ceil)
__RK_MATH_1(cos)
__RK_MATH_1(cosh)
__RK_MATH_1(cospi)
__RK_MATH_1(erf)
__RK_MATH_1(erfc)
__RK_MATH_1(erfcinv)
__RK_MATH_1(erfcx)
__RK_MATH_1(erfinv)
__RK_MATH_1(exp)
__RK_MATH_1(exp10)
__RK_MATH_1(exp2)
__RK_MATH_1(expm1)
__RK_MATH_1(fabs)
__RK_MATH_1(floor)
__RK_MATH_1(j0)
__RK_MATH_1(j1)
__RK_MATH_1(lgamma)
__RK_MATH_1(log)
__RK_MATH_1(log10)
__RK_MATH_1(log1p)
__RK_MATH_1(log2)
__RK_MATH_1(logb)
__RK_MATH_1(nearbyint)
__RK_MATH_1(rcbrt)
__RK_MATH_1(rint)
__RK_MATH_1(round)
__RK_MATH_1(rsqrt)
__RK_MATH_1(sin)
__RK_MATH_1(sinh)
__RK_MATH_1(sinpi)
__RK_MATH_1(sqrt)
__RK_MATH_1(tan)
__RK_MATH_1(tanh)
__RK_MATH_1(tgamma)
__RK_MATH_1(trunc)
__RK_MATH_1(y0)
__RK_MATH_1(y1)

#define __RK_MATH_2(name)                                                                \
    extern "C" __device__ __attribute__((const)) float __ocml_##name##_f32(float, float);     \
    extern "C" __device__ __attribute__((const)) double __ocml_##name##_f64(double, double);  \
    __RK_DEVICE float name##f(float x, float y) { return __ocml_##name##_f32(x, y); }    \
    __RK_DEVICE float name(float x, float y) { return __ocml_##name##_f32(x, y); }       \
    __RK_DEVICE double name(double x, double y) { return __ocml_##name##_f64(x, y); }    \
    template <typename T, typename U, __rk_if<__is_arithmetic(T) && __is_arithmetic(U) && !__is_same(T, U)> = 0> \
    __RK_DEVICE double name(T x, U y) {                                                  \
        return __ocml_##name##_f64(static_cast<double>(x), static_cast<double>(y));      \
    }                                                                                    \
    template <typename T, __rk_if<__is_integral(T)> = 0>                                 \
    __RK_DEVICE double name(T x, T y) {                                                  \
        return __ocml_##name##_f64(static_cast<double>(x), static_cast<double>(y));      \
    }

__RK_MATH_2(atan2)
__RK_MATH_2(copysign)
__RK_MATH_2(fdim)
__RK_MATH_2(fmax)
__RK_MATH_2(fmin)
__RK_MATH_2(fmod)
__RK_MATH_2(hypot)
__RK_MATH_2(nextafter)
__RK_MATH_2(pow)
__RK_MATH_2(remainder)

extern "C" __device__ __attribute__((const)) float __ocml_len3_f32(float, float, float);
extern "C" __device__ __attribute__((const)) double __ocml_len3_f64(double, double, double);
extern "C" __device__ __attribute__((const)) float __ocml_len4_f32(float, float, float, float);
extern "C" __device__ __attribute__((const)) double __ocml_len4_f64(double, double, double, double);
__RK_DEVICE float norm3df(float x, float y, float z) { return __ocml_len3_f32(x, y, z); }
__RK_DEVICE double norm3d(double x, double y, double z) { return __ocml_len3_f64(x, y, z); }
__RK_DEVICE float norm4df(float x, float y, float z, float w) { return __ocml_len4_f32(x, y, z, w); }
__RK_DEVICE double norm4d(double x, double y, double z, double w) { return __ocml_len4_f64(x, y, z, w); }
__RK_DEVICE float rnorm3df(float x, float y, float z) { return 1 / __ocml_len3_f32(x, y, z); }
__RK_DEVICE double rnorm3d(double x, double y, double z) { return 1 / __ocml_len3_f64(x, y, z); }
__RK_DEVICE float rnorm4df(float x, float y, float z, float w) { return 1 / __ocml_len4_f32(x, y, z, w); }
__RK_DEVICE double rnorm4d(double x, double y, double z, double w) { return 1 / __ocml_len4_f64(x, y, z, w); }
__RK_DEVICE float rhypotf(float x, float y) { return 1 / __ocml_hypot_f32(x, y); }
__RK_DEVICE double rhypot(double x, double y) { return 1 / __ocml_hypot_f64(x, y); }

__RK_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__RK_DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__RK_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

__RK_DEVICE float fdividef(float x, float y) { return x / y; }

extern "C" __device__ __attribute__((const)) float __ocml_ncdf_f32(float);
extern "C" __device__ __attribute__((const)) double __ocml_ncdf_f64(double);
extern "C" __device__ __attribute__((const)) float __ocml_ncdfinv_f32(float);
extern "C" __device__ __attribute__((const)) double __ocml_ncdfinv_f64(double);
extern "C" __device__ __attribute__((const)) float __ocml_i0_f32(float);
extern "C" __device__ __attribute__((const)) double __ocml_i0_f64(double);
extern "C" __device__ __attribute__((const)) float __ocml_i1_f32(float);
extern "C" __device__ __attribute__((const)) double __ocml_i1_f64(double);
__RK_DEVICE float normcdff(float x) { return __ocml_ncdf_f32(x); }
__RK_DEVICE double normcdf(double x) { return __ocml_ncdf_f64(x); }
__RK_DEVICE float normcdfinvf(float x) { return __ocml_ncdfinv_f32(x); }
__RK_DEVICE double normcdfinv(double x) { return __ocml_ncdfinv_f64(x); }
__RK_DEVICE float cyl_bessel_i0f(float x) { return __ocml_i0_f32(x); }
__RK_DEVICE double cyl_bessel_i0(double x) { return __ocml_i0_f64(x); }
__RK_DEVICE float cyl_bessel_i1f(float x) { return __ocml_i1_f32(x); }
__RK_DEVICE double cyl_bessel_i1(double x) { return __ocml_i1_f64(x); }

// An integer as the second argument.
extern "C" __device__ __attribute__((const)) float __ocml_pown_f32(float, int);
extern "C" __device__ __attribute__((const)) double __ocml_pown_f64(double, int);
extern "C" __device__ __attribute__((const)) float __ocml_ldexp_f32(float, int);
extern "C" __device__ __attribute__((const)) double __ocml_ldexp_f64(double, int);
extern "C" __device__ __attribute__((const)) int __ocml_ilogb_f32(float);
extern "C" __device__ __attribute__((const)) int __ocml_ilogb_f64(double);
__RK_DEVICE float pow(float x, int n) { return __ocml_pown_f32(x, n); }
__RK_DEVICE double pow(double x, int n) { return __ocml_pown_f64(x, n); }
__RK_DEVICE float powif(float x, int n) { return __ocml_pown_f32(x, n); }
__RK_DEVICE double powi(double x, int n) { return __ocml_pown_f64(x, n); }
__RK_DEVICE float ldexpf(float x, int n) { return __ocml_ldexp_f32(x, n); }
__RK_DEVICE float ldexp(float x, int n) { return __ocml_ldexp_f32(x, n); }
__RK_DEVICE double ldexp(double x, int n) { return __ocml_ldexp_f64(x, n); }
__RK_DEVICE float scalbnf(float x, int n) { return __ocml_ldexp_f32(x, n); }
__RK_DEVICE float scalbn(float x, int n) { return __ocml_ldexp_f32(x, n); }
__RK_DEVICE double scalbn(double x, int n) { return __ocml_ldexp_f64(x, n); }
__RK_DEVICE int ilogbf(float x) { return __ocml_ilogb_f32(x); }
__RK_DEVICE int ilogb(float x) { return __ocml_ilogb_f32(x); }
__RK_DEVICE int ilogb(double x) { return __ocml_ilogb_f64(x); }

// Results that are integers.
__RK_DEVICE long lrintf(float x) { return static_cast<long>(__builtin_rintf(x)); }
__RK_DEVICE long lrint(float x) { return static_cast<long>(__builtin_rintf(x)); }
__RK_DEVICE long lrint(double x) { return static_cast<long>(__builtin_rint(x)); }
__RK_DEVICE long lroundf(float x) { return static_cast<long>(__ocml_round_f32(x)); }
__RK_DEVICE long lround(float x) { return static_cast<long>(__ocml_round_f32(x)); }
__RK_DEVICE long lround(double x) { return static_cast<long>(__ocml_round_f64(x)); }
__RK_DEVICE long long llrintf(float x) { return static_cast<long long>(__builtin_rintf(x)); }
__RK_DEVICE long long llrint(double x) { return static_cast<long long>(__builtin_rint(x)); }
__RK_DEVICE long long llroundf(float x) { return static_cast<long long>(__ocml_round_f32(x)); }
__RK_DEVICE long long llround(double x) { return static_cast<long long>(__ocml_round_f64(x)); }

// Two results, of which the library stores one.
extern "C" __device__ float __ocml_modf_f32(float, __attribute__((address_space(5))) float *);
extern "C" __device__ double __ocml_modf_f64(double, __attribute__((address_space(5))) double *);
extern "C" __device__ float __ocml_frexp_f32(float, __attribute__((address_space(5))) int *);
extern "C" __device__ double __ocml_frexp_f64(double, __attribute__((address_space(5))) int *);
extern "C" __device__ float __ocml_remquo_f32(float, float, __attribute__((address_space(5))) int *);
extern "C" __device__ double __ocml_remquo_f64(double, double, __attribute__((address_space(5))) int *);
template <typename T>
__RK_DEVICE __attribute__((address_space(5))) T *__rk_private(T *local) {
    return (__attribute__((address_space(5))) T *)local;
}
__RK_DEVICE float modff(float x, float *whole) {
    float stored;
    const float fraction = __ocml_modf_f32(x, __rk_private(&stored));
    *whole = stored;
    return fraction;
}
__RK_DEVICE double modf(double x, double *whole) {
    double stored;
    const double fraction = __ocml_modf_f64(x, __rk_private(&stored));
    *whole = stored;
    return fraction;
}
__RK_DEVICE float modf(float x, float *whole) { return modff(x, whole); }
__RK_DEVICE float frexpf(float x, int *exponent) {
    int stored;
    const float fraction = __ocml_frexp_f32(x, __rk_private(&stored));
    *exponent = stored;
    return fraction;
}
__RK_DEVICE double frexp(double x, int *exponent) {
    int stored;
    const double fraction = __ocml_frexp_f64(x, __rk_private(&stored));
    *exponent = stored;
    return fraction;
}
__RK_DEVICE float frexp(float x, int *exponent) { return frexpf(x, exponent); }
__RK_DEVICE float remquof(float x, float y, int *quotient) {
    int stored;
    const float rest = __ocml_remquo_f32(x, y, __rk_private(&stored));
    *quotient = stored;
    return rest;
}
__RK_DEVICE double remquo(double x, double y, int *quotient) {
    int stored;
    const double rest = __ocml_remquo_f64(x, y, __rk_private(&stored));
    *quotient = stored;
    return rest;
}
__RK_DEVICE void sincosf(float x, float *sine, float *cosine) {
    *sine = __ocml_sin_f32(x);
    *cosine = __ocml_cos_f32(x);
}
__RK_DEVICE void sincos(double x, double *sine, double *cosine) {
    *sine = __ocml_sin_f64(x);
    *cosine = __ocml_cos_f64(x);
}
__RK_DEVICE void sincos(float x, float *sine, float *cosine) { sincosf(x, sine, cosine); }
__RK_DEVICE void sincospif(float x, float *sine, float *cosine) {
    *sine = __ocml_sinpi_f32(x);
    *cosine = __ocml_cospi_f32(x);
}
__RK_DEVICE void sincospi(double x, double *sine, double *cosine) {
    *sine = __ocml_sinpi_f64(x);
    *cosine = __ocml_cospi_f64(x);
}

// What kind of number it is.
__RK_DEVICE bool isnan(float x) { return __builtin_isnan(x); }
__RK_DEVICE bool isnan(double x) { return __builtin_isnan(x); }
__RK_DEVICE bool isinf(float x) { return __builtin_isinf(x); }
__RK_DEVICE bool isinf(double x) { return __builtin_isinf(x); }
__RK_DEVICE bool isfinite(float x) { return __builtin_isfinite(x); }
__RK_DEVICE bool isfinite(double x) { return __builtin_isfinite(x); }
__RK_DEVICE bool isnormal(float x) { return __builtin_isnormal(x); }
__RK_DEVICE bool isnormal(double x) { return __builtin_isnormal(x); }
__RK_DEVICE bool signbit(float x) { return __builtin_signbit(x); }
__RK_DEVICE bool signbit(double x) { return __builtin_signbit(x); }

__RK_DEVICE int abs(int x) { return x < 0 ? -x : x; }
__RK_DEVICE long abs(long x) { return x < 0 ? -x : x; }
__RK_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
__RK_DEVICE float abs(float x) { return __builtin_fabsf(x); }
__RK_DEVICE double abs(double x) { return __builtin_fabs(x); }
__RK_DEVICE long labs(long x) { return x < 0 ? -x : x; }
__RK_DEVICE long long llabs(long long x) { return x < 0 ? -x : x; }

// CUDA's min and max of mixed types, for the host as well. Of floats, as fmin and fmax have them: a NaN loses.
template <typename T, typename U>
using __rk_common = decltype(T() + U());

template <typename T, typename U, __rk_if<__is_integral(T) && __is_integral(U)> = 0>
__RK_BOTH constexpr __rk_common<T, U> min(T a, U b) {
    return static_cast<__rk_common<T, U>>(b) < static_cast<__rk_common<T, U>>(a) ? b : a;
}
template <typename T, typename U, __rk_if<__is_integral(T) && __is_integral(U)> = 0>
__RK_BOTH constexpr __rk_common<T, U> max(T a, U b) {
    return static_cast<__rk_common<T, U>>(a) < static_cast<__rk_common<T, U>>(b) ? b : a;
}
__RK_BOTH constexpr float min(float a, float b) { return __builtin_fminf(a, b); }
__RK_BOTH constexpr float max(float a, float b) { return __builtin_fmaxf(a, b); }
__RK_BOTH constexpr double min(double a, double b) { return __builtin_fmin(a, b); }
__RK_BOTH constexpr double max(double a, double b) { return __builtin_fmax(a, b); }
__RK_BOTH constexpr double min(float a, double b) { return __builtin_fmin(a, b); }
__RK_BOTH constexpr double max(float a, double b) { return __builtin_fmax(a, b); }
__RK_BOTH constexpr double min(double a, float b) { return __builtin_fmin(a, b); }
__RK_BOTH constexpr double max(double a, float b) { return __builtin_fmax(a, b); }

__RK_DEVICE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
__RK_DEVICE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
