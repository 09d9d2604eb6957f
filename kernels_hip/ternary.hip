// ternary: where — out = ids ? t : f, bit for bit; any non-zero condition is true.
#include "include/elementwise.hpp"

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

#define WHERE(I, T, Bits)                                                                         \
    RK_KERNEL where_##I##_##T(RK_LAYOUT, const I *ids, const Bits *t, const Bits *f, Bits *out) { \
        where<I, Bits>({numel, num_dims, info}, ids, t, f, out);                                  \
    }

#include "instances/ternary.inc"

}  // namespace rk
