"""Elementwise operations of one operand, a row each: public name, kernel, what it takes, what it gives."""

from __future__ import annotations

from rocmkern.ops.elementwise import unary

abs = unary(
    "abs", "uabs", "numeric", "The magnitude; the most negative integer stays itself.", result="part", of_complex=True
)
acos = unary("acos", "uacos", "float", "The inverse cosine in radians; NaN outside [-1, 1].", of_complex=True)
acosh = unary("acosh", "uacosh", "float", "The inverse hyperbolic cosine; NaN below 1.", of_complex=True)
asin = unary("asin", "uasin", "float", "The inverse sine in radians; NaN outside [-1, 1].", of_complex=True)
asinh = unary("asinh", "uasinh", "float", "The inverse hyperbolic sine.", of_complex=True)
atan = unary("atan", "uatan", "float", "The inverse tangent in radians.", of_complex=True)
atanh = unary(
    "atanh", "uatanh", "float", "The inverse hyperbolic tangent; infinite at ±1, NaN beyond.", of_complex=True
)
bitwise_invert = unary(
    "bitwise_invert", "ubitnot", "bits", "Every bit flipped; `not` of a bool.", of_bool="ulogical_not"
)
ceil = unary("ceil", "uceil", "rounding", "The smallest integer not below the value, in its dtype.")
cos = unary("cos", "ucos", "float", "The cosine of radians.", of_complex=True)
cosh = unary("cosh", "ucosh", "float", "The hyperbolic cosine.", of_complex=True)
erf = unary("erf", "uerf", "float", "The error function.")
exp = unary("exp", "uexp", "float", "e to the power of the value.", of_complex=True)
expm1 = unary("expm1", "uexpm1", "float", "exp(x) - 1, accurate near 0.", of_complex=True)
floor = unary("floor", "ufloor", "rounding", "The largest integer not above the value, in its dtype.")
isfinite = unary("isfinite", "uisfinite", "test", "Neither infinite nor NaN.", of_integers=True, of_complex=True)
isinf = unary("isinf", "uisinf", "test", "Infinite, of either sign.", of_integers=False, of_complex=True)
isnan = unary("isnan", "uisnan", "test", "Not a number.", of_integers=False, of_complex=True)
log = unary("log", "ulog", "float", "The natural logarithm; -inf at 0, NaN below.", of_complex=True)
log10 = unary("log10", "ulog10", "float", "The logarithm to base 10; -inf at 0, NaN below.", of_complex=True)
log1p = unary("log1p", "ulog1p", "float", "log(1 + x), accurate near 0.", of_complex=True)
log2 = unary("log2", "ulog2", "float", "The logarithm to base 2; -inf at 0, NaN below.", of_complex=True)
logical_not = unary("logical_not", "ulogical_not", "logical", "True where the value is zero.")
negative = unary("negative", "uneg", "numeric", "The value with the other sign; integers wrap.", of_complex=True)
rsqrt = unary("rsqrt", "ursqrt", "float", "1 / sqrt(x).")
reciprocal = unary("reciprocal", "urecip", "float", "1 / x.", of_complex=True)
nearest_integer = unary(
    "round", "urint", "rounding", "The nearest integer, halves to even, in its dtype.", by_parts=True
)
sign = unary("sign", "usign", "numeric", "-1, 0 or 1; NaN stays NaN.", of_complex=True)
signbit = unary("signbit", "usignbit", "float", "Whether the sign is negative, of -0.0 and NaN too.", result="bool")
sin = unary("sin", "usin", "float", "The sine of radians.", of_complex=True)
sinh = unary("sinh", "usinh", "float", "The hyperbolic sine.", of_complex=True)
sqrt = unary("sqrt", "usqrt", "float", "The square root; NaN below 0.", of_complex=True)
square = unary("square", "usqr", "numeric", "x * x; integers wrap.", of_complex=True)
tan = unary("tan", "utan", "float", "The tangent of radians.", of_complex=True)
tanh = unary("tanh", "utanh", "float", "The hyperbolic tangent.", of_complex=True)
trunc = unary("trunc", "utrunc", "rounding", "The integer part, in its dtype.")

gelu = unary("gelu", "ugelu_erf", "float", "x * Φ(x), by the error function.")
gelu_tanh = unary("gelu_tanh", "ugelu", "float", "x * Φ(x), by its tanh approximation.")
relu = unary("relu", "urelu", "float", "max(x, 0); NaN stays NaN.")
sigmoid = unary("sigmoid", "usigmoid", "float", "1 / (1 + exp(-x)).")
silu = unary("silu", "usilu", "float", "x * sigmoid(x).")
