"""Elementwise operations of two operands, a row each: public name, kernel, what it takes, what it gives."""

from __future__ import annotations

from rocmkern.ops.elementwise import binary

add = binary("add", "badd", "numeric", "The sum; integers wrap.", of_complex=True)
atan2 = binary("atan2", "batan2", "float", "The angle in radians of the point (x2, x1).")
bitwise_and = binary("bitwise_and", "bbitand", "bits", "The bits that both have.")
bitwise_left_shift = binary("bitwise_left_shift", "bshl", "integer", "Bits moved up by x2 places, zeros in.")
bitwise_or = binary("bitwise_or", "bbitor", "bits", "The bits that either has.")
bitwise_right_shift = binary("bitwise_right_shift", "bshr", "integer", "Bits moved down by x2, the sign kept.")
bitwise_xor = binary("bitwise_xor", "bbitxor", "bits", "The bits in which they differ.")
copysign = binary("copysign", "bcopysign", "float", "The magnitude of x1 with the sign of x2.")
divide = binary("divide", "bdiv", "float", "The quotient; integers become the default dtype first.", of_complex=True)
equal = binary("equal", "eq", "any", "Whether x1 = x2; NaN equals nothing.", result="bool", of_complex=True)
floor_divide = binary("floor_divide", "bfloor_divide", "numeric", "The quotient rounded down; 0 for integers over 0.")
greater = binary("greater", "gt", "any", "Whether x1 > x2.", result="bool")
greater_equal = binary("greater_equal", "ge", "any", "Whether x1 ≥ x2.", result="bool")
hypot = binary("hypot", "bhypot", "float", "sqrt(x1² + x2²) without overflow in between.")
less = binary("less", "lt", "any", "Whether x1 < x2.", result="bool")
less_equal = binary("less_equal", "le", "any", "Whether x1 ≤ x2.", result="bool")
logaddexp = binary("logaddexp", "blogaddexp", "float", "log(exp(x1) + exp(x2)) without overflow in between.")
logical_and = binary("logical_and", "bbitand", "logical", "Whether both are true.")
logical_or = binary("logical_or", "bbitor", "logical", "Whether either is true.")
logical_xor = binary("logical_xor", "bbitxor", "logical", "Whether exactly one is true.")
maximum = binary("maximum", "bmaximum", "numeric", "The larger; NaN where either is NaN.")
minimum = binary("minimum", "bminimum", "numeric", "The smaller; NaN where either is NaN.")
multiply = binary("multiply", "bmul", "numeric", "The product; integers wrap.", of_complex=True)
nextafter = binary("nextafter", "bnextafter", "float", "The next number after x1 towards x2.")
not_equal = binary(
    "not_equal", "ne", "any", "Whether x1 ≠ x2; NaN differs from everything.", result="bool", of_complex=True
)
pow = binary(
    "pow",
    "bpow",
    "numeric",
    "x1 to the power of x2; integers wrap, a negative exponent gives 0 beyond ±1.",
    of_complex=True,
)
remainder = binary("remainder", "bremainder", "numeric", "What floor_divide leaves, with x2's sign.")
subtract = binary("subtract", "bsub", "numeric", "The difference; integers wrap.", of_complex=True)
