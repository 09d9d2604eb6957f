// affine: out = inp * mul + add, the scalars in the tensor's own dtype; a null inp works in place on out.
#include "include/elementwise.hpp"
#include "include/math.hpp"

namespace rk {

template <typename T>
struct Affine {
    arith<T> mul;
    arith<T> add;

    RK_DEVICE T operator()(T x) const { return narrow<T>(multiply_add(widen(x), mul, add)); }
};

template <typename T>
RK_DEVICE void affine(const Space &space, const T *inp, T *out, T mul, T add) {
    const Operand<T, 0> operand(space, inp ? inp : out);
    elementwise<!is_same<T, f8_e4m3>>(space, out, Affine<T>{widen(mul), widen(add)}, operand);
}

}  // namespace rk

#define AFFINE(T)                                                                                            \
    RK_KERNEL affine_##T(rk::u64 numel, rk::u64 num_dims, const rk::u64 *info, const rk::T *inp, rk::T *out, \
                         rk::T mul, rk::T add) {                                                             \
        rk::affine<rk::T>({numel, num_dims, info}, inp, out, mul, add);                                      \
    }

#include "instances/affine.inc"
