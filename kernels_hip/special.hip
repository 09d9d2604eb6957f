// special: functions in which NaN, infinities and signed zeros have cases of their own: whether two tensors are close,
// what the truth of two makes, numbers in the place of NaN and infinities.
#include "include/complex.hpp"
#include "include/elementwise.hpp"

namespace rk {

template <typename T>
RK_DEVICE arith<T> rounded(arith<T> x) {
    return widen(narrow<T>(x));
}

// |x - y| ≤ atol + rtol·|y|, each step rounded to T as NumPy does; infinities are close to their equals only.
template <typename T>
struct IsClose : Medium {
    arith<T> rtol;
    arith<T> atol;
    bool equal_nan;

    RK_DEVICE IsClose(T rtol_, T atol_, bool equal_nan_)
        : rtol(widen(rtol_)), atol(widen(atol_)), equal_nan(equal_nan_) {}
    RK_DEVICE u8 operator()(T first, T second) const {
        const arith<T> x = widen(first), y = widen(second);
        const arith<T> limit = rounded<T>(rounded<T>(rtol * fabs(y)) + atol);
        const bool near = fabs(rounded<T>(x - y)) <= limit && is_finite(y);
        return near || x == y || (equal_nan && is_nan(x) && is_nan(y));
    }
};

template <typename F>
struct IsClose<Complex<F>> : Medium {
    F rtol;
    F atol;
    bool equal_nan;

    RK_DEVICE IsClose(F rtol_, F atol_, bool equal_nan_) : rtol(rtol_), atol(atol_), equal_nan(equal_nan_) {}
    RK_DEVICE u8 operator()(Complex<F> x, Complex<F> y) const {
        const F limit = rtol * magnitude(y) + atol;
        const bool near = magnitude(Complex<F>{x.re - y.re, x.im - y.im}) <= limit && is_finite(y.re) && is_finite(y.im);
        return near || (x.re == y.re && x.im == y.im) || (equal_nan && is_nan(x) && is_nan(y));
    }
};

// A bit of `table` for two truths, which are whether a bit of a mask is set: and, or and xor of all types of a size.
template <typename Bits>
struct Logical {
    u32 table;
    Bits mask;
    Bits other_mask;

    RK_DEVICE u8 operator()(Bits x, Bits y) const {
        const u32 place = ((x & mask) != 0 ? 1 : 0) + ((y & other_mask) != 0 ? 2 : 0);
        return (table >> place) & 1;
    }
};

template <typename T>
struct NanToNum : Medium {
    T nan;
    T above;
    T below;

    RK_DEVICE NanToNum(T nan_, T above_, T below_) : nan(nan_), above(above_), below(below_) {}
    RK_DEVICE T operator()(T x) const {
        const arith<T> value = widen(x);
        const T finite = value == highest<arith<T>>() ? above : value == lowest<arith<T>>() ? below : x;
        return is_nan(value) ? nan : finite;
    }
};

#define IS_CLOSE(T, Part)                                                                              \
    RK_KERNEL isclose_##T(RK_LAYOUT, Part rtol, Part atol, bool equal_nan, const T *lhs, const T *rhs, \
                          u8 *out) {                                                                   \
        const Space space = {numel, num_dims, info};                                                   \
        elementwise<weight_of<IsClose<T>, T>>(space, out, IsClose<T>(rtol, atol, equal_nan),           \
                                              Operand<T, 0>(space, lhs), Operand<T, 1>(space, rhs));   \
    }
#define LOGICAL(T)                                                                                              \
    RK_KERNEL logical_##T(RK_LAYOUT, u32 table, T mask, T other_mask, const T *lhs, const T *rhs, u8 *out) {    \
        const Space space = {numel, num_dims, info};                                                            \
        elementwise<Weight::light>(space, out, Logical<T>{table, mask, other_mask}, Operand<T, 0>(space, lhs),  \
                                   Operand<T, 1>(space, rhs));                                                  \
    }
#define NAN_TO_NUM(T)                                                                                       \
    RK_KERNEL nan_to_num_##T(RK_LAYOUT, T nan, T above, T below, const T *inp, T *out) {                    \
        const Space space = {numel, num_dims, info};                                                        \
        elementwise<weight_of<NanToNum<T>, T>>(space, out, NanToNum<T>(nan, above, below),                  \
                                               Operand<T, 0>(space, inp));                                  \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/special.inc"

}  // namespace rk
