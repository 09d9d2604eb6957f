// CUDA's and HIP's device functions of one instruction or a few: bits, roundings, fast maths, bytes in words.
#pragma once

#include "vectors.h"

// Loads with a cache hint, and stores: plain ones here.
template <typename T>
__RK_DEVICE T __ldg(const T *p) {
    return *p;
}
template <typename T>
__RK_DEVICE T __ldca(const T *p) {
    return *p;
}
template <typename T>
__RK_DEVICE T __ldcg(const T *p) {
    return *p;
}
template <typename T>
__RK_DEVICE T __ldcs(const T *p) {
    return *p;
}
template <typename T>
__RK_DEVICE void __stcg(T *p, __rk_exactly<T> value) {
    *p = value;
}
template <typename T>
__RK_DEVICE void __stcs(T *p, __rk_exactly<T> value) {
    *p = value;
}
template <typename T>
__RK_DEVICE void __stwt(T *p, __rk_exactly<T> value) {
    *p = value;
}

// Bits.
__RK_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
__RK_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__RK_DEVICE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
__RK_DEVICE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
template <typename T>
__RK_DEVICE int __ffs(T x) {
    return sizeof(T) == 8 ? __builtin_ffsll(static_cast<long long>(x)) : __builtin_ffs(static_cast<int>(x));
}
__RK_DEVICE int __ffsll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)); }
__RK_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__RK_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__RK_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (n & 31)) >> 32);
}
__RK_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (n & 31));
}
__RK_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned n) {
    return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (n < 32 ? n : 32)) >> 32);
}
__RK_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned n) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (n < 32 ? n : 32));
}
__RK_DEVICE unsigned __bitextract_u32(unsigned x, unsigned from, unsigned count) {
    return __builtin_amdgcn_ubfe(x, from, count);
}

// CUDA numbers the bytes of y:x from x's lowest on; the instruction's first operand is the high word.
__RK_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned each = (selector & 7) | (selector >> 4 & 7) << 8 | (selector >> 8 & 7) << 16 | (selector >> 12 & 7) << 24;
    return __builtin_amdgcn_perm(y, x, each);
}

// Integers.
__RK_DEVICE int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
__RK_DEVICE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
__RK_DEVICE int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
__RK_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
__RK_DEVICE long long __mul64hi(long long x, long long y) { return static_cast<long long>(static_cast<__int128>(x) * y >> 64); }
__RK_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
__RK_DEVICE unsigned __sad(int x, int y, unsigned z) {
    return (x > y ? static_cast<unsigned>(x) - y : static_cast<unsigned>(y) - x) + z;
}
__RK_DEVICE unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }
__RK_DEVICE int __hadd(int x, int y) { return (x & y) + ((x ^ y) >> 1); }
__RK_DEVICE int __rhadd(int x, int y) { return (x | y) - ((x ^ y) >> 1); }
__RK_DEVICE unsigned __uhadd(unsigned x, unsigned y) { return (x & y) + ((x ^ y) >> 1); }
__RK_DEVICE unsigned __urhadd(unsigned x, unsigned y) { return (x | y) - ((x ^ y) >> 1); }

// c plus the products of four bytes, or of two shorts with two bytes; wraps.
template <typename Element, typename Word>
__RK_DEVICE Word __rk_dot4(Word a, Word b, Word c) {
    for (int i = 0; i < 32; i += 8) {
        c += static_cast<Word>(static_cast<Element>(a >> i)) * static_cast<Word>(static_cast<Element>(b >> i));
    }
    return c;
}
__RK_DEVICE int __dp4a(int a, int b, int c) {
#if defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#else
    return __builtin_amdgcn_sdot4(a, b, c, false);
#endif
}
__RK_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return __rk_dot4<unsigned char>(a, b, c); }
__RK_DEVICE int __dp2a_lo(int a, int b, int c) {
    return c + static_cast<short>(a) * static_cast<signed char>(b) + (a >> 16) * static_cast<signed char>(b >> 8);
}
__RK_DEVICE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
__RK_DEVICE int amd_mixed_dot(int a, int b, int c, bool) { return __dp4a(a, b, c); }

// Four bytes or two halves of a word, each by itself.
template <typename Element, typename F>
__RK_DEVICE unsigned __rk_each(unsigned a, unsigned b, F f) {
    constexpr int bits = 8 * sizeof(Element);
    unsigned all = 0;
#pragma unroll
    for (int i = 0; i < 32; i += bits) {
        const auto one = static_cast<unsigned>(f(static_cast<Element>(a >> i), static_cast<Element>(b >> i)));
        all |= (one & ((1u << bits) - 1)) << i;
    }
    return all;
}
#define __RK_BY_ELEMENT(name, type, expression)                                      \
    __RK_DEVICE unsigned name(unsigned a, unsigned b) {                              \
        return __rk_each<type>(a, b, [](int x, int y) -> int { return expression; }); \
    }
