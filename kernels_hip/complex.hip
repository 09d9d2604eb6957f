// complex: functions, arithmetic and comparisons of complex tensors, and their conversion. Everything that only moves
// elements, and sums of them, takes the kernels of the real types.
#include "include/complex.hpp"
#include "include/elementwise.hpp"

namespace rk {

#define RK_OF_PARTS(name, weight, expression)  \
    struct name : weight {                     \
        template <typename Z>                  \
        RK_DEVICE auto operator()(Z z) const { \
            return expression;                 \
        }                                      \
    };
#define RK_IN_F64(name, expression)               \
    template <typename Z>                         \
    struct name : Heavy {                         \
        RK_DEVICE Z operator()(Z given) const {   \
            const c128 z = wide(given);           \
            return narrow_complex<Z>(expression); \
        }                                         \
    };
#define RK_OF_TWO(name, weight, expression)         \
    struct name : weight {                          \
        template <typename Z>                       \
        RK_DEVICE auto operator()(Z x, Z y) const { \
            return expression;                      \
        }                                           \
    };

RK_OF_PARTS(uneg, Light, (Z{-z.re, -z.im}))
RK_OF_PARTS(uconj, Light, (Z{z.re, -z.im}))
RK_OF_PARTS(usqr, Light, product(z, z))
RK_OF_PARTS(uabs, Light, magnitude(z))
RK_OF_PARTS(uisnan, Light, static_cast<u8>(is_nan(z)))
RK_OF_PARTS(uisinf, Light, static_cast<u8>(is_infinite(z.re) || is_infinite(z.im)))
RK_OF_PARTS(uisfinite, Light, static_cast<u8>(is_finite(z.re) && is_finite(z.im)))

RK_IN_F64(usign, complex_sign(z))
RK_IN_F64(urecip, reciprocal_of(z))
RK_IN_F64(usqrt, complex_sqrt(z))
RK_IN_F64(uexp, complex_exp(z))
RK_IN_F64(uexpm1, complex_expm1(z))
RK_IN_F64(ulog, complex_log(z))
RK_IN_F64(ulog1p, complex_log1p(z))
RK_IN_F64(ulog2, scaled(complex_log(z), 0x1.71547652b82fep+0))
RK_IN_F64(ulog10, scaled(complex_log(z), 0x1.bcb7b1526e50ep-2))
RK_IN_F64(usin, over_i(complex_sinh(times_i(z))))
RK_IN_F64(ucos, complex_cosh(times_i(z)))
RK_IN_F64(utan, over_i(complex_tanh(times_i(z))))
RK_IN_F64(uasin, complex_asin(z))
RK_IN_F64(uacos, complex_acos(z))
RK_IN_F64(uatan, over_i(complex_atanh(times_i(z))))
RK_IN_F64(usinh, complex_sinh(z))
RK_IN_F64(ucosh, complex_cosh(z))
RK_IN_F64(utanh, complex_tanh(z))
RK_IN_F64(uasinh, complex_asinh(z))
RK_IN_F64(uacosh, complex_acosh(z))
RK_IN_F64(uatanh, complex_atanh(z))

RK_OF_TWO(badd, Light, (Z{x.re + y.re, x.im + y.im}))
RK_OF_TWO(bsub, Light, (Z{x.re - y.re, x.im - y.im}))
RK_OF_TWO(bmul, Light, product(x, y))
RK_OF_TWO(bdiv, Heavy, narrow_complex<Z>(quotient_of(wide(x), wide(y))))
RK_OF_TWO(bpow, Heavy, narrow_complex<Z>(complex_pow(wide(x), wide(y))))
RK_OF_TWO(eq, Light, static_cast<u8>(x.re == y.re && x.im == y.im))
RK_OF_TWO(ne, Light, static_cast<u8>(x.re != y.re || x.im != y.im))

// A real number has the imaginary part 0; the truth of a number is whether it differs from 0.
template <typename D, typename S>
struct Cast {
    RK_DEVICE D operator()(S x) const {
        if constexpr (is_same<D, bool>) {
            return !is_zero(x);
        } else if constexpr (is_float<S>) {
            return {x, 0};
        } else {
            return {static_cast<typename D::Part>(x.re), static_cast<typename D::Part>(x.im)};
        }
    }
};

// Products of the elements up to and including each along the middle axis of (left, n, right), a line a thread.
template <typename Z>
RK_DEVICE void running_products(u64 lines, u64 n, u64 right, const Z *src, Z *dst) {
#pragma unroll 1
    for (u64 line = global_thread(); line < lines; line += global_threads()) {
        const u64 left = right == 1 ? line : divide(line, right);
        u64 at = left * n * right + (line - left * right);
        Z total = src[at];
        dst[at] = total;
#pragma unroll 1
        for (u64 i = 1; i < n; ++i) {
            at += right;
            total = product(total, src[at]);
            dst[at] = total;
        }
    }
}

#define COMPLEX_PRODUCTS(T)                                                                   \
    RK_KERNEL cumprod_##T(u64 lines, u64 n, u64 right, const T *src, T *dst) {                \
        running_products(lines, n, right, src, dst);                                          \
    }
#define COMPLEX_UNARY(op, T, Out)                                             \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *inp, Out *out) {                   \
        const Space space = {numel, num_dims, info};                          \
        elementwise<op::weight>(space, out, op(), Operand<T, 0>(space, inp)); \
    }
#define COMPLEX_FUNCTION(op, T)                                                     \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *inp, T *out) {                           \
        const Space space = {numel, num_dims, info};                                \
        elementwise<Weight::heavy>(space, out, op<T>(), Operand<T, 0>(space, inp)); \
    }
#define COMPLEX_BINARY(op, T, Out)                                                                       \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *lhs, const T *rhs, Out *out) {                                \
        const Space space = {numel, num_dims, info};                                                     \
        elementwise<op::weight>(space, out, op(), Operand<T, 0>(space, lhs), Operand<T, 1>(space, rhs)); \
    }
#define COMPLEX_CAST(S, D)                                                               \
    RK_KERNEL cast_##S##_##D(RK_LAYOUT, const S *inp, D *out) {                          \
        const Space space = {numel, num_dims, info};                                     \
        elementwise<Weight::light>(space, out, Cast<D, S>(), Operand<S, 0>(space, inp)); \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/complex.inc"

}  // namespace rk
