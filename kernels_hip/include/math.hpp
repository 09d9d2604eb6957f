// Arithmetic that C++ leaves open, and the device library's functions under their usual names: the only place that
// names library functions (ocml on AMDGPU, libdevice on NVPTX).
#pragma once

#include "device.hpp"

#if defined(__NVPTX__)
#define RK_F32_NAME(ocml, libdevice) __nv_##libdevice##f
#define RK_F64_NAME(ocml, libdevice) __nv_##libdevice
#else
#define RK_F32_NAME(ocml, libdevice) __ocml_##ocml##_f32
#define RK_F64_NAME(ocml, libdevice) __ocml_##ocml##_f64
#endif

#define RK_LIBRARY_AS(name, ocml, libdevice)                                       \
    extern "C" __device__ float RK_F32_NAME(ocml, libdevice)(float);               \
    extern "C" __device__ double RK_F64_NAME(ocml, libdevice)(double);             \
    namespace rk {                                                                 \
    RK_DEVICE f32 name(f32 x) { return RK_F32_NAME(ocml, libdevice)(x); }          \
    RK_DEVICE f64 name(f64 x) { return RK_F64_NAME(ocml, libdevice)(x); }          \
    }
#define RK_LIBRARY_1(name) RK_LIBRARY_AS(name, name, name)
#define RK_LIBRARY_2(name)                                                         \
    extern "C" __device__ float RK_F32_NAME(name, name)(float, float);             \
    extern "C" __device__ double RK_F64_NAME(name, name)(double, double);          \
    namespace rk {                                                                 \
    RK_DEVICE f32 name(f32 x, f32 y) { return RK_F32_NAME(name, name)(x, y); }     \
    RK_DEVICE f64 name(f64 x, f64 y) { return RK_F64_NAME(name, name)(x, y); }     \
    }
#define RK_BUILTIN_1(name)                                                \
    namespace rk {                                                        \
    RK_DEVICE f32 name(f32 x) { return __builtin_##name##f(x); }          \
    RK_DEVICE f64 name(f64 x) { return __builtin_##name(x); }             \
    }

RK_LIBRARY_1(acos)
RK_LIBRARY_1(acosh)
RK_LIBRARY_1(asin)
RK_LIBRARY_1(asinh)
RK_LIBRARY_1(atan)
RK_LIBRARY_1(atanh)
RK_LIBRARY_1(cos)
RK_LIBRARY_1(cosh)
RK_LIBRARY_1(erf)
RK_LIBRARY_1(erfc)
RK_LIBRARY_1(erfcx)
RK_LIBRARY_1(exp)
RK_LIBRARY_1(exp2)
RK_LIBRARY_1(expm1)
RK_LIBRARY_1(log)
RK_LIBRARY_1(log10)
RK_LIBRARY_1(log1p)
RK_LIBRARY_1(log2)
RK_LIBRARY_1(sin)
RK_LIBRARY_1(sinh)
RK_LIBRARY_1(tan)
RK_LIBRARY_1(tanh)
RK_LIBRARY_AS(normal_cdf, ncdf, normcdf)
RK_LIBRARY_2(atan2)
RK_LIBRARY_2(fmod)
RK_LIBRARY_2(hypot)
RK_LIBRARY_2(pow)
RK_BUILTIN_1(ceil)
RK_BUILTIN_1(fabs)
RK_BUILTIN_1(floor)
RK_BUILTIN_1(rint)
RK_BUILTIN_1(round)
RK_BUILTIN_1(sqrt)
RK_BUILTIN_1(trunc)

namespace rk {

RK_DEVICE f32 copysign(f32 x, f32 sign) { return __builtin_copysignf(x, sign); }
RK_DEVICE f64 copysign(f64 x, f64 sign) { return __builtin_copysign(x, sign); }
RK_DEVICE f32 fma(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
RK_DEVICE f64 fma(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }

// Unsigned and at least 32 bits wide: integer arithmetic in it wraps, in T itself it could overflow.
template <typename T>
using wrapping = choose<sizeof(T) == 8, u64, u32>;

template <typename T>
RK_DEVICE T add(T x, T y) {
    if constexpr (is_integer<T>) {
        return static_cast<T>(static_cast<wrapping<T>>(x) + static_cast<wrapping<T>>(y));
    } else {
        return x + y;
    }
}

template <typename T>
RK_DEVICE T subtract(T x, T y) {
    if constexpr (is_integer<T>) {
        return static_cast<T>(static_cast<wrapping<T>>(x) - static_cast<wrapping<T>>(y));
    } else {
        return x - y;
    }
}

template <typename T>
RK_DEVICE T multiply(T x, T y) {
    if constexpr (is_integer<T>) {
        return static_cast<T>(static_cast<wrapping<T>>(x) * static_cast<wrapping<T>>(y));
    } else {
        return x * y;
    }
}

// x*y+z, rounded once.
template <typename T>
RK_DEVICE T multiply_add(T x, T y, T z) {
    if constexpr (is_float<T>) {
        return fma(x, y, z);
    } else {
        return add(multiply(x, y), z);
    }
}

template <typename T>
RK_DEVICE bool is_nan(T x) {
    if constexpr (is_float<T>) {
        return x != x;
    } else {
        return false;
    }
}

// The larger value; a NaN on either side is the result.
template <typename T>
RK_DEVICE T maximum(T x, T y) {
    return x > y || is_nan(x) ? x : y;
}

// The smaller value; a NaN on either side is the result.
template <typename T>
RK_DEVICE T minimum(T x, T y) {
    return x < y || is_nan(x) ? x : y;
}

// The largest and smallest values of a type; infinities where it has them.
template <typename T>
constexpr T highest() {
    if constexpr (is_same<T, f32>) {
        return __builtin_huge_valf();
    } else if constexpr (is_same<T, f64>) {
        return __builtin_huge_val();
    } else if constexpr (is_signed_integer<T>) {
        return static_cast<T>(static_cast<bits_of<T>>(~static_cast<bits_of<T>>(0)) >> 1);
    } else {
        return static_cast<T>(~static_cast<T>(0));
    }
}

template <typename T>
constexpr T lowest() {
    if constexpr (is_float<T>) {
        return -highest<T>();
    } else if constexpr (is_signed_integer<T>) {
        return static_cast<T>(-highest<T>() - 1);
    } else {
        return 0;
    }
}

template <>
constexpr bool highest<bool>() {
    return true;
}

template <>
constexpr bool lowest<bool>() {
    return false;
}

}  // namespace rk
