// Numbers of 8 bits: OCP's e4m3 and e5m2, and AMD's older forms (fnuz) with one NaN and no negative zero.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

using __hip_fp8_storage_t = unsigned char;
using __hip_fp8x2_storage_t = unsigned short;
using __hip_fp8x4_storage_t = unsigned;

enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };

// A form's mantissa bits, exponent of the smallest normal number, code of the largest, and those of what is none.
struct __rk_fp8_form {
    int mantissa, least;
    unsigned most, infinite, nan;
    bool is_fnuz;
};
__RK_BOTH constexpr __rk_fp8_form __rk_form(__hip_fp8_interpretation_t kind) {
    return kind == __HIP_E4M3   ? __rk_fp8_form{3, -6, 0x7e, 0x7f, 0x7f, false}
           : kind == __HIP_E5M2 ? __rk_fp8_form{2, -14, 0x7b, 0x7c, 0x7f, false}
           : kind == __HIP_E4M3_FNUZ ? __rk_fp8_form{3, -7, 0x7f, 0x80, 0x80, true}
                                     : __rk_fp8_form{2, -15, 0x7f, 0x80, 0x80, true};
}

__RK_BOTH float __rk_power(int exponent) { return __builtin_bit_cast(float, (exponent + 127) << 23); }

// To nearest, ties to even.
__RK_BOTH __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturation,
                                                     __hip_fp8_interpretation_t kind) {
    const __rk_fp8_form form = __rk_form(kind);
    const unsigned bits = __builtin_bit_cast(unsigned, x), sign = bits >> 24 & 0x80;
    const float size = __builtin_fabsf(x);
    if (x != x) {
        return static_cast<__hip_fp8_storage_t>(form.is_fnuz ? form.nan : sign | form.nan);
    }
    const int own = static_cast<int>(bits >> 23 & 255) - 127, exponent = own < form.least ? form.least : own;
    unsigned code = form.most + 1;
    if (exponent < 32) {
        const float steps = __builtin_rintf(size * __rk_power(form.mantissa - exponent));
        code = (static_cast<unsigned>(exponent - form.least) << form.mantissa) + static_cast<unsigned>(steps);
    }
    if (code > form.most) {
        code = saturation == __HIP_SATFINITE ? form.most : form.infinite;
    }
    const bool is_unsigned = form.is_fnuz && (code == 0 || code == form.nan);
    return static_cast<__hip_fp8_storage_t>(is_unsigned ? code : sign | code);
}
__RK_BOTH __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t saturation,
                                                      __hip_fp8_interpretation_t kind) {
    // To odd first, so that rounding twice does no harm.
    const float near = static_cast<float>(x);
    unsigned bits = __builtin_bit_cast(unsigned, near);
    if (static_cast<double>(near) != x && x == x && !(bits & 1)) {
        bits += (static_cast<double>(__builtin_fabsf(near)) < __builtin_fabs(x)) ? 1u : ~0u;
    }
    return __hip_cvt_float_to_fp8(__builtin_bit_cast(float, bits), saturation, kind);
}
__RK_BOTH __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t saturation,
                                                       __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float_to_fp8(static_cast<float>(__half(x)), saturation, kind);
}
__RK_BOTH __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x, __hip_saturation_t saturation,
                                                           __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float_to_fp8(static_cast<float>(__hip_bfloat16(x)), saturation, kind);
}
__RK_BOTH __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t saturation,
                                                          __hip_fp8_interpretation_t kind) {
    return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_float_to_fp8(x.x, saturation, kind) |
                                              __hip_cvt_float_to_fp8(x.y, saturation, kind) << 8);
}

__RK_BOTH float __rk_from_fp8(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
    const __rk_fp8_form form = __rk_form(kind);
    const unsigned code = x & 0x7f, field = code >> form.mantissa, part = code & ((1u << form.mantissa) - 1);
    if (form.is_fnuz ? x == 0x80 : code > form.most) {
        const bool is_infinite = !form.is_fnuz && code == form.infinite && code != form.nan;
        return is_infinite ? (x & 0x80 ? -__builtin_inff() : __builtin_inff()) : __builtin_nanf("");
    }
    const unsigned steps = field ? part | 1u << form.mantissa : part;
    const int exponent = form.least - form.mantissa + (field ? static_cast<int>(field) - 1 : 0);
    const float size = static_cast<float>(steps) * __rk_power(exponent);
    return x & 0x80 ? -size : size;
}
__RK_BOTH __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
    return __half(__rk_from_fp8(x, kind));
}

