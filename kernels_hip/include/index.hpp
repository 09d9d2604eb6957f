// From a linear element number to strided offsets, in elements. `info` is Candle's array: dims, then one set of
// strides per operand, outermost axis first; stride 0 broadcasts, negative strides wrap to the right address.
#pragma once

#include "device.hpp"

namespace rk {

// floor(n / divisor) for n < 2^53, more than any memory holds: the f64 quotient never rounds up to the next integer
// there, because its distance 1/divisor from it exceeds half an ulp. A 64-bit integer division takes three times as long.
RK_DEVICE u64 divide(u64 n, u64 divisor) {
    return static_cast<u64>(divide_normal(static_cast<f64>(n), static_cast<f64>(divisor)));
}

// The same where both fit 32 bits, several times faster on targets whose f64 is slow.
RK_DEVICE u64 divide(u64 n, u64 divisor, bool fits_32_bits) {
    return fits_32_bits ? static_cast<u32>(n) / static_cast<u32>(divisor) : divide(n, divisor);
}

template <u32 Operands>
struct Offsets {
    u64 of[Operands];
};

// Offsets of element `linear` in each operand; `strides` holds Operands arrays of num_dims words one after another.
template <u32 Operands>
RK_DEVICE Offsets<Operands> strided_offsets(u64 linear, u64 numel, u64 num_dims, const u64 *dims, const u64 *strides) {
    Offsets<Operands> offsets = {};
    const bool fits_32_bits = numel <= 0xffffffffu;  // then every axis and every quotient fits too
    u64 rest = linear;
    u64 d = num_dims;
#pragma unroll 1
    while (d > 1) {
        const u64 quotient = divide(rest, dims[--d], fits_32_bits);
        const u64 position = rest - quotient * dims[d];
#pragma unroll
        for (u32 k = 0; k < Operands; ++k) {
            offsets.of[k] += position * strides[k * num_dims + d];
        }
        rest = quotient;
    }
#pragma unroll
    for (u32 k = 0; k < Operands; ++k) {
        offsets.of[k] += d == 0 ? 0 : rest * strides[k * num_dims];
    }
    return offsets;
}

RK_DEVICE u64 strided_offset(u64 linear, u64 numel, u64 num_dims, const u64 *dims, const u64 *strides) {
    return strided_offsets<1>(linear, numel, num_dims, dims, strides).of[0];
}

template <typename T>
RK_DEVICE bool is_aligned(const T *pointer, u32 bytes) {
    return (reinterpret_cast<u64>(pointer) & (bytes - 1)) == 0;
}

}  // namespace rk
