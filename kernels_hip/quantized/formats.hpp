// The block formats of ggml: each is a struct of static functions, and every quantized kernel is a template over one.
//
//   VALUES, BYTES          the values and the bytes of a block
//   HAS_MINIMUM            value = scale * quant - minimum, else value = scale * quant
//   levels(block, p)       the quants of positions p to p + 3 plus OFFSET, one per signed byte; p is a multiple of 4
//   scale(block, p)        the scale of position p, rounded to f32 as the reference rounds it; so is minimum(block, p)
//   place(unit, half)      where the 16 values of one half of a unit start. A unit is the 32 values that one thread
//                          takes: the two halves share their bytes where a byte holds values that lie far apart
#pragma once

#include "../include/device.hpp"

namespace rk::quantized {

constexpr u32 UNIT = 32;

// `matrix` must be aligned to the largest power of two, up to 16, that divides a block's bytes: then all blocks are,
// and targets without unaligned loads need not load bytes.
template <typename F, typename Byte>
RK_DEVICE Byte *block_at(Byte *matrix, u64 index) {
    constexpr u32 power = F::BYTES & (~F::BYTES + 1), alignment = power < 16 ? power : 16;
    return static_cast<Byte *>(__builtin_assume_aligned(matrix + index * F::BYTES, alignment));
}

RK_DEVICE u32 word(const u8 *at) {
    u32 value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

RK_DEVICE f32 half_at(const u8 *at) {
    f16 value;
    __builtin_memcpy(&value, at, sizeof value);
    return f32(value);
}

RK_DEVICE f32 f32_at(const u8 *at) {
    f32 value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

RK_DEVICE u32 nibbles(const u8 *at, u32 shift) {
    return (word(at) >> shift) & 0x0f0f0f0fu;
}

RK_DEVICE u32 bits(const u8 *at, u32 shift) {
    return (word(at) >> shift) & 0x01010101u;
}

RK_DEVICE u32 pairs(const u8 *at, u32 shift) {
    return (word(at) >> shift) & 0x03030303u;
}

// The lowest four bits of `mask`, one in each byte.
RK_DEVICE u32 spread(u32 mask) {
    return ((mask & 15u) * 0x00204081u) & 0x01010101u;
}

// Four bytes of a 16-entry table, chosen by the four nibbles of `index`.
RK_DEVICE u32 looked_up(u32 t0, u32 t1, u32 t2, u32 t3, u32 index) {
    const u32 low = byte_permute(t1, t0, index & 0x07070707u);
    const u32 high = byte_permute(t3, t2, index & 0x07070707u);
    const u32 choose = ((index >> 3) & 0x01010101u) * 0xffu;
    return (low & ~choose) | (high & choose);
}

struct HalvesOf32 {
    static constexpr u32 VALUES = 32, OFFSET = 0;
    RK_DEVICE static u32 place(u32, u32 half) { return 16 * half; }
};

struct Q4_0 : HalvesOf32 {
    static constexpr u32 BYTES = 18, OFFSET = 8;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return nibbles(block + 2 + p % 16, p / 16 * 4);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct Q4_1 : HalvesOf32 {
    static constexpr u32 BYTES = 20;
    static constexpr bool HAS_MINIMUM = true;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) { return nibbles(block + 4 + p % 16, p / 16 * 4); }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *block, u32) { return -half_at(block + 2); }
};

struct Q5_0 : HalvesOf32 {
    static constexpr u32 BYTES = 22, OFFSET = 16;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return nibbles(block + 6 + p % 16, p / 16 * 4) | spread(word(block + 2) >> p) << 4;
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct Q5_1 : HalvesOf32 {
    static constexpr u32 BYTES = 24;
    static constexpr bool HAS_MINIMUM = true;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return nibbles(block + 8 + p % 16, p / 16 * 4) | spread(word(block + 4) >> p) << 4;
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *block, u32) { return -half_at(block + 2); }
};

struct Q8_0 : HalvesOf32 {
    static constexpr u32 BYTES = 34;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) { return word(block + 2 + p); }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

// Activations: an f16 scale, the f16 sum of the values, 32 signed quants.
struct Q8_1 {
    static constexpr u32 BYTES = 36;
};

struct IQ4_NL : HalvesOf32 {
    static constexpr u32 BYTES = 18;
    static constexpr bool HAS_MINIMUM = false;
    // -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
    RK_DEVICE static u32 table(u32 index) {
        return looked_up(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u, index);
    }
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return table(nibbles(block + 2 + p % 16, p / 16 * 4));
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct MXFP4 : HalvesOf32 {
    static constexpr u32 BYTES = 17;
    static constexpr bool HAS_MINIMUM = false;
    // Twice the e2m1 values: 0 1 2 3 4 6 8 12 and their negatives; the scale is half the power of two, so 2^(e - 128).
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return looked_up(0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu, nibbles(block + 1 + p % 16, p / 16 * 4));
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) {
        const u32 exponent = block[0];
        return __builtin_bit_cast(f32, exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
    }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct BlockOf256 {
    static constexpr u32 VALUES = 256, OFFSET = 0;
};

struct Q2_K : BlockOf256 {
    static constexpr u32 BYTES = 84;
    static constexpr bool HAS_MINIMUM = true;
    RK_DEVICE static u32 place(u32 unit, u32 half) {
        return unit / 4 * 128 + unit / 2 % 2 * 16 + unit % 2 * 64 + half * 32;
    }
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return pairs(block + 16 + p / 128 * 32 + p % 32, p / 32 % 4 * 2);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) { return half_at(block + 80) * f32(block[p / 16] & 15); }
    RK_DEVICE static f32 minimum(const u8 *block, u32 p) {
        return half_at(block + 82) * f32(block[p / 16] >> 4);
    }
};

struct Q3_K : BlockOf256 {
    static constexpr u32 BYTES = 110, OFFSET = 4;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return Q2_K::place(unit, half); }
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        const u32 low = pairs(block + 32 + p / 128 * 32 + p % 32, p / 32 % 4 * 2);
        return low | bits(block + p % 32, p / 32) << 2;
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) {
        const u32 group = p / 16;
        const u32 low = block[96 + group % 8] >> (group / 8 * 4) & 15;
        const u32 high = block[104 + group % 4] >> (group / 4 * 2) & 3;
        return half_at(block + 108) * f32(i32(low | high << 4) - 32);
    }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

// The twelve bytes of q4_K and q5_K that hold eight scales and eight minima of 6 bits, read as three words that the
// groups of a unit share. The first four scales (minima) are the low 6 bits of the first (second) word's bytes, the
// others have their low 4 bits in the third word and their high 2 bits on top of the first (second).
struct PackedScales : BlockOf256 {
    static constexpr bool HAS_MINIMUM = true;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return unit / 2 * 64 + unit % 2 * 16 + half * 32; }
    RK_DEVICE static u32 six_bits(const u8 *own_word, const u8 *block, u32 group, u32 nibble) {
        const u32 column = group % 4 * 8;
        const u32 own = word(own_word) >> column & 255, shared = word(block + 12) >> (column + nibble) & 15;
        return group < 4 ? own & 63 : shared | own >> 6 << 4;
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) {
        return half_at(block) * f32(six_bits(block + 4, block, p / 32, 0));
    }
    RK_DEVICE static f32 minimum(const u8 *block, u32 p) {
        return half_at(block + 2) * f32(six_bits(block + 8, block, p / 32, 4));
    }
};

struct Q4_K : PackedScales {
    static constexpr u32 BYTES = 144;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return nibbles(block + 16 + p / 64 * 32 + p % 32, p / 32 % 2 * 4);
    }
};