__RK_BY_ELEMENT(__vadd4, signed char, x + y)
__RK_BY_ELEMENT(__vsub4, signed char, x - y)
__RK_BY_ELEMENT(__vabsdiffs4, signed char, x > y ? x - y : y - x)
__RK_BY_ELEMENT(__vabsdiffu4, unsigned char, x > y ? x - y : y - x)
__RK_BY_ELEMENT(__vaddss4, signed char, x + y > 127 ? 127 : x + y < -128 ? -128 : x + y)
__RK_BY_ELEMENT(__vsubss4, signed char, x - y > 127 ? 127 : x - y < -128 ? -128 : x - y)
__RK_BY_ELEMENT(__vaddus4, unsigned char, x + y > 255 ? 255 : x + y)
__RK_BY_ELEMENT(__vsubus4, unsigned char, x > y ? x - y : 0)
__RK_BY_ELEMENT(__vmaxs4, signed char, x > y ? x : y)
__RK_BY_ELEMENT(__vmaxu4, unsigned char, x > y ? x : y)
__RK_BY_ELEMENT(__vmins4, signed char, x < y ? x : y)
__RK_BY_ELEMENT(__vminu4, unsigned char, x < y ? x : y)
__RK_BY_ELEMENT(__vcmpeq4, unsigned char, x == y ? 255 : 0)
__RK_BY_ELEMENT(__vcmpne4, unsigned char, x != y ? 255 : 0)
__RK_BY_ELEMENT(__vcmpgts4, signed char, x > y ? 255 : 0)
__RK_BY_ELEMENT(__vcmpgtu4, unsigned char, x > y ? 255 : 0)
__RK_BY_ELEMENT(__vseteq4, unsigned char, x == y)
__RK_BY_ELEMENT(__vsetne4, unsigned char, x != y)
__RK_BY_ELEMENT(__vadd2, short, x + y)
__RK_BY_ELEMENT(__vsub2, short, x - y)
__RK_BY_ELEMENT(__vmaxs2, short, x > y ? x : y)
__RK_BY_ELEMENT(__vmins2, short, x < y ? x : y)
__RK_BY_ELEMENT(__vcmpeq2, unsigned short, x == y ? 65535 : 0)

// Fast maths, by the hardware's instructions.
extern "C" __device__ __attribute__((const)) float __ocml_native_sin_f32(float);
extern "C" __device__ __attribute__((const)) float __ocml_native_cos_f32(float);
__RK_DEVICE float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504088896341f); }
__RK_DEVICE float __exp2f(float x) { return __builtin_amdgcn_exp2f(x); }
__RK_DEVICE float __exp10f(float x) { return __builtin_amdgcn_exp2f(x * 3.32192809488736235f); }
__RK_DEVICE float __log2f(float x) { return __builtin_amdgcn_logf(x); }
__RK_DEVICE float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.69314718055994531f; }
__RK_DEVICE float __log10f(float x) { return __builtin_amdgcn_logf(x) * 0.30102999566398120f; }
__RK_DEVICE float __powf(float x, float y) { return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x)); }
__RK_DEVICE float __sinf(float x) { return __ocml_native_sin_f32(x); }
__RK_DEVICE float __cosf(float x) { return __ocml_native_cos_f32(x); }
__RK_DEVICE float __tanf(float x) { return __sinf(x) * __builtin_amdgcn_rcpf(__cosf(x)); }
__RK_DEVICE void __sincosf(float x, float *sine, float *cosine) {
    *sine = __sinf(x);
    *cosine = __cosf(x);
}
__RK_DEVICE float __tanhf(float x) { return tanhf(x); }
__RK_DEVICE float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
__RK_DEVICE float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
__RK_DEVICE float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

// Arithmetic rounded to nearest, kept apart from what stands around it.
#define __RK_ROUNDED(name, type, parameters, expression) \
    __RK_DEVICE type name parameters {                   \
        _Pragma("clang fp contract(off)") return expression; \
    }
__RK_ROUNDED(__fadd_rn, float, (float x, float y), x + y)
__RK_ROUNDED(__fsub_rn, float, (float x, float y), x - y)
__RK_ROUNDED(__fmul_rn, float, (float x, float y), x * y)
__RK_ROUNDED(__fdiv_rn, float, (float x, float y), x / y)
__RK_ROUNDED(__frcp_rn, float, (float x), 1.0f / x)
__RK_ROUNDED(__fsqrt_rn, float, (float x), __builtin_sqrtf(x))
__RK_ROUNDED(__fmaf_rn, float, (float x, float y, float z), __builtin_fmaf(x, y, z))
__RK_ROUNDED(__dadd_rn, double, (double x, double y), x + y)
__RK_ROUNDED(__dsub_rn, double, (double x, double y), x - y)
__RK_ROUNDED(__dmul_rn, double, (double x, double y), x * y)
__RK_ROUNDED(__ddiv_rn, double, (double x, double y), x / y)
__RK_ROUNDED(__drcp_rn, double, (double x), 1.0 / x)
__RK_ROUNDED(__dsqrt_rn, double, (double x), __builtin_sqrt(x))
__RK_ROUNDED(__fma_rn, double, (double x, double y, double z), __builtin_fma(x, y, z))

