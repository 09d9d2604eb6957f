// One tensor of fixed shape into another.
#include "include/functions.hpp"
#include "include/normal.hpp"
#include "templates/lines.hpp"

namespace rk {

#define RK_FIXED_UNARY(name, expression)                \
    struct name {                                       \
        template <typename T>                           \
        RK_DEVICE static T of(T x) {                    \
            return expression;                          \
        }                                               \
        template <typename T>                           \
        RK_DEVICE static T element(T x) {               \
            return narrow<T>(of(widen(x)));             \
        }                                               \
    };

template <typename T>
RK_DEVICE T clamped_sixth(T x) {
    const T shifted = x + 3;
    return (shifted < 0 ? T(0) : shifted > 6 ? T(6) : shifted) / 6;
}

// The sign alone changes, of a zero too; integers wrap.
template <typename T>
RK_DEVICE T negative(T x) {
    if constexpr (is_float<T>) {
        return -x;
    } else {
        return subtract(static_cast<T>(0), x);
    }
}

template <typename T>
RK_DEVICE T absolute(T x) {
    if constexpr (is_float<T>) {
        return copysign(x, static_cast<T>(1));
    } else {
        return x < 0 ? negative(x) : x;
    }
}

RK_FIXED_UNARY(ggml_unary_op_abs, absolute(x))
RK_FIXED_UNARY(ggml_unary_op_sgn, sign(x))
RK_FIXED_UNARY(ggml_unary_op_neg, negative(x))
RK_FIXED_UNARY(ggml_unary_op_step, static_cast<T>(x > 0 ? 1 : 0))
RK_FIXED_UNARY(ggml_unary_op_relu, x > 0 || x != x ? x : static_cast<T>(0))
RK_FIXED_UNARY(ggml_unary_op_tanh, tanh(x))
RK_FIXED_UNARY(ggml_unary_op_elu, elu(x, static_cast<T>(1)))
RK_FIXED_UNARY(ggml_unary_op_sigmoid, sigmoid(x))
RK_FIXED_UNARY(ggml_unary_op_gelu, gelu(x))
RK_FIXED_UNARY(ggml_unary_op_gelu_quick, x *sigmoid(static_cast<T>(1.702) * x))
RK_FIXED_UNARY(ggml_unary_op_gelu_erf, gelu_erf(x))
RK_FIXED_UNARY(ggml_unary_op_silu, silu(x))
RK_FIXED_UNARY(ggml_unary_op_hardswish, x *clamped_sixth(x))
RK_FIXED_UNARY(ggml_unary_op_hardsigmoid, clamped_sixth(x))
RK_FIXED_UNARY(ggml_unary_op_exp, exp(x))

// Bit for bit.
struct ggml_op_cont {
    template <typename T>
    RK_DEVICE static T element(T x) {
        return x;
    }
};

template <typename Op, typename T, typename Shape, typename PitchA, typename PitchOut>
RK_DEVICE void fixed_unary(const T *a, T *out) {
    using A = Fixed<Shape, PitchA>;
    using Out = Fixed<Shape, PitchOut>;
    using Index = typename Shape::Index;
    constexpr u32 turned = turned_dimension<Shape, PitchA, PitchOut>();
    if constexpr (turned != 0) {
        turn<turned, Op, T, Shape, PitchA, PitchOut>(a, out);
        return;
    }
    constexpr u32 width = vector_bytes / sizeof(T);
    constexpr bool packs = A::has_packs(width) && Out::has_packs(width);
    if (packs && is_aligned(a, vector_bytes) && is_aligned(out, vector_bytes)) {
        for (u64 n = global_thread(); n < Shape::size / width; n += global_threads()) {
            const Index i = static_cast<Index>(n * width);
            const auto x = pack_at<T, width, Shape, A>(a, i);
            Pack<T, width> y;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                y.lane[j] = Op::element(x.lane[j]);
            }
            *reinterpret_cast<Pack<T, width> *>(out + Out::template at<Shape>(i)) = y;
        }
        return;
    }
    for (u64 n = global_thread(); n < Shape::size; n += global_threads()) {
        const Index i = static_cast<Index>(n);
        out[Out::template at<Shape>(i)] = Op::element(a[A::template at<Shape>(i)]);
    }
}

}  // namespace rk

#define RK_SPECIALIZE(name, Op, T, ShapeA, PitchA, ShapeOut, PitchOut)        \
    RK_KERNEL name(const rk::T *a, rk::T *out) {                              \
        rk::fixed_unary<rk::Op, rk::T, ShapeA, PitchA, PitchOut>(a, out);     \
    }
