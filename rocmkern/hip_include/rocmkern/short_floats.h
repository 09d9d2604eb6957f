// What the two formats of 16 bits have in common: operators, CUDA's functions by name, pairs, shuffles and atomics.
#pragma once

#include "atomics.h"
#include "waves.h"

// The type that a number of 16 bits and another one meet in: integers become the short type, floats stay what they are.
template <typename T, typename N, bool Wider = __is_same(N, float) || __is_same(N, double)>
struct __rk_meeting {
    using type = T;
};
template <typename T, typename N>
struct __rk_meeting<T, N, true> {
    using type = N;
};
template <typename T, typename N>
using __rk_mixed = typename __rk_meeting<T, N>::type;

#define __RK_SHORT_OPERATOR(T, Pair, symbol)                                            \
    __RK_BOTH T operator symbol(T a, T b) { return T(float(a) symbol float(b)); }       \
    template <typename N, __rk_if<__is_arithmetic(N)> = 0>                              \
    __RK_BOTH __rk_mixed<T, N> operator symbol(T a, N b) {                              \
        return __rk_mixed<T, N>(a) symbol __rk_mixed<T, N>(b);                          \
    }                                                                                   \
    template <typename N, __rk_if<__is_arithmetic(N)> = 0>                              \
    __RK_BOTH __rk_mixed<T, N> operator symbol(N a, T b) {                              \
        return __rk_mixed<T, N>(a) symbol __rk_mixed<T, N>(b);                          \
    }                                                                                   \
    __RK_BOTH T &operator symbol##=(T &a, T b) { return a = a symbol b; }               \
    __RK_BOTH Pair operator symbol(Pair a, Pair b) { return {a.x symbol b.x, a.y symbol b.y}; } \
    __RK_BOTH Pair &operator symbol##=(Pair &a, Pair b) { return a = a symbol b; }

#define __RK_SHORT_COMPARISON(T, Pair, name, symbol)                                    \
    __RK_BOTH bool operator symbol(T a, T b) { return float(a) symbol float(b); }       \
    template <typename N, __rk_if<__is_arithmetic(N)> = 0>                              \
    __RK_BOTH bool operator symbol(T a, N b) {                                          \
        return __rk_mixed<float, N>(float(a)) symbol __rk_mixed<float, N>(b);           \
    }                                                                                   \
    template <typename N, __rk_if<__is_arithmetic(N)> = 0>                              \
    __RK_BOTH bool operator symbol(N a, T b) {                                          \
        return __rk_mixed<float, N>(a) symbol __rk_mixed<float, N>(float(b));           \
    }                                                                                   \
    __RK_BOTH bool __h##name(T a, T b) { return a symbol b; }                           \
    __RK_BOTH Pair __h##name##2(Pair a, Pair b) { return {T(a.x symbol b.x), T(a.y symbol b.y)}; } \
    __RK_BOTH bool __hb##name##2(Pair a, Pair b) { return a.x symbol b.x && a.y symbol b.y; }

#define __RK_SHORT_FUNCTION(T, Pair, name, function)        \
    __RK_DEVICE T h##name(T a) { return T(function(float(a))); } \
    __RK_DEVICE Pair h2##name(Pair a) { return {h##name(a.x), h##name(a.y)}; }

