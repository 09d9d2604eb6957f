// unary: one tensor into one. Functions round once into the tensor's dtype; predicates give u8 0 or 1; functions of the
// representation (copy, negation, absolute value, bits) work on the elements as they are. A null inp works in place.
#include "include/decimal.hpp"
#include "include/elementwise.hpp"
#include "include/normal.hpp"
#include "include/power.hpp"
#include "include/transpose.hpp"

namespace rk {

template <typename T>
constexpr bits_of<T> sign_bit = static_cast<bits_of<T>>(static_cast<bits_of<T>>(1) << (8 * sizeof(T) - 1));

// Of a float the sign bit alone changes, of a NaN too; integers wrap.
template <typename T>
RK_DEVICE T negative(T x) {
    if constexpr (is_float<T>) {
        return bit_cast<T>(static_cast<bits_of<T>>(bit_cast<bits_of<T>>(x) ^ sign_bit<T>));
    } else {
        return subtract(static_cast<T>(0), x);
    }
}

template <typename T>
RK_DEVICE bool has_sign(T x) {
    return (bit_cast<bits_of<T>>(x) & sign_bit<T>) != 0;
}

template <typename T>
RK_DEVICE T absolute(T x) {
    if constexpr (is_float<T>) {
        return bit_cast<T>(static_cast<bits_of<T>>(bit_cast<bits_of<T>>(x) & ~sign_bit<T>));
    } else {
        return x < 0 ? negative(x) : x;
    }
}

template <typename C>
RK_DEVICE C relu(C x) {
    return x > 0 || x != x ? x : 0;
}

#define RK_OP(name, weight, expression) \
    struct name : weight {              \
        template <typename T>           \
        RK_DEVICE static auto of(T x) { \
            return expression;          \
        }                               \
    };
// Where half a precision is asked for, f32 leaves digits to spare, and a few instructions do.
#define RK_OP_ROUGHLY(name, expression, rough_expression) \
    struct name : Medium {                                \
        template <typename T>                             \
        RK_DEVICE static auto of(T x) {                   \
            return expression;                            \
        }                                                 \
        RK_DEVICE static f32 roughly_of(f32 x) {          \
            return rough_expression;                      \
        }                                                 \
    };
#define RK_OP_WITH(name, weight, expression)     \
    struct name : weight {                       \
        template <typename T>                    \
        RK_DEVICE static auto of(T x, T param) { \
            return expression;                   \
        }                                        \
    };

RK_OP(uneg, Light, negative(x))
RK_OP(uabs, Light, absolute(x))
RK_OP(ubitnot, Light, static_cast<T>(~x))
RK_OP(usqr, Light, multiply(x, x))
RK_OP(usign, Light, sign(x))
RK_OP(urelu, Light, relu(x))
RK_OP(uceil, Light, ceil(x))
RK_OP(ufloor, Light, floor(x))
RK_OP(uround, Light, round(x))
RK_OP(urint, Light, rint(x))
RK_OP(utrunc, Light, trunc(x))
RK_OP(ucube, Light, cube(x))
RK_OP(urecip, Medium, 1 / x)
RK_OP(uroot, Medium, power_of_half(x))
RK_OP(usqrt, Medium, sqrt(x))
RK_OP(ursqrt, Medium, 1 / sqrt(x))
RK_OP_ROUGHLY(uexp, exp(x), rough_exp(x))
RK_OP_ROUGHLY(uexp2, exp2(x), rough_exp2(x))
RK_OP(uexpm1, Heavy, x == 0 ? x : expm1(x))  // the library's lose the sign of -0
RK_OP(ulog, Heavy, log(x))
RK_OP(ulog2, Heavy, log2(x))
RK_OP(ulog10, Heavy, log10(x))
RK_OP(ulog1p, Heavy, x == 0 ? x : log1p(x))
RK_OP(usin, Heavy, sin(x))
RK_OP(ucos, Heavy, cos(x))
RK_OP(utan, Heavy, tan(x))
RK_OP(uasin, Heavy, asin(x))
RK_OP(uacos, Heavy, acos(x))
RK_OP(uatan, Heavy, atan(x))
RK_OP(usinh, Heavy, sinh(x))
RK_OP(ucosh, Heavy, cosh(x))
RK_OP(utanh, Heavy, tanh(x))
RK_OP(uasinh, Heavy, asinh(x))
RK_OP(uacosh, Heavy, acosh(x))
RK_OP(uatanh, Heavy, atanh(x))
RK_OP(uerf, Heavy, erf(x))
RK_OP(unormcdf, Heavy, normal_integral(x))
RK_OP_ROUGHLY(ugelu, gelu(x), rough_gelu(x))
RK_OP_ROUGHLY(ugelu_erf, gelu_erf(x), rough_gelu_erf(x))
RK_OP_ROUGHLY(usigmoid, sigmoid(x), rough_sigmoid(x))
RK_OP_ROUGHLY(usilu, silu(x), rough_silu(x))
RK_OP(usignbit, Light, has_sign(x))
RK_OP(uisnan, Light, x != x)
RK_OP(uisinf, Light, absolute(x) == highest<T>())
RK_OP(uisfinite, Light, absolute(x) < highest<T>())
RK_OP(ulogical_not, Light, x == 0)
RK_OP_WITH(uelu, Heavy, elu(x, param))
RK_OP_WITH(upowf, Heavy, raised(x, param))

template <typename Op, typename = f32>
constexpr bool has_rough_form = false;
template <typename Op>
constexpr bool has_rough_form<Op, decltype(Op::roughly_of(f32()))> = true;

template <typename T, typename Op>
struct Function {
    RK_DEVICE T operator()(T x) const {
        if constexpr (is_short_float<T> && has_rough_form<Op>) {
            return narrow<T>(Op::roughly_of(widen(x)));
        } else {
            return narrow<T>(Op::of(widen(x)));
        }
    }
};

template <typename T, typename Op>
struct FunctionWith {
    arith<T> param;
    RK_DEVICE T operator()(T x) const { return narrow<T>(Op::of(widen(x), param)); }
};

template <typename T, typename Op>
struct Predicate {
    using Asked = choose<is_bool<T>, u8, arith<T>>;  // as bool, each of the 16 lanes would take a wave-wide mask
    RK_DEVICE u8 operator()(T x) const { return Op::of(static_cast<Asked>(widen(x))); }
};

template <typename T, typename Op>
struct OfRepresentation {
    using Bits = bits_of<T>;
    RK_DEVICE Bits operator()(Bits x) const { return bit_cast<Bits>(Op::of(bit_cast<T>(x))); }
};

template <typename T, typename Op>
struct PredicateOfRepresentation {
    RK_DEVICE u8 operator()(T x) const { return Op::of(x); }
};

template <Weight weight, typename Out, typename T, typename Op>
RK_DEVICE void unary(const Space &space, const T *inp, Out *out, Op op) {
    elementwise<weight>(space, out, op, Operand<T, 0>(space, inp));
}

// To a power that all elements share: one that is an operation of its own takes no longer than that.
template <typename T>
RK_DEVICE void raise(const Space &space, arith<T> exponent, const T *inp, T *out) {
    if (exponent == 1) {
        unary<Weight::light>(space, as_bits(inp), as_bits(out), Unchanged());
    } else if (exponent == 2) {
        unary<weight_of<usqr, T>>(space, inp, out, Function<T, usqr>());
    } else if (exponent == 3) {
        unary<weight_of<ucube, T>>(space, inp, out, Function<T, ucube>());
    } else if (exponent == -1) {
        unary<weight_of<urecip, T>>(space, inp, out, Function<T, urecip>());
    } else if (exponent == static_cast<arith<T>>(0.5)) {
        unary<weight_of<uroot, T>>(space, inp, out, Function<T, uroot>());
    } else {
        unary<Weight::heavy>(space, inp, out, FunctionWith<T, upowf>{exponent});
    }
}

template <typename T>
struct RoundTo {
    PowerOfTen ten;
    bool is_reciprocal;
    RK_DEVICE T operator()(T x) const { return round_to(x, ten, is_reciprocal); }
};

template <typename T>
struct RoundToMultiple {
    u64 unit;
    RK_DEVICE T operator()(T x) const { return round_to_multiple(x, unit); }
};

// Elements move as raw bits, so all types of a size share this code. In place there is nothing to move.
template <typename Bits>
RK_DEVICE void copy(const Space &space, const Bits *inp, Bits *out) {
    if (inp == nullptr || !transpose(space, inp, out, Unchanged())) {
        unary<Weight::light>(space, inp ? inp : out, out, Unchanged());
    }
}

#define UNARY(op, T)                                                                               \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *inp, T *out) {                                          \
        unary<weight_of<op, T>>({numel, num_dims, info}, inp ? inp : out, out, Function<T, op>()); \
    }
