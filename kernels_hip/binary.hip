// binary: two tensors into one. Arithmetic rounds once into the operands' dtype; comparisons give u8 0 or 1; functions
// of the representation (copysign, nextafter, bitwise) work on the elements as they are.
#include "include/angle.hpp"
#include "include/elementwise.hpp"
#include "include/functions.hpp"

namespace rk {

// The neighbour of x towards y: one step of the representation, whose order is that of the values on each side of 0.
template <typename T>
RK_DEVICE T next_after(T x, T y) {
    using Bits = bits_of<T>;
    constexpr Bits sign = static_cast<Bits>(static_cast<Bits>(1) << (8 * sizeof(T) - 1));
    const auto from = widen(x), to = widen(y);
    if (from != from || from == to) {
        return from != from ? x : y;
    }
    if (to != to) {
        return y;
    }
    const Bits bits = bit_cast<Bits>(x);
    if (from == 0) {
        return bit_cast<T>(static_cast<Bits>((bit_cast<Bits>(y) & sign) | 1));
    }
    return bit_cast<T>(static_cast<Bits>((from < to) == (from > 0) ? bits + 1 : bits - 1));
}

template <typename T>
RK_DEVICE T copy_sign(T x, T y) {
    using Bits = bits_of<T>;
    constexpr Bits sign = static_cast<Bits>(static_cast<Bits>(1) << (8 * sizeof(T) - 1));
    return bit_cast<T>(static_cast<Bits>((bit_cast<Bits>(x) & ~sign) | (bit_cast<Bits>(y) & sign)));
}

#define RK_OP(name, weight, expression)      \
    struct name : weight {                   \
        template <typename T>                \
        RK_DEVICE static auto of(T x, T y) { \
            return expression;               \
        }                                    \
    };

RK_OP(badd, Light, add(x, y))
RK_OP(bsub, Light, subtract(x, y))
RK_OP(bmul, Light, multiply(x, y))
RK_OP(bdiv, Medium, quotient(x, y))
RK_OP(bmaximum, Light, maximum(x, y))
RK_OP(bminimum, Light, minimum(x, y))
RK_OP(bfloor_divide, Heavy, floor_divide(x, y))
RK_OP(bremainder, Heavy, remainder(x, y))
RK_OP(bpow, Heavy, power(x, y))
RK_OP(batan2, Heavy, angle(x, y))
RK_OP(bhypot, Heavy, hypot(x, y))
RK_OP(blogaddexp, Heavy, log_add_exp(x, y))
RK_OP(bcopysign, Light, copy_sign(x, y))
RK_OP(bnextafter, Heavy, next_after(x, y))
RK_OP(bbitand, Light, static_cast<T>(x & y))
RK_OP(bbitor, Light, static_cast<T>(x | y))
RK_OP(bbitxor, Light, static_cast<T>(x ^ y))
RK_OP(bshl, Light, shift_left(x, y))
RK_OP(bshr, Light, shift_right(x, y))
RK_OP(eq, Light, x == y)
RK_OP(ne, Light, x != y)
RK_OP(lt, Light, x < y)
RK_OP(le, Light, x <= y)
RK_OP(gt, Light, x > y)
RK_OP(ge, Light, x >= y)

template <typename T, typename Op>
struct Arithmetic {
    RK_DEVICE T operator()(T x, T y) const { return narrow<T>(Op::of(widen(x), widen(y))); }
};

template <typename T, typename Op>
struct Comparison {
    using Compared = choose<is_bool<T>, u8, arith<T>>;  // as bool, each of the 16 lanes would take a wave-wide mask
    RK_DEVICE u8 operator()(T x, T y) const {
        return Op::of(static_cast<Compared>(widen(x)), static_cast<Compared>(widen(y)));
    }
};

template <typename T, typename Op>
struct OfRepresentation {
    using Bits = bits_of<T>;
    using Meant = choose<is_bool<T>, u8, T>;
    RK_DEVICE Bits operator()(Bits x, Bits y) const {
        return bit_cast<Bits>(Op::of(bit_cast<Meant>(x), bit_cast<Meant>(y)));
    }
};

template <Weight weight, typename Out, typename T, typename Function>
RK_DEVICE void binary(const Space &space, const T *lhs, const T *rhs, Out *out, Function function) {
    elementwise<weight>(space, out, function, Operand<T, 0>(space, lhs), Operand<T, 1>(space, rhs));
}

#define RK_BINARY(op, T, Out, weight, function)                                    \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *lhs, const T *rhs, Out *out) {          \
        binary<weight>({numel, num_dims, info}, lhs, rhs, out, function<T, op>()); \
    }
#define BINARY(op, T) RK_BINARY(op, T, T, (weight_of<op, T>), Arithmetic)
#define COMPARE(op, T) RK_BINARY(op, T, u8, (weight_of<op, T>), Comparison)
#define BINARY_BITS(op, T)                                                                    \
    RK_KERNEL op##_##T(RK_LAYOUT, const T *lhs, const T *rhs, T *out) {                       \
        binary<op::weight>({numel, num_dims, info}, as_bits(lhs), as_bits(rhs), as_bits(out), \
                           OfRepresentation<T, op>());                                        \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/binary.inc"

}  // namespace rk
