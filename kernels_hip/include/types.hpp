// Element types under the short names that kernel symbols end in, and their conversion to and from the type that
// arithmetic is done in: f16, bf16 and f8_e4m3 compute in f32 and round once, every other type computes in itself.
#pragma once

// x*y+z rounds twice unless a kernel says fma: results then do not depend on the compiler's mood.
#pragma clang fp contract(off)

#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif
#define RK_DEVICE __device__ __attribute__((always_inline)) inline

namespace rk {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long;
using f16 = _Float16;
using f32 = float;
using f64 = double;
static_assert(sizeof(u64) == 8 && sizeof(void *) == 8, "the kernels are written for 64-bit addresses");

// Raw bits, because __bf16 arithmetic differs between targets and compiler releases.
struct bf16 {
    u16 bits;
};

// OCP e4m3fn: no infinities, 0x7f and 0xff are NaN. gfx942's own fp8 is another format, so software converts.
struct f8_e4m3 {
    u8 bits;
};

template <typename To, typename From>
RK_DEVICE To bit_cast(From x) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    return __builtin_bit_cast(To, x);
}

template <typename A, typename B>
constexpr bool is_same = false;
template <typename A>
constexpr bool is_same<A, A> = true;

template <bool B, typename Then, typename Else>
struct Choose {
    using type = Then;
};
template <typename Then, typename Else>
struct Choose<false, Then, Else> {
    using type = Else;
};
template <bool B, typename Then, typename Else>
using choose = typename Choose<B, Then, Else>::type;

template <typename T>
constexpr bool is_short_float = is_same<T, f16> || is_same<T, bf16> || is_same<T, f8_e4m3>;
template <typename T>
constexpr bool is_float = is_short_float<T> || is_same<T, f32> || is_same<T, f64>;
template <typename T>
constexpr bool is_bool = is_same<T, bool>;
template <typename T>
constexpr bool is_signed_integer = is_same<T, i8> || is_same<T, i16> || is_same<T, i32> || is_same<T, i64>;
template <typename T>
constexpr bool is_integer = !is_float<T> && !is_bool<T>;

// The unsigned integer of a given size in bytes.
template <unsigned Bytes>
struct Unsigned;
template <>
struct Unsigned<1> {
    using type = u8;
};
template <>
struct Unsigned<2> {
    using type = u16;
};
template <>
struct Unsigned<4> {
    using type = u32;
};
template <>
struct Unsigned<8> {
    using type = u64;
};
template <>
struct Unsigned<16> {
    using type = unsigned __int128;
};
template <typename T>
using bits_of = typename Unsigned<sizeof(T)>::type;

// Elements as bits: as floats, what moves or changes them may make another NaN of a NaN.
template <typename T>
RK_DEVICE bits_of<T> *as_bits(T *pointer) {
    return reinterpret_cast<bits_of<T> *>(pointer);
}
template <typename T>
RK_DEVICE const bits_of<T> *as_bits(const T *pointer) {
    return reinterpret_cast<const bits_of<T> *>(pointer);
}

// The type that arithmetic on T is done in.
template <typename T>
using arith = choose<is_short_float<T>, f32, T>;

RK_DEVICE f32 f32_from(f16 x) { return static_cast<f32>(x); }

RK_DEVICE f32 f32_from(bf16 x) { return bit_cast<f32>(static_cast<u32>(x.bits) << 16); }

// The shifted bits are an f32 whose exponent is 120 too small; the product is exact, subnormals included.
RK_DEVICE f32 f32_from(f8_e4m3 x) {
    const u32 magnitude = x.bits & 0x7fu;
    const u32 sign = static_cast<u32>(x.bits & 0x80u) << 24;
    const u32 finite = bit_cast<u32>(bit_cast<f32>(magnitude << 20) * 0x1p120f);
    return bit_cast<f32>((magnitude == 0x7fu ? 0x7fc00000u : finite) | sign);
}

// To nearest even; device.hpp has its definition, and that of `opaque`.
__device__ bf16 bf16_from(f32 x);

// Rounds to nearest even; beyond 448 there is only NaN. Below 2^-6 the sum with 2^14 rounds to multiples of 2^-9.
RK_DEVICE f8_e4m3 f8_e4m3_from(f32 x) {
    const u32 bits = bit_cast<u32>(x);
    const u32 magnitude = bits & 0x7fffffffu;
    const u32 normal = ((magnitude + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20) - (120u << 3);
    const u32 subnormal = bit_cast<u32>(bit_cast<f32>(magnitude) + 0x1p14f) - 0x46800000u;
    const u32 finite = magnitude < 0x3c800000u ? subnormal : normal;
    return f8_e4m3{static_cast<u8>((magnitude > 0x43e80000u ? 0x7fu : finite) | ((bits >> 24) & 0x80u))};
}

// The value of x in the type that arithmetic is done in: exact.
template <typename T>
RK_DEVICE arith<T> widen(T x) {
    if constexpr (is_short_float<T>) {
        return f32_from(x);
    } else {
        return x;
    }
}

// x, of which the compiler knows nothing more. It would round a product to f16 by a fused multiply-add with +0
// (v_fma_mixlo_f16), and that turns -0 into +0.
__device__ f32 opaque(f32 x);

// Back to the element type, rounded once to nearest even.
template <typename T>
RK_DEVICE T narrow(arith<T> x) {
    if constexpr (is_same<T, bf16>) {
        return bf16_from(x);
    } else if constexpr (is_same<T, f8_e4m3>) {
        return f8_e4m3_from(x);
    } else if constexpr (is_same<T, f16>) {
        return static_cast<f16>(opaque(x));
    } else {
        return static_cast<T>(x);
    }
}

// N elements that move as one load or store.
template <typename T, unsigned N>
struct alignas(sizeof(T) * N) Pack {
    T lane[N];
};

constexpr unsigned vector_bytes = 16;

}  // namespace rk
