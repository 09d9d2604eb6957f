// Half precision: __half and __half2, their arithmetic, conversions, comparisons and functions.
#pragma once

#include <rocmkern/vectors.h>

#include <rocmkern/short_floats.h>

using __half_raw_bits = unsigned short;

struct alignas(2) __half_raw {
    unsigned short x;
};

// A number of 16 bits; computes in its own precision, each operation rounded.
struct __half {
    _Float16 data;

    __half() = default;
    __host__ __device__ constexpr __half(_Float16 x) : data(x) {}
    template <typename T, __rk_if<__is_arithmetic(T) && !__is_same(T, _Float16)> = 0>
    __host__ __device__ constexpr __half(T x) : data(static_cast<_Float16>(x)) {}
    __host__ __device__ __half(__half_raw raw) : data(__builtin_bit_cast(_Float16, raw.x)) {}
    __host__ __device__ constexpr operator float() const { return data; }
    __host__ __device__ operator __half_raw() const { return {__builtin_bit_cast(unsigned short, data)}; }
    template <typename T, __rk_if<__is_arithmetic(T) && !__is_same(T, float) && !__is_same(T, bool)> = 0>
    __host__ __device__ explicit constexpr operator T() const {
        return static_cast<T>(data);
    }
    __host__ __device__ explicit constexpr operator bool() const { return data != 0; }
};
using half = __half;

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    __host__ __device__ constexpr __half2(__half x, __half y) : x(x), y(y) {}
    __host__ __device__ explicit constexpr __half2(__half both) : x(both), y(both) {}
};
using half2 = __half2;

__RK_DEVICE __half __rk_fused(__half a, __half b, __half c) { return __builtin_fmaf16(a.data, b.data, c.data); }

__RK_SHORT_FLOAT(__half, __half2, __half2float)

__RK_BOTH __half __float2half(float x) { return __half(x); }
__RK_BOTH __half __float2half_rn(float x) { return __half(x); }
__RK_BOTH __half __double2half(double x) { return __half(x); }
__RK_BOTH __half __low2half(__half2 x) { return x.x; }
__RK_BOTH __half __high2half(__half2 x) { return x.y; }
__RK_BOTH float __low2float(__half2 x) { return float(x.x); }
__RK_BOTH float __high2float(__half2 x) { return float(x.y); }
__RK_BOTH __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
__RK_BOTH __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
__RK_BOTH __half2 __lowhigh2highlow(__half2 x) { return {x.y, x.x}; }
__RK_BOTH __half2 __lows2half2(__half2 x, __half2 y) { return {x.x, y.x}; }
__RK_BOTH __half2 __highs2half2(__half2 x, __half2 y) { return {x.y, y.y}; }
__RK_BOTH __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
__RK_BOTH __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
__RK_BOTH __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
__RK_BOTH float2 __half22float2(__half2 x) { return {float(x.x), float(x.y)}; }
__RK_BOTH __half2 make_half2(__half x, __half y) { return {x, y}; }
__RK_BOTH __half2 __half2half2(__half x) { return {x, x}; }
__RK_BOTH __half2 __halves2half2(__half x, __half y) { return {x, y}; }
__RK_BOTH short __half_as_short(__half x) { return __builtin_bit_cast(short, x.data); }
__RK_BOTH unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x.data); }
__RK_BOTH __half __short_as_half(short x) { return __half(__builtin_bit_cast(_Float16, x)); }
__RK_BOTH __half __ushort_as_half(unsigned short x) { return __half(__builtin_bit_cast(_Float16, x)); }
__RK_BOTH int __half2int_rn(__half x) { return static_cast<int>(__builtin_rintf(x)); }
__RK_BOTH int __half2int_rz(__half x) { return static_cast<int>(x.data); }
__RK_BOTH unsigned __half2uint_rn(__half x) { return static_cast<unsigned>(__builtin_rintf(x)); }
__RK_BOTH unsigned __half2uint_rz(__half x) { return static_cast<unsigned>(x.data); }
__RK_BOTH __half __int2half_rn(int x) { return __half(x); }
__RK_BOTH __half __uint2half_rn(unsigned x) { return __half(x); }
__RK_BOTH __half __short2half_rn(short x) { return __half(x); }
__RK_BOTH __half __ushort2half_rn(unsigned short x) { return __half(x); }
