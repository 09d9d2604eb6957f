// One tensor of fixed shape into another.
#include "include/functions.hpp"
#include "include/normal.hpp"
#include "templates/shape.hpp"

namespace rk {

#define RK_FIXED_UNARY(name, expression)   \
    struct name {                          \
        template <typename T>              \
        RK_DEVICE static T of(T x) {       \
            return expression;             \
        }                                  \
    };

template <typename T>
RK_DEVICE T clamped_sixth(T x) {
    const T shifted = x + 3;
    return (shifted < 0 ? T(0) : shifted > 6 ? T(6) : shifted) / 6;
}

RK_FIXED_UNARY(ggml_unary_op_abs, x < 0 ? subtract(static_cast<T>(0), x) : x)
RK_FIXED_UNARY(ggml_unary_op_sgn, sign(x))
RK_FIXED_UNARY(ggml_unary_op_neg, subtract(static_cast<T>(0), x))
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

template <typename Op, typename T, typename Shape, typename PitchA, typename PitchOut>
RK_DEVICE void fixed_unary(const T *a, T *out) {
    constexpr u32 width = vector_bytes / sizeof(T);
    constexpr bool packs = is_dense<Shape, PitchA>() && is_dense<Shape, PitchOut>() && Shape::size % width == 0;
    if (packs && is_aligned(a, vector_bytes) && is_aligned(out, vector_bytes)) {
        for (u64 i = global_thread(); i < Shape::size / width; i += global_threads()) {
            const auto x = reinterpret_cast<const Pack<T, width> *>(a)[i];
            Pack<T, width> y;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                y.lane[j] = narrow<T>(Op::of(widen(x.lane[j])));
            }
            reinterpret_cast<Pack<T, width> *>(out)[i] = y;
        }
        return;
    }
    using Index = typename Shape::Index;
    for (u64 n = global_thread(); n < Shape::size; n += global_threads()) {
        const Index i = static_cast<Index>(n);
        out[place<Shape, Shape, PitchOut>(i)] = narrow<T>(Op::of(widen(a[place<Shape, Shape, PitchA>(i)])));
    }
}

}  // namespace rk

#define RK_SPECIALIZE(name, Op, T, ShapeA, PitchA, ShapeOut, PitchOut)        \
    RK_KERNEL name(const rk::T *a, rk::T *out) {                              \
        rk::fixed_unary<rk::Op, rk::T, ShapeA, PitchA, PitchOut>(a, out);     \
    }
