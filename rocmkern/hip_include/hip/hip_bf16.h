// bfloat16: __hip_bfloat16 and __hip_bfloat162, which compute in f32 and round once.
#pragma once

#include <rocmkern/vectors.h>

#include <rocmkern/short_floats.h>

struct alignas(2) __hip_bfloat16_raw {
    unsigned short x;
};

// To nearest, ties to even; a NaN stays one.
__RK_BOTH unsigned short __rk_bf16_bits(float x) {
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    return static_cast<unsigned short>((x != x ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

struct __hip_bfloat16 {
    unsigned short data;

    __hip_bfloat16() = default;
    template <typename T, __rk_if<__is_arithmetic(T)> = 0>
    __host__ __device__ __hip_bfloat16(T x) : data(__rk_bf16_bits(static_cast<float>(x))) {}
    __host__ __device__ constexpr __hip_bfloat16(__hip_bfloat16_raw raw) : data(raw.x) {}
    __host__ __device__ operator float() const { return __builtin_bit_cast(float, static_cast<unsigned>(data) << 16); }
    __host__ __device__ operator __hip_bfloat16_raw() const { return {data}; }
    template <typename T, __rk_if<__is_arithmetic(T) && !__is_same(T, float) && !__is_same(T, bool)> = 0>
    __host__ __device__ explicit operator T() const {
        return static_cast<T>(static_cast<float>(*this));
    }
    __host__ __device__ explicit operator bool() const { return (data & 0x7fff) != 0; }
};

struct alignas(4) __hip_bfloat162 {
    __hip_bfloat16 x, y;

    __hip_bfloat162() = default;
    __host__ __device__ constexpr __hip_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) : x(x), y(y) {}
};

__RK_DEVICE __hip_bfloat16 __rk_fused(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    return __hip_bfloat16(__builtin_fmaf(float(a), float(b), float(c)));
}

__RK_SHORT_FLOAT(__hip_bfloat16, __hip_bfloat162, __bfloat162float)

__RK_BOTH __hip_bfloat16 __float2bfloat16(float x) { return __hip_bfloat16(x); }
__RK_BOTH __hip_bfloat16 __float2bfloat16_rn(float x) { return __hip_bfloat16(x); }
__RK_BOTH __hip_bfloat16 __double2bfloat16(double x) { return __hip_bfloat16(x); }
__RK_BOTH __hip_bfloat16 __low2bfloat16(__hip_bfloat162 x) { return x.x; }
__RK_BOTH __hip_bfloat16 __high2bfloat16(__hip_bfloat162 x) { return x.y; }
__RK_BOTH float __low2float(__hip_bfloat162 x) { return float(x.x); }
__RK_BOTH float __high2float(__hip_bfloat162 x) { return float(x.y); }
__RK_BOTH __hip_bfloat162 __float2bfloat162_rn(float x) { return {__hip_bfloat16(x), __hip_bfloat16(x)}; }
__RK_BOTH __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__hip_bfloat16(x), __hip_bfloat16(y)}; }
__RK_BOTH __hip_bfloat162 __float22bfloat162_rn(float2 x) { return {__hip_bfloat16(x.x), __hip_bfloat16(x.y)}; }
__RK_BOTH float2 __bfloat1622float2(__hip_bfloat162 x) { return {float(x.x), float(x.y)}; }
__RK_BOTH __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
__RK_BOTH __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
__RK_BOTH short __bfloat16_as_short(__hip_bfloat16 x) { return static_cast<short>(x.data); }
__RK_BOTH unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.data; }
__RK_BOTH __hip_bfloat16 __short_as_bfloat16(short x) {
    return __hip_bfloat16(__hip_bfloat16_raw{static_cast<unsigned short>(x)});
}
__RK_BOTH __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __hip_bfloat16(__hip_bfloat16_raw{x}); }
