// Matrix cores, which a whole wave drives: what one instruction multiplies, and which lane holds which element. Fragments
// are read as sixteen bytes of k at a time; where an instruction takes fewer, several follow one another.
#pragma once

#include "device.hpp"

namespace rk {

// Sums of Size×Size. A lane holds `Values` of k of one row of either operand; `Groups` sets of lanes share the rows' k.
// Of the results it has one row of the second operand and quads of rows of the first: quad q begins at row
// q · quad_step + lane / Size · group_step.
template <typename T, typename S, u32 Size, u32 Groups, u32 Values, u32 QuadStep = 8, u32 GroupStep = 4>
struct MatrixShape {
    static constexpr bool exists = true;
    using Sum = S;
    static constexpr u32 size = Size;
    static constexpr u32 depth = Groups * Values;
    static constexpr u32 quad_step = QuadStep;
    static constexpr u32 group_step = GroupStep;
    static constexpr u32 per_part = vector_bytes / sizeof(T);
    static constexpr u32 quads = Size * Size / wave_size / 4;
    static constexpr u32 steps_at_once = Values == per_part ? 8 : 1;  // larger fragments would crowd the registers
    struct Fragment {
        Pack<T, per_part> part[Values / per_part];
    };
    using Sums = S __attribute__((ext_vector_type(Size *Size / wave_size)));

    RK_DEVICE static u32 first_k() { return Groups == 1 ? 0 : lane() / Size * Values; }
    // The row of the first operand that the instruction's row i stands for, so that results come in quads.
    RK_DEVICE static u32 row_of(u32 i) { return i; }
};

// sums[i][j] += Σ first[i][k] · second[j][k]
template <typename T>
struct MatrixCore {
    static constexpr bool exists = false;
};

#if defined(__GFX9__)
using MatrixHalves = f16 __attribute__((ext_vector_type(4)));
using MatrixShorts = i16 __attribute__((ext_vector_type(4)));
using MatrixEightHalves = f16 __attribute__((ext_vector_type(8)));
using MatrixEightShorts = __bf16 __attribute__((ext_vector_type(8)));
using MatrixWords = i32 __attribute__((ext_vector_type(4)));

// gfx90a's flush subnormal f16 inputs, which that type has within its everyday range: there it goes without.
#if !defined(__gfx90a__)
template <>
struct MatrixCore<f16> : MatrixShape<f16, f32, 32, 2, 8> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
#if defined(__gfx950__)
        sums = __builtin_amdgcn_mfma_f32_32x32x16_f16(bit_cast<MatrixEightHalves>(first),
                                                      bit_cast<MatrixEightHalves>(second), sums, 0, 0, 0);
#else
        const auto a = bit_cast<Pack<MatrixHalves, 2>>(first);
        const auto b = bit_cast<Pack<MatrixHalves, 2>>(second);
        sums = __builtin_amdgcn_mfma_f32_32x32x8f16(a.lane[0], b.lane[0], sums, 0, 0, 0);
        sums = __builtin_amdgcn_mfma_f32_32x32x8f16(a.lane[1], b.lane[1], sums, 0, 0, 0);
#endif
    }
};
#endif

template <>
struct MatrixCore<bf16> : MatrixShape<bf16, f32, 32, 2, 8> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
#if defined(__gfx950__)
        sums = __builtin_amdgcn_mfma_f32_32x32x16_bf16(bit_cast<MatrixEightShorts>(first),
                                                       bit_cast<MatrixEightShorts>(second), sums, 0, 0, 0);
#else
        const auto a = bit_cast<Pack<MatrixShorts, 2>>(first);
        const auto b = bit_cast<Pack<MatrixShorts, 2>>(second);
        sums = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a.lane[0], b.lane[0], sums, 0, 0, 0);
        sums = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a.lane[1], b.lane[1], sums, 0, 0, 0);
#endif
    }
};

template <>
struct MatrixCore<f32> : MatrixShape<f32, f32, 32, 2, 4> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            sums = __builtin_amdgcn_mfma_f32_32x32x2f32(first.part[0].lane[j], second.part[0].lane[j], sums, 0, 0, 0);
        }
    }
};