// The same rounded otherwise, through the library's functions.
#define __RK_DIRECTED_2(operation, direction, library)                                                   \
    extern "C" __device__ __attribute__((const)) float __ocml_##operation##_##library##_f32(float, float);   \
    extern "C" __device__ __attribute__((const)) double __ocml_##operation##_##library##_f64(double, double); \
    __RK_DEVICE float __f##operation##_##direction(float x, float y) {                                   \
        return __ocml_##operation##_##library##_f32(x, y);                                               \
    }                                                                                                    \
    __RK_DEVICE double __d##operation##_##direction(double x, double y) {                                \
        return __ocml_##operation##_##library##_f64(x, y);                                               \
    }
#define __RK_DIRECTED(direction, library)     \
    __RK_DIRECTED_2(add, direction, library)  \
    __RK_DIRECTED_2(sub, direction, library)  \
    __RK_DIRECTED_2(mul, direction, library)  \
    __RK_DIRECTED_2(div, direction, library)
__RK_DIRECTED(rd, rtn)
__RK_DIRECTED(ru, rtp)
__RK_DIRECTED(rz, rtz)

// Bits of numbers.
__RK_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__RK_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__RK_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__RK_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__RK_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__RK_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__RK_DEVICE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
__RK_DEVICE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
__RK_DEVICE double __hiloint2double(int high, int low) {
    return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

// Conversions. What lies outside of the integer's range becomes its nearest number, as the instructions do it.
template <typename To, typename From>
__RK_DEVICE To __rk_clamped(From x) {
    constexpr int bits = 8 * sizeof(To);
    constexpr bool is_signed = To(-1) < To(0);
    constexpr To most = is_signed ? static_cast<To>(~(1ull << (bits - 1)) & (~0ull >> (64 - bits))) : static_cast<To>(~0ull);
    constexpr To least = is_signed ? static_cast<To>(-most - 1) : To(0);
    const From beyond = static_cast<From>(1ull << (bits - 1)) * (is_signed ? 1 : 2);
    return x != x ? To(0) : x >= beyond ? most : x < static_cast<From>(least) ? least : static_cast<To>(x);
}
#define __RK_CONVERSIONS(from, From, to, To)                                                                      \
    __RK_DEVICE To __##from##2##to##_rn(From x) { return __rk_clamped<To>(rint(x)); }                             \
    __RK_DEVICE To __##from##2##to##_rd(From x) { return __rk_clamped<To>(floor(x)); }                            \
    __RK_DEVICE To __##from##2##to##_ru(From x) { return __rk_clamped<To>(ceil(x)); }                             \
    __RK_DEVICE To __##from##2##to##_rz(From x) { return __rk_clamped<To>(trunc(x)); }
__RK_CONVERSIONS(float, float, int, int)
__RK_CONVERSIONS(float, float, uint, unsigned)
__RK_CONVERSIONS(float, float, ll, long long)
__RK_CONVERSIONS(float, float, ull, unsigned long long)
__RK_CONVERSIONS(double, double, int, int)
__RK_CONVERSIONS(double, double, uint, unsigned)
__RK_CONVERSIONS(double, double, ll, long long)
__RK_CONVERSIONS(double, double, ull, unsigned long long)
__RK_DEVICE float __int2float_rn(int x) { return static_cast<float>(x); }
__RK_DEVICE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
__RK_DEVICE float __ll2float_rn(long long x) { return static_cast<float>(x); }
__RK_DEVICE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
__RK_DEVICE double __int2double_rn(int x) { return static_cast<double>(x); }
__RK_DEVICE double __uint2double_rn(unsigned x) { return static_cast<double>(x); }
__RK_DEVICE double __ll2double_rn(long long x) { return static_cast<double>(x); }
__RK_DEVICE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
__RK_DEVICE float __double2float_rn(double x) { return static_cast<float>(x); }

// What needs hardware of another vendor, or texture units, does not exist: the name says so at compile time.
template <typename... T>
struct __rk_refused {
    static constexpr bool value = false;
};
#define __RK_REFUSED(name)                                                                              \
    template <typename T = void, typename... Arguments>                                                 \
    __RK_DEVICE T name(Arguments...) {                                                                  \
        static_assert(__rk_refused<T, Arguments...>::value, #name ": textures and surfaces are not supported; read from memory"); \
    }
__RK_REFUSED(tex1D)
__RK_REFUSED(tex1Dfetch)
__RK_REFUSED(tex1DLayered)
__RK_REFUSED(tex2D)
__RK_REFUSED(tex2DLayered)
__RK_REFUSED(tex2DLod)
__RK_REFUSED(tex2Dgather)
__RK_REFUSED(tex3D)
__RK_REFUSED(texCubemap)
__RK_REFUSED(surf1Dread)
__RK_REFUSED(surf1Dwrite)
__RK_REFUSED(surf2Dread)
__RK_REFUSED(surf2Dwrite)
__RK_REFUSED(surf3Dread)
__RK_REFUSED(surf3Dwrite)
