// The block formats of ggml: each is a struct of static functions, and every quantized kernel is a template over one.
//
//   VALUES, BYTES          the values and the bytes of a block
//   HAS_MINIMUM            value = scale * quant - minimum, else value = scale * quant
//   levels<N>(block, p)    the quants of positions p to p + 4 N - 1 plus OFFSET, one per signed byte; p is a multiple of
//                          4 N, and N is 1 or 4
//   scale(block, p)        the scale of position p, rounded to f32 as the reference rounds it; so is minimum(block, p)
//   ONE_SCALE              both halves of a unit have the same scale and minimum
//   GROUP                  how many values in a row have one scale and one minimum: 16 or 32
//   factor(block), whole(block, p)      of blocks of 256: what the scale is the product of, the second a whole number
//   minimum_factor, whole_minimum       and the minimum
//   place(unit, half)      where the 16 values of one half of a unit start. A unit is the 32 values that one thread
//                          takes: the two halves share their bytes where a byte holds values that lie far apart
#pragma once

#include "../include/loads.hpp"

namespace rk::quantized {

constexpr u32 UNIT = 32;

// The largest power of two, up to 16, that divides a block's bytes. Matrices are aligned to it, so all blocks are.
constexpr u32 alignment_of(u32 bytes) {
    const u32 power = bytes & (~bytes + 1);
    return power < 16 ? power : 16;
}

template <typename F, typename Byte>
RK_DEVICE Byte *block_at(Byte *matrix, u64 index) {
    return static_cast<Byte *>(__builtin_assume_aligned(matrix + index * F::BYTES, alignment_of(F::BYTES)));
}

RK_DEVICE u32 word(const u8 *at) {
    u32 value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

RK_DEVICE f32 low_half(u32 word) {
    return f32(bit_cast<f16>(u16(word)));
}

RK_DEVICE f32 half_at(const u8 *at) {
    return f32(*reinterpret_cast<const f16 *>(at));
}

RK_DEVICE f32 f32_at(const u8 *at) {
    f32 value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

// Byte i, without a conversion: as the lowest bits of 2^23 and it.
RK_DEVICE f32 byte_as_f32(u32 word, u32 i) {
    return bit_cast<f32>(byte_permute(0x4b000000u, word, 0x07040400u | i)) - 0x1p23f;
}

template <u32 N>
using Words = Pack<u32, N>;

// N words from any place in blocks of BYTES bytes.
template <u32 N, u32 BYTES>
RK_DEVICE Words<N> words(const u8 *at) {
    return packed_words<N, alignment_of(BYTES) < 4 * N ? alignment_of(BYTES) : 4 * N>(at);
}

// From each byte of the words, the bits of MASK after a shift to the right.
template <u32 MASK, u32 N>
RK_DEVICE Words<N> fields(Words<N> words, u32 shift) {
#pragma unroll
    for (u32 &word : words.lane) {
        word = (word >> shift) & MASK * 0x01010101u;
    }
    return words;
}

template <u32 N>
RK_DEVICE Words<N> nibbles(const Words<N> &words, u32 shift) {
    return fields<15>(words, shift);
}

// `high` above the lowest SHIFT bits of each byte.
template <u32 SHIFT, u32 N>
RK_DEVICE Words<N> stacked(Words<N> low, const Words<N> &high) {
#pragma unroll
    for (u32 i = 0; i < N; ++i) {
        low.lane[i] |= high.lane[i] << SHIFT;
    }
    return low;
}

// The lowest 4 N bits of `mask`, one in each byte.
template <u32 N>
RK_DEVICE Words<N> spread(u32 mask) {
    Words<N> bytes;
#pragma unroll
    for (u32 i = 0; i < N; ++i) {
        bytes.lane[i] = ((mask >> 4 * i & 15u) * 0x00204081u) & 0x01010101u;
    }
    return bytes;
}

// Bytes of a 16-entry table, chosen by the bytes of `index`, which are below 16.
template <u32 N>
RK_DEVICE Words<N> looked_up(u32 t0, u32 t1, u32 t2, u32 t3, Words<N> index) {
#pragma unroll
    for (u32 &word : index.lane) {
        const u32 low = byte_permute(t1, t0, word & 0x07070707u);
        const u32 high = byte_permute(t3, t2, word & 0x07070707u);
        const u32 choose = ((word >> 3) & 0x01010101u) * 0xffu;
        word = (low & ~choose) | (high & choose);
    }
    return index;
}

struct HalvesOf32 {
    static constexpr u32 VALUES = 32, OFFSET = 0, GROUP = 32;
    static constexpr bool ONE_SCALE = true;
    RK_DEVICE static u32 place(u32, u32 half) { return 16 * half; }
};

struct Q4_0 : HalvesOf32 {
    static constexpr u32 BYTES = 18, OFFSET = 8;
    static constexpr bool HAS_MINIMUM = false;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return nibbles(words<N, BYTES>(block + 2 + p % 16), p / 16 * 4);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct Q4_1 : HalvesOf32 {
    static constexpr u32 BYTES = 20;
    static constexpr bool HAS_MINIMUM = true;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return nibbles(words<N, BYTES>(block + 4 + p % 16), p / 16 * 4);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *block, u32) { return -half_at(block + 2); }
};

struct Q5_0 : HalvesOf32 {
    static constexpr u32 BYTES = 22, OFFSET = 16;
    static constexpr bool HAS_MINIMUM = false;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return stacked<4>(nibbles(words<N, BYTES>(block + 6 + p % 16), p / 16 * 4), spread<N>(word(block + 2) >> p));
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct Q5_1 : HalvesOf32 {
    static constexpr u32 BYTES = 24;
    static constexpr bool HAS_MINIMUM = true;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return stacked<4>(nibbles(words<N, BYTES>(block + 8 + p % 16), p / 16 * 4), spread<N>(word(block + 4) >> p));
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *block, u32) { return -half_at(block + 2); }
};

struct Q8_0 : HalvesOf32 {
    static constexpr u32 BYTES = 34;
    static constexpr bool HAS_MINIMUM = false;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return words<N, BYTES>(block + 2 + p);
    }
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
    template <u32 N>
    RK_DEVICE static Words<N> table(const Words<N> &index) {
        return looked_up(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u, index);
    }
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return table(nibbles(words<N, BYTES>(block + 2 + p % 16), p / 16 * 4));
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return half_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct MXFP4 : HalvesOf32 {
    static constexpr u32 BYTES = 17;
    static constexpr bool HAS_MINIMUM = false;
    // Twice the e2m1 values: 0 1 2 3 4 6 8 12 and their negatives; the scale is half the power of two, so 2^(e - 128).
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        const Words<N> index = nibbles(words<N, BYTES>(block + 1 + p % 16), p / 16 * 4);
        return looked_up(0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu, index);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) {
        const u32 exponent = block[0];
        return __builtin_bit_cast(f32, exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
    }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct BlockOf256 {
    static constexpr u32 VALUES = 256, OFFSET = 0, GROUP = 16;
    static constexpr bool ONE_SCALE = false;
};

struct Q2_K : BlockOf256 {
    static constexpr u32 BYTES = 84;
    static constexpr bool HAS_MINIMUM = true;
    RK_DEVICE static u32 place(u32 unit, u32 half) {
        return unit / 4 * 128 + unit / 2 % 2 * 16 + unit % 2 * 64 + half * 32;
    }
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return fields<3>(words<N, BYTES>(block + 16 + p / 128 * 32 + p % 32), p / 32 % 4 * 2);
    }
    RK_DEVICE static f32 factor(const u8 *block) { return half_at(block + 80); }
    RK_DEVICE static f32 whole(const u8 *block, u32 p) { return f32(block[p / 16] & 15); }
    RK_DEVICE static f32 minimum_factor(const u8 *block) { return half_at(block + 82); }
    RK_DEVICE static f32 whole_minimum(const u8 *block, u32 p) { return f32(block[p / 16] >> 4); }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) { return factor(block) * whole(block, p); }
    RK_DEVICE static f32 minimum(const u8 *block, u32 p) { return minimum_factor(block) * whole_minimum(block, p); }
};

struct Q3_K : BlockOf256 {
    static constexpr u32 BYTES = 110, OFFSET = 4;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return Q2_K::place(unit, half); }
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        const Words<N> low = fields<3>(words<N, BYTES>(block + 32 + p / 128 * 32 + p % 32), p / 32 % 4 * 2);
        return stacked<2>(low, fields<1>(words<N, BYTES>(block + p % 32), p / 32));
    }
    RK_DEVICE static f32 factor(const u8 *block) { return half_at(block + 108); }
    RK_DEVICE static f32 whole(const u8 *block, u32 p) {
        const u32 group = p / 16;
        const u32 low = block[96 + group % 8] >> (group / 8 * 4) & 15;
        const u32 high = block[104 + group % 4] >> (group / 4 * 2) & 3;
        return f32(i32(low | high << 4) - 32);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) { return factor(block) * whole(block, p); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

// The first 16 bytes of q4_K and q5_K: scale and scale of the minima, then eight scales and eight minima of 6 bits. The
// first four scales (minima) are the low 6 bits of the second (third) word's bytes, the others have their low 4 bits in
// the fourth word and their high 2 bits on top of the second (third).
struct PackedScales : BlockOf256 {
    static constexpr u32 GROUP = 32;
    static constexpr bool HAS_MINIMUM = true;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return unit / 2 * 64 + unit % 2 * 16 + half * 32; }
    RK_DEVICE static Words<4> header(const u8 *block) { return words<4, 16>(block); }
    // Two neighbouring groups' numbers of 6 bits, from bit 0 and from bit 8; the first group is even.
    RK_DEVICE static u32 six_bits(u32 own_word, u32 shared_word, u32 group, u32 nibble) {
        const u32 column = group % 4 * 8, own = own_word >> column, shared = shared_word >> (column + nibble);
        return group < 4 ? own & 0x3f3fu : (shared & 0x0f0fu) | (own >> 2 & 0x3030u);
    }
    // Four neighbouring groups' numbers, a byte each, one of which is p's.
    RK_DEVICE static u32 four(u32 own, u32 shared, u32 p) {
        return p < 128 ? own & 0x3f3f3f3fu : (shared & 0x0f0f0f0fu) | (own >> 2 & 0x30303030u);
    }
    RK_DEVICE static f32 whole(const u8 *block, u32 p) {
        const Words<4> h = header(block);
        return byte_as_f32(four(h.lane[1], h.lane[3], p), p / 32 % 4);
    }
    RK_DEVICE static f32 whole_minimum(const u8 *block, u32 p) {
        const Words<4> h = header(block);
        return byte_as_f32(four(h.lane[2], h.lane[3] >> 4, p), p / 32 % 4);
    }
    RK_DEVICE static f32 factor(const u8 *block) { return low_half(header(block).lane[0]); }
    RK_DEVICE static f32 minimum_factor(const u8 *block) { return low_half(header(block).lane[0] >> 16); }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) {
        const Words<4> h = header(block);
        const u32 two = six_bits(h.lane[1], h.lane[3], p / 64 * 2, 0);
        return low_half(h.lane[0]) * f32(two >> p / 32 % 2 * 8 & 255);
    }
    RK_DEVICE static f32 minimum(const u8 *block, u32 p) {
        const Words<4> h = header(block);
        const u32 two = six_bits(h.lane[2], h.lane[3], p / 64 * 2, 4);
        return low_half(h.lane[0] >> 16) * f32(two >> p / 32 % 2 * 8 & 255);
    }
};

