// Two tensors of fixed shape into one; the second repeats along dims that it divides.
#include "include/functions.hpp"
#include "templates/lines.hpp"

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
    using A = Fixed<Shape, PitchA>;
    using B = Fixed<ShapeB, PitchB>;
    using Out = Fixed<Shape, PitchOut>;
    using Index = typename Shape::Index;
    constexpr u32 width = vector_bytes / sizeof(T);
    constexpr bool packs = A::has_packs(width) && moves_packs<B>(width) && Out::has_packs(width);
    const bool aligned = is_aligned(a, vector_bytes) && is_aligned(out, vector_bytes) &&
                         (B::repeats_one() || is_aligned(b, vector_bytes));
    if (packs && aligned) {
        for (u64 n = global_thread(); n < Shape::size / width; n += global_threads()) {
            const Index i = static_cast<Index>(n * width);
            const auto x = pack_at<T, width, Shape, A>(a, i);
            const auto y = pack_at<T, width, Shape, B>(b, i);
            Pack<T, width> z;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                z.lane[j] = narrow<T>(Op::of(widen(x.lane[j]), widen(y.lane[j])));
            }
            *reinterpret_cast<Pack<T, width> *>(out + Out::template at<Shape>(i)) = z;
        }
        return;
    }
    for (u64 n = global_thread(); n < Shape::size; n += global_threads()) {
        const Index i = static_cast<Index>(n);
        const T x = a[A::template at<Shape>(i)];
        const T y = b[B::template at<Shape>(i)];
        out[Out::template at<Shape>(i)] = narrow<T>(Op::of(widen(x), widen(y)));
    }
}

}  // namespace rk

#define RK_SPECIALIZE(name, Op, T, ShapeA, PitchA, ShapeB, PitchB, ShapeOut, PitchOut)        \
    RK_KERNEL name(const rk::T *a, const rk::T *b, rk::T *out) {                              \
        rk::fixed_binary<rk::Op, rk::T, ShapeA, PitchA, ShapeB, PitchB, PitchOut>(a, b, out); \
    }