template <__hip_fp8_interpretation_t Kind>
struct __rk_fp8 {
    __hip_fp8_storage_t __x;

    __rk_fp8() = default;
    template <typename T, __rk_if<__is_arithmetic(T) && !__is_same(T, double)> = 0>
    __host__ __device__ explicit __rk_fp8(T x)
        : __x(__hip_cvt_float_to_fp8(static_cast<float>(x), __HIP_SATFINITE, Kind)) {}
    __host__ __device__ explicit __rk_fp8(double x) : __x(__hip_cvt_double_to_fp8(x, __HIP_SATFINITE, Kind)) {}
    __host__ __device__ explicit __rk_fp8(__half x) : __rk_fp8(static_cast<float>(x)) {}
    __host__ __device__ explicit __rk_fp8(__hip_bfloat16 x) : __rk_fp8(static_cast<float>(x)) {}
    __host__ __device__ operator float() const { return __rk_from_fp8(__x, Kind); }
    __host__ __device__ explicit operator double() const { return __rk_from_fp8(__x, Kind); }
    __host__ __device__ explicit operator __half() const { return __half(__rk_from_fp8(__x, Kind)); }
    __host__ __device__ explicit operator __hip_bfloat16() const { return __hip_bfloat16(__rk_from_fp8(__x, Kind)); }
};
template <__hip_fp8_interpretation_t Kind>
struct __rk_fp8x2 {
    __hip_fp8x2_storage_t __x;

    __rk_fp8x2() = default;
    __host__ __device__ explicit __rk_fp8x2(float2 x) : __x(__hip_cvt_float2_to_fp8x2(x, __HIP_SATFINITE, Kind)) {}
    template <typename Pair, __rk_if<__is_same(Pair, __half2) || __is_same(Pair, __hip_bfloat162)> = 0>
    __host__ __device__ explicit __rk_fp8x2(Pair x) : __rk_fp8x2(float2{float(x.x), float(x.y)}) {}
    __host__ __device__ operator float2() const {
        return {__rk_from_fp8(static_cast<__hip_fp8_storage_t>(__x), Kind),
                __rk_from_fp8(static_cast<__hip_fp8_storage_t>(__x >> 8), Kind)};
    }
};
template <__hip_fp8_interpretation_t Kind>
struct __rk_fp8x4 {
    __hip_fp8x4_storage_t __x;

    __rk_fp8x4() = default;
    __host__ __device__ explicit __rk_fp8x4(float4 x)
        : __x(__hip_cvt_float2_to_fp8x2({x.x, x.y}, __HIP_SATFINITE, Kind) |
              static_cast<unsigned>(__hip_cvt_float2_to_fp8x2({x.z, x.w}, __HIP_SATFINITE, Kind)) << 16) {}
    template <typename Pair, __rk_if<__is_same(Pair, __half2) || __is_same(Pair, __hip_bfloat162)> = 0>
    __host__ __device__ __rk_fp8x4(Pair low, Pair high)
        : __rk_fp8x4(float4{float(low.x), float(low.y), float(high.x), float(high.y)}) {}
    __host__ __device__ operator float4() const {
        const auto each = [this](int i) { return __rk_from_fp8(static_cast<__hip_fp8_storage_t>(__x >> 8 * i), Kind); };
        return {each(0), each(1), each(2), each(3)};
    }
};

#define __RK_FP8_TYPES(name, kind)                \
    using __hip_fp8_##name = __rk_fp8<kind>;      \
    using __hip_fp8x2_##name = __rk_fp8x2<kind>;  \
    using __hip_fp8x4_##name = __rk_fp8x4<kind>;
__RK_FP8_TYPES(e4m3, __HIP_E4M3)
__RK_FP8_TYPES(e5m2, __HIP_E5M2)
__RK_FP8_TYPES(e4m3_fnuz, __HIP_E4M3_FNUZ)
__RK_FP8_TYPES(e5m2_fnuz, __HIP_E5M2_FNUZ)
