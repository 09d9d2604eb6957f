// The order of complex numbers in sets: by real parts, then by imaginary ones, each as sorting has it.
#pragma once

#include "complex.hpp"
#include "order.hpp"

namespace rk {

template <typename F>
RK_DEVICE bits_of<Complex<F>> order_key(Complex<F> z, bool descending) {
    const auto re = static_cast<bits_of<Complex<F>>>(order_key(z.re, descending));
    return re << (8 * sizeof(F)) | order_key(z.im, descending);
}

template <typename F>
RK_DEVICE Complex<F> widen(Complex<F> z) {
    return z;
}

// NaN in either part differs from everything.
template <typename F>
RK_DEVICE bool operator==(Complex<F> x, Complex<F> y) {
    return x.re == y.re && x.im == y.im;
}

}  // namespace rk