#define __RK_SHORT_FLOAT(T, Pair, to_float)                                             \
    __RK_BOTH float to_float(T a) { return float(a); }                                  \
    __RK_SHORT_OPERATOR(T, Pair, +)                                                     \
    __RK_SHORT_OPERATOR(T, Pair, -)                                                     \
    __RK_SHORT_OPERATOR(T, Pair, *)                                                     \
    __RK_SHORT_OPERATOR(T, Pair, /)                                                     \
    __RK_BOTH T __hadd(T a, T b) { return a + b; }                                      \
    __RK_BOTH T __hsub(T a, T b) { return a - b; }                                      \
    __RK_BOTH T __hmul(T a, T b) { return a * b; }                                      \
    __RK_BOTH T __hdiv(T a, T b) { return a / b; }                                      \
    __RK_BOTH Pair __hadd2(Pair a, Pair b) { return a + b; }                            \
    __RK_BOTH Pair __hsub2(Pair a, Pair b) { return a - b; }                            \
    __RK_BOTH Pair __hmul2(Pair a, Pair b) { return a * b; }                            \
    __RK_BOTH Pair __h2div(Pair a, Pair b) { return a / b; }                            \
    __RK_BOTH T operator-(T a) { return T(-float(a)); }                                 \
    __RK_BOTH T operator+(T a) { return a; }                                            \
    __RK_BOTH Pair operator-(Pair a) { return {-a.x, -a.y}; }                           \
    __RK_BOTH T __hneg(T a) { return -a; }                                              \
    __RK_BOTH Pair __hneg2(Pair a) { return -a; }                                       \
    __RK_BOTH T __habs(T a) { return T(__builtin_fabsf(float(a))); }                    \
    __RK_BOTH Pair __habs2(Pair a) { return {__habs(a.x), __habs(a.y)}; }               \
    __RK_DEVICE T __hfma(T a, T b, T c) { return __rk_fused(a, b, c); }                 \
    __RK_DEVICE Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
    __RK_BOTH T __hmax(T a, T b) { return T(__builtin_fmaxf(float(a), float(b))); }     \
    __RK_BOTH T __hmin(T a, T b) { return T(__builtin_fminf(float(a), float(b))); }     \
    __RK_BOTH Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
    __RK_BOTH Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
    __RK_BOTH bool __hisnan(T a) { return float(a) != float(a); }                       \
    __RK_BOTH bool __hisinf(T a) { return __builtin_isinf(float(a)); }                  \
    __RK_SHORT_COMPARISON(T, Pair, eq, ==)                                           \
    __RK_SHORT_COMPARISON(T, Pair, ne, !=)                                           \
    __RK_SHORT_COMPARISON(T, Pair, lt, <)                                            \
    __RK_SHORT_COMPARISON(T, Pair, le, <=)                                           \
    __RK_SHORT_COMPARISON(T, Pair, gt, >)                                            \
    __RK_SHORT_COMPARISON(T, Pair, ge, >=)                                           \
    __RK_SHORT_FUNCTION(T, Pair, exp, expf)                                             \
    __RK_SHORT_FUNCTION(T, Pair, exp2, exp2f)                                           \
    __RK_SHORT_FUNCTION(T, Pair, exp10, exp10f)                                         \
    __RK_SHORT_FUNCTION(T, Pair, log, logf)                                             \
    __RK_SHORT_FUNCTION(T, Pair, log2, log2f)                                           \
    __RK_SHORT_FUNCTION(T, Pair, log10, log10f)                                         \
    __RK_SHORT_FUNCTION(T, Pair, sin, sinf)                                             \
    __RK_SHORT_FUNCTION(T, Pair, cos, cosf)                                             \
    __RK_SHORT_FUNCTION(T, Pair, tanh, tanhf)                                           \
    __RK_SHORT_FUNCTION(T, Pair, sqrt, sqrtf)                                           \
    __RK_SHORT_FUNCTION(T, Pair, rsqrt, rsqrtf)                                         \
    __RK_SHORT_FUNCTION(T, Pair, rcp, 1.0f / )                                          \
    __RK_SHORT_FUNCTION(T, Pair, floor, floorf)                                         \
    __RK_SHORT_FUNCTION(T, Pair, ceil, ceilf)                                           \
    __RK_SHORT_FUNCTION(T, Pair, rint, rintf)                                           \
    __RK_SHORT_FUNCTION(T, Pair, trunc, truncf)                                         \
    __RK_DEVICE T atomicAdd(T *p, T value) {                                            \
        return __rk_atomic_change(p, [value](T old) { return old + value; });           \
    }                                                                                   \
    __RK_DEVICE Pair atomicAdd(Pair *p, Pair value) {                                   \
        return __rk_atomic_change(p, [value](Pair old) { return old + value; });        \
    }
