// Floats to blocks of 256: q4_K, q5_K and q6_K. Each lane fits the scale (and minimum) of its own values by weighted
// least squares over a few rounding offsets, as ggml does and in its order of summation; the group then rounds the
// scales to their 6 or 8 bits, and each lane writes an equal share of the block's bytes from the rounded scales.
#pragma once

#include "quantize.hpp"

namespace rk::quantized {

struct Fit {
    f32 scale, least;
};

// The least squares of x ~ scale * level + least, `least` not above zero.
struct Moments {
    f32 weight, x, level, level2, x_level;

    RK_DEVICE bool solve(Fit &fit) const {
        const f32 determinant = weight * level2 - level * level;
        if (!(determinant > 0)) {
            return false;
        }
        fit.scale = (weight * x_level - x * level) / determinant;
        fit.least = (level2 * x - level * x_level) / determinant;
        if (fit.least > 0) {
            fit = {x_level / level2, 0};
        }
        return true;
    }
};

RK_DEVICE f32 level_of(f32 x, f32 least, f32 factor, f32 highest) {
    return clamped(rint(factor * (x - least)), highest);
}

template <typename T>
struct SubBlock {
    static constexpr u32 SIZE = 32;
    const T *values;
    f32 rms;

    RK_DEVICE f32 at(u32 i) const { return widen(values[i]); }
    RK_DEVICE f32 weight(f32 x) const { return rms + fabs(x); }

    // Sum of the weighted squares of what `fit` leaves, with the levels that `least` and `factor` round to.
    RK_DEVICE f32 error(const Fit &fit, f32 least, f32 factor, f32 highest) const {
        f32 sum = 0;
#pragma unroll 4
        for (u32 i = 0; i < SIZE; ++i) {
            const f32 x = at(i);
            const f32 rest = fit.scale * level_of(x, least, factor, highest) + fit.least - x;
            sum += weight(x) * (rest * rest);
        }
        return sum;
    }
};

template <typename T>
RK_DEVICE Fit fit_with_minimum(const T *values, f32 highest, f32 first_offset, u32 offsets) {
    SubBlock<T> block = {values, 0};
    f32 squares = 0, least = block.at(0), greatest = least;
#pragma unroll 4
    for (u32 i = 0; i < 32; ++i) {
        const f32 x = block.at(i);
        squares += x * x;
        least = minimum(least, x);
        greatest = maximum(greatest, x);
    }
    block.rms = sqrt(squares / 32);
    least = least > 0 ? 0 : least;
    if (greatest == least) {
        return {0, least};
    }
    Moments fixed = {};
#pragma unroll 4
    for (u32 i = 0; i < 32; ++i) {
        const f32 x = block.at(i), weight = block.weight(x);
        fixed.weight += weight;
        fixed.x += weight * x;
    }
    f32 factor = highest / (greatest - least);
    Fit best = {1 / factor, least};
    f32 error = block.error(best, least, factor, highest);
#pragma unroll 1
    for (u32 step = 0; step <= offsets; ++step) {
        factor = (first_offset + 0.1f * f32(step) + highest) / (greatest - best.least);
        Moments moments = fixed;
#pragma unroll 4
        for (u32 i = 0; i < 32; ++i) {
            const f32 x = block.at(i), level = level_of(x, best.least, factor, highest);
            const f32 weighted = block.weight(x) * level;
            moments.level += weighted;
            moments.level2 += weighted * level;
            moments.x_level += weighted * x;
        }
        Fit fit;
        if (moments.solve(fit)) {
            const f32 trial = block.error(fit, best.least, factor, highest);
            if (trial < error) {
                error = trial;
                best = fit;
            }
        }
    }
    return best;
}

struct SuperBlock {
    f16 scale, minimum;
    u32 own_scale, own_minimum;  // this lane's, 6 bits each
};

// The lane's share of 6 bits of the group's largest scale.
RK_DEVICE u32 six_bits(f32 value, f32 largest) {
    return u32(clamped(rint((largest > 0 ? 63 / largest : 0) * value), 63));
}

RK_DEVICE SuperBlock rounded_scales(const Fit &fit) {
    const f32 least = -fit.least;
    const f32 largest_scale = group_reduce<Maximum<f32>, 8>(maximum(fit.scale, 0.0f));
    const f32 largest_minimum = group_reduce<Maximum<f32>, 8>(maximum(least, 0.0f));
    return {f16(largest_scale / 63), f16(largest_minimum / 63), six_bits(fit.scale, largest_scale),
            six_bits(least, largest_minimum)};
}

RK_DEVICE void store_scales(u8 *block, u32 part, const SuperBlock &scales) {
    const u32 upper_scale = shuffle_xor(scales.own_scale, 4), upper_minimum = shuffle_xor(scales.own_minimum, 4);
    if (part < 4) {
        block[4 + part] = u8(scales.own_scale | upper_scale >> 4 << 6);
        block[8 + part] = u8(scales.own_minimum | upper_minimum >> 4 << 6);
        block[12 + part] = u8((upper_scale & 15) | (upper_minimum & 15) << 4);
    }
    if (part == 0) {
        store(block, scales.scale);
        store(block + 2, scales.minimum);
    }
}

// Four levels, one in each byte, of the values from `p` on; `group` is the lane of the group that owns their scale.
template <u32 HIGHEST, typename T>
RK_DEVICE u32 levels_at(const T *values, u32 p, f32 scale, f32 minimum, u32 group) {
    const u32 owner = lane() / 8 * 8 + group;
    const f32 owned_scale = shuffle(scale, owner), owned_minimum = shuffle(minimum, owner);
    const Pack<f32, 4> x = quad_at(values + p);
    u32 levels = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        const f32 level = owned_scale == 0 ? 0 : clamped(rint((x.lane[i] + owned_minimum) / owned_scale), HIGHEST);
        levels |= u32(level) << 8 * i;
    }
    return levels;
}

