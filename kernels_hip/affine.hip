// affine: out = inp * mul + add, the scalars in the tensor's own dtype; a null inp works in place on out.
#include "include/elementwise.hpp"
#include "include/math.hpp"

namespace rk {

template <typename T>
struct Affine {
    static constexpr Weight weight = Weight::light;
    arith<T> mul;
    arith<T> add;

    RK_DEVICE T operator()(T x) const { return narrow<T>(multiply_add(widen(x), mul, add)); }
};

template <typename T>
RK_DEVICE void affine(const Space &space, const T *inp, T *out, T mul, T add) {
    const Operand<T, 0> operand(space, inp ? inp : out);
    elementwise<weight_of<Affine<T>, T>>(space, out, Affine<T>{widen(mul), widen(add)}, operand);
}

#define AFFINE(T)                                                         \
    RK_KERNEL affine_##T(RK_LAYOUT, const T *inp, T *out, T mul, T add) { \
        affine({numel, num_dims, info}, inp, out, mul, add);              \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/affine.inc"

}  // namespace rk
