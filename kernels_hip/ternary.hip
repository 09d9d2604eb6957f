// ternary: where — out = ids ? t : f, bit for bit; any non-zero condition is true — and clip between two bounds.
#include "include/elementwise.hpp"
#include "include/math.hpp"

namespace rk {

// Elements move as raw bits, so all element types of a size share this code.
template <typename I, typename Bits>
struct Where {
    RK_DEVICE Bits operator()(I condition, Bits t, Bits f) const { return condition != 0 ? t : f; }
};

template <typename I, typename Bits>
RK_DEVICE void where(const Space &space, const I *ids, const Bits *t, const Bits *f, Bits *out) {
    elementwise<Weight::light>(space, out, Where<I, Bits>{}, Operand<I, 0>(space, ids), Operand<Bits, 1>(space, t),
                      Operand<Bits, 2>(space, f));
}

// The upper bound where the lower one is above it, NaN where one is NaN.
template <typename T>
struct Clip {
    RK_DEVICE T operator()(T x, T low, T high) const {
        return narrow<T>(minimum(maximum(widen(x), widen(low)), widen(high)));
    }
};

template <typename T>
RK_DEVICE void clip(const Space &space, const T *x, const T *low, const T *high, T *out) {
    elementwise<Weight::light>(space, out, Clip<T>{}, Operand<T, 0>(space, x), Operand<T, 1>(space, low),
                               Operand<T, 2>(space, high));
}

#define WHERE(I, T, Bits)                                                                         \
    RK_KERNEL where_##I##_##T(RK_LAYOUT, const I *ids, const Bits *t, const Bits *f, Bits *out) { \
        where<I, Bits>({numel, num_dims, info}, ids, t, f, out);                                  \
    }

#define CLIP(T)                                                                           \
    RK_KERNEL clip_##T(RK_LAYOUT, const T *x, const T *low, const T *high, T *out) {      \
        clip<T>({numel, num_dims, info}, x, low, high, out);                              \
    }

#include "instances/ternary.inc"

}  // namespace rk