template <>
struct MatrixCore<f64> : MatrixShape<f64, f64, 16, 4, 2> {
    RK_DEVICE static u32 row_of(u32 i) { return i % 4 * 4 + i / 4; }
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            sums = __builtin_amdgcn_mfma_f64_16x16x4f64(first.part[0].lane[j], second.part[0].lane[j], sums, 0, 0, 0);
        }
    }
};

template <>
struct MatrixCore<i8> : MatrixShape<i8, i32, 32, 2, 16> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
#if defined(__gfx950__)
        sums = __builtin_amdgcn_mfma_i32_32x32x32_i8(bit_cast<MatrixWords>(first), bit_cast<MatrixWords>(second), sums, 0,
                                                     0, 0);
#elif defined(__gfx90a__)
        const auto a = bit_cast<Pack<i32, 4>>(first);
        const auto b = bit_cast<Pack<i32, 4>>(second);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            sums = __builtin_amdgcn_mfma_i32_32x32x8i8(a.lane[j], b.lane[j], sums, 0, 0, 0);
        }
#else
        const auto a = bit_cast<Pack<i64, 2>>(first);
        const auto b = bit_cast<Pack<i64, 2>>(second);
        sums = __builtin_amdgcn_mfma_i32_32x32x16_i8(a.lane[0], b.lane[0], sums, 0, 0, 0);
        sums = __builtin_amdgcn_mfma_i32_32x32x16_i8(a.lane[1], b.lane[1], sums, 0, 0, 0);
#endif
    }
};

#elif defined(__GFX11__)
using MatrixHalves = f16 __attribute__((ext_vector_type(16)));
using MatrixShorts = i16 __attribute__((ext_vector_type(16)));
using MatrixWords = i32 __attribute__((ext_vector_type(4)));

// Both halves of the wave hold all of a row; a lane's results are every second row.
template <typename T, typename S>
struct MatrixOfTwins : MatrixShape<T, S, 16, 1, 16> {
    RK_DEVICE static u32 row_of(u32 i) { return i % 2 * 4 + i / 2 % 4 + i / 8 * 8; }
};

template <>
struct MatrixCore<f16> : MatrixOfTwins<f16, f32> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
        sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(bit_cast<MatrixHalves>(first), bit_cast<MatrixHalves>(second),
                                                          sums);
    }
};

template <>
struct MatrixCore<bf16> : MatrixOfTwins<bf16, f32> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
        sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(bit_cast<MatrixShorts>(first), bit_cast<MatrixShorts>(second),
                                                           sums);
    }
};

template <>
struct MatrixCore<i8> : MatrixOfTwins<i8, i32> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
        sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, bit_cast<MatrixWords>(first), true,
                                                          bit_cast<MatrixWords>(second), sums, false);
    }
};

#elif defined(__GFX12__)
using MatrixHalves = f16 __attribute__((ext_vector_type(8)));
using MatrixShorts = i16 __attribute__((ext_vector_type(8)));
using MatrixWords = i32 __attribute__((ext_vector_type(2)));

template <>
struct MatrixCore<f16> : MatrixShape<f16, f32, 16, 2, 8, 4, 8> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
        sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(bit_cast<MatrixHalves>(first),
                                                                bit_cast<MatrixHalves>(second), sums);
    }
};

template <>
struct MatrixCore<bf16> : MatrixShape<bf16, f32, 16, 2, 8, 4, 8> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
        sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(bit_cast<MatrixShorts>(first),
                                                                 bit_cast<MatrixShorts>(second), sums);
    }
};

template <>
struct MatrixCore<i8> : MatrixShape<i8, i32, 16, 2, 16, 4, 8> {
    RK_DEVICE static void multiply_add(Sums &sums, const Fragment &first, const Fragment &second) {
        const auto a = bit_cast<Pack<MatrixWords, 2>>(first);
        const auto b = bit_cast<Pack<MatrixWords, 2>>(second);
        sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a.lane[0], true, b.lane[0], sums, false);
        sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a.lane[1], true, b.lane[1], sums, false);
    }
};
#endif

}  // namespace rk