struct Q4_K : PackedScales {
    static constexpr u32 BYTES = 144;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return nibbles(words<N, BYTES>(block + 16 + p / 64 * 32 + p % 32), p / 32 % 2 * 4);
    }
};

struct Q5_K : PackedScales {
    static constexpr u32 BYTES = 176;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        const Words<N> low = nibbles(words<N, BYTES>(block + 48 + p / 64 * 32 + p % 32), p / 32 % 2 * 4);
        return stacked<4>(low, fields<1>(words<N, BYTES>(block + 16 + p % 32), p / 32));
    }
};

struct Q6_K : BlockOf256 {
    static constexpr u32 BYTES = 210, OFFSET = 32;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return unit / 4 * 128 + unit % 4 * 16 + half * 64; }
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        const Words<N> low = nibbles(words<N, BYTES>(block + p / 128 * 64 + p % 64), p / 64 % 2 * 4);
        return stacked<4>(low, fields<3>(words<N, BYTES>(block + 128 + p / 128 * 32 + p % 32), p / 32 % 4 * 2));
    }
    RK_DEVICE static f32 factor(const u8 *block) { return half_at(block + 208); }
    RK_DEVICE static f32 whole(const u8 *block, u32 p) { return f32(i8(block[192 + p / 16])); }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) { return factor(block) * whole(block, p); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct Q8_K : BlockOf256 {
    static constexpr u32 BYTES = 292;
    static constexpr bool HAS_MINIMUM = false;
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return words<N, BYTES>(block + 4 + p);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32) { return f32_at(block); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

struct IQ4_XS : BlockOf256 {
    static constexpr u32 BYTES = 136, GROUP = 32;
    static constexpr bool HAS_MINIMUM = false;
    RK_DEVICE static u32 place(u32 unit, u32 half) { return unit * 32 + half * 16; }
    template <u32 N>
    RK_DEVICE static Words<N> levels(const u8 *block, u32 p) {
        return IQ4_NL::table(nibbles(words<N, BYTES>(block + 8 + p / 32 * 16 + p % 16), p / 16 % 2 * 4));
    }
    RK_DEVICE static f32 factor(const u8 *block) { return half_at(block); }
    RK_DEVICE static f32 whole(const u8 *block, u32 p) {
        const u32 group = p / 32;
        const u32 low = block[4 + group / 2] >> (group % 2 * 4) & 15;
        const u32 high = (block[2] | block[3] << 8) >> (group * 2) & 3;
        return f32(i32(low | high << 4) - 32);
    }
    RK_DEVICE static f32 scale(const u8 *block, u32 p) { return factor(block) * whole(block, p); }
    RK_DEVICE static f32 minimum(const u8 *, u32) { return 0; }
};

// The quants themselves: the top bits keep the bytes from borrowing of each other.
template <typename F, u32 N>
RK_DEVICE Words<N> quants_at(const u8 *block, u32 p) {
    Words<N> levels = F::template levels<N>(block, p);
    if constexpr (F::OFFSET != 0) {
#pragma unroll
        for (u32 &word : levels.lane) {
            word = ((word | 0x80808080u) - F::OFFSET * 0x01010101u) ^ 0x80808080u;
        }
    }
    return levels;
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