#define UNARY_WITH(op, T)                                                      \
    RK_KERNEL op##_##T(RK_LAYOUT, T param, const T *inp, T *out) {             \
        unary<weight_of<op, T>>({numel, num_dims, info}, inp ? inp : out, out, \
                               FunctionWith<T, op>{widen(param)});             \
    }
#define RAISE(op, T)                                                                 \
    RK_KERNEL op##_##T(RK_LAYOUT, T param, const T *inp, T *out) {                  \
        raise<T>({numel, num_dims, info}, widen(param), inp ? inp : out, out);      \
    }
#define ROUND_TO(op, T)                                                                                          \
    RK_KERNEL op##_##T(RK_LAYOUT, f64 digits, f64 more_digits, i32 exponent, bool is_reciprocal, const T *inp,   \
                       T *out) {                                                                                 \
        unary<Weight::heavy>({numel, num_dims, info}, inp ? inp : out, out,                                      \
                             RoundTo<T>{{{digits, more_digits}, exponent}, is_reciprocal});                      \
    }
#define ROUND_TO_MULTIPLE(op, T)                                                                                 \
    RK_KERNEL op##_##T(RK_LAYOUT, u64 unit, const T *inp, T *out) {                                              \
        unary<Weight::heavy>({numel, num_dims, info}, inp ? inp : out, out, RoundToMultiple<T>{unit});           \
    }
#define UNARY_BITS(op, T)                                                                                              \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *inp, T *out) {                                                              \
        unary<op::weight>({numel, num_dims, info}, as_bits(inp ? inp : out), as_bits(out), OfRepresentation<T, op>()); \
    }
#define COPY(op, T, Bits)                                       \
    RK_KERNEL op##_##T(RK_LAYOUT, const Bits *inp, Bits *out) { \
        copy<Bits>({numel, num_dims, info}, inp, out);          \
    }
#define PREDICATE_BITS(op, T)                                                                     \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *inp, u8 *out) {                                        \
        unary<op::weight>({numel, num_dims, info}, inp, out, PredicateOfRepresentation<T, op>()); \
    }
#define PREDICATE(op, T)                                                                \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *inp, u8 *out) {                              \
        unary<weight_of<op, T>>({numel, num_dims, info}, inp, out, Predicate<T, op>()); \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/unary.inc"

}  // namespace rk
