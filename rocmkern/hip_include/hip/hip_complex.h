// Complex numbers as pairs: hipFloatComplex, hipDoubleComplex and their functions.
#pragma once

#include <rocmkern/vectors.h>

#include <math.h>

using hipFloatComplex = float2;
using hipDoubleComplex = double2;
using hipComplex = hipFloatComplex;

#define __RK_COMPLEX(Complex, Real, make, suffix, absolute)                                              \
    __RK_BOTH Complex make(Real real, Real imaginary) { return {real, imaginary}; }                      \
    __RK_BOTH Real hipCreal##suffix(Complex z) { return z.x; }                                           \
    __RK_BOTH Real hipCimag##suffix(Complex z) { return z.y; }                                           \
    __RK_BOTH Complex hipConj##suffix(Complex z) { return {z.x, -z.y}; }                                 \
    __RK_BOTH Complex hipCadd##suffix(Complex a, Complex b) { return {a.x + b.x, a.y + b.y}; }           \
    __RK_BOTH Complex hipCsub##suffix(Complex a, Complex b) { return {a.x - b.x, a.y - b.y}; }           \
    __RK_BOTH Complex hipCmul##suffix(Complex a, Complex b) {                                            \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                           \
    }                                                                                                    \
    __RK_BOTH Real hipCsqabs##suffix(Complex z) { return z.x * z.x + z.y * z.y; }                        \
    __RK_BOTH Real hipCabs##suffix(Complex z) { return absolute(z.x, z.y); }                             \
    __RK_BOTH Complex hipCdiv##suffix(Complex a, Complex b) {                                            \
        const Real square = hipCsqabs##suffix(b);                                                        \
        return {(a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square};                     \
    }                                                                                                    \
    __RK_BOTH Complex hipCfma##suffix(Complex a, Complex b, Complex c) {                                 \
        return hipCadd##suffix(hipCmul##suffix(a, b), c);                                                \
    }

__RK_COMPLEX(hipFloatComplex, float, make_hipFloatComplex, f, hypotf)
__RK_COMPLEX(hipDoubleComplex, double, make_hipDoubleComplex, , hypot)

__RK_BOTH hipComplex make_hipComplex(float real, float imaginary) { return {real, imaginary}; }
__RK_BOTH hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) { return {z.x, z.y}; }
__RK_BOTH hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
    return {static_cast<float>(z.x), static_cast<float>(z.y)};
}
