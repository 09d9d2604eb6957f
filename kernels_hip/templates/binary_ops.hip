// Two tensors of fixed shape into one; the second repeats along dims that it divides.
#include "include/functions.hpp"
#include "templates/shape.hpp"

namespace rk {

#define RK_FIXED_BINARY(name, expression)  \
    struct name {                          \
        template <typename T>              \
        RK_DEVICE static T of(T x, T y) {  \
            return expression;             \
        }                                  \
    };

RK_FIXED_BINARY(ggml_op_add, add(x, y))
RK_FIXED_BINARY(ggml_op_sub, subtract(x, y))
RK_FIXED_BINARY(ggml_op_mul, multiply(x, y))
RK_FIXED_BINARY(ggml_op_div, quotient(x, y))

template <typename Op, typename T, typename Shape, typename PitchA, typename ShapeB, typename PitchB, typename PitchOut>
RK_DEVICE void fixed_binary(const T *a, const T *b, T *out) {
    constexpr u32 width = vector_bytes / sizeof(T);
    constexpr bool packs = is_dense<Shape, PitchA>() && is_dense<Shape, PitchB>() && is_dense<Shape, PitchOut>() &&
                           is_same<Shape, ShapeB> && Shape::size % width == 0;
    if (packs && is_aligned(a, vector_bytes) && is_aligned(b, vector_bytes) && is_aligned(out, vector_bytes)) {
        for (u64 i = global_thread(); i < Shape::size / width; i += global_threads()) {
            const auto x = reinterpret_cast<const Pack<T, width> *>(a)[i];
            const auto y = reinterpret_cast<const Pack<T, width> *>(b)[i];
            Pack<T, width> z;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                z.lane[j] = narrow<T>(Op::of(widen(x.lane[j]), widen(y.lane[j])));
            }
            reinterpret_cast<Pack<T, width> *>(out)[i] = z;
        }
        return;
    }
    using Index = typename Shape::Index;
    for (u64 n = global_thread(); n < Shape::size; n += global_threads()) {
        const Index i = static_cast<Index>(n);
        const T x = a[place<Shape, Shape, PitchA>(i)];
        const T y = b[place<Shape, ShapeB, PitchB>(i)];
        out[place<Shape, Shape, PitchOut>(i)] = narrow<T>(Op::of(widen(x), widen(y)));
    }
}

}  // namespace rk

#define RK_SPECIALIZE(name, Op, T, ShapeA, PitchA, ShapeB, PitchB, ShapeOut, PitchOut)        \
    RK_KERNEL name(const rk::T *a, const rk::T *b, rk::T *out) {                              \
        rk::fixed_binary<rk::Op, rk::T, ShapeA, PitchA, ShapeB, PitchB, PitchOut>(a, b, out); \
    }