template <typename F>
struct Search;

template <>
struct Search<Q4_K> {
    static constexpr u32 HIGHEST = 15, OFFSETS = 20;
    static constexpr f32 FIRST = -1;
};
template <>
struct Search<Q5_K> {
    static constexpr u32 HIGHEST = 31, OFFSETS = 15;
    static constexpr f32 FIRST = -0.5f;
};

template <typename F, typename T>
RK_DEVICE void quantize_with_minima(const T *values, u8 *blocks, u64 count) {
    using S = Search<F>;
    for (u64 task = global_thread(); task < count * 8; task += global_threads()) {
        const u32 part = u32(task % 8);
        const T *x = values + task / 8 * 256;
        u8 *block = block_at<F>(blocks, task / 8);
        const SuperBlock scales = rounded_scales(fit_with_minimum(x + part * 32, S::HIGHEST, S::FIRST, S::OFFSETS));
        store_scales(block, part, scales);
        const f32 scale = f32(scales.scale) * f32(scales.own_scale);
        const f32 minimum = f32(scales.minimum) * f32(scales.own_minimum);
        constexpr u32 nibbles_at = F::BYTES - 128;
#pragma unroll 1
        for (u32 i = 0; i < 16; i += 4) {
            const u32 p = F::place(part, 0) + i, group = p / 32;
            const u32 low = levels_at<S::HIGHEST>(x, p, scale, minimum, group);
            const u32 high = levels_at<S::HIGHEST>(x, p + 32, scale, minimum, group + 1);
            store(block + nibbles_at + part * 16 + i, (low & 0x0f0f0f0fu) | (high & 0x0f0f0f0fu) << 4);
        }
        if constexpr (S::HIGHEST == 31) {
            u32 fifths = 0;
#pragma unroll 1
            for (u32 group = 0; group < 8; ++group) {
                const u32 levels = levels_at<S::HIGHEST>(x, group * 32 + part * 4, scale, minimum, group);
                fifths |= (levels >> 4 & 0x01010101u) << group;
            }
            store(block + 16 + part * 4, fifths);
        }
    }
}

// The scale of 16 values around zero, levels -32 to 31, each weighted with its square.
template <typename T>
RK_DEVICE f32 fit_around_zero(const T *values) {
    u64 rank = 0;
#pragma unroll 4
    for (u32 i = 0; i < 16; ++i) {
        rank = maximum(rank, ranked(widen(values[i]), i));
    }
    const f32 extreme = value_of(rank);
    if (fabs(extreme) < 1e-15f) {
        return 0;
    }
    f32 best = 0, scale = 0;
    // Offset 0 first, then -9 to 9: only a strictly better fit replaces the plain one.
#pragma unroll 1
    for (i32 step = -10; step < 10; ++step) {
        const f32 offset = step == -10 ? 0 : f32(step);
        const f32 factor = -(32 + 0.1f * offset) / extreme;
        f32 x_level = 0, level2 = 0;
#pragma unroll 4
        for (u32 i = 0; i < 16; ++i) {
            const f32 x = widen(values[i]), weight = x * x;
            const f32 level = clamped(rint(factor * x) + 32, 63) - 32;
            x_level += weight * x * level;
            level2 += weight * level * level;
        }
        if (level2 > 0 && (step == -10 || x_level * x_level > best * level2)) {
            scale = x_level / level2;
            best = scale * x_level;
        }
    }
    return scale;
}

template <typename T>
RK_DEVICE u32 levels_around_zero(const T *values, u32 p, f32 scale) {
    const f32 owned = shuffle(scale, lane() / 16 * 16 + p / 16);
    const Pack<f32, 4> x = quad_at(values + p);
    u32 levels = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        const f32 level = owned == 0 ? 32 : clamped(rint(x.lane[i] / owned) + 32, 63);
        levels |= u32(level) << 8 * i;
    }
    return levels;
}

template <typename T>
RK_DEVICE void quantize_around_zero(const T *values, u8 *blocks, u64 count) {
    for (u64 task = global_thread(); task < count * 16; task += global_threads()) {
        const u32 part = u32(task % 16);
        const T *x = values + task / 16 * 256;
        u8 *block = block_at<Q6_K>(blocks, task / 16);
        const f32 fitted = fit_around_zero(x + part * 16);
        const f32 extreme = value_of(group_reduce<Maximum<u64>, 16>(ranked(fitted, part)));
        const f32 factor = fabs(extreme) < 1e-15f ? 0 : -128 / extreme;
        const f16 unit = f16(inverse(factor));
        const f32 own = clamped(rint(factor * fitted) + 128, 255) - 128;
        const f32 scale = f32(unit) * own;
        block[192 + part] = u8(i32(own));
        if (part == 0) {
            store(block + 208, unit);
        }
#pragma unroll 1
        for (u32 i = 0; i < 8; i += 4) {
            const u32 p = part / 8 * 128 + part % 8 * 8 + i;
            const u32 low = levels_around_zero(x, p, scale), high = levels_around_zero(x, p + 64, scale);
            store(block + part * 8 + i, (low & 0x0f0f0f0fu) | (high & 0x0f0f0f0fu) << 4);
        }
        u32 tops = 0;
#pragma unroll 1
        for (u32 group = 0; group < 4; ++group) {
            const u32 levels = levels_around_zero(x, part / 8 * 128 + group * 32 + part % 8 * 4, scale);
            tops |= (levels >> 4 & 0x03030303u) << 2 * group;
        }
        store(block + 128 + part * 4, tops);
    }
}

}  // namespace rk::quantized