struct Q5_K : PackedScales {
    static constexpr u32 BYTES = 176;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        const u32 low = nibbles(block + 48 + p / 64 * 32 + p % 32, p / 32 % 2 * 4);
        return low | bits(block + 16 + p % 32, p / 32) << 4;
    }
};

struct Q6_K : BlockOf256 {
    static constexpr u32 BYTES = 210, OFFSET = 32;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return unit / 4 * 128 + unit % 4 * 16 + half * 64; }
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        const u32 low = nibbles(block + p / 128 * 64 + p % 64, p / 64 % 2 * 4);
        return low | pairs(block + 128 + p / 128 * 32 + p % 32, p / 32 % 4 * 2) << 4;
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) {
        return half_at(block + 208) * f32(i8(block[192 + p / 16]));
    }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct Q8_K : BlockOf256 {
    static constexpr u32 BYTES = 292;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 levels(const u8 *block, u32 p) { return word(block + 4 + p); }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return f32_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct IQ4_XS : BlockOf256 {
    static constexpr u32 BYTES = 136;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return unit * 32 + half * 16; }
    RK_DEVICE static u32 levels(const u8 *block, u32 p) {
        return IQ4_NL::table(nibbles(block + 8 + p / 32 * 16 + p % 16, p / 16 % 2 * 4));
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) {
        const u32 group = p / 32;
        const u32 low = block[4 + group / 2] >> (group % 2 * 4) & 15;
        const u32 high = (block[2] | block[3] << 8) >> (group * 2) & 3;
        return half_at(block) * f32(i32(low | high << 4) - 32);
    }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

// The quants themselves: the top bits keep the bytes from borrowing of each other.
template <typename F>
RK_DEVICE u32 quants_at(const u8 *block, u32 p) {
    const u32 levels = F::levels(block, p);
    return F::OFFSET ? ((levels | 0x80808080u) - F::OFFSET * 0x01010101u) ^ 0x80808080u : levels;
}

RK_DEVICE i32 quant(u32 quants, u32 i) {
    return i8(quants >> (8 * i));
}

// One dequantized value. The reference rounds the product and the difference separately, as the two operations do here.
template <typename F>
RK_DEVICE f32 dequantized(f32 scale, f32 minimum, i32 quant) {
    const f32 product = scale * f32(quant);
    return F::HAS_MINIMUM ? product - minimum : product;
}

}  // namespace rk::quantized
